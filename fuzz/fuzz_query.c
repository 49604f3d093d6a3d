/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Filters and names: each NUL-separated text is a filter operand, a name that all
 * filters before it are asked about, and a name to print.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "profile/query.h"
#include "report/names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct query *q, const char *name)
{
	for (int tag = 0; tag < N_FILTERS; tag++) {
		if (filter_infos[tag].match == MATCH_GLOB) {
			query_takes_path(q, (enum filter_tag)tag, name);
			query_takes_function(q, (enum filter_tag)tag, name);
		} else {
			query_takes_number(q, (enum filter_tag)tag, strlen(name));
		}
	}
	if (function_base_len(name) > strlen(name))
		abort();
}

static void shorten(const char *name)
{
	for (size_t width = 1; width < 40; width += 7) {
		struct buf clean = { 0 }, out = { 0 };

		utf8_append_visible(&clean, name);
		name_append_short(&out, buf_cstr(&clean), width, "...");
		if (name_width(buf_cstr(&out)) > width)
			abort();
		buf_fini(&clean);
		buf_fini(&out);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct query q = { 0 };
	char *text = malloc(size + 1);

	if (!text)
		return 0;
	/* fnmatch() is exponential in the number of stars: short globs are enough */
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size; at += strlen(text + at) + 1) {
		struct error err = { 0 };

		if (strlen(text + at) < 64 && query_add(&q, text + at, &err) < 0 && !err.text[0])
			abort(); /* a refusal without a reason */
		ask(&q, text + at);
		shorten(text + at);
	}
	query_fini(&q);
	free(text);
	return 0;
}
