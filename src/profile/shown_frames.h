/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which frames of a stack are shown, by query->frames. Inside profile/.
 *
 *     stack (innermost first)        both        native      language
 *     list_sort                      list_sort   list_sort
 *     outer               app.py     outer                   outer
 *     <module>            app.py     <module>                <module>
 *     _PyEval_EvalFrameDefault                   _PyEv…
 *     main                           main        main
 *
 * The interpreter's loop is the native frame around frames of a language that keeps its frames in
 * the heap (collect/bpf/language.h). A sample whose innermost frame is not shown counts at the next
 * frame that is. A stack without any frame of the kind that is asked for stays whole, so all
 * samples are shown, whatever the choice. Frames of marks, such as [cut], always stay.
 *
 * Filters and contexts look at whole stacks.
 */
#pragma once

#include "profile/load_part.h"

/* Sets part->shown_leaves, part->shown_calls and part->shown_parents. They stay NULL where all
 * frames are shown. */
void load_find_shown(struct profile *p, struct load_part *part);

/* The frame at which a sample counts that has `node` as its innermost frame. */
static inline uint32_t shown_leaf(const struct load_part *part, uint32_t node)
{
	return part->shown_leaves ? part->shown_leaves[node] : node;
}

/*
 * The frame that filters of code go by. It is `node` but for the interpreter's loop that CPython's
 * perf trampoline called: there, the frame of the trampoline has the function that ran.
 */
static inline uint32_t code_leaf(const struct load_part *part, uint32_t node)
{
	return part->code_leaves ? part->code_leaves[node] : node;
}

/* Whether that frame was calling, and not executing: then its address is a return address. */
static inline bool shown_leaf_calls(const struct load_part *part, uint32_t node)
{
	return part->shown_calls && part->shown_calls[node];
}

/* The caller that is shown for a frame that is shown; 0: none. */
static inline uint32_t shown_parent(const struct load_part *part, uint32_t node)
{
	return part->shown_parents ? part->shown_parents[node]
				   : load_parent_of(part->segment, node);
}
