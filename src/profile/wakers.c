/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/wakers.h"

#include <string.h>

#include "base/buf.h"
#include "profile/context.h"
#include "profile/index.h"
#include "profile/load_part.h"
#include "profile/query.h"

#define NO_WAKER "[none]"
#define BY_IRQ   "[interrupt]"

static uint32_t wakers_parent(const struct segment *s, uint32_t node)
{
	uint32_t parent = s->nodes[node].parent;

	return parent < node ? parent : 0;
}

static const struct image *image_of_node(const struct profile *p, const struct load_part *part,
					 uint32_t node)
{
	uint32_t image = load_image_of(part, part->segment->nodes[node].code.image);

	return p->images.data[image].image;
}

static bool is_waker_mark(const struct image *image)
{
	return image->kind == IMAGE_NAMED &&
	       !strncmp(image->path, IMAGE_WAKER_PREFIX, strlen(IMAGE_WAKER_PREFIX));
}

static bool has_marks(const struct segment *s)
{
	for (uint32_t i = 0; i < s->n_images; i++)
		if (is_waker_mark(&s->images[i]))
			return true;
	return false;
}

bool index_wants_wakers(const struct profile *p)
{
	return key_list_has(&p->class_keys, PROFILE_WAKER) ||
	       key_list_has(&p->class_keys, PROFILE_WAKER_SYMBOL) ||
	       key_list_has(&p->class_keys, PROFILE_WAKER_STACK) ||
	       query_has(p->index->query, FILTER_WAKER);
}

void load_find_wakers(struct profile *p, struct load_part *part)
{
	const struct segment *s = part->segment;

	part->wants_wakers = index_wants_wakers(p);
	if (p->index->request->with_wakers || !has_marks(s))
		return;
	part->waker_marks = load_column(s->n_nodes, sizeof(uint32_t));
	for (uint32_t n = 1; n < s->n_nodes; n++)
		part->waker_marks[n] = is_waker_mark(image_of_node(p, part, n))
					       ? n
					       : part->waker_marks[wakers_parent(s, n)];
}

/* ---- what a waker is ---- */

/* The frames of a waker, outermost first. */
struct waker_frames {
	struct waker_frame {
		uint32_t image;
		uint32_t symbol; /* NO_SYMBOL */
		bool is_kernel;
		const char *name;
	} * data;
	size_t n, cap;
	const char *comm;
};

static const char *frame_name(const struct profile *p, const struct waker_frame *f)
{
	if (f->symbol == NO_SYMBOL)
		return p->images.data[f->image].image->path;
	return symbol_name(p->symbols, p->images.data[f->image].table, f->symbol);
}

static void find_frames(struct profile *p, struct load_part *part, uint32_t node,
			struct waker_frames *out)
{
	const struct segment *s = part->segment;
	uint32_t mark = part->waker_marks[node];

	for (; node != mark && out->n < PROFILE_MAX_DEPTH; node = wakers_parent(s, node)) {
		const struct code_addr *code = &s->nodes[node].code;
		bool is_innermost = wakers_parent(s, node) == mark;
		struct waker_frame f = { .image = load_image_of(part, code->image) };

		f.is_kernel = image_kind_mode(p->images.data[f.image].image->kind) == CODE_KERNEL;
		f.symbol = p->symbols ? index_symbol(p, f.image,
						     code->offset - (!is_innermost && code->offset))
				      : NO_SYMBOL;
		f.name = frame_name(p, &f);
		vec_push(out, f);
	}
	out->comm = image_of_node(p, part, mark)->path + strlen(IMAGE_WAKER_PREFIX);
}

/* An interrupt wakes in the name of the process that it interrupted. */
static bool is_in_interrupt(const struct waker_frames *frames)
{
	bool is_in = false;

	vec_foreach (frames, f) {
		enum context_mark mark = f->is_kernel ? context_mark_of(f->name) : MARK_NONE;

		if (mark == MARK_IRQ || mark == MARK_SOFTIRQ)
			is_in = true;
		else if (mark == MARK_EXIT)
			is_in = false;
	}
	return is_in;
}

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* Kernel functions that wake, whatever the reason is. */
static bool is_of_waking(const char *name)
{
	static const char *const prefixes[] = { "try_to_wake_up",    "wake_up",
						"__wake_up",         "default_wake_function",
						"autoremove_wake_f", "woken_wake_function",
						"swake_up",          "complete" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (begins_with(name, prefixes[i]))
			return true;
	return false;
}

/* The C library's functions say less than their callers. */
static bool is_c_library(const struct image *image)
{
	const char *slash = strrchr(image->path, '/'), *file = slash ? slash + 1 : image->path;

	return begins_with(file, "libc.") || begins_with(file, "libc-") ||
	       begins_with(file, "libpthread") || begins_with(file, "ld-");
}

/* The function that tells most: of the program; else of a library; else of the kernel. */
static const char *telling_function(const struct profile *p, const struct waker_frames *frames,
				    bool is_interrupt)
{
	const char *of_program = NULL, *of_library = NULL, *of_kernel = NULL;

	vec_foreach (frames, f) {
		if (f->is_kernel) {
			if (!is_of_waking(f->name) || !of_kernel)
				of_kernel = f->name;
			continue;
		}
		of_library = f->name;
		if (!is_c_library(p->images.data[f->image].image))
			of_program = f->name;
	}
	if (is_interrupt && of_kernel)
		return of_kernel;
	return of_program ? of_program : of_library ? of_library : of_kernel ? of_kernel : NO_WAKER;
}

static uint32_t add_waker(struct profile *p, const char *comm, const char *symbol,
			  const char *stack)
{
	struct profile_waker w = { .comm = strings_add(&p->waker_texts, comm),
				   .symbol = strings_add(&p->waker_texts, symbol),
				   .stack = strings_add(&p->waker_texts, stack) };

	w.is_taken = query_takes_name(p->index->query, FILTER_WAKER, comm);
	vec_push(&p->wakers, w);
	return (uint32_t)p->wakers.n - 1;
}

static uint32_t make_waker(struct profile *p, struct load_part *part, uint32_t node)
{
	struct waker_frames frames = { 0 };
	struct buf stack = { 0 };
	bool is_interrupt;
	uint32_t waker;

	find_frames(p, part, node, &frames);
	vec_foreach (&frames, f)
		buf_printf(&stack, "%s%s", stack.len ? ";" : "", f->name);
	is_interrupt = is_in_interrupt(&frames);
	waker = add_waker(p, is_interrupt ? BY_IRQ : frames.comm,
			  telling_function(p, &frames, is_interrupt), buf_cstr(&stack));
	buf_fini(&stack);
	vec_fini(&frames);
	return waker;
}

static uint32_t waker_of(struct profile *p, struct load_part *part, uint32_t node)
{
	bool is_new;
	uint32_t *known, waker;

	if (!p->wakers.n)
		add_waker(p, NO_WAKER, NO_WAKER, NO_WAKER);
	if (!node)
		return 0;
	known = intmap_put(&part->waker_of_node, node, &is_new);
	if (!is_new)
		return *known;
	waker = make_waker(p, part, node);
	*intmap_put(&part->waker_of_node, node, NULL) = waker;
	return waker;
}

void load_cut_wakers(struct profile *p, struct load_part *part)
{
	part->row_wakers.n = 0;
	if (!part->waker_marks && !part->wants_wakers)
		return;
	vec_foreach (&part->rows, row) {
		uint32_t mark = part->waker_marks ? part->waker_marks[row->node] : 0;

		if (part->wants_wakers)
			vec_push(&part->row_wakers, waker_of(p, part, mark ? row->node : 0));
		if (mark)
			row->node = wakers_parent(part->segment, mark);
	}
}

uint32_t profile_waker_value(const struct profile *p, enum profile_key key, uint32_t waker)
{
	const struct profile_waker *w = &p->wakers.data[waker];

	return (key == PROFILE_WAKER          ? w->comm
		: key == PROFILE_WAKER_SYMBOL ? w->symbol
					      : w->stack)
		.n;
}

const char *profile_waker_text(const struct profile *p, uint32_t value)
{
	return strings_get(&p->waker_texts, (string_id){ value });
}
