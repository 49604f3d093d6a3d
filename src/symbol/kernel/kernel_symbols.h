/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of the running kernel, or of one of its modules, of /proc/kallsyms.
 *
 * Making such an index takes some 25 MiB of memory. So a process that is to stay small has a row of
 * the parser make it (guard/parser.h), from a copy of the list:
 *
 *	question: struct kernel_symbols_question
 *	answer:   struct kernel_symbols_head, and an index block (symbol/index.h) with a result of 0
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/proc_modules.h"
#include "guard/parser.h"
#include "symbol/index.h"

struct kallsyms;
struct symbol_span;
struct symbol_table;
struct symbolizer;

#define EVERY_MODULE (-1)

/*
 * Adds symbols of a list to a draft: those of a module (0: the kernel's own) at base … base + span.
 * The list has no sizes: each symbol, of code or of data, ends the one before it.
 */
void draft_symbols_of(struct index_draft *d, const struct kallsyms *k, struct symbol_span among,
		      int module, uint64_t base, uint64_t span);
void draft_kernel_symbols(struct index_draft *d, const struct kallsyms *k, int module,
			  uint64_t base, uint64_t span);

/* Why there is no index. */
enum kernel_symbols_result {
	KERNEL_SYMBOLS_FOUND,
	KERNEL_SYMBOLS_HIDDEN,    /* all addresses are 0 */
	KERNEL_SYMBOLS_NO_TEXT,   /* the list has no _text */
	KERNEL_SYMBOLS_NO_MODULE, /* it is not loaded */
	N_KERNEL_SYMBOLS_RESULTS
};

struct kernel_symbols_question {
	uint64_t base, span;           /* of a module; the kernel's own begin at _text */
	char module[PROC_MODULE_NAME]; /* "": the kernel itself */
};

struct kernel_symbols_head {
	uint32_t result; /* enum kernel_symbols_result */
	uint32_t pad;
};

extern const struct parser_row kernel_symbols_row;

/* False: it is no answer of the row. *block: NULL without an index. */
bool kernel_symbols_read(enum kernel_symbols_result *result, const void **block, size_t *block_size,
			 const void *bytes, size_t size);

/*
 * Has the parser make the table. KERNEL_SYMBOLS_FOUND: it has an index. A negative errno: the list
 * or the parser fails, and the table says so.
 */
int ask_kernel_symbols(struct symbolizer *s, struct symbol_table *t,
		       const struct kernel_symbols_question *question);
