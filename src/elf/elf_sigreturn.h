/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trampoline that signal handlers return to: it makes the system call rt_sigreturn(2), which
 * gives the interrupted code its registers back. A C library names it to the kernel (SA_RESTORER).
 * glibc's has call frame information that says so (elf/elf_frames.h); others, as musl's and Go's,
 * are known by their instructions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/reader.h"

/*
 * The first one in the code, for a processor (EM_*); NULL if there is none. *size: of its
 * instructions.
 */
const uint8_t *elf_sigreturn_find(uint16_t machine, struct reader code, size_t *size);
