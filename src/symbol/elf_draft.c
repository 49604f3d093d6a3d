/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_draft.h"

#include <elf.h>
#include <string.h>

#include "elf/elf_code.h"
#include "elf/elf_functions.h"
#include "elf/elf_go.h"
#include "elf/elf_plt.h"
#include "elf/elf_symbols.h"
#include "elf/elf_trampoline.h"

static int elf_draft_by_link_addr(const void *a, const void *b)
{
	const struct code_segment *x = a, *y = b;

	return (x->link_addr > y->link_addr) - (x->link_addr < y->link_addr);
}

void code_segments_of_image(struct code_segments *out, const struct elf_file *image)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < image->n_segments; i++)
		if (elf_segment(image, i, &s) && s.type == PT_LOAD && (s.flags & PF_X) &&
		    s.file_size)
			vec_push(out,
				 (struct code_segment){ s.link_addr, s.file_size, s.file_off });
	code_segments_sort(out);
}

void data_segments_of_image(struct code_segments *out, const struct elf_file *image)
{
	struct elf_segment s;

	for (uint32_t i = 0; i < image->n_segments; i++)
		if (elf_segment(image, i, &s) && s.type == PT_LOAD && s.mem_size)
			vec_push(out, (struct code_segment){ s.link_addr, s.mem_size, s.file_off });
	code_segments_sort(out);
}

void code_segments_sort(struct code_segments *s)
{
	if (s->n)
		qsort(s->data, s->n, sizeof(*s->data), elf_draft_by_link_addr);
}

void code_segments_fini(struct code_segments *s)
{
	vec_fini(s);
}

/* The segment that holds the address: the last that starts at or below it. */
static const struct code_segment *find_segment(const struct code_segments *s, uint64_t link_addr)
{
	size_t low = 0, high = s->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (s->data[middle].link_addr <= link_addr)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || link_addr - s->data[low - 1].link_addr >= s->data[low - 1].size)
		return NULL;
	return &s->data[low - 1];
}

/* The offset of a link address; false outside of the segments. */
static bool code_offset(const struct code_segments *s, uint64_t link_addr, uint64_t *offset)
{
	const struct code_segment *segment = find_segment(s, link_addr);

	if (!segment)
		return false;
	*offset = segment->offset + (link_addr - segment->link_addr);
	return true;
}

static void elf_draft_add_code(struct index_draft *d, const struct code_segments *s,
			       uint64_t link_addr, uint64_t size)
{
	const struct code_segment *segment = find_segment(s, link_addr);
	uint64_t skip;

	if (!segment || !size)
		return;
	skip = link_addr - segment->link_addr;
	vec_push(&d->code, (struct code_range){
				   .start = segment->offset + skip,
				   .end = segment->offset + skip + MIN(size, segment->size - skip),
			   });
}

void elf_draft_code(struct index_draft *d, const struct elf_file *image,
		    const struct code_segments *s)
{
	struct elf_section section;
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;

	for (uint32_t i = 0; i < image->n_sections; i++)
		if (elf_section(image, i, &section) && (section.flags & wanted) == wanted)
			elf_draft_add_code(d, s, section.link_addr, section.size);
	if (d->code.n)
		return;
	for (size_t i = 0; i < s->n; i++)
		elf_draft_add_code(d, s, s->data[i].link_addr, s->data[i].size);
}

/* ARM's $a, $d, $t, $x and RISC-V's $x… mark the bytes that follow as code or data. */
static bool is_mapping_symbol(const char *name)
{
	return name[0] == '$' && name[1] && strchr("adtx", name[1]) &&
	       (!name[2] || name[2] == '.' || name[1] == 'x');
}

static bool *executable_sections(const struct elf_file *file)
{
	bool *is_code = xcalloc(file->n_sections, sizeof(*is_code));
	struct elf_section section;

	for (uint32_t i = 0; i < file->n_sections; i++)
		is_code[i] = elf_section(file, i, &section) && (section.flags & SHF_EXECINSTR);
	return is_code;
}

static bool is_function(const struct elf_symbol *s, const struct elf_file *file,
			const bool *is_code)
{
	if (!*s->name || s->section == SHN_UNDEF || s->section == SHN_ABS)
		return false;
	if (s->type == STT_FUNC || s->type == STT_GNU_IFUNC)
		return true;
	/* Section numbers from 65,280 on are in another table; the address serves as well. */
	return s->type == STT_NOTYPE && !is_mapping_symbol(s->name) &&
	       (s->section == SHN_XINDEX || (s->section < file->n_sections && is_code[s->section]));
}

static bool is_object(const struct elf_symbol *s)
{
	return *s->name && s->section != SHN_UNDEF && s->section != SHN_ABS &&
	       (s->type == STT_OBJECT || s->type == STT_COMMON);
}

static enum index_draft_binding elf_draft_binding_of(const struct elf_symbol *s)
{
	switch (s->bind) {
	case STB_LOCAL:
		return DRAFT_LOCAL;
	case STB_WEAK:
		return DRAFT_WEAK;
	default:
		return DRAFT_GLOBAL; /* STB_GNU_UNIQUE too */
	}
}

/* memcpy@@GLIBC_2.14 is memcpy. */
static uint32_t length_without_version(const char *name, uint32_t len)
{
	const char *at = len > 1 ? memchr(name + 1, '@', len - 1) : NULL;

	return at ? (uint32_t)(at - name) : len;
}

/* Returns the number of read bytes of the name. */
static uint32_t elf_draft_add_symbol(struct index_draft *d, const struct elf_symbol *symbol,
				     uint64_t offset)
{
	struct index_draft_symbol *added;
	uint32_t len;

	index_draft_add(d, offset, symbol->size, symbol->name,
			index_draft_rank(symbol->type != STT_NOTYPE, elf_draft_binding_of(symbol)));
	added = &d->symbols.data[d->symbols.n - 1];
	len = added->name_len;
	added->name_len = length_without_version(added->name, len);
	return len;
}

/*
 * Linkers share the tails of names. So the names together can be longer than their table, but not
 * many times: a table that names one long string again and again is read no further.
 */
#define MAX_NAME_SHARING 16

/* Adds functions or variables. */
static size_t elf_draft_table(struct index_draft *d, const struct elf_file *file, uint32_t table,
			      const struct code_segments *s, bool of_objects)
{
	bool *is_code = of_objects ? NULL : executable_sections(file);
	size_t before = d->symbols.n;
	struct elf_symbols it;
	struct elf_symbol symbol;
	uint64_t offset, n_bytes = 0;

	if (elf_symbols_begin(&it, file, table)) {
		while (elf_symbols_next(&it, &symbol) &&
		       n_bytes / MAX_NAME_SHARING <= it.names_size) {
			name_units_add(&d->units, &symbol);
			if (!(of_objects ? is_object(&symbol)
					 : is_function(&symbol, file, is_code)) ||
			    !code_offset(s, symbol.link_addr, &offset))
				continue;
			n_bytes += elf_draft_add_symbol(d, &symbol, offset);
		}
	}
	free(is_code);
	return d->symbols.n - before;
}

size_t elf_draft_symbols(struct index_draft *d, const struct elf_file *file, uint32_t table,
			 const struct code_segments *s)
{
	return elf_draft_table(d, file, table, s, false);
}

size_t elf_draft_objects(struct index_draft *d, const struct elf_file *file, uint32_t table,
			 const struct code_segments *s)
{
	return elf_draft_table(d, file, table, s, true);
}

bool elf_draft_go(struct index_draft *d, const struct elf_file *image,
		  const struct code_segments *s)
{
	struct elf_functions others = { 0 };
	size_t before = d->symbols.n;
	uint64_t offset, n_bytes = 0;
	struct elf_go_function f;
	bool is_all;
	struct elf_go go;

	if (!elf_go_open(&go, image))
		return false;
	for (uint32_t i = 0; elf_go_function(&go, i, &f); i++) {
		if (!f.size || !code_offset(s, f.link_addr, &offset))
			continue;
		if (n_bytes / MAX_NAME_SHARING > image->size)
			break;
		index_draft_add(d, offset, f.size, elf_go_name(&go, &f),
				index_draft_rank(true, DRAFT_LOCAL));
		n_bytes += d->symbols.data[d->symbols.n - 1].name_len;
	}
	elf_functions_read(image, &others);
	is_all = d->symbols.n > before && !others.n;
	elf_functions_fini(&others);
	return is_all;
}

void elf_draft_go_code(struct index_draft *d, const struct elf_file *image,
		       const struct code_segments *s)
{
	struct code_range *last = NULL;
	struct elf_go_function f;
	struct elf_go go;
	uint64_t offset;

	if (!elf_go_open(&go, image))
		return;
	for (uint32_t i = 0; elf_go_function(&go, i, &f); i++) {
		if (!f.size || !f.stack || !code_offset(s, f.link_addr, &offset))
			continue;
		if (last && last->end == offset) {
			last->end += MIN(f.size, UINT64_MAX - offset);
			continue;
		}
		vec_push(&d->go,
			 (struct code_range){ offset, offset + MIN(f.size, UINT64_MAX - offset) });
		last = &d->go.data[d->go.n - 1];
	}
}

/* An existing symbol has a better name. */
static void add_trampoline(struct index_draft *d, enum elf_trampoline kind, uint64_t offset,
			   uint64_t size)
{
	index_draft_add(d, offset, size, elf_trampoline_names[kind], UINT8_MAX);
	d->symbols.data[d->symbols.n - 1].is_bound = false;
}

#define MAX_TRAMPOLINES 16 /* of a kind in a range of code; real files have one or two */

/* Callers are looked up one byte before. `offset` belongs to the range's first byte. */
static void add_trampolines(struct index_draft *d, enum elf_trampoline kind,
			    const struct elf_file *image, const struct elf_code_range *range,
			    uint64_t offset)
{
	struct reader code = reader_over(image->base + range->file_off, (size_t)range->size);
	const uint8_t *start = code.at, *found;
	size_t size;

	for (int i = 0; i < MAX_TRAMPOLINES; i++) {
		uint64_t at;

		found = elf_trampoline_find(kind, image->machine, code, &size);
		if (!found)
			return;
		at = (uint64_t)(found - start);
		if (at)
			add_trampoline(d, kind, offset + at - 1, size + 1);
		else
			add_trampoline(d, kind, offset, size);
		code.at = found + size;
	}
}

void elf_draft_nameless(struct index_draft *d, const struct elf_file *image,
			const struct code_segments *s)
{
	struct elf_functions functions = { 0 };
	struct elf_code code = { 0 };
	uint64_t offset;

	elf_functions_read(image, &functions);
	vec_foreach (&functions, f) {
		if (code_offset(s, f->link_addr, &offset))
			vec_push(&d->symbols,
				 (struct index_draft_symbol){ .offset = offset, .size = f->size });
	}
	elf_functions_fini(&functions);
	elf_code_find(image, &code);
	vec_foreach (&code, range) {
		for (int kind = 0; kind < N_ELF_TRAMPOLINES; kind++)
			if (code_offset(s, range->link_addr, &offset))
				add_trampolines(d, (enum elf_trampoline)kind, image, range, offset);
	}
	elf_code_fini(&code);
	d->fill_gaps = true;
}

/* A stub whose function a resolver chooses, and that resolver's best name so far. */
struct chosen_stub {
	uint64_t resolver;
	size_t entry; /* index into the PLT's entries */
	const struct index_draft_symbol *symbol;
};
struct chosen_stubs {
	struct chosen_stub *data;
	size_t n, cap;
};

static int by_resolver(const void *a, const void *b)
{
	const struct chosen_stub *x = a, *y = b;

	return (x->resolver > y->resolver) - (x->resolver < y->resolver);
}

static struct chosen_stub *first_of_resolver(struct chosen_stubs *stubs, uint64_t resolver)
{
	size_t low = 0, high = stubs->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (stubs->data[middle].resolver < resolver)
			low = middle + 1;
		else
			high = middle;
	}
	return &stubs->data[low];
}

/*
 * The symbols at the resolvers' addresses are the functions' names (STT_GNU_IFUNC).
 * The first of the stubs that share a resolver looks for all of them.
 */
static void find_resolvers(const struct index_draft *d, const struct code_segments *s,
			   const struct elf_plt *plt, struct chosen_stubs *out)
{
	uint64_t offset;

	for (size_t i = 0; i < plt->entries.n; i++)
		if (!plt->entries.data[i].name &&
		    code_offset(s, plt->entries.data[i].target, &offset))
			vec_push(out, (struct chosen_stub){ .resolver = offset, .entry = i });
	if (!out->n)
		return;
	qsort(out->data, out->n, sizeof(*out->data), by_resolver);
	for (size_t i = 0; i < d->symbols.n; i++) {
		const struct index_draft_symbol *symbol = &d->symbols.data[i];
		struct chosen_stub *stub = first_of_resolver(out, symbol->offset);

		if (stub < out->data + out->n && stub->resolver == symbol->offset && symbol->name &&
		    (!stub->symbol || index_draft_is_better(symbol, stub->symbol)))
			stub->symbol = symbol;
	}
	for (size_t i = 1; i < out->n; i++)
		if (out->data[i].resolver == out->data[i - 1].resolver)
			out->data[i].symbol = out->data[i - 1].symbol;
}

#define MAX_STUB_NAME 4096

static void add_stub(struct index_draft *d, uint64_t offset, uint64_t size, const char *name,
		     size_t len, struct arena *names)
{
	char text[MAX_STUB_NAME + sizeof("@plt")];

	len = MIN(len, (size_t)MAX_STUB_NAME);
	memcpy(text, name, len);
	memcpy(text + len, "@plt", sizeof("@plt"));
	index_draft_add(d, offset, size, arena_strndup(names, text, len + 4), 0);
	d->symbols.data[d->symbols.n - 1].is_bound = false;
}

void elf_draft_plt(struct index_draft *d, const struct elf_file *image,
		   const struct code_segments *s, struct arena *names)
{
	struct chosen_stubs chosen = { 0 };
	struct elf_plt plt = { 0 };
	uint64_t offset;

	elf_plt_read(image, &plt);
	/* `chosen` points at symbols, which must not move from here on. */
	vec_reserve(&d->symbols, d->symbols.n + plt.entries.n + plt.sections.n);
	find_resolvers(d, s, &plt, &chosen);
	vec_foreach (&chosen, stub) {
		const struct elf_plt_entry *e = &plt.entries.data[stub->entry];

		if (stub->symbol && code_offset(s, e->link_addr, &offset))
			add_stub(d, offset, e->size, stub->symbol->name, stub->symbol->name_len,
				 names);
	}
	vec_foreach (&plt.entries, e) {
		if (e->name && code_offset(s, e->link_addr, &offset))
			add_stub(d, offset, e->size, e->name, strnlen(e->name, MAX_STUB_NAME),
				 names);
	}
	vec_foreach (&plt.sections, section) {
		if (!code_offset(s, section->link_addr, &offset))
			continue;
		index_draft_add(d, offset, section->size, ".plt", UINT8_MAX);
		d->symbols.data[d->symbols.n - 1].is_bound = false;
	}
	vec_fini(&chosen);
	elf_plt_fini(&plt);
}
