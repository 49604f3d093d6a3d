/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/file_lines.h"

#include <elf.h>

#include "base/mem.h"
#include "symbol/debug_sections.h"
#include "symbol/lines/line_draft.h"
#include "symbol/lines/line_go.h"
#include "symbol/split_files.h"

/* ---- in the parser ---- */

/* The state of making one image's lines. */
struct lines_making {
	struct parser_job *job;
	const struct elf_file *image;
	const struct code_segments *segments;
	struct debug_file debug_file;
	struct file_mapping alt_file;
	struct debug_sections debug, alt;
	struct split_file package;
	struct line_source source;
	struct file_lines_head head;
	const char *missing_alt;
};

static void lines_making_fini(struct lines_making *m)
{
	debug_sections_fini(&m->debug);
	debug_sections_fini(&m->alt);
	split_file_close(&m->package);
	file_unmap(&m->debug_file.file);
	file_unmap(&m->alt_file);
	code_segments_fini(&m->source.code);
}

static bool load_debug(struct lines_making *m, struct debug_sections *sections,
		       const struct elf_file *elf, uint32_t file)
{
	bool has_units = debug_sections_load(sections, elf, false);

	if (sections->is_refused && !m->head.refused)
		m->head.refused = file;
	return has_units;
}

/* The image's own, else its debug file's. */
static bool find_debug(struct lines_making *m)
{
	m->head.status = LINES_OWN;
	if (load_debug(m, &m->debug, m->image, REFUSED_IMAGE))
		return true;
	debug_sections_fini(&m->debug);
	m->head.status = LINES_DEBUG_FILE;
	return debug_file_find(m->job, m->image, &m->debug_file) &&
	       load_debug(m, &m->debug, &m->debug_file.elf, REFUSED_DEBUG_FILE);
}

static bool open_wished(struct lines_making *m, const struct buf *wish, struct file_mapping *file,
			struct elf_file *elf)
{
	if (parser_open(m->job, wish, file) < 0)
		return false;
	if (elf_file_open(elf, file->base, file->size, NULL) == 0)
		return true;
	file_unmap(file);
	return false;
}

static bool try_alt(struct lines_making *m, uint8_t place, const struct build_id *wanted,
		    const char *name)
{
	struct build_id found;
	struct buf wish = { 0 };
	struct elf_file elf;
	bool is_open;

	buf_u8(&wish, WISH_ALT_FILE);
	buf_u8(&wish, place);
	buf_bytes(&wish, wanted, sizeof(*wanted));
	buf_cstr0(&wish, name);
	is_open = open_wished(m, &wish, &m->alt_file, &elf);
	buf_fini(&wish);
	if (is_open && elf_build_id(&elf, &found) && build_id_equal(&found, wanted) &&
	    load_debug(m, &m->alt, &elf, REFUSED_ALT_FILE))
		return true;
	debug_sections_fini(&m->alt);
	file_unmap(&m->alt_file);
	return false;
}

static void find_alt(struct lines_making *m)
{
	const struct elf_file *of = m->head.status == LINES_OWN ? m->image : &m->debug_file.elf;
	struct build_id wanted;
	const char *name = elf_common_debug(of, &wanted);

	if (!name)
		return;
	if (try_alt(m, 0, &wanted, name) || try_alt(m, 1, &wanted, name))
		m->source.alt = &m->alt.dwarf;
	else
		m->missing_alt = name;
}

static void find_package(struct lines_making *m)
{
	struct build_id id = { 0 };

	elf_build_id(m->image, &id);
	if (split_package_open(m->job, &id, &m->debug.dwarf, &m->package))
		m->source.package = &m->package.sections.dwarf;
}

/* The parts of the executable sections that are in segments; without sections, the segments. */
static void find_code(struct lines_making *m)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	struct code_segments *code = &m->source.code;
	struct elf_section section;

	for (uint32_t i = 0; elf_section(m->image, i, &section); i++) {
		if ((section.flags & wanted) != wanted)
			continue;
		vec_foreach (m->segments, s) {
			uint64_t low = MAX(s->link_addr, section.link_addr);
			uint64_t high =
				MIN(s->link_addr + s->size, section.link_addr + section.size);

			if (low < high)
				vec_push(code,
					 (struct code_segment){ low, high - low,
								s->offset + (low - s->link_addr) });
		}
	}
	if (!code->n)
		vec_foreach (m->segments, s) {
			vec_push(code, *s);
		}
	code_segments_sort(code);
}

static bool is_any_cut(const struct lines_making *m)
{
	return file_is_cut(m->job->file) || file_is_cut(&m->debug_file.file) ||
	       file_is_cut(&m->alt_file) || file_is_cut(&m->package.file);
}

static void put_answer(struct buf *answer, const struct file_lines_head *head,
		       const char *missing_alt, const char *missing_split, const void *block,
		       size_t size)
{
	static const uint8_t zeros[8];

	buf_bytes(answer, head, sizeof(*head));
	buf_cstr0(answer, missing_alt ? missing_alt : "");
	buf_cstr0(answer, missing_split ? missing_split : "");
	buf_bytes(answer, zeros, -answer->len & 7);
	buf_bytes(answer, block, size);
}

static struct line_header *make_block(struct lines_making *m, size_t *size,
				      struct line_losses *losses)
{
	/* A stripped Go program has its lines in the table of its runtime. */
	if (!find_debug(m)) {
		m->head.status = LINES_OWN;
		return line_go_make(m->image, m->segments, size);
	}
	find_alt(m);
	find_package(m);
	find_code(m);
	m->source.dwarf = &m->debug.dwarf;
	m->source.job = m->job;
	return line_draft_make(&m->source, size, losses);
}

void file_lines_make(struct parser_job *job, const struct elf_file *image,
		     const struct code_segments *segments)
{
	struct lines_making m = { .job = job, .image = image, .segments = segments };
	struct line_losses losses = { 0 };
	size_t size = 0;
	struct line_header *block = make_block(&m, &size, &losses);

	elf_build_id(image, &m.head.build_id);
	if (!block) {
		uint32_t crc;
		const char *link = elf_debug_link(image, &crc);

		m.head.status = LINES_NONE;
		block = line_block_empty(&m.head.build_id, link ? link : "", &size);
	}
	m.head.is_cut = is_any_cut(&m);
	m.head.is_damaged = losses.is_cut;
	m.head.n_units = losses.n_units;
	m.head.n_bad_units = losses.n_bad_units;
	m.head.n_missing_split = losses.n_missing_split;
	put_answer(job->answer, &m.head, m.missing_alt, losses.missing_split, block, size);
	free(losses.missing_split);
	free(block);
	lines_making_fini(&m);
}

static void file_lines_run(struct parser_job *job)
{
	struct file_lines_head head = { .status = LINES_NONE };
	const void *wanted = reader_bytes(&job->request, sizeof(head.build_id));
	struct code_segments segments = { 0 };
	struct build_id id = { 0 };
	struct elf_file elf;

	head.result = elf_file_open(&elf, job->file->base, job->file->size, NULL);
	if (!wanted || head.result < 0) {
		put_answer(job->answer, &head, NULL, NULL, NULL, 0);
		return;
	}
	elf_build_id(&elf, &head.build_id);
	memcpy(&id, wanted, sizeof(id));
	if (id.len && !build_id_equal(&id, &head.build_id)) {
		put_answer(job->answer, &head, NULL, NULL, NULL, 0);
		return;
	}
	code_segments_of_image(&segments, &elf);
	file_lines_make(job, &elf, &segments);
	code_segments_fini(&segments);
}

/* ---- in the process that asks ---- */

bool file_lines_read(struct file_lines *out, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *head = reader_bytes(&r, sizeof(out->head));
	struct file_lines l = { 0 };
	struct line_index index;

	l.missing_alt = reader_cstr(&r);
	l.missing_split = reader_cstr(&r);
	reader_bytes(&r, -(size_t)(r.at - (const uint8_t *)bytes) & 7);
	if (r.bad)
		return false;
	memcpy(&l.head, head, sizeof(l.head));
	l.block_size = reader_left(&r);
	l.block = l.block_size ? r.at : NULL;
	*out = l;
	return l.head.build_id.len <= BUILD_ID_MAX && l.head.status < N_LINE_STATUSES &&
	       l.head.refused < N_REFUSED &&
	       (!l.block || line_index_open(&index, l.block, l.block_size));
}

static bool file_lines_check(const void *bytes, size_t size)
{
	struct file_lines l;
	struct line_index index;

	return file_lines_read(&l, bytes, size) &&
	       (!l.block ||
		(line_index_open(&index, l.block, l.block_size) && line_index_is_sound(&index)));
}

const struct parser_row file_lines_row = {
	.name = "lines",
	.run = file_lines_run,
	.check = file_lines_check,
	.deadline_ms = 120000,
	.lane = PARSER_LANE_FRONT,
};
