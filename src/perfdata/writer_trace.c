/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The records of a hardware trace that perf itself writes (tools/perf/util/event.h, intel-pt.h). */
#include <assert.h>
#include <string.h>

#include "perfdata/format.h"
#include "perfdata/writer.h"

enum { AUX_INTEL_PT = 1 }; /* enum auxtrace_type */

static void writer_trace_put_u16(struct buf *out, uint16_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_trace_put_u32(struct buf *out, uint32_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_trace_put_u64(struct buf *out, uint64_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_trace_put_header(struct buf *out, uint32_t type, size_t size)
{
	writer_trace_put_u32(out, type);
	writer_trace_put_u16(out, 0);
	writer_trace_put_u16(out, (uint16_t)size);
}

/* A NUL at least, and up to a multiple of eight. */
static size_t filter_size(const char *filter)
{
	return filter && *filter ? (strlen(filter) + 8) & ~(size_t)7 : 0;
}

void writer_intel_pt(const struct writer_intel_pt *t, struct buf *out)
{
	const char *filter = t->filter ? t->filter : "";
	size_t n_filter = filter_size(filter);
	const uint64_t words[] = {
		t->pmu_type,      t->time_shift,      t->time_mult,     t->time_zero,
		t->has_time_zero, t->tsc_bit,         t->noretcomp_bit, t->switches,
		t->is_snapshot,   t->is_per_cpu,      t->mtc_bit,       t->mtc_freq_bits,
		t->ctc_numerator, t->ctc_denominator, t->cyc_bit,       t->max_nonturbo_ratio,
		strlen(filter),
	};

	writer_trace_put_header(out, USER_AUXTRACE_INFO, 16 + sizeof(words) + n_filter + 8);
	writer_trace_put_u32(out, AUX_INTEL_PT);
	writer_trace_put_u32(out, 0);
	buf_bytes(out, words, sizeof(words));
	buf_str(out, filter);
	for (size_t i = strlen(filter); i < n_filter; i++)
		buf_u8(out, 0);
	writer_trace_put_u64(out, t->has_event_trace);
}

void writer_time_conversion(uint64_t shift, uint64_t mult, uint64_t zero, struct buf *out)
{
	writer_trace_put_header(out, USER_TIME_CONV, 32);
	writer_trace_put_u64(out, shift);
	writer_trace_put_u64(out, mult);
	writer_trace_put_u64(out, zero);
}

void writer_aux(const struct writer_aux *a, struct buf *out)
{
	assert(a->size % 8 == 0);
	writer_trace_put_header(out, USER_AUXTRACE, WRITER_AUX_SIZE);
	writer_trace_put_u64(out, a->size);
	writer_trace_put_u64(out, a->offset);
	writer_trace_put_u64(out, a->reference);
	writer_trace_put_u32(out, a->index);
	writer_trace_put_u32(out, (uint32_t)a->tid);
	writer_trace_put_u32(out, a->cpu);
	writer_trace_put_u32(out, 0);
}
