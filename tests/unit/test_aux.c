/* SPDX-License-Identifier: GPL-2.0-or-later */
/* AUX areas of a kernel that is the test, the sizes of them, and the file that they go into. */
#include "folder.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/direct_writer.h"
#include "base/files/file.h"
#include "collect/aux.h"
#include "collect/aux_readers.h"
#include "fake_perf.h"

enum { AREA = 16384 };

static uint8_t area_bytes[2][AREA];
static int map_error;
static bool was_writable;

static void *fake_map_aux(void *context, int fd, size_t size, uint64_t offset, bool is_writable)
{
	struct fake_event *e = fake_event(context, fd);

	assert_int_equal(size, AREA);
	assert_int_equal(fake_ring(context, e->cpu)->page->aux_size, size);
	assert_int_equal(fake_ring(context, e->cpu)->page->aux_offset, offset);
	was_writable = is_writable;
	errno = map_error;
	return map_error ? NULL : area_bytes[e->cpu];
}

static void fake_unmap_some(void *context, void *base, size_t size)
{
	if (base != area_bytes[0] && base != area_bytes[1])
		fake_unmap(context, base, size);
}

struct world {
	struct fake_perf perf;
	struct perf_backend backend;
	struct counters counters;
	struct cpu_list cpus;
	struct rings *rings;
	struct aux *aux;
	struct aux_sink sink;
	uint8_t got[4 * AREA];
	size_t n_got;
	uint64_t last_offset;
	uint32_t last_index;
	int refusal;
};

static int take(void *context, const struct aux_piece *p)
{
	struct world *w = context;

	for (int i = 0; i < 2; i++) {
		memcpy(w->got + w->n_got, p->part[i], p->part_size[i]);
		w->n_got += p->part_size[i];
	}
	assert_int_equal(p->size, p->part_size[0] + p->part_size[1]);
	assert_int_equal(p->cpu, p->index);
	w->last_offset = p->offset;
	w->last_index = p->index;
	return w->refusal;
}

static void open_world(struct world *w, enum aux_mode mode)
{
	struct counter trace = { .attr = { .type = 6, .sample_period = 1 },
				 .name = xstrdup("intel_pt//"),
				 .spec = xstrdup("intel_pt//"),
				 .unit = "events",
				 .is_trace = true };
	struct rings_config rings = { .counters = &w->counters,
				      .cpus = &w->cpus,
				      .backend = &w->backend,
				      .cgroup_fd = -1,
				      .for_file = true,
				      .for_trace = true,
				      .ring_bytes = 16384 };
	struct aux_config aux = { .mode = mode, .area_bytes = AREA, .snapshot_bytes = AREA };
	struct error err = { 0 };

	memset(area_bytes, 0, sizeof(area_bytes));
	map_error = 0;
	w->backend = fake_backend(&w->perf);
	w->backend.map_aux = fake_map_aux;
	w->backend.unmap = fake_unmap_some;
	w->sink = (struct aux_sink){ take, w };
	vec_push(&w->counters, trace);
	vec_push(&w->cpus, 0);
	vec_push(&w->cpus, 1);
	assert_int_equal(rings_open(&rings, &w->rings, &err), 0);
	assert_int_equal(rings_enable(w->rings, &err), 0);
	aux.rings = w->rings;
	assert_int_equal(aux_open(&aux, &w->aux, &err), 0);
}

static void close_world(struct world *w)
{
	aux_close(w->aux);
	rings_close(w->rings);
	counters_fini(&w->counters);
	vec_fini(&w->cpus);
}

static struct fake_event *tracer(struct world *w, int cpu)
{
	for (int i = 0; i < w->perf.n; i++)
		if (w->perf.events[i].attr.type == 6 && w->perf.events[i].cpu == cpu)
			return &w->perf.events[i];
	return NULL;
}

static void put_trace(struct world *w, int cpu, uint64_t from, uint64_t n)
{
	for (uint64_t i = from; i < from + n; i++)
		area_bytes[cpu][i % AREA] = (uint8_t)(i * 7 + 1) | 1;
	fake_ring(&w->perf, cpu)->page->aux_head = from + n;
}

static void assert_got(const struct world *w, uint64_t from, uint64_t n)
{
	assert_int_equal(w->n_got, n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(w->got[i], (uint8_t)((from + i) * 7 + 1) | 1);
}

static void what_is_new_is_given_once_around_the_end(void **state)
{
	struct world w = { 0 };

	(void)state;
	open_world(&w, AUX_FULL);
	assert_true(was_writable);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_int_equal(w.n_got, 0);
	put_trace(&w, 1, 0, 10000);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 0, 10000);
	assert_int_equal(w.last_index, 1);
	assert_int_equal(fake_ring(&w.perf, 1)->page->aux_tail, 10000);
	w.n_got = 0;
	put_trace(&w, 1, 10000, 12000);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 10000, 12000);
	assert_int_equal(w.last_offset, 10000);
	assert_int_equal(aux_bytes(w.aux), 22000);
	close_world(&w);
}

static void a_full_area_is_read_and_the_trace_goes_on(void **state)
{
	struct world w = { 0 };

	(void)state;
	open_world(&w, AUX_FULL);
	put_trace(&w, 0, 0, AREA);
	tracer(&w, 0)->is_enabled = false; /* as the kernel does */
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 0, AREA);
	assert_true(tracer(&w, 0)->is_enabled);
	/* … but not if the user switched it off. */
	rings_pause(w.rings, true, NULL);
	assert_false(tracer(&w, 0)->is_enabled);
	assert_true(fake_ring(&w.perf, 0)->is_enabled);
	put_trace(&w, 0, AREA, 8);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_false(tracer(&w, 0)->is_enabled);
	close_world(&w);
}

static int count(void *context, const struct aux_piece *p)
{
	__atomic_fetch_add((uint64_t *)context, p->size, __ATOMIC_RELAXED);
	return 0;
}

/* A descriptor of the test's kernel is none that poll(2) knows: it is as one whose target ended. */
static void readers_read_new_bytes_and_wake_the_reader_of_the_rings(void **state)
{
	struct world w = { 0 };
	uint64_t n = 0, woken;
	struct aux_readers_config config = { .sink = { count, &n } };
	struct aux_readers *readers;

	(void)state;
	open_world(&w, AUX_FULL);
	config.aux = w.aux;
	config.wake_fd = eventfd(0, EFD_NONBLOCK);
	put_trace(&w, 0, 0, 5000);
	put_trace(&w, 1, 0, 6000);
	assert_int_equal(aux_readers_start(&config, &readers), 0);
	wait_until(__atomic_load_n(&n, __ATOMIC_RELAXED) >= 11000);
	assert_int_equal(aux_readers_stop(readers), 0);
	assert_int_equal(n, 11000);
	assert_int_equal(aux_bytes(w.aux), 11000);
	assert_int_equal(fake_ring(&w.perf, 1)->page->aux_tail, 6000);
	assert_int_equal(read(config.wake_fd, &woken, sizeof(woken)), sizeof(woken));
	/* The drain handles later bytes. */
	put_trace(&w, 0, 5000, 8);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 5000, 8);
	close(config.wake_fd);
	close_world(&w);
}

static void a_cpu_that_comes_gets_an_area_and_one_that_comes_back_keeps_its_own(void **state)
{
	struct world w = { .perf = { .n_online = 1 } };
	struct error err = { 0 };
	size_t first;

	(void)state;
	open_world(&w, AUX_FULL);
	assert_true(aux_is_open(w.aux, 0));
	assert_false(aux_is_open(w.aux, 1));
	w.perf.n_online = 0;
	assert_int_equal(rings_open_cpu(w.rings, 1, &first, &err), 0);
	/* The kernel stops a trace that has no area, for good. */
	assert_false(tracer(&w, 1)->is_enabled);
	assert_int_equal(aux_open_new(w.aux, &err), 0);
	assert_int_equal(rings_enable_from(w.rings, first, &err), 0);
	assert_true(aux_is_open(w.aux, 1));
	assert_true(tracer(&w, 1)->is_enabled);
	put_trace(&w, 1, 0, 700);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 0, 700);
	/* Its area outlives the events: what comes next is written behind what was there. */
	assert_int_equal(rings_open_cpu(w.rings, 1, &first, &err), 0);
	assert_int_equal(aux_open_new(w.aux, &err), 0);
	assert_int_equal(rings_enable_from(w.rings, first, &err), 0);
	w.n_got = 0;
	put_trace(&w, 1, 700, 300);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_got(&w, 700, 300);
	assert_int_equal(w.last_offset, 700);
	close_world(&w);
}

static void a_reader_whose_sink_refuses_says_so(void **state)
{
	struct world w = { .refusal = -ENOSPC };
	struct aux_readers_config config = { 0 };
	struct aux_readers *readers;

	(void)state;
	open_world(&w, AUX_FULL);
	config.aux = w.aux;
	config.sink = w.sink;
	config.wake_fd = eventfd(0, EFD_NONBLOCK);
	put_trace(&w, 1, 0, 100);
	assert_int_equal(aux_readers_start(&config, &readers), 0);
	wait_until(__atomic_load_n(&fake_ring(&w.perf, 1)->page->aux_tail, __ATOMIC_RELAXED));
	assert_int_equal(aux_readers_stop(readers), -ENOSPC);
	close(config.wake_fd);
	close_world(&w);
}

static void a_sink_that_refuses_ends_the_drain(void **state)
{
	struct world w = { .refusal = -ENOSPC };

	(void)state;
	open_world(&w, AUX_FULL);
	put_trace(&w, 0, 0, 8);
	put_trace(&w, 1, 0, 8);
	assert_int_equal(aux_drain(w.aux, &w.sink), -ENOSPC);
	assert_int_equal(w.n_got, 8);
	close_world(&w);
}

static void a_head_that_can_not_be_is_cut_to_the_area(void **state)
{
	struct world w = { 0 };

	(void)state;
	open_world(&w, AUX_FULL);
	fake_ring(&w.perf, 0)->page->aux_head = 1ULL << 60;
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_int_equal(w.n_got, AREA);
	close_world(&w);
}

static void snapshots_have_the_newest_bytes(void **state)
{
	struct world w = { 0 };
	size_t n;

	(void)state;
	open_world(&w, AUX_SNAPSHOTS);
	assert_false(was_writable);
	assert_int_equal(aux_drain(w.aux, &w.sink), 0);
	assert_int_equal(aux_snapshot(w.aux, &w.sink, &n), 0);
	assert_int_equal(n, 0);
	put_trace(&w, 0, 0, 5000);
	assert_int_equal(aux_snapshot(w.aux, &w.sink, &n), 0);
	assert_int_equal(n, 1);
	assert_got(&w, 0, 5000);
	assert_true(tracer(&w, 0)->is_enabled);
	/* Not around the end yet: what is new. */
	w.n_got = 0;
	put_trace(&w, 0, 5000, 3000);
	assert_int_equal(aux_snapshot(w.aux, &w.sink, &n), 0);
	assert_got(&w, 5000, 3000);
	/* Then all of it, the oldest byte first; the head is a place in the area. */
	w.n_got = 0;
	put_trace(&w, 0, 8000, 20000);
	fake_ring(&w.perf, 0)->page->aux_head = 28000 % AREA;
	assert_int_equal(aux_snapshot(w.aux, &w.sink, &n), 0);
	assert_got(&w, 28000 - AREA, AREA);
	close_world(&w);
}

static void locked_memory_that_is_used_up_is_explained(void **state)
{
	struct world w = { 0 };
	struct aux_config aux = { .mode = AUX_FULL, .area_bytes = AREA };
	struct error err = { 0 };
	struct aux *refused = NULL;

	(void)state;
	open_world(&w, AUX_FULL);
	aux.rings = w.rings;
	map_error = EPERM;
	assert_int_equal(aux_open(&aux, &refused, &err), -EPERM);
	assert_non_null(strstr(err.text, "this user may lock too little memory"));
	assert_non_null(strstr(err.text, "kernel.perf_event_mlock_kb"));
	assert_non_null(strstr(err.text, "ulimit -l"));
	map_error = 0;
	close_world(&w);
}

/* Sizes. */

static void sizes_are_those_of_the_description(void **state)
{
	static const struct {
		enum aux_mode mode;
		bool is_privileged;
		struct aux_sizes given, want;
		uint64_t sample;
	} rows[] = {
		{ AUX_FULL, true, { 0 }, { 524288, 4194304, 0 }, 0 },
		{ AUX_FULL, false, { 0 }, { 262144, 131072, 0 }, 0 },
		{ AUX_FULL, false, { 65536, 8192, 0 }, { 65536, 8192, 0 }, 0 },
		{ AUX_SNAPSHOTS, true, { 0 }, { 524288, 4194304, 4194304 }, 0 },
		{ AUX_SNAPSHOTS, false, { 0 }, { 262144, 131072, 131072 }, 0 },
		{ AUX_SNAPSHOTS, true, { 0, 0, 0x100000 }, { 524288, 0x100000, 0x100000 }, 0 },
		{ AUX_SNAPSHOTS, true, { 0, 0, 5000 }, { 524288, 8192, 5000 }, 0 },
		{ AUX_SNAPSHOTS, true, { 0, 4096, 0 }, { 524288, 4096, 4096 }, 0 },
		{ AUX_SAMPLES, true, { 0 }, { 524288, 8192, 0 }, 8192 },
		{ AUX_SAMPLES, false, { 0 }, { 262144, 65536, 0 }, 61440 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct aux_sizes s = rows[i].given;
		struct error err = { 0 };

		assert_int_equal(aux_choose_sizes(rows[i].mode, rows[i].is_privileged,
						  rows[i].sample, &s, &err),
				 0);
		assert_int_equal(s.ring_bytes, rows[i].want.ring_bytes);
		assert_int_equal(s.area_bytes, rows[i].want.area_bytes);
		assert_int_equal(s.snapshot_bytes, rows[i].want.snapshot_bytes);
	}
}

static void sizes_that_can_not_be_are_refused(void **state)
{
	static const struct {
		enum aux_mode mode;
		struct aux_sizes given;
		uint64_t sample;
		const char *text;
	} rows[] = {
		{ AUX_FULL, { 0, 12288, 0 }, 0, "a power of 2" },
		{ AUX_FULL, { 0, 4096, 0 }, 0, "at least 8 KiB" },
		{ AUX_SNAPSHOTS, { 0, 100, 0 }, 0, "at least 4 KiB" },
		{ AUX_SNAPSHOTS, { 0, 8192, 8193 }, 0, "Snapshot size 8193 must not be greater" },
		{ AUX_SAMPLES, { 0, 4096, 0 }, 8192, "Sample size 8192 must not be greater" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct aux_sizes s = rows[i].given;
		struct error err = { 0 };

		assert_int_equal(aux_choose_sizes(rows[i].mode, true, rows[i].sample, &s, &err),
				 -EINVAL);
		assert_non_null(strstr(err.text, rows[i].text));
	}
}

/* The file. */

static int open_scratch(char *path)
{
	int fd;

	strcpy(path, "direct-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	return fd;
}

static void all_bytes_come_to_the_file_in_order(void **state)
{
	static const size_t sizes[] = { 1, 4095, 100, 4096, 1 << 20, 3000001, 7, 0, 65536, 13 };
	uint8_t *bytes = malloc(3000001);
	struct direct_writer *w;
	uint64_t n = 0, written = 0;
	char path[64], *all;
	size_t size;
	int fd = open_scratch(path);

	(void)state;
	w = direct_writer_new(fd, 4 * DIRECT_BLOCK);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (size_t k = 0; k < sizes[i]; k++)
			bytes[k] = (uint8_t)((n + k) * 31 >> 3);
		assert_int_equal(direct_writer_put(w, &(struct iovec){ bytes, sizes[i] }, 1), n);
		n += sizes[i];
		if (i % 2)
			direct_writer_flush(w);
	}
	assert_int_equal(direct_writer_failure(w), 0);
	assert_int_equal(direct_writer_close(w, &written), 0);
	assert_int_equal(written, n);
	/* An ordinary file again: anything may be written anywhere. */
	assert_int_equal(pwrite(fd, "x", 1, 3), 1);
	assert_int_equal(file_read_all(path, 1 << 24, &all, &size), 0);
	assert_int_equal(size, n);
	for (uint64_t k = 0; k < n; k++)
		if ((uint8_t)all[k] != (uint8_t)(k * 31 >> 3) && k != 3)
			fail_msg("byte %llu", (unsigned long long)k);
	close(fd);
	unlink(path);
	free(all);
	free(bytes);
}

enum { WRITERS = 4, ROUNDS = 300, PIECE_MAX = 60000 };

struct writer {
	struct direct_writer *to;
	pthread_t thread;
	uint8_t id;
	uint64_t places[ROUNDS];
};

static size_t piece_size(uint8_t id, int round)
{
	return (size_t)(id * 7919 + round * 104729) % PIECE_MAX + 1;
}

static void *put_pieces(void *context)
{
	struct writer *w = context;
	uint8_t head[2], *body = malloc(PIECE_MAX);

	for (int i = 0; i < ROUNDS; i++) {
		size_t size = piece_size(w->id, i);

		head[0] = w->id;
		head[1] = (uint8_t)i;
		memset(body, w->id ^ i, size);
		w->places[i] = direct_writer_put(w->to,
						 (struct iovec[]){
							 { head, 2 }, { body, 0 }, { body, size } },
						 3);
		if (i % 50 == 0)
			direct_writer_flush(w->to);
	}
	free(body);
	return NULL;
}

/* Little memory, so that they have to wait for each other and for the disk. */
static void pieces_of_several_threads_stand_whole(void **state)
{
	struct writer writers[WRITERS];
	struct direct_writer *w;
	uint64_t n = 0, written;
	char path[64], *all;
	size_t size;
	int fd = open_scratch(path);

	(void)state;
	w = direct_writer_new(fd, 0);
	for (uint8_t i = 0; i < WRITERS; i++) {
		writers[i].to = w;
		writers[i].id = i;
		assert_int_equal(pthread_create(&writers[i].thread, NULL, put_pieces, &writers[i]),
				 0);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
	n = direct_writer_size(w);
	assert_int_equal(direct_writer_close(w, &written), 0);
	assert_int_equal(written, n);
	assert_int_equal(file_read_all(path, 1 << 27, &all, &size), 0);
	assert_int_equal(size, n);
	for (uint8_t id = 0; id < WRITERS; id++)
		for (int i = 0; i < ROUNDS; i++) {
			const uint8_t *at = (const uint8_t *)all + writers[id].places[i];

			assert_int_equal(at[0], id);
			assert_int_equal(at[1], (uint8_t)i);
			for (size_t k = 0, end = piece_size(id, i); k < end; k++)
				if (at[2 + k] != (uint8_t)(id ^ i))
					fail_msg("thread %d, piece %d, byte %zu", id, i, k);
		}
	close(fd);
	unlink(path);
	free(all);
}

/* A put longer than all blocks, and a flush: both are written. */
static void a_long_piece_and_a_flush_come_to_the_file(void **state)
{
	enum { LONG = 11 << 20 };
	uint8_t *bytes = malloc(LONG);
	struct direct_writer *w;
	char path[64], *all;
	struct stat st = { 0 };
	size_t size;
	int fd = open_scratch(path);

	(void)state;
	for (size_t i = 0; i < LONG; i++)
		bytes[i] = (uint8_t)(i * 131 >> 7);
	w = direct_writer_new(fd, 0);
	assert_int_equal(direct_writer_put(w, &(struct iovec){ bytes, LONG }, 1), 0);
	assert_int_equal(direct_writer_put(w, &(struct iovec){ "12345", 5 }, 1), LONG);
	direct_writer_flush(w);
	wait_until(fstat(fd, &st) < 0 || st.st_size >= LONG + 5);
	assert_int_equal(direct_writer_put(w, &(struct iovec){ "678", 3 }, 1), LONG + 5);
	assert_int_equal(direct_writer_close(w, NULL), 0);
	assert_int_equal(file_read_all(path, 1 << 27, &all, &size), 0);
	assert_int_equal(size, LONG + 8);
	assert_memory_equal(all, bytes, LONG);
	assert_memory_equal(all + LONG, "12345678", 8);
	close(fd);
	unlink(path);
	free(all);
	free(bytes);
}

static void a_file_that_can_not_be_written_is_reported(void **state)
{
	static uint8_t bytes[1 << 20];
	struct direct_writer *w;
	uint64_t written = 1;
	int fd = open("/dev/full", O_WRONLY);

	(void)state;
	assert_true(fd >= 0);
	w = direct_writer_new(fd, 4 * DIRECT_BLOCK);
	for (int i = 0; i < 600; i++) /* more than may wait */
		direct_writer_put(w, &(struct iovec){ bytes, sizeof(bytes) }, 1);
	assert_int_equal(direct_writer_close(w, &written), -ENOSPC);
	assert_int_equal(written, 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_new_is_given_once_around_the_end),
		cmocka_unit_test(a_full_area_is_read_and_the_trace_goes_on),
		cmocka_unit_test(readers_read_new_bytes_and_wake_the_reader_of_the_rings),
		cmocka_unit_test(
			a_cpu_that_comes_gets_an_area_and_one_that_comes_back_keeps_its_own),
		cmocka_unit_test(a_reader_whose_sink_refuses_says_so),
		cmocka_unit_test(a_sink_that_refuses_ends_the_drain),
		cmocka_unit_test(a_head_that_can_not_be_is_cut_to_the_area),
		cmocka_unit_test(snapshots_have_the_newest_bytes),
		cmocka_unit_test(locked_memory_that_is_used_up_is_explained),
		cmocka_unit_test(sizes_are_those_of_the_description),
		cmocka_unit_test(sizes_that_can_not_be_are_refused),
		cmocka_unit_test(all_bytes_come_to_the_file_in_order),
		cmocka_unit_test(pieces_of_several_threads_stand_whole),
		cmocka_unit_test(a_long_piece_and_a_flush_come_to_the_file),
		cmocka_unit_test(a_file_that_can_not_be_written_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
