/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of code made at run time, from the jitdump, for callers without a session's names. */
#include "base/error.h"
#include "symbol/lines/file_dump.h"
#include "symbol/table.h"

void make_dump_table(struct symbolizer *s, struct symbol_table *t)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s", s->files.root, t->image.path);
	struct parser_answer answer = { 0 };
	struct file_mapping file = { 0 };
	struct error err = { 0 };
	void *block;
	size_t size;

	if (t->image.path[0] != '/' || symbolizer_map(s, path, &file, NULL) < 0)
		return;
	if (file_dump_ask(&file, DUMP_SYMBOLS, &answer, &block, &size, &err) < 0)
		table_fail(t, SYMBOL_UNPARSED, "%s: its symbols were not read: %s", t->image.path,
			   err.text);
	else
		table_adopt_answer(t, &answer, block, size);
	file_unmap(&file);
}
