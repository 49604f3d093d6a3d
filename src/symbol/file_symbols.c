/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_symbols.h"

#include <elf.h>
#include <string.h>

#include "base/arena.h"
#include "base/error.h"
#include "elf/elf_go.h"
#include "symbol/elf_draft.h"
#include "symbol/mini_debug.h"

/* ---- in the parser ---- */

struct drafting {
	struct parser_job *job;
	struct elf_file elf;
	struct code_segments segments;
	struct index_draft draft;
	/* Holds names until the index is made: of PLT entries, and of other symbol tables. */
	struct arena *names;
	struct debug_file debug;
	uint8_t *mini_debug;
	bool wants_objects;
};

static void drafting_fini(struct drafting *d)
{
	code_segments_fini(&d->segments);
	index_draft_fini(&d->draft);
	arena_free(d->names);
	file_unmap(&d->debug.file);
	free(d->mini_debug);
}

/*
 * The symbol tables, best first: the image's own, a debug file's, the small one of .gnu_debugdata
 * beside .dynsym; else all that a stripped image has. Go's table is left when others are stripped.
 */
static enum symbol_status draft_symbols(struct drafting *d)
{
	struct elf_file other;

	if (elf_draft_symbols(&d->draft, &d->elf, SHT_SYMTAB, &d->segments))
		return SYMBOL_SYMTAB;
	if (debug_file_find(d->job, &d->elf, &d->debug) &&
	    elf_draft_symbols(&d->draft, &d->debug.elf, SHT_SYMTAB, &d->segments))
		return SYMBOL_DEBUG_FILE;
	elf_draft_symbols(&d->draft, &d->elf, SHT_DYNSYM, &d->segments);
	if (mini_debug_open(&d->elf, &d->mini_debug, &other) &&
	    elf_draft_symbols(&d->draft, &other, SHT_SYMTAB, &d->segments))
		return SYMBOL_SYMTAB;
	if (elf_draft_go(&d->draft, &d->elf, &d->segments))
		return SYMBOL_SYMTAB;
	elf_draft_nameless(&d->draft, &d->elf, &d->segments);
	return SYMBOL_DYNSYM;
}

static enum symbol_status draft_objects(struct drafting *d)
{
	if (elf_draft_objects(&d->draft, &d->elf, SHT_SYMTAB, &d->segments))
		return SYMBOL_SYMTAB;
	if (debug_file_find(d->job, &d->elf, &d->debug) &&
	    elf_draft_objects(&d->draft, &d->debug.elf, SHT_SYMTAB, &d->segments))
		return SYMBOL_DEBUG_FILE;
	elf_draft_objects(&d->draft, &d->elf, SHT_DYNSYM, &d->segments);
	return SYMBOL_DYNSYM;
}

static enum symbol_status draft_functions(struct drafting *d)
{
	enum symbol_status status;

	code_segments_of_image(&d->segments, &d->elf);
	elf_draft_code(&d->draft, &d->elf, &d->segments);
	status = draft_symbols(d);
	elf_draft_go_code(&d->draft, &d->elf, &d->segments);
	elf_draft_plt(&d->draft, &d->elf, &d->segments, d->names);
	return status;
}

/* NULL: there are neither symbols nor code. The caller frees it. */
static struct index_header *make_block(struct drafting *d, size_t *size)
{
	uint32_t crc;
	struct index_header *block;
	enum symbol_status status;

	if (d->wants_objects) {
		data_segments_of_image(&d->segments, &d->elf);
		status = draft_objects(d);
	} else {
		status = draft_functions(d);
	}
	d->draft.debug_link = elf_debug_link(&d->elf, &crc);
	if (!d->draft.symbols.n && !d->draft.code.n)
		return NULL;
	block = index_draft_finish(&d->draft, size);
	block->status = status;
	if (status == SYMBOL_DYNSYM && elf_go_is_old(&d->elf))
		block->flags |= INDEX_OLD_GO;
	elf_build_id(&d->elf, &block->own_id);
	return block;
}

static void put_answer(struct buf *answer, const struct file_symbols_head *head, const char *text,
		       const char *link_name, const void *block, size_t size)
{
	static const uint8_t zeros[8];

	buf_reserve(answer, sizeof(*head) + strlen(text) + (link_name ? strlen(link_name) : 0) +
				    2 * sizeof(zeros) + size);
	buf_bytes(answer, head, sizeof(*head));
	buf_cstr0(answer, text);
	buf_cstr0(answer, link_name ? link_name : "");
	buf_bytes(answer, zeros, -answer->len & 7);
	buf_bytes(answer, block, size);
}

static bool is_of_build(const struct build_id *wanted, const struct build_id *found)
{
	return !wanted->len || build_id_equal(wanted, found);
}

static void file_symbols_run(struct parser_job *job)
{
	struct file_symbols_head head = { .passed_over = DEBUG_FILE_NONE };
	struct drafting d = { .job = job, .names = arena_new() };
	const struct file_symbols_question *q = reader_bytes(&job->request, sizeof(*q));
	struct index_header *block = NULL;
	const char *link = NULL;
	struct error err = { 0 };
	size_t size = 0;

	d.debug.passed_over = DEBUG_FILE_NONE;
	head.result = elf_file_open(&d.elf, job->file->base, job->file->size, &err);
	if (head.result >= 0 && q) {
		uint32_t crc;

		d.wants_objects = q->wants_objects;
		elf_build_id(&d.elf, &head.build_id);
		link = elf_debug_link(&d.elf, &crc);
		if (is_of_build(&q->build_id, &head.build_id))
			block = make_block(&d, &size);
		head.passed_over = d.debug.passed_over;
	}
	head.is_cut = file_is_cut(job->file) || file_is_cut(&d.debug.file);
	put_answer(job->answer, &head, err.text, link, block, size);
	free(block);
	drafting_fini(&d);
}

/* ---- in the process that asks ---- */

bool file_symbols_read(struct file_symbols *out, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *head = reader_bytes(&r, sizeof(out->head));
	struct file_symbols s = { 0 };
	struct index index;

	s.text = reader_cstr(&r);
	s.link_name = reader_cstr(&r);
	reader_bytes(&r, -(size_t)(r.at - (const uint8_t *)bytes) & 7);
	if (r.bad)
		return false;
	memcpy(&s.head, head, sizeof(s.head));
	s.block_size = reader_left(&r);
	s.block = s.block_size ? r.at : NULL;
	*out = s;
	return s.head.build_id.len <= BUILD_ID_MAX &&
	       (!s.block || index_open(&index, s.block, s.block_size));
}

static bool file_symbols_check(const void *bytes, size_t size)
{
	struct file_symbols s;
	struct index index;

	return file_symbols_read(&s, bytes, size) &&
	       (!s.block || (index_open(&index, s.block, s.block_size) && index_is_sound(&index)));
}

const struct parser_row file_symbols_row = {
	.name = "symbols",
	.run = file_symbols_run,
	.check = file_symbols_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

const struct parser_row file_symbols_kept_row = {
	.name = "symbols",
	.run = file_symbols_run,
	.check = file_symbols_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_KEPT,
};
