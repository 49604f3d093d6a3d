/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/merge.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const struct {
	const char *word;
	uint32_t merge;
} words[] = {
#define X(id, word, help) { word, MERGE_##id | (MERGE_##id == MERGE_TGID ? MERGE_TID : 0) },
	MERGES(X)
#undef X
		{ "library", MERGE_LIB },
	{ "all", MERGE_ALL },
	{ "none", 0 },
};

int merge_parse(const char *text, uint32_t *merge, struct error *err)
{
	for (;;) {
		size_t len = strcspn(text, ","), i = 0;

		while (i < ARRAY_SIZE(words) &&
		       (strlen(words[i].word) != len || strncmp(words[i].word, text, len) != 0))
			i++;
		if (i == ARRAY_SIZE(words))
			return error_set(err, -EINVAL,
					 "'%.*s' is not one of cpu, lib, tid, tgid, unitmask, all, "
					 "none",
					 (int)len, text);
		*merge |= words[i].merge;
		if (!text[len])
			return 0;
		text += len + 1;
	}
}

struct key_list merge_columns(uint32_t merge)
{
	struct key_list columns = { .n = 0 };

	if (!(merge & MERGE_CPU))
		key_list_add(&columns, PROFILE_CPU);
	if (!(merge & MERGE_TGID))
		key_list_add(&columns, PROFILE_PROCESS);
	if (!(merge & MERGE_TID))
		key_list_add(&columns, PROFILE_THREAD);
	return columns;
}
