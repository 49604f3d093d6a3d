/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_log.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "event/text.h"
#include "pt/event_text.h"
#include "pt/packet_text.h"

#define LOG_FILE    "intel_pt.log"
#define FLUSH_BYTES ((size_t)256 << 10)

struct pt_log {
	FILE *file;
	struct buf text;
};

static void flush(struct pt_log *l)
{
	fwrite(l->text.data, 1, l->text.len, l->file);
	l->text.len = 0;
}

static void flush_if_full(struct pt_log *l)
{
	if (l->text.len >= FLUSH_BYTES)
		flush(l);
}

static void put_packets(struct pt_log *l, const uint8_t *bytes, uint64_t size)
{
	enum pt_block block = PT_NO_BLOCK;

	for (uint64_t at = 0; bytes && at < size;) {
		at += pt_dump_line(&l->text, bytes + at, bytes + size, at, &block);
		flush_if_full(l);
	}
}

struct pt_log *pt_log_open(const struct perfdata *data)
{
	FILE *file = fopen(LOG_FILE, "w");
	struct pt_log *l;

	if (!file)
		return NULL;
	l = xcalloc(1, sizeof(*l));
	l->file = file;
	vec_foreach (&perfdata_stats(data)->aux, aux) {
		buf_printf(&l->text, "index %u cpu %d tid %d: %" PRIu64 " bytes\n", aux->index,
			   (int)aux->cpu, aux->tid, aux->size_bytes);
		put_packets(l, perfdata_aux_bytes(data, aux), aux->size_bytes);
	}
	return l;
}

void pt_log_close(struct pt_log *l)
{
	if (!l)
		return;
	flush(l);
	fclose(l->file);
	buf_fini(&l->text);
	free(l);
}

void pt_log_span(struct pt_log *l, const struct pt_trace *trace, const struct pt_span *span)
{
	for (const struct pt_event *e = span->events; e < span->events + span->n; e++) {
		uint64_t ns = pt_trace_ns(trace, e->tsc);

		buf_printf(&l->text, "%" PRIu64 ".%09" PRIu64 " %d/%d ", ns / NS_PER_SECOND,
			   ns % NS_PER_SECOND, span->pid, span->tid);
		pt_event_format(&l->text, e);
		buf_printf(&l->text, " insns %" PRIu64 " cycles %" PRIu64 "\n", e->insns,
			   e->cycles);
		flush_if_full(l);
	}
}

void pt_log_event(struct pt_log *l, const struct event *e)
{
	event_format(&l->text, e);
	flush_if_full(l);
}
