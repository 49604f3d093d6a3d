/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Symbols of an image, a line each, and the languages of their names. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "demangle/name_units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void find_languages(const struct name_units *units, char *const *names, size_t n)
{
	struct buf out = { 0 };

	for (size_t i = 0; i < n; i++) {
		/* A copy without a NUL: no byte behind the name is read. */
		size_t len = strlen(names[i]);
		char *name = xmalloc(len + !len);
		enum name_language language;

		memcpy(name, names[i], len);
		language = name_units_language(units, name, len);
		free(name);
		if (language >= N_NAME_LANGUAGES)
			abort();
		demangle_in(language, names[i], &out);
	}
	buf_fini(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size), *at = text, *line;
	struct name_units units = { 0 };
	struct {
		char **data;
		size_t n, cap;
	} names = { 0 };

	while ((line = strsep(&at, "\n"))) {
		bool is_file = *line == '/';
		char *name = xstrdup(line + is_file);
		struct elf_symbol symbol = { .name = name, .type = is_file ? STT_FILE : STT_FUNC };

		name_units_add(&units, &symbol);
		vec_push(&names, name);
	}
	name_units_settle(&units);
	find_languages(&units, names.data, names.n);
	name_units_fini(&units);
	for (size_t i = 0; i < names.n; i++)
		free(names.data[i]);
	vec_fini(&names);
	free(text);
	return 0;
}
