/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the code of a kernel module as it is in memory, made from the module's file.
 *
 * Loading relocates code, and patches it (kernel/module/main.c and
 * arch/x86/kernel/{module,alternative,static_call}.c). Tables of the file, such as
 * .altinstructions, have the patched places. The new code also depends on the processor, on the
 * kernel's options, and on earlier events. A file does not have these. Each byte has a state:
 *
 *   KNOWN     the byte is in memory like this
 *   SAME_WAY  the byte may differ, but execution takes the same way over it
 *   UNKNOWN   execution may go elsewhere
 *
 * Loading sets each branch of a static key by the key's present state, which no file has: those
 * places are UNKNOWN. Tracing (ftrace, kprobes, BPF trampolines, and the keys of the module's own
 * tracepoints and debug messages) counts as off. x86-64 alone.
 */
#pragma once

#include "base/reader.h"
#include "symbol/kernel/module_file.h"

/* How the kernel has patched branches to its thunks. */
enum module_patching { MODULE_PATCHING_NOT_KNOWN, MODULE_PATCHING_KEPT, MODULE_PATCHING_DONE };

struct module_kernel {
	/* The address of a global symbol of the kernel or of another module; 0: not known. */
	uint64_t (*symbol)(void *context, const char *name);
	void *context;
	/* Its code as it is in memory, and the address of that; empty: only a file has it. */
	struct reader memory;
	uint64_t memory_addr;
	/* From module_kernel_learn(). */
	enum module_patching returns, indirect;
	uint64_t return_thunk; /* of returns that are kept */
	uint64_t thunks[16];   /* of indirect branches, by register; 0: not known */
};

/* Learns from the members above how the kernel patches. Slow, and once for all modules. */
void module_kernel_learn(struct module_kernel *k);

enum module_byte { MODULE_UNKNOWN, MODULE_SAME_WAY, MODULE_KNOWN };

struct module_code;

/* `base` is where the code was loaded. NULL: the file has no such code. Needs the file no more. */
struct module_code *module_code_new(const struct module_file *m, uint64_t base,
				    const struct module_kernel *kernel);
void module_code_free(struct module_code *c); /* NULL is fine */

/* Copies bytes from an address on, up to the first that is less than `least`: their number. */
size_t module_code_read(const struct module_code *c, uint64_t addr, enum module_byte least,
			uint8_t *out, size_t size);

/* Patched places that the file does not decide: where the way is the same, and where not. */
void module_code_undecided(const struct module_code *c, uint64_t *n_same_way, uint64_t *n_unknown);
