/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One instruction at a time, as text: x86 through Zydis, others through Capstone, which also reads
 * x86 in a build without Zydis.
 *
 * Addresses are offsets of an image (machine/image.h), so that the target of an instruction is
 * looked up like every other place. Absolute addresses in code can't be looked up and stay as they
 * are.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct disassembler;
struct error;

#define INSTRUCTION_TEXT 208

struct instruction {
	uint64_t offset;
	uint8_t size;    /* bytes; 1 if they are no instruction */
	bool is_bad;     /* no instruction: `text` has the bytes as data */
	bool is_jump;    /* to `target`, conditional or not */
	bool is_call;    /* to `target` */
	bool has_target; /* an offset that it jumps to, calls or refers to … */
	uint64_t target;
	char text[INSTRUCTION_TEXT];
};

/* For an ELF machine (EM_*). -ENOTSUP, with the reason, if this build can't decode it. */
int disassembler_open(uint16_t elf_machine, bool is_64, struct disassembler **out,
		      struct error *err);
void disassembler_close(struct disassembler *d); /* NULL is fine */
DEFINE_AT_EXIT(disassembler_close, struct disassembler)

/* The instruction at the start of `bytes`, which hold at least one. */
void disassemble(struct disassembler *d, const uint8_t *bytes, size_t size, uint64_t offset,
		 struct instruction *out);
