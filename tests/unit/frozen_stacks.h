/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threads that were frozen in code of Java or JavaScript, for test_jit_stacks.c, which describes
 * the files. They are walked as the stacks of samples are.
 */
#pragma once

#include "unit.h"

#include <dirent.h>
#include <fnmatch.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>

#include "base/buf.h"
#include "base/mem.h"
#include "lang/code.h"
#include "lang/hotspot.h"
#include "lang/language.h"
#include "lang/v8.h"
#include "perfdata/regs.h"
#include "pipeline/user_stacks.h"

#define FROZEN_DIR  ASSAY_SRC "/../tests/data/frozen"
#define FROZEN_PID  1000
#define STACK_BYTES (4 << 10)

/* Registers of a sample, by perf's numbers (asm/perf_regs.h): of x86-64, and of AArch64. */
enum {
	REGISTER_BX = 1,
	REGISTER_BP = 6,
	REGISTER_SP = 7,
	REGISTER_IP = 8,
	REGISTER_R9 = 17,
	REGISTER_R12 = 20,
	REGISTER_R13 = 21,
	REGISTER_LR = 30,
	REGISTER_SP_AARCH64 = 31,
	REGISTER_PC = 32,
	N_REGS = 33
};

struct piece {
	uint64_t addr;
	size_t size;
	uint8_t *bytes;
	bool is_used;
};

struct frozen_mapping {
	uint64_t start, end, off;
	char path[256];
};

static struct {
	struct lang_runtime runtime;
	uint64_t registers[N_REGS];
	struct piece stack;
	VEC(struct frozen_mapping) mappings;
	VEC(struct piece) memory;
	VEC(struct lang_code) codes;
	uint64_t losses[N_LOSS_REASONS];
	uint64_t time_ns; /* of the sample; 0: before all else */
	int cut;          /* of the last walk: why it ended early, or -1 */
	uint32_t n;       /* likewise: its addresses */
	uint64_t pcs[64];
	int32_t pid; /* freezing: reads this process, and keeps its bytes */
} frozen;

/* ---- memory ---- */

static bool read_live(int32_t pid, void *value, size_t size, uint64_t addr)
{
	struct iovec here = { value, size };
	struct iovec there = { (void *)(uintptr_t)addr, size }; /* NOLINT: an address */

	return process_vm_readv(pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool read_frozen(void *context, uint64_t addr, void *out, size_t size)
{
	struct piece piece = { addr, size, NULL, true };

	(void)context;
	vec_foreach (&frozen.memory, p)
		if (addr >= p->addr && size <= p->size && addr - p->addr <= p->size - size) {
			memcpy(out, p->bytes + (addr - p->addr), size);
			p->is_used = true;
			return true;
		}
	if (!frozen.pid || !read_live(frozen.pid, out, size, addr))
		return false;
	piece.bytes = xmalloc(size);
	memcpy(piece.bytes, out, size);
	vec_push(&frozen.memory, piece);
	return true;
}

static const struct lang_memory frozen_memory = { read_frozen, NULL };

static void forget_frozen(void)
{
	vec_foreach (&frozen.memory, p)
		free(p->bytes);
	free(frozen.stack.bytes);
	vec_fini(&frozen.memory);
	vec_fini(&frozen.mappings);
	vec_fini(&frozen.codes);
	memset(&frozen, 0, sizeof(frozen));
}

/* ---- walks ---- */

static const struct lang_runtime *frozen_runtime(void *context, int32_t pid, image_id image)
{
	(void)context, (void)pid, (void)image;
	return &frozen.runtime;
}

static bool look_for_frozen(void *context, int32_t pid, image_id image,
			    const struct lang_runtime **runtime)
{
	(void)context, (void)pid, (void)image;
	*runtime = &frozen.runtime;
	return true;
}

static bool learn_code(void *context, int32_t pid, const struct lang_code *code)
{
	(void)context, (void)pid;
	vec_push(&frozen.codes, *code);
	return true;
}

static void count_loss(void *context, enum loss_reason reason)
{
	(void)context;
	frozen.losses[reason]++;
}

static struct machine *frozen_machine(void)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });

	machine_event(machine, &(struct event){ .type = EVENT_COMM,
						.pid = FROZEN_PID,
						.tid = FROZEN_PID,
						.comm = { "frozen", true } });
	vec_foreach (&frozen.mappings, m)
		machine_event(machine, &(struct event){ .type = EVENT_MAPPING,
							.pid = FROZEN_PID,
							.tid = FROZEN_PID,
							.mapping = { .start = m->start,
								     .size = m->end - m->start,
								     .file_off = m->off,
								     .path = m->path,
								     .is_executable = true } });
	return machine;
}

static void append_frame(struct buf *out, const struct lang_frame *frame)
{
	vec_foreach (&frozen.codes, c) {
		if (c->pointer != frame->pointer || c->check != frame->check)
			continue;
		buf_str(out, "frame ");
		lang_append_name(c, out);
		buf_str(out, " | ");
		lang_append_file(c, out);
		buf_printf(out, ":%u\n", lang_line(c, frame->position));
		return;
	}
	buf_str(out, "frame ?\n");
}

static void keep_chain(const struct user_chain *chain, struct buf *out)
{
	frozen.cut = chain->cut;
	frozen.n = MIN(chain->n, (uint32_t)ARRAY_SIZE(frozen.pcs));
	memcpy(frozen.pcs, chain->pcs, frozen.n * sizeof(*frozen.pcs));
	for (uint32_t i = 0; i < chain->runs.n; i++) {
		assert_true(chain->runs.data[i].at < chain->n);
		for (uint32_t k = 0; k < chain->runs.data[i].n; k++)
			append_frame(out, &chain->runs.data[i].frames[k]);
	}
}

static int register_of_pc(void)
{
	return frozen.runtime.is_aarch64 ? REGISTER_PC : REGISTER_IP;
}

static void walk_thread(struct machine *machine, struct user_stacks *stacks, struct buf *out)
{
	struct thread_view thread = machine_thread(machine, FROZEN_PID, FROZEN_PID);
	const struct sample_extra extra = {
		.user = { .abi = PERF_SAMPLE_REGS_ABI_64,
			  .mask = (1ull << N_REGS) - 1,
			  .values = frozen.registers,
			  .n_values = N_REGS },
		.stack = frozen.stack.bytes,
		.stack_size = frozen.stack.size,
	};
	const struct event sample = { .type = EVENT_SAMPLE,
				      .pid = FROZEN_PID,
				      .tid = FROZEN_PID,
				      .time_ns = frozen.time_ns ? frozen.time_ns : 1,
				      .sample = { .ip = frozen.registers[register_of_pc()],
						  .extra = &extra } };
	struct user_chain chain = user_stacks_walk(stacks, &sample, &thread);

	keep_chain(&chain, out);
}

struct walker {
	struct machine *machine;
	struct java_stacks *java;
	struct v8_stacks *v8;
	struct user_stacks *stacks;
};

/* `n_reads`: of each walk; NULL: as many as usual. */
static struct walker walker_new(const uint32_t *n_reads)
{
	struct walker w = { .machine = frozen_machine() };
	const struct java_stacks_config java = { .machine = w.machine,
						 .proc = "/absent",
						 .memory = &frozen_memory,
						 .n_reads = n_reads,
						 .runtime = frozen_runtime,
						 .learn = learn_code,
						 .lose = count_loss };
	const struct v8_stacks_config v8 = { .machine = w.machine,
					     .proc = "/absent",
					     .memory = &frozen_memory,
					     .n_reads = n_reads,
					     .look = look_for_frozen,
					     .learn = learn_code,
					     .lose = count_loss };

	w.java = java_stacks_new(&java);
	w.v8 = v8_stacks_new(&v8);
	w.stacks = user_stacks_new(&(struct user_stacks_config){
		.machine = w.machine,
		.arch = frozen.runtime.is_aarch64 ? "aarch64" : "x86_64",
		.java = w.java,
		.v8 = w.v8 });
	return w;
}

static void walker_free(struct walker *w)
{
	user_stacks_free(w->stacks);
	java_stacks_free(w->java);
	v8_stacks_free(w->v8);
	machine_free(w->machine);
}

/* As a stack that the in-kernel sampler sends. 0: its code is not followed. */
__attribute__((unused)) static void walk_copy(struct walker *w, uint64_t time_ns, struct buf *out)
{
	const struct sample_registers sampled = { .abi = PERF_SAMPLE_REGS_ABI_64,
						  .mask = (1ull << N_REGS) - 1,
						  .values = frozen.registers,
						  .n_values = N_REGS };
	struct thread_view thread = machine_thread(w->machine, FROZEN_PID, FROZEN_PID);
	struct dwarf_registers by_dwarf;
	struct user_copy copy = { .regs = by_dwarf.value,
				  .stack = frozen.stack.bytes,
				  .stack_size = frozen.stack.size,
				  .time_ns = time_ns };
	struct user_chain chain;

	assert_true(registers_by_dwarf(&sampled, frozen.runtime.is_aarch64, &by_dwarf));
	chain = user_stacks_walk_copy(w->stacks, FROZEN_PID, &thread, &copy, TABLE_AWAITED);
	out->len = 0;
	keep_chain(&chain, out);
}

/* The walk that meets V8's file has no names yet; the second one has. */
__attribute__((unused)) static void walk_frozen(struct buf *out)
{
	struct walker w = walker_new(NULL);

	if (frozen.runtime.language == LANGUAGE_JAVASCRIPT) {
		walk_thread(w.machine, w.stacks, out);
		assert_int_equal(out->len, 0);
		assert_int_equal(frozen.losses[LOSS_JAVASCRIPT_EARLY], 1);
		frozen.losses[LOSS_JAVASCRIPT_EARLY] = 0;
	}
	walk_thread(w.machine, w.stacks, out);
	walker_free(&w);
}

/* ---- files ---- */

static size_t bytes_of_hex(const char *text, uint8_t *out, size_t size)
{
	size_t n = 0;
	unsigned int byte;

	for (; n < size && sscanf(text, "%2x", &byte) == 1; text += 2)
		out[n++] = (uint8_t)byte;
	return n;
}

static struct piece piece_of(uint64_t addr, const char *hex)
{
	struct piece piece = { .addr = addr, .bytes = xmalloc(strlen(hex) + 1) };

	piece.size = bytes_of_hex(hex, piece.bytes, strlen(hex));
	return piece;
}

static void thaw_line(char *line, struct buf *expected)
{
	struct frozen_mapping m;
	unsigned long long a, b, c;
	int at = 0;

	if (!strncmp(line, "frame ", 6)) {
		buf_str(expected, line);
		buf_str(expected, "\n");
	} else if (sscanf(line, "runtime %n", &at) == 0 && at) {
		bytes_of_hex(line + at, (uint8_t *)&frozen.runtime, sizeof(frozen.runtime));
	} else if (sscanf(line, "mapping %llx %llx %llx %255s", &a, &b, &c, m.path) == 4) {
		m.start = a;
		m.end = b;
		m.off = c;
		vec_push(&frozen.mappings, m);
	} else if (sscanf(line, "register %llx %llx", &a, &b) == 2) {
		frozen.registers[a % N_REGS] = b;
	} else if (sscanf(line, "stack %llx %n", &a, &at) == 1) {
		frozen.stack = piece_of(a, line + at);
	} else if (sscanf(line, "memory %llx %n", &a, &at) == 1) {
		vec_push(&frozen.memory, piece_of(a, line + at));
	}
}

static void thaw(const char *path, struct buf *expected)
{
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;
	ssize_t n;

	assert_non_null(file);
	forget_frozen();
	expected->len = 0;
	while ((n = getline(&line, &room, file)) > 0) {
		line[strcspn(line, "\n")] = '\0';
		thaw_line(line, expected);
	}
	free(line);
	fclose(file);
}

typedef void frozen_test(const char *path, const struct buf *expected);

static void each_frozen_file(const char *language, frozen_test *test)
{
	DIR *dir = opendir(FROZEN_DIR);
	struct buf expected = { 0 };
	struct dirent *entry;
	unsigned int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		char path[512];

		if (fnmatch(language, entry->d_name, 0) != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", FROZEN_DIR, entry->d_name);
		thaw(path, &expected);
		test(path, &expected);
		n++;
	}
	closedir(dir);
	buf_fini(&expected);
	forget_frozen();
	assert_true(n > 0);
}
