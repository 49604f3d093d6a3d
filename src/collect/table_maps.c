/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/table_maps.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/bpf/shared.h"

#define PLACES_BYTES ((size_t)MAX_FILES * sizeof(uint64_t))

struct table_maps {
	struct unwind_heap heap;
	int chunks_fd;
	uint32_t max_chunks;
	uint64_t *places;
};

static void *map_shared(int fd, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* A map that the array of maps holds; it is gone with the array and this mapping. */
static uint32_t *new_chunk(void *ctx, uint32_t number)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	struct table_maps *m = ctx;
	uint32_t *words;
	int fd;

	if (number >= m->max_chunks)
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

int table_maps_open(int chunks_fd, uint32_t max_chunks, int places_fd, struct table_maps **out,
		    struct error *err)
{
	struct table_maps *m = xcalloc(1, sizeof(*m));

	m->heap.chunk = new_chunk;
	m->heap.ctx = m;
	m->chunks_fd = chunks_fd;
	m->max_chunks = max_chunks;
	m->places = map_shared(places_fd, PLACES_BYTES);
	if (!m->places) {
		free(m);
		return error_errno(err, -errno, "cannot map the places of unwind tables");
	}
	*out = m;
	return 0;
}

void table_maps_close(struct table_maps *m)
{
	if (!m)
		return;
	vec_foreach (&m->heap.chunks, chunk)
		munmap(*chunk, sizeof(struct chunk));
	unwind_heap_fini(&m->heap);
	munmap(m->places, PLACES_BYTES);
	free(m);
}

/* The program comes to a table by its place alone, so that is written last. */
bool table_maps_set(struct table_maps *m, uint32_t file, const struct unwind_table *table)
{
	uint64_t place = table ? unwind_heap_put(&m->heap, table) : TABLE_NONE;

	if (file < MAX_FILES)
		__atomic_store_n(&m->places[file], place ? place : TABLE_NO_ROOM, __ATOMIC_RELEASE);
	return place != 0;
}

void table_maps_clear(struct table_maps *m)
{
	/* The vdso's stays wanted by nobody else, so its owner puts it anew. */
	for (uint32_t i = 0; i < MAX_FILES; i++)
		__atomic_store_n(&m->places[i], TABLE_WANTED, __ATOMIC_RELAXED);
	unwind_heap_clear(&m->heap);
}
