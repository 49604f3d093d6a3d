/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kallsyms.h"

#include <string.h>

#include "base/files/file.h"
#include "base/path.h"
#include "base/reserve.h"
#include "machine/kernel_map.h"

#define MAX_FILE_SIZE (1UL << 30)
#define MAX_MODULES   4096 /* a desktop has 200 */

/* The value of a hexadecimal digit plus one; 0 for anything else. */
static const uint8_t digit_values[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
};

static const bool is_text_type[256] = { ['t'] = true, ['T'] = true, ['w'] = true, ['W'] = true };
static const bool is_data_type[256] = {
	['b'] = true, ['B'] = true, ['d'] = true, ['D'] = true, ['g'] = true, ['G'] = true,
	['r'] = true, ['R'] = true, ['s'] = true, ['S'] = true, ['v'] = true, ['V'] = true,
};

static uint16_t intern_module(struct kallsyms *k, const char *name, size_t len)
{
	len = strnlen(name, len);
	/* the lines of a module are together, so the last one is nearly always right */
	for (size_t i = k->modules.n; i-- > 1;)
		if (!strncmp(k->modules.data[i], name, len) && !k->modules.data[i][len])
			return (uint16_t)i;
	if (k->modules.n >= MAX_MODULES)
		return 0;
	vec_push(&k->modules, xstrndup(name, len));
	return (uint16_t)(k->modules.n - 1);
}

static void note_text_addr(struct kallsyms *k, const struct kernel_symbol *s)
{
	if (s->name_len == 5 && !memcmp(s->name, "_text", 5))
		k->text_addr = s->addr;
	else if (!k->text_addr && s->name_len == 6 && !memcmp(s->name, "_stext", 6))
		k->text_addr = s->addr ? kernel_text_of_stext(s->addr) : 0;
}

/* A line without its newline. */
static void kallsyms_parse_line(struct kallsyms *k, const char *at, const char *end)
{
	struct kernel_symbol s = { 0 };
	const char *start = at, *tab;

	while (at < end && digit_values[(uint8_t)*at])
		s.addr = s.addr << 4 | (uint64_t)(digit_values[(uint8_t)*at++] - 1);
	if (at == start || at - start > 16 || end - at < 4 || at[0] != ' ' || at[2] != ' ')
		return;
	s.type = at[1];
	s.name = at + 3;
	tab = memchr(s.name, '\t', (size_t)(end - s.name));
	s.name_len = (uint32_t)((tab ? tab : end) - s.name);
	if (tab && end - tab > 3 && tab[1] == '[' && end[-1] == ']')
		s.module = intern_module(k, tab + 2, (size_t)(end - tab - 3));
	else
		note_text_addr(k, &s);
	/* modules of ARM, AArch64 and RISC-V mark code and data: $x, $d.12 */
	if (s.name_len && s.name[0] == '$')
		return;
	if (!(k->of_objects ? is_data_type : is_text_type)[(uint8_t)s.type])
		s.name = NULL;
	k->is_hidden &= !s.addr;
	vec_push(&k->symbols, s);
}

void kallsyms_parse(struct kallsyms *k, const char *text, size_t size)
{
	const char *end = text + size;

	k->is_hidden = true;
	k->has_kernel = true;
	vec_push(&k->modules, xstrdup(""));
	if (!vec_try_reserve(&k->symbols, size / 40))
		return;
	for (const char *line = text; line < end && reserve_check() >= 0;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		const char *line_end = newline ? newline : end;

		kallsyms_parse_line(k, line, line_end);
		line = line_end + 1;
	}
	k->is_hidden &= k->symbols.n > 0;
}

int kallsyms_read(struct kallsyms *k, const char *path)
{
	size_t size;
	int r = file_read_all(path, MAX_FILE_SIZE, &k->text, &size);

	if (r == 0)
		kallsyms_parse(k, k->text, size);
	return r;
}

void kallsyms_drop_kernel(struct kallsyms *k)
{
	size_t kept = 0;

	for (size_t i = 0; i < k->symbols.n; i++)
		if (k->symbols.data[i].module)
			k->symbols.data[kept++] = k->symbols.data[i];
	k->symbols.n = k->symbols.cap = kept;
	k->has_kernel = false;
	if (kept) {
		k->symbols.data = xrealloc(k->symbols.data, kept, sizeof(*k->symbols.data));
	} else {
		vec_fini(&k->symbols);
		free(k->text);
		k->text = NULL;
	}
}

void kallsyms_fini(struct kallsyms *k)
{
	vec_foreach (&k->modules, name) {
		free(*name);
	}
	vec_fini(&k->modules);
	vec_fini(&k->symbols);
	free(k->text);
	*k = (struct kallsyms){ 0 };
}

char *kernel_module_name(const char *name)
{
	char *copy, *end;

	name = path_file_name(name);
	name += *name == '[';
	copy = xstrdup(name);
	copy[strcspn(copy, "]")] = '\0';
	end = strstr(copy, ".ko");
	if (end)
		*end = '\0';
	for (char *c = copy; *c; c++)
		if (*c == '-')
			*c = '_';
	return copy;
}

int kallsyms_module(const struct kallsyms *k, const char *name)
{
	cleanup(free_at_exit) char *wanted = kernel_module_name(name);

	for (size_t i = 1; i < k->modules.n; i++)
		if (!strcmp(k->modules.data[i], wanted))
			return (int)i;
	return -1;
}
