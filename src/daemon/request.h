/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control protocol without its socket: a request is a line with a JSON object, and so is its
 * answer. docs/daemon.md, "Control socket", has it for those who write clients.
 *
 *	{"request":"save","name":"before"}   {"ok":true}
 *	{"request":"sav"}                    {"ok":false,"error":"…"}
 *
 * A refusal has "again":true where the same request can succeed in a moment.
 *
 * The lines come from anybody who may open the socket: whatever is in them, there is an answer.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct buf;

#define REQUEST_LINE_MAX      16384     /* bytes, with the newline */
#define REQUEST_ANSWER_MAX    (2 << 20) /* bytes, with the newline */
#define REQUEST_TEXT_MAX      4096      /* bytes of a text argument */
#define REQUEST_NUMBER_MAX    1000000000
#define REQUEST_MAX_ARGUMENTS 2

enum request_id {
#define REQUEST(name, ...) REQUEST_##name,
#include "daemon/requests.def"
#undef REQUEST
	N_REQUESTS
};

enum request_kind {
	REQUEST_TEXT,   /* 1 to REQUEST_TEXT_MAX bytes, no control characters */
	REQUEST_NUMBER, /* a whole one, 1 to REQUEST_NUMBER_MAX */
};

struct request_argument {
	const char *key; /* NULL: there is none */
	enum request_kind kind;
	bool is_required;
	const char *value;
};

enum request_effect { REQUEST_TELLS, REQUEST_ACTS, REQUEST_CHANGES };

/* One that has arguments, of which none is required, wants at least one. */
struct request_row {
	const char *name;
	enum request_effect effect;
	const char *help;
	struct request_argument arguments[REQUEST_MAX_ARGUMENTS];
};

extern const struct request_row request_rows[N_REQUESTS];

/* NULL: no such request. */
const struct request_row *request_find(const char *name);

/*
 * What does a request: arguments are in `request` and checked against the row; what is to be
 * answered goes into `reply`, which has "ok" already. A negative result is told by err's text, and
 * the reply is dropped. -EAGAIN: the same request can succeed in a moment, and does no harm.
 */
typedef int control_handler(void *context, json_t *request, json_t *reply, struct error *err);

/* Those that are NULL are refused. */
struct control_handlers {
#define REQUEST(name, ...) control_handler *name;
#include "daemon/requests.def"
#undef REQUEST
};

/* The object of a line and its row. *out is the caller's to json_decref(). */
int request_parse(const char *line, size_t len, const struct request_row **row, json_t **out,
		  struct error *err);

/*
 * The arguments of words: key=value, or values alone in the order of the row ("save before").
 * *out is the request, the caller's to json_decref().
 */
int request_from_words(const struct request_row *row, const char *const *words, size_t n,
		       json_t **out, struct error *err);

/* What one did: for the log. `row` and `request` are NULL for a line that is none. */
struct request_outcome {
	const struct request_row *row;
	json_t *request; /* the caller's to json_decref() */
	int result;      /* negative: refused, as the text says */
	struct error err;
};

/* Does what a line asks for, and appends the answer, a line, to `out`. */
void request_answer(const struct control_handlers *handlers, void *context, const char *line,
		    size_t len, struct buf *out, struct request_outcome *outcome);

/* Appends the line of a refusal. */
void request_refuse(struct buf *out, const char *text, bool again);

/* Sets a member to text that may hold any bytes; what is no UTF-8 becomes U+FFFD. */
void request_put_text(json_t *object, const char *key, const char *text);

/*
 * Asks the daemon of a session directory; `argument` is the one of the request, or NULL. *reply is
 * the caller's to json_decref(); NULL where only success counts. Errors are those of client_ask().
 */
int request_send(const char *dir, const char *name, const char *argument, json_t **reply,
		 struct error *err);
