/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/code_fetch.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "guard/memory_reads.h"

static bool read_process(int32_t pid, uint64_t addr, void *out, size_t size)
{
	return memory_read_of(pid, addr, out, size) == (ssize_t)size;
}

/* On failure it stays away. */
static void fetch_text(int32_t pid, struct lang_text *text)
{
	struct lang_text_away away;
	uint64_t size;

	if (!(text->state & LANG_TEXT_AWAY))
		return;
	memcpy(&away, text->bytes, sizeof(away));
	if (!read_process(pid, away.length_at, &size, sizeof(size)))
		return;
	size = MIN(size & away.length_mask, (uint64_t)LANG_TEXT_MAX);
	if (size && !read_process(pid, away.at, text->bytes, size))
		return;
	text->state &= ~LANG_TEXT_AWAY;
	text->size = (uint32_t)size;
}

bool code_has_away(const struct lang_code *code)
{
	return (code->name.state | code->scope.state | code->file.state) & LANG_TEXT_AWAY;
}

struct fetch {
	int32_t pid;
	struct lang_code *code;
};

static void fetch_texts(void *arg)
{
	struct fetch *f = arg;

	fetch_text(f->pid, &f->code->name);
	fetch_text(f->pid, &f->code->scope);
	fetch_text(f->pid, &f->code->file);
}

struct lang_code *code_fetch(struct memory_reads *reads, int32_t pid, const struct lang_code *code)
{
	size_t size =
		offsetof(struct lang_code, lines) + MIN(code->n_lines, (uint32_t)LANG_LINES_MAX);
	struct lang_code *copy = xmalloc(size);
	struct fetch fetch = { pid, copy };

	memcpy(copy, code, size);
	if (!memory_reads_run(reads, pid, fetch_texts, &fetch) && !code_has_away(copy))
		return copy;
	free(copy);
	return NULL;
}
