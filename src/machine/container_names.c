/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/container_names.h"

#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"

#define SHORT_ID  12
#define ID_MAX    128
#define NAMES_MAX 65536

struct container_names {
	struct strings texts;
	struct intmap by_id;
};

struct container_names *container_names_new(void)
{
	struct container_names *n = xcalloc(1, sizeof(*n));

	strings_init(&n->texts);
	return n;
}

void container_names_free(struct container_names *n)
{
	if (!n)
		return;
	strings_fini(&n->texts);
	intmap_fini(&n->by_id);
	free(n);
}

static bool is_id(const char *text)
{
	static const char plain[] = "0123456789abcdefghijklmnopqrstuvwxyz"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.";
	size_t len = strlen(text);

	return len && len <= ID_MAX && strspn(text, plain) == len;
}

bool container_names_put(struct container_names *n, const char *id, const char *name)
{
	char plain[CONTAINER_NAME_SIZE];
	size_t len = strnlen(name, sizeof(plain) - 1);
	const char *old = container_names_find(n, id);

	if (!is_id(id) || !len)
		return false;
	for (size_t i = 0; i < len; i++)
		plain[i] = (unsigned char)name[i] < ' ' || name[i] == 0x7f ? '?' : name[i];
	plain[len] = '\0';
	if (old && !strcmp(old, plain))
		return true;
	if (n->texts.n >= 2 * NAMES_MAX)
		return false;
	*intmap_put(&n->by_id, strings_add(&n->texts, id).n, NULL) =
		strings_add(&n->texts, plain).n;
	return true;
}

static const char *find_exactly(const struct container_names *n, const char *id)
{
	string_id key;
	const uint32_t *at;

	if (!strings_find(&n->texts, id, &key))
		return NULL;
	at = intmap_find(&n->by_id, key.n);
	return at ? strings_get(&n->texts, (string_id){ *at }) : NULL;
}

const char *container_names_find(const struct container_names *n, const char *id)
{
	char head[SHORT_ID + 1] = "";
	const char *name = find_exactly(n, id);

	if (name || strlen(id) <= SHORT_ID)
		return name;
	memcpy(head, id, SHORT_ID);
	return find_exactly(n, head);
}

bool container_line_split(char *line, char **id, char **name)
{
	char *end;

	*id = line + strspn(line, " \t");
	if (!**id || **id == '#')
		return false;
	*name = *id + strcspn(*id, " \t");
	if (**name)
		*(*name)++ = '\0';
	*name += strspn(*name, " \t");
	for (end = *name + strlen(*name); end > *name && strchr(" \t\r", end[-1]); end--)
		;
	*end = '\0';
	return true;
}

unsigned int container_names_parse(struct container_names *n, char *text)
{
	unsigned int number = 0, bad = 0;

	for (char *line, *id, *name; (line = strsep(&text, "\n"));) {
		number++;
		if (container_line_split(line, &id, &name) && !container_names_put(n, id, name) &&
		    !bad)
			bad = number;
	}
	return bad;
}
