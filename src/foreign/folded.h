/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Folded stacks. Each line has a stack, its outermost frame first, and then its count.
 *
 *   main;work(int, char);read_[k] 12
 *   nginx-4711/4712;main 7.5
 *
 * A frame may have blanks. "image`symbol" (of DTrace) and "[image]" name its image. Brendan Gregg's
 * stackcollapse scripts append suffixes: _[k] marks kernel code; _[i], _[j] and _[w] are dropped. A
 * first frame "comm-PID" or "comm-PID/TID" is the process (stackcollapse-perf.pl --pid and --tid).
 * Counts may have fractions. They are rounded, and a later line gets the rest of an earlier one.
 * '#' begins a comment.
 */
#pragma once

#include "foreign/foreign.h"

bool folded_is_stack(struct slice line);
int folded_read(struct slice text, struct foreign_sink *sink, struct foreign_facts *facts);
