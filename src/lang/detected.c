/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/detected.h"

#include <elf.h>
#include <stdio.h>

#include "elf/elf_file.h"
#include "lang/language.h"

enum lang_detected lang_refuse_for(const struct lang_runtime *runtime, const char *reason,
				   char *why, size_t why_size)
{
	snprintf(why, why_size, "%s %u.%u %s", language_names[runtime->language],
		 runtime->version >> 8, runtime->version & 0xff, reason);
	return LANG_REFUSED;
}

enum lang_detected lang_refuse(const struct elf_file *elf, const struct lang_runtime *runtime,
			       char *why, size_t why_size)
{
	return lang_refuse_for(runtime,
			       elf->machine == EM_X86_64 ? "is not a version that assay knows"
							 : "is known on x86-64 alone",
			       why, why_size);
}
