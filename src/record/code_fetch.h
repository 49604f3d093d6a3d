/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of functions that the in-kernel sampler could not read, because BPF reads only memory that
 * is present. Here they are read through process_vm_readv(2), which takes the process's permission
 * and life.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/runtime.h"

struct memory_reads;

/* Whether some text of the function is away (lang/runtime.h). */
bool code_has_away(const struct lang_code *code);

/* A copy with all texts, which the caller frees; NULL: some could not be read. */
struct lang_code *code_fetch(struct memory_reads *reads, int32_t pid, const struct lang_code *code);
