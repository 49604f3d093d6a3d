/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The place of cut stacks in the profile's tree. Inside profile/.
 *
 * A stack whose callers are not known has [cut] as its outermost frame (IMAGE_CUT_PATH). But the
 * root of these callers is known, if the other stacks of such threads have the same one:
 *
 *     whole stack    main called by _start              _start
 *     cut stack      f called by [cut]                    ├─ main
 *                                                         └─ [cut]
 *                                                              └─ f
 *
 * Such threads are a kind: the first threads of a program, or its others. The root of a kind is a
 * function of user code that more than half of its whole stacks begin in. Without one, [cut] is a
 * root. The dynamic loader runs before a program, so first threads have no root there.
 *
 * Whole stacks may come later than cut ones. So cut stacks hang below a holder until all is loaded:
 * a node for each kind, which is in no index. cut_roots_hang() replaces the holders.
 */
#pragma once

#include "profile/load_part.h"

struct cut_roots;

/* NULL: the profile has no stacks that were cut, or no callers. Frees all of it; NULL is fine. */
struct cut_roots *cut_roots_new(const struct profile *p);
void cut_roots_free(struct cut_roots *roots);

/* Sets the part's columns of cut stacks, after those of shown frames. */
void cut_roots_prepare(struct profile *p, struct load_part *part);

/* The kind of thread that a row with a cut stack is of; 0: the stack is whole, or has no kind. */
uint32_t cut_roots_kind(const struct load_part *part, const struct count_row *row);

/* Takes note of the root of a row with a whole stack. */
void cut_roots_note(struct load_part *part, const struct count_row *row);

/* The holder of a kind's cut stacks, which is added if it is new; 0 for kind 0. */
uint32_t cut_roots_holder(struct profile *p, uint32_t kind);

/* Hangs the cut stacks below their roots. Nodes and entries get other numbers. */
void cut_roots_hang(struct profile *p, struct load_part *parts);

/* The number that a node has now. */
uint32_t cut_roots_node(const struct profile *p, uint32_t node);
