/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks: a line a stack, outermost frame first, then how often it was met.
 *
 *   main;work(int, char);read_[k] 12
 *   nginx-4711/4712;main 7.5
 *
 * A frame may have blanks, and "image`symbol" (as DTrace writes it) or "[image]" says where
 * it is; of the suffixes of Brendan Gregg's stackcollapse scripts _[k] is kernel code, _[i], _[j]
 * and _[w] say nothing that is kept. A first frame "comm-PID" or "comm-PID/TID", as
 * stackcollapse-perf.pl --pid and --tid write, is the process. Counts may have fractions: they
 * are rounded so that what is lost at one line is given at a later one. '#' begins a comment.
 */
#pragma once

#include "foreign/foreign.h"

bool folded_is_stack(struct slice line);
int folded_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts);
