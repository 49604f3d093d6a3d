/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code from a compiler's jitdump (foreign/jitdump.h): which instruction of the dump was at an
 * address at a time.
 *
 *   address, time ──► the newest code there that is not younger ──► offset in the dump
 *
 * Addresses are used again, but offsets in the dump are not. So functions that took each other's
 * place stay apart. The dump is an image: kind JIT, its path, the process's pid.
 *
 * A dump is found by its own mapping (jit-PID.dump, executable), which compilers make for that
 * purpose. The dump of a live process grows; samples make assay read its new part.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "guard/budget.h"

struct jit_code;

/* Whether the path of a mapping is a dump's. */
bool jit_code_is_dump(const char *path);

struct jit_code_config {
	const char *proc; /* the process lives, and `path` is as it sees it; NULL: it has ended */
	int32_t pid;
	const char *path;
	bool has_other_clock; /* times of samples are not CLOCK_MONOTONIC: the newest code counts */
	struct guard_budget *budget; /* of all dumps; outlives them. NULL: no limit */
};

/* NULL if there is no readable dump. Each jit_code_ref() adds one owner. */
struct jit_code *jit_code_open(const struct jit_code_config *config);
struct jit_code *jit_code_ref(struct jit_code *j); /* NULL is fine, here and there */
void jit_code_unref(struct jit_code *j);

const char *jit_code_path(const struct jit_code *j);

/* The place of an address in the dump; false: no record covers it. Remembers the hit. */
bool jit_code_find(struct jit_code *j, uint64_t addr, uint64_t time_ns, uint64_t *file_off);

/*
 * Whether the dump was refused since the last call: its records do not fit into the budget, or one
 * of them is larger than 8 MiB. A refused dump gives no names.
 */
bool jit_code_take_refusal(struct jit_code *j);

/* Visits functions hit since the last visit, by their bytes in the dump. */
typedef void (*jit_code_visit)(void *context, uint64_t file_off, uint64_t size, const char *name);
void jit_code_names(struct jit_code *j, jit_code_visit visit, void *context);
