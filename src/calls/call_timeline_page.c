/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The calls as a page (html/calls.html, html/calls.js). What differs from page to page is one
 * payload of JSON, in which no "<" stands: no text of the recording is markup or script.
 */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "calls/call_timeline.h"
#include "picture/html/parts.h"
#include "report/markup.h"

static void call_timeline_page_put_string(const char *text, FILE *out)
{
	struct buf quoted = { 0 };

	json_put_string(&quoted, text);
	fwrite(quoted.data, 1, quoted.len, out);
	buf_fini(&quoted);
}

static void call_timeline_page_put_thread(const struct call_timeline *t,
					  const struct timeline_thread *thread, FILE *out)
{
	uint64_t before = t->first_ns;

	fprintf(out, "{\"pid\":%" PRId32 ",\"tid\":%" PRId32 ",\"comm\":", thread->pid,
		thread->tid);
	call_timeline_page_put_string(thread->comm, out);
	fputs(",\"calls\":[", out);
	for (size_t i = 0; i < thread->n; i++) {
		const struct timeline_call *c = &t->calls.data[thread->first + i];

		fprintf(out, "%s%" PRIu64 ",%" PRIu64 ",%d,%" PRIu32 ",%d", i ? "," : "",
			c->start_ns - before, c->end_ns - c->start_ns, c->depth, c->function,
			c->flags);
		before = c->start_ns;
	}
	fputs("]}", out);
}

/* Times are from the first call on: a browser's numbers end at 2^53. */
static void put_data(const struct call_timeline *t, const struct timeline_words *words, FILE *out)
{
	fprintf(out,
		"{\"begin\":\"%" PRIu64 "\",\"first\":0,\"last\":%" PRIu64 ",\"zero\":%" PRId64
		",\"exact\":%s,"
		"\"left_out\":%" PRIu64 ",\"shortest\":%" PRIu64 ",\"errors\":%" PRIu64
		",\"words\":{\"command\":",
		t->first_ns, t->last_ns - t->first_ns, (int64_t)(t->zero_ns - t->first_ns),
		t->is_exact ? "true" : "false", t->n_left_out, t->shortest_ns, t->n_errors);
	call_timeline_page_put_string(words->command, out);
	fputs(",\"cause\":", out);
	call_timeline_page_put_string(words->cause, out);
	fputs(",\"source\":", out);
	call_timeline_page_put_string(words->source, out);
	fputs("},\"functions\":[", out);
	for (size_t i = 0; i < t->functions.n; i++) {
		fputs(i ? "," : "", out);
		call_timeline_page_put_string(t->functions.data[i], out);
	}
	fputs("],\"work\":[", out);
	for (size_t i = 0; i < t->work.n; i++)
		fprintf(out, "%s%" PRIu64 ",%" PRIu64, i ? "," : "", t->work.data[i].insns,
			t->work.data[i].cycles);
	fputs("],\"marks\":[", out);
	for (size_t i = 0; i < t->marks.n; i++) {
		const struct timeline_mark *m = &t->marks.data[i];

		fprintf(out, "%s{\"tid\":%" PRId32 ",\"time\":%" PRId64 ",\"text\":", i ? "," : "",
			m->tid, (int64_t)(m->time_ns - t->first_ns));
		call_timeline_page_put_string(m->text, out);
		putc('}', out);
	}
	fputs("],\"threads\":[", out);
	for (size_t i = 0; i < t->threads.n; i++) {
		fputs(i ? "," : "", out);
		call_timeline_page_put_thread(t, &t->threads.data[i], out);
	}
	fputs("]}", out);
}

void call_timeline_page(const struct call_timeline *t, const struct timeline_words *words,
			FILE *out)
{
	const char *at = calls_page, *brace;

	while ((brace = strstr(at, "{{"))) {
		fwrite(at, 1, (size_t)(brace - at), out);
		at = strstr(brace, "}}") + 2;
		if (!strncmp(brace, "{{title", 7))
			markup_print_text(words->command, out);
		else if (!strncmp(brace, "{{data", 6))
			put_data(t, words, out);
		else
			fputs(calls_script, out);
	}
	fputs(at, out);
}
