/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake machine with Intel PT: the data that its two halves share.
 *
 *   assay, perf … ── perf_event_open, ioctl, mmap, read, poll ──► preload.c ─┐ shared memory
 *   device.c: a separate process, the processor and its driver ◄─────────────┘ (this file)
 *
 * preload.c is loaded into the recorder (LD_PRELOAD) and acts as the kernel. It has the checks of
 * perf_event_open(2) and kernel/events/ring_buffer.c. device.c plays a recording of the generator
 * (tests/pt/trace.c) into the rings and AUX areas at a given rate. It updates them as the kernel
 * does: aux_head, PERF_RECORD_AUX, wake-ups, switching off when an area is full.
 */
#pragma once

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	FAKE_EVENTS = 192,
	FAKE_PAGE = 4096,
	FAKE_FD = 600,   /* descriptors of events begin here, in both processes */
	FAKE_PMU = 6,    /* its type, as in perf-intel-pt(1) */
	FAKE_UPROBE = 7, /* that of uprobes */
};
#define FAKE_ROOM ((uint64_t)512 << 20) /* of the file of areas, for each event's mapping */

struct fake_event {
	struct perf_event_attr attr;
	int32_t pid, cpu, leader; /* leader: an event, or -1 */
	int32_t output;           /* the event whose ring it writes into; itself at first */
	bool is_open, is_on, waits_for_exec;
	uint64_t lost, counted;
	/* Of one that owns a ring: */
	uint64_t data_bytes; /* 0: not mapped */
	uint64_t aux_bytes;
	bool aux_is_writable;
	int32_t tracer;     /* the event that the area was mapped by */
	uint64_t aux_head;  /* of the device, that counts on */
	uint64_t aux_told;  /* up to here there are AUX records */
	uint64_t aux_woken; /* the reader was last woken for this */
	uint64_t aux_flags; /* of the next AUX record */
};

/*
 * Each ring is played and read on its CPU and has a separate lock. A CPU must not wait for another
 * one, which the hypervisor may have stopped.
 */
struct fake_shared {
	pthread_mutex_t lock;                    /* of processes, robust: events come and go */
	pthread_mutex_t ring_locks[FAKE_EVENTS]; /* likewise, inside it: what its events do */
	uint32_t n_events;
	int32_t recorder; /* its pid */
	uint64_t now;     /* of the device's clock: the TSC, in ns */
	uint64_t locked_bytes, lock_limit;
	uint64_t n_wakeups, n_truncated, n_told; /* n_told: bytes in AUX records */
	struct fake_event events[FAKE_EVENTS];
};

static inline struct perf_event_mmap_page *fake_page(uint8_t *areas, int32_t ring)
{
	return (struct perf_event_mmap_page *)(areas + (uint64_t)ring * FAKE_ROOM);
}

static inline void fake_lock(pthread_mutex_t *lock)
{
	if (pthread_mutex_lock(lock) == EOWNERDEAD)
		pthread_mutex_consistent(lock);
}

static inline void fake_unlock(pthread_mutex_t *lock)
{
	pthread_mutex_unlock(lock);
}

static inline uint64_t fake_id(int32_t event)
{
	return (uint64_t)event + 1000;
}

/* What sample_id_all puts behind a record. */
static inline size_t fake_trailer(const struct fake_shared *s, int32_t event, int32_t pid,
				  int32_t tid, uint64_t time, uint8_t *out)
{
	uint64_t type = s->events[event].attr.sample_type, id = fake_id(event), v;
	size_t n = 0;

	if (type & PERF_SAMPLE_TID) {
		memcpy(out, &pid, 4);
		memcpy(out + 4, &tid, 4);
		n += 8;
	}
#define FAKE_PUT(bit, value)                    \
	if (type & (bit)) {                     \
		v = (value);                    \
		memcpy(out + n, &v, sizeof(v)); \
		n += sizeof(v);                 \
	}
	FAKE_PUT(PERF_SAMPLE_TIME, time)
	FAKE_PUT(PERF_SAMPLE_ID, id)
	FAKE_PUT(PERF_SAMPLE_STREAM_ID, id)
	FAKE_PUT(PERF_SAMPLE_CPU, (uint32_t)s->events[s->events[event].output].cpu)
	FAKE_PUT(PERF_SAMPLE_IDENTIFIER, id)
#undef FAKE_PUT
	return n;
}

/* A whole record into the ring; false, and counted, where there is no room. */
static inline bool fake_put(struct fake_shared *s, uint8_t *areas, int32_t event,
			    const uint8_t *record, size_t size)
{
	struct fake_event *ring = &s->events[s->events[event].output];
	struct perf_event_mmap_page *page = fake_page(areas, s->events[event].output);
	uint8_t *data = (uint8_t *)page + FAKE_PAGE;
	uint64_t head, tail;

	if (!ring->data_bytes)
		return false;
	head = page->data_head;
	tail = __atomic_load_n(&page->data_tail, __ATOMIC_ACQUIRE);
	if (head - tail + size > ring->data_bytes) {
		s->events[event].lost++;
		return false;
	}
	for (size_t i = 0; i < size; i++)
		data[(head + i) & (ring->data_bytes - 1)] = record[i];
	__atomic_store_n(&page->data_head, head + size, __ATOMIC_RELEASE);
	return true;
}

/* perf_aux_output_end(): writes a record about the new bytes, and publishes aux_head. */
static inline void fake_tell_aux(struct fake_shared *s, uint8_t *areas, int32_t ring, int32_t tid)
{
	struct fake_event *r = &s->events[ring];
	struct perf_event_mmap_page *page = fake_page(areas, ring);
	uint64_t size = r->aux_head - r->aux_told, flags = r->aux_flags;
	uint8_t record[128];
	struct perf_event_header h = { .type = PERF_RECORD_AUX };
	uint64_t words[3] = { r->aux_told, size, flags };
	size_t n = sizeof(h) + sizeof(words);

	if (!r->aux_bytes)
		return;
	if (r->aux_is_writable && (size || flags)) {
		memcpy(record + sizeof(h), words, sizeof(words));
		n += fake_trailer(s, r->tracer, tid, tid, s->now, record + n);
		h.size = (uint16_t)n;
		memcpy(record, &h, sizeof(h));
		fake_put(s, areas, r->tracer, record, n);
		__atomic_fetch_add(&s->n_told, size, __ATOMIC_RELAXED);
		__atomic_fetch_add(&s->n_truncated, (flags & PERF_AUX_FLAG_TRUNCATED) != 0,
				   __ATOMIC_RELAXED);
	}
	r->aux_flags = 0;
	r->aux_told = r->aux_head;
	/* Where it is written over, the driver tells a place in the area. */
	__atomic_store_n(&page->aux_head,
			 r->aux_is_writable ? r->aux_head : r->aux_head % r->aux_bytes,
			 __ATOMIC_RELEASE);
}
