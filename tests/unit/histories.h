/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Histories for tests: parts with few samples a second and known sums, in a separate directory. The
 * stack, process and weight of a sample follow from its second and number.
 */
#pragma once

#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "machine/image.h"
#include "store/history/history.h"
#include "store/history/retention.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/store.h"

#define MINUTE   60ULL
#define HOUR     3600ULL
#define DAY      86400ULL
#define MIDNIGHT 1795132800ULL /* 2026-11-20 00:00 UTC */
#define A_SECOND 3             /* samples */

struct history {
	char dir[64];
	struct image_table *images;
	struct strings strings;
	image_id bin, lib;
	string_id comms[2];
	bool has_times;       /* parts keep the exact time of each sample */
	uint64_t table_bytes; /* limit of a segment of parts; 0: the default */
};

static inline void history_init(struct history *h)
{
	*h = (struct history){ .dir = "history-XXXXXX" };
	assert_non_null(mkdtemp(h->dir));
	h->images = image_table_new();
	strings_init(&h->strings);
	h->bin = image_intern(h->images,
			      &(struct image){ .kind = IMAGE_FILE, .ino = 7, .path = "/bin/app" });
	h->lib = image_intern(h->images,
			      &(struct image){ .kind = IMAGE_FILE,
					       .build_id = { .len = 20, .bytes = { 1, 2, 3 } },
					       .path = "/lib/libc.so.6" });
	h->comms[0] = strings_add(&h->strings, "app");
	h->comms[1] = strings_add(&h->strings, "worker");
}

static inline void history_fini(struct history *h)
{
	file_remove_tree(h->dir, NULL);
	image_table_free(h->images);
	strings_fini(&h->strings);
}

static inline void history_sample(struct history *h, struct store *store, uint64_t second,
				  uint32_t i, uint64_t start_ns, uint64_t start_s)
{
	uint32_t mix = (uint32_t)hash_u64(second * A_SECOND + i);
	struct code_addr frames[3] = { { h->lib, 0x2000 + (mix & 256 ? 0 : mix % 64) * 4 },
				       { h->bin, 0x1000 + mix % 5 },
				       { h->bin, 0x900 } };
	struct sample sample = {
		.class = { .app = h->bin,
			   .pid = (int32_t)(100 + mix % 7),
			   .tid = (int32_t)(100 + mix % 7 + mix % 3),
			   .comm = h->comms[mix % 2],
			   .cpu = mix % 4 },
		.is_timed = h->has_times,
		.time_ns = start_ns + (second - start_s) * NS_PER_SECOND + i * (NS_PER_SECOND / 10),
		.frames = frames,
		.n_frames = 3,
		.samples = 1 + mix % 2,
		.period = 1000000 + mix % 3,
	};

	assert_int_equal(native_store.add(store, &sample, NULL), 0);
}

/* A part of `seconds` from a time of the clock on, with a loss each ten seconds. */
static inline void history_part(struct history *h, uint64_t start_s, uint64_t seconds, bool ends)
{
	struct counter_info counter = { "cpu-clock", "cpu-clock", "ns", 49, 0, 0, true, true };
	const uint64_t start_ns = 1000 * NS_PER_SECOND + start_s % 77 * NS_PER_SECOND;
	struct session_info info = { .version = "0",
				     .command = "",
				     .target = "whole machine",
				     .hostname = "host",
				     .os_release = "Linux",
				     .arch = "x86_64",
				     .cpu_model = "",
				     .collector = "none",
				     .stacks = "none",
				     .note = "",
				     .n_cpus = 4,
				     .start_wall_ns = start_s * NS_PER_SECOND,
				     .start_ns = start_ns,
				     .exact_times = h->has_times,
				     .table_bytes = h->table_bytes,
				     .counters = &counter,
				     .n_counters = 1 };
	struct session_end end = { .end_ns = start_ns + seconds * NS_PER_SECOND,
				   .exit_status = -1 };
	char name[HISTORY_NAME_SIZE];
	cleanup(free_at_exit) char *path = NULL;
	struct store *store;
	uint64_t n;

	history_part_name(start_s * NS_PER_SECOND, 0, name);
	path = xasprintf("%s/%s", h->dir, name);
	assert_int_equal(native_store.open(path, &info, h->images, &h->strings, &store, NULL), 0);
	native_store.name_code(store, &(struct code_symbol){ .image = h->bin,
							     .offset = 0x900,
							     .size = 16,
							     .name = "main" });
	for (uint64_t s = start_s; s < start_s + seconds; s++) {
		for (uint32_t i = 0; i < A_SECOND; i++)
			history_sample(h, store, s, i, start_ns, start_s);
		if (s % 10 == 0)
			native_store.lose(store, LOSS_RING_FULL, 0, 2);
		native_store.flush(store, start_ns + (s + 1 - start_s) * NS_PER_SECOND, NULL);
	}
	assert_int_equal(native_store.close(store, ends ? &end : NULL, &n, NULL), 0);
}

/* Sums, and a hash. Equal sums by process, name and code have equal hashes. */
struct sums {
	uint64_t samples, period, lost, hash;
	uint64_t other; /* samples whose stack was cut */
	/* Of the samples with an exact time: their number, and a hash of their times, too. */
	uint64_t timed, timed_hash;
};

static inline uint64_t path_hash(const struct segment *seg, uint32_t node)
{
	uint64_t hash = 1;

	for (; node; node = seg->nodes[node].parent) {
		const struct image *image = &seg->images[seg->nodes[node].code.image.n];

		for (const char *c = image->path; *c; c++)
			hash = hash_u64(hash + (uint8_t)*c);
		hash = hash_u64(hash ^ seg->nodes[node].code.offset);
	}
	return hash;
}

static inline bool is_other(const struct segment *seg, uint32_t node)
{
	return !strcmp(seg->images[seg->nodes[node].code.image.n].path, IMAGE_OTHER_PATH);
}

static inline uint64_t row_key(const struct segment *seg, const struct count_row *row)
{
	const struct profile_class *c = &seg->classes[row->class];

	return path_hash(seg, row->node) ^
	       hash_u64((uint64_t)(uint32_t)c->pid << 8 | (uint8_t)seg->strings[c->comm.n][0]);
}

static inline void add_timed_sums(const struct session *s, const struct segment *seg, uint32_t b,
				  const struct count_rows *rows, struct sums *sums)
{
	struct sample_times times = { 0 };

	assert_int_equal(segment_read_times(seg, b, rows, &times), 0);
	vec_foreach (&times, t) {
		uint64_t key = row_key(seg, &rows->data[t->row]);

		sums->timed += t->samples;
		sums->timed_hash +=
			hash_u64(key ^ hash_u64(session_wall_ns(&s->info, t->time_ns))) *
			t->samples;
	}
	free(times.data);
}

static inline struct sums sums_of(const struct session *s)
{
	struct count_rows rows = { 0 };
	struct sums sums = { 0 };

	for (uint32_t i = 0; i < s->n_segments; i++) {
		const struct segment *seg = s->segments[i];

		for (uint32_t b = 0; b < seg->n_blocks; b++) {
			rows.n = 0;
			assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
			for (uint32_t l = 0; l < seg->blocks[b].n_losses; l++)
				sums.lost += seg->blocks[b].losses[l].n;
			if (seg->blocks[b].timed_ns)
				add_timed_sums(s, seg, b, &rows, &sums);
			vec_foreach (&rows, row) {
				uint64_t key = row_key(seg, row);

				sums.samples += row->samples;
				sums.period += row->period;
				sums.hash += hash_u64(key) * row->samples; /* in any order */
				sums.other += is_other(seg, row->node) ? row->samples : 0;
			}
		}
	}
	free(rows.data);
	return sums;
}

static inline struct sums history_sums(const struct history *h, const struct time_window *w,
				       bool with_seconds)
{
	const struct history_request request = { w ? *w : TIME_WINDOW_ALL,
						 with_seconds ? 0 : UINT64_MAX };
	struct error err = { 0 };
	struct session *s;
	struct sums sums;

	if (history_open(h->dir, &request, &s, &err) < 0)
		fail_msg("%s", err.text);
	sums = sums_of(s);
	session_close(s);
	return sums;
}

/* Of the seconds in [from, to) as they were written. */
static inline struct sums expected_sums(uint64_t from, uint64_t to)
{
	struct sums sums = { 0 };

	for (uint64_t s = from; s < to; s++) {
		for (uint32_t i = 0; i < A_SECOND; i++) {
			uint32_t mix = (uint32_t)hash_u64(s * A_SECOND + i);

			sums.samples += 1 + mix % 2;
			sums.period += 1000000 + mix % 3;
		}
		sums.lost += s % 10 ? 0 : 2;
	}
	return sums;
}

static inline void assert_same(const struct sums *a, const struct sums *b)
{
	assert_int_equal(a->samples, b->samples);
	assert_int_equal(a->period, b->period);
	assert_int_equal(a->lost, b->lost);
}

/* Merges all parts, to blocks of the level. */
static inline void merge_to(const char *dir, size_t level)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	struct error err = { 0 };

	policy.now_ns = (MIDNIGHT + 90 * DAY) * NS_PER_SECOND;
	policy.tiers[LEVEL_MINUTES].after_s = 0;
	policy.tiers[LEVEL_HOURS].after_s = level == LEVEL_HOURS ? HOUR : 0;
	policy.tiers[LEVEL_DAYS].after_s = level == LEVEL_DAYS ? HOUR : 0;
	policy.active = "";
	if (history_retain(dir, &policy, &result, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(result.n_made > 0);
}
