/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay browse: a session in the terminal. */
#include "commands/browse/browse.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/command.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "commands/terminal/screen.h"
#include "open/input.h"
#include "store/session.h"

struct browse_args {
	const char *input, *cache, *view, *itrace, *filter, *frames;
	bool no_demangle, no_itrace, idle;
	struct window_args window;
	struct code_args code;
	const char *container_names;
	struct option_list search_dirs, rewrites;
};

#define FIELD(f) offsetof(struct browse_args, f)
static const struct option_spec browse_options[] = {
	INPUT_OPTION(FIELD(input), "browse"),
	WINDOW_OPTIONS(FIELD(window)),
	ITRACE_OPTIONS(FIELD(itrace), FIELD(filter), FIELD(no_itrace)),
	CODE_OPTIONS(FIELD(code)),
	CONTAINER_NAMES_OPTION(FIELD(container_names)),
	{ 'V', "view", "VIEW", OPT_CHOICE, FIELD(view), "symbols", "the first view",
	  .choices = "processes|symbols|tree|inverted" },
	FRAMES_OPTION(FIELD(frames)),
	SOURCE_OPTIONS(FIELD(search_dirs), FIELD(rewrites)),
	{ 0, "idle", NULL, OPT_FLAG, FIELD(idle), NULL, "count idle processors, too" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

/* A signal that comes between two polls is seen after so long. */
#define SIGNAL_MS 250

/* Keys that a long load brings come behind those before. */
static void take_typed(struct browse *b)
{
	for (size_t i = 0; i < b->typed.n && !b->is_over; i++)
		browse_take_key(b, b->typed.data[i]);
	b->typed.n = 0;
}

static void browse_watch(struct browse *b)
{
	bool is_drawn = false;

	while (!b->is_over && !screen_is_stopped()) {
		struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
		int key;

		if (!is_drawn)
			browse_draw(b); /* it may load, and keys may come meanwhile */
		is_drawn = !b->typed.n;
		if (!is_drawn) {
			take_typed(b);
			continue;
		}
		if (poll(&fd, 1, SIGNAL_MS) < 0 && errno != EINTR)
			break;
		/* a terminal that is gone sends a hang-up */
		if (fd.revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		/* a resize is a key, too */
		while (!b->is_over && (key = screen_key(b->screen)) != KEY_IS_NONE) {
			vec_push(&b->typed, key);
			take_typed(b);
			is_drawn = false;
		}
	}
}

/* The operand that is a session: the first one, if it is a path. */
static const char *take_session(struct option_list *operands, const char *given)
{
	const char *first = operands->n ? operands->data[0] : NULL;

	if (given || !first || access(first, F_OK) != 0)
		return given;
	memmove(operands->data, operands->data + 1, --operands->n * sizeof(*operands->data));
	return first;
}

/* Names are looked up before the screen is taken, so that messages are seen. */
static int browse_open(struct browse *b, const struct browse_args *args, struct error *err)
{
	const struct symbolizer_config config = { .cache_dir = b->cache_dir };
	cleanup(query_fini) struct query query = { 0 };
	int r = input_query(b->in, b->operands, args->idle, &query, err);

	r = r < 0 ? r : input_window(&args->window, &query, err);
	if (r < 0)
		return -EINVAL;
	browse_wait_begin(b, "opening");
	r = input_open_query(b->in, b->given, &query, &b->session, &b->is_damaged, err);
	browse_wait_end(b);
	if (r < 0)
		return r;
	b->symbols = input_symbolizer_with(b->in, input_place(b->given, &query), &config);
	b->options.max_rows = 0;
	return browse_load(b, "", err);
}

static int browse_show(struct browse *b, const struct browse_args *args, struct error *err)
{
	enum live_view view = LIVE_SYMBOLS;
	int r = screen_open(&b->screen, err);

	if (r < 0)
		return r;
	for (int v = 0; v < N_LIVE_VIEWS; v++)
		if (!strcmp(args->view, live_views[v].key))
			view = v;
	screen_use_mouse(b->screen);
	log_set_level(LOG_QUIET); /* messages would be in the middle of the screen */
	browse_open_page(b, PAGE_VIEW)->view = view;
	browse_watch(b);
	screen_close(take_ptr(b->screen));
	log_set_level(LOG_NORMAL);
	return 0;
}

static int browse_run(const struct command *self, int argc, char **argv)
{
	struct browse_args args = { 0 };
	struct option_list operands = { 0 };
	struct browse b = { .operands = &operands };
	struct error err = { 0 };
	int status = command_begin(self, false, argc, argv, &args, &operands), r;

	if (status < 0 && screen_check(&err) < 0)
		status = EXIT_FAILED;
	if (status < 0)
		status = opening_begin("browse", &(struct open_config)OPEN_CONFIG(args), &b.in);
	if (status < 0) {
		b.given = take_session(&operands, args.input);
		b.with_idle = args.idle;
		b.cache_dir = args.cache;
		b.least_percent = BROWSE_LEAST_PERCENT;
		b.search = (struct source_search){ args.search_dirs.data, args.search_dirs.n,
						   args.rewrites.data, args.rewrites.n };
		b.frames = shown_frames_find(args.frames);
		r = browse_open(&b, &args, &err);
		r = r < 0 ? r : browse_show(&b, &args, &err);
		status = r == -EINVAL ? EXIT_USAGE : r < 0 || b.is_damaged ? EXIT_FAILED : EXIT_OK;
	}
	if (err.code)
		log_error("browse: %s", err.text);
	browse_unload(&b);
	symbolizer_free(b.symbols);
	session_close(b.session);
	free(b.chosen);
	input_free(b.in);
	option_list_fini(&operands);
	option_list_fini(&args.code.image_path);
	option_list_fini(&args.search_dirs);
	option_list_fini(&args.rewrites);
	return status;
}

static const struct command_section browse_sections[] = {
	{ "KEYS",
	  "*P* *S* *T* *I* show processes, functions, the call tree and the inverted one, *Tab* "
	  "the "
	  "next of them. *R*, *M*, *V* and *W* list threads, images, events and steps of time. "
	  "The arrows, *Page Up*, *Page Down* or *space*, *Home*, *End* and the wheel choose "
	  "a line. *Enter* or *a* on a function shows its callers and callees, its source and its "
	  "assembly; on a process, and on a row of a list, it shows that one alone. *Esc* goes "
	  "back.\n\n"
	  "In trees, *right* opens a row and *left* closes it; *+* opens or closes it. *e* does so "
	  "with all rows below it, *E* opens all rows, and *C* closes all.\n\n"
	  "*/* searches, *n* and *N* go to the next match and to the one before. *f* asks for "
	  "filters (below), separated by blanks. *m* narrows to the image of the row, *t* to the "
	  "thread of a row of threads, *k* to the kernel. *u* undoes the last filter, *c* all of "
	  "them. *d* compares with another session, "
	  "older numbers first. *s* shows another session. *L* asks for the least percent of a "
	  "row; lighter rows are gathered in \"other\". *H* hides and shows the titles. On the "
	  "page of a function, *s* hides and shows its source, and *H* goes to its hottest line. "
	  "*i* shows the facts of the session, *?* the keys. *q* and Ctrl-C "
	  "leave. If a load takes long, *Esc* stops it.\n\n"
	  "A click chooses a line, and a click on the chosen line is *Enter*. A click on *+* or "
	  "*-* "
	  "opens and closes. Hold Shift to select text for the terminal." },
	{ "FILTERS", input_filters_help },
	{ "TIMES", input_times_help },
	{ NULL },
};

static const struct command_example browse_examples[] = {
	{ "assay browse", "the functions of ./assay.data" },
	{ "assay browse -V tree build.assay", "the call tree of a session" },
	{ "assay browse perf.data comm:gcc", "a recording of perf, threads of one name" },
	{ NULL },
};

const struct command browse_command = {
	.name = "browse",
	.summary = "look at a session in the terminal",
	.synopsis = "[OPTIONS] [SESSION] [FILTER…]",
	.description =
		"Shows lists and trees that open and close, functions with their callers, callees "
		"and code, and the difference of two sessions. Over SSH, it needs no browser. "
		"The views are those of *assay top*.",
	.options = OPTIONS(browse_options),
	.common = "i,V",
	.sections = browse_sections,
	.examples = browse_examples,
	.run = browse_run,
};
