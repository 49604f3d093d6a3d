/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data files for tests, written number by number in either byte order; by hand, so
 * that nothing of the reader is used to make what it reads.
 */
#pragma once

#include <linux/perf_event.h>
#include <string.h>

#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"
#include "event/event.h"

struct writer {
	struct buf b;
	bool is_foreign;
	size_t record; /* where the record that is being written begins */
	size_t data;   /* where the data begins; 0: a pipe */
};

static inline void put16(struct writer *w, uint16_t v)
{
	v = w->is_foreign ? __builtin_bswap16(v) : v;
	buf_bytes(&w->b, &v, 2);
}

static inline void put32(struct writer *w, uint32_t v)
{
	v = w->is_foreign ? __builtin_bswap32(v) : v;
	buf_bytes(&w->b, &v, 4);
}

static inline void put64(struct writer *w, uint64_t v)
{
	v = w->is_foreign ? __builtin_bswap64(v) : v;
	buf_bytes(&w->b, &v, 8);
}

/* A text with NULs up to a multiple of eight bytes. */
static inline void put_text(struct writer *w, const char *text)
{
	size_t size = (strlen(text) + 8) & ~(size_t)7;

	buf_bytes(&w->b, text, strlen(text));
	for (size_t i = strlen(text); i < size; i++)
		buf_u8(&w->b, 0);
}

static inline void put_at(struct writer *w, size_t at, uint64_t v, size_t size)
{
	uint64_t swapped = w->is_foreign ? __builtin_bswap64(v) >> (64 - 8 * size) : v;

	memcpy(w->b.data + at, &swapped, size);
}

static inline void begin_record(struct writer *w, uint32_t type, uint16_t misc)
{
	w->record = w->b.len;
	put32(w, type);
	put16(w, misc);
	put16(w, 0);
}

static inline void end_record(struct writer *w)
{
	put_at(w, w->record + 6, w->b.len - w->record, 2);
}

/* The attr: `size` bytes of it; flags are given by the bits of ours. */
struct test_attr {
	uint32_t type, size;
	uint64_t config, period, sample_type, read_format, regs_user;
	bool is_freq, is_inherited;
};

/* Bit i of a 64-bit bit field, as the compiler of that machine places it. */
static inline uint64_t flag_bit(const struct writer *w, int i)
{
	return (uint64_t)1 << (w->is_foreign ? 63 - i : i);
}

static inline void put_attr(struct writer *w, const struct test_attr *a)
{
	enum { INHERIT = 1, FREQ = 10, SAMPLE_ID_ALL = 18 };
	size_t start = w->b.len;

	put32(w, a->type);
	put32(w, a->size);
	put64(w, a->config);
	put64(w, a->period);
	put64(w, a->sample_type);
	put64(w, a->read_format);
	put64(w, flag_bit(w, SAMPLE_ID_ALL) | (a->is_freq ? flag_bit(w, FREQ) : 0) |
			 (a->is_inherited ? flag_bit(w, INHERIT) : 0));
	while (w->b.len < start + a->size)
		buf_u8(&w->b, 0);
	if (a->size >= 88)
		put_at(w, start + 80, a->regs_user, 8);
}

/* A file's header, attrs and the place of their ids: `n` attrs of one size with ids 100, 101 … */
static inline void begin_file(struct writer *w, const struct test_attr *attrs, size_t n)
{
	size_t entry = attrs[0].size + 16, ids = 104, at = ids + 8 * n;

	put64(w, 0x32454c4946524550ULL);
	put64(w, 104);
	put64(w, entry);
	put64(w, at); /* attrs */
	put64(w, n * entry);
	put64(w, at + n * entry); /* data; its size is written by end_file() */
	put64(w, 0);
	for (int i = 0; i < 6; i++)
		put64(w, 0);
	for (size_t i = 0; i < n; i++)
		put64(w, 100 + i);
	for (size_t i = 0; i < n; i++) {
		put_attr(w, &attrs[i]);
		put64(w, ids + 8 * i);
		put64(w, 8);
	}
	w->data = w->b.len;
}

static inline void end_file(struct writer *w)
{
	put_at(w, 48, w->b.len - w->data, 8);
}

static inline void begin_pipe(struct writer *w, const struct test_attr *a, uint64_t id)
{
	put64(w, 0x32454c4946524550ULL);
	put64(w, 16);
	begin_record(w, 64, 0);
	put_attr(w, a);
	put64(w, id);
	end_record(w);
}

#define PLAIN_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU)

/* Records of PLAIN_TYPE. */

static inline void put_trailer(struct writer *w, uint32_t pid, uint64_t time_ns)
{
	put32(w, pid);
	put32(w, pid);
	put64(w, time_ns);
	put32(w, 1); /* CPU */
	put32(w, 0);
}

static inline void put_sample(struct writer *w, uint32_t pid, uint64_t ip, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(w, ip);
	put_trailer(w, pid, time_ns);
	end_record(w);
}

static inline void put_comm(struct writer *w, uint32_t pid, const char *name, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_COMM, 0);
	put32(w, pid);
	put32(w, pid);
	put_text(w, name);
	put_trailer(w, pid, time_ns);
	end_record(w);
}

static inline void put_mmap(struct writer *w, uint32_t pid, uint64_t start, uint64_t size,
			    const char *path, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_MMAP,
		     pid == (uint32_t)-1 ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
	put32(w, pid);
	put32(w, pid);
	put64(w, start);
	put64(w, size);
	put64(w, 0);
	put_text(w, path);
	put_trailer(w, pid, time_ns);
	end_record(w);
}

static inline void put_round(struct writer *w)
{
	begin_record(w, 68, 0);
	end_record(w);
}
