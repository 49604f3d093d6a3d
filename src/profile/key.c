/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/key.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

const struct profile_key_info profile_keys[N_PROFILE_KEYS] = {
#define X(id, key, kind, help) [PROFILE_##id] = { key, KEY_##kind, help },
	PROFILE_KEYS(X)
#undef X
};

#define X(id, key, kind, help) key ", "
static const char known_keys[] = PROFILE_KEYS(X);
#undef X

bool key_list_has(const struct key_list *list, enum profile_key key)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->key[i] == key)
			return true;
	return false;
}

void key_list_add(struct key_list *list, enum profile_key key)
{
	if (!key_list_has(list, key))
		list->key[list->n++] = key;
}

int profile_key_find(const char *name, size_t len)
{
	static const struct {
		const char *perf;
		enum profile_key key;
	} aliases[] = {
		{ "pid", PROFILE_PROCESS },  { "tid", PROFILE_THREAD },
		{ "dso", PROFILE_IMAGE },    { "sym", PROFILE_SYMBOL },
		{ "srcfile", PROFILE_FILE }, { "srcline", PROFILE_LINE },
	};

	for (int key = 0; key < N_PROFILE_KEYS; key++)
		if (strlen(profile_keys[key].key) == len &&
		    !strncmp(profile_keys[key].key, name, len))
			return key;
	for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (strlen(aliases[i].perf) == len && !strncmp(aliases[i].perf, name, len))
			return (int)aliases[i].key;
	return -1;
}

/* "label:NAME", up to len. 0: it is no such key. */
static int parse_label(struct key_list *list, const char *text, size_t len, struct error *err)
{
	static const char prefix[] = "label:";
	size_t n = sizeof(prefix) - 1;

	if (len <= n || strncmp(text, prefix, n) != 0)
		return 0;
	if (len - n > KEY_LABEL_MAX)
		return error_set(err, -EINVAL, "'%.*s': a label's name has at most %d bytes",
				 (int)len, text, KEY_LABEL_MAX);
	if (key_list_has(list, PROFILE_LABEL))
		return error_set(err, -EINVAL, "'%.*s': a report has one key label:NAME", (int)len,
				 text);
	memcpy(list->label, text + n, len - n);
	list->label[len - n] = '\0';
	key_list_add(list, PROFILE_LABEL);
	return 1;
}

int key_list_parse(struct key_list *list, const char *text, struct error *err)
{
	for (;;) {
		size_t len = strcspn(text, ",");
		int label = parse_label(list, text, len, err);
		int key = label ? PROFILE_LABEL : profile_key_find(text, len);

		if (label < 0)
			return label;
		if (key < 0)
			return error_set(err, -EINVAL, "'%.*s' is not one of %.*s", (int)len, text,
					 (int)sizeof(known_keys) - 3, known_keys);
		key_list_add(list, (enum profile_key)key);
		if (!text[len])
			return 0;
		text += len + 1;
	}
}
