/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay top: what runs now, in a terminal. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/event_help.h"
#include "commands/opening.h"
#include "commands/perf_options.h"
#include "commands/terminal/lines_view.h"
#include "commands/terminal/prompt.h"
#include "commands/terminal/screen.h"
#include "commands/top/top_recorder.h"
#include "open/input.h"
#include "record/target_names.h"
#include "report/live.h"
#include "store/session.h"

struct top_args {
	struct option_list events, pids, tids, filters;
	struct target_names names;
	const char *freq, *count, *cpus, *cgroup, *call_graph, *collector, *cache, *view, *output,
		*frames;
	double window_s, delay_s;
	bool whole_machine, no_demangle, with_children;
};

#define FIELD(f) offsetof(struct top_args, f)
static const struct option_spec top_options[] = {
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events), NULL,
	  "the event to count, as for record (default: cycles, or the cpu-clock timer)" },
	{ 'F', "freq", "HZ", OPT_STRING, FIELD(freq), NULL,
	  "samples per second on each CPU (default as record's)" },
	{ 'c', "count", "COUNT", OPT_STRING, FIELD(count), NULL,
	  "a sample every COUNT events, instead of -F" },
	{ 'a', "all-cpus", NULL, OPT_FLAG, FIELD(whole_machine), NULL,
	  "the whole machine (the default without a target)" },
	{ 'p', "pid", "PID[,PID…]", OPT_LIST, FIELD(pids), NULL,
	  "running processes, with all their threads and children" },
	CHILDREN_OPTION(FIELD(with_children)),
	{ 't', "tid", "TID[,TID…]", OPT_LIST, FIELD(tids), NULL, "single threads" },
	{ 'C', "cpu", "LIST", OPT_STRING, FIELD(cpus), NULL, "only on these CPUs: 0-3,8" },
	{ 'G', "cgroup", "CGROUP", OPT_STRING, FIELD(cgroup), NULL,
	  "a control group: its path below /sys/fs/cgroup" },
	TARGET_NAME_OPTIONS(names),
	{ 0, "call-graph", "HOW", OPT_STRING, FIELD(call_graph), NULL,
	  "how call chains are found, as for record", .choices = "best|fp|dwarf|none" },
	{ 0, "collector", "HOW", OPT_STRING, FIELD(collector), NULL,
	  "how samples are collected, as for record", .choices = "best|perf|bpf" },
	{ 'f', "filter", "FILTER", OPT_LIST, FIELD(filters), NULL,
	  "show only this: pid:1234, comm:gcc, image:libc.so.6 …; as operands of report" },
	{ 'V', "view", "VIEW", OPT_CHOICE, FIELD(view), "processes", "the first view",
	  .choices = "processes|symbols|tree|inverted|threads|images" },
	FRAMES_OPTION(FIELD(frames)),
	{ 'w', "window", "SECONDS", OPT_SECONDS, FIELD(window_s), "5",
	  "show the samples of this last stretch of time", NULL, 1, 300 },
	{ 'd', "delay", "SECONDS", OPT_SECONDS, FIELD(delay_s), "1", "refresh at this interval",
	  NULL, 0.1, 60 },
	{ 'o', "command-output", "FILE", OPT_STRING, FIELD(output), "/dev/null",
	  "write what the command prints to FILE" },
	NO_DEMANGLE_OPTION(FIELD(no_demangle)),
	{ 0, "symbol-cache", "DIR", OPT_STRING, FIELD(cache), NULL,
	  "keep symbol indexes in DIR; \"\" keeps none",
	  "Default: *$XDG_CACHE_HOME/assay/symbols*, else *~/.cache/assay/symbols*." },
};

#define HEAD_ROWS 3
/* The age of complete data: the recorder writes whole seconds. */
#define DELAY_NS (NS_PER_SECOND * 5 / 4)

struct top {
	struct input *in;
	const struct top_args *args;
	struct top_recorder recorder;
	struct screen *screen;
	struct symbolizer *symbols;
	enum live_view view;
	uint32_t window_s;
	char filter[PROMPT_SIZE]; /* what is in force */
	struct prompt prompt;     /* what is being typed */
	bool is_typing, is_paused, has_help, is_over;
	uint64_t paused_ns;   /* the end of the shown time while paused */
	struct error message; /* "": none */
	struct live_text text;
	struct buf head[2];
	struct lines_view lines; /* of the text */
	bool has_ended;
};

/* ---- what is shown ---- */

static void say(struct top *t, const char *text)
{
	error_set(&t->message, 0, "%s", text);
}

static int add_filters(const char *text, struct query *q, struct error *err)
{
	cleanup(free_at_exit) char *copy = xstrdup(text);
	char *rest = NULL;

	for (char *word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		int r = query_add(q, word, err);

		if (r < 0)
			return r;
	}
	return query_check(q, err);
}

/*
 * Adds a window of whole seconds of the clock before the end, as a block has one second. (A time
 * filter counts from the start and takes blocks by their begin.) Returns the window's seconds.
 */
static double add_window(const struct top *t, const struct session *s, struct query *q)
{
	uint64_t start = s->info.start_ns,
		 end = t->is_paused ? t->paused_ns : clock_monotonic_ns() - DELAY_NS;
	uint64_t window = t->window_s * NS_PER_SECOND, to, from;

	to = (end / NS_PER_SECOND + 1) * NS_PER_SECOND;
	if (!t->is_paused && s->has_end)
		to = MIN(to, s->end.end_ns);
	to = MAX(to, start + 1);
	from = MAX(to - MIN(window, to), start);
	vec_push(&q->filters[FILTER_TIME],
		 (struct filter_value){ .from = from - start, .to = to - start });
	return (double)(to - from) / 1e9;
}

static void put_target(struct top *t, const struct session *s, struct buf *out)
{
	const struct counter_info *c = s->info.n_counters ? &s->info.counters[0] : NULL;

	buf_printf(out, "\033[1massay top\033[0m  %s", live_views[t->view].key);
	buf_str(out, "  ");
	utf8_append_visible(out, *s->info.command ? s->info.command : s->info.target);
	if (c) {
		buf_str(out, "  ");
		utf8_append_visible(out, c->name);
		if (c->freq_hz)
			buf_printf(out, " %" PRIu64 " Hz", c->freq_hz);
	}
	buf_printf(out, "  %s", s->info.collector);
}

static void put_counts(const struct top *t, double seconds, struct buf *out)
{
	static const char *const names[N_CONTEXTS] = {
		[CONTEXT_USER] = "user",    [CONTEXT_SYSTEM] = "sys", [CONTEXT_IRQ] = "irq",
		[CONTEXT_SOFTIRQ] = "soft", [CONTEXT_IDLE] = "idle",
	};

	buf_printf(out, "%s%.0f s: %" PRIu64 " samples", t->is_paused ? "PAUSED " : "", seconds,
		   t->text.n_samples);
	if (t->text.n_lost)
		buf_printf(out, ", %" PRIu64 " lost", t->text.n_lost);
	for (int c = 0; c < N_CONTEXTS && t->text.has_contexts; c++)
		buf_printf(out, "%s %.1f %s", c ? "," : " ", t->text.percent[c], names[c]);
	if (*t->filter) {
		buf_str(out, "  only ");
		utf8_append_visible(out, t->filter);
	}
}

static struct text_style style_of(const struct top *t)
{
	uint32_t rows, columns;

	screen_size(t->screen, &rows, &columns);
	return (struct text_style){ .width = columns,
				    .with_colour = true,
				    .is_ascii = !output_is_utf8() };
}

static void show_session(struct top *t, struct session *s)
{
	struct query query = { .frames = shown_frames_find(t->args->frames) };
	struct error err = { 0 };
	struct live_request request = { .session = s,
					.symbols = t->symbols,
					.query = &query,
					.view = t->view,
					.min_percent = -1,
					.style = style_of(t) };

	request.seconds = add_window(t, s, &query);
	if (add_filters(t->filter, &query, &err) < 0) /* checked when it was typed */
		say(t, err.text);
	live_text_fini(&t->text);
	live_make(&request, &t->text);
	for (size_t i = 0; i < ARRAY_SIZE(t->head); i++)
		t->head[i].len = 0;
	put_target(t, s, &t->head[0]);
	put_counts(t, request.seconds, &t->head[1]);
	query_fini(&query);
	if (!t->is_paused)
		top_recorder_forget(&t->recorder, s,
				    clock_monotonic_ns() - (t->window_s + 3) * NS_PER_SECOND);
}

static void refresh(struct top *t)
{
	struct session *s;
	struct error err = { 0 };

	if (session_open(t->recorder.dir, &s, &err) < 0) {
		say(t, err.text);
		return;
	}
	show_session(t, s);
	session_close(s);
}

/* ---- drawing ---- */

static uint32_t rows_of_text(const struct top *t)
{
	uint32_t rows, columns;

	screen_size(t->screen, &rows, &columns);
	return rows > HEAD_ROWS ? rows - HEAD_ROWS : 0;
}

static const char *const help_lines[] = {
	"P S T I   processes, symbols, tree, inverted; R M threads, images; Tab the next",
	"up, down  choose a line; Page Up, Page Down, Home, End",
	"Enter     of a process, a thread or an image: only that one, by its functions",
	"/         filter: pid:12 comm:gcc image:libc symbol:main …",
	"c         no filter",
	"+ -       more or fewer seconds",
	"space     pause, and go on",
	"q         leave",
};

static void draw_help(struct top *t)
{
	for (uint32_t i = 0; i < ARRAY_SIZE(help_lines); i++)
		screen_put(t->screen, HEAD_ROWS + i, help_lines[i], false);
}

static void draw_text(struct top *t)
{
	const struct lines_view *v = &t->lines;

	lines_view_settle(&t->lines, (uint32_t)t->text.lines.n, rows_of_text(t));
	if (!t->text.lines.n) {
		screen_put(t->screen, HEAD_ROWS, "nothing ran, or nothing that the filter takes",
			   false);
		return;
	}
	if (v->room)
		screen_put(t->screen, HEAD_ROWS, t->text.lines.data[0].text, false);
	for (uint32_t i = 1, line; (line = lines_view_line_at(v, i)); i++)
		screen_put(t->screen, HEAD_ROWS + i, t->text.lines.data[line].text,
			   line == v->cursor);
}

static void draw(struct top *t)
{
	struct buf line = { 0 };

	screen_begin(t->screen);
	screen_put(t->screen, 0, buf_cstr(&t->head[0]), false);
	screen_put(t->screen, 1, buf_cstr(&t->head[1]), false);
	if (t->is_typing) {
		prompt_put(&t->prompt, "filter", &line);
	} else if (*t->message.text) {
		utf8_append_visible(&line, t->message.text);
	} else {
		buf_str(&line, "\033[2mq quit  P S T I R M views  / filter  space pause  h help");
	}
	screen_put(t->screen, 2, buf_cstr(&line), false);
	if (t->has_help)
		draw_help(t);
	else
		draw_text(t);
	screen_end(t->screen);
	buf_fini(&line);
}

/* ---- keys ---- */

static void show_view(struct top *t, enum live_view view)
{
	t->view = view;
	t->lines = (struct lines_view){ 0 };
	refresh(t);
}

static void take_filter(struct top *t, const char *text)
{
	struct query query = { 0 };
	struct error err = { 0 };

	if (add_filters(text, &query, &err) < 0) {
		say(t, err.text);
	} else {
		snprintf(t->filter, sizeof(t->filter), "%s", text);
		t->message.text[0] = '\0';
		t->lines = (struct lines_view){ 0 };
		refresh(t);
	}
	query_fini(&query);
}

static void type_key(struct top *t, int key)
{
	enum prompt_state state = prompt_take(&t->prompt, key);

	t->is_typing = state == PROMPT_GOES_ON;
	if (state == PROMPT_IS_DONE)
		take_filter(t, t->prompt.text);
}

static void pause_or_go_on(struct top *t)
{
	t->is_paused = !t->is_paused;
	if (t->is_paused)
		t->paused_ns = clock_monotonic_ns() - DELAY_NS;
	refresh(t);
}

/* The functions of a process, a thread or an image. */
static void choose_row(struct top *t)
{
	uint32_t cursor = t->lines.cursor;
	const char *filter = cursor < t->text.lines.n ? t->text.lines.data[cursor].filter : NULL;
	struct buf words = { 0 };

	if (!filter)
		return;
	prompt_put_words(t->filter, filter, &words);
	if (words.len >= sizeof(t->filter)) {
		say(t, "the filter is too long");
	} else {
		t->view = LIVE_SYMBOLS;
		take_filter(t, buf_cstr(&words));
	}
	buf_fini(&words);
}

static void change_window(struct top *t, int by)
{
	t->window_s = (uint32_t)MIN(MAX((int)t->window_s + by, 1), 300);
	refresh(t);
}

static void command_key(struct top *t, int key)
{
	for (int v = 0; v < N_LIVE_VIEWS; v++)
		if (key == live_views[v].letter || key == live_views[v].letter + ('a' - 'A'))
			show_view(t, v);
	switch (key) {
	case 'q':
	case 'Q':
		t->is_over = true;
		break;
	case '\t':
		show_view(t, (t->view + 1) % N_LIVE_VIEWS);
		break;
	case ' ':
		pause_or_go_on(t);
		break;
	case '/':
		t->is_typing = true;
		prompt_begin(&t->prompt, t->filter);
		break;
	case 'c':
		take_filter(t, "");
		break;
	case '+':
		change_window(t, 1);
		break;
	case '-':
		change_window(t, -1);
		break;
	case '\n':
		choose_row(t);
		break;
	case 'h':
	case '?':
		t->has_help = !t->has_help;
		break;
	}
}

static void take_keys(struct top *t)
{
	int key;

	while (!t->is_over && (key = screen_key(t->screen)) != KEY_IS_NONE) {
		if (key == KEY_IS_RESIZE) {
			refresh(t);
		} else if (t->is_typing) {
			type_key(t, key);
		} else if (!lines_view_move(&t->lines, key)) {
			if (key != 'h' && key != '?')
				t->has_help = false;
			t->message.text[0] = '\0';
			command_key(t, key);
		}
	}
}

/* ---- the command ---- */

static void notice_end(struct top *t)
{
	struct error err = { 0 };

	if (t->has_ended || t->recorder.pid)
		return;
	t->has_ended = true;
	if (top_recorder_has_failed(&t->recorder)) {
		top_recorder_explain(&t->recorder, &err);
		say(t, err.text);
	} else {
		say(t, t->recorder.has_command ? "the command has ended; q leaves"
					       : "the watched processes have ended; q leaves");
	}
	refresh(t);
}

static void watch(struct top *t)
{
	uint64_t period = (uint64_t)(t->args->delay_s * 1e9), next = clock_monotonic_ns();

	while (!t->is_over && !screen_is_stopped()) {
		/* A terminal that is gone sends a hang-up, or an end of its input. */
		struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
					{ .fd = t->recorder.said_fd, .events = POLLIN } };
		uint64_t now = clock_monotonic_ns();

		if (now >= next) {
			if (!t->is_paused)
				refresh(t);
			next = clock_monotonic_ns() + period;
		}
		draw(t);
		now = clock_monotonic_ns();
		if (poll(fds, ARRAY_SIZE(fds), next > now ? (int)((next - now) / 1000000) + 1 : 0) <
			    0 &&
		    errno != EINTR)
			break;
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			break;
		top_recorder_poll(&t->recorder);
		notice_end(t);
		take_keys(t);
	}
}

static void push_list(struct option_list *out, const char *option, const struct option_list *values)
{
	for (size_t i = 0; i < values->n; i++) {
		vec_push(out, option);
		vec_push(out, values->data[i]);
	}
}

/* The arguments of `assay record` that these mean. */
static void recorder_args(const struct top_args *args, const struct option_list *command,
			  struct option_list *out)
{
	const struct {
		const char *option, *value;
	} singles[] = { { "-F", args->freq },
			{ "-c", args->count },
			{ "-C", args->cpus },
			{ "-G", args->cgroup },
			{ "--user", args->names.user },
			{ "--comm", args->names.comm },
			{ "--unit", args->names.unit },
			{ "--container", args->names.container },
			{ "--call-graph", args->call_graph },
			{ "--collector", args->collector } };
	bool has_target = args->pids.n || args->tids.n || args->cgroup || command->n ||
			  target_has_names(&args->names);

	push_list(out, "-e", &args->events);
	push_list(out, "-p", &args->pids);
	push_list(out, "-t", &args->tids);
	if (args->with_children)
		vec_push(out, "--children");
	for (size_t i = 0; i < ARRAY_SIZE(singles); i++)
		if (singles[i].value) {
			vec_push(out, singles[i].option);
			vec_push(out, singles[i].value);
		}
	if (args->whole_machine || !has_target)
		vec_push(out, "-a");
	vec_push(out, "--");
	for (size_t i = 0; i < command->n; i++)
		vec_push(out, command->data[i]);
}

static int run_view(struct top *t, struct error *err)
{
	int r = screen_open(&t->screen, err);

	if (r < 0)
		return r;
	t->symbols = input_symbolizer(t->in, t->recorder.dir, t->args->cache);
	watch(t);
	screen_close(t->screen);
	symbolizer_free(t->symbols);
	live_text_fini(&t->text);
	for (size_t i = 0; i < ARRAY_SIZE(t->head); i++)
		buf_fini(&t->head[i]);
	return 0;
}

static int top(const struct top_args *args, const struct option_list *command, struct error *err)
{
	struct option_list record = { 0 };
	struct top t = { .args = args, .window_s = (uint32_t)args->window_s };
	struct open_config config = opening_config;
	int status = EXIT_OK, r = screen_check(err);

	config.no_demangle = args->no_demangle;
	if (r < 0 || input_new(&config, &t.in, err) < 0)
		return EXIT_FAILED;
	for (size_t i = 0; i < args->filters.n; i++)
		snprintf(t.filter + strlen(t.filter), sizeof(t.filter) - strlen(t.filter), "%s%s",
			 i ? " " : "", args->filters.data[i]);
	for (int v = 0; v < N_LIVE_VIEWS; v++)
		if (!strcmp(args->view, live_views[v].key))
			t.view = v;
	recorder_args(args, command, &record);
	t.recorder.said_fd = -1;
	t.recorder.has_command = command->n > 0;
	r = top_recorder_start(&t.recorder, t.in, &record, args->output, err);
	if (r == -ECHILD)
		status = top_recorder_explain(&t.recorder, err);
	else if (r < 0 || run_view(&t, err) < 0)
		status = EXIT_FAILED;
	else if (t.has_ended && top_recorder_has_failed(&t.recorder))
		status = top_recorder_explain(&t.recorder, err);
	top_recorder_stop(&t.recorder);
	input_free(t.in);
	vec_fini(&record);
	return status;
}

static int check_filters(const struct option_list *filters, struct error *err)
{
	struct query query = { 0 };
	int r = 0;

	for (size_t i = 0; i < filters->n && r >= 0; i++)
		r = add_filters(filters->data[i], &query, err);
	query_fini(&query);
	return r;
}

static int top_run(const struct command *self, int argc, char **argv)
{
	struct top_args args = { 0 };
	struct option_list command = { 0 };
	struct error err = { 0 };
	int status = command_begin(self, true, argc, argv, &args, &command);

	if (status < 0 && check_filters(&args.filters, &err) < 0)
		status = EXIT_USAGE;
	else if (status < 0)
		status = top(&args, &command, &err);
	if (err.code)
		log_error("top: %s", err.text);
	option_list_fini(&args.events);
	option_list_fini(&args.pids);
	option_list_fini(&args.tids);
	option_list_fini(&args.filters);
	option_list_fini(&command);
	return status;
}

static const struct command_example top_examples[] = {
	{ "assay top", "the work of the whole machine" },
	{ "assay top -p 1234 -V tree", "where a process spends its time" },
	{ "assay top -o make.log -- make -j8", "a build, while it runs" },
	{ NULL, NULL },
};

static const struct command_section top_sections[] = {
	{ "KEYS", "*P* *S* *T* *I* show processes, symbols, the call tree and the inverted one, "
		  "*R* and *M* threads and images, *Tab* the next of them. The arrows, *Page Up*, "
		  "*Page Down*, *Home* and *End* "
		  "choose a line. *Enter* on a process, a thread or an image shows its functions "
		  "alone. */* asks for a "
		  "filter, such as *pid:12*, *comm:gcc*, *image:libc.so.6* or *symbol:main*. "
		  "Separate several filters by blanks. *c* clears the filter. *+* and *-* change "
		  "how many seconds are shown. *space* pauses, *h* helps, *q* and Ctrl-C leave." },
	{ "NUMBERS",
	  "Everything is of the last seconds (*--window*) that are complete, about one second "
	  "ago. A process's CPU% is of one processor; *irq* is the time of interrupts that came "
	  "while it ran. Functions and trees are as *assay report* has them." },
	EVENTS_SECTION,
	{ "EXIT STATUS",
	  "0, also if the command failed; 127 if it is not found, 126 if it can't be run, 1 if "
	  "recording is not possible, 2 for wrong usage." },
	{ NULL, NULL },
};

const struct command top_command = {
	.name = "top",
	.summary = "show what runs now, in a terminal",
	.synopsis = "[OPTIONS] [--] [COMMAND [ARG…]]",
	.description =
		"Shows which processes and functions have the processors, second by second. It "
		"runs *assay record* into a session in $TMPDIR or in memory, and reads the "
		"session while it grows. The session keeps at most the shown time. A command "
		"ends with the view (SIGTERM).",
	.options = OPTIONS_AND_ALIASES(top_options, perf_top_options),
	.common = "p,f,V,e,F",
	.sections = top_sections,
	.examples = top_examples,
	.run = top_run,
};
