/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CSV (RFC 4180, with plain newlines). A line is the weight of a thread, comm, CPU, event and call
 * chain in one second. The chain is one field, folded: outermost frame first, ';' between.
 */
#include <inttypes.h>

#include "base/clock.h"
#include "base/csv.h"
#include "base/reserve.h"
#include "export/export.h"
#include "export/folded.h"
#include "export/names.h"
#include "export/text.h"
#include "store/session.h"

struct csv {
	const struct export *x;
	struct sink *out;
	struct buf chain;
};

static void put_cell(struct csv *w, const char *text)
{
	csv_put_text(&w->out->buf, text, w->x->options->is_csv_raw);
}

static void csv_put_class(struct csv *w, uint32_t group)
{
	const struct profile *p = w->x->profile;
	const struct profile_process *thread =
		&p->threads.data[profile_class_value(p, PROFILE_THREAD, group)];
	const string_id comm = { profile_class_value(p, PROFILE_COMM, group) };
	struct buf *out = &w->out->buf;

	put_cell(w, p->session->info.counters[profile_class_value(p, PROFILE_EVENT, group)].name);
	buf_printf(out, ",%" PRId32 ",%" PRId32 ",", thread->pid, thread->tid);
	put_cell(w, strings_get(&p->comms, comm));
	buf_printf(out, ",%" PRId32 ",", profile_cpu(p, group));
	put_cell(w, frame_image_path(w->x->frames, profile_class_value(p, PROFILE_APP, group)));
}

static void csv_put_code(struct csv *w, uint32_t node)
{
	const struct profile *p = w->x->profile;
	const struct profile_place *place = &p->places.data[p->node_places.data[node]];
	struct buf *out = &w->out->buf;

	put_cell(w, frame_image_path(w->x->frames, p->functions.data[place->function].image));
	buf_u8(out, ',');
	put_cell(w, frame_name(w->x->frames, place->function));
	buf_printf(out, ",0x%" PRIx64 ",", place->offset);
	w->chain.len = 0;
	folded_chain(&w->chain, w->x, node);
	put_cell(w, buf_cstr(&w->chain));
}

static int csv_put_line(void *context, const struct profile_sample *sample)
{
	struct csv *w = context;
	const struct profile *p = w->x->profile;
	uint64_t start = p->session->info.start_ns;
	const string_id cgroup = { profile_class_value(p, PROFILE_CGROUP, sample->group) };
	struct buf *out = &w->out->buf;

	text_scaled(out, sample->time_ns > start ? sample->time_ns - start : 0, NS_PER_SECOND);
	buf_u8(out, ',');
	csv_put_class(w, sample->group);
	buf_u8(out, ',');
	csv_put_code(w, sample->node);
	buf_u8(out, ',');
	text_u64(out, sample->weight.samples);
	buf_u8(out, ',');
	text_u64(out, sample->weight.period);
	buf_u8(out, ',');
	put_cell(w, strings_get(&p->cgroup_texts, cgroup));
	buf_u8(out, '\n');
	sink_step(w->out);
	return sink_failed(w->out); /* which sink_finish() reports */
}

static int write_csv(const struct export *x, struct sink *out, struct error *err)
{
	struct csv w = { .x = x, .out = out };
	int r;

	buf_str(&out->buf, "time,event,pid,tid,comm,cpu,app,image,symbol,offset,stack,samples,"
			   "events,cgroup\n");
	r = profile_each_sample(x->profile, csv_put_line, &w);
	buf_fini(&w.chain);
	return r < 0 ? reserve_error(err) : 0;
}

const struct export_ops export_csv = {
	.target = EXPORT_STREAM,
	.keys = { .key = { PROFILE_APP, PROFILE_THREAD, PROFILE_COMM, PROFILE_CPU, PROFILE_EVENT,
			   PROFILE_CGROUP },
		  .n = 6 },
	.with_chains = true,
	.with_places = true,
	.with_samples = true,
	.write = write_csv,
};
