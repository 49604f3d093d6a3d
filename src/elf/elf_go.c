/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/elf_go.h"

#include <elf.h>
#include <string.h>

#include "base/mem.h"

#define WORD        8
#define MAX_GO_TEXT 65536
/* Numbers of a function's tables: PCDATA_InlTreeIndex and FUNCDATA_InlTree of Go's runtime. */
#define INLINED_PCDATA 2
#define INLINED_TREE   3
#define TOP_FRAME      1 /* of a function's flags */

/* Sizes and places that differ between versions; of a function, from its record's start. */
static const struct go_layout {
	uint32_t magic;
	uint8_t entry;      /* bytes of a number in the function table, and of a record's entry */
	uint8_t record;     /* bytes before the numbers of tables */
	uint8_t start_line; /* 0: not there */
	uint8_t data;       /* bytes of a place of function data */
	uint8_t inlined, inlined_name, inlined_called, inlined_line; /* entry of a tree */
	uint8_t inline_base; /* word of the module's data: where trees begin; 0: absolute */
} go_layouts[] = {
	[GO_1_16] = { 0xfffffffa, 8, 44, 0, 8, 20, 12, 16, 0, 0 },
	[GO_1_18] = { 0xfffffff0, 4, 40, 0, 4, 20, 12, 16, 0, 38 },
	[GO_1_20] = { 0xfffffff1, 4, 44, 36, 4, 16, 4, 8, 12, 40 },
};

#define OLD_MAGIC 0xfffffffb /* Go 1.2 to 1.15 */

/* The first words of the runtime's `moduledata`. */
enum { MODULE_HEADER, MODULE_NAMES, MODULE_TEXT = 22, N_MODULE_WORDS = 47 };

#define MAX_MODULES 64 /* words that equal the table's address; real files have one */

static struct reader go_part(const struct reader *table, uint64_t off)
{
	struct reader r = *table;

	if (off > reader_left(&r))
		off = reader_left(&r);
	r.at += off;
	return r;
}

static const char *go_text_within(const struct reader *texts, uint32_t off, size_t size)
{
	struct reader r = go_part(texts, off);
	const char *text;

	if (reader_left(&r) > size)
		r.end = r.at + size;
	text = reader_cstr(&r);
	return text ? text : "";
}

static const char *go_text(const struct reader *texts, uint32_t off)
{
	return go_text_within(texts, off, MAX_GO_TEXT);
}

/* ---- the module's data ---- */

static uint32_t relative_type(const struct elf_file *elf)
{
	return elf->machine == EM_AARCH64 ? R_AARCH64_RELATIVE : R_X86_64_RELATIVE;
}

struct go_module {
	const struct elf_file *elf;
	uint64_t table, names; /* link addresses */
	uint64_t at;           /* of the data */
	uint64_t words[N_MODULE_WORDS];
	uint64_t candidates[MAX_MODULES];
	uint32_t n_candidates;
	uint64_t budget; /* bytes to read; sections of a damaged file may lie over each other */
};

/* A few times the file; real files have one candidate, and are read twice. */
#define MODULE_BUDGET 8

static bool take_budget(struct go_module *m, const struct reader *r)
{
	if (reader_left(r) > m->budget)
		return false;
	m->budget -= reader_left(r);
	return true;
}

/* Calls `take` for each word that the loader fills with an address of this image. */
static void each_relative(struct go_module *m,
			  bool (*take)(struct go_module *m, uint64_t at, uint64_t value))
{
	struct elf_section s;

	for (uint32_t i = 0; elf_section(m->elf, i, &s); i++) {
		struct reader r = elf_section_bytes(m->elf, &s);

		if (s.type != SHT_RELA || !(s.flags & SHF_ALLOC))
			continue;
		if (!take_budget(m, &r))
			return;
		while (reader_left(&r) >= sizeof(Elf64_Rela)) {
			uint64_t at = reader_u64(&r), info = reader_u64(&r);
			uint64_t value = reader_u64(&r);

			if (ELF64_R_TYPE(info) == relative_type(m->elf) && !take(m, at, value))
				return;
		}
	}
}

static bool take_word(struct go_module *m, uint64_t at, uint64_t value)
{
	uint64_t i = (at - m->at) / WORD;

	if (at >= m->at && i < N_MODULE_WORDS)
		m->words[i] = value;
	return true;
}

static bool take_candidate(struct go_module *m, uint64_t at, uint64_t value)
{
	if (value == m->table)
		m->candidates[m->n_candidates++] = at;
	return m->n_candidates < MAX_MODULES;
}

static void find_go_modules(struct go_module *m)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(m->elf, i, &s); i++) {
		struct reader r;

		if (s.type != PT_LOAD || !(s.flags & PF_W))
			continue;
		r = elf_bytes_at(m->elf, s.link_addr);
		if (!take_budget(m, &r))
			return;
		for (uint64_t at = s.link_addr; reader_left(&r) >= WORD; at += WORD)
			if (!take_candidate(m, at, reader_u64(&r)))
				return;
	}
	each_relative(m, take_candidate);
}

static bool find_go_module(struct go_module *m)
{
	find_go_modules(m);
	for (uint32_t i = 0; i < m->n_candidates; i++) {
		struct reader r = elf_bytes_at(m->elf, m->candidates[i]);

		m->at = m->candidates[i];
		for (uint32_t k = 0; k < N_MODULE_WORDS; k++)
			m->words[k] = reader_u64(&r);
		each_relative(m, take_word);
		if (m->words[MODULE_HEADER] == m->table && m->words[MODULE_NAMES] == m->names)
			return true;
	}
	return false;
}

/* ---- the table ---- */

static bool find_go_layout(uint32_t magic, enum elf_go_layout *out)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(go_layouts); i++)
		if (go_layouts[i].magic == magic) {
			*out = (enum elf_go_layout)i;
			return true;
		}
	return false;
}

static bool find_go_table(const struct elf_file *elf, struct elf_section *out)
{
	return elf_section_named(elf, ".gopclntab", out) ||
	       elf_section_named(elf, ".data.rel.ro.gopclntab", out);
}

/* The parts behind the header's first 8 bytes: counts and offsets, a word each. */
static bool read_go_header(struct elf_go *go, struct reader r, uint64_t *names_off)
{
	const struct reader table = { .at = r.at - WORD, .end = r.end };
	uint64_t n = reader_u64(&r);

	reader_u64(&r); /* number of files */
	go->text = go->layout == GO_1_16 ? 0 : reader_u64(&r);
	*names_off = reader_u64(&r);
	go->names = go_part(&table, *names_off);
	go->units = go_part(&table, reader_u64(&r));
	go->files = go_part(&table, reader_u64(&r));
	go->steps = go_part(&table, reader_u64(&r));
	go->functions = go_part(&table, reader_u64(&r));
	/* the list of functions ends with an address */
	go->n_functions = (uint32_t)MIN(n, reader_left(&go->functions) /
						   (2 * (uint64_t)go_layouts[go->layout].entry));
	return !r.bad && go->n_functions;
}

static uint64_t read_go_entry(const struct elf_go *go, struct reader *r)
{
	return go_layouts[go->layout].entry == WORD ? reader_u64(r) : go->text + reader_u32(r);
}

/*
 * Where trees of inlined functions begin. Since Go 1.26 that is inside the table, and the module's
 * data have more words before it.
 */
static uint64_t find_go_trees(const struct elf_go *go, const struct go_module *m,
			      uint64_t table_size)
{
	uint8_t first = go_layouts[go->layout].inline_base;

	for (uint32_t i = first; i < N_MODULE_WORDS; i++)
		if (m->words[i] > m->table && m->words[i] - m->table < table_size)
			return m->words[i];
	return m->words[first];
}

bool elf_go_is_old(const struct elf_file *elf)
{
	struct elf_section section;
	struct reader r;

	if (!find_go_table(elf, &section))
		return false;
	r = elf_section_bytes(elf, &section);
	return reader_u32(&r) == OLD_MAGIC;
}

bool elf_go_open(struct elf_go *out, const struct elf_file *elf)
{
	struct elf_go go = { .elf = elf };
	struct go_module module = { .elf = elf, .budget = MODULE_BUDGET * (uint64_t)elf->size };
	const struct go_layout *layout;
	struct elf_section section;
	struct reader r, first;
	uint64_t names_off;

	if (!elf->is_64 || (elf->machine != EM_X86_64 && elf->machine != EM_AARCH64) ||
	    !find_go_table(elf, &section))
		return false;
	r = elf_section_bytes(elf, &section);
	if (!find_go_layout(reader_u32(&r), &go.layout))
		return false;
	reader_u16(&r);
	go.quantum = reader_u8(&r);
	if (reader_u8(&r) != WORD || !go.quantum || !read_go_header(&go, r, &names_off))
		return false;
	layout = &go_layouts[go.layout];
	module.table = section.link_addr;
	module.names = section.link_addr + names_off;
	if (layout->entry != WORD && find_go_module(&module)) {
		go.text = module.words[MODULE_TEXT];
		go.inline_trees = find_go_trees(&go, &module, section.size);
	}
	first = go.functions;
	if (!go.text && !read_go_entry(&go, &first))
		return false;
	*out = go;
	return true;
}

/* A table's place, by its number, among those behind the function's record. */
static uint32_t numbered_table(struct reader r, uint32_t n, uint32_t number)
{
	reader_bytes(&r, 4ull * number);
	return number < n ? reader_u32(&r) : 0;
}

static uint64_t go_tree_of(const struct elf_go *go, struct reader r, uint64_t record_at,
			   uint32_t n_pc_data, uint32_t n_data)
{
	const struct go_layout *layout = &go_layouts[go->layout];
	uint64_t skip = 4ull * n_pc_data, value;

	if (n_data <= INLINED_TREE)
		return 0;
	if (layout->data == WORD) /* aligned */
		skip += (record_at + layout->record + skip) % WORD;
	reader_bytes(&r, skip + (uint64_t)layout->data * INLINED_TREE);
	if (layout->data == WORD)
		return reader_u64(&r);
	value = reader_u32(&r);
	if (r.bad || value == UINT32_MAX || !go->inline_trees)
		return 0;
	return go->inline_trees + value;
}

/* The record, in the table's part `functions`. */
static void read_go_record(const struct elf_go *go, uint64_t at, struct elf_go_function *out)
{
	const struct go_layout *layout = &go_layouts[go->layout];
	struct reader record = go_part(&go->functions, at), r = record, tables = record;
	uint32_t n_pc_data, n_data;

	reader_bytes(&r, layout->entry);
	out->name = reader_u32(&r);
	reader_u64(&r); /* bytes of arguments; a place of deferred calls */
	out->stack = reader_u32(&r);
	out->file_numbers = reader_u32(&r);
	out->lines = reader_u32(&r);
	n_pc_data = reader_u32(&r);
	out->unit = reader_u32(&r);
	if (layout->start_line)
		out->start_line = reader_u32(&r);
	reader_u8(&r); /* kind */
	out->is_outermost = reader_u8(&r) & TOP_FRAME;
	reader_u8(&r);
	n_data = reader_u8(&r);
	reader_bytes(&tables, layout->record);
	if (r.bad || n_pc_data > reader_left(&tables) / 4) {
		out->size = 0;
		return;
	}
	out->inlined = numbered_table(tables, n_pc_data, INLINED_PCDATA);
	out->inline_tree = go_tree_of(go, tables, at, n_pc_data, n_data);
}

bool elf_go_function(const struct elf_go *go, uint32_t i, struct elf_go_function *out)
{
	uint8_t entry = go_layouts[go->layout].entry;
	struct reader r = go_part(&go->functions, 2ull * entry * i);
	uint64_t at, next;

	if (i >= go->n_functions)
		return false;
	*out = (struct elf_go_function){ 0 };
	out->link_addr = read_go_entry(go, &r);
	at = entry == WORD ? reader_u64(&r) : reader_u32(&r);
	next = read_go_entry(go, &r);
	if (r.bad || next <= out->link_addr)
		return true;
	out->size = next - out->link_addr;
	read_go_record(go, at, out);
	return true;
}

const char *elf_go_name(const struct elf_go *go, const struct elf_go_function *f)
{
	return go_text(&go->names, f->name);
}

const char *elf_go_short_name(const struct elf_go *go, const struct elf_go_function *f, size_t size)
{
	return go_text_within(&go->names, f->name, size);
}

void elf_go_begin(const struct elf_go *go, const struct elf_go_function *f, uint32_t place,
		  struct elf_go_steps *steps)
{
	*steps = (struct elf_go_steps){
		.left = go_part(&go->steps, place ? place : UINT64_MAX),
		.size = f->size,
		.value = UINT32_MAX, /* -1 */
		.quantum = go->quantum,
		.is_first = true,
	};
}

bool elf_go_next(struct elf_go_steps *s, struct elf_go_step *out)
{
	uint64_t start = s->at, change = reader_uleb(&s->left);
	uint64_t length = reader_uleb(&s->left);

	/* a change of 0 ends the list, except at its start */
	if (s->left.bad || (!change && !s->is_first) || !length || start >= s->size)
		return false;
	s->is_first = false;
	s->value += (uint32_t)(change >> 1) ^ -(uint32_t)(change & 1);
	s->at = length > s->size / s->quantum ? s->size : MIN(s->size, start + length * s->quantum);
	*out = (struct elf_go_step){ start, s->at, (int32_t)s->value };
	return true;
}

const char *elf_go_file(const struct elf_go *go, const struct elf_go_function *f, int32_t number)
{
	struct reader r;
	uint32_t off;

	if (number < 0)
		return "";
	r = go_part(&go->units, 4 * ((uint64_t)f->unit + (uint32_t)number));
	off = reader_u32(&r);
	return r.bad || off == UINT32_MAX ? "" : go_text(&go->files, off);
}

bool elf_go_inlined(const struct elf_go *go, const struct elf_go_function *f, int32_t number,
		    struct elf_go_inlined *out)
{
	const struct go_layout *layout = &go_layouts[go->layout];
	struct reader entry, r;

	if (number < 0 || !f->inline_tree)
		return false;
	entry = elf_bytes_at(go->elf,
			     f->inline_tree + (uint64_t)layout->inlined * (uint32_t)number);
	if (reader_left(&entry) < layout->inlined)
		return false;
	*out = (struct elf_go_inlined){ 0 };
	r = go_part(&entry, layout->inlined_name);
	out->name = go_text(&go->names, reader_u32(&r));
	r = go_part(&entry, layout->inlined_called);
	out->called = reader_u32(&r);
	r = go_part(&entry, layout->inlined_line);
	out->start_line = layout->inlined_line ? reader_u32(&r) : 0;
	return true;
}

/* ---- the version ---- */

/* The header of .go.buildinfo (debug/buildinfo of Go's library). */
#define BUILDINFO_MAGIC  "\xff Go buildinf:"
#define BUILDINFO_FLAGS  15 /* place of the flags */
#define BUILDINFO_INLINE 2  /* texts follow the header; else it has their addresses */
#define BUILDINFO_TEXTS  32
#define BUILDINFO_PLACE  16
#define VERSION_MAX      32

static struct reader version_text(const struct elf_file *elf, struct reader info, uint8_t flags)
{
	struct reader r = info, text = { 0 };
	uint64_t at, size;

	if (flags & BUILDINFO_INLINE) {
		reader_bytes(&r, BUILDINFO_TEXTS);
		size = reader_uleb(&r);
		text = r;
	} else {
		reader_bytes(&r, BUILDINFO_PLACE);
		r = elf_bytes_at(elf, reader_u64(&r));
		at = reader_u64(&r);
		size = reader_u64(&r);
		text = elf_bytes_at(elf, at);
	}
	if (r.bad || size > VERSION_MAX || reader_left(&text) < size)
		return (struct reader){ 0 };
	text.end = text.at + size;
	return text;
}

/* Of "go1.19.8"; 0: another text. */
static uint32_t parse_version(struct reader text)
{
	static const char prefix[] = "go1.";
	const char *at = reader_bytes(&text, sizeof(prefix) - 1);
	uint32_t minor = 0;

	if (!at || memcmp(at, prefix, sizeof(prefix) - 1) != 0)
		return 0;
	for (uint8_t c; reader_left(&text) && minor < 100; minor = minor * 10 + (c - '0')) {
		c = reader_u8(&text);
		if (c < '0' || c > '9')
			break;
	}
	return minor ? ELF_GO_VERSION(minor) : 0;
}

uint32_t elf_go_version(const struct elf_file *elf)
{
	struct elf_section s;
	struct reader r, info;
	const uint8_t *header;

	if (!elf_section_named(elf, ".go.buildinfo", &s))
		return 0;
	r = info = elf_section_bytes(elf, &s);
	header = reader_bytes(&r, BUILDINFO_FLAGS + 1);
	if (!header || memcmp(header, BUILDINFO_MAGIC, sizeof(BUILDINFO_MAGIC) - 1) != 0)
		return 0;
	return parse_version(version_text(elf, info, header[BUILDINFO_FLAGS]));
}

/* ---- the running goroutine ---- */

#define CODE_SEEN 96 /* bytes of a function */

bool elf_go_find_thread(struct reader code, int32_t *offset)
{
	const uint8_t *at = code.at;
	size_t n = MIN((size_t)reader_left(&code), (size_t)CODE_SEEN);

	for (size_t i = 0; i + 12 <= n; i++, at++) {
		bool is_direct = at[0] == 0x64 && (at[1] & 0xfb) == 0x48 && at[2] == 0x8b &&
				 (at[3] & 0xc7) == 0x04 && at[4] == 0x25;
		bool is_in_register = at[0] == 0x48 && at[1] == 0xc7 && at[2] == 0xc1 &&
				      at[7] == 0x64 && (at[8] & 0xfb) == 0x48 && at[9] == 0x8b &&
				      (at[10] & 0xc7) == 0x01;

		if (!is_direct && !is_in_register)
			continue;
		memcpy(offset, at + (is_direct ? 5 : 3), sizeof(*offset));
		return true;
	}
	return false;
}
