/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/detected.h"

#include <elf.h>
#include <stdio.h>

#include "elf/elf_file.h"
#include "elf/elf_slots.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"
#include "lang/libc.h"

enum lang_detected lang_refuse_for(const struct lang_runtime *runtime, const char *reason,
				   char *why, size_t why_size)
{
	snprintf(why, why_size, "%s %u.%u %s", language_names[runtime->language],
		 runtime->version >> 8, runtime->version & 0xff, reason);
	return LANG_REFUSED;
}

bool lang_find_libc(const struct elf_file *elf, struct lang_runtime *out)
{
	out->libc = lang_libc(elf);
	out->is_aarch64 = elf->machine == EM_AARCH64;
	return elf->machine == EM_X86_64 || (out->is_aarch64 && out->libc == LIBC_GLIBC);
}

enum lang_detected lang_refuse(const struct elf_file *elf, const struct lang_runtime *runtime,
			       char *why, size_t why_size)
{
	const char *reason = "is known on x86-64 and AArch64 alone";

	if (elf->machine == EM_X86_64 || (runtime->is_aarch64 && runtime->libc == LIBC_GLIBC))
		reason = "is not a version that assay knows";
	else if (runtime->is_aarch64)
		reason = "with musl is known on x86-64 alone";
	return lang_refuse_for(runtime, reason, why, why_size);
}

void lang_find_variable(const struct elf_file *elf, const struct elf_symbol *variable,
			uint64_t base, struct runtime_variable *out)
{
	uint64_t slot = elf_slot_of_variable(elf, variable->name);

	if (slot)
		*out = (struct runtime_variable){ slot - base, variable->link_addr - base };
}
