/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/separation_words.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/store.h"

static const struct {
	const char *word;
	uint32_t kept;
} separations[] = {
	{ "none", 0 },
	{ "lib", SEPARATE_LIB },
	{ "library", SEPARATE_LIB },
	{ "kernel", SEPARATE_KERNEL | SEPARATE_LIB },
	{ "process", SEPARATE_PROCESS },
	{ "thread", SEPARATE_THREAD | SEPARATE_PROCESS },
	{ "cpu", SEPARATE_CPU },
	{ "cgroup", SEPARATE_CGROUP },
	{ "all", SEPARATE_ALL },
};

static bool find_separation(const char *word, size_t len, uint32_t *kept)
{
	for (size_t i = 0; i < ARRAY_SIZE(separations); i++) {
		if (strlen(separations[i].word) != len || strncmp(separations[i].word, word, len))
			continue;
		*kept |= separations[i].kept;
		return true;
	}
	return false;
}

int separation_parse(const char *list, uint32_t *merged, struct error *err)
{
	uint32_t kept = 0;

	do {
		size_t len = strcspn(list, ",");

		if (!find_separation(list, len, &kept))
			return error_set(err, -EINVAL,
					 "--separate: '%.*s' is none of " SEPARATION_WORDS,
					 (int)len, list);
		list += len + (list[len] == ',');
	} while (*list);
	*merged = SEPARATE_ALL & ~kept;
	return 0;
}
