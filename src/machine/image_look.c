/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/image_look.h"

#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"

/* ---- in the parser ---- */

uint32_t image_contents_of(const struct elf_file *elf)
{
	struct elf_symbols symbols;
	struct elf_section section;
	uint32_t contents = 0;

	if (elf_symbols_begin(&symbols, elf, SHT_SYMTAB))
		contents |= CONTAINS_SYMBOLS;
	if (elf_section_named(elf, ".debug_info", &section) ||
	    elf_section_named(elf, ".zdebug_info", &section))
		contents |= CONTAINS_LINES;
	for (uint32_t i = 1; elf_section(elf, i, &section); i++)
		if (section.flags & SHF_EXECINSTR && section.type != SHT_NOBITS && section.size)
			contents |= CONTAINS_CODE;
	return contents;
}

static uint32_t put_segments(struct buf *out, const struct elf_file *elf)
{
	struct elf_segment segment;
	uint32_t n = 0;

	for (uint32_t i = 0; elf_segment(elf, i, &segment); i++) {
		if (segment.type != PT_LOAD)
			continue;
		buf_bytes(out, &segment, sizeof(segment));
		n++;
	}
	return n;
}

/* Returns the name of its debug link. */
static const char *look_at_elf(const struct elf_file *elf, uint32_t parts,
			       struct image_look_head *head, struct buf *segments)
{
	struct elf_section text;
	char why[128];

	head->machine = elf->machine;
	head->is_64 = elf->is_64;
	elf_build_id(elf, &head->build_id);
	if (parts & LOOK_RUNTIME)
		head->detected = lang_detect(elf, &head->runtime, why, sizeof(why));
	if (parts & LOOK_CONTENTS)
		head->contents = image_contents_of(elf);
	if (parts & LOOK_CONTENTS && elf_section_named(elf, ".text", &text))
		head->text_off = text.file_off;
	if (parts & LOOK_SEGMENTS)
		head->n_segments = put_segments(segments, elf);
	return elf_debug_link(elf, &head->link_crc);
}

static void image_look_run(struct parser_job *job)
{
	struct image_look_head head = { .detected = LANG_NONE };
	uint32_t parts = reader_u8(&job->request);
	struct buf segments = { 0 };
	struct error err = { 0 };
	const char *link = NULL;
	struct elf_file elf;

	head.result = elf_file_open(&elf, job->file->base, job->file->size, &err);
	if (head.result >= 0)
		link = look_at_elf(&elf, parts, &head, &segments);
	head.is_cut = file_is_cut(job->file);
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, err.text);
	buf_cstr0(job->answer, link ? link : "");
	buf_bytes(job->answer, segments.data, segments.len);
	buf_fini(&segments);
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

/* Where the parts of an answer are. */
struct look_answer {
	struct image_look_head head;
	const char *why, *link;
	const void *segments;
};

static bool image_look_read(const void *bytes, size_t size, struct look_answer *out)
{
	struct image_look_head *head = &out->head;
	struct reader r = reader_over(bytes, size);
	const void *at = reader_bytes(&r, sizeof(*head));

	out->why = reader_cstr(&r);
	out->link = reader_cstr(&r);
	if (r.bad)
		return false;
	memcpy(head, at, sizeof(*head));
	out->segments = r.at;
	return reader_left(&r) == (uint64_t)head->n_segments * sizeof(struct elf_segment) &&
	       head->build_id.len <= BUILD_ID_MAX && head->detected <= LANG_REFUSED &&
	       head->result <= 0 && head->is_64 <= 1 &&
	       (head->detected == LANG_NONE || runtime_is_sound(&head->runtime));
}

static bool image_look_check(const void *bytes, size_t size)
{
	struct look_answer answer;

	return image_look_read(bytes, size, &answer);
}

const struct parser_row image_look_row = {
	.name = "look",
	.run = image_look_run,
	.check = image_look_check,
	.deadline_ms = 5000,
	.lane = PARSER_LANE_FRONT,
};

/* Copies the answer, which the row has checked. */
static int adopt_look(const struct parser_answer *bytes, struct image_look *out, struct error *err)
{
	struct look_answer a;
	size_t size;

	image_look_read(bytes->bytes, bytes->size, &a);
	if (a.head.result < 0)
		return error_set(err, a.head.result, "%s", a.why);
	out->head = a.head;
	out->link_name = *a.link ? xstrdup(a.link) : NULL;
	size = a.head.n_segments * sizeof(*out->segments);
	if (size) {
		out->segments = xmalloc(size);
		memcpy(out->segments, a.segments, size);
	}
	return 0;
}

int image_look(const struct file_mapping *file, const struct image_look_wish *wish,
	       struct image_look *out, struct error *err)
{
	uint8_t parts = (uint8_t)wish->parts;
	const struct buf request = { .data = &parts, .len = 1 };
	const struct parser_question q = {
		.row = &image_look_row,
		.file = file,
		.request = &request,
		.deadline_ms = wish->deadline_ms,
	};
	bool is_trusted = image_file_is_trusted(file, wish->found);
	struct parser_answer answer;
	int r;

	*out = (struct image_look){ 0 };
	r = is_trusted ? parser_ask_here(&q, &answer, err) : parser_ask(&q, &answer, err);
	if (r < 0)
		return r;
	r = adopt_look(&answer, out, err);
	parser_answer_fini(&answer);
	return r;
}

bool image_look_address(const struct image_look *look, uint32_t flags, uint64_t file_off,
			uint64_t *link_addr)
{
	for (uint32_t i = 0; i < look->head.n_segments; i++) {
		const struct elf_segment *s = &look->segments[i];

		if ((s->flags & flags) != flags || file_off - s->file_off >= s->file_size)
			continue;
		*link_addr = s->link_addr + (file_off - s->file_off);
		return true;
	}
	return false;
}

void image_look_fini(struct image_look *look)
{
	free(look->link_name);
	free(look->segments);
	*look = (struct image_look){ 0 };
}
