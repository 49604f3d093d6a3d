/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The API of `assay serve`: which request runs which command (docs/api.md). api.def has the rows.
 *
 * Each argument is checked, and then stands behind "--option=" or behind "--". So a request can
 * name neither another option nor another file.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/buf.h"
#include "serve/sources.h"

struct error;
struct http_request;
struct query;

#define API_PATH "/api/v1/"

struct api_row {
	const char *name, *type;
	const char *file; /* of a download; NULL: shown */
	const char *words, *arguments, *help;
};
extern const struct api_row api_rows[];
extern const size_t n_api_rows;

struct api_argument {
	const char *name, *help;
};
/* All arguments; NULL: there are no more. */
const struct api_argument *api_argument(size_t i);
bool api_row_takes(const struct api_row *row, const char *argument);

const struct api_row *api_find(const char *name); /* NULL: there is none */

/* The words of a command. They are texts in `text`, and end with NULL. */
struct api_call {
	VEC(char *) words;
	bool is_growing;   /* a daemon adds to a history of it */
	uint64_t until_ns; /* the window's end, since 1970; UINT64_MAX: open, or not known */
	bool is_action;    /* it changes something, so no other request shares the answer */
	bool has_body;     /* the command reads the request's body as its standard input */
	bool has_status;   /* the first line of the output is the answer's status */
	bool is_limited;   /* by a token's filters: messages may name what they leave out */
	/*
	 * Makes the answer of another protocol out of the command's output, which is empty if no
	 * sample matched (grafana.h). NULL: the output is the answer. `put` and `label` are for it.
	 */
	bool (*convert)(const struct api_call *call, const struct buf *output, struct buf *out);
	void (*put)(const json_t *answer, const char *label, struct buf *out);
	char *label;
	struct buf key; /* the words, the sources' stamps, the time: the answer depends on these */
};
void api_call_fini(struct api_call *c);

/*
 * Makes the command of a request, whose arguments `get` gives. `filters` limits the answer, a line
 * each (access.h); NULL: none. -ENOENT: there is no such source. -EACCES: the answer can't be
 * limited. -EINVAL: an argument is wrong or missing.
 */
typedef const char *api_getter(const void *context, const char *name); /* NULL: not given */
int api_call(const struct api_row *row, api_getter *get, const void *context,
	     const struct sources *sources, const char *filters, struct api_call *out,
	     struct error *err);

/*
 * Makes the command that asks the daemon of a history for closer samples: arguments source, target,
 * seconds and rate. `asker` is for the daemon's log.
 */
extern const struct api_row api_record_row;
int api_record(const struct http_request *q, const struct sources *sources, const char *asker,
	       struct api_call *out, struct error *err);

/*
 * Adds a filter of a request or a token. -EINVAL: it has no tag, so that several would add up; or
 * it chooses sources, and so other files.
 */
int api_add_filter(struct query *query, const char *filter, struct error *err);

/* The keys of rows, for the arguments `by` and `filter`: a JSON object. */
void api_put_labels(struct buf *out);
