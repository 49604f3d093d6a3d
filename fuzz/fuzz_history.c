/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories: a folder of parts that may be anything. It is read as a whole and in a window, then
 * merged. If all parts are sound, merging keeps the number of samples.
 *
 * The input begins with a byte (the level to which parts are merged), and the window as two numbers
 * of seconds. The parts follow, each with its name, a NUL, a byte (odd: built_segment.h), and its
 * size and bytes. Numbers are ULEB128.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "limits.h"
#include "built_segment.h"
#include "scratch_root.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "store/free_items.h"
#include "store/history/history.h"
#include "store/history/retention.h"
#include "store/row_reader.h"

#define PARTS_MAX 6
#define LATER     (1900000000 * NS_PER_SECOND) /* after the parts of most seeds */

/* False: the input ends. */
static bool write_part(struct reader *r)
{
	const char *name = (const char *)r->at, *end = memchr(name, 0, reader_left(r));
	cleanup(free_at_exit) char *dir = NULL, *file = NULL;
	struct buf built = { 0 };
	uint64_t time_ns, size;
	uint8_t flags;

	if (!end)
		return false;
	reader_bytes(r, (size_t)(end - name) + 1);
	flags = reader_u8(r);
	size = reader_uleb(r);
	size = MIN(size, reader_left(r));
	if (!history_part_time(name, &time_ns)) {
		reader_bytes(r, size);
		return true;
	}
	if (flags & 1)
		build_segment(reader_bytes(r, size), size, &built);
	else
		buf_bytes(&built, reader_bytes(r, size), size);
	dir = xasprintf("%s/%s/samples/current", scratch_root, name);
	file = xasprintf("%s/0000.segment", dir);
	if (file_mkdirs(dir, 0700, NULL) < 0 ||
	    file_replace(file, built.data ? (char *)built.data : "", built.len, NULL) < 0)
		abort();
	buf_fini(&built);
	return true;
}

struct totals {
	bool is_sound;
	uint64_t samples;
};

static struct totals read_history(const struct history_request *request)
{
	struct totals totals = { .is_sound = true };
	struct count_rows rows = { 0 };
	struct session *s;
	struct error err = { 0 };

	if (history_open(scratch_root, request, &s, &err) < 0) {
		if (!*err.text)
			abort();
		return (struct totals){ 0 };
	}
	totals.is_sound = !s->warnings.n;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			rows.n = 0;
			if (segment_read_rows(s->segments[i], b, &rows, NULL) < 0)
				totals.is_sound = false;
			vec_foreach (&rows, row)
				totals.samples += row->samples;
		}
	vec_fini(&rows);
	session_close(s);
	return totals;
}

static struct retention_result merge(size_t level)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;

	for (size_t i = 0; i < N_HISTORY_LEVELS; i++) {
		policy.tiers[i].after_s = i == level;
		policy.tiers[i].min_share = 0;
	}
	policy.now_ns = LATER;
	policy.active = "";
	history_retain(scratch_root, &policy, &result, NULL);
	return result;
}

static void check(uint8_t level, const struct history_request *window)
{
	static const struct history_request all = { TIME_WINDOW_ALL, true };
	struct totals before = read_history(&all), after;
	struct retention_result result;

	read_history(window);
	result = merge(level % N_HISTORY_LEVELS);
	after = read_history(&all);
	if (before.is_sound && after.is_sound && !result.n_damaged &&
	    after.samples != before.samples)
		abort();
}

/* As in the segments' target, for each of up to PARTS_MAX parts. */
const struct fuzz_limits fuzz_limits = { .floor_kib = PARTS_MAX * 12288, .bytes_a_byte = 256 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader r = reader_over(data, size);
	struct history_request window = { .window = TIME_WINDOW_ALL };
	uint8_t level = reader_u8(&r);

	free_set(FREE_ITEMS, 65536);
	free_set(FREE_NAMES, 1 << 20);
	scratch_root_make();
	window.window.from_ns = reader_uleb(&r) * NS_PER_SECOND;
	window.window.to_ns = reader_uleb(&r) * NS_PER_SECOND;
	for (int i = 0; i < PARTS_MAX && write_part(&r); i++)
		;
	check(level, &window);
	file_remove_tree(scratch_root, NULL);
	if (mkdir(scratch_root, 0700) < 0 && errno != EEXIST)
		abort();
	return 0;
}
