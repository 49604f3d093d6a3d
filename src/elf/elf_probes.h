/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The static probes (USDT) of a file: the notes in .note.stapsdt.
 *
 *	struct elf_probes it;
 *	struct elf_probe p;
 *
 *	elf_probes_begin(&it, &elf);
 *	while (elf_probes_next(&it, &p))
 *		...
 *
 * A probe of one name can be at several places, each with a note. Texts point into the file and end
 * with a NUL there. Damaged notes end the walk; notes at places that are not in the file are left
 * out.
 *
 * Format: SystemTap's "UserSpaceProbeImplementation" and its sys/sdt.h.
 */
#pragma once

#include "elf/elf_file.h"

struct elf_probe {
	const char *provider, *name;
	uint64_t file_off;
	uint64_t semaphore_off; /* a counter in the file's data that enables the probe; 0: none */
};

struct elf_probes {
	const struct elf_file *elf;
	struct reader left;
	uint64_t base; /* link address of .stapsdt.base; 0: not there */
};

void elf_probes_begin(struct elf_probes *it, const struct elf_file *elf);
bool elf_probes_next(struct elf_probes *it, struct elf_probe *out);
