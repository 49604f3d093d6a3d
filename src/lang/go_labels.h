/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Labels of goroutines (runtime/pprof.Do): where a Go program keeps them. Go's frames are native
 * code, so such a program is no runtime of a language (detect.h).
 */
#pragma once

#include "lang/runtime.h"

struct elf_file;

/*
 * Fills out->version and out->labels, with language 0, for a Go program of 1.16 to 1.27 on x86-64.
 * version 0: no such program, or the place of the running goroutine is not known.
 */
void go_labels_find(const struct elf_file *elf, struct lang_runtime *out);
