/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of functions, as the symbol tables of foreign programs have them. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "demangle/demangle.h"

#define MAX_TEXT 65536 /* or 16 times the length of the name */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool is_read, const struct buf *out, size_t size)
{
	size_t limit = 16 * size > MAX_TEXT ? 16 * size : MAX_TEXT;

	/* D's demangler does not limit its output, but it only gets short names. */
	if (is_read &&
	    (!out->len || strlen((char *)out->data) != out->len || out->len > limit + size + 1))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *name = xstrndup((const char *)data, size);
	struct buf out = { 0 };

	for (int language = 0; language < N_NAME_LANGUAGES; language++) {
		check(demangle_in((enum name_language)language, name, &out), &out, size);
		check(demangle_short_in((enum name_language)language, name, &out), &out, size);
	}
	buf_fini(&out);
	free(name);
	return 0;
}
