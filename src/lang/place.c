/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "lang/place.h"

#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t lang_slot(const char *name)
{
	return (uint64_t)1 << 63 | XXH3_64bits(name, strlen(name)) >> (LANG_SLOT_BITS + 1)
									      << LANG_SLOT_BITS;
}

uint64_t lang_slot_of_trampoline(const char *name)
{
	return (lang_slot(name) & (UINT64_MAX >> 2)) | (uint64_t)1 << 62;
}

uint32_t lang_trampoline_name(const char *text)
{
	const char *name = text + LANG_TRAMPOLINE_PREFIX, *end;

	if (strncmp(text, "py::", LANG_TRAMPOLINE_PREFIX) != 0)
		return 0;
	end = strchr(name, ':');
	return end && end[1] ? (uint32_t)(end - name) : 0;
}
