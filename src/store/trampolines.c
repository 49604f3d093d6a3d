/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trampolines.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "lang/language.h"
#include "lang/place.h"
#include "store/needed_nodes.h"
#include "store/segment_file.h"

/* A function of code in memory. */
struct trampoline_code {
	int32_t pid;
	const char *image; /* path */
	uint64_t start, size;
	uint32_t order;   /* code may be replaced by later code */
	const char *name; /* "py::NAME:FILE" */
};

struct trampoline_codes {
	struct trampoline_code *data; /* by process, image, start and order */
	size_t n, cap;
};

static int compare_places(const struct trampoline_code *c, int32_t pid, const char *image,
			  uint64_t start)
{
	int images = strcmp(c->image, image);

	if (c->pid != pid)
		return c->pid < pid ? -1 : 1;
	if (images)
		return images;
	return (c->start > start) - (c->start < start);
}

static int by_place(const void *a, const void *b)
{
	const struct trampoline_code *x = a, *y = b;
	int places = compare_places(x, y->pid, y->image, y->start);

	return places ? places : (x->order > y->order) - (x->order < y->order);
}

static void find_codes(struct segment **segments, uint32_t n, struct trampoline_codes *codes)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct segment *seg = segments[i];

		for (uint32_t k = 0; k < seg->n_symbols; k++) {
			const struct code_symbol *symbol = &seg->symbols[k];
			const struct image *image = symbol->image.n < seg->n_images
							    ? &seg->images[symbol->image.n]
							    : NULL;

			if (image && image->kind == IMAGE_JIT && !symbol->line &&
			    lang_trampoline_name(symbol->name))
				vec_push(codes,
					 (struct trampoline_code){
						 image->pid, image->path, symbol->offset,
						 symbol->size, (uint32_t)codes->n, symbol->name });
		}
	}
	if (codes->n)
		qsort(codes->data, codes->n, sizeof(*codes->data), by_place);
}

/* The last function of the image that begins at or before the byte, or NULL. */
static const struct trampoline_code *last_code(const struct trampoline_codes *codes,
					       const struct image *image, uint64_t byte)
{
	size_t low = 0, high = codes->n;
	const struct trampoline_code *c;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_places(&codes->data[middle], image->pid, image->path, byte) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	c = low ? &codes->data[low - 1] : NULL;
	return c && c->pid == image->pid && !strcmp(c->image, image->path) ? c : NULL;
}

/* The function that holds the byte, or NULL. */
static const struct trampoline_code *find_code(const struct trampoline_codes *codes,
					       const struct image *image, uint64_t byte)
{
	const struct trampoline_code *c = last_code(codes, image, byte);

	return c && byte - c->start < c->size ? c : NULL;
}

/* What a segment got: images by file, and functions by image and name. */
struct placed {
	struct segment *segment;
	struct strings files, functions;
	VEC(uint32_t) images;
	VEC(uint64_t) slots;
};

/* Grows a table by an entry. */
#define ADD_TO_TABLE(f, table, array, count, new)                                  \
	do {                                                                       \
		if ((f)->seg.count == (f)->cap[table]) {                           \
			(f)->cap[table] = (f)->cap[table] * 2 + 16;                \
			(f)->seg.array = xrealloc((f)->seg.array, (f)->cap[table], \
						  sizeof(*(f)->seg.array));        \
		}                                                                  \
		(f)->seg.array[(f)->seg.count++] = (new);                          \
	} while (0)

static const char *keep_text(struct segment_file *f, const char *text)
{
	return arena_strndup(f->arena, text, strlen(text));
}

static uint32_t add_image(struct segment_file *f, const struct image *image)
{
	struct image new = *image;

	new.path = keep_text(f, image->path);
	ADD_TO_TABLE(f, TABLE_IMAGES, images, n_images, new);
	return f->seg.n_images - 1;
}

static void add_symbol(struct segment_file *f, const struct code_symbol *symbol)
{
	struct code_symbol new = *symbol;

	new.name = keep_text(f, symbol->name);
	ADD_TO_TABLE(f, TABLE_SYMBOLS, symbols, n_symbols, new);
}

static uint32_t place_file(struct placed *p, const char *file)
{
	size_t at = strings_add(&p->files, file).n;
	const struct image image = { .kind = IMAGE_LANGUAGE,
				     .language = LANGUAGE_PYTHON,
				     .path = file };

	while (p->images.n <= at)
		vec_push(&p->images, 0);
	if (!p->images.data[at])
		p->images.data[at] = add_image(segment_file_of(p->segment), &image);
	return p->images.data[at];
}

static struct code_addr place_function(struct placed *p, const struct trampoline_code *code)
{
	uint32_t n = lang_trampoline_name(code->name);
	const char *text = code->name + LANG_TRAMPOLINE_PREFIX;
	cleanup(free_at_exit) char *name = xstrndup(text, n);
	struct code_symbol symbol = { .size = LANG_SLOT_SIZE, .name = name };
	size_t at = strings_add(&p->functions, code->name).n;

	symbol.image.n = place_file(p, text + n + 1);
	symbol.offset = lang_slot_of_trampoline(name);
	while (p->slots.n <= at)
		vec_push(&p->slots, UINT64_MAX);
	if (p->slots.data[at] == UINT64_MAX)
		add_symbol(segment_file_of(p->segment), &symbol);
	p->slots.data[at] = symbol.offset;
	return (struct code_addr){ symbol.image, symbol.offset + 1 };
}

/* Nodes that are read later get the new code then. */
static void note_replaced(struct segment_file *f, struct code_addr from, struct code_addr to)
{
	if (f->has_later)
		vec_push(&f->replaced, (struct replaced_code){ from, to });
}

static void sort_replaced(struct segment_file *f)
{
	size_t n = 0;

	if (f->replaced.n)
		qsort(f->replaced.data, f->replaced.n, sizeof(*f->replaced.data),
		      replaced_code_compare);
	for (size_t i = 0; i < f->replaced.n; i++)
		if (!n || replaced_code_compare(&f->replaced.data[n - 1], &f->replaced.data[i]))
			f->replaced.data[n++] = f->replaced.data[i];
	f->replaced.n = n;
}

static void place_nodes(struct segment *segment, const struct trampoline_codes *codes)
{
	struct placed p = { .segment = segment };

	strings_init(&p.files);
	strings_init(&p.functions);
	for (uint32_t i = 1; i < segment->n_nodes; i++) {
		struct tree_node *node = &segment->nodes[i];
		const struct image *image = &segment->images[node->code.image.n];
		const struct trampoline_code *code;
		struct code_addr to;

		/* most are callers, whose call is one byte back */
		if (image->kind != IMAGE_JIT || !node->code.offset)
			continue;
		code = find_code(codes, image, node->code.offset - 1);
		if (!code)
			continue;
		to = place_function(&p, code);
		note_replaced(segment_file_of(segment), node->code, to);
		node->code = to;
	}
	sort_replaced(segment_file_of(segment));
	strings_fini(&p.files);
	strings_fini(&p.functions);
	vec_fini(&p.images);
	vec_fini(&p.slots);
}

static bool has_codes(const struct segment *segment, const struct trampoline_codes *codes)
{
	for (uint32_t i = 0; i < segment->n_images; i++)
		if (segment->images[i].kind == IMAGE_JIT &&
		    last_code(codes, &segment->images[i], UINT64_MAX))
			return true;
	return false;
}

int segments_place_trampolines(struct segment **segments, uint32_t n)
{
	struct trampoline_codes codes = { 0 };
	int r = 0;

	find_codes(segments, n, &codes);
	for (uint32_t i = 0; codes.n && i < n && !r; i++) {
		if (!has_codes(segments[i], &codes))
			continue;
		r = segment_load_nodes(segments[i]);
		if (!r)
			place_nodes(segments[i], &codes);
		segment_drop_nodes(segments[i]);
	}
	vec_fini(&codes);
	return r;
}
