/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of code made at run time, from the jitdump, for callers without a session's names. */
#include "foreign/jitdump.h"
#include "symbol/table.h"

void make_dump_table(struct symbolizer *s, struct symbol_table *t)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s", s->root, t->image.path);
	struct file_mapping file = { 0 };
	struct index_draft draft = { 0 };
	struct jitdump d;

	if (t->image.path[0] != '/' || symbolizer_map(s, path, &file, NULL) < 0)
		return;
	jitdump_init(&d);
	jitdump_feed(&d, file.base, file.size, 0);
	vec_foreach (&d.codes, c)
		index_draft_add(&draft, c->file_off, c->size, strings_get(&d.strings, c->name),
				index_draft_rank(true, DRAFT_GLOBAL));
	table_adopt(t, &draft, SYMBOL_GIVEN);
	jitdump_fini(&d);
	file_unmap(&file);
}
