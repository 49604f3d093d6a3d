/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsing of files that strangers made.
 *
 *	assay ── question ──►  child          a row, bytes, and the descriptor of a file
 *	      ◄── wishes ────  child          further files, by kind and name; assay decides
 *	      ◄── answer ────  child          bytes, in a sealed memfd if they are many
 *
 * A *row* is one kind of question: a function that reads a file and writes an answer, and a
 * function that checks the answer. In a process with rights, the first runs in a child that has
 * none (guard/parser_child.h). A bug in it then gives an attacker a process without capabilities,
 * network and files. Elsewhere it runs in this process. Either way, the check comes next, and the
 * caller reads the answer as it reads any file. parser/table.h lists the rows.
 *
 * A child serves one *class* of files: the trusted ones, or those of one user. It ends when it has
 * read a file of another class. So a file can spoil answers about files of its own class alone.
 * Children start at the first question of their class. Any thread may ask.
 *
 * A child that dies or is late costs time. So the files of a user may make PARSER_FAILURES of them
 * fail, and one more every PARSER_FAILURE_MS. Beyond that, questions about his files are refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/reader.h"
#include "guard/limits.h"

struct parser_job {
	const struct file_mapping *file; /* {0}: the question has no file */
	struct reader request;
	struct buf *answer;
	/* Opens another file: parser_open(). NULL: there are no others. */
	int (*open)(struct parser_job *job, const struct buf *wish, struct file_mapping *out);
	void *context; /* of open() */
};

struct parser_row {
	const char *name;
	/* Reads the file. A bad request has an empty answer. */
	void (*run)(struct parser_job *job);
	/* Whether a string of bytes, 8-byte aligned, is an answer that the caller can use. */
	bool (*check)(const void *bytes, size_t size);
	/* Time in which the child was ready, and had no CPU, is added (PARSER_PATIENCE_MS). */
	uint32_t deadline_ms;
	/* Rows of different lanes do not wait for each other: they have different children. */
	uint32_t lane;
};

enum { PARSER_LANE_FRONT, PARSER_LANE_BACK, PARSER_LANE_KEPT };

/*
 * In a row's function: another file that it needs. The caller unmaps it. Returns the result of the
 * question's open(), such as the file's place. A negative errno: it is not there, or not permitted.
 * Any thread of the function may call it.
 */
int parser_open(struct parser_job *job, const struct buf *wish, struct file_mapping *out);

struct parser_question {
	const struct parser_row *row;
	const struct file_mapping *file; /* NULL: none */
	bool is_trusted;                 /* image_file_is_trusted(): its class */
	const struct buf *request;
	/*
	 * In this process: opens the file that a wish names, and says whether it is a trusted one.
	 * Any thread may call it, one at a time. NULL: the row has no wishes.
	 */
	int (*open)(void *context, struct reader *wish, struct file_mapping *out, bool *is_trusted);
	void *context;
	uint32_t deadline_ms; /* 0: the row's */
	bool is_strict;       /* no time is added to the deadline */
};

/* Parts of an answer are read in place, 8-byte aligned. The bytes are the owner's to change. */
struct parser_answer {
	uint8_t *bytes;
	size_t size;
	bool is_mapped;
};
void parser_answer_fini(struct parser_answer *a); /* {0} is fine */

/*
 * 0 and an answer that the row's check accepts. -ETIMEDOUT: the deadline passed. -EPIPE: the child
 * died. -EPROTO: the answer is wrong. -EBUSY: the user's files have made too many children fail.
 * Other errors: no child could be started.
 */
int parser_ask(const struct parser_question *q, struct parser_answer *answer, struct error *err);

/*
 * The same for several questions, in their order. A child reads the next ones while the answer of
 * one is on its way, so that it and this process seldom wait for each other. Each has its own
 * result and its own deadline, which begins when the question before has its result.
 */
struct parser_result {
	int error; /* of parser_ask() */
	struct parser_answer answer;
	struct error why;
};
void parser_ask_all(const struct parser_question *questions, size_t n,
		    struct parser_result *results);

/* The same in this process, of bytes that no stranger has made. */
int parser_ask_here(const struct parser_question *q, struct parser_answer *answer,
		    struct error *err);

/*
 * From now on, questions go to children. One of them may use so many bytes of memory. Call it while
 * there is one thread, before files are mapped.
 */
void parser_use_children(uint64_t memory_bytes);
bool parser_uses_children(void);

/*
 * For a recording: children that read files of strangers may use PARSER_STRANGER_BYTES, and none
 * keeps more than PARSER_KEPT_BYTES. At the same time as parser_use_children().
 */
void parser_be_modest(void);

/* Ends all children, and counts their cost. */
void parser_end_children(void);

/* Ends those that answer no question now; a question starts another. Returns their number. */
uint32_t parser_end_idle(void);

/* The children so far. Waits for questions in progress. */
struct parser_cost {
	uint32_t n_started, n_died, n_late, n_questions, n_refused;
	uint32_t n_running; /* now */
	uint64_t cpu_ns;
	uint64_t peak_bytes; /* of the largest child */
	/* Of those that run, resident without pages of files: parser_cost_so_far() alone has it. */
	uint64_t bytes;
};
struct parser_cost parser_cost(void);

/* The same without waiting: a child that answers a question counts as it was before, but `bytes`.
 */
struct parser_cost parser_cost_so_far(void);
