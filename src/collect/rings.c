/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "collect/rings.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/reader.h"
#include "collect/rings_state.h"

/*
 * A record needs the length of an interrupt handler from its time stamp to its place in the ring; a
 * hypervisor may stop the CPU in between. A later record is still taken, and counted as out of
 * order.
 */
#define SETTLE_NS 10000000ULL

#define LARGE_RECORD  4096
#define FETCHED_BYTES 1024
#define CACHE_LINE    64

const char *rings_note(const struct rings *r)
{
	return r->note;
}

void rings_each_event(const struct rings *r,
		      void (*visit)(void *context, const char *name,
				    const struct perf_event_attr *attr, const uint64_t *ids,
				    size_t n_ids),
		      void *context)
{
	for (size_t i = 0; i <= r->counters->n; i++) {
		const struct known_event *e = &r->events[i];
		const char *name = i < r->counters->n ? r->counters->data[i].name : "dummy:u";

		if (e->ids.n)
			visit(context, name, &e->attr, e->ids.data, e->ids.n);
	}
}

void rings_on_record(struct rings *r, void (*take)(void *context, const void *record, size_t size),
		     void *context)
{
	r->take = take;
	r->take_context = context;
}

void rings_set_watch(struct rings *r, const struct rings_watch *watch)
{
	r->watch = *watch;
}

uint64_t rings_task_time(const struct rings *r)
{
	uint64_t sum = 0;

	vec_foreach (&r->fds, f) {
		uint64_t values[3] = { 0 }; /* value, id, lost */

		if (f->counter == RINGS_SIDE_BAND &&
		    r->backend.read(r->backend.context, f->fd, values) >= 0)
			sum += values[0];
	}
	return sum;
}

static int enable_fd(struct rings *r, const struct counter_fd *f, struct error *err)
{
	int e = r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_ENABLE, NULL);

	return e < 0 ? error_errno(err, e, "cannot start counter '%s'",
				   f->counter == RINGS_SIDE_BAND
					   ? "dummy"
					   : r->counters->data[f->counter].name)
		     : 0;
}

int rings_enable_from(struct rings *r, size_t first, struct error *err)
{
	int e = 0;

	for (size_t i = first; i < r->fds.n && !e; i++) {
		const struct counter_fd *f = &r->fds.data[i];

		if (f->has_ended || (f->counter != RINGS_SIDE_BAND && r->is_off[f->counter]))
			continue;
		e = enable_fd(r, f, err);
	}
	return e;
}

int rings_enable_side_band(struct rings *r, struct error *err)
{
	int e = 0;

	for (size_t i = 0; i < r->fds.n && !e; i++)
		if (r->fds.data[i].counter == RINGS_SIDE_BAND && !r->fds.data[i].has_ended)
			e = enable_fd(r, &r->fds.data[i], err);
	return e;
}

int rings_enable(struct rings *r, struct error *err)
{
	return rings_enable_from(r, 0, err);
}

size_t rings_count(const struct rings *r)
{
	return r->n_rings;
}

size_t rings_data_bytes(const struct rings *r)
{
	return r->ring_bytes;
}

const struct perf_backend *rings_backend(const struct rings *r)
{
	return &r->backend;
}

struct ring_place rings_place(const struct rings *r, size_t ring)
{
	const struct rings_config *c = &r->opening.config;

	return (struct ring_place){ .page = r->rings[ring].page,
				    .data_bytes = r->ring_bytes,
				    .fd = r->polls[ring].fd,
				    .cpu = r->rings[ring].cpu,
				    .tid = c->by_thread ? c->tids[ring] : -1 };
}

bool rings_has_switches(const struct rings *r)
{
	return r->opening.side_band.context_switch;
}

int rings_first_fd(const struct rings *r, size_t ring, uint32_t counter)
{
	vec_foreach (&r->fds, f)
		if (f->ring == ring && f->counter == counter && !f->has_ended)
			return f->fd;
	return -1;
}

static void control_all(struct rings *r, size_t ring, uint32_t counter, bool is_on)
{
	unsigned long request = is_on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;

	vec_foreach (&r->fds, f)
		if (f->ring == ring && f->counter == counter && !(is_on && f->has_ended))
			r->backend.control(r->backend.context, f->fd, request, NULL);
}

static bool is_off(const struct rings *r, uint32_t counter)
{
	return __atomic_load_n(&r->is_off[counter], __ATOMIC_SEQ_CST);
}

static void set_off(struct rings *r, uint32_t counter, bool is_off)
{
	__atomic_store_n(&r->is_off[counter], is_off, __ATOMIC_SEQ_CST);
}

void rings_switch_off(struct rings *r, size_t ring, uint32_t counter)
{
	control_all(r, ring, counter, false);
}

/*
 * A pause sets the flag and then switches off. The flag may change while this switches on; the flag
 * decides the final state.
 */
void rings_switch_on(struct rings *r, size_t ring, uint32_t counter)
{
	bool is_on = true;

	if (is_off(r, counter))
		return;
	do {
		control_all(r, ring, counter, is_on);
		is_on = !is_on;
	} while (is_off(r, counter) == !is_on);
}

static int switch_counters(struct rings *r, uint32_t first, uint32_t end, bool is_on,
			   struct error *err)
{
	for (uint32_t i = first; i < end; i++)
		set_off(r, i, !is_on);
	if (is_on)
		return rings_enable_from(r, 0, err);
	vec_foreach (&r->fds, f)
		if (f->counter >= first && f->counter < end)
			r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_DISABLE, NULL);
	return 0;
}

int rings_pause(struct rings *r, bool is_paused, struct error *err)
{
	return switch_counters(r, 0, (uint32_t)r->counters->n, !is_paused, err);
}

int rings_pause_counter(struct rings *r, uint32_t counter, bool is_paused, struct error *err)
{
	return switch_counters(r, counter, counter + 1, !is_paused, err);
}

uint64_t rings_counted(const struct rings *r, uint32_t counter)
{
	uint64_t sum = 0, values[3];

	vec_foreach (&r->fds, f)
		if (f->counter == counter &&
		    r->backend.read(r->backend.context, f->fd, values) >= 0)
			sum += values[0];
	return sum;
}

int rings_set_rate(struct rings *r, size_t counter, uint64_t rate, uint64_t period,
		   struct error *err)
{
	struct perf_event_attr *a = &r->opening.attrs[counter];

	vec_foreach (&r->fds, f) {
		int e;

		if (f->counter != counter)
			continue;
		e = r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_PERIOD, &period);
		if (e < 0)
			return error_errno(err, e, "cannot set the rate of counter '%s'",
					   r->counters->data[counter].name);
	}
	if (a->freq)
		a->sample_freq = rate;
	else
		a->sample_period = r->fixed_periods[counter] = period;
	return 0;
}

void rings_disable(struct rings *r)
{
	for (uint32_t i = 0; i < r->counters->n; i++)
		set_off(r, i, true);
	vec_foreach (&r->fds, f)
		r->backend.control(r->backend.context, f->fd, PERF_EVENT_IOC_DISABLE, NULL);
}

/*
 * A full ring is not the only reason for the kernel to wake a poll of an event. Every exit of a
 * process that inherited it does so, too (perf_event_exit_event(), "Kick perf_poll()"), and then
 * there is nothing to do. For 600 processes, that was a quarter of the recorder's CPU time. So
 * while much happens, the rings are not polled, but read after a time in which they can't fill up.
 */
void rings_wait(struct rings *r, int wake_fd, int timeout_ms)
{
	struct pollfd *own = &r->polls[r->n_rings];

	*own = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
	if (r->is_polled_elsewhere) {
		poll(own, 1, timeout_ms);
		return;
	}
	if (ring_pace_naps(&r->pace)) {
		poll(own, 1, timeout_ms < 0 ? r->pace.nap_ms : MIN(timeout_ms, r->pace.nap_ms));
		return;
	}
	if (poll(r->polls, r->n_rings + 1, timeout_ms) <= 0)
		return;
	/* a ring whose target has ended reports POLLHUP for ever: it is not polled again */
	for (size_t i = 0; i < r->n_rings; i++)
		if (r->polls[i].revents & (POLLHUP | POLLERR | POLLNVAL))
			r->polls[i].fd = -1;
}

void rings_poll_elsewhere(struct rings *r, bool is_elsewhere)
{
	r->is_polled_elsewhere = is_elsewhere;
}

uint64_t rings_safe_time(void)
{
	return clock_monotonic_ns() - SETTLE_NS;
}

/* Drops n bytes, or all if the kernel's own size field is impossible. */
static void ring_skip(struct ring *ring, uint64_t n)
{
	ring->tail += n;
	ring->next = NULL;
}

/* Completes the record at tail and reads its time. False: there is none. */
static bool ring_peek(struct rings *r, struct ring *ring)
{
	struct perf_event_header *h;
	uint64_t at = ring->tail & ring->mask, to_end = ring->mask + 1 - at;

	ring->next_ns = UINT64_MAX;
	if (ring->tail == ring->head)
		return false;
	h = (struct perf_event_header *)(ring->data + at); /* records are 8-byte aligned */
	if (h->size < sizeof(*h) || h->size > ring->head - ring->tail) {
		r->n_bad++;
		ring_skip(ring, ring->head - ring->tail);
		return false;
	}
	ring->next = h;
	ring->next_size = h->size;
	if (h->size > to_end) {
		memcpy(ring->wrapped, ring->data + at, to_end);
		memcpy(ring->wrapped + to_end, ring->data, h->size - to_end);
		ring->next = ring->wrapped;
	}
	ring->next_ns = record_time(&r->format, ring->next, ring->next_size);
	return true;
}

/*
 * The kernel writes data_head on another CPU. The acquire keeps our reads of the records after it;
 * the release on data_tail keeps them before the kernel may overwrite the space. See
 * perf_event_open(2), "MMAP layout".
 */
static void ring_begin(struct rings *r, struct ring *ring)
{
	ring->next_ns = UINT64_MAX;
	if (!ring->page)
		return;
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	ring_peek(r, ring);
}

static void ring_release(struct ring *ring)
{
	if (ring->page)
		__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}

static void tally_event(struct rings *r, const struct event *e)
{
	if (e->type == EVENT_SAMPLE && e->sample.counter < r->counters->n) {
		r->tallies[e->sample.counter].samples++;
		r->tallies[e->sample.counter].period += e->sample.period;
	} else if (e->type == EVENT_THROTTLE && e->throttle.counter < r->counters->n) {
		r->tallies[e->throttle.counter].was_throttled = true;
	}
}

/*
 * Another CPU wrote the copied stacks, and decoding reads little of each, here and there. A fetch
 * during the work on earlier records saves the wait. Two records ahead, the record's beginning and
 * its end are fetched. The end has the number of copied bytes; its place is guessed from the last
 * record's size. A record is decoded one ahead, so that the sink can expect it.
 */
static void fetch_record(const struct ring *ring, uint64_t at)
{
	__builtin_prefetch(ring->data + ((at + ring->large_size - sizeof(uint64_t)) & ring->mask));
	for (uint64_t end = at + FETCHED_BYTES; at < end; at += CACHE_LINE)
		__builtin_prefetch(ring->data + (at & ring->mask));
}

static void look_ahead(struct rings *r, struct ring *ring, struct event_sink *sink)
{
	uint64_t at = ring->tail + ring->next_size, left = ring->head - at;
	const struct perf_event_header *h = (const void *)(ring->data + (at & ring->mask));
	struct ahead *a = &ring->ahead[ring->turn ^ 1];

	if (!left || h->size < sizeof(*h) || h->size > left)
		return;
	if (h->size >= LARGE_RECORD)
		ring->large_size = h->size;
	if (h->size < left && ring->large_size)
		fetch_record(ring, at + h->size);
	if (h->size < LARGE_RECORD || h->size > ring->mask + 1 - (at & ring->mask))
		return;
	a->at = at + 1;
	a->result = record_decode(&r->format, h, h->size, ring->cpu, &a->scratch, &a->event);
	if (a->result == RECORD_OK && a->event.type == EVENT_SAMPLE)
		event_expect(sink, &a->event);
}

static enum record_result decode_next(struct rings *r, const struct ring *ring, struct event *own,
				      const struct event **e)
{
	const struct ahead *a = ring->ahead ? &ring->ahead[ring->turn] : NULL;

	if (a && a->at == ring->tail + 1) {
		*e = &a->event;
		return a->result;
	}
	*e = own;
	return record_decode(&r->format, ring->next, ring->next_size, ring->cpu, &r->scratch, own);
}

static int push_record(struct rings *r, struct ring *ring, struct event_sink *sink)
{
	const struct event *e;
	struct event own;

	if (r->take)
		r->take(r->take_context, ring->next, ring->next_size);
	switch (decode_next(r, ring, &own, &e)) {
	case RECORD_BAD:
		r->n_bad++;
		return 0;
	case RECORD_SKIPPED:
		return 0;
	case RECORD_OK:
		break;
	}
	r->pace.n_ended += e->type == EVENT_EXIT;
	r->n_started += e->type == EVENT_FORK;
	if (e->type == EVENT_LOST) {
		r->n_lost_records += e->lost.n;
		ring->n_lost += r->exact_losses ? 0 : e->lost.n;
		r->has_lost_record = true;
		return 0;
	}
	if (e->time_ns < r->merged_ns)
		r->n_late +=
			!r->opening.config
				 .for_trace; /* delivered unsorted: the file's rounds sort it */
	else
		r->merged_ns = e->time_ns;
	tally_event(r, e);
	if (r->watch.event &&
	    (e->type == EVENT_FORK || e->type == EVENT_EXIT || e->type == EVENT_THROTTLE))
		r->watch.event(r->watch.context, e);
	return event_push(sink, e);
}

/*
 * The rings by the time of their next record, as a binary heap: even with hundreds of CPUs, a few
 * steps find the next record.
 */
static void heap_sift_down(struct rings *r, size_t at)
{
	struct ring *ring = r->heap[at];

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= r->n_rings)
			break;
		if (child + 1 < r->n_rings && r->heap[child + 1]->next_ns < r->heap[child]->next_ns)
			child++;
		if (ring->next_ns <= r->heap[child]->next_ns)
			break;
		r->heap[at] = r->heap[child];
		at = child;
	}
	r->heap[at] = ring;
}

/* The time for which the ring on top stays the oldest. */
static uint64_t heap_second_ns(const struct rings *r)
{
	uint64_t ns = UINT64_MAX;

	for (size_t i = 1; i < r->n_rings && i < 3; i++)
		ns = MIN(ns, r->heap[i]->next_ns);
	return ns;
}

/* Whether there is so much data that waking by time costs less, and whether that is safe. */
static void judge_pace(struct rings *r)
{
	uint64_t waiting = 0, written = 0;

	for (size_t i = 0; i < r->n_rings; i++) {
		waiting = MAX(waiting, r->rings[i].head - r->rings[i].tail);
		written = MAX(written, r->rings[i].head - r->rings[i].watched);
	}
	if (ring_pace_judge(&r->pace, rings_safe_time(), waiting, written))
		for (size_t i = 0; i < r->n_rings; i++)
			r->rings[i].watched = r->rings[i].head;
}

int rings_drain(struct rings *r, uint64_t until_ns, struct event_sink *sink)
{
	int result = 0;

	for (size_t i = 0; i < r->n_rings; i++)
		ring_begin(r, &r->rings[i]);
	judge_pace(r);
	for (size_t i = r->n_rings; i-- > 0;)
		heap_sift_down(r, i);
	while (!result) {
		struct ring *ring = r->heap[0];
		uint64_t limit = MIN(heap_second_ns(r), until_ns);

		if (ring->next_ns == UINT64_MAX || ring->next_ns > until_ns)
			break;
		do {
			uint64_t size = ring->next_size;

			if (ring->ahead)
				look_ahead(r, ring, sink);
			result = push_record(r, ring, sink);
			ring->turn ^= 1;
			ring_skip(ring, size);
			if (!ring_peek(r, ring))
				break;
		} while (!result && ring->next_ns <= limit);
		heap_sift_down(r, 0);
	}
	for (size_t i = 0; i < r->n_rings; i++)
		ring_release(&r->rings[i]);
	return result;
}

bool rings_have_room(void *rings)
{
	const struct rings *r = rings;

	for (size_t i = 0; i < r->n_rings; i++) {
		struct ring *ring = &r->rings[i];
		uint64_t waiting;

		if (!ring->page)
			continue;
		ring_release(ring); /* of records that were read in this turn */
		waiting = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE) - ring->tail;
		if (waiting > ring->mask / 2)
			return false;
	}
	return true;
}

typedef void (*lose_function)(void *context, enum loss_reason reason, uint32_t counter, uint64_t n);

static void report_loss(lose_function lose, void *context, enum loss_reason reason,
			uint32_t counter, uint64_t n)
{
	if (n)
		lose(context, reason, counter, n);
}

static void read_lost(struct rings *r, struct counter_fd *f, uint64_t *id, uint64_t *lost,
		      uint64_t *counted)
{
	uint64_t values[3] = { 0 };

	if (r->backend.read(r->backend.context, f->fd, values) < 0)
		return;
	*counted = values[0];
	*id = values[1];
	*lost = values[2];
}

/*
 * Reading each descriptor is a system call, so it is done only after a LOST record or at the end.
 */
static void collect_exact(struct rings *r, lose_function lose, void *context)
{
	vec_foreach (&r->fds, f) {
		uint64_t id = 0, lost = f->lost, counted = 0;

		read_lost(r, f, &id, &lost, &counted);
		if (f->counter == RINGS_SIDE_BAND) {
			report_loss(lose, context, LOSS_RING_RECORDS, UINT32_MAX, lost - f->lost);
		} else {
			report_loss(lose, context, LOSS_RING_FULL, f->counter, lost - f->lost);
			r->tallies[f->counter].lost += lost - f->lost;
			r->rings[f->ring].n_lost += lost - f->lost;
		}
		f->lost = lost;
	}
}

static void collect_counted(struct rings *r)
{
	const struct rings_config *c = &r->opening.config;

	vec_foreach (&r->fds, f) {
		uint64_t id = 0, lost = 0, counted = 0;

		if (f->counter == RINGS_SIDE_BAND)
			continue;
		read_lost(r, f, &id, &lost, &counted);
		r->tallies[f->counter].counted += counted;
		r->tallies[f->counter].n_fds++;
	}
	for (size_t i = 0; i < r->counters->n; i++)
		r->tallies[i].n_begun = r->tallies[i].n_fds +
					(c->inherit ? r->n_started * (uint64_t)r->n_rings : 0);
}

void rings_add_losses(const struct rings *r, uint64_t *by_cpu, size_t n_cpus)
{
	for (size_t i = 0; i < r->n_rings; i++)
		if (r->rings[i].cpu < n_cpus)
			by_cpu[r->rings[i].cpu] += r->rings[i].n_lost;
}

uint64_t rings_n_started(const struct rings *r)
{
	return r->n_started;
}

const struct rings_tally *rings_tally(const struct rings *r, uint32_t counter)
{
	return r->exact_losses || r->counters->n == 1 ? &r->tallies[counter] : NULL;
}

void rings_collect_losses(struct rings *r, bool is_final, lose_function lose, void *context)
{
	if (r->exact_losses && (is_final || r->has_lost_record))
		collect_exact(r, lose, context);
	else if (!r->exact_losses)
		report_loss(lose, context, LOSS_RING_FULL, UINT32_MAX, r->n_lost_records);
	if (!r->exact_losses && r->counters->n == 1)
		r->tallies[0].lost += r->n_lost_records;
	if (is_final)
		collect_counted(r);
	report_loss(lose, context, LOSS_OUT_OF_ORDER, UINT32_MAX, r->n_late);
	report_loss(lose, context, LOSS_BAD_RECORD, UINT32_MAX, r->n_bad);
	r->n_lost_records = r->n_late = r->n_bad = 0;
	r->has_lost_record = false;
}
