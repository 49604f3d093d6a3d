/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/file_dump.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "foreign/jitdump.h"
#include "symbol/index.h"
#include "symbol/lines/line_dump.h"
#include "symbol/lines/line_index.h"
#include "symbol/symbols.h"

/* ---- in the parser ---- */

static struct index_header *make_symbols(const struct file_mapping *file, size_t *size)
{
	struct index_draft draft = { 0 };
	struct index_header *block;
	struct jitdump d;

	jitdump_init(&d);
	d.skips_lines = true;
	jitdump_feed(&d, file->base, file->size, 0);
	vec_foreach (&d.codes, c)
		index_draft_add(&draft, c->file_off, c->size, strings_get(&d.strings, c->name),
				index_draft_rank(true, DRAFT_GLOBAL));
	block = index_draft_finish(&draft, size);
	block->status = SYMBOL_GIVEN;
	jitdump_fini(&d);
	return block;
}

static void file_dump_run(struct parser_job *job)
{
	struct file_dump_head head = { .part = reader_u8(&job->request) };
	cleanup(free_at_exit) void *block = NULL;
	size_t size = 0;

	if (head.part == DUMP_LINES)
		block = line_dump_make(job->file->base, job->file->size, &size);
	else
		block = make_symbols(job->file, &size);
	buf_bytes(job->answer, &head, sizeof(head));
	if (block)
		buf_bytes(job->answer, block, size);
}

/* ---- in the process that asks ---- */

bool file_dump_read(enum dump_part *part, void **block, size_t *size, void *bytes, size_t n_bytes)
{
	struct reader r = reader_over(bytes, n_bytes);
	const struct file_dump_head *head = reader_bytes(&r, sizeof(*head));

	if (!head || head->part >= N_DUMP_PARTS)
		return false;
	*part = (enum dump_part)head->part;
	*size = reader_left(&r);
	*block = *size ? (uint8_t *)bytes + sizeof(*head) : NULL;
	return true;
}

static bool file_dump_check(const void *bytes, size_t n_bytes)
{
	struct line_index lines;
	struct index symbols;
	enum dump_part part;
	void *block;
	size_t size;

	if (!file_dump_read(&part, &block, &size, (void *)bytes, n_bytes))
		return false;
	if (!block)
		return part == DUMP_LINES;
	if (part == DUMP_LINES)
		return line_index_open(&lines, block, size) && line_index_is_sound(&lines);
	return index_open(&symbols, block, size) && index_is_sound(&symbols) &&
	       symbols.header->status == SYMBOL_GIVEN;
}

const struct parser_row file_dump_row = {
	.name = "jitdump",
	.run = file_dump_run,
	.check = file_dump_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

int file_dump_ask(const struct file_mapping *file, enum dump_part part,
		  struct parser_answer *answer, void **block, size_t *size, struct error *err)
{
	uint8_t wanted = (uint8_t)part;
	const struct buf request = { .data = &wanted, .len = 1 };
	const struct parser_question q = { .row = &file_dump_row,
					   .file = file,
					   .request = &request };
	enum dump_part found = N_DUMP_PARTS;
	int r = parser_ask(&q, answer, err);

	if (r < 0)
		return r;
	file_dump_read(&found, block, size, answer->bytes, answer->size); /* it is checked */
	if (found == part)
		return 0;
	parser_answer_fini(answer);
	return error_set(err, -EPROTO, "the parser's answer is of another part");
}
