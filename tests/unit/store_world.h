/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recorder without a kernel, for tests of the store: the tables that samples refer to, a session
 * in a separate directory, and the samples that were added.
 */
#pragma once

#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/session.h"
#include "store/store.h"

#define SECOND 1000000000ULL

struct world {
	char dir[64], path[96];
	struct image_table *images;
	struct strings strings;
	image_id bin, lib, kernel;
	string_id comm;
	struct store *store;
	struct error err;
	uint64_t samples, period; /* added so far */
};

static struct counter_info test_counters[2] = {
	{ .name = "cpu-clock",
	  .spec = "cpu-clock",
	  .unit = "ns",
	  .freq_hz = 997,
	  .in_user = true,
	  .in_kernel = true },
	{ .name = "faults:u", .spec = "faults:100:0:0:1", .unit = "events", .count = 100 },
};

static const struct session_info test_info = {
	.version = "0.1.0",
	.command = "cc -c 'a b.c'",
	.target = "command",
	.hostname = "host",
	.os_release = "6.1.0",
	.arch = "x86_64",
	.cpu_model = "a processor",
	.collector = "perf rings",
	.stacks = "frame pointers",
	.note = "",
	.n_cpus = 2,
	.start_wall_ns = 1700000000 * SECOND,
	.start_ns = 100 * SECOND,
	.counters = test_counters,
	.n_counters = 2,
};

static inline void world_init(struct world *w)
{
	*w = (struct world){ .dir = "store-XXXXXX" };
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/s.assay", w->dir);
	w->images = image_table_new();
	strings_init(&w->strings);
	w->bin = image_intern(w->images, &(struct image){ .kind = IMAGE_FILE,
							  .dev = 8,
							  .ino = 77,
							  .path = "/usr/bin/cc" });
	w->lib = image_intern(w->images,
			      &(struct image){ .kind = IMAGE_FILE,
					       .build_id = { .len = 20, .bytes = { 1, 2, 3 } },
					       .path = "/lib/libc.so.6" });
	w->kernel = image_intern(w->images,
				 &(struct image){ .kind = IMAGE_KERNEL, .path = "[kernel]" });
	w->comm = strings_add(&w->strings, "cc1");
	assert_int_equal(native_store.open(w->path, &test_info, w->images, &w->strings, &w->store,
					   &w->err),
			 0);
}

static inline void world_fini(struct world *w)
{
	file_remove_tree(w->dir, NULL);
	image_table_free(w->images);
	strings_fini(&w->strings);
}

static inline void add_weighted(struct world *w, uint64_t time_ns, uint32_t pid, uint32_t counter,
				const struct code_addr *frames, uint32_t n_frames, uint64_t n,
				uint64_t period)
{
	struct sample sample = {
		.class = { .counter = counter,
			   .app = w->bin,
			   .pid = (int32_t)pid,
			   .tid = (int32_t)pid,
			   .comm = w->comm,
			   .cpu = pid & 1 },
		.time_ns = time_ns,
		.frames = frames,
		.n_frames = n_frames,
		.samples = n,
		.period = period,
	};

	assert_int_equal(native_store.add(w->store, &sample, &w->err), 0);
	w->samples += n;
	w->period += period;
}

static inline void add(struct world *w, uint64_t time_ns, uint32_t pid, image_id image,
		       uint64_t offset)
{
	struct code_addr frames[2] = { { image, offset }, { w->bin, 0x1000 + offset % 7 } };

	add_weighted(w, time_ns, pid, 0, frames, 2, 1, 1003009);
}

static inline void close_world(struct world *w)
{
	struct session_end end = {
		.end_ns = 200 * SECOND, .own_cpu_ns = 5, .own_peak_bytes = 6, .exit_status = 256
	};

	assert_int_equal(native_store.close(w->store, &end, &(uint64_t){ 0 }, &w->err), 0);
}

struct totals {
	uint64_t samples, period, lost;
	uint32_t blocks;
};

static inline uint64_t lost_in(const struct block *b)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < b->n_losses; i++)
		if (loss_texts[b->losses[i].reason].kind == LOSS_LOST)
			n += b->losses[i].n;
	return n;
}

/* Reads every row, and checks what the interface promises of it. */
static inline struct totals read_totals(const struct session *s)
{
	struct totals t = { 0 };
	struct count_rows rows = { 0 };

	for (uint32_t i = 0; i < s->n_segments; i++) {
		const struct segment *seg = s->segments[i];

		for (uint32_t b = 0; b < seg->n_blocks; b++) {
			rows.n = 0;
			t.blocks++;
			t.lost += lost_in(&seg->blocks[b]);
			assert_int_equal(segment_read_rows(seg, b, &rows, NULL), 0);
			assert_int_equal(rows.n, seg->blocks[b].n_rows);
			for (size_t k = 0; k < rows.n; k++) {
				assert_true(rows.data[k].class < seg->n_classes);
				assert_true(rows.data[k].node < seg->n_nodes);
				t.samples += rows.data[k].samples;
				t.period += rows.data[k].period;
			}
		}
		for (uint32_t k = 1; k < seg->n_nodes; k++) {
			assert_true(seg->nodes[k].parent < k);
			assert_true(seg->nodes[k].code.image.n < seg->n_images);
		}
	}
	free(rows.data);
	return t;
}
