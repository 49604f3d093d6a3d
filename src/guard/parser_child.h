/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A child process that parses (guard/parser.h) and has no rights (guard/sandbox.h).
 *
 * It is a fork of this process, so it has the functions of all rows. It starts with the first
 * question and serves many. If it dies, or takes longer than the deadline, the question fails and
 * the next one starts another child. Any thread may ask; questions wait for each other.
 */
#pragma once

#include "guard/limits.h"
#include "guard/parser.h"

struct parser_child;

struct parser_limits {
	uint64_t memory_bytes; /* that it may use, beside the memory that it starts with */
	uint64_t kept_bytes;   /* it ends after a question that leaves it with more; 0: it stays */
};

struct parser_child *parser_child_new(const struct parser_limits *limits);
void parser_child_free(struct parser_child *p); /* NULL is fine. Ends it. */

/*
 * As parser_ask_all(), of questions of one class, but answers are not checked. Returns how many
 * have their results, at least one: it ends where one fails, or must not share its child. `results`
 * is {0} before.
 */
size_t parser_child_ask_all(struct parser_child *p, const struct parser_question *questions,
			    size_t n, struct parser_result *results);

/* Ends the process. The next question starts another. */
void parser_child_end(struct parser_child *p);

struct parser_cost parser_child_cost(struct parser_child *p);

/* The same, but *out stays as it is while the child answers a question. */
void parser_child_look(struct parser_child *p, struct parser_cost *out);

/* Its resident memory now, also while it answers a question; 0: none runs. */
uint64_t parser_child_bytes(const struct parser_child *p);

/* The same without pages of files, which the kernel can take back. */
uint64_t parser_child_own_bytes(const struct parser_child *p);

/* For tests: the process id; 0: none runs. */
int parser_child_pid(struct parser_child *p);

/* ---- for the starter (guard/parser_starter.h) ---- */

/* In a new process: answers questions from the socket until it closes. Does not return. */
void parser_child_run(uint64_t memory_bytes, int questions, int wishes);

/* Kills a child of this process, and waits for it. */
struct parser_end {
	uint64_t cpu_ns, peak_bytes;
};
void parser_child_reap(pid_t pid, struct parser_end *out);
