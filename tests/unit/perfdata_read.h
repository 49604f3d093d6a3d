/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading the bytes of a perf.data file, for its tests. */
#pragma once

#include "perfdata/perfdata.h"

#include <stdio.h>
#include <zstd.h>

#include "base/error.h"
#include "perfdata/record.h"
#include "perfdata_file.h"
#include "unit.h"

/* A sink that keeps what matters of every event. */
struct seen {
	enum event_type type;
	uint32_t counter, cpu, n_callers, n_kernel;
	int32_t pid, tid;
	uint64_t time_ns, ip, period;
	char text[64];
	struct sample_extra extra;
	uint64_t first_register, first_value;
};

struct listener {
	struct event_sink sink;
	VEC(struct seen) seen;
	int refusal;
};

static inline int listen(struct event_sink *sink, const struct event *e)
{
	struct listener *l = (struct listener *)sink;
	struct seen *s = vec_add(&l->seen);
	const char *text = e->type == EVENT_COMM      ? e->comm.name
			   : e->type == EVENT_MAPPING ? e->mapping.path
						      : "";

	*s = (struct seen){
		.type = e->type, .cpu = e->cpu, .pid = e->pid, .tid = e->tid, .time_ns = e->time_ns
	};
	snprintf(s->text, sizeof(s->text), "%s", text);
	if (e->type != EVENT_SAMPLE)
		return l->refusal;
	s->counter = e->sample.counter;
	s->ip = e->sample.ip;
	s->period = e->sample.period;
	s->n_callers = e->sample.n_callers;
	s->n_kernel = e->sample.n_kernel;
	if (e->sample.extra)
		s->extra = *e->sample.extra;
	s->first_register = s->extra.user.n_values ? s->extra.user.values[0] : 0;
	return l->refusal;
}

struct reading_result {
	struct listener l;
	struct perfdata *p;
	struct error err;
	int r;
};

static inline void read_bytes(struct reading_result *out, const void *bytes, size_t size)
{
	struct perfdata_bytes file = { bytes, size, "t" };

	*out = (struct reading_result){ .l = { .sink = { listen } } };
	out->r = perfdata_open(&file, 1, &out->p, &out->err);
	if (out->r >= 0)
		out->r = perfdata_read(out->p, &out->l.sink, &out->err);
}

static inline void read_written(struct reading_result *out, struct writer *w)
{
	if (w->data)
		end_file(w);
	read_bytes(out, w->b.data, w->b.len);
}

static inline void done(struct reading_result *r, struct writer *w)
{
	vec_fini(&r->l.seen);
	perfdata_free(r->p);
	if (w)
		buf_fini(&w->b);
}

static const struct test_attr plain = {
	.type = PERF_TYPE_SOFTWARE, .size = 64, .period = 7, .sample_type = PLAIN_TYPE
};
