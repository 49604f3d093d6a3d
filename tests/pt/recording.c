/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recording.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/files/file.h"
#include "base/mem.h"

enum {
	PMU_TYPE = 8,
	RECORD_HEADER_ATTR = 64,
	RECORD_ID_INDEX = 69,
	RECORD_AUXTRACE_INFO = 70,
	RECORD_AUXTRACE = 71,
	FEATURE_TRACING_DATA = 1,
	FEATURE_BUILD_ID = 2,
	MISC_BUILD_ID_SIZE = 1 << 15,
	FEATURE_ARCH = 6,
	FEATURE_CPUID = 9,
	FEATURE_AUXTRACE = 18,
	ID_PT = 1,
	ID_SIDE_BAND = 2,
	ID_OTHERS = 3, /* samples with trace data, or sched_switch */
	SWITCH_EVENT = 0x108,
	HEADER_SIZE = 104,
	SAMPLED_BYTES = 4096,
};

/* Bits of the PMU's config, as /sys/bus/event_source/devices/intel_pt/format has them. */
enum {
	CYC = 1 << 1,
	POWER = 1 << 4,
	FUP_ON_PTW = 1 << 5,
	MTC = 1 << 9,
	PTW = 1 << 12,
	TSC = 1 << 10,
	NO_RET_COMPRESSION = 1 << 11,
	BRANCH = 1 << 13
};
#define NO_TNT (1ULL << 55)

#define SAMPLE_TYPE (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER)

/* The fields of PEBS records. */
#define PEBS_SAMPLE_TYPE                                                                        \
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_TRANSACTION | \
	 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_BRANCH_STACK)
#define PEBS_REGISTERS (0xffffffffULL << 32 | 0xff03ff) /* XMM0 … 15; no segments */

void recording_init(struct recording *r, const struct writer_options *options)
{
	*r = (struct recording){ .options = *options };
}

void recording_fini(struct recording *r)
{
	buf_fini(&r->data);
	vec_fini(&r->traces);
	vec_foreach (&r->files, f)
		free(f->path);
	vec_fini(&r->files);
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

static uint16_t guest_mode(uint16_t misc)
{
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode == PERF_RECORD_MISC_KERNEL || mode == PERF_RECORD_MISC_GUEST_KERNEL
		       ? PERF_RECORD_MISC_GUEST_KERNEL
		       : PERF_RECORD_MISC_GUEST_USER;
}

static size_t begin(struct recording *r, uint32_t type, uint16_t misc)
{
	size_t at = r->data.len;

	if (r->is_of_guest)
		misc = (misc & ~PERF_RECORD_MISC_CPUMODE_MASK) | guest_mode(misc);
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

static void put_cpu(struct recording *r)
{
	if (r->is_per_cpu)
		buf_u64(&r->data, r->cpu);
}

/* What sample_id_all puts behind a record. */
static void end_with_id(struct recording *r, size_t at, pid_t pid, pid_t tid, uint64_t tsc)
{
	buf_u32(&r->data, (uint32_t)pid);
	buf_u32(&r->data, (uint32_t)tid);
	buf_u64(&r->data, tsc);
	put_cpu(r);
	buf_u64(&r->data, r->is_of_guest ? ID_OTHERS : ID_SIDE_BAND);
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
	size_t at;

	if (r->is_silent)
		return;
	at = begin(r, PERF_RECORD_COMM, is_exec ? PERF_RECORD_MISC_COMM_EXEC : 0);
	put_ids(r, pid, tid);
	put_text(&r->data, comm, 8);
	end_with_id(r, at, pid, tid, tsc);
}

static void put_task(struct recording *r, uint32_t type, const pid_t ids[4], uint64_t tsc)
{
	size_t at;

	if (r->is_silent)
		return;
	at = begin(r, type, 0);
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
	size_t at;

	if (r->is_silent)
		return;
	at = begin(r, PERF_RECORD_ITRACE_START, 0);
	put_ids(r, pid, tid);
	end_with_id(r, at, pid, tid, tsc);
}

static void note_file(struct recording *r, const char *path)
{
	struct file_mapping file;
	struct elf_file elf;
	struct build_id id;

	vec_foreach (&r->files, f)
		if (strcmp(f->path, path) == 0)
			return;
	if (path[0] != '/' || file_map(path, &file, NULL) < 0)
		return;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0 && elf_build_id(&elf, &id))
		vec_push(&r->files, ((struct recorded_file){ xstrdup(path), id }));
	file_unmap(&file);
}

void recording_map(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, uint64_t start,
		   uint64_t map_end, uint64_t file_off, uint32_t major, uint32_t minor,
		   uint64_t inode, const char *path)
{
	size_t at;

	if (r->is_silent)
		return;
	if (r->tells_build_ids)
		note_file(r, path);
	at = begin(r, PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
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

static void put_kernel_map(struct recording *r, uint64_t start, uint64_t size, uint64_t file_off,
			   const char *path)
{
	size_t at = begin(r, PERF_RECORD_MMAP, PERF_RECORD_MISC_KERNEL);

	put_ids(r, -1, 0);
	buf_u64(&r->data, start);
	buf_u64(&r->data, size);
	buf_u64(&r->data, file_off);
	put_text(&r->data, path, 8);
	end_with_id(r, at, -1, 0, 0);
}

void recording_kernel(struct recording *r, uint64_t start, uint64_t size)
{
	/* In place of an offset: where _text is. */
	put_kernel_map(r, start, size, start, "[kernel.kallsyms]_text");
	r->has_kernel = true;
}

void recording_guest_kernel(struct recording *r, pid_t pid, uint64_t start, uint64_t size)
{
	size_t at = begin(r, PERF_RECORD_MMAP, PERF_RECORD_MISC_GUEST_KERNEL);

	put_ids(r, pid, 0);
	buf_u64(&r->data, start);
	buf_u64(&r->data, size);
	buf_u64(&r->data, start);
	put_text(&r->data, "[guest.kernel.kallsyms]_text", 8);
	end_with_id(r, at, pid, 0, 0);
}

void recording_module(struct recording *r, uint64_t start, uint64_t size, const char *path)
{
	put_kernel_map(r, start, size, 0, path);
	r->module_path = r->tells_build_ids ? path : NULL;
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

static void put_switch(struct recording *r, bool is_out, uint64_t tsc, struct recording_thread who,
		       struct recording_thread other)
{
	bool is_wide = !r->tells_switches_of_tasks && !r->is_of_guest;
	size_t at;

	if (!is_wide && !who.tid)
		return;
	at = begin(r, is_wide ? PERF_RECORD_SWITCH_CPU_WIDE : PERF_RECORD_SWITCH,
		   is_out ? PERF_RECORD_MISC_SWITCH_OUT : 0);
	if (is_wide)
		put_ids(r, other.pid, other.tid);
	end_with_id(r, at, who.pid, who.tid, tsc);
}

/* A sample of sched:sched_switch for the thread that left the CPU: see SWITCH_FORMAT. */
static void put_switch_sample(struct recording *r, uint64_t tsc, struct recording_thread before,
			      struct recording_thread now)
{
	const struct {
		uint16_t type;
		uint8_t flags, preempt_count;
		int32_t pid;
		char comm[16];
		int32_t prev_pid, prev_prio;
		int64_t prev_state;
		char next_comm[16];
		int32_t next_pid, next_prio;
	} raw = { .type = SWITCH_EVENT,
		  .pid = before.tid,
		  .comm = "before",
		  .prev_pid = before.tid,
		  .prev_prio = 120,
		  .next_comm = "after",
		  .next_pid = now.tid,
		  .next_prio = 120 };
	size_t at = begin(r, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);

	buf_u64(&r->data, ID_OTHERS);
	buf_u64(&r->data, 0xffffffff81000100);
	put_ids(r, before.pid, before.tid);
	buf_u64(&r->data, tsc);
	put_cpu(r);
	buf_u32(&r->data, sizeof(raw) + 4);
	buf_bytes(&r->data, &raw, sizeof(raw));
	buf_u32(&r->data, 0);
	end(r, at);
}

void recording_switch(struct recording *r, uint64_t tsc, struct recording_thread before,
		      struct recording_thread now)
{
	if (r->has_tracepoint) {
		put_switch_sample(r, tsc, before, now);
		return;
	}
	put_switch(r, true, tsc, before, now);
	put_switch(r, false, tsc + (r->switch_ticks ? r->switch_ticks : 50), now, before);
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
	buf_u32(&r->data, r->is_per_cpu ? r->cpu : UINT32_MAX); /* any */
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
	buf_u64(&r->data, ID_OTHERS);
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

void recording_plain_sample(struct recording *r, uint16_t misc, struct recording_thread who,
			    uint64_t tsc, uint64_t ip)
{
	size_t at = begin(r, PERF_RECORD_SAMPLE, misc);

	buf_u64(&r->data, r->is_of_guest ? ID_OTHERS : ID_SIDE_BAND);
	buf_u64(&r->data, ip);
	put_ids(r, who.pid, who.tid);
	buf_u64(&r->data, tsc);
	put_cpu(r);
	end(r, at);
}

static uint64_t config_of(const struct writer_options *o)
{
	return 1 | BRANCH | (o->has_tsc ? TSC : 0) | (o->has_cyc ? CYC : 0) |
	       (o->has_mtc ? MTC | (uint64_t)o->mtc_shift << 14 : 0) |
	       (o->no_ret_compression ? NO_RET_COMPRESSION : 0) |
	       (o->says_packets ? POWER | FUP_ON_PTW | PTW : 0) | (o->no_tnt ? NO_TNT : 0);
}

static void put_attr(struct buf *b, const struct recording *r, uint32_t type, uint64_t config,
		     uint64_t id, uint64_t ids_at)
{
	bool is_side_band = id == ID_SIDE_BAND || (id == ID_OTHERS && r->host_pid),
	     is_pebs = type == PERF_TYPE_HARDWARE,
	     is_sampled = id == ID_OTHERS && type == PERF_TYPE_SOFTWARE && !r->host_pid;

	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.sample_period = is_pebs ? 1000 : 1,
		.sample_type = SAMPLE_TYPE | (is_sampled ? PERF_SAMPLE_AUX : 0) |
			       (type == PERF_TYPE_TRACEPOINT ? PERF_SAMPLE_RAW : 0) |
			       (r->is_per_cpu ? PERF_SAMPLE_CPU : 0) |
			       (is_pebs ? PEBS_SAMPLE_TYPE : 0),
		.aux_output = is_pebs,
		.precise_ip = is_pebs ? 3 : 0,
		.sample_regs_intr = is_pebs ? PEBS_REGISTERS : 0,
		.branch_sample_type = is_pebs ? PERF_SAMPLE_BRANCH_ANY : 0,
		.aux_sample_size = is_sampled ? SAMPLED_BYTES : 0,
		.read_format = PERF_FORMAT_ID,
		.exclude_user = r->lacks_user,
		.exclude_kernel = !r->has_kernel,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.mmap = is_side_band,
		.mmap2 = is_side_band,
		.comm = is_side_band,
		.comm_exec = is_side_band,
		.task = is_side_band,
		.context_switch = is_side_band && r->is_per_cpu && !r->has_tracepoint,
	};

	buf_bytes(b, &attr, sizeof(attr));
	buf_u64(b, ids_at);
	buf_u64(b, 8);
}

/* How perf says it: none, sched_switch, switches of tasks, of CPUs. */
static uint64_t switches_of(const struct recording *r)
{
	if (!r->is_per_cpu)
		return 0;
	return r->has_tracepoint ? 1 : r->tells_switches_of_tasks ? 2 : 3;
}

/* The words of perf's struct auxtrace_info for Intel PT, in the order of its private area. */
static void put_info(struct buf *b, const struct recording *r)
{
	const struct writer_options *o = &r->options;
	const uint64_t words[18] = {
		PMU_TYPE,
		0, /* time: shift, multiplier, zero, and that they are right */
		1,
		0,
		1,
		TSC,
		NO_RET_COMPRESSION,
		switches_of(r),
		0, /* no snapshot */
		r->is_per_cpu,
		MTC,
		0xfu << 14,
		o->ctc_numerator ? o->ctc_numerator : 100,
		o->ctc_denominator ? o->ctc_denominator : 2,
		CYC,
		20, /* base frequency over bus frequency */
		0,  /* no address filter */
		r->has_event_trace,
	};

	buf_u32(b, RECORD_AUXTRACE_INFO);
	put16(b, 0);
	put16(b, 16 + sizeof(words));
	buf_u32(b, 1); /* Intel PT */
	buf_u32(b, 0);
	buf_bytes(b, words, sizeof(words));
}

/* The buffer of the samples, in perf's form: the buffer of one thread. */
static void put_id_index(struct buf *b, const struct recording *r)
{
	pid_t tid = r->host_pid ? r->host_pid : r->sampled_tid;
	const uint64_t words[] = { 1, ID_OTHERS, 0, UINT64_MAX, (uint64_t)tid };
	const uint64_t guest[] = { (uint64_t)r->host_pid, r->guest_cpu };
	size_t size = sizeof(words) + (r->host_pid ? sizeof(guest) : 0);

	buf_u32(b, RECORD_ID_INDEX);
	put16(b, 0);
	put16(b, (uint16_t)(8 + size));
	buf_bytes(b, words, sizeof(words));
	if (r->host_pid)
		buf_bytes(b, guest, sizeof(guest));
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

/* What the kernel says of its event, as perf keeps it ("tracing data", version 0.6). */
#define SWITCH_FORMAT                                                                  \
	"name: sched_switch\nID: 264\nformat:\n"                                       \
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"         \
	"\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n"         \
	"\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"                   \
	"\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"                \
	"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"                    \
	"\tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n"                     \
	"\tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n"                   \
	"\tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n"               \
	"\tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n"                    \
	"\tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\n"                   \
	"print fmt: \"%d => %d\", REC->prev_pid, REC->next_pid\n"

static void put_tracing_data(struct buf *b, size_t *slot)
{
	static const char magic[] = "\x17\x08\x44tracing";
	size_t from = b->len;

	buf_bytes(b, magic, sizeof(magic) - 1);
	buf_cstr0(b, "0.6");
	buf_u8(b, 0); /* little endian */
	buf_u8(b, 8);
	buf_u32(b, 4096);
	buf_cstr0(b, "header_page"); /* what these say nobody reads, but it may not be empty */
	buf_u64(b, 1);
	buf_str(b, "\n");
	buf_cstr0(b, "header_event");
	buf_u64(b, 1);
	buf_str(b, "\n");
	buf_u32(b, 0); /* ftrace's own events */
	buf_u32(b, 1); /* systems */
	buf_cstr0(b, "sched");
	buf_u32(b, 1);
	buf_u64(b, sizeof(SWITCH_FORMAT) - 1);
	buf_str(b, SWITCH_FORMAT);
	buf_u32(b, 0); /* kallsyms */
	buf_u32(b, 0); /* printk's formats */
	buf_u64(b, 0); /* comms */
	end_feature(b, slot, from);
}

static void put_build_id(struct buf *b, uint16_t mode, const char *path, const struct build_id *id)
{
	size_t size = (strlen(path) + 8) & ~(size_t)7;

	buf_u32(b, 0);
	put16(b, mode | MISC_BUILD_ID_SIZE);
	put16(b, (uint16_t)(36 + size));
	buf_u32(b, UINT32_MAX); /* pid: the host's */
	buf_bytes(b, id->bytes, 20);
	buf_u32(b, id->len); /* a byte, and three that are not used */
	buf_str(b, path);
	for (size_t i = strlen(path); i < size; i++)
		buf_u8(b, 0);
}

static void put_build_ids(struct buf *b, size_t *slot, const struct recording *r)
{
	struct build_id module_id = { .len = 20 };
	size_t from = b->len;

	memset(module_id.bytes, 0x11, module_id.len);
	if (r->kernel_build_id.len)
		put_build_id(b, PERF_RECORD_MISC_KERNEL, "[kernel.kallsyms]", &r->kernel_build_id);
	if (r->module_path)
		put_build_id(b, PERF_RECORD_MISC_KERNEL, r->module_path, &module_id);
	vec_foreach (&r->files, f)
		put_build_id(b, PERF_RECORD_MISC_USER, f->path, &f->id);
	end_feature(b, slot, from);
}

/* The places of the AUXTRACE records. The size is the size of the record without its payload. */
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
	const bool has_others = r->sampled_tid || r->has_tracepoint || r->has_pebs || r->host_pid;
	const uint32_t n = has_others ? 3 : 2;
	const size_t ids = HEADER_SIZE, attrs = ids + 8 * n, data = attrs + n * attr_size;
	uint64_t features = 1ULL << FEATURE_ARCH | 1ULL << FEATURE_CPUID | 1ULL << FEATURE_AUXTRACE;
	struct buf info = { 0 };
	size_t slot;

	if (r->kernel_build_id.len || r->files.n)
		features |= 1ULL << FEATURE_BUILD_ID;
	if (r->has_tracepoint)
		features |= 1ULL << FEATURE_TRACING_DATA;
	if (r->sampled_tid || r->host_pid)
		put_id_index(&info, r);
	put_info(&info, r);
	buf_str(out, "PERFILE2");
	buf_u64(out, HEADER_SIZE);
	buf_u64(out, attr_size);
	buf_u64(out, attrs);
	buf_u64(out, n * attr_size);
	buf_u64(out, data);
	buf_u64(out, info.len + r->data.len);
	buf_u64(out, 0); /* event types: none */
	buf_u64(out, 0);
	buf_u64(out, features);
	for (int i = 0; i < 3; i++)
		buf_u64(out, 0);
	for (uint64_t id = 1; id <= n; id++)
		buf_u64(out, id);
	put_attr(out, r, PMU_TYPE, config_of(&r->options), ID_PT, ids);
	put_attr(out, r, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, ID_SIDE_BAND, ids + 8);
	if (r->sampled_tid)
		put_attr(out, r, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, ID_OTHERS,
			 ids + 16);
	else if (r->host_pid && !r->has_tracepoint)
		put_attr(out, r, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, ID_OTHERS, ids + 16);
	else if (r->has_pebs)
		put_attr(out, r, PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, ID_OTHERS, ids + 16);
	else if (r->has_tracepoint)
		put_attr(out, r, PERF_TYPE_TRACEPOINT, SWITCH_EVENT, ID_OTHERS, ids + 16);
	buf_bytes(out, info.data, info.len);
	buf_bytes(out, r->data.data, r->data.len);
	slot = out->len;
	for (int i = 0; i < 2 * __builtin_popcountll(features); i++)
		buf_u64(out, 0);
	if (r->has_tracepoint)
		put_tracing_data(out, &slot);
	if (r->kernel_build_id.len || r->files.n)
		put_build_ids(out, &slot, r);
	put_text_feature(out, &slot, "x86_64");
	put_text_feature(out, &slot, "GenuineIntel,6,94,3");
	put_index(out, &slot, r, data + info.len);
	buf_fini(&info);
}

/* An attr as a separate record. In a file, the place of its ids follows it. */
static void put_attr_record(struct buf *out, const struct recording *r, uint32_t type,
			    uint64_t config, uint64_t id)
{
	struct buf attr = { 0 };

	put_attr(&attr, r, type, config, id, 0);
	buf_u32(out, RECORD_HEADER_ATTR);
	put16(out, 0);
	put16(out, (uint16_t)(8 + sizeof(struct perf_event_attr) + 8));
	buf_bytes(out, attr.data, sizeof(struct perf_event_attr));
	buf_u64(out, id);
	buf_fini(&attr);
}

void recording_finish_pipe(const struct recording *r, struct buf *out)
{
	buf_str(out, "PERFILE2");
	buf_u64(out, 16);
	put_attr_record(out, r, PMU_TYPE, config_of(&r->options), ID_PT);
	put_attr_record(out, r, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, ID_SIDE_BAND);
	put_info(out, r);
	buf_bytes(out, r->data.data, r->data.len);
}
