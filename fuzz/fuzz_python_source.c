/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A name, and behind the first newline the source that may define it. */
#include <stdlib.h>
#include <string.h>

#include "annotate/python_source.h"

#define LONGEST (64 << 10)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_split_lines(struct source_file *f)
{
	f->starts = xcalloc(f->size + 1, sizeof(*f->starts));
	for (size_t i = 0; i < f->size; i++)
		if (!i || f->text[i - 1] == '\n')
			f->starts[f->n_lines++] = (uint32_t)i;
	f->starts[f->n_lines] = (uint32_t)f->size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *newline = size && size <= LONGEST ? memchr(data, '\n', size) : NULL;
	struct source_file file = { 0 };
	uint32_t first, last;
	char *name;

	if (!newline)
		return 0;
	name = xstrndup((const char *)data, (size_t)(newline - data));
	file.size = size - (size_t)(newline - data) - 1;
	file.text = xcalloc(file.size + 1, 1); /* the sanitizer knows its end */
	memcpy(file.text, newline + 1, file.size);
	fuzz_split_lines(&file);
	if (python_source_find(&file, name, &first, &last) &&
	    (!first || first > last || last > file.n_lines))
		abort();
	free(file.starts);
	free(file.text);
	free(name);
	return 0;
}
