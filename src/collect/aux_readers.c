/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/aux_readers.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/thread.h"

enum { PATIENCE_MS = 1000 }; /* then even a few bytes are read */

/* The areas of one CPU, or all areas without a CPU. */
struct reader {
	struct aux_readers *all;
	uint32_t cpu; /* UINT32_MAX: any */
	size_t *areas;
	size_t n_areas;
	struct pollfd *polls; /* of the areas, and of the end */
	pthread_t thread;
	int code;
};

struct aux_readers {
	struct aux_readers_config config;
	int stop_fd;
	struct reader *readers;
	size_t n_readers, n_running;
};

static void stay_on(uint32_t cpu)
{
	size_t size = CPU_ALLOC_SIZE(cpu + 1);
	cpu_set_t *set;

	if (cpu == UINT32_MAX)
		return;
	set = CPU_ALLOC(cpu + 1);
	if (!set)
		return;
	CPU_ZERO_S(size, set);
	CPU_SET_S(cpu, size, set);
	sched_setaffinity(0, size, set);
	CPU_FREE(set);
}

/* A ring wakes its reader for its trace as well as for its records. */
static bool has_records(const struct ring_place *place, bool has_trace)
{
	uint64_t head = __atomic_load_n(&place->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t n = head - __atomic_load_n(&place->page->data_tail, __ATOMIC_RELAXED);

	return n >= place->data_bytes / 4 || (n && !has_trace);
}

static void read_area(struct reader *r, size_t i)
{
	static const uint64_t one = 1;
	const struct aux_readers_config *c = &r->all->config;
	struct ring_place place = rings_place(aux_rings(c->aux), r->areas[i]);
	struct pollfd *p = &r->polls[i];
	bool is_over = p->revents & (POLLHUP | POLLERR | POLLNVAL);
	uint64_t n = 0;
	int e = aux_drain_area(c->aux, r->areas[i], &c->sink, &n);

	if (e && !r->code)
		r->code = e;
	/* readable for ever: it is not polled again */
	if (is_over)
		p->fd = -1;
	if (is_over || (p->revents & POLLIN && has_records(&place, n)))
		(void)!write(c->wake_fd, &one, sizeof(one));
}

static void *read_areas(void *context)
{
	struct reader *r = context;
	const struct pollfd *stop = &r->polls[r->n_areas];

	stay_on(r->cpu);
	thread_be_real_time();
	while (!r->code && poll(r->polls, r->n_areas + 1, PATIENCE_MS) >= 0 && !stop->revents)
		for (size_t i = 0; i < r->n_areas; i++)
			read_area(r, i);
	return NULL;
}

static struct reader *reader_of(struct aux_readers *r, uint32_t cpu)
{
	for (size_t i = 0; i < r->n_readers; i++)
		if (r->readers[i].cpu == cpu)
			return &r->readers[i];
	r->readers[r->n_readers] = (struct reader){ .all = r, .cpu = cpu };
	return &r->readers[r->n_readers++];
}

static void assign_areas(struct aux_readers *r)
{
	const struct aux *aux = r->config.aux;
	size_t n = rings_count(aux_rings(aux));

	r->readers = xcalloc(n, sizeof(*r->readers));
	for (size_t i = 0; i < n; i++) {
		struct ring_place place = rings_place(aux_rings(aux), i);
		struct reader *reader;

		if (!aux_is_open(aux, i))
			continue;
		reader = reader_of(r, place.cpu);
		reader->areas = xrealloc(reader->areas, reader->n_areas + 1, sizeof(size_t));
		reader->polls = xrealloc(reader->polls, reader->n_areas + 2, sizeof(struct pollfd));
		reader->areas[reader->n_areas] = i;
		reader->polls[reader->n_areas++] =
			(struct pollfd){ .fd = place.fd, .events = POLLIN };
		reader->polls[reader->n_areas] =
			(struct pollfd){ .fd = r->stop_fd, .events = POLLIN };
	}
}

static int start_all(struct aux_readers *r)
{
	while (r->n_running < r->n_readers) {
		struct reader *reader = &r->readers[r->n_running];

		if (!thread_start(&reader->thread, read_areas, reader))
			return -EAGAIN;
		r->n_running++;
	}
	return 0;
}

int aux_readers_start(const struct aux_readers_config *config, struct aux_readers **out)
{
	struct aux_readers *r = xcalloc(1, sizeof(*r));
	int e;

	r->config = *config;
	r->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (r->stop_fd < 0) {
		e = -errno;
		free(r);
		return e;
	}
	assign_areas(r);
	e = start_all(r);
	if (e < 0) {
		aux_readers_stop(r);
		return e;
	}
	rings_poll_elsewhere(aux_rings(config->aux), true);
	*out = r;
	return 0;
}

int aux_readers_stop(struct aux_readers *r)
{
	static const uint64_t one = 1;
	int e = 0;

	if (!r)
		return 0;
	(void)!write(r->stop_fd, &one, sizeof(one));
	for (size_t i = 0; i < r->n_running; i++)
		pthread_join(r->readers[i].thread, NULL);
	rings_poll_elsewhere(aux_rings(r->config.aux), false);
	for (size_t i = 0; i < r->n_readers; i++) {
		e = e ? e : r->readers[i].code;
		free(r->readers[i].areas);
		free(r->readers[i].polls);
	}
	free(r->readers);
	close(r->stop_fd);
	free(r);
	return e;
}
