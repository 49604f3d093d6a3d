/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the kernel's own ELF file, in the places of distributions and builders. */
#pragma once

#include "symbol/elf_draft.h"
#include "symbol/table.h"

/* A file for names and lines may have no code. */
enum vmlinux_use { VMLINUX_NAMES, VMLINUX_CODE };

/*
 * Opens the vmlinux of a build id (struct symbolizer_config may name it). The mapping and *path (if
 * not NULL) are the caller's. Searches DEBUGDIR/.build-id, vmlinux in DEBUGDIR/boot,
 * DEBUGDIR/lib/modules/RELEASE, /boot and /lib/modules/RELEASE/build, and the caches of perf and of
 * libdebuginfod. Then it asks debuginfod.
 */
bool vmlinux_open(const struct symbolizer *s, const struct build_id *wanted, enum vmlinux_use use,
		  struct file_mapping *mapping, struct elf_file *elf, char **path);

/* The same, and debuginfod is not asked. */
bool vmlinux_open_here(const struct symbolizer *s, const struct build_id *wanted,
		       enum vmlinux_use use, struct file_mapping *mapping, struct elf_file *elf,
		       char **path);

/* Its code, with offsets from _text. */
bool vmlinux_segments(const struct elf_file *elf, struct code_segments *out);
/* Its code and data, likewise. */
bool vmlinux_all_segments(const struct elf_file *elf, struct code_segments *out);

/* The running kernel's; false if it can't be read. */
bool running_kernel_build_id(const struct symbolizer *s, struct build_id *out);
