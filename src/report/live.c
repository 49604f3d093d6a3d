/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "profile/processes.h"
#include "report/names.h"
#include "report/style.h"

/* Less than that leaves no room for all columns. */
#define WIDE_ENOUGH 60
#define MAX_ROWS    1000

const struct live_view_info live_views[N_LIVE_VIEWS] = {
#define X(id, key, letter, help) { key, letter, help },
	LIVE_VIEWS(X)
#undef X
};

static void live_add_line(struct live_text *out, const char *text, size_t len, int32_t pid)
{
	vec_push(&out->lines, (struct live_line){ .text = xstrndup(text, len),
						  .pid = pid,
						  .image = NO_INDEX,
						  .function = NO_INDEX,
						  .block = NO_INDEX,
						  .value = NO_INDEX });
}

static void live_count(struct live_text *out, const struct profile *p)
{
	out->n_samples = p->n_selected;
	out->n_lost += losses_of_kind(p->losses, LOSS_LOST);
}

/* ---- processes ---- */

/* X(title, contexts, is left out where it is narrow) */
static const struct {
	const char *title;
	uint32_t contexts; /* bits of enum sample_context */
	bool is_only_wide;
} process_columns[] = {
	{ "CPU%", (1 << N_CONTEXTS) - 1, false },
	{ "user", 1 << CONTEXT_USER, true },
	{ "sys", 1 << CONTEXT_SYSTEM, true },
	{ "irq", 1 << CONTEXT_IRQ | 1 << CONTEXT_SOFTIRQ, true },
};

/* Percent of one CPU; of all samples, where they are no time. */
static double percent_of(const struct processes *list, const struct process_row *row,
			 uint32_t contexts, double seconds)
{
	struct weight w = { 0 };

	for (int c = 0; c < N_CONTEXTS; c++)
		if (contexts >> c & 1)
			weight_add(&w, &row->by[c]);
	if (list->basis != TIME_NONE)
		return processes_seconds(list, &w) * 100 / seconds;
	return (double)w.samples * 100 / (double)MAX(list->total.all.samples, 1U);
}

static enum text_style_id live_style_of(double percent)
{
	return percent >= 50 ? STYLE_HOT : percent >= 5 ? STYLE_WARM : STYLE_NONE;
}

static void live_put_process(const struct live_request *r, const struct processes *list,
			     const struct process_row *row, struct buf *line)
{
	bool is_wide = r->style.width >= WIDE_ENOUGH;
	size_t used = is_wide ? 34 : 14;
	struct buf name = { 0 };

	buf_printf(line, "%7d ", (int)process_pid(list, row));
	for (size_t i = 0; i < ARRAY_SIZE(process_columns); i++) {
		double percent;

		if (process_columns[i].is_only_wide && !is_wide)
			continue;
		percent = percent_of(list, row, process_columns[i].contexts, r->seconds);
		buf_str(line, style_code(&r->style, live_style_of(percent)));
		buf_printf(line, is_wide ? " %5.1f" : "%5.0f", percent);
		buf_str(line, style_code(&r->style, STYLE_NONE));
	}
	buf_u8(line, ' ');
	utf8_append_visible(&name, process_name(list, row));
	name_append_cut(line, buf_cstr(&name), MAX(r->style.width, used + 4) - used,
			text_ellipsis(&r->style));
	buf_fini(&name);
}

static void put_titles(const struct live_request *r, struct live_text *out)
{
	bool is_wide = r->style.width >= WIDE_ENOUGH;
	struct buf line = { 0 };

	buf_str(&line, style_code(&r->style, STYLE_HEADING));
	buf_str(&line, "    PID ");
	for (size_t i = 0; i < ARRAY_SIZE(process_columns); i++)
		if (is_wide || !process_columns[i].is_only_wide)
			buf_printf(&line, is_wide ? " %5s" : "%5s", process_columns[i].title);
	buf_str(&line, " command");
	buf_str(&line, style_code(&r->style, STYLE_NONE));
	live_add_line(out, (const char *)line.data, line.len, -1);
	buf_fini(&line);
}

static void make_processes(const struct live_request *r, struct live_text *out)
{
	struct profile_request request = { .session = r->session,
					   .symbols = r->symbols,
					   .query = r->query,
					   .is_unwanted = r->is_unwanted };
	cleanup(profile_free_at_exit) struct profile *p = NULL;
	struct processes list;

	processes_request(&request);
	r->query->with_idle = true;
	p = profile_load(&request);
	processes_make(&list, p, processes_first_lane(p));
	live_count(out, p);
	out->has_contexts = list.total.all.samples > 0;
	for (int c = 0; c < N_CONTEXTS; c++)
		out->percent[c] = (double)list.total.by[c].samples * 100 /
				  (double)MAX(list.total.all.samples, 1U);
	if (list.rows.n)
		put_titles(r, out);
	for (size_t i = 0; i < list.rows.n && i < MAX_ROWS; i++) {
		const struct process_row *row = &list.rows.data[i];
		struct buf line = { 0 };

		live_put_process(r, &list, row, &line);
		live_add_line(out, (const char *)line.data, line.len, process_pid(&list, row));
		out->lines.data[out->lines.n - 1].filter =
			xasprintf("pid:%d", (int)process_pid(&list, row));
		buf_fini(&line);
	}
	processes_fini(&list);
}

/* ---- filters of rows ---- */

/* A filter's value: '?' matches the characters that a filter can't hold. */
static void live_put_value(struct buf *out, const char *value)
{
	for (; *value; value++)
		buf_u8(out, strchr(" ,*?[]\\", *value) ? '?' : (uint8_t)*value);
}

void live_put_image_filter(const struct profile *p, uint32_t image, struct buf *word)
{
	buf_str(word, "lib-image:");
	live_put_value(word, p->images.data[image].image->path);
}

/* NULL: the key has no such filter, or the thread is unknown. The caller frees. */
static char *live_filter_of(const struct profile *p, enum profile_key key, uint32_t value)
{
	char scratch[KEY_TEXT_SIZE];
	struct buf word = { 0 };
	char *filter;

	if (key == PROFILE_THREAD && p->threads.data[value].tid >= 0) {
		buf_printf(&word, "tid:%d", (int)p->threads.data[value].tid);
	} else if (key == PROFILE_IMAGE) {
		live_put_image_filter(p, value, &word);
	} else if (key == PROFILE_EVENT) {
		buf_str(&word, "event:");
		live_put_value(&word, profile_key_text(p, PROFILE_EVENT, value, scratch));
	}
	filter = word.len ? xstrdup(buf_cstr(&word)) : NULL;
	buf_fini(&word);
	return filter;
}

/* ---- functions and trees ---- */

/* By view: the report's, and its columns where there is little room. */
static const struct {
	const struct view *view;
	const char *narrow_columns;
} report_views[N_LIVE_VIEWS] = {
	[LIVE_SYMBOLS] = { &list_view, "percent,symbol" },
	[LIVE_TREE] = { &tree_view, "total_percent,symbol" },
	[LIVE_INVERTED] = { &inverted_view, "total_percent,symbol" },
	[LIVE_THREADS] = { &nest_view, "percent,thread" },
	[LIVE_IMAGES] = { &nest_view, "percent,image" },
};

/* By view: the key of a list; N_PROFILE_KEYS: the view is none. */
static enum profile_key live_key_of(enum live_view view)
{
	return view == LIVE_THREADS  ? PROFILE_THREAD
	       : view == LIVE_IMAGES ? PROFILE_IMAGE
				     : N_PROFILE_KEYS;
}

void live_add_text(struct live_text *out, const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		live_add_line(out, text, len, -1);
		text += len + (text[len] == '\n');
	}
}

const struct view *live_report_of(enum live_view view)
{
	return report_views[view].view;
}

const char *live_columns(enum live_view view, uint32_t width)
{
	return width < WIDE_ENOUGH ? report_views[view].narrow_columns : NULL;
}

static void describe_line(struct live_line *line, const struct report *r, uint32_t row)
{
	const struct row *at = &r->rows.list.data[row];

	line->is_row = true;
	line->depth = at->depth;
	line->image = at->value[PROFILE_IMAGE];
	line->function = at->value[PROFILE_SYMBOL];
	line->block = at->block;
	line->role = at->role;
	if (!r->keys.n || at->kind == ROW_OTHER)
		return;
	line->value = at->value[r->keys.key[0]];
	if (line->value != NO_INDEX && r->keys.n == 1)
		line->filter = live_filter_of(r->profile, r->keys.key[0], line->value);
}

static void live_take_lines(struct live_text *out, const struct report *r,
			    const struct line_rows *rows, const char *text)
{
	for (size_t i = 0; i < rows->n; i++) {
		size_t len = strcspn(text, "\n");

		live_add_line(out, text, len, -1);
		if (rows->data[i] != NO_INDEX)
			describe_line(&out->lines.data[out->lines.n - 1], r, rows->data[i]);
		text += len + (text[len] == '\n');
	}
}

void live_add_report(const struct live_request *r, const struct view *view,
		     const struct report_options *options, const struct profile *p,
		     struct live_text *out)
{
	cleanup(report_free_at_exit) struct report *report = NULL;
	cleanup(free_at_exit) char *text = NULL;
	struct text_style style = r->style;
	struct line_rows rows = { 0 };
	size_t size = 0;
	FILE *memory = p->n_selected ? open_memstream(&text, &size) : NULL;

	if (!memory)
		return;
	report = report_new(view, options, r->query, p);
	style.is_table_only = true;
	style.rows = &rows;
	report_format_find("text")->print(report, &style, memory);
	fclose(memory);
	live_take_lines(out, report, &rows, text);
	vec_fini(&rows);
}

static void make_report(const struct live_request *r, struct live_text *out)
{
	const struct view *view = live_report_of(r->view);
	struct report_options options = {
		.min_percent = r->min_percent,
		.max_rows = MAX_ROWS,
		.columns = live_columns(r->view, r->style.width),
	};
	struct profile_request request = { .session = r->session,
					   .symbols = r->symbols,
					   .query = r->query,
					   .is_unwanted = r->is_unwanted };
	cleanup(profile_free_at_exit) struct profile *p = NULL;

	if (live_key_of(r->view) != N_PROFILE_KEYS)
		key_list_add(&options.by, live_key_of(r->view));
	if (report_request(view, &options, &request, NULL) < 0)
		return;
	p = profile_load(&request);
	live_count(out, p);
	options.by_period = profile_weighs_by_period(p);
	live_add_report(r, view, &options, p, out);
}

void live_make(const struct live_request *r, struct live_text *out)
{
	*out = (struct live_text){ 0 };
	if (r->view == LIVE_PROCESSES)
		make_processes(r, out);
	else
		make_report(r, out);
}

static void live_line_fini(struct live_line *line)
{
	free(line->text);
	free(line->filter);
}

void live_text_fini(struct live_text *t)
{
	vec_foreach (&t->lines, line)
		live_line_fini(line);
	vec_fini(&t->lines);
}
