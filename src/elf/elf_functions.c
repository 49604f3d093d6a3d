/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_functions.h"

#include "base/mem.h"
#include "elf/elf_frames.h"

void elf_functions_read(const struct elf_file *elf, struct elf_functions *out)
{
	struct elf_frames frames;
	struct elf_frames_it it;
	struct elf_fde fde;

	if (!elf_frames_eh(elf, &frames))
		return;
	elf_frames_begin(&it, &frames);
	while (elf_frames_next(&it, &fde))
		/* Discarded functions (--gc-sections) leave an FDE for address 0. */
		if (fde.link_addr && fde.size)
			vec_push(out, (struct elf_function){ fde.link_addr, fde.size });
}

void elf_functions_fini(struct elf_functions *f)
{
	vec_fini(f);
}
