/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runtimes whose code has its stack elsewhere than call frame information says: Go, OCaml and
 * Haskell. Inside unwind/.
 */
#pragma once

#include "unwind/build_state.h"

/* Finds Go's functions that switch to another stack. */
void builder_find_switches(struct builder *b);

/* Fills in `changes` and its rule, if the function at the cover's address changes stacks. */
void builder_set_changes(const struct builder *b, struct cover *c);

/*
 * Whether a function of Go's table has no caller. `sigtramp` has a mark for that, but returns to
 * the code that a signal has interrupted.
 */
bool builder_is_outermost(const struct builder *b, const struct elf_go_function *f);

/* OCaml: rules that count from rbx may be on any stack. */
void builder_free_registers(struct builder *b);

/* Haskell: GHC's code has its stack in the heap, at rbp, and call frame information only with -g.
 */
bool builder_is_of_ghc(const struct builder *b);
void builder_mark_heap_stacks(struct builder *b);

static const struct unwind_rule on_heap_stack = { .cfa = UNWIND_CFA_ELSEWHERE };
