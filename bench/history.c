/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a daemon's history, without the daemon and without waiting for a day. The benchmarks read
 * windows of time from it, and measure retention.
 *
 *   history DIR [HOURS [SAMPLES [CHAINS [EXACT]]]]
 *
 * The samples of the hour EXACT, from 0 on, keep their exact times; by default those of no hour.
 * The default is 24 hours with 50 million samples of 16 CPUs at 49 Hz. Fully busy CPUs would give
 * 67.7 million. There are 8000 call chains, each with up to 16 sampled instructions. 300 processes
 * live at a time: most end within seconds, some stay all day. Few chains are hot, many are rare,
 * and the work follows the day. As in the daemon, samples are kept apart by application and
 * process, not by thread and CPU. A part is an hour; the first one begins at 2026-06-01 00:00 UTC.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/history/history.h"
#include "store/native.h"
#include "store/store.h"

#define HOUR_S      3600
#define N_CPUS      16
#define HZ          49
#define START_S     1780272000ULL /* 2026-06-01 00:00 UTC */
#define N_LIBRARIES 60
#define N_JITS      10
#define N_IMAGES    (N_LIBRARIES + N_JITS + 1)
#define N_FUNCTIONS 400
#define MAX_DEPTH   64
#define N_PROGRAMS  40
#define N_PROCESSES 300
#define N_HITS      16

struct chain {
	struct code_addr frames[MAX_DEPTH]; /* innermost first */
	uint32_t n;
};

struct process {
	int32_t pid;
	uint32_t program;
	uint64_t end_s;
};

struct world {
	struct image_table *images;
	struct strings strings;
	image_id code[N_IMAGES], apps[N_PROGRAMS];
	string_id comms[N_PROGRAMS];
	struct chain *chains; /* program p has those of number n * N_PROGRAMS + p */
	uint32_t n_chains;
	struct process processes[N_PROCESSES];
	int32_t last_pid;
	uint64_t random;
	uint32_t exact_hour;
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random ^= w->random << 13; /* Marsaglia's xorshift */
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 16) % n;
}

/* Small numbers are far more frequent: the cube of a uniform one. */
static uint32_t skewed(struct world *w, uint32_t n)
{
	double u = (double)below(w, 1 << 24) / (1 << 24);

	return (uint32_t)(u * u * u * n);
}

static image_id make_image(struct world *w, enum image_kind kind, const char *format, uint32_t i)
{
	struct image image = { .kind = kind };
	char path[64];

	snprintf(path, sizeof(path), format, i);
	image.path = path;
	if (kind == IMAGE_JIT) {
		image.pid = (int32_t)i + 100;
	} else {
		image.build_id.len = 20;
		memset(image.build_id.bytes, (int)i + 1, 20);
		image.build_id.bytes[0] = (uint8_t)kind;
	}
	return image_intern(w->images, &image);
}

static void make_images(struct world *w)
{
	char comm[16];

	for (uint32_t i = 0; i < N_LIBRARIES; i++)
		w->code[i] = make_image(w, IMAGE_FILE, "/opt/synthetic/lib%u.so", i);
	for (uint32_t i = 0; i < N_JITS; i++)
		w->code[N_LIBRARIES + i] = make_image(w, IMAGE_JIT, "engine_%u", i);
	w->code[N_IMAGES - 1] = make_image(w, IMAGE_KERNEL, "[kernel]", 0);
	for (uint32_t i = 0; i < N_PROGRAMS; i++) {
		snprintf(comm, sizeof(comm), "program%u", i);
		w->comms[i] = strings_add(&w->strings, comm);
		w->apps[i] = make_image(w, IMAGE_FILE, "/opt/synthetic/program%u", i + N_IMAGES);
	}
}

/* A new chain calls on from somewhere in an old one of its program. */
static void make_chains(struct world *w)
{
	for (uint32_t c = 0; c < w->n_chains; c++) {
		struct chain *chain = &w->chains[c];
		uint32_t program = c % N_PROGRAMS;
		const struct chain *from =
			&w->chains[below(w, c / N_PROGRAMS + 1) * N_PROGRAMS + program];
		uint32_t more = 2 + below(w, 6), keeps = 0;

		if (c >= 3 * N_PROGRAMS && from->n)
			keeps = MIN(from->n - below(w, from->n / 2 + 1), MAX_DEPTH - more);
		chain->n = keeps + more;
		for (uint32_t i = 0; i < more; i++)
			chain->frames[i] = (struct code_addr){ w->code[skewed(w, N_IMAGES)],
							       256 * below(w, N_FUNCTIONS) + 8 };
		if (keeps)
			memcpy(&chain->frames[more], &from->frames[from->n - keeps],
			       keeps * sizeof(chain->frames[0]));
	}
}

static void start_process(struct world *w, struct process *p, uint64_t now_s)
{
	/* Lives of 2 s to 28 hours, short ones mostly. */
	double life = 2 * exp((double)skewed(w, 1000) / 1000 * log(50000));

	*p = (struct process){ ++w->last_pid, below(w, N_PROGRAMS), now_s + (uint64_t)life };
}

static void name_functions(const struct world *w, struct store *store)
{
	char name[64];

	for (uint32_t i = N_LIBRARIES; i < N_LIBRARIES + N_JITS; i++)
		for (uint32_t f = 0; f < N_FUNCTIONS; f++) {
			snprintf(name, sizeof(name), "Engine%u.method_%u", i - N_LIBRARIES, f);
			native_store.name_code(store, &(struct code_symbol){ .image = w->code[i],
									     .offset = 256 * f,
									     .size = 250,
									     .name = name });
		}
}

static int add_sample(struct world *w, struct store *store, uint64_t time_ns, struct error *err)
{
	const struct process *p = &w->processes[skewed(w, N_PROCESSES)];
	const struct chain *chain =
		&w->chains[skewed(w, w->n_chains / N_PROGRAMS) * N_PROGRAMS + p->program];
	struct code_addr frames[MAX_DEPTH];
	struct sample sample = {
		.class = { .app = w->apps[p->program],
			   .pid = p->pid,
			   .tid = p->pid,
			   .comm = w->comms[p->program],
			   .cpu = below(w, N_CPUS) },
		.time_ns = time_ns,
		.is_timed = true,
		.frames = frames,
		.n_frames = chain->n,
		.samples = 1,
		.period = NS_PER_SECOND / HZ,
	};

	memcpy(frames, chain->frames, chain->n * sizeof(*frames));
	frames[0].offset += 4 * skewed(w, N_HITS);
	return native_store.add(store, &sample, err);
}

static int write_second(struct world *w, struct store *store, uint64_t now_s, uint64_t n,
			struct error *err)
{
	uint64_t at_ns = now_s * NS_PER_SECOND;

	for (uint32_t i = 0; i < N_PROCESSES; i++)
		if (w->processes[i].end_s <= now_s)
			start_process(w, &w->processes[i], now_s);
	for (uint64_t i = 0; i < n; i++)
		if (add_sample(w, store, at_ns + i * (NS_PER_SECOND / n), err) < 0)
			return -1;
	return native_store.flush(store, at_ns + NS_PER_SECOND, err);
}

/* The share of a day's work that this second has: twice as much at noon as at midnight. */
static double work_at(uint64_t second)
{
	return 1 - cos((double)second / 86400 * 2 * M_PI) / 3;
}

static int write_part(struct world *w, const char *dir, uint32_t hour, double a_second,
		      struct error *err)
{
	struct counter_info counter = { "cpu-clock", "cpu-clock", "ns", HZ, 0, 0, true, true };
	uint64_t start_s = START_S + (uint64_t)hour * HOUR_S, n_unwritten;
	struct session_info info = { .version = "0",
				     .command = "",
				     .target = "whole machine",
				     .hostname = "synthetic",
				     .os_release = "Linux",
				     .arch = "x86_64",
				     .cpu_model = "a processor",
				     .collector = "none",
				     .stacks = "unwind tables",
				     .note = "",
				     .n_cpus = N_CPUS,
				     .start_wall_ns = start_s * NS_PER_SECOND,
				     .start_ns = start_s * NS_PER_SECOND,
				     .counters = &counter,
				     .n_counters = 1,
				     .exact_times = hour == w->exact_hour,
				     .merged = SEPARATE_THREAD | SEPARATE_CPU };
	struct session_end end = { .end_ns = (start_s + HOUR_S) * NS_PER_SECOND,
				   .exit_status = -1 };
	char name[HISTORY_NAME_SIZE];
	cleanup(free_at_exit) char *path = NULL;
	struct store *store;
	double due = 0;
	int r;

	history_part_name(start_s * NS_PER_SECOND, 0, name);
	path = xasprintf("%s/samples/current/%s", dir, name);
	r = native_store.open(path, &info, w->images, &w->strings, &store, err);
	if (r < 0)
		return r;
	name_functions(w, store);
	for (uint64_t s = 0; s < HOUR_S && r >= 0; s++) {
		due += a_second * work_at((uint64_t)hour * HOUR_S + s);
		r = write_second(w, store, start_s + s, MAX((uint64_t)due, 1), err);
		due -= floor(due);
	}
	native_store.close(store, &end, &n_unwritten, r < 0 ? NULL : err);
	return r;
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct world w = { .random = 88172645463325252ULL, .last_pid = 1000 };
	uint32_t hours = (uint32_t)argument(argc, argv, 2, 24);
	double samples = (double)argument(argc, argv, 3, 50000000);
	struct error err = { 0 };

	if (argc < 2)
		return 2;
	w.exact_hour = (uint32_t)argument(argc, argv, 5, UINT32_MAX);
	w.images = image_table_new();
	strings_init(&w.strings);
	w.n_chains = (uint32_t)argument(argc, argv, 4, 8000) / N_PROGRAMS * N_PROGRAMS;
	w.chains = xcalloc(w.n_chains, sizeof(*w.chains));
	make_images(&w);
	make_chains(&w);
	for (uint32_t i = 0; i < N_PROCESSES; i++)
		start_process(&w, &w.processes[i], START_S);
	for (uint32_t h = 0; h < hours && !*err.text; h++)
		write_part(&w, argv[1], h, samples / hours / HOUR_S, &err);
	if (*err.text)
		fprintf(stderr, "history: %s\n", err.text);
	free(w.chains);
	strings_fini(&w.strings);
	image_table_free(w.images);
	return *err.text ? 1 : 0;
}
