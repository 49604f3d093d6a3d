/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control protocol without its socket. A request is a line with a JSON object, and so is the
 * answer. docs/daemon.md, "Control socket", describes it for authors of clients.
 *
 * 	{"request":"save","name":"before"}   {"ok":true}
 * 	{"request":"sav"}                    {"ok":false,"error":"…"}
 *
 * A refusal has "again":true if the same request can succeed in a moment.
 *
 * Lines come from everybody who may open the socket, and may contain anything; each line gets an
 * answer.
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
#define REQUEST_MAX_ARGUMENTS 4

enum request_id {
#define REQUEST(name, ...) REQUEST_##name,
#include "daemon/requests.def"
#undef REQUEST
	N_REQUESTS
};

enum request_kind {
	REQUEST_TEXT,   /* 1 to REQUEST_TEXT_MAX bytes, no control characters */
	REQUEST_NUMBER, /* a whole number, 1 to REQUEST_NUMBER_MAX */
};

struct request_argument {
	const char *key; /* NULL: no argument */
	enum request_kind kind;
	bool is_required;
	const char *value;
};

enum request_effect { REQUEST_TELLS, REQUEST_ACTS, REQUEST_CHANGES };

/* If a request has arguments and none is required, at least one must be given. */
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
 * Handles a request. Its arguments are in `request` and match the row. The handler adds the answer
 * to `reply`, which has "ok" already. On a negative result, err's text is the answer and `reply` is
 * dropped. -EAGAIN: the same request can succeed in a moment, and can be repeated safely.
 */
typedef int control_handler(void *context, json_t *request, json_t *reply, struct error *err);

/* A NULL handler refuses its request. */
struct control_handlers {
#define REQUEST(name, ...) control_handler *name;
#include "daemon/requests.def"
#undef REQUEST
};

/*
 * Makes a request from words: key=value, or values alone in the order of the row ("save before").
 * The caller calls json_decref() on *out.
 */
int request_from_words(const struct request_row *row, const char *const *words, size_t n,
		       json_t **out, struct error *err);

/* The result of a request, for the log. `row` and `request` are NULL for an invalid line. */
struct request_outcome {
	const struct request_row *row;
	json_t *request; /* the caller calls json_decref() */
	int result;      /* negative: refused; err has the reason */
	struct error err;
};

/* Handles the request of a line and appends the answer to `out` as a line. */
void request_answer(const struct control_handlers *handlers, void *context, const char *line,
		    size_t len, struct buf *out, struct request_outcome *outcome);

/* Appends a refusal as a line. */
void request_refuse(struct buf *out, const char *text, bool again);

/* Sets a member to a text of any bytes. Bytes that are not UTF-8 become U+FFFD. */
void request_put_text(json_t *object, const char *key, const char *text);

/*
 * Sends a request to the daemon of a session directory. `argument` is the request's only argument,
 * or NULL. The caller calls json_decref() on *reply; `reply` may be NULL. Errors as for
 * client_ask().
 */
int request_send(const char *dir, const char *name, const char *argument, json_t **reply,
		 struct error *err);
