/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a session as a busy machine gives it, without the machine. The benchmarks open and draw
 * such large sessions.
 *
 *   big_session DIR [SECONDS [SAMPLES-A-SECOND [CHAINS [vary | exact]]]]
 *
 * The default is 600 s of 2 CPUs at 999 Hz over 20000 call chains. Chains grow from each other, so
 * they share callers as real chains do. Few are hot, many are rare, and the work changes every
 * minute. With `vary`, each sample has a different period, as with hardware counters. With `exact`,
 * samples keep their times, which are up to 20 µs late.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/native.h"
#include "store/store.h"

#define SECOND      1000000000ULL
#define N_IMAGES    40
#define N_FUNCTIONS 300
#define MAX_DEPTH   60
#define N_PROGRAMS  12

struct chain {
	struct code_addr frames[MAX_DEPTH]; /* innermost first */
	uint32_t n, program;
};

struct world {
	struct image_table *images;
	struct strings strings;
	image_id code[N_IMAGES], apps[N_PROGRAMS];
	struct chain *chains;
	uint32_t n_chains;
	uint64_t random;
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random ^= w->random << 13; /* Marsaglia's xorshift */
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 16) % n;
}

static const char *const comms[N_PROGRAMS] = { "cc1plus", "ld",      "postgres", "node",
					       "python3", "kworker", "java",     "nginx",
					       "redis",   "bash",    "sshd",     "systemd" };

static void make_images(struct world *w)
{
	char path[64];

	for (uint32_t i = 0; i < N_IMAGES; i++) {
		snprintf(path, sizeof(path), i % 5 ? "engine_%u" : "bpf_prog_%u", i);
		w->code[i] = image_intern(w->images,
					  &(struct image){ .kind = i % 5 ? IMAGE_JIT : IMAGE_BPF,
							   .pid = i % 5 ? (int32_t)i : 0,
							   .path = path });
	}
	for (uint32_t i = 0; i < N_PROGRAMS; i++) {
		snprintf(path, sizeof(path), "/usr/bin/%s", comms[i]);
		w->apps[i] = image_intern(w->images, &(struct image){ .kind = IMAGE_FILE,
								      .ino = i + 1,
								      .path = path });
	}
}

static void name_functions(const struct world *w, struct store *store)
{
	static const char *const nouns[] = {
		"Parser", "Scheduler", "PageCache", "Socket", "Arena",
		"Tree",   "Lexer",     "Buffer",    "Router", "Index"
	};
	static const char *const verbs[] = { "next",   "insert", "resolve", "flush",
					     "lookup", "merge",  "visit",   "alloc" };
	char name[160];

	for (uint32_t i = 0; i < N_IMAGES; i++)
		for (uint32_t f = 0; f < N_FUNCTIONS; f++) {
			uint32_t n = i * N_FUNCTIONS + f;

			snprintf(name, sizeof(name),
				 n % 3 ? "%s_%s_%u"
				       : "core::%s<int, std::string>::%s_%u(unsigned, char const*)",
				 nouns[n / 7 % 10], verbs[n % 8], n);
			native_store.name_code(store, &(struct code_symbol){ .image = w->code[i],
									     .offset = 256 * f,
									     .size = 200,
									     .name = name });
		}
}

/* A new chain calls on from somewhere in an old one. */
static void make_chains(struct world *w)
{
	for (uint32_t c = 0; c < w->n_chains; c++) {
		struct chain *chain = &w->chains[c];
		const struct chain *from = &w->chains[below(w, c + 1)];
		uint32_t more = 1 + below(w, 6);
		uint32_t keeps =
			c < 40 ? 0 : MIN(from->n - below(w, from->n / 2 + 1), MAX_DEPTH - more);

		chain->program = keeps ? from->program : below(w, N_PROGRAMS);
		chain->n = keeps + more;
		for (uint32_t i = 0; i < more; i++)
			chain->frames[i] = (struct code_addr){ w->code[below(w, N_IMAGES)],
							       256 * below(w, N_FUNCTIONS) + 8 };
		if (keeps)
			memcpy(&chain->frames[more], &from->frames[from->n - keeps],
			       keeps * sizeof(chain->frames[0]));
	}
}

/* Few are hot: the square of a uniform number; which ones changes every minute. */
static const struct chain *choose(struct world *w, uint64_t second)
{
	double u = (double)below(w, 1 << 24) / (1 << 24);
	uint32_t shift = (uint32_t)(second / 60 * 977);

	return &w->chains[((uint32_t)(u * u * u * w->n_chains) + shift) % w->n_chains];
}

static int write_samples(struct world *w, struct store *store, uint64_t start_ns, uint64_t seconds,
			 uint32_t rate, bool varies, struct error *err)
{
	for (uint64_t s = 0; s < seconds; s++) {
		for (uint32_t i = 0; i < rate; i++) {
			const struct chain *chain = choose(w, s);
			struct sample sample = {
				.class = { .app = w->apps[chain->program],
					   .pid = (int32_t)chain->program + 100,
					   .tid = (int32_t)chain->program + 100,
					   .comm = strings_add(&w->strings, comms[chain->program]),
					   .cpu = i % 2 },
				.time_ns = start_ns + s * SECOND + i * (SECOND / rate) +
					   below(w, 20000),
				.is_timed = true,
				.frames = chain->frames,
				.n_frames = chain->n,
				.samples = 1,
				.period = varies ? 2000000 + below(w, 1000000) : 1001001,
			};
			int r = native_store.add(store, &sample, err);

			if (r < 0)
				return r;
		}
		native_store.flush(store, start_ns + (s + 1) * SECOND, err);
	}
	return 0;
}

static uint64_t argument(int argc, char **argv, int i, uint64_t otherwise)
{
	return argc > i ? strtoull(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
	struct counter_info counter = { "cycles", "cycles", "events", 999, 0, 0, true, true };
	struct session_info info = { .version = "0",
				     .command = "",
				     .target = "whole machine",
				     .hostname = "synthetic",
				     .os_release = "Linux",
				     .arch = "x86_64",
				     .cpu_model = "a processor",
				     .collector = "none",
				     .stacks = "frame pointers",
				     .note = "",
				     .n_cpus = 2,
				     .start_wall_ns = 1700000000 * SECOND,
				     .start_ns = SECOND,
				     .counters = &counter,
				     .n_counters = 1 };
	struct world w = { .random = 88172645463325252ULL };
	uint64_t seconds = argument(argc, argv, 2, 600), n_unwritten;
	bool varies = argc > 5 && !strcmp(argv[5], "vary");
	struct error err = { 0 };
	struct store *store;
	struct session_end end = { .end_ns = (seconds + 1) * SECOND, .exit_status = -1 };

	if (argc < 2)
		return 2;
	info.exact_times = argc > 5 && !strcmp(argv[5], "exact");
	if (!varies) {
		counter.name = counter.spec = "cpu-clock";
		counter.unit = "ns";
	}
	w.images = image_table_new();
	strings_init(&w.strings);
	w.n_chains = (uint32_t)argument(argc, argv, 4, 20000);
	w.chains = xcalloc(w.n_chains, sizeof(*w.chains));
	make_images(&w);
	make_chains(&w);
	if (native_store.open(argv[1], &info, w.images, &w.strings, &store, &err) >= 0) {
		name_functions(&w, store);
		write_samples(&w, store, SECOND, seconds, (uint32_t)argument(argc, argv, 3, 1998),
			      varies, &err);
		native_store.close(store, &end, &n_unwritten, &err);
	}
	if (*err.text)
		fprintf(stderr, "big_session: %s\n", err.text);
	free(w.chains);
	strings_fini(&w.strings);
	image_table_free(w.images);
	return *err.text ? 1 : 0;
}
