/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/image_look.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "lang/language.h"

/* ---- in the parser ---- */

static void image_look_run(struct parser_job *job)
{
	struct image_look_head head = { .detected = LANG_NONE };
	bool wants_runtime = reader_u8(&job->request);
	const char *link = NULL;
	struct elf_file elf;
	char why[128];

	head.result = elf_file_open(&elf, job->file->base, job->file->size, NULL);
	if (head.result >= 0) {
		elf_build_id(&elf, &head.build_id);
		link = elf_debug_link(&elf, &head.link_crc);
		if (wants_runtime)
			head.detected = lang_detect(&elf, &head.runtime, why, sizeof(why));
	}
	head.is_cut = file_is_cut(job->file);
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, link ? link : "");
}

/* ---- in the process that asks ---- */

/* Places in memory are the process's, and BPF checks each access. */
static bool runtime_is_sound(const struct lang_runtime *r)
{
	if (r->language >= N_LANGUAGES || r->libc > LIBC_MUSL)
		return false;
	return r->language != LANGUAGE_PYTHON ||
	       (r->python.frame_size <= PYTHON_FRAME_MAX &&
		r->python.code_size <= PYTHON_CODE_MAX && r->python.frames <= PYTHON_FRAMES_SHIMS);
}

static bool image_look_read(const void *bytes, size_t size, struct image_look_head *head,
			    const char **link)
{
	struct reader r = reader_over(bytes, size);
	const void *at = reader_bytes(&r, sizeof(*head));

	*link = reader_cstr(&r);
	if (r.bad || reader_left(&r))
		return false;
	memcpy(head, at, sizeof(*head));
	return head->build_id.len <= BUILD_ID_MAX && head->detected <= LANG_REFUSED &&
	       head->result <= 0 &&
	       (head->detected == LANG_NONE || runtime_is_sound(&head->runtime));
}

static bool image_look_check(const void *bytes, size_t size)
{
	struct image_look_head head;
	const char *link;

	return image_look_read(bytes, size, &head, &link);
}

const struct parser_row image_look_row = {
	.name = "look",
	.run = image_look_run,
	.check = image_look_check,
	.deadline_ms = 5000,
	.lane = PARSER_LANE_FRONT,
};

int image_look(const struct file_mapping *file, enum image_found found, bool wants_runtime,
	       uint32_t deadline_ms, struct image_look *out, struct error *err)
{
	uint8_t wants = wants_runtime;
	const struct buf request = { .data = &wants, .len = 1 };
	const struct parser_question q = {
		.row = &image_look_row,
		.file = file,
		.request = &request,
		.deadline_ms = deadline_ms,
	};
	bool is_trusted = image_file_is_trusted(file, found);
	struct parser_answer answer;
	const char *link;
	int r;

	*out = (struct image_look){ 0 };
	r = is_trusted ? parser_ask_here(&q, &answer, err) : parser_ask(&q, &answer, err);
	if (r < 0)
		return r;
	image_look_read(answer.bytes, answer.size, &out->head, &link);
	out->link_name = *link ? xstrdup(link) : NULL;
	parser_answer_fini(&answer);
	r = out->head.result;
	if (r < 0)
		image_look_fini(out);
	return r < 0 ? error_set(err, r, "not an ELF file, or a damaged one") : 0;
}

void image_look_fini(struct image_look *look)
{
	free(look->link_name);
	*look = (struct image_look){ 0 };
}
