/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside symbol/: the kernel's own ELF file, in the places of distributions and builders. */
#pragma once

#include "symbol/elf_draft.h"
#include "symbol/table.h"

/*
 * Opens the vmlinux of a build id (struct symbolizer_config may name it). The mapping and *path (if
 * not NULL) are the caller's. Searches DEBUGDIR/.build-id, and vmlinux in DEBUGDIR/boot,
 * DEBUGDIR/lib/modules/RELEASE, /boot and /lib/modules/RELEASE/build.
 */
bool vmlinux_open(const struct symbolizer *s, const struct build_id *wanted,
		  struct file_mapping *mapping, struct elf_file *elf, char **path);

/* Its code, with offsets from _text. */
bool vmlinux_segments(const struct elf_file *elf, struct code_segments *out);

/* The running kernel's; false if it can't be read. */
bool running_kernel_build_id(const struct symbolizer *s, struct build_id *out);
