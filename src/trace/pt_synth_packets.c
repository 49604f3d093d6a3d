/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth_packets.h"

#include <assert.h>
#include <linux/perf_event.h>
#include <string.h>

#include "base/clock.h"
#include "pt/packet.h"
#include "trace/pt_synth_insns.h"
#include "trace/pt_synth_sample.h"

void synth_take_item(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;

	if (!q->pebs)
		q->pebs = xcalloc(1, sizeof(*q->pebs));
	pt_pebs_take(q->pebs, e);
}

/* A call chain or last branches of the trace, where the event asks for them and we are asked. */
static void synth_add_stack_to_pebs(struct pt_synth *s, const struct perf_event_attr *attr,
				    struct event *sample)
{
	bool chains = s->itrace.chains, branches = s->itrace.last_branches;

	s->itrace.chains = chains && attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	s->itrace.last_branches =
		branches && attr->sample_type & PERF_SAMPLE_BRANCH_STACK && !s->extra.branches;
	synth_add_stack(s, sample);
	s->itrace.chains = chains;
	s->itrace.last_branches = branches;
}

/* A sample of one event, at the record's own time where it has one. */
static int synth_push_pebs_of(struct pt_synth *s, const struct pt_event *e, int32_t counter)
{
	const struct perf_event_attr *attr = &perfdata_info(s->data)->counters.data[counter].attr;
	const struct pt_pebs *p = s->queue->pebs;
	uint64_t tsc = pt_pebs_tsc(p), ip = pt_pebs_ip(p);
	struct event *sample;
	int r;

	if (synth_skip(s))
		return 0;
	sample = synth_begin_sample(s, counter, tsc ? tsc : e->tsc, ip ? ip : e->pebs.ip, 0);
	sample->sample.period = attr->freq ? 0 : attr->sample_period;
	pt_pebs_fill(p, attr, &s->extra, &s->pebs_room);
	synth_add_stack_to_pebs(s, attr, sample);
	r = synth_push(s, sample);
	s->extra.interrupted = (struct sample_registers){ 0 };
	s->extra.weight = s->extra.transaction = 0;
	return r;
}

int synth_push_pebs(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;
	uint64_t left = q->pebs ? pt_pebs_counters(q->pebs) : 0;
	bool is_known = false;
	int r = 0;

	if (!q->pebs)
		return 0;
	for (; left && s->pebs >= 0 && !r; left &= left - 1) {
		int32_t counter =
			pt_trace_counter(s->trace, (uint32_t)__builtin_ctzll(left), s->span->cpu);

		if (counter < 0)
			break;
		is_known = true;
		r = synth_push_pebs_of(s, e, counter);
	}
	if (!is_known && s->pebs >= 0)
		r = synth_push_pebs_of(s, e, s->pebs);
	pt_pebs_clear(q->pebs);
	return r;
}

static int synth_push_raw(struct pt_synth *s, uint64_t tsc, enum pt_synth_id id, uint64_t ip,
			  size_t size)
{
	struct event *sample;

	assert(size <= PT_SYNTH_RAW_MAX);
	if (s->synths[id] < 0 || (id != PT_SYNTH_CBR && synth_skip(s)))
		return 0;
	sample = synth_begin_sample(s, s->synths[id], tsc, ip, 0);
	s->extra.flags = 0;
	s->extra.raw = s->raw;
	s->extra.raw_size = (uint32_t)size;
	return synth_push(s, sample);
}

static void synth_put32(struct pt_synth *s, size_t at, uint32_t v)
{
	memcpy(s->raw + at, &v, 4);
}

static void synth_put64(struct pt_synth *s, size_t at, uint64_t v)
{
	memcpy(s->raw + at, &v, 8);
}

int synth_push_payload(struct pt_synth *s, uint64_t tsc, enum pt_synth_id id, uint64_t ip,
		       uint32_t flags, uint64_t payload)
{
	synth_put32(s, 0, flags);
	synth_put64(s, 4, payload);
	return synth_push_raw(s, tsc, id, ip, 12);
}

int synth_push_cbr(struct pt_synth *s, const struct pt_event *e)
{
	uint32_t ratio = s->clock.max_ratio, cbr = e->cbr.ratio;
	uint64_t hz = pt_time_tsc(&s->clock, s->clock.time_zero + NS_PER_SECOND);

	if (cbr == s->queue->cbr)
		return 0;
	s->queue->cbr = cbr;
	synth_put32(s, 0, cbr | ratio << 16);
	synth_put32(s, 4, ratio ? (uint32_t)(cbr * (hz / ratio / 1000)) : 0);
	synth_put32(s, 8, 0);
	return synth_push_raw(s, e->tsc, PT_SYNTH_CBR, e->cbr.ip, 12);
}

int synth_push_power(struct pt_synth *s, const struct pt_event *e)
{
	uint64_t ip = e->power.ip, payload = e->power.payload;

	switch (e->power.type) {
	case PT_MWAIT:
		return synth_push_payload(s, e->tsc, PT_SYNTH_MWAIT, ip, 0, payload);
	case PT_PWRE:
		return synth_push_payload(s, e->tsc, PT_SYNTH_PWRE, ip, 0, payload);
	case PT_PWRX:
		return synth_push_payload(s, e->tsc, PT_SYNTH_PWRX, ip, 0, payload);
	case PT_EXSTOP:
		synth_put32(s, 0, e->power.is_exact);
		return synth_push_raw(s, e->tsc, PT_SYNTH_EXSTOP, ip, 4);
	default:
		return 0;
	}
}

/* ---- event trace ---- */

void synth_take_evd(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;

	if (!q->evds)
		q->evds = xcalloc(PT_SYNTH_EVDS, sizeof(*q->evds));
	if (q->n_evds < PT_SYNTH_EVDS)
		q->evds[q->n_evds++] = (struct synth_evd){ e->evd.type, e->evd.payload };
}

int synth_push_cfe(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;
	uint32_t n = q->n_evds;

	synth_put32(s, 0,
		    (e->cfe.type & 31u) | (e->cfe.ip ? 1 << 7 : 0) |
			    (uint32_t)(e->cfe.vector & 0xff) << 8 | n << 16);
	for (uint32_t i = 0; i < n; i++) {
		synth_put64(s, 4 + i * (size_t)16, q->evds[i].type);
		synth_put64(s, 12 + i * (size_t)16, q->evds[i].payload);
	}
	q->n_evds = 0;
	return synth_push_raw(s, e->tsc, PT_SYNTH_EVT, e->cfe.ip, 4 + n * (size_t)16);
}

int synth_push_iflag(struct pt_synth *s, const struct pt_event *e)
{
	struct synth_queue *q = s->queue;
	bool by_branch = e->interrupts.cause == PT_INTERRUPTS_BY_BRANCH;
	struct event *sample;
	int r = 0;

	if (s->passes_insns && !by_branch)
		r = synth_pass_instructions(s, e, 0);
	q->was_iflag = q->iflag;
	q->iflag = e->interrupts.is_on;
	q->changes_iflag = e->interrupts.cause != PT_INTERRUPTS_STATUS;
	q->iflag_ip = by_branch ? 0 : e->interrupts.from;
	if (r || !q->changes_iflag || s->synths[PT_SYNTH_IFLAG] < 0 || synth_skip(s))
		return r;
	sample = synth_begin_sample(s, s->synths[PT_SYNTH_IFLAG], e->tsc, e->interrupts.from,
				    e->interrupts.flags);
	s->extra.addr = e->interrupts.to;
	synth_put32(s, 0, e->interrupts.is_on | by_branch << 1);
	synth_put64(s, 4, e->interrupts.to);
	s->extra.raw = s->raw;
	s->extra.raw_size = 12;
	q->changes_iflag = by_branch;
	return synth_push(s, sample);
}
