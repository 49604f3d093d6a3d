/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data as perf record writes it: a header, the events with their ids, the records, the feature
 * sections (format.h has the layout's source). Makes bytes, in our byte order; who writes them
 * to a file is record/perfdata_file.h.
 *
 *   head: header, ids, attrs │ data: records … │ tail: table of sections, sections
 *
 * Until the header is written again at the end, its data has the size 0, and readers (ours, perf)
 * take all that follows for records.
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

/* A new section to append to, in place of what there was of that bit. */
struct buf *writer_section(struct writer_sections *s, uint32_t bit);

/* What stands in sections. */
void writer_text(struct buf *out, const char *text);
void writer_text_section(struct writer_sections *s, uint32_t bit, const char *text);
void writer_event_desc(struct buf *out, const struct writer_event *events, size_t n);
void writer_build_id(struct buf *out, const char *path, const struct build_id *id, bool is_kernel);

/*
 * What follows the data, which ends at file offset `end`; and the header that then stands at
 * offset 0 (`header`: PERFDATA_HEADER_SIZE bytes, appended to *header).
 */
void writer_tail(const struct writer_event *events, size_t n_events, struct writer_sections *s,
		 uint64_t end, struct buf *tail, struct buf *header);

/*
 * A MAPPING, COMM or FORK as a record of the first event's layout, for what already ran when the
 * recording began. False: another type of event, or a path too long.
 */
bool writer_record(const struct perf_event_attr *attr, const struct event *e, struct buf *out);

/*
 * A SAMPLE of an event with these attributes and this id. False: it is larger than a record can
 * be, or the attributes ask for what is not written (READ, STACK_USER, AUX).
 */
bool writer_sample(const struct perf_event_attr *attr, uint64_t id, const struct event *e,
		   struct buf *out);
