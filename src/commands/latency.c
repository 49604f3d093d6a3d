/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/latency.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "calls/call_timeline.h"
#include "calls/latency.h"
#include "cli/output.h"
#include "commands/opening.h"
#include "commands/timeline_files.h"
#include "open/input.h"
#include "pt/flow.h"
#include "replay/archive.h"
#include "replay/replay.h"
#include "script/script.h"

static const struct {
	const char *name;
	void (*print)(const struct latency *l, const struct latency_options *o, FILE *out);
} formats[] = {
	{ "text", latency_print_text },
	{ "csv", latency_print_csv },
	{ "json", latency_print_json },
};

static int print(const struct latency_command *c, const struct latency *l, struct error *err)
{
	struct output out;
	struct latency_options options = { .limit = c->limit };
	int r = output_open(&out, c->output, !c->no_pager, err);

	if (r < 0)
		return r;
	options.width = c->wide || !out.is_terminal ? 0 : output_width(&out);
	options.is_ascii = !output_is_utf8();
	options.is_csv_raw = c->is_csv_raw;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, c->format))
			formats[i].print(l, &options, out.file);
	return output_close(&out, err);
}

static void warn_of_errors(const char *path, uint64_t n)
{
	log_warning("%s: %" PRIu64 " errors in decoding the trace: each cuts all calls of its "
		    "thread ('assay script --itrace=e' shows them)",
		    path, n);
}

static void latency_report_trace(const char *path, struct replay *replay)
{
	const struct pt_flow_stats *stats = replay_trace_stats(replay);
	uint64_t n = 0;

	for (int i = 0; i < N_PT_ERRORS; i++)
		n += stats->errors[i];
	replay_trace_notes(replay, opening_note, (void *)path);
	if (n)
		warn_of_errors(path, n);
}

static void latency_report_time(const char *path, const struct latency *l)
{
	uint64_t calls = 0, ns = 0;

	vec_foreach (&l->rows, row) {
		calls += row->calls;
		ns += row->total_ns;
	}
	if (calls && !ns)
		log_warning("%s: all calls take no time, as the trace has none (perf record -e "
			    "intel_pt/tsc,mtc/)",
			    path);
}

/* As many as a browser draws at once. */
#define MAX_WINDOW_CALLS 200000

static int latency_find_window(const char *text, struct replay *replay, struct time_span *out,
			       struct error *err)
{
	struct script_filter filter = { 0 };
	struct time_span whole = { 0, 0 };
	int r;

	if (script_time_is_share(text))
		replay_time_range(replay, &whole.first_ns, &whole.last_ns);
	r = script_time_parse(&filter, text, &whole, err);
	if (r >= 0 && filter.spans.n != 1)
		r = error_set(err, -EINVAL, "--time '%s': the picture has one window", text);
	if (r >= 0)
		*out = filter.spans.data[0];
	vec_fini(&filter.spans);
	return r;
}

struct thread_ids {
	VEC(int32_t) list;
};

static void thread_ids_fini(struct thread_ids *ids)
{
	vec_fini(&ids->list);
}

static int thread_ids_parse(struct thread_ids *ids, const char *text, struct error *err)
{
	for (const char *at = text; at; at = *at ? at + 1 : NULL) {
		char *end;
		long id = strtol(at, &end, 10);

		if (end == at || (*end && *end != ',') || id < 0 || id > INT32_MAX)
			return error_set(err, -EINVAL, "--tid '%s': a thread is a number, as 12",
					 text);
		vec_push(&ids->list, (int32_t)id);
		at = end;
	}
	return 0;
}

/* Calls over time, of the whole recording or of a window. */
static int latency_draw(const struct latency_command *c, const char *path,
			const struct time_span *window, struct symbolizer *symbols,
			const struct symbolizer_config *places, bool *is_damaged, struct error *err)
{
	const struct timeline_words words = { .command = path,
					      .cause = "",
					      .source = "Intel PT, every call" };
	struct call_timeline_config config = {
		.path = path,
		.symbolizer = symbols,
		.places = places,
		.zero_at_begin = true,
		.window = window,
		.max_calls = window ? MAX_WINDOW_CALLS : 0,
	};
	cleanup(thread_ids_fini) struct thread_ids ids = { 0 };
	struct call_timeline timeline;
	int r = thread_ids_parse(&ids, c->tids, err);

	if (r < 0)
		return r;
	config.tids = ids.list.data;
	config.n_tids = ids.list.n;
	r = call_timeline_read(&config, &timeline, err);

	if (r == -EBADMSG && timeline.calls.n) {
		log_error("report: %s: %s; the picture ends there", path, err->text);
		*is_damaged = true;
		r = 0;
	}
	if (timeline.n_errors)
		warn_of_errors(path, timeline.n_errors);
	if (r >= 0 && c->html)
		r = timeline_write_page(&timeline, &words, c->html, err);
	if (r >= 0 && c->perfetto)
		r = timeline_write_perfetto(&timeline, c->perfetto, err);
	call_timeline_fini(&timeline);
	return r;
}

static int latency_list(const struct latency_command *c, const char *path, struct replay *replay,
			struct symbolizer *symbols, const struct symbolizer_config *places,
			bool *is_damaged, struct error *err)
{
	cleanup(trace_calls_free_at_exit) struct trace_calls *trace = NULL;
	cleanup(latency_fini) struct latency l = { 0 };
	struct error damage = { 0 };
	int r = trace_calls_open(replay, symbols, places, NULL, &trace, err);

	if (r < 0)
		return error_wrap(err, r, "%s", path);
	r = latency_read(&l, trace, &damage);
	if (r < 0 && r != -EBADMSG)
		return error_set(err, r, "%s: %s", path, damage.text);
	latency_report_trace(path, replay);
	latency_report_time(path, &l);
	if (r < 0)
		log_error("report: %s: %s; the report ends there", path, damage.text);
	*is_damaged = r < 0;
	latency_sort(&l, c->sort ? c->sort : "total", err);
	return print(c, &l, err);
}

int latency_report(const struct latency_command *c, bool *is_damaged, struct error *err)
{
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	const char *path = c->input ? c->input : "perf.data", *sort = c->sort ? c->sort : "total";
	struct symbolizer_config places = { 0 };
	struct latency none = { 0 };
	struct time_span window;
	struct archive_places texts;
	int r;

	if (latency_sort(&none, sort, err) < 0)
		return -EINVAL;
	if ((c->time || c->tids) && !c->html && !c->perfetto)
		return error_set(err, -EINVAL, "%s goes with --html or --perfetto",
				 c->time ? "--time" : "--tid");
	r = input_unpacked(c->in, path, &path, err);
	if (r < 0)
		return r;
	if (!replay_is_perfdata(path))
		return error_set(err, -ENODATA,
				 "%s: there is no perf.data; --latency needs a recorded "
				 "processor trace (assay record -e intel_pt//u)",
				 path);
	r = replay_open(path, &replay, err);
	if (r < 0)
		return r;
	if ((c->html || c->perfetto) && !replay_find_trace(replay))
		return error_set(err, -ENODATA,
				 "%s has no Intel PT, so there are no calls to draw ('assay record "
				 "-e intel_pt//u' records a trace)",
				 path);
	r = c->time ? latency_find_window(c->time, replay, &window, err) : 0;
	if (r < 0)
		return r;
	symbols = input_symbolizer(c->in, c->input, c->cache);
	input_places(c->in, c->input, &texts, &places);
	r = c->html || c->perfetto
		    ? latency_draw(c, path, c->time ? &window : NULL, symbols, &places, is_damaged,
				   err)
		    : latency_list(c, path, replay, symbols, &places, is_damaged, err);
	archive_places_fini(&texts);
	return r;
}
