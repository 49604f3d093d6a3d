/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel: it puts records into rings, and trace into AUX areas. */
#include "device.h"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/packet.h"

void wake(struct device *d, int32_t ring)
{
	uint64_t one = 1;

	__atomic_fetch_add(&d->s->n_wakeups, 1, __ATOMIC_RELAXED);
	if (write(FAKE_FD + ring, &one, sizeof(one)) < 0)
		return; /* it is awake */
}

/* The event of a ring that carries the side band. */
static int32_t side_band_of(const struct device *d, int32_t ring)
{
	for (int32_t i = 0; i < (int32_t)d->s->n_events; i++)
		if (d->s->events[i].output == ring && d->s->events[i].attr.task &&
		    d->s->events[i].is_on)
			return i;
	return -1;
}

/* A ring of a thread is that thread's whom the recorder asked for. */
int32_t as_asked(const struct device *d, int32_t ring, int32_t id)
{
	const struct fake_event *r = &d->s->events[ring];

	return r->cpu < 0 && r->pid > 0 && id == d->streams.data[0].tid ? r->pid : id;
}

static void put_side(struct device *d, int32_t ring, const struct side_record *r)
{
	struct perf_event_header h;
	uint8_t record[4600];
	int32_t event = side_band_of(d, ring), pid = as_asked(d, ring, r->pid),
		tid = as_asked(d, ring, r->tid);
	size_t n = r->size;

	if (event < 0 || n > sizeof(record) - 64)
		return;
	memcpy(record, r->bytes, n);
	memcpy(&h, record, sizeof(h));
	/* pid and tid begin the body; of a fork, the parent's stand between. */
	memcpy(record + 8, &pid, 4);
	memcpy(record + (h.type == PERF_RECORD_FORK || h.type == PERF_RECORD_EXIT ? 16 : 12), &tid,
	       4);
	n += fake_trailer(d->s, event, pid, tid, r->time, record + n);
	h.size = (uint16_t)n;
	memcpy(record, &h, sizeof(h));
	fake_put(d->s, d->areas, event, record, n);
}

/* Into the ring's lock, and out again. */
void enter(const struct device *d, int32_t ring)
{
	fake_lock(&d->s->ring_locks[ring]);
}

void leave(const struct device *d, int32_t ring)
{
	fake_unlock(&d->s->ring_locks[ring]);
}

struct player *player_of(struct device *d, size_t stream)
{
	return &d->players.data[stream < d->players.n ? stream : 0];
}

void put_sides(struct device *d, uint64_t until)
{
	for (; d->n_side < d->side.n && d->side.data[d->n_side].time <= until; d->n_side++) {
		const struct side_record *r = &d->side.data[d->n_side];
		int32_t ring = d->players.data[0].ring;

		for (size_t i = 0; i < d->streams.n; i++)
			if (d->streams.data[i].tid == r->tid)
				ring = player_of(d, i)->ring;
		enter(d, ring);
		put_side(d, ring, r);
		leave(d, ring);
	}
}

/* A sample of sched:sched_switch, with the tracepoint's fields as its format has them. */
static void put_switch_event(struct device *d, int32_t ring, const struct stream *s, bool is_out,
			     uint64_t time)
{
	struct __attribute__((packed)) {
		struct perf_event_header h;
		uint64_t id, ip;
		int32_t pid, tid;
		uint64_t time;
		uint32_t cpu, reserved;
		uint64_t period;
		uint32_t raw_size;
		uint16_t common_type;
		uint8_t flags, preempt;
		int32_t common_pid;
		char prev_comm[16];
		int32_t prev_pid, prev_prio;
		int64_t prev_state;
		char next_comm[16];
		int32_t next_pid, next_prio;
		uint32_t padding;
	} r = { .h = { .type = PERF_RECORD_SAMPLE,
		       .misc = PERF_RECORD_MISC_KERNEL,
		       .size = sizeof(r) },
		.pid = is_out ? s->pid : 0,
		.tid = is_out ? s->tid : 0,
		.time = time,
		.cpu = (uint32_t)d->s->events[ring].cpu,
		.period = 1,
		.raw_size = 68,
		.prev_pid = is_out ? s->tid : 0,
		.next_pid = is_out ? 0 : s->tid };

	for (int32_t i = 0; i < (int32_t)d->s->n_events; i++) {
		const struct fake_event *e = &d->s->events[i];

		if (e->output != ring || e->attr.type != PERF_TYPE_TRACEPOINT || !e->is_on ||
		    e->attr.sample_type != (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP |
					    PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
					    PERF_SAMPLE_PERIOD | PERF_SAMPLE_RAW))
			continue;
		r.id = fake_id(i);
		r.common_type = (uint16_t)e->attr.config;
		fake_put(d->s, d->areas, i, (const uint8_t *)&r, sizeof(r));
	}
}

/* The thread comes to the CPU, or leaves it. */
void put_switch(struct device *d, int32_t ring, const struct stream *s, bool is_out, uint64_t time)
{
	int32_t event = side_band_of(d, ring);
	bool is_wide = event >= 0 && d->s->events[event].pid < 0;
	struct perf_event_header h = { .type = is_wide ? PERF_RECORD_SWITCH_CPU_WIDE
						       : PERF_RECORD_SWITCH,
				       .misc = is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0 };
	uint8_t record[128] = { 0 };
	size_t n = sizeof(h) + (is_wide ? 8 : 0); /* the idle thread before and after it */

	put_switch_event(d, ring, s, is_out, time);
	if (event < 0 || !d->s->events[event].attr.context_switch)
		return;
	n += fake_trailer(d->s, event, s->pid, s->tid, time, record + n);
	h.size = (uint16_t)n;
	memcpy(record, &h, sizeof(h));
	fake_put(d->s, d->areas, event, record, n);
}

bool is_traced(const struct device *d, int32_t ring)
{
	for (uint32_t i = 0; i < d->s->n_events; i++) {
		const struct fake_event *e = &d->s->events[i];

		if (e->output == ring && e->attr.type == FAKE_PMU && e->is_open && e->is_on)
			return true;
	}
	return false;
}

uint64_t room_of(const struct device *d, int32_t ring)
{
	const struct fake_event *r = &d->s->events[ring];
	uint64_t tail = __atomic_load_n(&fake_page(d->areas, ring)->aux_tail, __ATOMIC_ACQUIRE);

	return r->aux_is_writable ? r->aux_bytes - (r->aux_head - tail) : UINT64_MAX;
}

static void store(struct player *p, const uint8_t *bytes, size_t size)
{
	struct fake_event *r = &p->d->s->events[p->ring];
	struct perf_event_mmap_page *page = fake_page(p->d->areas, p->ring);
	uint8_t *area = (uint8_t *)page + page->aux_offset;

	for (size_t done = 0; done < size;) {
		size_t at = (r->aux_head + done) & (r->aux_bytes - 1);
		size_t n = MIN(size - done, r->aux_bytes - at);

		memcpy(area + at, bytes + done, n);
		done += n;
	}
	r->aux_head += size;
	p->stored += size;
}

static uint64_t watermark_of(const struct device *d, int32_t ring)
{
	const struct fake_event *r = &d->s->events[ring];
	uint64_t asked = d->s->events[r->tracer].attr.aux_watermark;

	return asked ? asked : r->aux_bytes / 2;
}

static void switch_off(struct device *d, int32_t ring)
{
	for (uint32_t i = 0; i < d->s->n_events; i++)
		if (d->s->events[i].output == ring && d->s->events[i].attr.type == FAKE_PMU)
			d->s->events[i].is_on = false;
}

/*
 * A piece into the area: what finds no room is cut off, wherever that is, and tracing ends. True:
 * the reader is to be woken.
 */
bool put_trace(struct player *p, const struct piece *piece)
{
	struct device *d = p->d;
	struct fake_event *r = &d->s->events[p->ring];
	size_t size = MIN(piece->size, room_of(d, p->ring));
	bool is_cut = size < piece->size;

	store(p, p->stream->bytes + piece->at, size);
	p->dropped += piece->size - size;
	if (is_cut) {
		r->aux_flags |= PERF_AUX_FLAG_TRUNCATED;
		switch_off(d, p->ring);
	}
	if (!is_cut &&
	    (!r->aux_is_writable || r->aux_head - r->aux_told < watermark_of(d, p->ring)))
		return false;
	fake_tell_aux(d->s, d->areas, p->ring, as_asked(d, p->ring, p->stream->tid));
	return true;
}

/* The fields in the order that perf_event_open(2) gives for PERF_RECORD_SAMPLE. */
void put_sample(struct device *d, int32_t event, const struct stream *s, uint64_t time)
{
	const struct fake_event *e = &d->s->events[event], *r = &d->s->events[e->output];
	const struct perf_event_mmap_page *page = fake_page(d->areas, e->output);
	const uint8_t *area = (const uint8_t *)page + page->aux_offset;
	uint64_t type = e->attr.sample_type, size = MIN(e->attr.aux_sample_size, r->aux_head);
	struct perf_event_header h = { .type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER };
	static _Thread_local uint8_t record[1 << 16];
	size_t n = sizeof(h);

#define PUT(bit, value)                              \
	if (type & (bit)) {                          \
		uint64_t v_ = (value);               \
		memcpy(record + n, &v_, sizeof(v_)); \
		n += sizeof(v_);                     \
	}
	PUT(PERF_SAMPLE_IDENTIFIER, fake_id(event))
	PUT(PERF_SAMPLE_IP, 0x1000)
	PUT(PERF_SAMPLE_TID, (uint64_t)(uint32_t)s->tid << 32 | (uint32_t)s->pid)
	PUT(PERF_SAMPLE_TIME, time)
	PUT(PERF_SAMPLE_CPU, (uint32_t)r->cpu)
	PUT(PERF_SAMPLE_PERIOD, 1)
	PUT(PERF_SAMPLE_CALLCHAIN, 0)
	PUT(PERF_SAMPLE_AUX, size & ~(uint64_t)7)
#undef PUT
	size &= ~(uint64_t)7;
	for (uint64_t i = 0; type & PERF_SAMPLE_AUX && i < size; i++)
		record[n++] = area[(r->aux_head - size + i) & (r->aux_bytes - 1)];
	h.size = (uint16_t)n;
	memcpy(record, &h, sizeof(h));
	fake_put(d->s, d->areas, event, record, n);
}

bool put_samples(struct player *p, uint64_t time)
{
	struct device *d = p->d;
	bool is_any = false;

	if (p->n_pieces % d->sample_each)
		return false;
	for (int32_t i = 0; i < (int32_t)d->s->n_events; i++) {
		const struct fake_event *e = &d->s->events[i];

		if (e->output == p->ring && e->is_open && e->leader >= 0 &&
		    d->s->events[e->leader].is_on) {
			put_sample(d, i, p->stream, time);
			is_any = true;
		}
	}
	return is_any;
}
