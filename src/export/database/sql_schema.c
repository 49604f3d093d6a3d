/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The schema: tables with their fill functions, and the views. docs/sql.md shows queries. The model
 * is the set of queries of perf's export-to-sqlite.py and exported-sql-viewer.py.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "event/loss.h"
#include "export/cgroup_texts.h"
#include "export/database/node_times.h"
#include "export/database/sql.h"
#include "export/database/sql_trace.h"
#include "export/export.h"
#include "export/names.h"
#include "store/session.h"

/* One value after the other. */

static void sql_schema_put_int(struct sql_out *out, int64_t v)
{
	out->ops->put_int(out, v);
}

/* Counts beyond the range of a database become its largest number. */
static void sql_schema_put_count(struct sql_out *out, uint64_t v)
{
	out->ops->put_int(out, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}

static void sql_schema_put_text(struct sql_out *out, const char *text)
{
	out->ops->put_text(out, text);
}

static void sql_schema_put_raw(struct sql_out *out, const struct export *x, const char *text)
{
	sql_schema_put_text(out, frame_text(x->frames, text));
}

/* An index into another table; NO_INDEX is NULL. */
static void sql_schema_put_index(struct sql_out *out, uint32_t i)
{
	if (i == NO_INDEX)
		out->ops->put_null(out);
	else
		sql_schema_put_int(out, i);
}

static void sql_schema_end_row(struct sql_out *out)
{
	out->ops->end_row(out);
}

/* The tables. */

static void sql_schema_put_fact(struct sql_out *out, const struct export *x, const char *key,
				const char *value)
{
	sql_schema_put_text(out, key);
	sql_schema_put_raw(out, x, value);
	sql_schema_end_row(out);
}

static void put_number_fact(struct sql_out *out, const struct export *x, const char *key,
			    uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	sql_schema_put_fact(out, x, key, text);
}

static void sql_schema_fill_session(struct sql_out *out, const struct export *x)
{
	const struct session *s = x->profile->session;
	const struct session_info *i = &s->info;
	const char *const texts[][2] = {
		{ "assay_version", i->version },
		{ "session", s->path },
		{ "command", i->command },
		{ "target", i->target },
		{ "hostname", i->hostname },
		{ "os_release", i->os_release },
		{ "arch", i->arch },
		{ "cpu_model", i->cpu_model },
		{ "collector", i->collector },
		{ "stacks", i->stacks },
		{ "note", i->note },
	};

	put_number_fact(out, x, "schema_version", SQL_SCHEMA_VERSION);
	for (size_t k = 0; k < ARRAY_SIZE(texts); k++)
		sql_schema_put_fact(out, x, texts[k][0], texts[k][1]);
	put_number_fact(out, x, "cpus", i->n_cpus);
	put_number_fact(out, x, "start_unix_ns", i->start_wall_ns);
	put_number_fact(out, x, "duration_ns",
			s->has_end && s->end.end_ns > i->start_ns ? s->end.end_ns - i->start_ns
								  : 0);
	put_number_fact(out, x, "samples_stored", x->profile->n_stored);
	put_number_fact(out, x, "samples_exported", x->profile->n_selected);
	put_number_fact(out, x, "samples_idle_hidden", x->profile->n_idle);
}

static void fill_losses(struct sql_out *out, const struct export *x)
{
	static const char *const kinds[] = {
		[LOSS_LOST] = "lost", [LOSS_UNATTRIBUTED] = "unattributed", [LOSS_NOTE] = "note"
	};

	for (unsigned int i = 0; i < N_LOSS_REASONS; i++) {
		if (!x->profile->losses[i])
			continue;
		sql_schema_put_text(out, loss_texts[i].key);
		sql_schema_put_text(out, kinds[loss_texts[i].kind]);
		sql_schema_put_text(out, loss_texts[i].text);
		sql_schema_put_count(out, x->profile->losses[i]);
		sql_schema_end_row(out);
	}
}

static void fill_events(struct sql_out *out, const struct export *x)
{
	const struct session_info *i = &x->profile->session->info;

	for (uint32_t k = 0; k < i->n_counters; k++) {
		sql_schema_put_int(out, k);
		sql_schema_put_raw(out, x, i->counters[k].name);
		sql_schema_put_raw(out, x, i->counters[k].spec);
		sql_schema_put_raw(out, x, i->counters[k].unit);
		sql_schema_put_count(out, i->counters[k].freq_hz);
		sql_schema_put_count(out, i->counters[k].count);
		sql_schema_end_row(out);
	}
}

static void fill_images(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;

	for (uint32_t i = 0; i < p->images.n; i++) {
		const struct image *image = p->images.data[i].image;
		char hex[BUILD_ID_HEX_SIZE];

		sql_schema_put_int(out, i);
		sql_schema_put_text(out, frame_image_name(x->frames, i));
		sql_schema_put_text(out, frame_image_path(x->frames, i));
		sql_schema_put_text(out, image_kind_keys[image->kind]);
		sql_schema_put_int(out, image_code_mode(image) == CODE_KERNEL);
		build_id_hex(&image->build_id, hex);
		if (image->build_id.len)
			sql_schema_put_text(out, hex);
		else
			out->ops->put_null(out);
		sql_schema_end_row(out);
	}
}

static void fill_symbols(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;

	for (uint32_t i = 0; i < p->functions.n; i++) {
		const struct profile_function *f = &p->functions.data[i];
		struct symbol symbol = { 0 };

		sql_schema_put_int(out, i);
		sql_schema_put_int(out, f->image);
		sql_schema_put_text(out, frame_name(x->frames, i));
		if (f->symbol == NO_SYMBOL) {
			for (int k = 0; k < 3; k++)
				out->ops->put_null(out);
		} else {
			symbol = symbol_get(p->images.data[f->image].table, f->symbol);
			sql_schema_put_text(out, frame_system_name(x->frames, i));
			sql_schema_put_int(out, (int64_t)symbol.offset);
			sql_schema_put_int(out, (int64_t)symbol.size);
		}
		sql_schema_end_row(out);
	}
}

static void fill_processes(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;

	for (uint32_t i = 0; i < p->processes.n; i++) {
		sql_schema_put_int(out, i);
		sql_schema_put_int(out, p->processes.data[i].pid);
		sql_schema_put_raw(out, x, strings_get(&p->comms, p->processes.data[i].comm));
		sql_schema_end_row(out);
	}
}

static void fill_threads(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;
	cleanup(free_at_exit) uint32_t *process = xcalloc(p->threads.n + 1, sizeof(*process));

	for (uint32_t i = 0; i < p->threads.n; i++)
		process[i] = NO_INDEX;
	for (uint32_t g = 0; g < p->n_groups; g++)
		process[profile_class_value(p, PROFILE_THREAD, g)] =
			profile_class_value(p, PROFILE_PROCESS, g);
	for (uint32_t i = 0; i < p->threads.n; i++) {
		sql_schema_put_int(out, i);
		sql_schema_put_index(out, process[i]);
		sql_schema_put_int(out, p->threads.data[i].tid);
		sql_schema_put_raw(out, x, strings_get(&p->comms, p->threads.data[i].comm));
		sql_schema_end_row(out);
	}
}

static void sql_schema_put_cgroup(struct sql_out *out, const struct cgroup_texts *cgroup)
{
	for (int i = 0; i < N_CGROUP_TEXTS; i++)
		if (*cgroup->text[i])
			sql_schema_put_text(out, cgroup->text[i]);
		else
			out->ops->put_null(out);
}

static void fill_classes(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;
	cleanup(free_at_exit) struct cgroup_texts *cgroups = cgroup_texts_new(p, x->frames);

	for (uint32_t g = 0; g < p->n_groups; g++) {
		uint32_t comm = profile_class_value(p, PROFILE_COMM, g);
		uint32_t cpu = profile_class_value(p, PROFILE_CPU, g);

		sql_schema_put_int(out, g);
		sql_schema_put_index(out, profile_class_value(p, PROFILE_EVENT, g));
		sql_schema_put_index(out, profile_class_value(p, PROFILE_THREAD, g));
		sql_schema_put_index(out, profile_class_value(p, PROFILE_APP, g));
		sql_schema_put_raw(out, x, strings_get(&p->comms, (string_id){ comm }));
		sql_schema_put_index(out, cpu == PROFILE_CPU_ALL ? NO_INDEX : cpu);
		sql_schema_put_cgroup(out, &cgroups[profile_class_value(p, PROFILE_CGROUP, g)]);
		sql_schema_end_row(out);
	}
}

static void fill_call_paths(struct sql_out *out, const struct export *x)
{
	const struct profile *p = x->profile;

	for (uint32_t i = 0; i < p->nodes.n && out->code >= 0; i++) {
		const struct profile_node *n = &p->nodes.data[i];
		uint32_t place = i ? p->node_places.data[i] : NO_INDEX;

		sql_schema_put_int(out, i);
		sql_schema_put_index(out, i ? n->parent : NO_INDEX);
		sql_schema_put_index(out, n->function);
		if (place == NO_INDEX)
			out->ops->put_null(out);
		else
			sql_schema_put_int(out, (int64_t)p->places.data[place].offset);
		sql_schema_put_int(out, n->depth);
		sql_schema_end_row(out);
	}
}

struct samples_filler {
	struct sql_out *out;
	uint64_t start_ns;
};

static void put_sample_row(void *context, const struct profile_sample *row)
{
	const struct samples_filler *f = context;
	uint64_t at_ns = MAX(row->time_ns, f->start_ns);

	sql_schema_put_int(f->out, row->node);
	sql_schema_put_int(f->out, (int64_t)(row->time_ns - f->start_ns));
	sql_schema_put_int(f->out, row->group);
	sql_schema_put_count(f->out, row->weight.samples);
	sql_schema_put_count(f->out, row->weight.period);
	/* Seconds of the clock, as the blocks of a session have them. */
	sql_schema_put_count(f->out, at_ns / NS_PER_SECOND - f->start_ns / NS_PER_SECOND);
	sql_schema_put_int(f->out, row->is_exact);
	sql_schema_end_row(f->out);
}

static void fill_samples(struct sql_out *out, const struct export *x)
{
	struct samples_filler f = { out, x->profile->session->info.start_ns };
	int r = node_times_each(x->profile, put_sample_row, &f, out->err);

	if (r < 0 && out->code >= 0)
		out->code = r;
}

const struct sql_table sql_tables[] = {
	{ "session",
	  "facts of the recording",
	  { { "key", SQL_TEXT, NULL, "see docs/sql.md" }, { "value", SQL_TEXT, NULL, "as text" } },
	  sql_schema_fill_session },
	{ "losses",
	  "losses and notes: the reasons for missing numbers",
	  { { "reason", SQL_TEXT, NULL, "a word" },
	    { "kind", SQL_TEXT, NULL,
	      "lost: not among the samples; unattributed: among them; note" },
	    { "description", SQL_TEXT, NULL, "a sentence" },
	    { "count", SQL_INT, NULL, "how many" } },
	  fill_losses },
	{ "events",
	  "what was counted",
	  { { "id", SQL_ID, NULL, "" },
	    { "name", SQL_TEXT, NULL, "cycles, cpu-clock …" },
	    { "spec", SQL_TEXT, NULL, "as requested" },
	    { "unit", SQL_TEXT, NULL, "of periods: events or ns" },
	    { "freq_hz", SQL_INT, NULL, "samples a second; 0 where interval is given" },
	    { "interval", SQL_INT, NULL, "events between two samples; 0 where freq_hz is given" } },
	  fill_events },
	{ "images",
	  "files and other things that hold code",
	  { { "id", SQL_ID, NULL, "" },
	    { "name", SQL_TEXT, NULL, "short: the last part of the path, or more of it" },
	    { "path", SQL_TEXT, NULL, "or the name in its place: [kernel], [vdso] …" },
	    { "kind", SQL_TEXT, NULL, "file, kernel, module, vdso, bpf, jit, named, unknown" },
	    { "is_kernel", SQL_INT, NULL, "1: code of the kernel" },
	    { "build_id", SQL_TEXT, NULL, "hexadecimal; NULL: not known" } },
	  fill_images },
	{ "symbols",
	  "functions that are in some call path",
	  { { "id", SQL_ID, NULL, "" },
	    { "image_id", SQL_INT, "images", "where it is" },
	    { "name", SQL_TEXT, NULL, "demangled; the image in brackets where there is no symbol" },
	    { "mangled", SQL_TEXT, NULL, "as in the symbol table; NULL: there is no symbol" },
	    { "start_offset", SQL_INT, NULL, "in the image" },
	    { "size", SQL_INT, NULL, "bytes" } },
	  fill_symbols },
	{ "processes",
	  "processes that have samples",
	  { { "id", SQL_ID, NULL, "" },
	    { "pid", SQL_INT, NULL, "" },
	    { "comm", SQL_TEXT, NULL, "its most sampled name" } },
	  fill_processes },
	{ "threads",
	  "threads that have samples",
	  { { "id", SQL_ID, NULL, "" },
	    { "process_id", SQL_INT, "processes", "whose it is" },
	    { "tid", SQL_INT, NULL, "" },
	    { "comm", SQL_TEXT, NULL, "its most sampled name" } },
	  fill_threads },
	{ "classes",
	  "keys of samples",
	  { { "id", SQL_ID, NULL, "" },
	    { "event_id", SQL_INT, "events", "what was counted" },
	    { "thread_id", SQL_INT, "threads", "who ran" },
	    { "app_image_id", SQL_INT, "images", "the main executable of the process" },
	    { "comm", SQL_TEXT, NULL, "name of the thread at that time" },
	    { "cpu", SQL_INT, NULL, "NULL: not kept" },
#define X(id, label, attribute, column, help) { column, SQL_TEXT, NULL, help "; NULL: none" },
	    CGROUP_TEXTS(X)
#undef X
	  },
	  fill_classes },
	{ "call_paths",
	  "the call tree: a row is a place, called by its parent",
	  { { "id", SQL_ID, NULL, "0: the root, which is no code" },
	    { "parent_id", SQL_INT, "call_paths", "the caller; NULL: the root" },
	    { "symbol_id", SQL_INT, "symbols", "the function; NULL: the root" },
	    { "code_offset", SQL_INT, NULL,
	      "in the image of the symbol; callers: within the call" },
	    { "depth", SQL_INT, NULL, "0: the root" } },
	  fill_call_paths },
	{ "samples",
	  "samples by call path, time and class",
	  { { "call_path_id", SQL_INT, "call_paths", "where: the innermost frame" },
	    { "time_ns", SQL_INT, NULL, "since the session began; see is_exact" },
	    { "class_id", SQL_INT, "classes", "whose" },
	    { "samples", SQL_INT, NULL, "how many" },
	    { "period", SQL_INT, NULL, "events, or ns, that they stand for" },
	    { "second", SQL_INT, NULL, "of the clock; 0: the one in which the session began" },
	    { "is_exact", SQL_INT, NULL,
	      "1: time_ns is their own; 0: only the block of time is known that begins there" } },
	  fill_samples,
	  "call_path_id, time_ns, class_id" },
	{ "calls",
	  "calls of a processor trace, each one; without a trace there are none",
	  { { "id", SQL_ID, NULL, "in the order of the calls, from 1" },
	    { "parent_id", SQL_INT, NULL, "the call that it was made from; NULL: not known" },
	    { "call_path_id", SQL_INT, "trace_call_paths", "the function and its callers" },
	    { "pid", SQL_INT, NULL, "process" },
	    { "tid", SQL_INT, NULL, "thread" },
	    { "call_time", SQL_INT, NULL, "ns on the clock of the recording" },
	    { "return_time", SQL_INT, NULL, "ns; of an incomplete call: when that was seen" },
	    { "from_address", SQL_INT, NULL, "of the call instruction; 0: not known" },
	    { "branch_count", SQL_INT, NULL, "branches taken meanwhile by the thread" },
	    { "insn_count", SQL_INT, NULL, "instructions, where the trace has cycles (CYC)" },
	    { "cyc_count", SQL_INT, NULL, "cycles, as above" },
	    { "flags", SQL_INT, NULL,
	      "1 its call, 2 its return was not seen; 4 the trace was cut; 8 open at its end; "
	      "16 a jump; 32 by the kernel" } },
	  fill_calls },
	{ "branches",
	  "taken branches of a processor trace, if requested",
	  { { "id", SQL_ID, NULL, "in the order of time" },
	    { "time", SQL_INT, NULL, "ns on the clock of the recording" },
	    { "pid", SQL_INT, NULL, "process" },
	    { "tid", SQL_INT, NULL, "thread" },
	    { "cpu", SQL_INT, NULL, "NULL: not known" },
	    { "from_address", SQL_INT, NULL, "0: tracing begins" },
	    { "from_function_id", SQL_INT, "trace_functions", "whose code that is" },
	    { "to_address", SQL_INT, NULL, "0: tracing ends" },
	    { "to_function_id", SQL_INT, "trace_functions", "whose code that is" },
	    { "insn_count", SQL_INT, NULL, "since the last that had any (CYC)" },
	    { "cyc_count", SQL_INT, NULL, "as above" },
	    { "flags", SQL_INT, NULL,
	      "1 branch, 2 call, 4 return, 8 conditional, 16 system call, 32 asynchronous, "
	      "64 interrupt, 128 transaction abort, 256 trace begins, 512 trace ends, 1024 in "
	      "transaction" } },
	  fill_branches },
	{ "trace_functions",
	  "functions of a processor trace; 0 is code that no image covers",
	  { { "id", SQL_ID, NULL, "see above" },
	    { "name", SQL_TEXT, NULL, "demangled" },
	    { "image", SQL_TEXT, NULL, "its file" },
	    { "build_id", SQL_TEXT, NULL, "of the file; NULL: not known" },
	    { "start_offset", SQL_INT, NULL, "in the file; NULL: no symbol" },
	    { "size", SQL_INT, NULL, "in bytes" } },
	  fill_trace_functions },
	{ "trace_call_paths",
	  "who called whom, exactly; 0 is the root, which is no code",
	  { { "id", SQL_ID, NULL, "parents come first" },
	    { "parent_id", SQL_INT, "trace_call_paths", "the caller" },
	    { "function_id", SQL_INT, "trace_functions", "the function" },
	    { "depth", SQL_INT, NULL, "calls from the root" } },
	  fill_trace_call_paths },
	{ 0 },
};

/*
 * The views. An inclusive weight sums all samples that have a function in their call path. Each
 * sample counts once, however often the function is there.
 */
#define PATHS_UP                                                                   \
	"WITH RECURSIVE\n"                                                         \
	"  own (event_id, leaf_id, samples, period) AS (\n"                        \
	"    SELECT c.event_id, s.call_path_id, SUM(s.samples), SUM(s.period)\n"   \
	"    FROM samples s JOIN classes c ON c.id = s.class_id\n"                 \
	"    GROUP BY c.event_id, s.call_path_id),\n"                              \
	"  up (event_id, leaf_id, path_id, samples, period) AS (\n"                \
	"    SELECT event_id, leaf_id, leaf_id, samples, period FROM own\n"        \
	"    UNION ALL\n"                                                          \
	"    SELECT up.event_id, up.leaf_id, p.parent_id, up.samples, up.period\n" \
	"    FROM up JOIN call_paths p ON p.id = up.path_id WHERE p.parent_id IS NOT NULL)\n"

const struct sql_view sql_views[] = {
	{ "samples_view", "samples with everything that they refer to in words",
	  "SELECT s.second, s.time_ns, s.is_exact, e.name AS event, pr.pid, t.tid, c.comm, c.cpu, "
	  "a.name AS app,\n"
	  "  i.name AS image, i.is_kernel, y.name AS symbol, p.code_offset, s.call_path_id,\n"
	  "  s.samples, s.period\n"
	  "FROM samples s JOIN classes c ON c.id = s.class_id JOIN events e ON e.id = c.event_id\n"
	  "  JOIN threads t ON t.id = c.thread_id JOIN processes pr ON pr.id = t.process_id\n"
	  "  LEFT JOIN images a ON a.id = c.app_image_id\n"
	  "  JOIN call_paths p ON p.id = s.call_path_id LEFT JOIN symbols y ON y.id = p.symbol_id\n"
	  "  LEFT JOIN images i ON i.id = y.image_id" },
	{ "top_functions", "weights of each function itself",
	  "SELECT e.name AS event, y.name AS symbol, i.name AS image, SUM(s.samples) AS samples,\n"
	  "  SUM(s.period) AS period\n"
	  "FROM samples s JOIN classes c ON c.id = s.class_id JOIN events e ON e.id = c.event_id\n"
	  "  JOIN call_paths p ON p.id = s.call_path_id JOIN symbols y ON y.id = p.symbol_id\n"
	  "  JOIN images i ON i.id = y.image_id\n"
	  "GROUP BY e.id, e.name, y.id, y.name, i.name" },
	{ "top_images", "weights of each file",
	  "SELECT event, image, SUM(samples) AS samples, SUM(period) AS period\n"
	  "FROM top_functions GROUP BY event, image" },
	{ "top_threads", "weights of each thread",
	  "SELECT e.name AS event, pr.pid, t.tid, t.comm, SUM(s.samples) AS samples,\n"
	  "  SUM(s.period) AS period\n"
	  "FROM samples s JOIN classes c ON c.id = s.class_id JOIN events e ON e.id = c.event_id\n"
	  "  JOIN threads t ON t.id = c.thread_id JOIN processes pr ON pr.id = t.process_id\n"
	  "GROUP BY e.id, e.name, pr.pid, t.id, t.tid, t.comm" },
	{ "per_second", "samples over time",
	  "SELECT e.name AS event, s.second, SUM(s.samples) AS samples, SUM(s.period) AS period\n"
	  "FROM samples s JOIN classes c ON c.id = s.class_id JOIN events e ON e.id = c.event_id\n"
	  "GROUP BY e.id, e.name, s.second" },
	{ "inclusive", "weights of each function with all that it called",
	  PATHS_UP
	  "SELECT e.name AS event, y.name AS symbol, i.name AS image, SUM(d.samples) AS samples,\n"
	  "  SUM(d.period) AS period\n"
	  "FROM (SELECT DISTINCT up.event_id, up.leaf_id, p.symbol_id, up.samples, up.period\n"
	  "      FROM up JOIN call_paths p ON p.id = up.path_id) d\n"
	  "  JOIN events e ON e.id = d.event_id JOIN symbols y ON y.id = d.symbol_id\n"
	  "  JOIN images i ON i.id = y.image_id\n"
	  "GROUP BY e.id, e.name, y.id, y.name, i.name" },
	{ "callers_callees", "who called whom, with the weight below the call",
	  PATHS_UP
	  "SELECT e.name AS event, y.name AS caller, z.name AS callee, SUM(d.samples) AS samples,\n"
	  "  SUM(d.period) AS period\n"
	  "FROM (SELECT DISTINCT up.event_id, up.leaf_id, q.symbol_id AS caller_id,\n"
	  "        p.symbol_id AS callee_id, up.samples, up.period\n"
	  "      FROM up JOIN call_paths p ON p.id = up.path_id\n"
	  "        JOIN call_paths q ON q.id = p.parent_id) d\n"
	  "  JOIN events e ON e.id = d.event_id JOIN symbols y ON y.id = d.caller_id\n"
	  "  JOIN symbols z ON z.id = d.callee_id\n"
	  "GROUP BY e.id, e.name, y.id, y.name, z.id, z.name" },
	{ "calls_view", "calls with their function and caller in words",
	  "SELECT c.id, c.parent_id, c.pid, c.tid, c.call_time, c.return_time,\n"
	  "  c.return_time - c.call_time AS duration, f.name AS function, f.image,\n"
	  "  g.name AS caller, p.depth, c.branch_count, c.insn_count, c.cyc_count, c.flags,\n"
	  "  c.call_path_id\n"
	  "FROM calls c JOIN trace_call_paths p ON p.id = c.call_path_id\n"
	  "  JOIN trace_functions f ON f.id = p.function_id\n"
	  "  LEFT JOIN trace_call_paths q ON q.id = p.parent_id\n"
	  "  LEFT JOIN trace_functions g ON g.id = q.function_id" },
	{ "call_durations", "of each function the calls that were seen from begin to end, in ns",
	  "SELECT function, image, COUNT(*) AS calls, SUM(duration) AS total,\n"
	  "  MIN(duration) AS min, SUM(duration) / COUNT(*) AS mean, MAX(duration) AS max\n"
	  "FROM calls_view WHERE flags % 16 = 0 GROUP BY function, image" },
	{ "branches_view", "branches with the functions of both ends in words",
	  "SELECT b.id, b.time, b.pid, b.tid, b.cpu, b.from_address, f.name AS from_function,\n"
	  "  b.to_address, t.name AS to_function, b.insn_count, b.cyc_count, b.flags\n"
	  "FROM branches b JOIN trace_functions f ON f.id = b.from_function_id\n"
	  "  JOIN trace_functions t ON t.id = b.to_function_id" },
	{ 0 },
};
