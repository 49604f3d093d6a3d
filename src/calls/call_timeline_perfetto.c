/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Perfetto's trace.proto as slices: a TracePacket is a TrackDescriptor or a TrackEvent. Slices of a
 * track must nest and come in the order of time, ends before beginnings.
 * (perfetto: protos/perfetto/trace/track_event/track_event.proto, track_descriptor.proto)
 */
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "calls/call_timeline.h"

/* Fields. */
enum {
	TRACE_PACKET = 1,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_TRACK = 60,
	TRACK_UUID = 1,
	TRACK_PROCESS = 3,
	TRACK_THREAD = 4,
	PROCESS_PID = 1,
	PROCESS_NAME = 6,
	THREAD_PID = 1,
	THREAD_TID = 2,
	THREAD_NAME = 5,
	EVENT_TYPE = 9,
	EVENT_TRACK = 11,
	EVENT_NAME = 23,
};
enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3 };

struct message {
	struct buf packet, inner, innermost;
	struct buf *out;
};

static void call_timeline_perfetto_put_number(struct buf *b, uint32_t field, uint64_t v)
{
	buf_uleb(b, (uint64_t)field << 3);
	buf_uleb(b, v);
}

static void call_timeline_perfetto_put_bytes(struct buf *b, uint32_t field, const struct buf *bytes)
{
	buf_uleb(b, (uint64_t)field << 3 | 2);
	buf_uleb(b, bytes->len);
	buf_bytes(b, bytes->data, bytes->len);
}

static void call_timeline_perfetto_put_text(struct buf *b, uint32_t field, const char *text)
{
	struct buf clean = { 0 };

	utf8_append_visible(&clean, text);
	call_timeline_perfetto_put_bytes(b, field, &clean);
	buf_fini(&clean);
}

static void call_timeline_perfetto_put_packet(struct message *m)
{
	call_timeline_perfetto_put_number(&m->packet, PACKET_SEQUENCE, 1);
	call_timeline_perfetto_put_bytes(m->out, TRACE_PACKET, &m->packet);
	m->packet.len = m->inner.len = m->innermost.len = 0;
}

static uint64_t uuid_of(size_t thread)
{
	return 1000 + thread;
}

static void call_timeline_perfetto_put_thread(struct message *m, const struct timeline_thread *t,
					      size_t index)
{
	call_timeline_perfetto_put_number(&m->innermost, THREAD_PID, (uint32_t)t->pid);
	call_timeline_perfetto_put_number(&m->innermost, THREAD_TID, (uint32_t)t->tid);
	call_timeline_perfetto_put_text(&m->innermost, THREAD_NAME, t->comm);
	call_timeline_perfetto_put_number(&m->inner, TRACK_UUID, uuid_of(index));
	call_timeline_perfetto_put_bytes(&m->inner, TRACK_THREAD, &m->innermost);
	call_timeline_perfetto_put_bytes(&m->packet, PACKET_TRACK, &m->inner);
	call_timeline_perfetto_put_packet(m);
}

/* The process's track has the command's name; the first of its threads brings it. */
static void call_timeline_perfetto_put_process(struct message *m, const struct timeline_thread *t,
					       size_t index)
{
	call_timeline_perfetto_put_number(&m->innermost, PROCESS_PID, (uint32_t)t->pid);
	call_timeline_perfetto_put_text(&m->innermost, PROCESS_NAME, t->comm);
	call_timeline_perfetto_put_number(&m->inner, TRACK_UUID, UINT64_C(1) << 40 | index);
	call_timeline_perfetto_put_bytes(&m->inner, TRACK_PROCESS, &m->innermost);
	call_timeline_perfetto_put_bytes(&m->packet, PACKET_TRACK, &m->inner);
	call_timeline_perfetto_put_packet(m);
}

static void call_timeline_perfetto_put_event(struct message *m, uint64_t time_ns, uint64_t type,
					     uint64_t uuid, const char *name)
{
	call_timeline_perfetto_put_number(&m->packet, PACKET_TIMESTAMP, time_ns);
	call_timeline_perfetto_put_number(&m->inner, EVENT_TYPE, type);
	call_timeline_perfetto_put_number(&m->inner, EVENT_TRACK, uuid);
	if (name)
		call_timeline_perfetto_put_text(&m->inner, EVENT_NAME, name);
	call_timeline_perfetto_put_bytes(&m->packet, PACKET_EVENT, &m->inner);
	call_timeline_perfetto_put_packet(m);
}

/* Calls that are over when the next begins end first, the innermost before its callers. */
static void put_calls(struct message *m, const struct call_timeline *t,
		      const struct timeline_thread *thread, uint64_t uuid)
{
	VEC(uint64_t) ends = { 0 };
	const struct timeline_call *calls = t->calls.data + thread->first;

	for (size_t i = 0; i <= thread->n; i++) {
		uint64_t until = i < thread->n ? calls[i].start_ns : UINT64_MAX, end;

		while (ends.n && (ends.data[ends.n - 1] <= until ||
				  (i < thread->n && ends.n > calls[i].depth))) {
			call_timeline_perfetto_put_event(m, MIN(ends.data[ends.n - 1], until),
							 SLICE_END, uuid, NULL);
			ends.n--;
		}
		if (i == thread->n)
			break;
		call_timeline_perfetto_put_event(m, calls[i].start_ns, SLICE_BEGIN, uuid,
						 t->functions.data[calls[i].function]);
		end = calls[i].end_ns;
		if (ends.n) /* no call outlives its caller */
			end = MIN(end, ends.data[ends.n - 1]);
		vec_push(&ends, end);
	}
	vec_fini(&ends);
}

static uint64_t call_timeline_perfetto_track_of(const struct call_timeline *t,
						const struct timeline_mark *m)
{
	for (size_t i = 0; i < t->threads.n; i++)
		if (t->threads.data[i].tid == m->tid)
			return uuid_of(i);
	return 0;
}

void call_timeline_perfetto(const struct call_timeline *t, struct buf *out)
{
	struct message m = { .out = out };
	int32_t pid = -1;

	for (size_t i = 0; i < t->threads.n; i++) {
		const struct timeline_thread *thread = &t->threads.data[i];

		if (thread->pid != pid)
			call_timeline_perfetto_put_process(&m, thread, i);
		pid = thread->pid;
		call_timeline_perfetto_put_thread(&m, thread, i);
	}
	for (size_t i = 0; i < t->threads.n; i++)
		put_calls(&m, t, &t->threads.data[i], uuid_of(i));
	vec_foreach (&t->marks, mark)
		call_timeline_perfetto_put_event(&m, mark->time_ns, INSTANT,
						 call_timeline_perfetto_track_of(t, mark),
						 mark->text);
	buf_fini(&m.packet);
	buf_fini(&m.inner);
	buf_fini(&m.innermost);
}
