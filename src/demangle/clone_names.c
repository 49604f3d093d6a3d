/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/clone_names.h"

#include <string.h>

#include "base/mem.h"

static const char *const additions[] = {
	".cold",     ".constprop", ".ipa_ra",   ".isra",      ".llvm", ".localalias",
	".lto_priv", ".part",      ".resolver", ".simdclone", ".warm",
};

static bool clone_names_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The length of an addition at `at`, with its numbers: ".constprop.0"; 0 if there is none. */
static size_t addition_len(const char *at)
{
	size_t len = 1 + strcspn(at + (*at == '.'), ".");

	if (*at != '.' || len == 1)
		return 0;
	while (at[len] == '.' && clone_names_is_digit(at[len + 1]))
		for (len++; clone_names_is_digit(at[len]);)
			len++;
	return at[len] == '\0' || at[len] == '.' ? len : 0;
}

static bool clone_names_is_known(const char *at)
{
	size_t len = 1 + strcspn(at + (*at == '.'), ".");

	for (size_t i = 0; i < ARRAY_SIZE(additions); i++)
		if (len == strlen(additions[i]) && !memcmp(at, additions[i], len))
			return true;
	return false;
}

/* The first place behind additions. Numbers behind other words are not looked at again and again.
 */
static const char *clone_names_skip(const char *at)
{
	for (size_t len; clone_names_is_known(at) && (len = addition_len(at));)
		at += len;
	return at;
}

/* A place between two additions leads to the same end as the first of them. */
const char *clones_find(const char *name)
{
	const char *dot = strchr(name, '.'), *end;

	for (; dot && *(end = clone_names_skip(dot)); dot = strchr(end, '.'))
		end += end == dot;
	return dot ? dot : name + strlen(name);
}

bool clones_put(const char *at, struct buf *out)
{
	for (size_t len; (len = addition_len(at)); at += len) {
		buf_str(out, " [clone ");
		buf_bytes(out, at, len);
		buf_u8(out, ']');
	}
	return !*at;
}
