/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/writer.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "perfdata/format.h"

/* perf pads names in sections to this size (NAME_ALIGN of its header.h). */
#define NAME_ALIGN 64

/* The attrs of Linux 4.1, 5.5 and 5.13: perf refuses larger attrs than its own. */
static const size_t attr_sizes[] = { 112, 120, 128 };

#define MISC_BUILD_ID_SIZE (1 << 15) /* as in feature.c */

#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif

static void writer_put_u16(struct buf *out, uint16_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_put_u32(struct buf *out, uint32_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void writer_put_u64(struct buf *out, uint64_t v)
{
	buf_bytes(out, &v, sizeof(v));
}

static void put_zeros(struct buf *out, size_t n)
{
	while (n--)
		buf_u8(out, 0);
}

/* The head. */

/* What follows in the attributes is zero. */
static bool is_attr_within(const struct writer_event *events, size_t n, size_t size)
{
	static const uint8_t zeros[sizeof(struct perf_event_attr)];

	for (size_t i = 0; i < n; i++)
		if (memcmp((const uint8_t *)&events[i].attr + size, zeros, sizeof(zeros) - size) !=
		    0)
			return false;
	return true;
}

size_t writer_attr_size(const struct writer_event *events, size_t n)
{
	for (size_t i = 0; i < ARRAY_SIZE(attr_sizes); i++)
		if (attr_sizes[i] < sizeof(struct perf_event_attr) &&
		    is_attr_within(events, n, attr_sizes[i]))
			return attr_sizes[i];
	return sizeof(struct perf_event_attr);
}

static size_t n_ids(const struct writer_event *events, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += events[i].n_ids;
	return sum;
}

static uint64_t data_off(const struct writer_event *events, size_t n)
{
	return PERFDATA_HEADER_SIZE + 8 * n_ids(events, n) + n * (writer_attr_size(events, n) + 16);
}

static void writer_put_header(const struct writer_event *events, size_t n, uint64_t data_size,
			      const uint64_t bits[static 4], struct buf *out)
{
	uint64_t entry = writer_attr_size(events, n) + 16;

	writer_put_u64(out, PERFDATA_MAGIC);
	writer_put_u64(out, PERFDATA_HEADER_SIZE);
	writer_put_u64(out, entry);
	writer_put_u64(out, PERFDATA_HEADER_SIZE + 8 * n_ids(events, n));
	writer_put_u64(out, n * entry);
	writer_put_u64(out, data_off(events, n));
	writer_put_u64(out, data_size);
	writer_put_u64(out, 0); /* names of events, before Linux 3.x */
	writer_put_u64(out, 0);
	for (int i = 0; i < 4; i++)
		writer_put_u64(out, bits[i]);
}

void writer_head(const struct writer_event *events, size_t n, struct buf *out)
{
	static const uint64_t no_bits[4];
	size_t size = writer_attr_size(events, n);
	uint64_t ids = PERFDATA_HEADER_SIZE;

	writer_put_header(events, n, 0, no_bits, out);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < events[i].n_ids; k++)
			writer_put_u64(out, events[i].ids[k]);
	for (size_t i = 0; i < n; i++) {
		struct perf_event_attr attr = events[i].attr;

		attr.size = (uint32_t)size;
		buf_bytes(out, &attr, size);
		writer_put_u64(out, ids);
		writer_put_u64(out, 8 * events[i].n_ids);
		ids += 8 * events[i].n_ids;
	}
}

/* Sections. */

void writer_sections_fini(struct writer_sections *s)
{
	vec_foreach (s, section)
		buf_fini(&section->bytes);
	vec_fini(s);
}

struct buf *writer_section(struct writer_sections *s, uint32_t bit)
{
	struct writer_section *section;

	assert(bit < 256); /* the header has 256 bits */
	vec_foreach (s, known) {
		if (known->bit == bit) {
			known->bytes.len = 0;
			return &known->bytes;
		}
	}
	section = vec_add(s);
	section->bit = bit;
	return &section->bytes;
}

void writer_text(struct buf *out, const char *text)
{
	size_t len = strlen(text), size = (len + 1 + NAME_ALIGN - 1) & ~(size_t)(NAME_ALIGN - 1);

	writer_put_u32(out, (uint32_t)size);
	buf_str(out, text);
	put_zeros(out, size - len);
}

void writer_text_section(struct writer_sections *s, uint32_t bit, const char *text)
{
	if (text && *text)
		writer_text(writer_section(s, bit), text);
}

void writer_event_desc(struct buf *out, const struct writer_event *events, size_t n)
{
	size_t size = writer_attr_size(events, n);

	writer_put_u32(out, (uint32_t)n);
	writer_put_u32(out, (uint32_t)size);
	for (size_t i = 0; i < n; i++) {
		struct perf_event_attr attr = events[i].attr;

		attr.size = (uint32_t)size;
		buf_bytes(out, &attr, size);
		writer_put_u32(out, (uint32_t)events[i].n_ids);
		writer_text(out, events[i].name);
		for (size_t k = 0; k < events[i].n_ids; k++)
			writer_put_u64(out, events[i].ids[k]);
	}
}

void writer_build_id(struct buf *out, const char *path, const struct build_id *id, bool is_kernel)
{
	size_t len = strlen(path), size = (len + 1 + NAME_ALIGN - 1) & ~(size_t)(NAME_ALIGN - 1);
	uint16_t mode = is_kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;

	if (len > 4096)
		return;
	writer_put_u32(out, 0);
	writer_put_u16(out, mode | MISC_BUILD_ID_SIZE);
	writer_put_u16(out, (uint16_t)(8 + 4 + 24 + size));
	writer_put_u32(out, UINT32_MAX); /* pid: the host */
	buf_bytes(out, id->bytes, BUILD_ID_MAX);
	buf_u8(out, id->len);
	put_zeros(out, 3);
	buf_str(out, path);
	put_zeros(out, size - len);
}

static int by_bit(const void *a, const void *b)
{
	uint32_t x = ((const struct writer_section *)a)->bit,
		 y = ((const struct writer_section *)b)->bit;

	return (x > y) - (x < y);
}

void writer_tail(const struct writer_event *events, size_t n_events, struct writer_sections *s,
		 uint64_t end, struct buf *tail, struct buf *header)
{
	uint64_t bits[4] = { 0 }, at = end + 16 * s->n;

	assert(end >= data_off(events, n_events));
	if (s->n)
		qsort(s->data, s->n, sizeof(*s->data), by_bit);
	vec_foreach (s, section) {
		bits[section->bit / 64] |= (uint64_t)1 << section->bit % 64;
		writer_put_u64(tail, at);
		writer_put_u64(tail, section->bytes.len);
		at += section->bytes.len;
	}
	vec_foreach (s, section)
		buf_bytes(tail, section->bytes.data, section->bytes.len);
	writer_put_header(events, n_events, end - data_off(events, n_events), bits, header);
}

/* Records. */

/* A text with NULs up to a multiple of eight bytes. */
static void writer_put_text(struct buf *out, const char *text)
{
	size_t len = strlen(text);

	buf_str(out, text);
	put_zeros(out, 8 - len % 8);
}

static void writer_put_mapping(const struct event *e, struct buf *out)
{
	const struct mapping_event *m = &e->mapping;

	writer_put_u32(out, (uint32_t)e->pid);
	writer_put_u32(out, (uint32_t)e->tid);
	writer_put_u64(out, m->start);
	writer_put_u64(out, m->size);
	writer_put_u64(out, m->file_off);
	if (m->is_kernel) {
		writer_put_text(out, m->path);
		return;
	}
	if (m->build_id.len) {
		buf_u8(out, m->build_id.len);
		put_zeros(out, 3);
		buf_bytes(out, m->build_id.bytes, BUILD_ID_MAX);
	} else {
		writer_put_u32(out, (uint32_t)(m->dev >> 32));
		writer_put_u32(out, (uint32_t)m->dev);
		writer_put_u64(out, m->ino);
		writer_put_u64(out, 0);
	}
	writer_put_u32(out, m->is_executable ? 5 : 1); /* PROT_READ, PROT_EXEC */
	writer_put_u32(out, 2);                        /* MAP_PRIVATE */
	writer_put_text(out, m->path);
}

static uint32_t record_type(const struct event *e)
{
	switch (e->type) {
	case EVENT_MAPPING:
		return e->mapping.is_kernel ? PERF_RECORD_MMAP : PERF_RECORD_MMAP2;
	case EVENT_COMM:
		return PERF_RECORD_COMM;
	case EVENT_FORK:
		return PERF_RECORD_FORK;
	default:
		return 0;
	}
}

static uint16_t writer_misc_of(const struct event *e)
{
	if (e->type == EVENT_COMM)
		return e->comm.is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0;
	if (e->type != EVENT_MAPPING)
		return 0;
	if (e->mapping.is_kernel)
		return PERF_RECORD_MISC_KERNEL;
	return (uint16_t)(PERF_RECORD_MISC_USER |
			  (e->mapping.build_id.len ? PERF_RECORD_MISC_MMAP_BUILD_ID : 0) |
			  (e->mapping.is_executable ? 0 : PERF_RECORD_MISC_MMAP_DATA));
}

/* sample_id_all's fields; the id 0 is the first event's. */
static void put_trailer(const struct perf_event_attr *attr, const struct event *e, struct buf *out)
{
	uint64_t type = attr->sample_type;

	if (!attr->sample_id_all)
		return;
	if (type & PERF_SAMPLE_TID) {
		writer_put_u32(out, (uint32_t)e->pid);
		writer_put_u32(out, (uint32_t)e->tid);
	}
	if (type & PERF_SAMPLE_TIME)
		writer_put_u64(out, e->time_ns);
	if (type & PERF_SAMPLE_ID)
		writer_put_u64(out, 0);
	if (type & PERF_SAMPLE_STREAM_ID)
		writer_put_u64(out, 0);
	if (type & PERF_SAMPLE_CPU) {
		writer_put_u32(out, e->cpu);
		writer_put_u32(out, 0);
	}
	if (type & PERF_SAMPLE_IDENTIFIER)
		writer_put_u64(out, 0);
}

bool writer_record(const struct perf_event_attr *attr, const struct event *e, struct buf *out)
{
	size_t start = out->len;
	uint32_t type = record_type(e);
	uint16_t size;

	if (!type || (e->type == EVENT_MAPPING && strlen(e->mapping.path) > 4096))
		return false;
	writer_put_u32(out, type);
	writer_put_u16(out, writer_misc_of(e));
	writer_put_u16(out, 0);
	if (e->type == EVENT_MAPPING) {
		writer_put_mapping(e, out);
	} else if (e->type == EVENT_COMM) {
		writer_put_u32(out, (uint32_t)e->pid);
		writer_put_u32(out, (uint32_t)e->tid);
		writer_put_text(out, e->comm.name);
	} else {
		writer_put_u32(out, (uint32_t)e->pid);
		writer_put_u32(out, (uint32_t)e->fork.ppid);
		writer_put_u32(out, (uint32_t)e->tid);
		writer_put_u32(out, (uint32_t)e->fork.ptid);
		writer_put_u64(out, e->time_ns);
	}
	put_trailer(attr, e, out);
	size = (uint16_t)(out->len - start);
	memcpy(out->data + start + 6, &size, sizeof(size));
	return true;
}
