/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store_world.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/intmap.h"
#include "store/format.h"
#include "store/native.h"
#include "store/row_reader.h"
#include <sys/stat.h>

static void what_is_written_is_read(void **state)
{
	struct world w;
	struct session *s;
	const struct segment *seg;
	struct count_rows rows = { 0 };
	const struct tree_node *leaf;

	(void)state;
	world_init(&w);
	add(&w, 101 * SECOND + 5, 42, w.lib, 0x12345);
	native_store.lose(w.store, LOSS_RING_FULL, 0, 3);
	native_store.name_code(w.store, &(struct code_symbol){ w.lib, 0x40, 16, "jitted" });
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_string_equal(s->info.command, "cc -c 'a b.c'");
	assert_string_equal(s->info.counters[1].spec, "faults:100:0:0:1");
	assert_true(s->info.counters[0].in_kernel);
	assert_true(s->has_end);
	assert_int_equal(s->end.exit_status, 256);
	assert_int_equal(s->warnings.n, 0);
	assert_int_equal(s->n_segments, 1);
	seg = s->segments[0];
	assert_int_equal(seg->n_blocks, 1);
	assert_int_equal(seg->blocks[0].first_ns, 101 * SECOND + 5);
	assert_int_equal(seg->blocks[0].losses[0].n, 3);
	assert_string_equal(seg->symbols[0].name, "jitted");
	assert_int_equal(segment_read_rows(seg, 0, &rows, &w.err), 0);
	assert_int_equal(rows.n, 1);
	assert_int_equal(rows.data[0].period, 1003009);
	assert_int_equal(seg->classes[rows.data[0].class].pid, 42);
	assert_string_equal(seg->strings[seg->classes[rows.data[0].class].comm.n], "cc1");
	leaf = &seg->nodes[rows.data[0].node];
	assert_int_equal(leaf->code.offset, 0x12345);
	assert_string_equal(seg->images[leaf->code.image.n].path, "/lib/libc.so.6");
	assert_int_equal(seg->images[leaf->code.image.n].build_id.len, 20);
	assert_string_equal(seg->images[seg->nodes[leaf->parent].code.image.n].path, "/usr/bin/cc");
	assert_int_equal(seg->nodes[leaf->parent].parent, 0);
	free(rows.data);
	session_close(s);
	world_fini(&w);
}

static void a_session_starts_when_its_recording_begins(void **state)
{
	struct world w;
	struct session *s;

	(void)state;
	world_init(&w);
	native_store.lose(w.store, LOSS_RING_FULL, 1, 3);
	assert_int_equal(native_store.begin(w.store, 1700000003 * SECOND, 103 * SECOND, &w.err), 0);
	add(&w, 104 * SECOND, 1, w.bin, 0x1000);
	assert_int_equal(native_store.flush(w.store, UINT64_MAX, &w.err), 0);
	/* too late, for readers have seen it */
	assert_int_equal(native_store.begin(w.store, 1700000005 * SECOND, 105 * SECOND, &w.err), 0);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->info.start_wall_ns, 1700000003 * SECOND);
	assert_int_equal(s->info.start_ns, 103 * SECOND);
	assert_string_equal(s->info.command, test_info.command);
	assert_string_equal(s->info.counters[1].spec, "faults:100:0:0:1");
	assert_int_equal(s->segments[0]->n_blocks, 1);
	assert_int_equal(s->segments[0]->blocks[0].losses[0].n, 3);
	session_close(s);
	world_fini(&w);
}

/* The text with another start is packed in another way, and may be shorter. */
static void nothing_of_a_former_start_is_left_behind(void **state)
{
	struct world w;
	struct session *s;
	uint64_t ns = 0;

	(void)state;
	world_init(&w);
	srand(2);
	for (int i = 0; i < 100; i++) {
		ns = i % 2 ? 0x0101010101010101 : (uint64_t)rand() << 26 | (uint64_t)rand();
		assert_int_equal(native_store.begin(w.store, ns, ns, &w.err), 0);
		assert_int_equal(session_open(w.path, &s, &w.err), 0);
		assert_int_equal(s->warnings.n, 0);
		assert_int_equal(s->info.start_ns, ns);
		session_close(s);
	}
	close_world(&w);
	world_fini(&w);
}

static void many_segments_hold_every_sample(void **state)
{
	struct world w;
	struct session *s;
	struct totals t;

	(void)state;
	world_init(&w);
	native_store_set_limits(w.store, &(struct native_limits){ 20000, 64 << 20 });
	srand(1);
	for (uint32_t i = 0; i < 30000; i++) {
		uint64_t time = 100 * SECOND + i * SECOND / 3000;

		add(&w, time, 1 + i / 500, i % 3 ? w.bin : w.kernel, (uint64_t)rand() % 100000);
		if (i % 1000 == 999)
			assert_int_equal(native_store.flush(w.store, time, &w.err), 0);
	}
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_true(s->n_segments > 5);
	assert_int_equal(s->warnings.n, 0);
	t = read_totals(s);
	assert_true(t.samples == w.samples);
	assert_true(t.period == w.period);
	assert_int_equal(t.lost, 0);
	session_close(s);
	world_fini(&w);
}

static void a_session_says_how_large_tables_may_be(void **state)
{
	struct session_info info = test_info;
	struct error err = { 0 };
	struct session *s;
	struct world w;

	(void)state;
	world_init(&w);
	close_world(&w);
	file_remove_tree(w.path, NULL);
	info.table_bytes = 20000;
	assert_int_equal(native_store.open(w.path, &info, w.images, &w.strings, &w.store, &err), 0);
	for (uint32_t i = 0; i < 3000; i++)
		add(&w, (100 + i / 100) * SECOND, 1, w.bin, i);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &err), 0);
	assert_true(s->n_segments > 2);
	assert_int_equal(read_totals(s).samples, w.samples);
	session_close(s);
	world_fini(&w);
}

/* One second of work: n samples at different places. */
static void add_second(struct world *w, uint64_t second, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		add(w, second * SECOND + i * (SECOND / n), 10 + i % 3, w->bin,
		    second * 4096 + i * 8);
}

static void a_block_never_spans_two_seconds(void **state)
{
	struct world w;
	struct session *s;
	struct segment *seg;

	(void)state;
	world_init(&w);
	for (uint64_t i = 0; i < 50; i++) {
		uint64_t time = 100 * SECOND + i * SECOND / 10;

		add(&w, time, 1, w.bin, 4 * i);
		assert_int_equal(native_store.flush(w.store, time + 1, &w.err), 0);
	}
	add(&w, 102 * SECOND + 1, 1, w.bin, 4); /* late: its own second is written already */
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	seg = s->segments[0];
	assert_int_equal(seg->n_blocks, 5);
	for (uint32_t i = 0; i < seg->n_blocks; i++) {
		assert_true(seg->blocks[i].first_ns / SECOND == 100 + i);
		assert_true(seg->blocks[i].last_ns / SECOND == 100 + i);
		assert_int_equal(seg->blocks[i].samples, i == 4 ? 11 : 10);
	}
	session_close(s);
	world_fini(&w);
}

static void every_kind_of_row_comes_back(void **state)
{
	struct world w;
	struct session *s;
	struct totals t;
	struct code_addr deep[300];

	(void)state;
	world_init(&w);
	for (uint32_t i = 0; i < 300; i++)
		deep[i] = (struct code_addr){ i % 2 ? w.lib : w.bin, UINT64_MAX - i };
	for (uint64_t second = 100; second < 104; second++) {
		uint64_t time = second * SECOND;

		add_weighted(&w, time, 1, 0, deep, 300, 1, 1000);
		add_weighted(&w, time, 1, 0, deep + 150, 150, 7, 7000); /* an inner node */
		add_weighted(&w, time, 2, 1, deep, 300, 1, 1000);       /* same leaf, new class */
		add_weighted(&w, time, 3, 1, deep, 1, 1, 1ULL << 60);
		add_weighted(&w, time, 4, 1, deep, 0, 1, 0); /* no frame: the root's own */
		add_weighted(&w, time, UINT32_MAX, 0, deep, 2, 1ULL << 40, 1ULL << 41);
		add_weighted(&w, time, 5, 0, deep, 3, 0, 12); /* events without a sample */
	}
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	t = read_totals(s);
	assert_int_equal(s->warnings.n, 0);
	assert_true(t.samples == w.samples);
	assert_true(t.period == w.period);
	session_close(s);
	world_fini(&w);
}

/* A chain of addresses as one number, whichever ids a segment gives to its parts. */
static uint64_t chain_key(uint64_t key, const char *path, uint64_t offset)
{
	return hash_u64(key * 31 + offset + (uint64_t)path[5]);
}

/* Takes what the session holds off the counts of the chains. */
static void subtract_chains(const struct session *s, struct intmap *chains)
{
	const struct segment *seg = s->segments[0];
	struct count_rows rows = { 0 };

	for (uint32_t b = 0; b < seg->n_blocks; b++)
		assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
	for (size_t i = 0; i < rows.n; i++) {
		uint64_t key = 0;

		for (uint32_t n = rows.data[i].node; n; n = seg->nodes[n].parent)
			key = chain_key(key, seg->images[seg->nodes[n].code.image.n].path,
					seg->nodes[n].code.offset);
		*intmap_put(chains, key, NULL) -= (uint32_t)rows.data[i].samples;
	}
	vec_fini(&rows);
}

/* A small program that calls itself in all ways: the same calls come back under many nodes. */
static void every_chain_comes_back(void **state)
{
	struct world w;
	struct session *s;
	struct intmap chains = { 0 };

	(void)state;
	world_init(&w);
	srand(11);
	for (uint32_t i = 0; i < 6000; i++) {
		struct code_addr frames[60];
		uint32_t n = 1 + (uint32_t)rand() % 60;
		uint64_t key = 0;

		for (uint32_t k = 0; k < n; k++) {
			frames[k].image = rand() % 5 ? w.bin : w.lib;
			frames[k].offset = 0x1000 + 16 * ((uint64_t)rand() % (k ? 20 : 500));
			key = chain_key(key, image_get(w.images, frames[k].image)->path,
					frames[k].offset);
		}
		++*intmap_put(&chains, key, NULL);
		add_weighted(&w, 100 * SECOND + i * (SECOND / 2000), 1, 0, frames, n, 1, 1003009);
	}
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 0);
	assert_int_equal(s->segments[0]->n_blocks, 3);
	subtract_chains(s, &chains);
	for (uint32_t i = 0; i < chains.n_slots; i++)
		assert_true(!chains.slots[i].used || chains.slots[i].value == 0);
	intmap_fini(&chains);
	session_close(s);
	world_fini(&w);
}

static void a_build_id_that_came_late_is_there(void **state)
{
	struct world w;
	struct session *s;
	const struct build_id id = { .len = 20, .bytes = { 9, 9 } };

	(void)state;
	world_init(&w);
	add_second(&w, 100, 5);
	assert_int_equal(native_store.flush(w.store, 101 * SECOND, &w.err), 0);
	image_set_build_id(w.images, w.bin, &id);
	add_second(&w, 101, 5);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->segments[0]->n_images, 2);
	assert_true(build_id_equal(&s->segments[0]->images[1].build_id, &id));
	session_close(s);
	world_fini(&w);
}

static void losses_are_kept_by_reason_and_counter(void **state)
{
	struct world w;
	struct session *s;
	const struct block *b;

	(void)state;
	world_init(&w);
	native_store.lose(w.store, LOSS_RING_FULL, 0, 1);
	native_store.lose(w.store, LOSS_RING_FULL, 0, 2);
	native_store.lose(w.store, LOSS_RING_FULL, UINT32_MAX, 4);
	native_store.lose(w.store, LOSS_UNMAPPED, 1, 0); /* nothing */
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->segments[0]->n_blocks, 1);
	b = &s->segments[0]->blocks[0];
	assert_true(b->first_ns == test_info.start_ns); /* there was no sample yet */
	assert_int_equal(b->n_losses, 2);
	assert_int_equal(b->losses[0].n, 3);
	assert_int_equal(b->losses[0].counter, 0);
	assert_true(b->losses[1].counter == UINT32_MAX);
	session_close(s);
	world_fini(&w);
}

static void more_losses_than_a_header_holds_are_added_up(void **state)
{
	struct world w;
	struct session *s;
	uint64_t sum = 0;

	(void)state;
	world_init(&w);
	for (uint32_t counter = 0; counter < 200; counter++)
		native_store.lose(w.store, LOSS_RING_FULL, counter, UINT32_MAX);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	for (uint32_t i = 0; i < s->segments[0]->blocks[0].n_losses; i++)
		sum += s->segments[0]->blocks[0].losses[i].n;
	assert_true(sum == 200ULL * UINT32_MAX);
	session_close(s);
	world_fini(&w);
}

static void a_session_is_read_while_it_is_written(void **state)
{
	struct world w;
	struct session *old, *s;
	struct totals t;
	uint64_t samples_old;

	(void)state;
	world_init(&w);
	native_store_set_limits(w.store, &(struct native_limits){ 30000, 64 << 20 });
	assert_int_equal(session_open(w.path, &old, &w.err), 0); /* before the first sample */
	assert_int_equal(old->n_segments, 1);
	session_close(old);
	add_second(&w, 100, 200);
	assert_int_equal(native_store.flush(w.store, 101 * SECOND, &w.err), 0);
	assert_int_equal(session_open(w.path, &old, &w.err), 0);
	samples_old = w.samples;
	for (uint64_t second = 101; second < 120; second++) {
		add_second(&w, second, 200);
		assert_int_equal(native_store.flush(w.store, (second + 1) * SECOND, &w.err), 0);
		assert_int_equal(session_open(w.path, &s, &w.err), 0);
		t = read_totals(s);
		assert_true(t.samples == w.samples);
		assert_false(s->has_end);
		assert_int_equal(s->warnings.n, 0);
		session_close(s);
	}
	t = read_totals(old);
	assert_true(t.samples == samples_old);
	session_close(old);
	close_world(&w);
	world_fini(&w);
}

static void memory_stays_flat(void **state)
{
	struct world w;
	uint64_t most[2] = { 0 }; /* in the first and the second half */

	(void)state;
	world_init(&w);
	native_store_set_limits(w.store, &(struct native_limits){ 200000, 64 << 20 });
	for (uint64_t second = 100; second < 300; second++) {
		add_second(&w, second, 2000);
		most[second >= 200] = MAX(most[second >= 200], native_store_memory(w.store));
	}
	assert_true(most[1] <= most[0]);
	assert_true(most[1] < 2 << 20);
	close_world(&w);
	world_fini(&w);
}

/* More places in one second than a segment may have nodes. */
static void a_second_with_too_many_places_is_split(void **state)
{
	struct world w;
	struct session *s;
	struct totals t;
	struct code_addr frame;

	(void)state;
	world_init(&w);
	frame.image = w.bin;
	for (uint32_t i = 0; i < 1200000; i++) {
		frame.offset = i;
		add_weighted(&w, 100 * SECOND + i, 1, 0, &frame, 1, 1, 10);
	}
	assert_true(native_store_memory(w.store) < 64 << 20);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 0);
	assert_int_equal(s->n_segments, 2);
	t = read_totals(s);
	assert_true(t.samples == w.samples);
	/* Counted up: nothing but runs. Zeros are a byte for every four nodes and rows. */
	assert_true(s->size_bytes > 2 * w.samples / SEGMENT_ITEMS_A_BYTE);
	assert_true(s->size_bytes < 2 * w.samples / SEGMENT_ITEMS_A_BYTE + 10000);
	session_close(s);
	world_fini(&w);
}

static void a_long_name_of_one_letter_is_kept(void **state)
{
	const size_t size = 3u << 20;
	char *path = xmalloc(size + 1);
	struct session *s;
	struct world w;
	bool is_there = false;

	(void)state;
	memset(path, 'a', size);
	path[0] = '/';
	path[size] = 0;
	world_init(&w);
	w.lib = image_intern(w.images, &(struct image){ .kind = IMAGE_FILE, .path = path });
	add(&w, 100 * SECOND, 1, w.lib, 5);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 0);
	for (uint32_t i = 0; i < s->segments[0]->n_images; i++)
		is_there |= !strcmp(s->segments[0]->images[i].path, path);
	assert_true(is_there);
	session_close(s);
	world_fini(&w);
	free(path);
}

static void a_segment_ends_when_its_file_is_large(void **state)
{
	struct world w;
	struct session *s;

	(void)state;
	world_init(&w);
	native_store_set_limits(w.store, &(struct native_limits){ 24 << 20, 3000 });
	for (uint64_t second = 100; second < 120; second++)
		add_second(&w, second, 500);
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_true(s->n_segments > 2);
	assert_true(read_totals(s).samples == w.samples);
	session_close(s);
	world_fini(&w);
}

/* Writing beyond a file size limit fails as on a full disk, in the middle of a block. */
static void a_full_disk_costs_only_the_samples_that_did_not_fit(void **state)
{
	struct world w;
	struct session *s;
	struct totals t;
	struct rlimit limit, small;
	bool failed = false;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	world_init(&w);
	getrlimit(RLIMIT_FSIZE, &limit);
	small = limit;
	small.rlim_cur = 4000;
	setrlimit(RLIMIT_FSIZE, &small);
	for (uint64_t second = 100; second < 120; second++) {
		add_second(&w, second, 300);
		if (second == 115)
			setrlimit(RLIMIT_FSIZE, &limit);
		if (native_store.flush(w.store, (second + 1) * SECOND, &w.err) < 0)
			failed = true;
	}
	assert_true(failed);
	assert_non_null(strstr(w.err.text, "0000.segment"));
	close_world(&w);
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_int_equal(s->warnings.n, 0);
	t = read_totals(s);
	assert_true(t.lost > 0 && t.samples > 0);
	assert_true(t.samples + t.lost == w.samples);
	session_close(s);
	world_fini(&w);
}

static void a_killed_recorder_leaves_all_whole_seconds(void **state)
{
	struct world w;
	struct session *s;
	int ready[2], status;
	char byte;
	pid_t child;

	(void)state;
	world_init(&w);
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (!child) {
		for (uint64_t second = 100;; second++) {
			add_second(&w, second, 100);
			native_store.flush(w.store, (second + 1) * SECOND, NULL);
			if (write(ready[1], "", 1) < 0)
				_exit(1);
		}
	}
	for (int i = 0; i < 20; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(session_open(w.path, &s, &w.err), 0);
	assert_false(s->has_end);
	assert_true(read_totals(s).samples >= 20 * 100);
	session_close(s);
	close(ready[0]);
	close(ready[1]);
	close_world(&w);
	world_fini(&w);
}

static void a_session_that_is_there_is_not_overwritten(void **state)
{
	struct world w;
	struct store *second;

	(void)state;
	world_init(&w);
	assert_int_equal(native_store.open(w.path, &test_info, w.images, &w.strings, &second,
					   &w.err),
			 -EEXIST);
	close_world(&w);
	world_fini(&w);
}

static void a_directory_that_cannot_be_made_is_named(void **state)
{
	struct world w;
	struct store *second;

	(void)state;
	world_init(&w);
	assert_int_equal(native_store.open("/dev/null/x", &test_info, w.images, &w.strings, &second,
					   &w.err),
			 -ENOTDIR);
	assert_non_null(strstr(w.err.text, "/dev/null"));
	close_world(&w);
	world_fini(&w);
}

/* The bytes of docs/formats.md's example, from its header and its block of samples. */
static const uint8_t documented_header[] = {
	0x41, 0x53, 0x53, 0x41, 0x59, 0x53, 0x45, 0x47, 0x01, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x0e, 0x83, 0x69, 0xad, 0x2a, 0x0e, 0x02, 0x84,
};
static const uint8_t documented_samples[] = {
	0x61, 0x42, 0x4c, 0x4b, 0x47, 0x00, 0x01, 0x80, 0x9a, 0x91, 0xb2, 0xf6, 0x02, 0xe8, 0x07,
	0x03, 0x83, 0xd4, 0xb7, 0x01, 0x00, 0x01, 0x02, 0x01, 0x01, 0x00, 0x01, 0x01, 0x02, 0x00,
	0x00, 0x02, 0x1e, 0xf6, 0x95, 0x12, 0x99, 0xc3, 0x89, 0x99, 0xe5, 0x14, 0x9a, 0xa0, 0x9d,
	0x77, 0x69, 0x52, 0x9c, 0x65, 0x25, 0xcd, 0xb9, 0x04, 0xd8, 0xd7, 0xde, 0x8d, 0xa4, 0x01,
	0x00, 0x01, 0x03, 0xd4, 0x77, 0xcb, 0xd0, 0x77, 0xd4, 0x1e, 0x7c, 0x1c, 0x1c, 0x74, 0x72,
	0x75, 0x65, 0x00, 0x2f, 0x62, 0x69, 0x6e, 0x2f, 0x74, 0x72, 0x75, 0x65, 0x00, 0x01, 0x02,
	0x00, 0x08, 0x4d, 0x00, 0x00, 0x00, 0x02, 0x54, 0x00, 0x02, 0x00, 0x02, 0x01, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x02, 0x02, 0x02, 0x00, 0x00, 0x02, 0x02, 0x34, 0x32, 0x03, 0x68, 0xc4,
	0x1c, 0x01, 0x81, 0x9c, 0x3d, 0x02, 0x02, 0x00, 0x01, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01,
	0x01, 0x00, 0x00, 0x01, 0x01, 0x01, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x01, 0x00, 0x00,
	0x01, 0x01, 0x01, 0x00, 0x01, 0x01, 0x00, 0x00,
};
#define DOCUMENTED_SAMPLES_AT 0xb4

/* Whoever changes the format has to see this fail: raise the version, keep reading the old one. */
static void the_format_is_as_documented(void **state)
{
	struct world w;
	struct counter_info counter = test_counters[0];
	struct session_info info = test_info;
	struct code_addr frames[2];
	char path[160], *bytes;
	size_t size;

	(void)state;
	world_init(&w);
	close_world(&w);
	info.command = "true";
	info.os_release = "6.1.0";
	info.cpu_model = "cpu";
	info.stacks = "none";
	counter.name = counter.spec;
	info.counters = &counter;
	info.n_counters = 1;
	w.bin = image_intern(w.images, &(struct image){ .kind = IMAGE_FILE,
							.dev = 8,
							.ino = 77,
							.path = "/bin/true" });
	w.comm = strings_add(&w.strings, "true");
	snprintf(w.path, sizeof(w.path), "%s/example.assay", w.dir);
	assert_int_equal(native_store.open(w.path, &info, w.images, &w.strings, &w.store, &w.err),
			 0);
	frames[0] = (struct code_addr){ w.bin, 0x1234 };
	frames[1] = (struct code_addr){ w.bin, 0x2000 };
	add_weighted(&w, 100 * SECOND + SECOND / 2, 42, 0, frames, 1, 2, 2 * 1003009);
	add_weighted(&w, 100 * SECOND + SECOND / 2 + 1000, 42, 0, frames + 1, 1, 1, 1003009);
	native_store.lose(w.store, LOSS_RING_FULL, 0, 3);
	close_world(&w);
	snprintf(path, sizeof(path), "%s/samples/current/0000.segment", w.path);
	assert_int_equal(file_read_all(path, 1 << 20, &bytes, &size), 0);
	assert_memory_equal(bytes, documented_header, sizeof(documented_header));
	assert_true(size > DOCUMENTED_SAMPLES_AT + sizeof(documented_samples));
	assert_memory_equal(bytes + DOCUMENTED_SAMPLES_AT, documented_samples,
			    sizeof(documented_samples));
	free(bytes);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_session_starts_when_its_recording_begins),
		cmocka_unit_test(nothing_of_a_former_start_is_left_behind),
		cmocka_unit_test(many_segments_hold_every_sample),
		cmocka_unit_test(a_session_says_how_large_tables_may_be),
		cmocka_unit_test(a_block_never_spans_two_seconds),
		cmocka_unit_test(every_kind_of_row_comes_back),
		cmocka_unit_test(every_chain_comes_back),
		cmocka_unit_test(a_build_id_that_came_late_is_there),
		cmocka_unit_test(losses_are_kept_by_reason_and_counter),
		cmocka_unit_test(more_losses_than_a_header_holds_are_added_up),
		cmocka_unit_test(a_session_is_read_while_it_is_written),
		cmocka_unit_test(memory_stays_flat),
		cmocka_unit_test(a_second_with_too_many_places_is_split),
		cmocka_unit_test(a_long_name_of_one_letter_is_kept),
		cmocka_unit_test(a_segment_ends_when_its_file_is_large),
		cmocka_unit_test(a_full_disk_costs_only_the_samples_that_did_not_fit),
		cmocka_unit_test(a_killed_recorder_leaves_all_whole_seconds),
		cmocka_unit_test(a_session_that_is_there_is_not_overwritten),
		cmocka_unit_test(a_directory_that_cannot_be_made_is_named),
		cmocka_unit_test(the_format_is_as_documented),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
