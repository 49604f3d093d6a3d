/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/wakers.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "base/buf.h"
#include "profile/accesses.h"
#include "profile/context.h"
#include "profile/index.h"
#include "profile/labels.h"
#include "profile/load_part.h"
#include "profile/query.h"
#include "profile/wait_reasons.h"
#include "store/session.h"

#define NO_WAKER "[none]"
#define BY_IRQ   "[interrupt]"
#define UNKNOWN  "[unknown]"

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

static bool begins_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* What follows the prefix in a mark's image; NULL: it is no such mark. */
static const char *mark_name(const struct image *image, const char *prefix)
{
	return image->kind == IMAGE_NAMED && begins_with(image->path, prefix)
		       ? image->path + strlen(prefix)
		       : NULL;
}

/* Whether a mark is cut off. The report may show wakers as callers. */
static bool is_cut(const struct profile *p, const struct image *image)
{
	return image_is_access_mark(image) || image_is_latency_mark(image) ||
	       image_is_label_mark(image) ||
	       (image_is_wait_mark(image) && !p->index->request->with_wakers);
}

static bool has_marks(const struct profile *p, const struct segment *s)
{
	for (uint32_t i = 0; i < s->n_images; i++)
		if (is_cut(p, &s->images[i]))
			return true;
	return false;
}

/* The keys of waits and accesses, with their filters and their place in the facts. */
#define NO_FILTER N_FILTERS
static const struct {
	enum profile_key key;
	enum filter_tag filter;
	size_t offset;
} waker_facts[] = {
	{ PROFILE_WAKER, FILTER_WAKER, offsetof(struct profile_waker, comm) },
	{ PROFILE_WAKER_SYMBOL, NO_FILTER, offsetof(struct profile_waker, symbol) },
	{ PROFILE_WAKER_STACK, NO_FILTER, offsetof(struct profile_waker, stack) },
	{ PROFILE_REASON, FILTER_REASON, offsetof(struct profile_waker, reason) },
	{ PROFILE_OWNER, FILTER_OWNER, offsetof(struct profile_waker, owner) },
	{ PROFILE_DEVICE, FILTER_DEVICE, offsetof(struct profile_waker, device) },
	{ PROFILE_MEM, FILTER_MEM, offsetof(struct profile_waker, mem) },
	{ PROFILE_TLB, FILTER_TLB, offsetof(struct profile_waker, tlb) },
	{ PROFILE_SNOOP, FILTER_SNOOP, offsetof(struct profile_waker, snoop) },
	{ PROFILE_DATA_SYMBOL, FILTER_DATA_SYMBOL, offsetof(struct profile_waker, data_symbol) },
	{ PROFILE_DATA_IMAGE, FILTER_DATA_IMAGE, offsetof(struct profile_waker, data_image) },
	{ PROFILE_TRACE, FILTER_TRACE, offsetof(struct profile_waker, trace) },
	{ PROFILE_SPAN, FILTER_SPAN, offsetof(struct profile_waker, span) },
	{ PROFILE_LABEL, FILTER_LABEL, offsetof(struct profile_waker, label) },
};

static string_id waker_fact(const struct profile_waker *w, size_t i)
{
	return *(const string_id *)((const char *)w + waker_facts[i].offset);
}

bool wakers_are_wanted(const struct key_list *keys, const struct query *query)
{
	for (size_t i = 0; i < ARRAY_SIZE(waker_facts); i++)
		if (key_list_has(keys, waker_facts[i].key) ||
		    (waker_facts[i].filter != NO_FILTER && query_has(query, waker_facts[i].filter)))
			return true;
	return false;
}

bool index_wants_wakers(const struct profile *p)
{
	return wakers_are_wanted(&p->class_keys, p->index->query);
}

void load_find_wakers(struct profile *p, struct load_part *part)
{
	const struct segment *s = part->segment;

	part->wants_wakers = index_wants_wakers(p);
	if (!has_marks(p, s))
		return;
	part->waker_marks = load_column(s->n_nodes, sizeof(uint32_t));
	for (uint32_t n = 1; n < s->n_nodes; n++) {
		uint32_t outer = part->waker_marks[wakers_parent(s, n)];

		part->waker_marks[n] = outer ? outer : is_cut(p, image_of_node(p, part, n)) ? n : 0;
	}
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
	const char *comm;           /* NULL: nobody woke it yet, or it is not known */
	const char *owner, *device; /* NULL: not known */
};

static const char *frame_name(const struct profile *p, const struct waker_frame *f)
{
	if (f->symbol == NO_SYMBOL)
		return p->images.data[f->image].image->path;
	return symbol_name(p->symbols, p->images.data[f->image].table, f->symbol);
}

/* A function of the segment's node; `is_innermost`: of the place itself, not of a call. */
static struct waker_frame frame_of_node(struct profile *p, struct load_part *part, uint32_t node,
					bool is_innermost)
{
	const struct code_addr *code = &part->segment->nodes[node].code;
	struct waker_frame f = { .image = load_image_of(part, code->image) };

	f.is_kernel = image_code_mode(p->images.data[f.image].image) == CODE_KERNEL;
	f.symbol = p->symbols ? index_symbol(p, f.image,
					     code->offset - (!is_innermost && code->offset))
			      : NO_SYMBOL;
	f.name = frame_name(p, &f);
	return f;
}

/* The frames of the waker, and the facts of the marks; `mark` is the outermost one. */
static void find_frames(struct profile *p, struct load_part *part, uint32_t node, uint32_t mark,
			struct waker_frames *out)
{
	const struct segment *s = part->segment;
	bool is_inside = false;

	for (; node >= mark && out->n < PROFILE_MAX_DEPTH; node = wakers_parent(s, node)) {
		const struct image *image = image_of_node(p, part, node);
		uint32_t outer = wakers_parent(s, node);

		is_inside |= mark_name(image, IMAGE_WAKER_PREFIX) != NULL;
		if (mark_name(image, IMAGE_WAKER_PREFIX))
			out->comm = mark_name(image, IMAGE_WAKER_PREFIX);
		else if (mark_name(image, IMAGE_OWNER_PREFIX))
			out->owner = mark_name(image, IMAGE_OWNER_PREFIX);
		else if (mark_name(image, IMAGE_DEVICE_PREFIX))
			out->device = mark_name(image, IMAGE_DEVICE_PREFIX);
		else if (!is_inside)
			vec_push(out, frame_of_node(p, part, node,
						    mark_name(image_of_node(p, part, outer),
							      IMAGE_WAKER_PREFIX) != NULL));
	}
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
		if (!image_is_c_library(p->images.data[f->image].image))
			of_program = f->name;
	}
	if (is_interrupt && of_kernel)
		return of_kernel;
	return of_program ? of_program : of_library ? of_library : of_kernel ? of_kernel : NO_WAKER;
}

/* ---- why a thread waits ---- */

/* How far the event decides; the numbers are part of a key. */
enum wait_kind { NO_WAIT, WAIT_BY_STACK, WAIT_FOR_CPU, WAIT_IN_STOP, WAIT_FOR_KERNEL_LOCK };

static enum wait_kind kind_of_counter(const struct profile *p, uint32_t counter)
{
	const struct counter_info *c;

	if (counter >= p->session->info.n_counters)
		return NO_WAIT;
	c = &p->session->info.counters[counter];
	if (!counter_is_wait(c))
		return NO_WAIT;
	return !strcmp(c->name, KERNEL_LOCK_EVENT)          ? WAIT_FOR_KERNEL_LOCK
	       : !strcmp(c->name, OFF_CPU_EVENTS "ready")   ? WAIT_FOR_CPU
	       : !strcmp(c->name, OFF_CPU_EVENTS "stopped") ? WAIT_IN_STOP
							    : WAIT_BY_STACK;
}

/* Of the innermost kernel function that has a reason; `node` is the wait's innermost. */
static enum wait_reason reason_by_stack(struct profile *p, struct load_part *part, uint32_t node)
{
	enum wait_reason reason = REASON_TO_WAIT_UNKNOWN;
	bool is_innermost = true;

	for (; node; node = wakers_parent(part->segment, node), is_innermost = false) {
		struct waker_frame f = frame_of_node(p, part, node, is_innermost);

		if (!f.is_kernel)
			break;
		if (f.symbol == NO_SYMBOL)
			continue;
		reason = wait_reason_of(f.name);
		if (reason != REASON_TO_WAIT_OTHER)
			break;
	}
	return reason;
}

/* The same of a profile's node. */
static enum wait_reason reason_by_functions(const struct profile *p, uint32_t node)
{
	enum wait_reason reason = REASON_TO_WAIT_UNKNOWN;

	for (; p->nodes.data[node].depth; node = p->nodes.data[node].parent) {
		const struct profile_function *f = &p->functions.data[p->nodes.data[node].function];
		const struct profile_image *image = &p->images.data[f->image];

		if (image_code_mode(image->image) != CODE_KERNEL)
			break;
		if (f->symbol == NO_SYMBOL)
			continue;
		reason = wait_reason_of(symbol_name(p->symbols, image->table, f->symbol));
		if (reason != REASON_TO_WAIT_OTHER)
			break;
	}
	return reason;
}

/* `by_stack`: what the stack says. */
static enum wait_reason reason_of_kind(enum wait_kind kind, enum wait_reason by_stack)
{
	static const enum wait_reason by_event[] = {
		[NO_WAIT] = REASON_TO_WAIT_NONE,
		[WAIT_FOR_CPU] = REASON_TO_WAIT_CPU,
		[WAIT_IN_STOP] = REASON_TO_WAIT_STOPPED,
		[WAIT_FOR_KERNEL_LOCK] = REASON_TO_WAIT_KERNEL_LOCK,
	};

	if (kind == WAIT_BY_STACK)
		return by_stack;
	/* an idle kernel thread has the state of a stopped one */
	return kind == WAIT_IN_STOP && by_stack == REASON_TO_WAIT_KERNEL_THREAD ? by_stack
										: by_event[kind];
}

static bool is_by_stack(enum wait_kind kind)
{
	return kind == WAIT_BY_STACK || kind == WAIT_IN_STOP;
}

enum wait_reason profile_wait_reason(const struct profile *p, uint32_t counter, uint32_t node)
{
	enum wait_kind kind = kind_of_counter(p, counter);

	return reason_of_kind(kind, is_by_stack(kind) ? reason_by_functions(p, node)
						      : REASON_TO_WAIT_OTHER);
}

/* ---- facts of waits ---- */

/* The fact, or why it is missing. */
static const char *fact_or(const char *fact, bool is_expected)
{
	return fact ? fact : is_expected ? UNKNOWN : NO_WAKER;
}

static bool takes_facts(const struct profile *p, const struct profile_waker *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(waker_facts); i++)
		if (waker_facts[i].filter != NO_FILTER && waker_facts[i].filter != FILTER_LABEL &&
		    !query_takes_name(p->index->query, waker_facts[i].filter,
				      strings_get(&p->waker_texts, waker_fact(w, i))))
			return false;
	return w->is_label_taken;
}

static uint32_t add_facts(struct profile *p, struct profile_waker w)
{
	w.is_taken = takes_facts(p, &w);
	vec_push(&p->wakers, w);
	return (uint32_t)p->wakers.n - 1;
}

static struct profile_waker no_facts(struct profile *p)
{
	string_id none = strings_add(&p->waker_texts, NO_WAKER);

	return (struct profile_waker){ .is_label_taken = query_takes_name(p->index->query,
									  FILTER_LABEL, NO_WAKER),
				       .comm = none,
				       .symbol = none,
				       .stack = none,
				       .reason = none,
				       .owner = none,
				       .device = none,
				       .mem = none,
				       .tlb = none,
				       .snoop = none,
				       .data_symbol = none,
				       .data_image = none,
				       .trace = none,
				       .span = none,
				       .label = none,
				       .labels = none };
}

static uint32_t add_access(struct profile *p, const struct load_part *part, uint32_t node,
			   uint32_t mark)
{
	struct profile_waker w = no_facts(p);

	access_describe(p, part, node, mark, &w);
	return add_facts(p, w);
}

static uint32_t add_labels(struct profile *p, const struct load_part *part, uint32_t node,
			   uint32_t mark)
{
	struct profile_waker w = no_facts(p);

	labels_describe(p, part, node, mark, &w);
	return add_facts(p, w);
}

static uint32_t add_waker(struct profile *p, const struct waker_frames *frames,
			  enum wait_reason reason)
{
	bool is_interrupt = is_in_interrupt(frames);
	struct strings *texts = &p->waker_texts;
	struct profile_waker w = no_facts(p);
	struct buf stack = { 0 };

	vec_foreach (frames, f)
		buf_printf(&stack, "%s%s", stack.len ? ";" : "", f->name);
	w.comm = strings_add(texts, is_interrupt ? BY_IRQ : fact_or(frames->comm, false));
	w.symbol = strings_add(texts, telling_function(p, frames, is_interrupt));
	w.stack = strings_add(texts, stack.len ? buf_cstr(&stack) : NO_WAKER);
	w.reason = strings_add(texts, wait_reason_names[reason]);
	w.owner = strings_add(texts, fact_or(frames->owner, reason == REASON_TO_WAIT_FUTEX));
	w.device = strings_add(texts, fact_or(frames->device, reason == REASON_TO_WAIT_BLOCK_IO));
	buf_fini(&stack);
	return add_facts(p, w);
}

/* The facts of a row that has marks, or is a wait. */
static uint32_t waker_of(struct profile *p, struct load_part *part, uint32_t node, uint32_t mark,
			 enum wait_kind kind)
{
	struct waker_frames frames = { 0 };
	uint32_t outer = mark ? wakers_parent(part->segment, mark) : node;
	uint64_t key = (uint64_t)node << 8 | (uint64_t)kind;
	uint32_t *known, waker;
	bool is_new;

	if (!p->wakers.n)
		add_facts(p, no_facts(p));
	if (!mark && kind == NO_WAIT)
		return 0;
	known = intmap_put(&part->waker_of_node, key, &is_new);
	if (!is_new)
		return *known;
	if (mark && image_is_label_mark(image_of_node(p, part, mark)))
		return *intmap_put(&part->waker_of_node, key, NULL) =
			       add_labels(p, part, node, mark);
	if (mark && image_is_access_mark(image_of_node(p, part, mark)))
		return *intmap_put(&part->waker_of_node, key, NULL) =
			       add_access(p, part, node, mark);
	if (mark)
		find_frames(p, part, node, mark, &frames);
	waker = add_waker(p, &frames,
			  reason_of_kind(kind, is_by_stack(kind) ? reason_by_stack(p, part, outer)
								 : REASON_TO_WAIT_OTHER));
	vec_fini(&frames);
	*intmap_put(&part->waker_of_node, key, NULL) = waker;
	return waker;
}

/* Cuts the mark of the latency off the row, and makes its events latencies if they count. */
static void load_cut_latency(const struct profile *p, const struct load_part *part,
			     struct count_row *row)
{
	bool has = part->waker_marks && part->waker_marks[row->node] &&
		   image_is_latency_mark(image_of_node(p, part, row->node));
	uint64_t latency = has ? part->segment->nodes[row->node].code.offset : 0;

	if (p->index->request->latency_weight &&
	    __builtin_mul_overflow(row->samples, latency, &row->period))
		row->period = UINT64_MAX;
	if (has)
		row->node = wakers_parent(part->segment, row->node);
}

void load_cut_wakers(struct profile *p, struct load_part *part)
{
	part->row_wakers.n = 0;
	if (!part->waker_marks && !part->wants_wakers && !p->index->request->latency_weight)
		return;
	vec_foreach (&part->rows, row) {
		uint32_t mark;

		load_cut_latency(p, part, row);
		mark = part->waker_marks ? part->waker_marks[row->node] : 0;

		if (part->wants_wakers)
			vec_push(&part->row_wakers,
				 waker_of(p, part, row->node, mark,
					  kind_of_counter(p, part->segment->classes[row->class]
								     .counter)));
		if (mark)
			row->node = wakers_parent(part->segment, mark);
	}
}

uint32_t profile_waker_value(const struct profile *p, enum profile_key key, uint32_t waker)
{
	size_t i = 0;

	while (i + 1 < ARRAY_SIZE(waker_facts) && waker_facts[i].key != key)
		i++;
	assert(waker_facts[i].key == key);
	return waker_fact(&p->wakers.data[waker], i).n;
}

const char *profile_waker_text(const struct profile *p, uint32_t value)
{
	return strings_get(&p->waker_texts, (string_id){ value });
}
