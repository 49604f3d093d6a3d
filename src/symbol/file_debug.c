/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_debug.h"

#include <string.h>

#include "base/mem.h"

/* ---- in the parser ---- */

static void file_debug_run(struct parser_job *job)
{
	struct file_debug_head head = { .place = DEBUG_FILE_NONE };
	const char *link = NULL;
	struct debug_file debug;
	struct elf_file elf;
	uint32_t crc;

	if (elf_file_open(&elf, job->file->base, job->file->size, NULL) == 0) {
		elf_build_id(&elf, &head.build_id);
		link = elf_debug_link(&elf, &crc);
		if (debug_file_find(job, &elf, &debug))
			head.place = debug.place;
		file_unmap(&debug.file);
	}
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, link ? link : "");
}

/* ---- in the process that asks ---- */

bool file_debug_read(struct file_debug_head *head, const char **link, const void *bytes,
		     size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *at = reader_bytes(&r, sizeof(*head));

	*link = reader_cstr(&r);
	if (r.bad || reader_left(&r))
		return false;
	memcpy(head, at, sizeof(*head));
	return head->build_id.len <= BUILD_ID_MAX;
}

static bool file_debug_check(const void *bytes, size_t size)
{
	struct file_debug_head head;
	const char *link;

	return file_debug_read(&head, &link, bytes, size);
}

const struct parser_row file_debug_row = {
	.name = "debug file",
	.run = file_debug_run,
	.check = file_debug_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

int debug_finding_open(void *context, struct reader *wish, struct file_mapping *out,
		       bool *is_trusted)
{
	const struct debug_finding *f = context;
	int r = debug_file_serve(f->search, wish, out, NULL);

	*is_trusted = r >= 0 && image_file_is_trusted(out, f->found);
	return r;
}

char *file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		      enum image_found found, struct build_id *id)
{
	static const struct buf no_request;
	struct debug_finding finding = { search, found };
	const struct parser_question q = {
		.row = &file_debug_row,
		.file = file,
		.is_trusted = image_file_is_trusted(file, found),
		.request = &no_request,
		.open = debug_finding_open,
		.context = &finding,
	};
	struct debug_search known = *search;
	struct parser_answer answer;
	struct file_debug_head head;
	const char *link;
	char *path = NULL;

	*id = (struct build_id){ 0 };
	if (parser_ask(&q, &answer, NULL) < 0)
		return NULL;
	file_debug_read(&head, &link, answer.bytes, answer.size); /* the row has checked it */
	*id = known.build_id = head.build_id;
	known.link_name = *link ? link : NULL;
	if (head.place < DEBUG_FILE_PLACES)
		path = debug_file_path(&known, head.place);
	parser_answer_fini(&answer);
	return path;
}
