/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_debug.h"

#include <string.h>

#include "base/mem.h"
#include "symbol/debuginfod.h"

/* ---- in the parser ---- */

static void file_debug_run(struct parser_job *job)
{
	struct file_debug_head head = { .place = DEBUG_FILE_NONE };
	const char *link = NULL, *common = NULL;
	struct debug_file debug = { 0 };
	struct elf_file elf;
	uint32_t crc;

	if (elf_file_open(&elf, job->file->base, job->file->size, NULL) == 0) {
		elf_build_id(&elf, &head.build_id);
		link = elf_debug_link(&elf, &crc);
		if (debug_file_find(job, &elf, &debug))
			head.place = debug.place;
		common = elf_common_debug(debug.file.base ? &debug.elf : &elf, &head.common_id);
	}
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, link ? link : "");
	buf_cstr0(job->answer, common ? common : "");
	file_unmap(&debug.file);
}

/* ---- in the process that asks ---- */

bool file_debug_read(struct file_debug_head *head, const char **link, const char **common,
		     const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *at = reader_bytes(&r, sizeof(*head));

	*link = reader_cstr(&r);
	*common = reader_cstr(&r);
	if (r.bad || reader_left(&r))
		return false;
	memcpy(head, at, sizeof(*head));
	return head->build_id.len <= BUILD_ID_MAX && head->common_id.len <= BUILD_ID_MAX;
}

static bool file_debug_check(const void *bytes, size_t size)
{
	struct file_debug_head head;
	const char *link, *common;

	return file_debug_read(&head, &link, &common, bytes, size);
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

static void file_debug_adopt(const struct debug_search *search, const struct parser_answer *answer,
			     struct file_debug *out)
{
	struct debug_search known = *search;
	struct file_debug_head head;
	const char *link, *common;

	/* the row has checked it */
	file_debug_read(&head, &link, &common, answer->bytes, answer->size);
	known.build_id = head.build_id;
	known.link_name = *link ? link : NULL;
	out->build_id = head.build_id;
	out->common_id = head.common_id;
	out->common = *common ? xstrdup(common) : NULL;
	if (head.place < DEBUG_FILE_PLACES)
		out->path = debug_file_path(&known, head.place);
	else if (head.place == DEBUG_FILE_PLACES)
		out->path = debuginfod_kept_path(DEBUGINFOD_DEBUG_FILE, &head.build_id);
}

void file_debug_find(const struct debug_search *search, const struct file_mapping *file,
		     enum image_found found, struct file_debug *out)
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
	struct parser_answer answer;

	*out = (struct file_debug){ 0 };
	if (parser_ask(&q, &answer, NULL) < 0)
		return;
	file_debug_adopt(search, &answer, out);
	parser_answer_fini(&answer);
}

void file_debug_fini(struct file_debug *d)
{
	free(d->path);
	free(d->common);
}
