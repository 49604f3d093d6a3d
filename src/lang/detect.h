/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which runtime an ELF file is, by symbols in it and never by its name: programs like uwsgi, gdb or
 * vim have a runtime inside. The symbols are in .dynsym, so that stripped files have them, too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/detected.h"
#include "lang/runtime.h"

struct elf_file;

/* Whether the code at an offset in the runtime's file is the interpreter's loop. */
bool lang_is_interpreter(const struct lang_runtime *runtime, uint64_t file_off);

/*
 * LANG_NONE: out->version is 0, that of a Go program (go_labels.h), or that of a thread's context
 * (thread_context.h; label_kind_is_context() of out->labels). The file is untrusted.
 * `why` gets a reason such as "Python 3.15 is newer than this assay".
 */
enum lang_detected lang_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			       size_t why_size);
