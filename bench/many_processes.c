/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a session of many processes, as a busy machine gives it. The benchmarks make process
 * reports of it.
 *
 *   many_processes DIR [PROCESSES [SAMPLES-EACH]]
 *
 * The default is 5000 processes with 60 samples each, in 20 programs of 30 libraries and the
 * kernel. Two fifths of the samples are in the kernel, some of them in interrupts. All names come
 * with the session.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/native.h"
#include "store/store.h"

#define SECOND      1000000000ULL
#define N_LIBRARIES 30
#define N_PROGRAMS  20
#define N_FUNCTIONS 400
#define CODE_STEP   256
#define SECONDS     60

static const char *const interrupts[][4] = {
	{ "e1000_intr", "common_interrupt", "asm_common_interrupt", NULL },
	{ "tcp_v4_rcv", "handle_softirqs", "asm_sysvec_apic_timer_interrupt", NULL },
	{ "update_process_times", "sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt",
	  NULL },
};

struct world {
	struct image_table *images;
	struct strings strings, entries; /* entries: names of the interrupts' functions */
	image_id libraries[N_LIBRARIES], programs[N_PROGRAMS], kernel;
	struct store *store;
	uint64_t random;
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random ^= w->random << 13; /* Marsaglia's xorshift */
	w->random ^= w->random >> 7;
	w->random ^= w->random << 17;
	return (uint32_t)(w->random >> 16) % n;
}

static void make_images(struct world *w)
{
	char path[64];

	for (uint32_t i = 0; i < N_LIBRARIES; i++) {
		snprintf(path, sizeof(path), "library_%u.so", i);
		w->libraries[i] = image_intern(w->images, &(struct image){ .kind = IMAGE_JIT,
									   .pid = (int32_t)i + 1,
									   .path = path });
	}
	for (uint32_t i = 0; i < N_PROGRAMS; i++) {
		snprintf(path, sizeof(path), "/usr/bin/program_%u", i);
		w->programs[i] = image_intern(w->images, &(struct image){ .kind = IMAGE_FILE,
									  .ino = i + 1,
									  .path = path });
	}
	w->kernel = image_intern(w->images,
				 &(struct image){ .kind = IMAGE_KERNEL, .path = "[kernel]" });
}

static void name(struct world *w, image_id image, uint64_t offset, const char *text)
{
	native_store.name_code(w->store, &(struct code_symbol){ .image = image,
								.offset = offset,
								.size = CODE_STEP,
								.name = text });
}

static void name_functions(struct world *w)
{
	char text[64];

	for (uint32_t f = 0; f < N_FUNCTIONS; f++) {
		for (uint32_t i = 0; i < N_LIBRARIES; i++) {
			snprintf(text, sizeof(text), "function_%u_of_%u", f, i);
			name(w, w->libraries[i], (f + 1) * CODE_STEP, text);
		}
		snprintf(text, sizeof(text), "kernel_function_%u", f);
		name(w, w->kernel, (f + 1) * CODE_STEP, text);
	}
}

/* A function of the kernel that interrupts go through: behind the others, named when first seen. */
static struct code_addr entry(struct world *w, const char *text)
{
	uint32_t known = w->entries.n, id = strings_add(&w->entries, text).n;
	struct code_addr at = { w->kernel, (uint64_t)(N_FUNCTIONS + 1 + id) * CODE_STEP };

	if (w->entries.n != known)
		name(w, w->kernel, at.offset, text);
	at.offset += 16;
	return at;
}

static uint32_t make_chain(struct world *w, struct code_addr *frames)
{
	uint32_t n = 0, kind = below(w, 10);

	if (kind < 4) {
		const char *const *chain = interrupts[below(w, 3)];

		for (uint32_t i = 0; kind == 0 && chain[i]; i++)
			frames[n++] = entry(w, chain[i]);
		frames[n++] = (struct code_addr){ w->kernel,
						  CODE_STEP * (1 + below(w, N_FUNCTIONS)) + 16 };
	}
	frames[n++] = (struct code_addr){ w->libraries[below(w, N_LIBRARIES)],
					  CODE_STEP * (1 + below(w, N_FUNCTIONS)) + 16 };
	return n;
}

static void add_sample(struct world *w, uint32_t process, uint64_t time_ns)
{
	struct code_addr frames[8];
	char comm[16];
	struct sample s = { .class = { .app = w->programs[process % N_PROGRAMS],
				       .pid = (int32_t)process + 100,
				       .tid = (int32_t)process + 100,
				       .cpu = process % 8 },
			    .time_ns = time_ns,
			    .frames = frames,
			    .samples = 1,
			    .period = 1000000 };

	snprintf(comm, sizeof(comm), "program_%u", process % N_PROGRAMS);
	s.class.comm = strings_add(&w->strings, comm);
	s.n_frames = make_chain(w, frames);
	native_store.add(w->store, &s, NULL);
}

int main(int argc, char **argv)
{
	struct counter_info counter = { "cpu-clock", "cpu-clock", "ns", 1000, 0, 0, true, true };
	const struct session_info info = { .version = "0",
					   .command = "",
					   .target = "whole machine",
					   .hostname = "synthetic",
					   .os_release = "Linux",
					   .arch = "x86_64",
					   .cpu_model = "a processor",
					   .collector = "none",
					   .stacks = "frame pointers",
					   .note = "",
					   .n_cpus = 8,
					   .start_wall_ns = 1700000000 * SECOND,
					   .start_ns = SECOND,
					   .counters = &counter,
					   .n_counters = 1 };
	uint32_t n_processes = argc > 2 ? (uint32_t)atoi(argv[2]) : 5000;
	uint32_t n_samples = argc > 3 ? (uint32_t)atoi(argv[3]) : 60;
	struct session_end end = { .end_ns = (SECONDS + 1) * SECOND, .exit_status = -1 };
	struct world w = { .images = image_table_new(), .random = 88172645463325252ULL };
	uint64_t n_unwritten;
	struct error err = { 0 };

	if (argc < 2)
		return 2;
	strings_init(&w.strings);
	strings_init(&w.entries);
	make_images(&w);
	if (native_store.open(argv[1], &info, w.images, &w.strings, &w.store, &err) < 0) {
		fprintf(stderr, "many_processes: %s\n", err.text);
		return 1;
	}
	name_functions(&w);
	for (uint32_t s = 0; s < SECONDS; s++) {
		uint64_t start = (s + 1) * SECOND;

		/* Processes live for a while: each has its samples in one second. */
		for (uint32_t p = s * n_processes / SECONDS; p < (s + 1) * n_processes / SECONDS;
		     p++)
			for (uint32_t i = 0; i < n_samples; i++)
				add_sample(&w, p, start + i);
		native_store.flush(w.store, start + SECOND, &err);
	}
	native_store.close(w.store, &end, &n_unwritten, &err);
	strings_fini(&w.strings);
	strings_fini(&w.entries);
	image_table_free(w.images);
	return *err.text ? 1 : 0;
}
