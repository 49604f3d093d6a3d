/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_functions.h"

#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "elf/elf_probes.h"
#include "elf/elf_symbols.h"
#include "symbol/file_debug.h"

/* Notes can share no texts, but a hostile file can have many. */
#define PROBE_NAMES_MAX ((size_t)64 << 20)

/* ---- in the parser ---- */

struct listing {
	const struct elf_file *image; /* says where link addresses are */
	uint32_t parts;
	struct buf functions, names;
};

static bool is_listed(const struct listing *l, const struct elf_symbol *s, uint64_t *file_off)
{
	*file_off = 0;
	if (l->parts & FUNCTIONS_NAMES)
		return s->link_addr && s->size;
	return (s->type == STT_FUNC || s->type == STT_GNU_IFUNC) && s->section != SHN_UNDEF &&
	       *s->name && elf_file_off(l->image, s->link_addr, file_off);
}

/* All names of a table at once: symbols can share them, so one by one they could be gigabytes. */
static void list_functions(struct listing *l, const struct elf_file *file, uint32_t table)
{
	uint64_t base = l->names.len;
	struct elf_symbols it;
	struct elf_symbol s;

	if (!elf_symbols_begin(&it, file, table) || base + it.names_size >= UINT32_MAX)
		return;
	buf_bytes(&l->names, it.names, it.names_size);
	buf_u8(&l->names, 0); /* for a table without names */
	while (elf_symbols_next(&it, &s)) {
		struct file_function f = { .link_addr = s.link_addr, .size = s.size };
		uint64_t name = *s.name ? (uint64_t)(s.name - it.names) : it.names_size;

		if (!is_listed(l, &s, &f.file_off))
			continue;
		f.name = (uint32_t)(base + name);
		f.is_global = s.bind != STB_LOCAL;
		buf_bytes(&l->functions, &f, sizeof(f));
	}
}

static void list_probes(struct listing *l, const struct elf_file *elf)
{
	struct elf_probes it;
	struct elf_probe p;

	elf_probes_begin(&it, elf);
	while (elf_probes_next(&it, &p) && l->names.len < PROBE_NAMES_MAX) {
		struct file_function f = { .file_off = p.file_off,
					   .size = p.semaphore_off,
					   .name = (uint32_t)l->names.len };

		buf_printf(&l->names, "%s:%s", p.provider, p.name);
		buf_u8(&l->names, 0);
		buf_bytes(&l->functions, &f, sizeof(f));
	}
}

static void list_all(struct listing *l, struct parser_job *job, const struct elf_file *elf)
{
	struct debug_file debug;

	l->image = elf;
	if (l->parts & FUNCTIONS_PROBES) {
		list_probes(l, elf);
		return;
	}
	list_functions(l, elf, SHT_SYMTAB);
	if (!(l->parts & FUNCTIONS_ALL))
		return;
	list_functions(l, elf, SHT_DYNSYM);
	if (debug_file_find(job, elf, &debug))
		list_functions(l, &debug.elf, SHT_SYMTAB);
	file_unmap(&debug.file);
}

static void file_functions_run(struct parser_job *job)
{
	static const uint8_t zeros[8];
	struct listing l = { .parts = reader_u8(&job->request) };
	struct file_functions_head head = { 0 };
	struct error err = { 0 };
	struct elf_file elf;

	head.result = elf_file_open(&elf, job->file->base, job->file->size, &err);
	if (head.result >= 0)
		list_all(&l, job, &elf);
	head.n = (uint32_t)(l.functions.len / sizeof(struct file_function));
	head.names_size = l.names.len;
	buf_bytes(job->answer, &head, sizeof(head));
	buf_cstr0(job->answer, err.text);
	buf_bytes(job->answer, zeros, -job->answer->len & 7);
	buf_bytes(job->answer, l.functions.data, l.functions.len);
	buf_bytes(job->answer, l.names.data, l.names.len);
	buf_fini(&l.functions);
	buf_fini(&l.names);
}

/* ---- in the process that asks ---- */

bool file_functions_read(struct file_functions *out, const void *bytes, size_t size)
{
	struct reader r = reader_over(bytes, size);
	const void *head = reader_bytes(&r, sizeof(out->head));
	struct file_functions f = { .why = reader_cstr(&r) };

	reader_bytes(&r, -(size_t)(r.at - (const uint8_t *)bytes) & 7);
	if (r.bad)
		return false;
	memcpy(&f.head, head, sizeof(f.head));
	f.list = reader_bytes(&r, (size_t)f.head.n * sizeof(*f.list));
	f.names = reader_bytes(&r, f.head.names_size);
	if (r.bad || reader_left(&r) || f.head.result > 0)
		return false;
	*out = f;
	return true;
}

static bool file_functions_check(const void *bytes, size_t size)
{
	struct file_functions f;

	if (!file_functions_read(&f, bytes, size) ||
	    (f.head.n && (!f.head.names_size || f.names[f.head.names_size - 1])))
		return false;
	for (uint32_t i = 0; i < f.head.n; i++)
		if (f.list[i].name >= f.head.names_size)
			return false;
	return true;
}

const struct parser_row file_functions_row = {
	.name = "functions",
	.run = file_functions_run,
	.check = file_functions_check,
	.deadline_ms = 60000,
	.lane = PARSER_LANE_FRONT,
};

int file_functions_ask(const struct file_mapping *file, enum image_found found, uint32_t parts,
		       const struct debug_search *search, struct file_functions *out,
		       struct error *err)
{
	uint8_t wanted = (uint8_t)parts;
	const struct buf request = { .data = &wanted, .len = 1 };
	struct debug_finding finding = { search, found };
	const struct parser_question q = {
		.row = &file_functions_row,
		.file = file,
		.is_trusted = image_file_is_trusted(file, found),
		.request = &request,
		.open = search ? debug_finding_open : NULL,
		.context = &finding,
	};
	struct parser_answer answer;
	int r = parser_ask(&q, &answer, err);

	*out = (struct file_functions){ 0 };
	if (r < 0)
		return r;
	file_functions_read(out, answer.bytes, answer.size); /* the row has checked it */
	out->answer = answer;
	r = out->head.result;
	if (r < 0) {
		error_set(err, r, "%s", out->why);
		file_functions_fini(out);
	}
	return r;
}

void file_functions_fini(struct file_functions *f)
{
	parser_answer_fini(&f->answer);
	*f = (struct file_functions){ 0 };
}
