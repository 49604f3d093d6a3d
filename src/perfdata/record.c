/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata/record.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/mem.h"
#include "base/reader.h"
#include "event/guest_task.h"

/* Added to linux/perf_event.h after 5.12; the values are the kernel's ABI. */
#ifndef PERF_RECORD_MISC_MMAP_BUILD_ID
#define PERF_RECORD_MISC_MMAP_BUILD_ID (1 << 14)
#endif
/* Linux 6.19: a cookie follows; it names the user part, which comes in its own record. */
#define CONTEXT_USER_DEFERRED ((uint64_t)-640)

#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST (1U << 4)
#endif

/* Samples that a user's BPF filter left out on purpose (tools/lib/perf). */
#define MISC_LOST_SAMPLES_BPF (1 << 15)

/* Fields behind the call chain in a sample, and fields that need one of these. */
#define EXTRA_FIELDS                                                                        \
	(PERF_SAMPLE_ADDR | PERF_SAMPLE_READ | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | \
	 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |              \
	 PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_TRANSACTION |       \
	 PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |               \
	 PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE | PERF_SAMPLE_AUX)

/* The fields at the end of every record but SAMPLE (struct sample_id). */
struct trailer {
	int32_t pid, tid;
	uint64_t time_ns, id;
	uint32_t cpu;
	bool has_tid, has_cpu;
};

size_t record_trailer_size(const struct record_format *f)
{
	static const uint64_t fields = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID |
				       PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU |
				       PERF_SAMPLE_IDENTIFIER;

	if (!f->sample_id_all)
		return 0;
	return 8 * (size_t)__builtin_popcountll(f->sample_type & fields);
}

static void read_trailer(const struct record_format *f, struct reader *r, struct trailer *t)
{
	if (f->sample_type & PERF_SAMPLE_TID) {
		t->pid = (int32_t)reader_u32(r);
		t->tid = (int32_t)reader_u32(r);
		t->has_tid = true;
	}
	if (f->sample_type & PERF_SAMPLE_TIME)
		t->time_ns = reader_u64(r);
	if (f->sample_type & PERF_SAMPLE_ID)
		t->id = reader_u64(r);
	if (f->sample_type & PERF_SAMPLE_STREAM_ID)
		reader_u64(r);
	if (f->sample_type & PERF_SAMPLE_CPU) {
		t->cpu = reader_u32(r);
		reader_u32(r);
		t->has_cpu = true;
	}
	if (f->sample_type & PERF_SAMPLE_IDENTIFIER)
		t->id = reader_u64(r);
}

/* A record may lie anywhere in a file: sizes that are no multiple of 8 do occur. */
static struct perf_event_header header_of(const void *record)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return h;
}

/*
 * The bytes of a record that the kernel really wrote. For two types, the kernel adds the size of
 * the trailer again for each listening event, and never subtracts it. (perf_event_ksymbol_output()
 * and perf_event_bpf_output() change the header that all events share.) So with two profilers at
 * work, old bytes of the ring follow the trailer.
 */
static size_t written_size(const struct record_format *f, const void *record, size_t size,
			   uint32_t type)
{
	const size_t fixed = 24; /* of both: up to the name, and with the tag */
	size_t name = 0, written;

	if ((type != PERF_RECORD_KSYMBOL && type != PERF_RECORD_BPF_EVENT) || size < fixed)
		return size;
	if (type == PERF_RECORD_KSYMBOL)
		name = (strnlen((const char *)record + fixed, size - fixed) + 8) & ~(size_t)7;
	written = fixed + name + record_trailer_size(f);
	return MIN(written, size);
}

uint64_t record_time(const struct record_format *f, const void *record, size_t size)
{
	struct perf_event_header h;
	size_t off;
	uint64_t time;

	if (!(f->sample_type & PERF_SAMPLE_TIME) || size < sizeof(h))
		return 0;
	h = header_of(record);
	if (h.type == PERF_RECORD_SAMPLE) {
		off = sizeof(h) + 8 * (size_t)__builtin_popcountll(
					      f->sample_type & (PERF_SAMPLE_IDENTIFIER |
								PERF_SAMPLE_IP | PERF_SAMPLE_TID));
	} else {
		size_t before = f->sample_type & PERF_SAMPLE_TID ? 8 : 0;

		size = written_size(f, record, size, h.type);
		if (!f->sample_id_all || size < sizeof(h) + record_trailer_size(f))
			return 0;
		off = size - record_trailer_size(f) + before;
	}
	if (off + sizeof(time) > size)
		return 0;
	memcpy(&time, (const char *)record + off, sizeof(time));
	return time;
}

static enum cpu_mode mode_of(uint16_t misc)
{
	static const enum cpu_mode modes[] = {
		[PERF_RECORD_MISC_CPUMODE_UNKNOWN] = MODE_UNKNOWN,
		[PERF_RECORD_MISC_KERNEL] = MODE_KERNEL,
		[PERF_RECORD_MISC_USER] = MODE_USER,
		[PERF_RECORD_MISC_HYPERVISOR] = MODE_HYPERVISOR,
		[PERF_RECORD_MISC_GUEST_KERNEL] = MODE_GUEST_KERNEL,
		[PERF_RECORD_MISC_GUEST_USER] = MODE_GUEST_USER,
	};
	uint16_t mode = misc & PERF_RECORD_MISC_CPUMODE_MASK;

	return mode < ARRAY_SIZE(modes) ? modes[mode] : MODE_UNKNOWN;
}

/*
 * The chain consists of addresses with markers between them: PERF_CONTEXT_KERNEL, the kernel's
 * part, PERF_CONTEXT_USER, the user's part, each innermost first. The first address of the sample's
 * own part is the sample's ip.
 */
static void read_chain(const struct record_format *f, struct reader *r, struct sample_event *s,
		       struct record_scratch *scratch)
{
	uint64_t n = reader_u64(r), context = PERF_CONTEXT_MAX, n_addresses = s->n_callers;
	const uint8_t *addrs;
	bool is_first = true;

	if (n > reader_left(r) / 8) {
		r->bad = true;
		return;
	}
	addrs = reader_bytes(r, n * 8);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t addr;

		memcpy(&addr, addrs + 8 * i, sizeof(addr));
		if (addr >= PERF_CONTEXT_MAX) {
			context = addr;
			continue;
		}
		if (context == CONTEXT_USER_DEFERRED) {
			s->chain_cookie = addr;
			continue;
		}
		n_addresses++;
		if (is_first && addr == s->ip) {
			is_first = false;
			continue;
		}
		is_first = false;
		if (s->n_callers == RECORD_MAX_CALLERS) {
			s->chain_cut = true;
			break;
		}
		/* Our attributes give no guest and hypervisor parts; they are kept as user */
		if (context == PERF_CONTEXT_KERNEL && s->n_kernel == s->n_callers)
			s->n_kernel++;
		scratch->callers[s->n_callers++] = addr;
	}
	s->chain_cut |= f->max_stack && n_addresses >= f->max_stack;
}

static uint32_t counter_of(const struct record_format *f, uint64_t id)
{
	return f->counter_of ? f->counter_of(f->context, id) : f->counter;
}

/*
 * One value, or those of a group: { nr, [enabled], [running], { value, [id], [lost] } nr },
 * a single one without nr and with its value first (perf_event_open(2), "Reading results").
 */
static void read_values(const struct record_format *f, struct reader *r,
			struct record_scratch *scratch)
{
	uint64_t format = f->read_format, n = 1;
	uint32_t times = !!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
			 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING);
	bool is_group = format & PERF_FORMAT_GROUP;
	struct counter_value v = { 0 };

	if (is_group) {
		n = reader_u64(r);
		reader_bytes(r, 8 * (size_t)times);
	}
	if (n > reader_left(r) / 8 || n > RECORD_MAX_VALUES) {
		r->bad = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		v.value = reader_u64(r);
		if (!is_group)
			reader_bytes(r, 8 * (size_t)times);
		if (format & PERF_FORMAT_ID)
			v.id = reader_u64(r);
		if (format & PERF_FORMAT_LOST)
			reader_u64(r);
		scratch->values[i] = v;
	}
	scratch->extra.values = scratch->values;
	scratch->extra.n_values = (uint32_t)n;
}

static void read_branches(const struct record_format *f, struct reader *r,
			  struct record_scratch *scratch)
{
	uint64_t n = reader_u64(r);
	const uint8_t *entries;

	if (f->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		reader_u64(r);
	if (n > reader_left(r) / sizeof(struct branch)) {
		r->bad = true;
		return;
	}
	entries = reader_bytes(r, n * sizeof(struct branch));
	scratch->extra.n_branches = (uint32_t)MIN(n, RECORD_MAX_BRANCHES);
	if (n)
		memcpy(scratch->branches, entries,
		       scratch->extra.n_branches * sizeof(struct branch));
	scratch->extra.branches = scratch->branches;
}

static void read_registers(struct reader *r, uint64_t mask, uint64_t *values,
			   struct sample_registers *out)
{
	uint32_t n = (uint32_t)__builtin_popcountll(mask);
	const void *at;

	out->abi = reader_u64(r);
	if (!out->abi)
		return;
	at = reader_bytes(r, 8 * (size_t)n);
	if (!at)
		return;
	memcpy(values, at, 8 * (size_t)n);
	out->mask = mask;
	out->values = values;
	out->n_values = n;
}

static void read_stack(struct reader *r, struct sample_extra *x)
{
	uint64_t size = reader_u64(r), copied;

	x->stack = reader_bytes(r, size);
	if (!size)
		return;
	copied = reader_u64(r);
	x->stack_size = MIN(copied, size);
	x->is_stack_whole = copied < size;
}

/* The fields behind the call chain. ADDR, which is before it, and READ have been read. */
static void record_read_extra(const struct record_format *f, struct reader *r,
			      struct record_scratch *scratch)
{
	struct sample_extra *x = &scratch->extra;
	uint64_t type = f->sample_type;

	if (type & PERF_SAMPLE_RAW) {
		x->raw_size = reader_u32(r);
		x->raw = reader_bytes(r, x->raw_size);
		x->raw_size = x->raw ? x->raw_size : 0;
	}
	if (type & PERF_SAMPLE_BRANCH_STACK)
		read_branches(f, r, scratch);
	if (type & PERF_SAMPLE_REGS_USER)
		read_registers(r, f->regs_user, scratch->user, &x->user);
	if (type & PERF_SAMPLE_STACK_USER)
		read_stack(r, x);
	if (type & (PERF_SAMPLE_WEIGHT | PERF_SAMPLE_WEIGHT_STRUCT)) {
		x->weight = reader_u64(r);
		/* of several latencies, the first is the whole one */
		x->latency = type & PERF_SAMPLE_WEIGHT ? x->weight : (uint32_t)x->weight;
	}
	if (type & PERF_SAMPLE_DATA_SRC)
		x->data_src = reader_u64(r);
	if (type & PERF_SAMPLE_TRANSACTION)
		x->transaction = reader_u64(r);
	if (type & PERF_SAMPLE_REGS_INTR)
		read_registers(r, f->regs_intr, scratch->interrupted, &x->interrupted);
	if (type & PERF_SAMPLE_PHYS_ADDR)
		x->phys_addr = reader_u64(r);
	if (type & PERF_SAMPLE_CGROUP)
		x->cgroup = reader_u64(r);
	if (type & PERF_SAMPLE_DATA_PAGE_SIZE)
		x->data_page_size = reader_u64(r);
	if (type & PERF_SAMPLE_CODE_PAGE_SIZE)
		x->code_page_size = reader_u64(r);
	if (type & PERF_SAMPLE_AUX) {
		x->aux_size = reader_u64(r);
		x->aux = reader_bytes(r, x->aux_size);
	}
}

/* Puts the wait of the raw data in place of the sample's own facts (has_waits). False: it is bad.
 */
static bool read_wait(const struct record_format *f, struct record_scratch *scratch,
		      struct event *e)
{
	struct reader r = reader_over(scratch->extra.raw, scratch->extra.raw_size), chain;
	struct sample_event *s = &e->sample;

	e->pid = (int32_t)reader_u32(&r);
	e->tid = (int32_t)reader_u32(&r);
	s->period = reader_u64(&r);
	chain = r;
	s->ip = 0;
	if (reader_u64(&chain) > 1) { /* a mark, and the place itself */
		s->mode = reader_u64(&chain) == PERF_CONTEXT_KERNEL ? MODE_KERNEL : MODE_USER;
		s->ip = reader_u64(&chain);
	}
	s->n_callers = s->n_kernel = 0;
	read_chain(f, &r, s, scratch);
	scratch->extra.cgroup = reader_u64(&r);
	return !r.bad;
}

/* The fields are in the order of PERF_RECORD_SAMPLE in perf_event_open(2). */
static void decode_sample(const struct record_format *f, struct reader *rest,
			  struct record_scratch *scratch, uint16_t misc, struct event *e)
{
	struct sample_event *s = &e->sample;
	struct reader in = *rest, *r = &in; /* a local copy, which stays in registers */
	uint64_t type = f->sample_type, id = 0, addr = 0;

	e->type = EVENT_SAMPLE;
	s->mode = mode_of(misc);
	s->callers = scratch->callers;
	if (type & PERF_SAMPLE_IDENTIFIER)
		id = reader_u64(r);
	if (type & PERF_SAMPLE_IP)
		s->ip = reader_u64(r);
	if (type & PERF_SAMPLE_TID) {
		e->pid = (int32_t)reader_u32(r);
		e->tid = (int32_t)reader_u32(r);
	}
	if (type & PERF_SAMPLE_TIME)
		e->time_ns = reader_u64(r);
	if (type & PERF_SAMPLE_ADDR)
		addr = reader_u64(r);
	if (type & PERF_SAMPLE_ID)
		id = reader_u64(r);
	if (type & PERF_SAMPLE_STREAM_ID)
		reader_u64(r);
	if (type & PERF_SAMPLE_CPU) {
		e->cpu = reader_u32(r);
		reader_u32(r);
	}
	s->counter = counter_of(f, id);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = reader_u64(r);
	else
		s->period = f->fixed_periods ? f->fixed_periods[s->counter] : 1;
	*rest = in;
	if (type & EXTRA_FIELDS) {
		scratch->extra = (struct sample_extra){ .addr = addr };
		s->extra = &scratch->extra;
	}
	if (type & PERF_SAMPLE_READ)
		read_values(f, rest, scratch);
	if (type & PERF_SAMPLE_CALLCHAIN)
		read_chain(f, rest, s, scratch);
	if (type & EXTRA_FIELDS)
		record_read_extra(f, rest, scratch);
	if (f->has_waits && !read_wait(f, scratch, e))
		rest->bad = true;
}

static void decode_mapping(struct reader *r, uint16_t misc, bool is_mmap2, struct event *e)
{
	struct mapping_event *m = &e->mapping;

	e->type = EVENT_MAPPING;
	e->pid = (int32_t)reader_u32(r);
	e->tid = (int32_t)reader_u32(r);
	m->start = reader_u64(r);
	m->size = reader_u64(r);
	m->file_off = reader_u64(r);
	m->is_kernel = mode_of(misc) == MODE_KERNEL;
	m->is_executable = !(misc & PERF_RECORD_MISC_MMAP_DATA);
	if (is_mmap2 && (misc & PERF_RECORD_MISC_MMAP_BUILD_ID)) {
		const uint8_t *id = reader_bytes(r, 24); /* size, 3 reserved, 20 bytes */

		if (id && id[0] <= BUILD_ID_MAX) {
			m->build_id.len = id[0];
			memcpy(m->build_id.bytes, id + 4, id[0]);
		}
	} else if (is_mmap2) {
		uint64_t major = reader_u32(r), minor = reader_u32(r);

		m->dev = major << 32 | minor;
		m->ino = reader_u64(r);
		m->generation = reader_u64(r) & ~GUEST_FILE;
	}
	if (is_mmap2) {
		m->is_executable = reader_u32(r) & 4; /* PROT_EXEC */
		reader_u32(r);                        /* flags */
	}
	m->path = reader_cstr(r);
}

static void decode_task(struct reader *r, enum event_type type, struct event *e)
{
	int32_t ppid, ptid;

	e->type = type;
	e->pid = (int32_t)reader_u32(r);
	ppid = (int32_t)reader_u32(r);
	e->tid = (int32_t)reader_u32(r);
	ptid = (int32_t)reader_u32(r);
	e->time_ns = reader_u64(r);
	e->fork.ppid = ppid;
	e->fork.ptid = ptid;
}

static void decode_ksymbol(struct reader *r, struct event *e)
{
	uint16_t type, flags;

	e->type = EVENT_KSYMBOL;
	e->ksymbol.addr = reader_u64(r);
	e->ksymbol.size = reader_u32(r);
	type = reader_u16(r);
	flags = reader_u16(r);
	e->ksymbol.is_bpf = type == PERF_RECORD_KSYMBOL_TYPE_BPF;
	e->ksymbol.is_unregister = flags & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	e->ksymbol.name = reader_cstr(r);
}

static void decode_switch(struct reader *r, const struct perf_event_header *h, struct event *e)
{
	e->type = EVENT_SWITCH;
	e->context_switch.is_out = h->misc & PERF_RECORD_MISC_SWITCH_OUT;
	e->context_switch.is_preempted = h->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT;
	e->context_switch.other_pid = e->context_switch.other_tid = -1;
	if (h->type == PERF_RECORD_SWITCH)
		return;
	e->context_switch.other_pid = (int32_t)reader_u32(r);
	e->context_switch.other_tid = (int32_t)reader_u32(r);
}

static void decode_aux(const struct record_format *f, struct reader *r, const struct trailer *t,
		       struct event *e)
{
	e->type = EVENT_AUX;
	e->aux.offset = reader_u64(r);
	e->aux.size = reader_u64(r);
	e->aux.flags = reader_u64(r);
	e->aux.counter = counter_of(f, t->id);
}

static void decode_namespaces(struct reader *r, struct record_scratch *scratch, struct event *e)
{
	uint64_t n;

	e->type = EVENT_NAMESPACES;
	e->pid = (int32_t)reader_u32(r);
	e->tid = (int32_t)reader_u32(r);
	n = reader_u64(r);
	if (n > ARRAY_SIZE(scratch->namespaces)) {
		r->bad = true;
		return;
	}
	for (uint64_t i = 0; i < n; i++) {
		scratch->namespaces[i].dev = reader_u64(r);
		scratch->namespaces[i].ino = reader_u64(r);
	}
	e->namespaces.links = scratch->namespaces;
	e->namespaces.n = (uint32_t)n;
}

static bool decode_bpf_event(struct reader *r, struct event *e)
{
	uint16_t type = reader_u16(r);

	reader_u16(r); /* flags */
	e->type = EVENT_BPF_PROGRAM;
	e->bpf.id = reader_u32(r);
	e->bpf.is_unload = type == PERF_BPF_EVENT_PROG_UNLOAD;
	e->bpf.tag = reader_bytes(r, 8);
	return type == PERF_BPF_EVENT_PROG_LOAD || type == PERF_BPF_EVENT_PROG_UNLOAD;
}

static void decode_text_poke(struct reader *r, struct event *e)
{
	e->type = EVENT_TEXT_POKE;
	e->text_poke.addr = reader_u64(r);
	e->text_poke.n_old = reader_u16(r);
	e->text_poke.n_new = reader_u16(r);
	e->text_poke.bytes = reader_bytes(r, (size_t)e->text_poke.n_old + e->text_poke.n_new);
}

/* Records of processor traces and of thread switches. False: a type that we do not use. */
static bool decode_more(const struct record_format *f, const struct perf_event_header *h,
			struct reader *r, struct record_scratch *scratch, const struct trailer *t,
			struct event *e)
{
	switch (h->type) {
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		decode_switch(r, h, e);
		return true;
	case PERF_RECORD_AUX:
		decode_aux(f, r, t, e);
		return true;
	case PERF_RECORD_AUX_OUTPUT_HW_ID:
		e->type = EVENT_AUX_ID;
		e->aux.offset = reader_u64(r);
		e->aux.counter = counter_of(f, t->id);
		return true;
	case PERF_RECORD_ITRACE_START:
		e->type = EVENT_ITRACE_START;
		e->pid = (int32_t)reader_u32(r);
		e->tid = (int32_t)reader_u32(r);
		return true;
	case PERF_RECORD_NAMESPACES:
		decode_namespaces(r, scratch, e);
		return true;
	case PERF_RECORD_CGROUP:
		e->type = EVENT_CGROUP;
		e->cgroup.id = reader_u64(r);
		e->cgroup.path = reader_cstr(r);
		return true;
	case PERF_RECORD_BPF_EVENT:
		return decode_bpf_event(r, e);
	case PERF_RECORD_TEXT_POKE:
		decode_text_poke(r, e);
		return true;
	default:
		return false;
	}
}

/* The part of a record between header and trailer. False: a type that we do not use. */
static bool decode_body(const struct record_format *f, const struct perf_event_header *h,
			struct reader *r, struct record_scratch *scratch, const struct trailer *t,
			struct event *e)
{
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		decode_mapping(r, h->misc, h->type == PERF_RECORD_MMAP2, e);
		return true;
	case PERF_RECORD_COMM:
		e->type = EVENT_COMM;
		e->pid = (int32_t)reader_u32(r);
		e->tid = (int32_t)reader_u32(r);
		e->comm.name = reader_cstr(r);
		e->comm.is_exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		return true;
	case PERF_RECORD_FORK:
		decode_task(r, EVENT_FORK, e);
		return true;
	case PERF_RECORD_EXIT:
		decode_task(r, EVENT_EXIT, e);
		return true;
	case PERF_RECORD_KSYMBOL:
		decode_ksymbol(r, e);
		return true;
	case PERF_RECORD_LOST:
		e->type = EVENT_LOST;
		reader_u64(r); /* id */
		e->lost.n = reader_u64(r);
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		if (h->misc & MISC_LOST_SAMPLES_BPF)
			return false;
		e->type = EVENT_LOST_SAMPLES;
		e->lost.n = reader_u64(r);
		e->lost.counter = counter_of(f, t->id);
		return true;
	case PERF_RECORD_THROTTLE:
	case PERF_RECORD_UNTHROTTLE:
		e->type = EVENT_THROTTLE;
		reader_u64(
			r); /* time, id and stream id: of the throttled event; the id is counted */
		e->throttle.counter = counter_of(f, reader_u64(r));
		e->throttle.is_end = h->type == PERF_RECORD_UNTHROTTLE;
		return true;
	default:
		return decode_more(f, h, r, scratch, t, e);
	}
}

bool record_deferred_chain(const struct record_format *f, const void *record, size_t size,
			   struct deferred_chain *out)
{
	size_t fixed = sizeof(struct perf_event_header) + 2 * sizeof(uint64_t);
	size_t trailer = record_trailer_size(f);
	struct reader r = reader_over(record, size), tail;
	struct trailer t = { .pid = -1, .tid = -1 };

	if (size < fixed + trailer)
		return false;
	reader_bytes(&r, sizeof(struct perf_event_header));
	r.end -= trailer;
	tail = reader_over(r.end, trailer);
	read_trailer(f, &tail, &t);
	out->tid = t.tid;
	out->cookie = reader_u64(&r);
	out->chain = r;
	return reader_u64(&r) <= reader_left(&r) / 8;
}

void record_add_chain(const struct record_format *f, const struct deferred_chain *chain,
		      struct record_scratch *scratch, struct event *e)
{
	struct reader r = chain->chain;

	read_chain(f, &r, &e->sample, scratch);
}

enum record_result record_decode(const struct record_format *f, const void *record, size_t size,
				 uint32_t cpu, struct record_scratch *scratch, struct event *out)
{
	struct perf_event_header h;
	struct reader r = reader_over(record, size), tail = r;
	struct trailer t = { .pid = -1, .tid = -1 };
	size_t trailer;

	if (size < sizeof(h))
		return RECORD_BAD;
	h = header_of(record);
	if (h.size != size)
		return RECORD_BAD;
	*out = (struct event){ .cpu = cpu, .pid = -1, .tid = -1 };
	reader_bytes(&r, sizeof(h));
	if (h.type == PERF_RECORD_SAMPLE) {
		decode_sample(f, &r, scratch, h.misc, out);
		return r.bad ? RECORD_BAD : RECORD_OK;
	}
	trailer = record_trailer_size(f);
	if (size < sizeof(h) + trailer)
		return RECORD_BAD;
	r.end -= trailer + size - written_size(f, record, size, h.type);
	tail.at = r.end;
	read_trailer(f, &tail, &t);
	out->time_ns = t.time_ns;
	if (t.has_cpu)
		out->cpu = t.cpu;
	if (t.has_tid) {
		out->pid = t.pid;
		out->tid = t.tid;
	}
	if (!decode_body(f, &h, &r, scratch, &t, out))
		return RECORD_SKIPPED;
	return r.bad ? RECORD_BAD : RECORD_OK;
}
