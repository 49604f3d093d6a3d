/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code of an interpreter's loop in its file, for the detection of runtimes (detect.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/runtime.h"

struct elf_file;
struct elf_symbol;

/* Finds out->ranges: the loop's function, and its parts that the compiler put elsewhere. */
bool loop_find(const struct elf_file *elf, const struct elf_symbol *loop, struct lang_runtime *out);

/* Adds another loop's function, if there is room. */
void loop_add(const struct elf_file *elf, const struct elf_symbol *loop, struct lang_runtime *out);

/*
 * The same where the loop's function has no symbol. The dispatcher is the function with the most
 * jumps to the code of a next instruction. The loop is its caller, if it has only one; else it is
 * the loop itself.
 */
bool loop_find_unnamed(const struct elf_file *elf, struct lang_runtime *out);

/*
 * The dispatcher's function, if the loop calls it: offsets in the file. Else they stay as they are.
 */
void loop_find_dispatcher(const struct elf_file *elf, const struct lang_runtime *runtime,
			  uint32_t *start, uint32_t *end);

/* How far link addresses are from the base (runtime.h), by the segment of some code. */
bool loop_base(const struct elf_file *elf, uint64_t code, uint64_t *out);

/* The signed 32 bits of an instruction's displacement. */
int64_t loop_displacement(const uint8_t *at);
