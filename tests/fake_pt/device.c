/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake processor with its driver. Plays a recording of the generator into the rings and AUX
 * areas of preload.c's events, as kernel/events/ring_buffer.c and the driver of Intel PT do.
 *
 *   FAKE_PT_TRACE    the recording; the trace of thread n goes to ring n, so each thread
 *                    needs a CPU
 *   FAKE_PT_DIR      the folder for "done", when all was played, and for "stats" at the end
 *   FAKE_PT_RATE     MB/s of a ring; 0 or none: as fast as the reader, without losses
 *   FAKE_PT_SECONDS  plays so long, again and again from the first trace on
 *   FAKE_PT_STEPS    plays in so many parts; before each but the first, makes "step.N" and waits
 *                    for "go.N"; new rings may come meanwhile, and "rings.N" counts them
 *   FAKE_PT_FIRE     before this step all uprobes are hit, on the CPU whose turn it is
 *   FAKE_PT_SAMPLE   one sample of the sampling events for so many PSBs (default 4)
 *
 * It plays from PSB to PSB: a trace that was switched off can begin again there.
 */
#include "shared.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/packet.h"

enum {
	RECORD_AUXTRACE = 71,
	TRAILER = 24, /* of the generator's records: ids, time, event */
};

struct piece {
	size_t at, size; /* in its stream's bytes */
	uint64_t tsc;
};

/* One thread's trace. */
struct stream {
	int32_t pid, tid;
	const uint8_t *bytes;
	VEC(struct piece) pieces;
};

struct side_record {
	const uint8_t *bytes; /* without its trailer */
	size_t size;
	uint64_t time;
	int32_t pid, tid;
};

/* What plays into a ring: a processor. */
struct player {
	struct device *d;
	int32_t ring; /* the event that owns it */
	struct stream *stream;
	size_t next; /* piece of it */
	pthread_t thread;
	int64_t credit; /* bytes that it may play */
	uint64_t asked_ns;
	uint64_t produced, stored, dropped, n_pieces;
};

struct device {
	struct fake_shared *s;
	uint8_t *areas;
	int alive;
	uint64_t rate, seconds, steps, fire, sample_each;
	struct file_mapping file;
	struct perfdata *data;
	VEC(struct stream) streams;
	VEC(struct side_record) side;
	size_t n_side;
	uint64_t end;               /* of the recording's time */
	VEC(struct player) players; /* of the rings that have an area */
	uint64_t start_ns, played_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static void nap(uint64_t ns)
{
	nanosleep(&(struct timespec){ 0, (long)ns }, NULL);
}

static bool is_recorder_gone(const struct device *d)
{
	struct pollfd p = { .fd = d->alive, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static uint64_t setting(const char *name, uint64_t usual)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : usual;
}

static void path_of(char *path, size_t size, const char *name, uint64_t n)
{
	if (n == UINT64_MAX)
		snprintf(path, size, "%s/%s", getenv("FAKE_PT_DIR"), name);
	else
		snprintf(path, size, "%s/%s.%" PRIu64, getenv("FAKE_PT_DIR"), name, n);
}

static void make_file(const char *name, uint64_t n, const char *text)
{
	char path[4096];

	path_of(path, sizeof(path), name, n);
	file_replace(path, text, strlen(text), NULL);
}

/* ---- the recording ---- */

/* The time of the PSB+ at `at`; `otherwise` where it tells none. */
static uint64_t tsc_at(const uint8_t *at, const uint8_t *end, uint64_t otherwise)
{
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;
	int n;

	while ((n = pt_packet_read(at, end, &block, &p)) > 0 && p.type != PT_PSBEND) {
		if (p.type == PT_TSC)
			return p.payload;
		at += n;
	}
	return otherwise;
}

static void cut(struct stream *s, size_t size)
{
	const uint8_t *end = s->bytes + size, *at = s->bytes;
	uint64_t tsc = 0;

	while (at < end) {
		const uint8_t *next = pt_find_psb(at + PT_PSB_SIZE, end);

		tsc = tsc_at(pt_find_psb(at, end), end, tsc);
		vec_push(&s->pieces,
			 ((struct piece){ (size_t)(at - s->bytes), (size_t)(next - at), tsc }));
		at = next;
	}
}

static int keep(void *context, const struct perfdata_record *r)
{
	struct device *d = context;
	struct side_record side = { .bytes = r->bytes, .time = r->time_ns };

	if (r->type == RECORD_AUXTRACE) {
		struct stream *s = vec_add(&d->streams);

		memcpy(&s->tid, r->bytes + 36, 4);
		s->pid = s->tid;
		s->bytes = r->payload;
		cut(s, r->payload_size);
	} else if (r->type < 64 && r->type != PERF_RECORD_AUX && r->size > TRAILER) {
		side.size = r->size - TRAILER;
		memcpy(&side.pid, r->bytes + side.size, 4);
		memcpy(&side.tid, r->bytes + side.size + 4, 4);
		vec_push(&d->side, side);
	}
	return 0;
}

static void load(struct device *d)
{
	struct error err = { 0 };
	struct perfdata_bytes bytes = { .name = getenv("FAKE_PT_TRACE") };

	if (file_map(bytes.name, &d->file, &err) < 0)
		goto failed;
	bytes.base = d->file.base;
	bytes.size = d->file.size;
	if (perfdata_open(&bytes, 1, &d->data, &err) < 0 ||
	    perfdata_each_record(d->data, keep, d, &err) < 0)
		goto failed;
	if (d->side.n)
		d->end = d->side.data[d->side.n - 1].time + 1000000;
	vec_foreach (&d->streams, s)
		vec_foreach (&d->side, r)
			if (r->tid == s->tid)
				s->pid = r->pid;
	return;
failed:
	fprintf(stderr, "fake device: %s\n", err.text);
	exit(1);
}

/* ---- the kernel ---- */

static void wake(struct device *d, int32_t ring)
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
static int32_t as_asked(const struct device *d, int32_t ring, int32_t id)
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
static void enter(const struct device *d, int32_t ring)
{
	fake_lock(&d->s->ring_locks[ring]);
}

static void leave(const struct device *d, int32_t ring)
{
	fake_unlock(&d->s->ring_locks[ring]);
}

static struct player *player_of(struct device *d, size_t stream)
{
	return &d->players.data[stream < d->players.n ? stream : 0];
}

static void put_sides(struct device *d, uint64_t until)
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
static void put_switch(struct device *d, int32_t ring, const struct stream *s, bool is_out,
		       uint64_t time)
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

static bool is_traced(const struct device *d, int32_t ring)
{
	for (uint32_t i = 0; i < d->s->n_events; i++) {
		const struct fake_event *e = &d->s->events[i];

		if (e->output == ring && e->attr.type == FAKE_PMU && e->is_open && e->is_on)
			return true;
	}
	return false;
}

static uint64_t room_of(const struct device *d, int32_t ring)
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
static bool put_trace(struct player *p, const struct piece *piece)
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
static void put_sample(struct device *d, int32_t event, const struct stream *s, uint64_t time)
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

static bool put_samples(struct player *p, uint64_t time)
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

/* ---- playing ---- */

/*
 * Whether a ring is due. It gets the bytes of its rate since the last time, but at most half of its
 * area. So a device that was off the CPU for a while produces less, and no burst.
 */
static bool is_due(struct player *p)
{
	int64_t most = (int64_t)p->d->s->events[p->ring].aux_bytes / 2;
	uint64_t now = now_ns();

	if (!p->d->rate)
		return true;
	p->credit += (int64_t)((now - p->asked_ns) * p->d->rate / 1000);
	p->credit = MIN(p->credit, most);
	p->asked_ns = now;
	return p->credit > 0;
}

/* Without a rate nothing is lost: the reader is waited for. In the lock at the end; else false. */
static bool wait_for_room(struct player *p, size_t size)
{
	struct device *d = p->d;

	for (;;) {
		bool is_told = false;

		enter(d, p->ring);
		if (d->rate || (is_traced(d, p->ring) && room_of(d, p->ring) >= size))
			return true;
		if (is_traced(d, p->ring) &&
		    d->s->events[p->ring].aux_head != d->s->events[p->ring].aux_told) {
			fake_tell_aux(d->s, d->areas, p->ring,
				      as_asked(d, p->ring, p->stream->tid));
			is_told = true;
		}
		leave(d, p->ring);
		if (is_told)
			wake(d, p->ring);
		if (is_recorder_gone(d))
			return false;
		nap(200000);
	}
}

/* One piece; false: the recorder has gone. */
static bool play(struct player *p, const struct piece *piece)
{
	bool wakes = false;

	if (!wait_for_room(p, piece->size))
		return false;
	p->produced += piece->size;
	p->credit -= (int64_t)piece->size;
	p->n_pieces++;
	if (is_traced(p->d, p->ring))
		wakes = put_trace(p, piece);
	else
		p->dropped += piece->size;
	wakes |= put_samples(p, piece->tsc + 1);
	leave(p->d, p->ring);
	if (wakes)
		wake(p->d, p->ring);
	return true;
}

static bool has_player(const struct device *d, int32_t ring)
{
	vec_foreach (&d->players, p)
		if (p->ring == ring)
			return true;
	return false;
}

/* All that there are, or that came since the last time. */
static void find_rings(struct device *d)
{
	fake_lock(&d->s->lock);
	for (int32_t i = 0; i < (int32_t)d->s->n_events; i++)
		if (d->streams.n && d->s->events[i].is_open && d->s->events[i].aux_bytes &&
		    !has_player(d, i))
			vec_push(&d->players,
				 ((struct player){
					 .d = d,
					 .ring = i,
					 .stream = &d->streams.data[d->players.n % d->streams.n],
					 .asked_ns = now_ns() }));
	fake_unlock(&d->s->lock);
}

static void hit_uprobes(struct player *p, uint64_t time)
{
	struct fake_shared *s = p->d->s;

	enter(p->d, p->ring);
	for (int32_t i = 0; i < (int32_t)s->n_events; i++) {
		struct fake_event *e = &s->events[i];

		if (e->output != p->ring || e->attr.type != FAKE_UPROBE || !e->is_open || !e->is_on)
			continue;
		e->counted++;
		put_sample(p->d, i, p->stream, time);
	}
	leave(p->d, p->ring);
	wake(p->d, p->ring);
}

static void wait_for_step(struct device *d, uint64_t step)
{
	char path[4096];

	make_file("step", step, "");
	path_of(path, sizeof(path), "go", step);
	while (access(path, F_OK) < 0 && !is_recorder_gone(d)) {
		size_t n = d->players.n;

		find_rings(d);
		if (d->players.n > n)
			make_file("rings", d->players.n, "");
		nap(1000000);
	}
}

/* The thread whose next piece is the earliest; -1: all were played. */
static int first_stream(const struct device *d, const size_t *next)
{
	uint64_t tsc = UINT64_MAX;
	int first = -1;

	for (size_t i = 0; i < d->streams.n; i++) {
		const struct stream *s = &d->streams.data[i];

		if (next[i] < s->pieces.n && (first < 0 || s->pieces.data[next[i]].tsc < tsc)) {
			tsc = s->pieces.data[next[i]].tsc;
			first = (int)i;
		}
	}
	return first;
}

/* All threads' traces once, the earliest piece first, with their side band. */
static void play_once(struct device *d)
{
	cleanup(free_at_exit) size_t *next = xcalloc(d->streams.n, sizeof(*next));
	uint64_t total = 0, done = 0, step = 1;
	int at;

	vec_foreach (&d->streams, s)
		total += s->pieces.n;
	while ((at = first_stream(d, next)) >= 0) {
		struct player *p = player_of(d, (size_t)at);
		const struct piece *piece;

		p->stream = &d->streams.data[at];
		piece = &p->stream->pieces.data[next[at]];
		if (d->steps > 1 && done * d->steps >= step * total) {
			if (step == d->fire)
				hit_uprobes(p, piece->tsc);
			wait_for_step(d, step++);
		}
		while (!is_due(p))
			nap(100000);
		d->s->now = piece->tsc;
		put_sides(d, piece->tsc);
		if (!next[at]) {
			enter(d, p->ring);
			put_switch(d, p->ring, p->stream, false, piece->tsc - 1);
			leave(d, p->ring);
		}
		if (!play(p, piece))
			return;
		done++;
		next[at]++;
	}
	put_sides(d, UINT64_MAX);
}

/* Pins the device to its CPU. While something else runs there, it does not trace. */
static void stay_on_cpu(const struct player *p)
{
	int cpu = p->d->s->events[p->ring].cpu;
	cpu_set_t one;

	if (cpu < 0 || cpu >= CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *play_again_and_again(void *context)
{
	struct player *p = context;
	uint64_t until = p->d->start_ns + p->d->seconds * 1000000000ULL;

	stay_on_cpu(p);
	while (now_ns() < until && !is_recorder_gone(p->d)) {
		while (is_due(p))
			if (!play(p, &p->stream->pieces.data[p->next++ % p->stream->pieces.n]))
				return NULL;
		nap(200000);
	}
	return NULL;
}

static void play_on_all(struct device *d)
{
	vec_foreach (&d->players, p)
		if (pthread_create(&p->thread, NULL, play_again_and_again, p) != 0)
			abort();
	vec_foreach (&d->players, p)
		pthread_join(p->thread, NULL);
}

/* The last threads to leave do so behind all that they ran. */
static void tell_all(struct device *d)
{
	for (size_t i = 0; i < d->players.n; i++) {
		struct player *p = &d->players.data[i];
		struct stream *s = &d->streams.data[i % d->streams.n];

		enter(d, p->ring);
		fake_tell_aux(d->s, d->areas, p->ring, as_asked(d, p->ring, s->tid));
		if (i < d->streams.n)
			put_switch(d, p->ring, s, true, d->end);
		leave(d, p->ring);
		wake(d, p->ring);
	}
}

/* ---- from start to end ---- */

static bool has_program_begun(const struct device *d, int32_t pid)
{
	char path[64], own[4096], its[4096];
	ssize_t n, m;

	snprintf(path, sizeof(path), "/proc/%d/exe", d->s->recorder);
	n = readlink(path, own, sizeof(own));
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	m = readlink(path, its, sizeof(its));
	return m < 0 || n != m || memcmp(own, its, (size_t)n) != 0;
}

/* All that wait for the program's exec are on at once, as in the kernel: it is looked for once. */
static void pass_exec(const struct device *d)
{
	struct fake_shared *s = d->s;
	int32_t pid = 0;

	for (uint32_t i = 0; i < s->n_events && !pid; i++)
		if (s->events[i].waits_for_exec)
			pid = s->events[i].pid;
	if (!pid || !has_program_begun(d, pid))
		return;
	for (uint32_t i = 0; i < s->n_events; i++) {
		struct fake_event *e = &s->events[i];

		e->is_on |= e->waits_for_exec;
		e->waits_for_exec = false;
	}
}

/* How many of the traces that have an area are on; *n_off: are not, or their side band is not. */
static uint32_t count_on(const struct fake_shared *s, uint32_t *n_off)
{
	uint32_t n = 0;

	*n_off = 0;
	for (uint32_t i = 0; i < s->n_events; i++) {
		const struct fake_event *e = &s->events[i];
		bool is_trace = e->attr.type == FAKE_PMU;

		if (!e->is_open || !s->events[e->output].aux_bytes)
			continue;
		n += is_trace && e->is_on;
		*n_off += (is_trace || e->attr.task) && !e->is_on;
	}
	return n;
}

/*
 * Waits until an area exists and its ring is on. A recorder switches rings on one after the other,
 * and may be interrupted. So the others are awaited, too, with a time limit, because a test may use
 * only one.
 */
static bool wait_for_start(struct device *d)
{
	for (uint32_t patience = 20000; patience;) {
		uint32_t n_on, n_off;

		fake_lock(&d->s->lock);
		pass_exec(d);
		n_on = count_on(d->s, &n_off);
		fake_unlock(&d->s->lock);
		if (n_on && !n_off)
			break;
		patience -= n_on != 0;
		nap(1000000);
		if (is_recorder_gone(d))
			return false;
	}
	nap(20000000); /* the recorder gets ready to read */
	return true;
}

static void write_stats(const struct device *d)
{
	uint64_t produced = 0, stored = 0, dropped = 0, n_pieces = 0;
	char text[512];

	vec_foreach (&d->players, p) {
		produced += p->produced;
		stored += p->stored;
		dropped += p->dropped;
		n_pieces += p->n_pieces;
	}
	snprintf(text, sizeof(text),
		 "{\"produced\": %" PRIu64 ", \"stored\": %" PRIu64 ", \"dropped\": %" PRIu64
		 ", \"told\": %" PRIu64 ", \"truncated\": %" PRIu64 ", \"wakeups\": %" PRIu64
		 ", \"pieces\": %" PRIu64 ", \"ms\": %" PRIu64 "}\n",
		 produced, stored, dropped, d->s->n_told, d->s->n_truncated, d->s->n_wakeups,
		 n_pieces, d->played_ns / 1000000);
	make_file("stats", UINT64_MAX, text);
}

int main(int argc, char **argv)
{
	struct device d = { .rate = setting("FAKE_PT_RATE", 0),
			    .seconds = setting("FAKE_PT_SECONDS", 0),
			    .steps = setting("FAKE_PT_STEPS", 0),
			    .fire = setting("FAKE_PT_FIRE", 0),
			    .sample_each = setting("FAKE_PT_SAMPLE", 4) };

	if (argc != 4 || !getenv("FAKE_PT_DIR") || !getenv("FAKE_PT_TRACE")) {
		fprintf(stderr, "fake device: it is started by preload.c\n");
		return 2;
	}
	d.s = mmap(NULL, sizeof(*d.s), PROT_READ | PROT_WRITE, MAP_SHARED, atoi(argv[1]), 0);
	d.areas = mmap(NULL, FAKE_EVENTS * FAKE_ROOM, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_NORESERVE, atoi(argv[2]), 0);
	d.alive = atoi(argv[3]);
	if (d.s == MAP_FAILED || d.areas == MAP_FAILED)
		return 1;
	load(&d);
	if (!wait_for_start(&d))
		return 0;
	d.start_ns = now_ns();
	vec_reserve(&d.players, FAKE_EVENTS); /* they stay where they are */
	find_rings(&d);
	if (d.players.n) {
		if (d.seconds)
			play_on_all(&d);
		else
			play_once(&d);
		d.played_ns = now_ns() - d.start_ns;
		tell_all(&d);
	}
	make_file("done", UINT64_MAX, "");
	while (!is_recorder_gone(&d))
		nap(1000000);
	write_stats(&d);
	return 0;
}
