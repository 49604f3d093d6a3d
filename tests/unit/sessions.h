/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Random sessions for the tests of profile/ and report/. The native store writes them; every sample
 * is kept for slow, obvious reference results.
 *
 * Code is in images without files, so the session has the names. Image "alpha" has the functions
 * alpha_f0 … at 0x1000, 0x1100, …, of 0x80 bytes each. The code between them has no name.
 */
#pragma once

#include "folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "profile/query.h"
#include "profile/rows.h"
#include "store/native.h"
#include "store/session.h"
#include "store/store.h"
#include "symbol/symbols.h"

#define SECOND      1000000000ULL
#define N_COUNTERS  2
#define N_IMAGES    4
#define N_FUNCTIONS 5
#define FIRST_CODE  0x1000
#define CODE_STEP   0x100
#define CODE_SIZE   0x80
#define MAX_FRAMES  12

static const struct {
	const char *path;
	enum image_kind kind;
} fake_images[N_IMAGES] = {
	{ "alpha", IMAGE_JIT },
	{ "beta", IMAGE_JIT },
	{ "bpf_prog", IMAGE_BPF },
	{ "[unknown]", IMAGE_UNKNOWN },
};
static const char *const fake_apps[] = { "/usr/bin/make", "/usr/lib/cc1" };
static const char *const fake_comms[] = { "make", "cc1", "a,b" };

struct fake_frame {
	uint32_t image;
	uint64_t offset;
};

struct fake_sample {
	uint32_t counter, app, comm, cpu;
	int32_t pid, tid;
	uint64_t second, samples, period;
	struct fake_frame frames[MAX_FRAMES];
	uint32_t n_frames;
};

/* One or several sessions, joined to one of several segments. */
struct fake {
	char dir[64];
	VEC(struct fake_sample) samples;
	struct session *parts[3];
	uint32_t n_parts;
	struct session joined;
	struct segment *segments[16];
	struct symbolizer *symbols;
	uint64_t lost;
	uint32_t random;
};

static uint32_t fake_random(struct fake *f, uint32_t below)
{
	f->random = f->random * 1664525 + 1013904223;
	return (f->random >> 8) % below;
}

/* Code that is hit often, code at the end of functions, code between them. */
static uint64_t fake_offset(struct fake *f)
{
	static const uint64_t within[] = { 0, 1, 0x20, CODE_SIZE - 1, CODE_SIZE, CODE_SIZE + 1 };

	return FIRST_CODE + fake_random(f, N_FUNCTIONS) * CODE_STEP +
	       within[fake_random(f, ARRAY_SIZE(within))];
}

static struct fake_sample fake_sample(struct fake *f, uint64_t second)
{
	struct fake_sample s = {
		.counter = fake_random(f, N_COUNTERS),
		.app = fake_random(f, ARRAY_SIZE(fake_apps)),
		.comm = fake_random(f, ARRAY_SIZE(fake_comms)),
		.cpu = fake_random(f, 3),
		.pid = (int32_t)fake_random(f, 4), /* 0 is idle */
		.second = second,
		.samples = 1 + fake_random(f, 3),
		.period = 1 + fake_random(f, 1000),
		.n_frames = 1 + fake_random(f, MAX_FRAMES),
	};
	uint32_t n_kernel = fake_random(f, 3);

	s.tid = s.pid * 10 + (int32_t)fake_random(f, 2);
	for (uint32_t i = 0; i < s.n_frames; i++) {
		uint32_t image = i < n_kernel ? 2 : fake_random(f, 20) ? fake_random(f, 2) : 3;

		s.frames[i] = (struct fake_frame){ image, fake_offset(f) };
	}
	return s;
}

static struct counter_info fake_counters[N_COUNTERS] = {
	{ .name = "cycles",
	  .spec = "cycles",
	  .unit = "events",
	  .freq_hz = 997,
	  .in_user = true,
	  .in_kernel = true },
	{ .name = "faults:u", .spec = "faults:u", .unit = "events", .count = 100, .in_user = true },
};

static const struct session_info fake_info = {
	.version = "0.1.0",
	.command = "make \x1b[31m all",
	.target = "command",
	.hostname = "host",
	.os_release = "Linux 6.1.0",
	.arch = "x86_64",
	.cpu_model = "a processor",
	.collector = "perf rings",
	.stacks = "frame pointers",
	.note = "a \"note\"",
	.n_cpus = 3,
	.start_wall_ns = 1700000000 * SECOND,
	.start_ns = 100 * SECOND,
	.counters = fake_counters,
	.n_counters = N_COUNTERS,
};

struct fake_writer {
	struct image_table *images;
	struct strings strings;
	image_id code[N_IMAGES], apps[2];
	struct store *store;
};

static void fake_tables(struct fake_writer *w)
{
	w->images = image_table_new();
	strings_init(&w->strings);
	for (uint32_t i = 0; i < N_IMAGES; i++)
		w->code[i] = fake_images[i].kind == IMAGE_UNKNOWN
				     ? IMAGE_UNKNOWN_ID
				     : image_intern(w->images,
						    &(struct image){ .kind = fake_images[i].kind,
								     .path = fake_images[i].path });
	for (uint32_t i = 0; i < ARRAY_SIZE(fake_apps); i++)
		w->apps[i] = image_intern(w->images, &(struct image){ .kind = IMAGE_FILE,
								      .ino = i + 1,
								      .path = fake_apps[i] });
}

static void fake_name_code(struct fake_writer *w)
{
	for (uint32_t i = 0; i < N_IMAGES; i++)
		for (uint32_t k = 0; k < N_FUNCTIONS && fake_images[i].kind != IMAGE_UNKNOWN; k++) {
			char name[32];

			snprintf(name, sizeof(name), "%s_f%" PRIu32, fake_images[i].path, k);
			native_store.name_code(w->store,
					       &(struct code_symbol){ .image = w->code[i],
								      .offset = FIRST_CODE +
										k * CODE_STEP,
								      .size = CODE_SIZE,
								      .name = name });
		}
}

static void fake_write_sample(struct fake_writer *w, const struct fake_sample *s)
{
	struct code_addr frames[MAX_FRAMES];
	struct sample sample = {
		.class = { .counter = s->counter,
			   .app = w->apps[s->app],
			   .pid = s->pid,
			   .tid = s->tid,
			   .comm = strings_add(&w->strings, fake_comms[s->comm]),
			   .cpu = s->cpu },
		.time_ns = fake_info.start_ns + s->second * SECOND + SECOND / 4,
		.frames = frames,
		.n_frames = s->n_frames,
		.samples = s->samples,
		.period = s->period,
	};

	for (uint32_t i = 0; i < s->n_frames; i++)
		frames[i] = (struct code_addr){ w->code[s->frames[i].image], s->frames[i].offset };
	assert_int_equal(native_store.add(w->store, &sample, NULL), 0);
}

/* One session of `n` samples in three seconds, the first of them `second`. */
static void fake_part(struct fake *f, uint32_t n, uint64_t second)
{
	const struct session_end end = { .end_ns = 107 * SECOND, .exit_status = -1 };
	struct fake_writer w;
	uint64_t n_unwritten;
	char path[96];

	fake_tables(&w);
	snprintf(path, sizeof(path), "%s/%" PRIu32, f->dir, f->n_parts);
	assert_int_equal(native_store.open(path, &fake_info, w.images, &w.strings, &w.store, NULL),
			 0);
	fake_name_code(&w);
	for (uint64_t s = second; s < second + 3; s++) {
		for (uint32_t i = 0; i < n / 3; i++) {
			vec_push(&f->samples, fake_sample(f, s));
			fake_write_sample(&w, &f->samples.data[f->samples.n - 1]);
		}
		native_store.lose(w.store, LOSS_RING_FULL, UINT32_MAX, 5);
		f->lost += 5;
		assert_int_equal(native_store.flush(w.store, fake_info.start_ns + (s + 1) * SECOND,
						    NULL),
				 0);
	}
	assert_int_equal(native_store.close(w.store, &end, &n_unwritten, NULL), 0);
	assert_int_equal(session_open(path, &f->parts[f->n_parts++], NULL), 0);
	image_table_free(w.images);
	strings_fini(&w.strings);
}

static void fake_init(struct fake *f, uint32_t seed)
{
	const struct symbolizer_config config = { .cache_dir = "" };

	*f = (struct fake){ .dir = "profile-XXXXXX", .random = seed };
	assert_non_null(mkdtemp(f->dir));
	for (uint32_t i = 0; i <= seed % 2; i++)
		fake_part(f, 60 + fake_random(f, 300), i * 3);
	f->joined = *f->parts[0];
	f->joined.segments = f->segments;
	f->joined.n_segments = 0;
	for (uint32_t i = 0; i < f->n_parts; i++)
		for (uint32_t s = 0; s < f->parts[i]->n_segments; s++)
			f->segments[f->joined.n_segments++] = f->parts[i]->segments[s];
	f->symbols = symbolizer_new(&config);
}

static void fake_fini(struct fake *f)
{
	symbolizer_free(f->symbols);
	for (uint32_t i = 0; i < f->n_parts; i++)
		session_close(f->parts[i]);
	vec_fini(&f->samples);
	file_remove_tree(f->dir, NULL);
}

/* The function of a frame as profile.h says: callers one byte back, unless interrupted. */
static inline void fake_name(const struct fake_sample *s, uint32_t i, char name[static 40])
{
	const struct fake_frame *at = &s->frames[i];
	bool is_interrupted = i > 0 && s->frames[i - 1].image == 2 && at->image < 2;
	uint64_t offset = at->offset - FIRST_CODE - (i > 0 && !is_interrupted);

	if (at->image == 3)
		snprintf(name, 40, "[unknown]:(unknown)");
	else if (at->offset + (i == 0 || is_interrupted) > FIRST_CODE &&
		 offset % CODE_STEP < CODE_SIZE)
		snprintf(name, 40, "%s:%s_f%" PRIu64, fake_images[at->image].path,
			 fake_images[at->image].path, offset / CODE_STEP);
	else
		snprintf(name, 40, "%s:(no symbols)", fake_images[at->image].path);
}
