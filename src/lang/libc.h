/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The C library of a runtime's file. It decides where a thread has its values of pthread keys and
 * its thread-local variables (lang/runtime.h, enum runtime_libc).
 */
#pragma once

#include "elf/elf_file.h"

/*
 * An enum runtime_libc. A dynamic file names musl's loader, or needs musl's library. A static
 * program of glibc has a note that musl's start files lack.
 */
uint32_t lang_libc(const struct elf_file *elf);
