/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/process_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* The bytes of a bracket expression; 0: the bracket has no end, and stands for itself. */
static size_t bracket_length(const char *at)
{
	size_t n = 1;

	if (at[n] == '!' || at[n] == '^')
		n++;
	if (at[n] == ']')
		n++;
	while (at[n] && at[n] != ']')
		n++;
	return at[n] ? n + 1 : 0;
}

static size_t token_length(const char *at)
{
	size_t n = *at == '[' ? bracket_length(at) : 1;

	if (*at == '\\' && at[1])
		n = 2;
	return n ? n : 1;
}

int comm_masks_make(const char *glob, struct comm_masks *out, struct error *err)
{
	uint32_t n_tokens = 0;

	*out = (struct comm_masks){ 0 };
	for (const char *at = glob; *at;) {
		size_t n = *at == '*' ? 0 : token_length(at);
		cleanup(free_at_exit) char *token = xasprintf("%.*s", (int)n, at);

		if (!n) {
			out->stays |= 1u << n_tokens;
			at++;
			continue;
		}
		if (n_tokens == COMM_TOKENS_MAX)
			return error_set(err, -EINVAL,
					 "no process has such a long name as '%s': the kernel "
					 "keeps 15 bytes",
					 glob);
		for (unsigned int byte = 1; byte < 256; byte++)
			if (!fnmatch(token, (char[]){ (char)byte, '\0' }, 0))
				out->takes[byte] |= 1u << n_tokens;
		n_tokens++;
		at += n;
	}
	out->end = n_tokens;
	return 0;
}

bool comm_masks_fit(const struct comm_masks *masks, const char *text)
{
	uint32_t state = 1;

	for (; *text; text++)
		state = (state & masks->takes[(unsigned char)*text]) << 1 | (state & masks->stays);
	return state >> masks->end & 1;
}
