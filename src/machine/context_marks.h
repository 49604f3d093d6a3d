/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's functions by which a call chain shows interrupts (profile/context.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * What a kernel function in a call chain means. EXIT: it runs after an interrupt, for the process
 * that comes back; its callees are no longer the interrupt's.
 */
enum context_mark { MARK_NONE, MARK_IRQ, MARK_SOFTIRQ, MARK_IDLE, MARK_EXIT };

/* By its name, with or without what compilers append (".part.0"); of x86-64 and AArch64. */
enum context_mark context_mark_of(const char *function);

/* A quick look at many names, which rules out most of them by their first characters. */
#define CONTEXT_MARK_CHARS 4
#define CONTEXT_MARK_BITS  4096

struct context_marks {
	uint8_t begins[CONTEXT_MARK_BITS / 8]; /* by a hash of these characters */
};

void context_marks_begin(struct context_marks *m);

/* The name has at least CONTEXT_MARK_CHARS characters, and needs no end. */
bool context_may_be_mark(const struct context_marks *m, const char *name);
