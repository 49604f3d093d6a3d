/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jitdump files written by hand, in either byte order. */
#pragma once

#include <byteswap.h>
#include <string.h>

#include "base/buf.h"

struct dump {
	struct buf b;
	bool is_swapped;
	size_t record; /* where the open one begins */
};

static inline void u32(struct dump *d, uint32_t v)
{
	buf_u32(&d->b, d->is_swapped ? bswap_32(v) : v);
}

static inline void u64(struct dump *d, uint64_t v)
{
	buf_u64(&d->b, d->is_swapped ? bswap_64(v) : v);
}

static inline void begin(struct dump *d, uint32_t type, uint64_t time_ns)
{
	d->record = d->b.len;
	u32(d, type);
	u32(d, 0);
	u64(d, time_ns);
}

static inline void end(struct dump *d)
{
	uint32_t size = (uint32_t)(d->b.len - d->record);

	size = d->is_swapped ? bswap_32(size) : size;
	memcpy(d->b.data + d->record + 4, &size, 4);
}

static inline void load(struct dump *d, uint64_t time_ns, uint64_t addr, uint64_t index,
			const char *name)
{
	begin(d, 0, time_ns);
	u32(d, 41);
	u32(d, 41);
	u64(d, addr);
	u64(d, addr);
	u64(d, 16);
	u64(d, index);
	buf_cstr0(&d->b, name);
	buf_bytes(&d->b, "0123456789abcdef", 16);
	end(d);
}

static inline void entry(struct dump *d, uint64_t addr, uint32_t line, const char *file)
{
	u64(d, addr);
	u32(d, line);
	u32(d, 0);
	buf_cstr0(&d->b, file);
}

/* The header of version 1, of process 41. */
static inline void dump_header(struct dump *d)
{
	u32(d, 0x4a695444);
	u32(d, 1);
	u32(d, 40);
	u32(d, 62);
	u32(d, 0);
	u32(d, 41);
	u64(d, 1000);
	u64(d, 0);
}
