/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/database/sql_trace.h"

#include <errno.h>

#include "base/build_id.h"
#include "base/error.h"
#include "calls/trace_calls.h"
#include "event/event.h"
#include "export/export.h"
#include "export/names.h"
#include "symbol/symbols.h"

/*
 * Reads the trace once for each table, because a database takes the rows of one table at a time.
 * Both passes give the same numbers to names, because both read every branch, or neither does.
 */
struct filler {
	struct trace_calls_sink sink; /* first: the sink is also this */
	struct sql_out *out;
	uint64_t n;
};

static void sql_trace_put_int(struct sql_out *out, int64_t v)
{
	out->ops->put_int(out, v);
}

/* 0 is none */
static void sql_trace_put_id(struct sql_out *out, uint64_t id)
{
	if (id)
		sql_trace_put_int(out, (int64_t)id);
	else
		out->ops->put_null(out);
}

static void sql_trace_put_call(struct trace_calls_sink *sink, const struct trace_call *call)
{
	struct sql_out *out = ((struct filler *)sink)->out;

	sql_trace_put_int(out, (int64_t)call->id);
	sql_trace_put_id(out, call->parent_id);
	sql_trace_put_int(out, call->path);
	sql_trace_put_int(out, call->pid);
	sql_trace_put_int(out, call->tid);
	sql_trace_put_int(out, (int64_t)call->start_ns);
	sql_trace_put_int(out, (int64_t)call->end_ns);
	sql_trace_put_int(out, (int64_t)call->from);
	sql_trace_put_int(out, (int64_t)call->branches);
	sql_trace_put_int(out, (int64_t)call->insns);
	sql_trace_put_int(out, (int64_t)call->cycles);
	sql_trace_put_int(out, call->flags);
	out->ops->end_row(out);
}

static void no_call(struct trace_calls_sink *sink, const struct trace_call *call)
{
	(void)sink;
	(void)call;
}

static void sql_trace_put_branch(struct trace_calls_sink *sink, const struct event *e,
				 uint32_t from, uint32_t to)
{
	struct filler *f = (struct filler *)sink;
	const struct sample_extra *x = e->sample.extra;

	sql_trace_put_int(f->out, (int64_t)f->n++);
	sql_trace_put_int(f->out, (int64_t)e->time_ns);
	sql_trace_put_int(f->out, e->pid);
	sql_trace_put_int(f->out, e->tid);
	if (e->cpu == UINT32_MAX)
		f->out->ops->put_null(f->out);
	else
		sql_trace_put_int(f->out, e->cpu);
	sql_trace_put_int(f->out, (int64_t)e->sample.ip);
	sql_trace_put_int(f->out, from);
	sql_trace_put_int(f->out, (int64_t)x->addr);
	sql_trace_put_int(f->out, to);
	sql_trace_put_int(f->out, (int64_t)x->insns);
	sql_trace_put_int(f->out, (int64_t)x->cycles);
	sql_trace_put_int(f->out, x->flags);
	f->out->ops->end_row(f->out);
}

static void no_branch(struct trace_calls_sink *sink, const struct event *e, uint32_t from,
		      uint32_t to)
{
	(void)sink;
	(void)e;
	(void)from;
	(void)to;
}

/* The reading of the samples has reported damage; here it is the end. */
static void sql_trace_read_trace(struct sql_out *out, const struct export *x,
				 struct trace_calls **trace, struct filler *f)
{
	struct error damage = { 0 };
	int r = x->options->trace->open(x->options->trace, trace, out->err);

	f->out = out;
	if (r >= 0)
		r = trace_calls_run(*trace, &f->sink, &damage);
	if (r < 0 && r != -EBADMSG)
		out->code = r;
}

void fill_calls(struct sql_out *out, const struct export *x)
{
	struct filler f = { .sink.call = sql_trace_put_call };

	if (!x->options->trace)
		return;
	if (x->options->trace->with_branches)
		f.sink.branch = no_branch;
	sql_trace_read_trace(out, x, &x->options->trace->calls, &f);
}

void fill_branches(struct sql_out *out, const struct export *x)
{
	struct filler f = { .sink = { .call = no_call, .branch = sql_trace_put_branch } };
	struct trace_calls *again;

	if (x->options->trace && x->options->trace->with_branches)
		sql_trace_read_trace(out, x, &again, &f);
}

void fill_trace_functions(struct sql_out *out, const struct export *x)
{
	struct trace_calls *trace = x->options->trace ? x->options->trace->calls : NULL;

	for (uint32_t i = 0; trace && i < trace_n_functions(trace) && out->code >= 0; i++) {
		struct trace_function f = trace_function(trace, i);
		const struct image *image = trace_image(trace, f.image);
		char hex[BUILD_ID_HEX_SIZE];

		sql_trace_put_int(out, i);
		out->ops->put_text(out, frame_text(x->frames, trace_function_name(trace, i)));
		out->ops->put_text(out, frame_text(x->frames, i ? image->path : ""));
		build_id_hex(&image->build_id, hex);
		if (i && image->build_id.len)
			out->ops->put_text(out, hex);
		else
			out->ops->put_null(out);
		if (i && f.symbol != NO_SYMBOL) {
			struct symbol s = symbol_get(trace_symbols(trace, f.image), f.symbol);

			sql_trace_put_int(out, (int64_t)s.offset);
			sql_trace_put_int(out, (int64_t)s.size);
		} else {
			out->ops->put_null(out);
			out->ops->put_null(out);
		}
		out->ops->end_row(out);
	}
}

void fill_trace_call_paths(struct sql_out *out, const struct export *x)
{
	struct trace_calls *trace = x->options->trace ? x->options->trace->calls : NULL;
	uint32_t n = trace ? trace_n_paths(trace) : 0;
	cleanup(free_at_exit) uint32_t *depth = xcalloc(n + 1, sizeof(*depth));

	for (uint32_t i = 0; i < n && out->code >= 0; i++) {
		struct trace_path p = trace_path(trace, i);

		depth[i] = i ? depth[p.parent] + 1 : 0;
		sql_trace_put_int(out, i);
		if (i)
			sql_trace_put_int(out, p.parent);
		else
			out->ops->put_null(out);
		if (i)
			sql_trace_put_int(out, p.function);
		else
			out->ops->put_null(out);
		sql_trace_put_int(out, depth[i]);
		out->ops->end_row(out);
	}
}
