/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/demangle/clone_names.h"

#include <string.h>

#include "base/mem.h"

static const char *const additions[] = {
	".cold",       ".constprop", ".ipa_ra", ".isra",     ".llvm",
	".localalias", ".lto_priv",  ".part",   ".resolver", ".simdclone",
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The length of an addition and its numbers at `at`; 0 if none stands there. */
static size_t addition_len(const char *at)
{
	for (size_t i = 0; i < ARRAY_SIZE(additions); i++) {
		size_t len = strlen(additions[i]);

		if (strncmp(at, additions[i], len) != 0)
			continue;
		while (at[len] == '.' && is_digit(at[len + 1]))
			for (len++; is_digit(at[len]);)
				len++;
		if (at[len] == '\0' || at[len] == '.')
			return len;
	}
	return 0;
}

const char *clones_find(const char *name)
{
	const char *dot = strchr(name, '.');

	while (dot && !addition_len(dot))
		dot = strchr(dot + 1, '.');
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
