/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"

enum {
	PMU_TYPE = 8,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71,
	FEATURE_ARCH = 6,
	FEATURE_CPUID = 9,
	FEATURE_AUXTRACE = 18,
	ID_PT = 1,
	ID_SIDE_BAND = 2,
	ID_SAMPLED = 3,
	HEADER_SIZE = 104,
	SAMPLED_BYTES = 4096,
};

/* Bits of the PMU's config, as /sys/bus/event_source/devices/intel_pt/format has them. */
enum { CYC = 1 << 1, MTC = 1 << 9, TSC = 1 << 10, NO_RET_COMPRESSION = 1 << 11, BRANCH = 1 << 13 };

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER)

void recording_init(struct recording *r, const struct writer_options *options)
{
	*r = (struct recording){ .options = *options };
}

void recording_fini(struct recording *r)
{
	buf_fini(&r->data);
	vec_fini(&r->traces);
}

static void put16(struct buf *b, uint16_t v)
{
	buf_bytes(b, &v, 2);
}

static void put_text(struct buf *b, const char *text, size_t align)
{
	buf_cstr0(b, text);
	while (b->len % align)
		buf_u8(b, 0);
}

static size_t begin(struct recording *r, uint32_t type, uint16_t misc)
{
	size_t at = r->data.len;

	buf_u32(&r->data, type);
	put16(&r->data, misc);
	put16(&r->data, 0);
	return at;
}

static void end(struct recording *r, size_t at)
{
	uint16_t size = (uint16_t)(r->data.len - at);

	memcpy(r->data.data + at + 6, &size, 2);
}

/* What sample_id_all puts behind a record. */
static void end_with_id(struct recording *r, size_t at, pid_t pid, pid_t tid, uint64_t tsc)
{
	buf_u32(&r->data, (uint32_t)pid);
	buf_u32(&r->data, (uint32_t)tid);
	buf_u64(&r->data, tsc);
	buf_u64(&r->data, ID_SIDE_BAND);
	end(r, at);
}

static void put_ids(struct recording *r, pid_t pid, pid_t tid)
{
	buf_u32(&r->data, (uint32_t)pid);
	buf_u32(&r->data, (uint32_t)tid);
}

void recording_comm(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, const char *comm,
		    bool is_exec)
{
	size_t at = begin(r, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);

	put_ids(r, pid, tid);
	put_text(&r->data, comm, 8);
	end_with_id(r, at, pid, tid, tsc);
}

static void put_task(struct recording *r, uint32_t type, const pid_t ids[4], uint64_t tsc)
{
	size_t at = begin(r, type, 0);

	for (int i = 0; i < 4; i++) /* pid, ppid, tid, ptid */
		buf_u32(&r->data, (uint32_t)ids[i]);
	buf_u64(&r->data, tsc);
	end_with_id(r, at, ids[0], ids[2], tsc);
}

void recording_fork(struct recording *r, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid, uint64_t tsc)
{
	put_task(r, PERF_RECORD_FORK, (pid_t[]){ pid, ppid, tid, ptid }, tsc);
}

void recording_exit(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc)
{
	put_task(r, PERF_RECORD_EXIT, (pid_t[]){ pid, pid, tid, tid }, tsc);
}

void recording_start(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc)
{
	size_t at = begin(r, PERF_RECORD_ITRACE_START, 0);

	put_ids(r, pid, tid);
	end_with_id(r, at, pid, tid, tsc);
}

void recording_map(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, uint64_t start,
		   uint64_t map_end, uint64_t file_off, uint32_t major, uint32_t minor,
		   uint64_t inode, const char *path)
{
	size_t at = begin(r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);

	put_ids(r, pid, tid);
	buf_u64(&r->data, start);
	buf_u64(&r->data, map_end - start);
	buf_u64(&r->data, file_off);
	buf_u32(&r->data, major);
	buf_u32(&r->data, minor);
	buf_u64(&r->data, inode);
	buf_u64(&r->data, 0); /* generation */
	buf_u32(&r->data, 5); /* PROT_READ | PROT_EXEC */
	buf_u32(&r->data, 2); /* MAP_PRIVATE */
	put_text(&r->data, path, 8);
	end_with_id(r, at, pid, tid, tsc);
}

void recording_kernel(struct recording *r, uint64_t start, uint64_t size)
{
	size_t at = begin(r, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	put_ids(r, -1, 0);
	buf_u64(&r->data, start);
	buf_u64(&r->data, size);
	buf_u64(&r->data, start); /* in place of an offset: where _text is */
	put_text(&r->data, "[kernel.kallsyms]_text", 8);
	end_with_id(r, at, -1, 0, 0);
	r->has_kernel = true;
}

void recording_poke(struct recording *r, uint64_t tsc, uint64_t addr, const uint8_t *before,
		    const uint8_t *after, uint16_t n)
{
	size_t at = begin(r, PERF_RECORD_TEXT_POKE, PERF_RECORD_MISC_KERNEL);

	buf_u64(&r->data, addr);
	put16(&r->data, n);
	put16(&r->data, n);
	buf_bytes(&r->data, before, n);
	buf_bytes(&r->data, after, n);
	while (r->data.len % 8)
		buf_u8(&r->data, 0);
	end_with_id(r, at, -1, 0, tsc);
}

void recording_trace(struct recording *r, pid_t tid, uint32_t index, uint64_t tsc,
		     const struct buf *packets)
{
	size_t padded = (packets->len + 7) & ~(size_t)7, at;

	at = begin(r, PERF_RECORD_AUX, 0);
	buf_u64(&r->data, 0);
	buf_u64(&r->data, padded);
	buf_u64(&r->data, 0);
	end_with_id(r, at, tid, tid, tsc);
	vec_push(&r->traces, r->data.len);
	at = begin(r, RECORD_AUXTRACE, 0);
	buf_u64(&r->data, padded);
	buf_u64(&r->data, 0); /* offset */
	buf_u64(&r->data, tsc);
	buf_u32(&r->data, index);
	buf_u32(&r->data, (uint32_t)tid);
	buf_u32(&r->data, UINT32_MAX); /* cpu: any */
	buf_u32(&r->data, 0);
	end(r, at);
	buf_bytes(&r->data, packets->data, packets->len);
	for (size_t i = packets->len; i < padded; i++)
		buf_u8(&r->data, 0);
}

/* A sample of another event, with the last `size` bytes of the packets. */
void recording_sample(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, uint64_t ip,
		      const struct buf *packets)
{
	size_t n = packets->len < SAMPLED_BYTES ? packets->len : SAMPLED_BYTES,
	       padded = (n + 7) & ~(size_t)7, at;

	at = begin(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	buf_u64(&r->data, ID_SAMPLED);
	buf_u64(&r->data, ip);
	put_ids(r, pid, tid);
	buf_u64(&r->data, tsc);
	buf_u64(&r->data, padded);
	buf_bytes(&r->data, packets->data + packets->len - n, n);
	for (size_t i = n; i < padded; i++)
		buf_u8(&r->data, 0);
	end(r, at);
	if (!r->sampled_tid)
		r->sampled_tid = tid;
}

static uint64_t config_of(const struct writer_options *o)
{
	return 1 | BRANCH | (o->has_tsc ? TSC : 0) | (o->has_cyc ? CYC : 0) |
	       (o->has_mtc ? MTC | (uint64_t)o->mtc_shift << 14 : 0) |
	       (o->no_ret_compression ? NO_RET_COMPRESSION : 0);
}

static void put_attr(struct buf *b, uint32_t type, uint64_t config, uint64_t id, uint64_t ids_at,
		     bool with_kernel)
{
	bool is_side_band = id == ID_SIDE_BAND, is_sampled = id == ID_SAMPLED;

	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = 1,
		.sample_type = SAMPLE_TYPE | (is_sampled ? PERF_SAMPLE_AUX : 0),
		.aux_sample_size = is_sampled ? SAMPLED_BYTES : 0,
		.read_format = PERF_FORMAT_ID,
		.exclude_kernel = !with_kernel,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.mmap = is_side_band,
		.mmap2 = is_side_band,
		.comm = is_side_band,
		.comm_exec = is_side_band,
		.task = is_side_band,
	};

	buf_bytes(b, &attr, sizeof(attr));
	buf_u64(b, ids_at);
	buf_u64(b, 8);
}

/* The words of perf's struct auxtrace_info for Intel PT, in the order of its private area. */
static void put_info(struct buf *b, const struct writer_options *o)
{
	const uint64_t words[17] = {
		PMU_TYPE,
		0, /* time: shift, multiplier, zero, and that they are right */
		1,
		0,
		1,
		TSC,
		NO_RET_COMPRESSION,
		0, /* no context switches */
		0, /* no snapshot */
		0, /* buffers are of threads */
		MTC,
		0xfu << 14,
		o->ctc_numerator ? o->ctc_numerator : 100,
		o->ctc_denominator ? o->ctc_denominator : 2,
		CYC,
		20, /* base frequency over bus frequency */
		0,  /* no address filter */
	};

	buf_u32(b, RECORD_AUXTRACE_INFO);
	put16(b, 0);
	put16(b, 16 + sizeof(words));
	buf_u32(b, 1); /* Intel PT */
	buf_u32(b, 0);
	buf_bytes(b, words, sizeof(words));
}

/* Which buffer samples are of, as perf takes it: that of one thread. */
static void put_id_index(struct buf *b, pid_t tid)
{
	const uint64_t words[] = { 1, ID_SAMPLED, 0, UINT64_MAX, (uint64_t)tid };

	buf_u32(b, RECORD_ID_INDEX);
	put16(b, 0);
	put16(b, 8 + sizeof(words));
	buf_bytes(b, words, sizeof(words));
}

/* Notes where a feature section, begun at `from`, is. */
static void end_feature(struct buf *b, size_t *slot, size_t from)
{
	uint64_t place[2] = { from, b->len - from };

	memcpy(b->data + *slot, place, sizeof(place));
	*slot += sizeof(place);
}

static void put_text_feature(struct buf *b, size_t *slot, const char *text)
{
	size_t from = b->len, size = (strlen(text) + 64) & ~(size_t)63;

	buf_u32(b, (uint32_t)size);
	buf_str(b, text);
	for (size_t i = strlen(text); i < size; i++)
		buf_u8(b, 0);
	end_feature(b, slot, from);
}

/* Where the AUXTRACE records are; the size is that of the record without its payload. */
static void put_index(struct buf *b, size_t *slot, const struct recording *r, uint64_t data_at)
{
	size_t from = b->len;

	buf_u64(b, r->traces.n);
	for (size_t i = 0; i < r->traces.n; i++) {
		buf_u64(b, data_at + r->traces.data[i]);
		buf_u64(b, 48);
	}
	end_feature(b, slot, from);
}

void recording_finish(const struct recording *r, struct buf *out)
{
	const size_t attr_size = sizeof(struct perf_event_attr) + 16;
	const uint32_t n = r->sampled_tid ? 3 : 2;
	const size_t ids = HEADER_SIZE, attrs = ids + 8 * n, data = attrs + n * attr_size;
	struct buf info = { 0 };
	size_t slot;

	if (r->sampled_tid)
		put_id_index(&info, r->sampled_tid);
	put_info(&info, &r->options);
	buf_str(out, "PERFILE2");
	buf_u64(out, HEADER_SIZE);
	buf_u64(out, attr_size);
	buf_u64(out, attrs);
	buf_u64(out, n * attr_size);
	buf_u64(out, data);
	buf_u64(out, info.len + r->data.len);
	buf_u64(out, 0); /* event types: none */
	buf_u64(out, 0);
	buf_u64(out, 1ULL << FEATURE_ARCH | 1ULL << FEATURE_CPUID | 1ULL << FEATURE_AUXTRACE);
	for (int i = 0; i < 3; i++)
		buf_u64(out, 0);
	for (uint64_t id = 1; id <= n; id++)
		buf_u64(out, id);
	put_attr(out, PMU_TYPE, config_of(&r->options), ID_PT, ids, r->has_kernel);
	put_attr(out, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, ID_SIDE_BAND, ids + 8,
		 r->has_kernel);
	if (r->sampled_tid)
		put_attr(out, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, ID_SAMPLED, ids + 16,
			 r->has_kernel);
	buf_bytes(out, info.data, info.len);
	buf_bytes(out, r->data.data, r->data.len);
	slot = out->len;
	for (int i = 0; i < 6; i++)
		buf_u64(out, 0);
	put_text_feature(out, &slot, "x86_64");
	put_text_feature(out, &slot, "GenuineIntel,6,94,3");
	put_index(out, &slot, r, data + info.len);
	buf_fini(&info);
}
