/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocks of a history: each sample once, at function level, and without what stays on the host. */
#include "histories.h"

#include <errno.h>

#include "store/history/blocks.h"
#include "store/needed_nodes.h"
#include "symbol/symbols.h"

#define BUCKET 600ULL

static struct symbolizer *no_files(void)
{
	return symbolizer_new(&(struct symbolizer_config){ .cache_dir = "" });
}

static char *part_path(const struct history *h, uint64_t start_s)
{
	char name[HISTORY_NAME_SIZE];

	history_part_name(start_s * NS_PER_SECOND, 0, name);
	return xasprintf("%s/%s", h->dir, name);
}

static struct block_buckets buckets_of(const char *part)
{
	struct block_buckets buckets = { 0 };
	struct error err = { 0 };

	if (part_buckets(part, BUCKET * NS_PER_SECOND, &buckets, &err) < 0)
		fail_msg("%s", err.text);
	return buckets;
}

/* The block as a session. */
static struct session *block_of(const struct history *h, const char *part, uint64_t bucket,
				const struct block_config *config, struct block_sums *sums)
{
	cleanup(free_at_exit) char *to = xasprintf("%s/block", h->dir);
	struct session *s = NULL;
	struct error err = { 0 };

	if (part_block(part, bucket, config, to, sums, &err) < 0 || session_open(to, &s, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(s->n_segments, 1);
	assert_int_equal(s->warnings.n, 0);
	file_remove_tree(to, NULL);
	return s;
}

static void each_sample_is_in_one_block(void **state)
{
	const uint64_t start = MIDNIGHT - 100, seconds = 1500;
	struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND, .symbols = no_files() };
	struct block_buckets buckets;
	cleanup(free_at_exit) char *part = NULL;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, start, seconds, true);
	part = part_path(&h, start);
	buckets = buckets_of(part);
	assert_int_equal(buckets.n, 4);
	assert_false(buckets.may_grow);
	for (size_t i = 0; i < buckets.n; i++) {
		uint64_t from = MIDNIGHT + i * BUCKET - BUCKET, to = from + BUCKET;
		struct sums want = expected_sums(MAX(from, start), MIN(to, start + seconds)), got;
		struct block_sums sums;
		struct session *s;

		assert_int_equal(buckets.data[i].start_ns, from * NS_PER_SECOND);
		s = block_of(&h, part, buckets.data[i].start_ns, &config, &sums);
		assert_int_equal(buckets.data[i].samples, sums.samples);
		got = sums_of(s);
		assert_same(&got, &want);
		assert_int_equal(sums.samples, want.samples);
		assert_int_equal(sums.lost, want.lost);
		assert_int_equal(s->info.start_wall_ns, MAX(from, start) * NS_PER_SECOND);
		assert_int_equal(session_wall_ns(&s->info, s->end.end_ns),
				 MIN(to, start + seconds) * NS_PER_SECOND);
		session_close(s);
	}
	free(buckets.data);
	symbolizer_free(config.symbols);
	history_fini(&h);
}

static void a_packed_part_has_the_same_blocks(void **state)
{
	struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND, .symbols = no_files() };
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	cleanup(free_at_exit) char *part = NULL;
	struct sums before, after;
	struct history h;
	struct session *s;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 1500, true);
	part = part_path(&h, MIDNIGHT);
	s = block_of(&h, part, (MIDNIGHT + BUCKET) * NS_PER_SECOND, &config, NULL);
	before = sums_of(s);
	session_close(s);
	policy.now_ns = (MIDNIGHT + 2 * HOUR) * NS_PER_SECOND;
	policy.active = "";
	policy.overviews = (struct overview_rule){ 0, 2 };
	assert_int_equal(history_retain(h.dir, &policy, &result, NULL), 0);
	assert_int_equal(result.n_packed, 1);
	s = block_of(&h, part, (MIDNIGHT + BUCKET) * NS_PER_SECOND, &config, NULL);
	after = sums_of(s);
	assert_same(&after, &before);
	assert_int_equal(after.hash, before.hash);
	session_close(s);
	symbolizer_free(config.symbols);
	history_fini(&h);
}

/* ---- nodes that are read later ---- */

static bool is_in_second_bucket(void *context, const struct block_span *span)
{
	const uint64_t from = (MIDNIGHT + BUCKET) * NS_PER_SECOND;

	(void)context;
	return span->first_ns >= from && span->first_ns < from + BUCKET * NS_PER_SECOND;
}

static struct session *open_second_bucket(const char *part, bool nodes_later)
{
	const struct block_filter filter = { .takes = is_in_second_bucket,
					     .until_ns = (MIDNIGHT + 2 * BUCKET) * NS_PER_SECOND,
					     .nodes_later = nodes_later };
	struct session *s = NULL;
	struct error err = { 0 };

	if (session_open_blocks(part, &filter, &s, &err) < 0)
		fail_msg("%s", err.text);
	return s;
}

/* The rows of a session with the paths of their nodes. */
static uint64_t hash_rows(const struct session *s, bool nodes_later, uint32_t *n_nodes)
{
	struct count_rows rows = { 0 };
	uint64_t hash = 0;

	*n_nodes = 0;
	for (uint32_t i = 0; i < s->n_segments; i++) {
		struct segment *seg = s->segments[i];

		assert_true(!nodes_later || seg->n_nodes == 1);
		assert_int_equal(segment_load_nodes(seg), 0);
		*n_nodes += seg->n_nodes;
		for (uint32_t b = 0; b < seg->n_blocks; b++) {
			rows.n = 0;
			assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
			vec_foreach (&rows, row)
				hash = hash_u64(hash ^ row_key(seg, row)) + row->samples;
		}
		segment_drop_nodes(seg);
	}
	vec_fini(&rows);
	return hash;
}

static void assert_nodes_later_are_the_same(const char *part)
{
	struct session *whole = open_second_bucket(part, false);
	struct session *later = open_second_bucket(part, true);
	uint32_t n_whole, n_later;
	uint64_t hash = hash_rows(whole, false, &n_whole);

	assert_int_equal(hash_rows(later, true, &n_later), hash);
	/* Once more, as the nodes were dropped. */
	assert_int_equal(hash_rows(later, true, &n_later), hash);
	assert_in_range(n_later, 2, n_whole - 1);
	session_close(whole);
	session_close(later);
}

static void nodes_that_are_read_later_are_the_same(void **state)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	cleanup(free_at_exit) char *part = NULL;
	struct history h;

	(void)state;
	history_init(&h);
	h.table_bytes = 6000; /* several segments */
	history_part(&h, MIDNIGHT, 1500, true);
	part = part_path(&h, MIDNIGHT);
	assert_nodes_later_are_the_same(part);
	policy.now_ns = (MIDNIGHT + 2 * HOUR) * NS_PER_SECOND;
	policy.active = "";
	assert_int_equal(history_retain(h.dir, &policy, &result, NULL), 0);
	assert_int_equal(result.n_packed, 1);
	assert_nodes_later_are_the_same(part);
	history_fini(&h);
}

/* Damaged nodes are in the unknown image, as if all nodes were read. */
static void damaged_nodes_that_are_read_later_are_unknown(void **state)
{
	cleanup(free_at_exit) char *part = NULL, *path = NULL;
	cleanup(free_at_exit) char *bytes = NULL;
	struct history h;
	uint32_t n, n_cut = 0;
	size_t size;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 1500, true);
	part = part_path(&h, MIDNIGHT);
	path = xasprintf("%s/samples/current/0000.segment", part);
	assert_int_equal(file_read_all(path, 64 << 20, &bytes, &size), 0);
	for (size_t at = size / 3; at < size / 2; at += 997) {
		struct session *whole, *later;
		FILE *file = fopen(path, "r+");

		assert_non_null(file);
		fseek(file, (long)at, SEEK_SET);
		fputc(bytes[at] ^ 0x55, file);
		fclose(file);
		whole = open_second_bucket(part, false);
		later = open_second_bucket(part, true);
		assert_int_equal(hash_rows(later, true, &n), hash_rows(whole, false, &n));
		n_cut += whole->warnings.n > 0;
		session_close(whole);
		session_close(later);
	}
	assert_true(n_cut > 0);
	history_fini(&h);
}

static void the_last_bucket_of_a_growing_part_waits(void **state)
{
	cleanup(free_at_exit) char *part = NULL, *command = NULL;
	struct block_buckets buckets;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 900, false);
	part = part_path(&h, MIDNIGHT);
	buckets = buckets_of(part);
	assert_int_equal(buckets.n, 1);
	assert_true(buckets.may_grow);
	assert_int_equal(buckets.growing.start_ns, (MIDNIGHT + BUCKET) * NS_PER_SECOND);
	assert_int_equal(buckets.growing.samples,
			 expected_sums(MIDNIGHT + BUCKET, MIDNIGHT + 900).samples);
	free(buckets.data);
	/* Nobody wrote to it for long: its recorder was killed. */
	command = xasprintf("find %s -exec touch -d @1 {} +", part);
	assert_int_equal(system(command), 0);
	buckets = buckets_of(part);
	assert_int_equal(buckets.n, 2);
	assert_false(buckets.may_grow);
	free(buckets.data);
	history_fini(&h);
}

static bool has_code(const struct segment *seg, const char *path, uint64_t offset)
{
	for (uint32_t n = 1; n < seg->n_nodes; n++)
		if (!strcmp(seg->images[seg->nodes[n].code.image.n].path, path) &&
		    seg->nodes[n].code.offset == offset)
			return true;
	return false;
}

/* main is at 0x900; code of no function keeps its place. */
static void code_of_a_function_is_one_place(void **state)
{
	struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND, .symbols = no_files() };
	cleanup(free_at_exit) char *part = NULL;
	struct history h;
	struct session *s;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 60, true);
	part = part_path(&h, MIDNIGHT);
	s = block_of(&h, part, MIDNIGHT * NS_PER_SECOND, &config, NULL);
	assert_true(has_code(s->segments[0], "/bin/app", 0x901));
	assert_false(has_code(s->segments[0], "/bin/app", 0x900));
	assert_true(has_code(s->segments[0], "/bin/app", 0x1003));
	assert_true(has_code(s->segments[0], "/lib/libc.so.6", 0x2000));
	assert_int_equal(s->segments[0]->n_symbols, 1);
	assert_string_equal(s->segments[0]->symbols[0].name, "main");
	assert_int_equal(s->segments[0]->symbols[0].offset, 0x900);
	session_close(s);
	symbolizer_free(config.symbols);
	history_fini(&h);
}

static void what_is_dropped_is_not_there(void **state)
{
	struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND,
				       .symbols = no_files(),
				       .without_comm = true };
	cleanup(free_at_exit) char *part = NULL;
	struct history h;
	struct session *s;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 60, true);
	part = part_path(&h, MIDNIGHT);
	s = block_of(&h, part, MIDNIGHT * NS_PER_SECOND, &config, NULL);
	assert_string_equal(s->info.target, "");
	assert_string_equal(s->info.hostname, "host");
	for (uint32_t i = 0; i < s->segments[0]->n_strings; i++)
		assert_string_not_equal(s->segments[0]->strings[i], "worker");
	assert_int_equal(s->segments[0]->n_classes, 1);
	assert_int_equal(s->segments[0]->classes[0].pid, CLASS_ALL);
	session_close(s);
	symbolizer_free(config.symbols);
	history_fini(&h);
}

/* A block whose segment has no room for all: what is cut is in "[other]", and the sums stay. */
static void make_cut_block(const struct block_config *config, struct block_sums *sums,
			   uint32_t *n_nodes)
{
	struct sums want = expected_sums(MIDNIGHT, MIDNIGHT + BUCKET), got;
	cleanup(free_at_exit) char *part = NULL;
	struct history h;
	struct session *s;

	history_init(&h);
	history_part(&h, MIDNIGHT, BUCKET, true);
	part = part_path(&h, MIDNIGHT);
	s = block_of(&h, part, MIDNIGHT * NS_PER_SECOND, config, sums);
	got = sums_of(s);
	assert_same(&got, &want);
	assert_true(sums->cut > 0);
	assert_int_equal(got.other, sums->cut);
	*n_nodes = s->segments[0]->n_nodes;
	session_close(s);
	history_fini(&h);
}

static void a_tree_that_is_too_large_fits_after_cutting(void **state)
{
	const struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND,
					     .symbols = no_files(),
					     .table_bytes = 2500 };
	struct block_sums sums;
	uint32_t n_nodes;

	(void)state;
	make_cut_block(&config, &sums, &n_nodes);
	symbolizer_free(config.symbols);
}

static void addresses_that_are_too_many_fit_after_cutting(void **state)
{
	const struct block_config config = { .bucket_ns = LEAVES_BUCKET_NS,
					     .leaves = true,
					     .table_bytes = 1000 };
	struct block_sums sums;
	uint32_t n_nodes;

	(void)state;
	make_cut_block(&config, &sums, &n_nodes);
	/* The address with half of the samples stays. */
	assert_in_range(sums.cut, 1, sums.samples * 6 / 10);
	assert_in_range(n_nodes, 3, 50);
}

static void a_bucket_without_samples_is_refused(void **state)
{
	struct block_config config = { .bucket_ns = BUCKET * NS_PER_SECOND, .symbols = no_files() };
	cleanup(free_at_exit) char *part = NULL, *to = NULL;
	struct history h;

	(void)state;
	history_init(&h);
	history_part(&h, MIDNIGHT, 60, true);
	part = part_path(&h, MIDNIGHT);
	to = xasprintf("%s/block", h.dir);
	assert_int_equal(part_block(part, (MIDNIGHT + DAY) * NS_PER_SECOND, &config, to, NULL,
				    NULL),
			 -ENODATA);
	assert_int_not_equal(access(to, F_OK), 0);
	symbolizer_free(config.symbols);
	history_fini(&h);
}

static void names_of_blocks_are_names_of_parts(void **state)
{
	char one[HISTORY_NAME_SIZE], other[HISTORY_NAME_SIZE];
	uint64_t ns;

	(void)state;
	block_name(MIDNIGHT * NS_PER_SECOND, "20261119T235900.123Z", one);
	block_name(MIDNIGHT * NS_PER_SECOND, "20261120T000310.000Z", other);
	assert_string_not_equal(one, other);
	assert_true(history_part_time(one, &ns));
	assert_int_equal(ns, MIDNIGHT * NS_PER_SECOND);
	block_name(MIDNIGHT * NS_PER_SECOND, "20261119T235900.123Z", other);
	assert_string_equal(one, other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_sample_is_in_one_block),
		cmocka_unit_test(a_packed_part_has_the_same_blocks),
		cmocka_unit_test(nodes_that_are_read_later_are_the_same),
		cmocka_unit_test(damaged_nodes_that_are_read_later_are_unknown),
		cmocka_unit_test(the_last_bucket_of_a_growing_part_waits),
		cmocka_unit_test(code_of_a_function_is_one_place),
		cmocka_unit_test(what_is_dropped_is_not_there),
		cmocka_unit_test(a_tree_that_is_too_large_fits_after_cutting),
		cmocka_unit_test(addresses_that_are_too_many_fit_after_cutting),
		cmocka_unit_test(a_bucket_without_samples_is_refused),
		cmocka_unit_test(names_of_blocks_are_names_of_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
