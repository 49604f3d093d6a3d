/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of `assay browse`.
 *
 *     session ─► query (operands, and words that were typed) ─► profile ─► pages
 *
 * Pages lie on each other; the last one is shown. Another query makes all of them anew. The views
 * are those of `assay top` (report/live.h).
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "annotate/annotate.h"
#include "annotate/source_files.h"
#include "base/error.h"
#include "base/mem.h"
#include "cli/options.h"
#include "commands/terminal/lines_view.h"
#include "commands/terminal/prompt.h"
#include "profile/query.h"
#include "report/live.h"

#define BROWSE_LEAST_PERCENT 0.05

struct browse_wait;
struct input;
struct screen;
struct session;
struct symbolizer;

enum page_kind {
	PAGE_VIEW,     /* processes, functions, the call tree, the inverted one */
	PAGE_LIST,     /* threads, images, events or times, to narrow by */
	PAGE_FUNCTION, /* its callers, callees, source and assembly */
	PAGE_COMPARE,  /* with another session */
	PAGE_FACTS,    /* of the session */
	PAGE_KEYS
};

enum browse_list_id { LIST_THREADS, LIST_IMAGES, LIST_EVENTS, LIST_TIMES, N_BROWSE_LISTS };

struct browse_list {
	const char *title;
	enum profile_key key; /* N_PROFILE_KEYS: steps of time */
};
extern const struct browse_list browse_lists[N_BROWSE_LISTS];

struct browse_page {
	enum page_kind kind;
	enum live_view view;      /* PAGE_VIEW */
	enum browse_list_id list; /* PAGE_LIST */
	uint32_t code;            /* PAGE_FUNCTION: its first line of source or assembly */
	uint32_t function;        /* PAGE_FUNCTION: of the profile */
	char *path;               /* PAGE_COMPARE: of the other session */
	struct live_text text;
	uint32_t width;          /* of the screen that the text was made for; 0: not made */
	VEC(bool) is_open;       /* by line of the text: the rows below it are shown */
	VEC(uint32_t) visible;   /* lines of the text */
	struct lines_view lines; /* of `visible` */
};

/* Another line is typed: what for. */
enum browse_question {
	ASKS_NOTHING,
	ASKS_SEARCH,
	ASKS_FILTER,
	ASKS_COMPARE,
	ASKS_SESSION,
	ASKS_PERCENT
};

struct browse {
	struct input *in;
	struct screen *screen;
	struct session *session;
	struct symbolizer *symbols;
	const char *given;     /* -i; NULL: the default */
	const char *cache_dir; /* of symbols; NULL: the default */
	const struct option_list *operands;
	struct source_search search; /* for source files */
	bool is_damaged;             /* the session: the exit status is 1 */
	bool with_idle;
	enum shown_frames frames;
	char *chosen;         /* a session that was chosen by a key, which `given` is then */
	double least_percent; /* BROWSE_LEAST_PERCENT at first: of the rows of a view; lighter ones
				 are gathered in "other" */
	bool without_titles, without_source;
	uint32_t rows, columns;   /* of the screen */
	struct browse_wait *wait; /* work that may take long */
	atomic_bool is_unwanted;  /* the user wants no result of it */
	VEC(int) typed;           /* keys that came meanwhile */

	VEC(char *) filters; /* words that were typed, each list longer than the one before */
	struct query query;
	struct profile_request request;
	struct profile *profile;
	struct report_options options;

	/* With the places of samples, for source and assembly; NULL: not needed yet. */
	struct profile_request places_request;
	struct profile *places;
	struct source_files *sources;
	struct annotation *annotation;

	VEC(struct browse_page) pages;
	enum browse_question question;
	struct prompt prompt;
	char searched[PROMPT_SIZE];
	struct error message; /* "": none */
	bool is_over;
};

/* browse_query.c: the query and its profile. */

/* Loads the profile for the operands and these words. On failure, the old one stays. */
int browse_load(struct browse *b, const char *filter, struct error *err);
/* Shows another session, with the same operands and words. On failure, the old one stays. */
int browse_choose_session(struct browse *b, const char *path, struct error *err);
void browse_drop_places(struct browse *b);
const char *browse_filter(const struct browse *b); /* the words in force; "": none */
void browse_unload(struct browse *b);

/* The request of another profile, of the same query. */
struct profile_request browse_request(const struct browse *b, const struct session *session,
				      struct symbolizer *symbols);

/*
 * browse_wait.c: work that may take long. If it does, a thread of its own shows for how long it
 * lasts, on the screen or (before it is open) on standard error. Nobody else may use the screen
 * until the end. There, Esc sets b->is_unwanted. `q` and the signals leave the program.
 */
void browse_wait_begin(struct browse *b, const char *what);
bool browse_wait_end(struct browse *b); /* whether it is wanted still */

/* browse_pages.c: the pages, and the lines of the last one. */

struct browse_page *browse_page(struct browse *b); /* the last */
struct browse_page *browse_open_page(struct browse *b, enum page_kind kind);
void browse_close_page(struct browse *b); /* not the first */
void browse_close_pages(struct browse *b);

/* Makes the text of the last page, unless it is there. Without the screen. */
void browse_make_page(struct browse *b);

/* The line at the cursor; NULL: none. */
const struct live_line *browse_line(struct browse *b);
bool browse_has_below(const struct browse_page *page, uint32_t line);
void browse_set_open(struct browse_page *page, uint32_t line, bool is_open, bool with_below);
void browse_find_visible(struct browse_page *page);

/* Goes to the next line (step 1) or the one before (-1) that has the text, and opens rows above it.
 */
bool browse_search(struct browse *b, const char *text, int step);

/* browse_lists.c */
void browse_make_list(struct browse *b, struct browse_page *page);

/* browse_function.c: callers, callees, source and assembly; and the comparison. */
void browse_make_function(struct browse *b, struct browse_page *page);
int browse_make_compare(struct browse *b, struct browse_page *page, struct error *err);

/* browse_keys.c */
void browse_take_key(struct browse *b, int key);
bool browse_key_asks(const struct browse *b, int key); /* for a line of text */
const char *const *browse_key_lines(size_t *n);

/* browse_draw.c */
uint32_t browse_head_rows(const struct browse *b); /* above the lines of a page */
void browse_draw(struct browse *b);
/* Makes the lines of the last page, and keeps the cursor among them. */
void browse_settle(struct browse *b);
struct text_style browse_style(const struct browse *b);
