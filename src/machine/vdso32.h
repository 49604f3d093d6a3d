/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The vdso of i386 programs on an x86-64 kernel. No process of assay has it. So a process is made
 * that gives its own vdso away and asks for this one: arch_prctl(2), ARCH_MAP_VDSO_32 (Linux
 * arch/x86/entry/vdso/vma.c). This happens once in the life of assay, and only if it meets such a
 * program.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"

/*
 * The bytes of the ELF file, which stay. False: the kernel has no such programs, or the system
 * calls are refused, as those of a confined daemon. Its first call comes before. Any thread.
 */
bool vdso32_bytes(const uint8_t **bytes, size_t *size);

/* Its build id; none without the bytes. */
struct build_id vdso32_build_id(void);
