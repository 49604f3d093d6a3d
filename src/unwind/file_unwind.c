/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/file_unwind.h"

#include <string.h>

#include "base/mem.h"
#include "elf/elf_file.h"
#include "symbol/debug_file.h"

/* ---- in the parser ---- */

static struct unwind_header *build_table(struct parser_job *job, const struct elf_file *elf,
					 bool searches, struct file_unwind_head *head)
{
	struct debug_file debug = { 0 };
	bool has_debug = searches && debug_file_find(job, elf, &debug);
	struct unwind_header *block = NULL;

	head->result = unwind_build(elf, has_debug ? &debug.elf : NULL, &block, NULL);
	if (head->result == 0 && file_is_cut(&debug.file)) {
		free(block);
		block = NULL;
		head->result = unwind_build(elf, NULL, &block, NULL);
	}
	file_unmap(&debug.file);
	return block;
}

static void put_answer(struct buf *answer, const struct file_unwind_head *head, const char *link,
		       const struct unwind_header *block)
{
	static const uint8_t zeros[8];

	buf_bytes(answer, head, sizeof(*head));
	buf_cstr0(answer, link ? link : "");
	buf_bytes(answer, zeros, -answer->len & 7);
	if (block)
		buf_bytes(answer, block, block->size);
}

static void file_unwind_run(struct parser_job *job)
{
	struct file_unwind_head head = { 0 };
	const void *wanted = reader_bytes(&job->request, sizeof(head.build_id));
	bool searches = reader_u8(&job->request);
	struct unwind_header *block = NULL;
	struct build_id id = { 0 };
	const char *link = NULL;
	struct elf_file elf;

	head.result = elf_file_open(&elf, job->file->base, job->file->size, NULL);
	if (wanted && head.result >= 0) {
		memcpy(&id, wanted, sizeof(id));
		head.is_elf = true;
		/* a file without a build id is believed, as a look at it found it right */
		head.is_replaced = elf_build_id(&elf, &head.build_id) && id.len &&
				   !build_id_equal(&id, &head.build_id);
		link = elf_debug_link(&elf, &head.link_crc);
		if (!head.is_replaced)
			block = build_table(job, &elf, searches, &head);
	}
	head.is_cut = file_is_cut(job->file);
	put_answer(job->answer, &head, link, block);
	free(block);
}

/* ---- in the process that asks ---- */

bool file_unwind_read(struct file_unwind *out, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *head = reader_bytes(&r, sizeof(out->head));
	struct file_unwind f = { 0 };
	struct unwind_table table;

	f.link_name = reader_cstr(&r);
	reader_bytes(&r, -(size_t)(r.at - (const uint8_t *)bytes) & 7);
	if (r.bad)
		return false;
	memcpy(&f.head, head, sizeof(f.head));
	f.block_size = reader_left(&r);
	f.block = f.block_size ? r.at : NULL;
	*out = f;
	return f.head.build_id.len <= BUILD_ID_MAX &&
	       (f.block || f.head.result < 0 || f.head.is_replaced) &&
	       (!f.block || unwind_table_open(&table, f.block, f.block_size));
}

static bool file_unwind_check(const void *bytes, size_t size)
{
	struct file_unwind f;
	struct unwind_table table;

	return file_unwind_read(&f, bytes, size) &&
	       (!f.block || (unwind_table_open(&table, f.block, f.block_size) &&
			     unwind_table_is_sound(&table)));
}

const struct parser_row file_unwind_row = {
	.name = "unwind table",
	.run = file_unwind_run,
	.check = file_unwind_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_BACK,
};
