/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/table_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/thread.h"
#include "collect/bpf/shared.h"

#define PLACES_BYTES ((size_t)MAX_FILES * sizeof(uint64_t))

struct job {
	uint32_t file;
	const struct unwind_table *table;
};

struct table_maps {
	struct unwind_heap heap; /* the thread's while there are jobs */
	int chunks_fd;
	uint32_t max_chunks;
	uint64_t *places;
	atomic_bool is_ending;

	bool is_running;
	pthread_t thread;
	pthread_mutex_t lock; /* of the fields below */
	pthread_cond_t wake;
	VEC(struct job) jobs; /* those from n_taken on wait; the one before is in progress */
	size_t n_taken;
	VEC(const struct unwind_table *) done;
	bool is_busy, lacks_room;
};

static void *map_shared(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED)
		return NULL;
	madvise(p, size, MADV_DONTFORK); /* children write no tables */
	return p;
}

/* A new map in the array of maps, which keeps it. A former map goes when no program uses it. */
static uint32_t *new_chunk(void *ctx, uint32_t number)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct table_maps *m = ctx;
	uint32_t *words;
	int fd;

	if (number >= m->max_chunks || atomic_load(&m->is_ending))
		return NULL;
	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_chunk", sizeof(uint32_t),
			    sizeof(struct chunk), 1, &opts);
	if (fd < 0)
		return NULL;
	words = map_shared(fd, sizeof(struct chunk));
	if (words && bpf_map_update_elem(m->chunks_fd, &number, &fd, BPF_ANY) < 0) {
		munmap(words, sizeof(struct chunk));
		words = NULL;
	}
	close(fd);
	return words;
}

static void free_chunk(void *ctx, uint32_t *words)
{
	(void)ctx;
	munmap(words, sizeof(struct chunk));
}

int table_maps_open(int chunks_fd, uint32_t max_chunks, int places_fd, struct table_maps **out,
		    struct error *err)
{
	struct table_maps *m = xcalloc(1, sizeof(*m));

	m->heap = (struct unwind_heap){ .chunk = new_chunk, .release = free_chunk, .ctx = m };
	m->chunks_fd = chunks_fd;
	m->max_chunks = max_chunks;
	m->heap.max_words = (uint64_t)max_chunks * CHUNK_WORDS;
	m->places = map_shared(places_fd, PLACES_BYTES);
	if (!m->places) {
		free(m);
		return error_errno(err, -errno, "cannot map the places of unwind tables");
	}
	thread_init_lock(&m->lock);
	pthread_cond_init(&m->wake, NULL);
	*out = m;
	return 0;
}

void table_maps_close(struct table_maps *m)
{
	if (!m)
		return;
	table_maps_stop(m);
	unwind_heap_fini(&m->heap);
	munmap(m->places, PLACES_BYTES);
	vec_fini(&m->jobs);
	vec_fini(&m->done);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	free(m);
}

/* The program finds a table only by its place, so the place is written last. */
static void set_place(struct table_maps *m, uint32_t file, uint64_t place)
{
	if (file < MAX_FILES)
		__atomic_store_n(&m->places[file], place, __ATOMIC_RELEASE);
}

/* False: there is no room. */
static bool copy_table(struct table_maps *m, const struct job *job)
{
	uint64_t place = unwind_heap_put(&m->heap, job->table);

	set_place(m, job->file, place ? place : TABLE_NO_ROOM);
	return place != 0;
}

static void *copy_thread(void *arg)
{
	struct table_maps *m = arg;

	thread_hurry(true); /* samples wait for tables, and a copy takes no time */
	pthread_mutex_lock(&m->lock);
	while (!atomic_load(&m->is_ending)) {
		struct job job;
		bool has_room;

		if (m->n_taken == m->jobs.n) {
			m->n_taken = m->jobs.n = 0;
			pthread_cond_wait(&m->wake, &m->lock);
			continue;
		}
		job = m->jobs.data[m->n_taken++];
		m->is_busy = true;
		pthread_mutex_unlock(&m->lock);
		has_room = copy_table(m, &job);
		pthread_mutex_lock(&m->lock);
		m->is_busy = false;
		m->lacks_room |= !has_room;
		vec_push(&m->done, job.table);
	}
	pthread_mutex_unlock(&m->lock);
	return NULL;
}

/* Without a thread, the caller of table_maps_set() waits. */
static void set_table(struct table_maps *m, const struct job *job)
{
	if (!m->is_running)
		m->is_running = thread_start(&m->thread, copy_thread, m);
	pthread_mutex_lock(&m->lock);
	if (m->is_running) {
		vec_push(&m->jobs, *job);
		pthread_cond_signal(&m->wake);
	} else {
		m->lacks_room |= !copy_table(m, job);
		vec_push(&m->done, job->table);
	}
	pthread_mutex_unlock(&m->lock);
}

void table_maps_set(struct table_maps *m, uint32_t file, const struct unwind_table *table)
{
	if (!table)
		set_place(m, file, TABLE_NONE);
	else if (!atomic_load(&m->is_ending))
		set_table(m, &(struct job){ file, table });
}

static bool is_idle(const struct table_maps *m)
{
	return !m->is_busy && m->n_taken == m->jobs.n;
}

const struct unwind_table *table_maps_next(struct table_maps *m)
{
	const struct unwind_table *table = NULL;

	pthread_mutex_lock(&m->lock);
	if (m->done.n > 0 && is_idle(m))
		table = m->done.data[--m->done.n];
	pthread_mutex_unlock(&m->lock);
	return table;
}

bool table_maps_is_idle(struct table_maps *m)
{
	bool idle;

	pthread_mutex_lock(&m->lock);
	idle = is_idle(m);
	pthread_mutex_unlock(&m->lock);
	return idle;
}

bool table_maps_lack_room(struct table_maps *m)
{
	bool lack;

	pthread_mutex_lock(&m->lock);
	lack = m->lacks_room;
	pthread_mutex_unlock(&m->lock);
	return lack;
}

bool table_maps_clear(struct table_maps *m)
{
	bool may_clear;

	pthread_mutex_lock(&m->lock);
	may_clear = is_idle(m);
	if (may_clear) {
		/* no message requests the vdso's table again, so its owner sets it */
		for (uint32_t i = 0; i < MAX_FILES; i++)
			__atomic_store_n(&m->places[i], TABLE_WANTED, __ATOMIC_RELAXED);
		unwind_heap_clear(&m->heap);
		m->lacks_room = false;
	}
	pthread_mutex_unlock(&m->lock);
	return may_clear;
}

void table_maps_stop(struct table_maps *m)
{
	pthread_mutex_lock(&m->lock);
	atomic_store(&m->is_ending, true);
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	if (m->is_running)
		pthread_join(m->thread, NULL);
	m->is_running = false;
}
