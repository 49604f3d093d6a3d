/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "calls/call_timeline.h"
#include "cli/output.h"
#include "trace/call_stack.h"

/* As people read it: "12.250 ms"; with a sign, as a distance: "-12.250 ms". */
static void call_timeline_text_print_time(int64_t ns, bool is_signed, char *text, size_t size)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } };
	double v = (double)(ns < 0 ? -ns : ns);
	size_t i = 0;

	while (i < 3 && v < units[i].ns)
		i++;
	snprintf(text, size, "%s%.*f %s",
		 ns < 0                ? "-"
		 : ns > 0 && is_signed ? "+"
				       : "",
		 i == 3 ? 0 : 3, v / units[i].ns, units[i].unit);
}

/* µ is one column and two bytes. */
static void print_padded(const char *text, int width, FILE *out)
{
	int n = 0;

	for (const char *at = text; *at; at++)
		n += (*at & 0xc0) != 0x80;
	fprintf(out, "%*s%s", n < width ? width - n : 0, "", text);
}

static void print_call(const struct call_timeline *t, const struct timeline_call *c, FILE *out)
{
	char start[32], length[32];

	call_timeline_text_print_time((int64_t)(c->start_ns - t->zero_ns), true, start,
				      sizeof(start));
	call_timeline_text_print_time((int64_t)(c->end_ns - c->start_ns), false, length,
				      sizeof(length));
	print_padded(start, 13, out);
	fprintf(out, " ");
	print_padded(c->flags & CALL_INCOMPLETE ? "?" : length, 12, out);
	output_line(out, "  %*s%s", 2 * MIN(c->depth, 40), "", t->functions.data[c->function]);
}

static void print_marks_until(const struct call_timeline *t, const struct timeline_thread *thread,
			      uint64_t until_ns, size_t *next, FILE *out)
{
	for (; *next < t->marks.n && t->marks.data[*next].time_ns <= until_ns; ++*next) {
		const struct timeline_mark *m = &t->marks.data[*next];
		char when[32];

		if (m->tid != thread->tid)
			continue;
		call_timeline_text_print_time((int64_t)(m->time_ns - t->zero_ns), true, when,
					      sizeof(when));
		print_padded(when, 13, out);
		output_line(out, " ============  %s", m->text);
	}
}

/* Calls from the outermost on that were under way when the first printed one began. */
static void print_open(const struct call_timeline *t, const struct timeline_thread *thread,
		       size_t from, FILE *out)
{
	uint64_t at = t->calls.data[from].start_ns;
	uint16_t depth = 0;

	for (size_t i = thread->first; i < from; i++) {
		const struct timeline_call *c = &t->calls.data[i];

		if (c->end_ns <= at || c->depth != depth)
			continue;
		print_call(t, c, out);
		depth++;
	}
}

static void print_thread(const struct call_timeline *t, const struct timeline_thread *thread,
			 size_t max_lines, FILE *out)
{
	size_t end = thread->first + thread->n, from = thread->first, mark = 0, last = end;

	/* The lines before the mark and, as far as there is room, those behind it. */
	for (size_t i = from; i < end; i++)
		if (t->calls.data[i].start_ns <= t->zero_ns)
			last = i + 1;
	last = MIN(end, last + max_lines / 2);
	if (max_lines && last - from > max_lines)
		from = last - max_lines;
	if (!max_lines)
		last = end;
	fputc('\n', out);
	output_line(out, "thread %" PRId32 " %s", thread->tid, thread->comm);
	fprintf(out, "%13s %12s  %s\n", "TIME", "DURATION", "FUNCTION");
	if (from > thread->first)
		fprintf(out, "%26s  (%zu calls before)\n", "", from - thread->first);
	if (from < end)
		print_open(t, thread, from, out);
	for (size_t i = from; i < last; i++) {
		const struct timeline_call *c = &t->calls.data[i];

		if (i == from)
			while (mark < t->marks.n && t->marks.data[mark].time_ns < c->start_ns)
				mark++;
		print_marks_until(t, thread, c->start_ns - 1, &mark, out);
		print_call(t, c, out);
	}
	if (last == end)
		print_marks_until(t, thread, UINT64_MAX, &mark, out);
	else
		fprintf(out, "%26s  (%zu calls behind)\n", "", end - last);
}

static const struct timeline_thread *choose_thread(const struct call_timeline *t)
{
	const struct timeline_thread *best = NULL;

	vec_foreach (&t->threads, thread) {
		if (t->marks.n && thread->tid == t->marks.data[0].tid && thread->n)
			return thread;
		if (!best || thread->n > best->n)
			best = thread;
	}
	return best;
}

void call_timeline_print(const struct call_timeline *t, const struct timeline_words *words,
			 size_t max_lines, FILE *out)
{
	const struct timeline_thread *chosen = choose_thread(t);
	struct buf others = { 0 };
	char length[32];

	call_timeline_text_print_time((int64_t)(t->last_ns - t->first_ns), false, length,
				      sizeof(length));
	output_line(out, "traced: %s", words->command);
	output_line(out, "kept because: %s", words->cause);
	output_line(out, "by: %s", words->source);
	output_line(out, "%zu call%s of %zu thread%s in %s; times are from %s%s", t->calls.n,
		    t->calls.n == 1 ? "" : "s", t->threads.n, t->threads.n == 1 ? "" : "s", length,
		    t->marks.n ? t->marks.data[0].text : "the end",
		    t->is_exact ? "" : "; calls shorter than a period are missing");
	if (t->n_left_out)
		fprintf(out, "%" PRIu64 " older calls are left out\n", t->n_left_out);
	vec_foreach (&t->threads, thread) {
		if (!thread->n)
			continue;
		if (thread == chosen || !max_lines)
			print_thread(t, thread, max_lines, out);
	}
	if (!max_lines || t->threads.n < 2)
		return;
	buf_str(&others, "other threads:");
	vec_foreach (&t->threads, thread)
		if (thread != chosen)
			buf_printf(&others, " %" PRId32 " %s (%zu calls)", thread->tid,
				   thread->comm, thread->n);
	fputc('\n', out);
	output_line(out, "%s", buf_cstr(&others));
	buf_fini(&others);
}
