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
 * purpose. The dump of a live process grows; samples make assay read its new part. That is done by
 * a reader (jit_reader.h), which may be lent to another thread. All functions are for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/jit_reader.h"

struct jit_code;

/* Whether the path of a mapping is a dump's. */
bool jit_code_is_dump(const char *path);

struct jit_code_config {
	struct jit_reader_config reader;
	bool has_other_clock; /* times of samples are not CLOCK_MONOTONIC: the newest code counts */
	bool is_lent;         /* others read: jit_code_find() opens and reads nothing */
};

/* NULL if there is no readable dump. If others read, this is not known yet. */
struct jit_code *jit_code_open(const struct jit_code_config *config);
void jit_code_free(struct jit_code *j); /* NULL is fine */

const char *jit_code_path(const struct jit_code *j);

/*
 * The place of an address in the dump; false: no record covers it. Remembers the hit. If others
 * read, nothing is found while the reader is away.
 */
bool jit_code_find(struct jit_code *j, uint64_t addr, uint64_t time_ns, uint64_t *file_off);

/* Whether the dump is to be read before jit_code_find() knows that time. */
bool jit_code_is_unread(const struct jit_code *j, uint64_t time_ns);

/* The reader is the caller's until it comes back. */
struct jit_reader *jit_code_lend(struct jit_code *j);
void jit_code_take_back(struct jit_code *j, struct jit_reader *reader);
bool jit_code_is_away(const struct jit_code *j);

/* The reader does not come back. Returns the number of functions without a name for that reason. */
uint32_t jit_code_give_up(struct jit_code *j);

/*
 * Why the dump gives no names, if that is news since the last call; or N_LOSS_REASONS. Its records
 * do not fit into the budget, one is larger than 8 MiB, or the parser could not read it.
 */
enum loss_reason jit_code_take_loss(struct jit_code *j);

/* A function by its runtime addresses. The name is valid as long as nothing is read. */
struct jit_function {
	uint64_t start, size;
	const char *name;
};

/*
 * The function at an address, if the dump has had only one there. False: there are none or several,
 * or the reader is away. Remembers no hit.
 */
bool jit_code_only(const struct jit_code *j, uint64_t addr, struct jit_function *out);

/* Visits functions hit since the last visit, by their bytes in the dump; none while it is away. */
typedef void (*jit_code_visit)(void *context, uint64_t file_off, uint64_t size, const char *name);
void jit_code_names(struct jit_code *j, jit_code_visit visit, void *context);
