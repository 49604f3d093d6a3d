/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code that is returned to at its first instruction, though nothing called from there. Its call
 * frame information is missing, or that of an ordinary function; it is known by its instructions.
 *
 * ELF_SIGRETURN: signal handlers return to it. It makes the system call rt_sigreturn(2), which
 * gives the interrupted code its registers back. A C library names it to the kernel (SA_RESTORER).
 * glibc's has true call frame information (elf/elf_frames.h); musl's and Go's have none.
 *
 * ELF_START_CONTEXT: a function that makecontext(3) started returns to it, and nothing is around
 * it: glibc's __start_context.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

enum elf_trampoline { ELF_SIGRETURN, ELF_START_CONTEXT, N_ELF_TRAMPOLINES };

/* What it is called where it has no symbol. */
extern const char *const elf_trampoline_names[N_ELF_TRAMPOLINES];

/*
 * The first one in the code, for a processor (EM_*); NULL if there is none. *size: of its
 * instructions.
 */
const uint8_t *elf_trampoline_find(enum elf_trampoline kind, uint16_t machine, struct reader code,
				   size_t *size);
