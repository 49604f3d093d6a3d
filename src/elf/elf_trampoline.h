/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that functions return to although nothing called from there: a return goes to its first
 * instruction. Its call frame information is missing or describes an ordinary function. It is known
 * by its instructions.
 *
 * ELF_SIGRETURN: signal handlers return to it. It makes the system call rt_sigreturn(2), which
 * restores the registers of the interrupted code. A C library registers it with the kernel
 * (SA_RESTORER). glibc's version has correct call frame information (elf/elf_frames.h); those of
 * musl and Go have none.
 *
 * ELF_START_CONTEXT: functions that makecontext(3) started return to it. It is the outermost frame:
 * glibc's __start_context.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum elf_trampoline { ELF_SIGRETURN, ELF_START_CONTEXT, N_ELF_TRAMPOLINES };

/* The names to show if there is no symbol. */
extern const char *const elf_trampoline_names[N_ELF_TRAMPOLINES];

/* Their first instructions. unwind/call_site.h knows them, too. */
struct elf_trampoline_form {
	uint8_t kind; /* enum elf_trampoline */
	uint8_t n;    /* length of the pattern in bytes */
	uint16_t machine;
	uint8_t size; /* of the trampoline */
	uint8_t bytes[12];
};

#define N_ELF_TRAMPOLINE_FORMS 5
extern const struct elf_trampoline_form elf_trampoline_forms[N_ELF_TRAMPOLINE_FORMS];

/*
 * The first one in the code, for a processor (EM_*); NULL if there is none. *size: of its
 * instructions.
 */
const uint8_t *elf_trampoline_find(enum elf_trampoline kind, uint16_t machine, struct reader code,
				   size_t *size);
