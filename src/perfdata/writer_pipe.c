/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A pipe's records in place of a file's header and sections (format.h has their source). */
#include <string.h>

#include "perfdata/format.h"
#include "perfdata/writer.h"

enum { MAX_RECORD = UINT16_MAX & ~7 };

static void writer_pipe_put_header(struct buf *out, uint32_t type, size_t size)
{
	const struct perf_event_header h = { .type = type, .size = (uint16_t)size };

	buf_bytes(out, &h, sizeof(h));
}

bool writer_pipe_head(const struct writer_event *events, size_t n, struct buf *out)
{
	const uint64_t head[] = { PERFDATA_MAGIC, PERFDATA_PIPE_HEADER };
	size_t attr_size = writer_attr_size(events, n);

	buf_bytes(out, head, sizeof(head));
	for (size_t i = 0; i < n; i++) {
		struct perf_event_attr attr = events[i].attr;
		size_t size = sizeof(struct perf_event_header) + attr_size + 8 * events[i].n_ids;

		if (size > MAX_RECORD)
			return false;
		attr.size = (uint32_t)attr_size;
		writer_pipe_put_header(out, USER_HEADER_ATTR, size);
		buf_bytes(out, &attr, attr_size);
		buf_bytes(out, events[i].ids, 8 * events[i].n_ids);
	}
	return true;
}

/* The fields of all tracepoints, which may be larger than a record: they stand behind it. */
static void writer_pipe_tracing(const struct buf *bytes, struct buf *out)
{
	uint32_t padded = ((uint32_t)bytes->len + 7) & ~7u;

	writer_pipe_put_header(out, USER_TRACING_DATA, sizeof(struct perf_event_header) + 4);
	buf_bytes(out, &padded, sizeof(padded));
	buf_bytes(out, bytes->data, bytes->len);
	for (size_t i = bytes->len; i < padded; i++)
		buf_u8(out, 0);
}

void writer_pipe_sections(struct writer_sections *s, struct buf *out)
{
	vec_foreach (s, section) {
		size_t size = sizeof(struct perf_event_header) + 8 + section->bytes.len;
		size_t padded = (size + 7) & ~(size_t)7;
		const uint64_t feature = section->bit;

		if (section->bit == FEATURE_TRACING_DATA) {
			writer_pipe_tracing(&section->bytes, out);
			continue;
		}
		if (padded > MAX_RECORD)
			continue;
		writer_pipe_put_header(out, USER_FEATURE, padded);
		buf_bytes(out, &feature, sizeof(feature));
		buf_bytes(out, section->bytes.data, section->bytes.len);
		for (size_t i = size; i < padded; i++)
			buf_u8(out, 0);
	}
	writer_sections_fini(s);
}
