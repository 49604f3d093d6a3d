/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data as perf record writes it: a header, the events with their ids, the records, the feature
 * sections (format.h has the layout's source). Makes bytes in our byte order;
 * replay/perfdata_file.h writes them to a file.
 *
 *   head: header, ids, attrs │ data: records … │ tail: table of sections, sections
 *
 * Until the header is written again at the end, its data has the size 0. Readers (ours, perf) then
 * take all bytes behind the header as records.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/mem.h"
#include "event/event.h"

struct writer_event {
	struct perf_event_attr attr;
	const char *name;
	const uint64_t *ids;
	size_t n_ids;
};

/* The head of a file whose data begins right behind it; its size and features are not known yet. */
void writer_head(const struct writer_event *events, size_t n, struct buf *out);

/* The smallest perf_event_attr of some Linux version that has all that the events use. */
size_t writer_attr_size(const struct writer_event *events, size_t n);

/* A feature section: `bit` of format.h, its bytes the writer's. */
struct writer_section {
	uint32_t bit;
	struct buf bytes;
};
struct writer_sections {
	struct writer_section *data;
	size_t n, cap;
};
void writer_sections_fini(struct writer_sections *s);

/* A new section to append to; it replaces an earlier section of that bit. */
struct buf *writer_section(struct writer_sections *s, uint32_t bit);

/* The encodings inside sections. */
void writer_text(struct buf *out, const char *text);
void writer_text_section(struct writer_sections *s, uint32_t bit, const char *text);
void writer_event_desc(struct buf *out, const struct writer_event *events, size_t n);
void writer_build_id(struct buf *out, const char *path, const struct build_id *id, bool is_kernel);

/*
 * The bytes behind the data, which ends at file offset `end`; and the final header for offset 0
 * (PERFDATA_HEADER_SIZE bytes, appended to *header).
 */
void writer_tail(const struct writer_event *events, size_t n_events, struct writer_sections *s,
		 uint64_t end, struct buf *tail, struct buf *header);

/*
 * The same for a pipe: its head with a record for each event; and records for the sections, which
 * are freed. Sections that are larger than a record are left out, but the fields of tracepoints.
 * False: an event has more ids than there is room for in a record.
 */
bool writer_pipe_head(const struct writer_event *events, size_t n, struct buf *out);
void writer_pipe_sections(struct writer_sections *s, struct buf *out);

/*
 * A MAPPING, COMM or FORK as a record of the first event's layout, for processes that ran before
 * the recording began. False: another type of event, or the path is too long.
 */
bool writer_record(const struct perf_event_attr *attr, const struct event *e, struct buf *out);

/*
 * A SAMPLE of an event with these attributes and this id. False: the sample is larger than a record
 * can be, or the attributes ask for fields that are not written (READ, STACK_USER, AUX).
 */
bool writer_sample(const struct perf_event_attr *attr, uint64_t id, const struct event *e,
		   struct buf *out);

/* The content of AUXTRACE_INFO for Intel PT (tools/perf/util/intel-pt.h), in its order. */
struct writer_intel_pt {
	uint32_t pmu_type; /* perf_event_attr.type */
	/* From TSC to the recording's times: as in perf_event_mmap_page. */
	uint16_t time_shift;
	uint32_t time_mult;
	uint64_t time_zero;
	bool has_time_zero;
	/* Bits of perf_event_attr.config. */
	uint64_t tsc_bit, noretcomp_bit, mtc_bit, mtc_freq_bits, cyc_bit;
	/* 0: none; 1: by sched_switch; 2: SWITCH records of the threads; 3: of whole CPUs. */
	uint64_t switches;
	bool is_snapshot, is_per_cpu;
	uint32_t ctc_numerator, ctc_denominator; /* TSC to crystal clock: cpuid leaf 0x15 */
	uint64_t max_nonturbo_ratio;
	const char *filter; /* of addresses, as given to the kernel; or NULL */
	bool has_event_trace;
};
void writer_intel_pt(const struct writer_intel_pt *t, struct buf *out);

/* TIME_CONV: the same for readers without a trace decoder. */
void writer_time_conversion(uint64_t shift, uint64_t mult, uint64_t zero, struct buf *out);

/* AUXTRACE: the record; `size` bytes of trace, a multiple of eight, follow it in the file. */
#define WRITER_AUX_SIZE 48
struct writer_aux {
	uint64_t size, offset, reference;
	uint32_t index, cpu;
	int32_t tid;
};
void writer_aux(const struct writer_aux *a, struct buf *out);
