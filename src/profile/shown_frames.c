/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/shown_frames.h"

#include "base/mem.h"
#include "lang/language.h"
#include "lang/place.h"
#include "machine/image.h"
#include "profile/index.h"
#include "profile/query.h"

struct shown {
	struct profile *p;
	struct load_part *part;
	enum shown_frames frames;
	/* By node: the innermost frame of its stack that stays; 0: none. */
	uint32_t *nearest;
	bool *is_go;    /* by node: a function of Go; NULL: there are none, or nobody asked */
	bool *has;      /* by node: its stack has a frame of the kind that is asked for */
	bool *is_waker; /* by node: it is below the mark of a wait, where frames are the waker's */
};

static const struct image *shown_image(const struct shown *s, uint32_t node)
{
	uint32_t image = load_image_of(s->part, s->part->segment->nodes[node].code.image);

	return s->p->images.data[image].image;
}

/* Whether the frame is of CPython's perf trampoline: its callee is the interpreter's loop. */
static bool is_trampoline(const struct shown *s, uint32_t node)
{
	return node && shown_image(s, node)->kind == IMAGE_LANGUAGE &&
	       lang_is_of_trampoline(s->part->segment->nodes[node].code.offset);
}

static bool has_trampolines(const struct shown *s)
{
	for (uint32_t node = 1; node < s->part->segment->n_nodes; node++)
		if (is_trampoline(s, node))
			return true;
	return false;
}

static bool has_languages(const struct segment *segment)
{
	for (uint32_t i = 0; i < segment->n_images; i++)
		if (segment->images[i].kind == IMAGE_LANGUAGE)
			return true;
	return false;
}

/* Whether the native frame around such a frame is the interpreter's loop. */
static bool is_heap_frame(const struct image *image)
{
	return image->kind == IMAGE_LANGUAGE && image->language > LANGUAGE_NONE &&
	       image->language < N_LANGUAGES &&
	       !language_is_on_stack((unsigned int)image->language);
}

/* Whether a frame of a language lies on the native stack. */
static bool is_stack_frame(const struct shown *s, uint32_t node)
{
	const struct image *image = shown_image(s, node);

	return (s->is_go && s->is_go[node]) ||
	       (image->kind == IMAGE_LANGUAGE &&
		language_is_on_stack((unsigned int)image->language));
}

/* The interpreter's code, or what its JIT compiler made. */
static bool may_be_loop(const struct image *image)
{
	return image->kind == IMAGE_FILE || image->kind == IMAGE_JIT;
}

/* Whether a trampoline called this loop. */
static bool is_called_loop(const struct shown *s, uint32_t node, uint32_t parent)
{
	return is_trampoline(s, parent) && !s->is_waker[node] && may_be_loop(shown_image(s, node));
}

/*
 * `both`: leaves out the loop around a frame. Around a frame of the trampoline, this is the code of
 * the interpreter that called it; the loop that it called is left out, too.
 */
static void fold_loop(struct shown *s, uint32_t node, uint32_t parent)
{
	struct load_part *part = s->part;
	uint32_t caller = code_leaf(part, parent);
	bool has_loop = caller && !s->is_waker[node] && is_heap_frame(shown_image(s, node)) &&
			may_be_loop(shown_image(s, caller));

	if (part->shown_leaves)
		part->shown_leaves[node] = code_leaf(part, node);
	part->shown_parents[node] =
		has_loop ? code_leaf(part, load_parent_of(part->segment, caller)) : caller;
}

static bool is_function_of_go(struct shown *s, uint32_t node)
{
	const struct tree_node *at = &s->part->segment->nodes[node];
	uint32_t image = load_image_of(s->part, at->code.image);

	return shown_image(s, node)->kind == IMAGE_FILE &&
	       index_language_of(s->p, image, index_symbol(s->p, image, at->code.offset)) ==
		       LANGUAGE_GO;
}

static void find_functions_of_go(struct shown *s)
{
	uint32_t n = s->part->segment->n_nodes;
	bool *is_go = load_column(n, sizeof(*is_go)), any = false;

	for (uint32_t node = 1; node < n; node++)
		any |= is_go[node] = is_function_of_go(s, node);
	if (any)
		s->is_go = is_go;
	else
		free(is_go);
}

static bool is_language_frame(const struct shown *s, uint32_t node)
{
	return shown_image(s, node)->kind == IMAGE_LANGUAGE || (s->is_go && s->is_go[node]);
}

/* Whether a shown frame called the frame that is left out inside of it, on the native stack. */
static bool is_caller_of(const struct shown *s, uint32_t parent, uint32_t node)
{
	return is_stack_frame(s, node) || (s->is_go && s->is_go[parent] &&
					   image_code_mode(shown_image(s, node)) != CODE_KERNEL);
}

/* `native` and `language`: leaves out frames of the other kind. */
static void choose_frames(struct shown *s, uint32_t node, uint32_t parent)
{
	const struct image *image = shown_image(s, node);
	bool is_mark = image->kind == IMAGE_NAMED;
	bool is_asked = !is_mark && is_language_frame(s, node) == (s->frames == FRAMES_LANGUAGE);

	s->has[node] = s->has[parent] || (is_asked && !s->is_waker[node]);
	s->nearest[node] = is_mark || is_asked || s->is_waker[node] ? node : s->nearest[parent];
	s->part->shown_leaves[node] = s->has[node] ? s->nearest[node] : node;
	/*
	 * An interpreter's loop was executing. But a frame around one that lies on the native stack
	 * has a return address.
	 */
	if (s->part->shown_leaves[node] != node)
		s->part->shown_calls[node] = s->nearest[parent] == parent
						     ? is_caller_of(s, parent, node)
						     : s->part->shown_calls[parent];
	s->part->shown_parents[node] =
		s->has[node] && !s->is_waker[parent] ? s->nearest[parent] : parent;
}

void load_find_shown(struct profile *p, struct load_part *part)
{
	const struct segment *segment = part->segment;
	uint32_t n = segment->n_nodes;
	struct shown s = { .p = p, .part = part, .frames = p->index->query->frames };
	bool folds = s.frames == FRAMES_BOTH;

	if (!folds && p->has_functions)
		find_functions_of_go(&s);
	if (!s.is_go && !has_languages(segment))
		return;
	if (has_trampolines(&s))
		part->code_leaves = load_column(n, sizeof(uint32_t));
	else if (folds && !p->index->request->with_chains)
		return;
	s.is_waker = load_column(n, sizeof(bool));
	s.has = load_column(n, sizeof(bool));
	s.nearest = load_column(n, sizeof(uint32_t));
	part->shown_parents = load_column(n, sizeof(uint32_t));
	if (!folds || part->code_leaves) {
		part->shown_leaves = load_column(n, sizeof(uint32_t));
		part->shown_calls = load_column(n, sizeof(bool));
	}
	for (uint32_t node = 1; node < n; node++) {
		uint32_t parent = load_parent_of(segment, node);

		s.is_waker[node] = s.is_waker[parent] || image_is_wait_mark(shown_image(&s, node));
		if (part->code_leaves)
			part->code_leaves[node] = is_called_loop(&s, node, parent) ? parent : node;
		if (folds)
			fold_loop(&s, node, parent);
		else
			choose_frames(&s, node, parent);
	}
	free(s.is_waker);
	free(s.is_go);
	free(s.has);
	free(s.nearest);
}
