/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of the detectors of runtimes (detect.h). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lang/runtime.h"

struct elf_file;
struct elf_symbol;

/* What a file is; `why` is for LANG_REFUSED. */
enum lang_detected {
	LANG_NONE,    /* no runtime that assay knows */
	LANG_FOUND,   /* *out is filled */
	LANG_REFUSED, /* a runtime whose frames assay can't follow; *out has language and version */
};

/* LANG_REFUSED, with the reason. */
enum lang_detected lang_refuse_for(const struct lang_runtime *runtime, const char *reason,
				   char *why, size_t why_size);

/*
 * Whether assay knows the C library of a runtime on its processor: on AArch64, places in a thread
 * are those of glibc. Sets out->libc and out->is_aarch64.
 */
bool lang_find_libc(const struct elf_file *elf, struct lang_runtime *out);

/* The same for a processor or a version that assay does not know. */
enum lang_detected lang_refuse(const struct elf_file *elf, const struct lang_runtime *runtime,
			       char *why, size_t why_size);

/* Where the library has the address of its exported variable, if it has it. */
void lang_find_variable(const struct elf_file *elf, const struct elf_symbol *variable,
			uint64_t base, struct runtime_variable *out);
