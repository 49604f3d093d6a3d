/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events: what every source delivers, in the order of their time.
 *
 * A source (the rings, /proc, a perf.data file, a text file) turns what it has
 * into these and pushes them into a sink, one at a time. Pointers inside an
 * event belong to the source and hold until push() returns.
 *
 * Addresses here are run-time addresses, of the process (user mode) or of the
 * kernel; the machine (machine/machine.h) makes (image, offset) of them.
 * Times are CLOCK_MONOTONIC nanoseconds; 0 is "before everything" (what /proc tells).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

/* X(id, name): `name` is the word of the text form (event/text.h). */
#define EVENT_TYPES(X)                                                                           \
	X(SAMPLE, "sample")             /* a counter overflowed, or the timer fired */           \
	X(MAPPING, "mmap")              /* executable memory was mapped */                       \
	X(COMM, "comm")                 /* a thread got a name, by exec or prctl */              \
	X(FORK, "fork")                 /* a process or thread was started */                    \
	X(EXIT, "exit")                 /* a thread ended */                                     \
	X(KSYMBOL, "ksymbol")           /* kernel code appeared or went: BPF program, ftrace */  \
	X(LOST, "lost")                 /* the source dropped records */                         \
	X(LOST_SAMPLES, "lost-samples") /* the source dropped samples */                         \
	X(THROTTLE, "throttle")         /* the kernel stopped a counter until the next tick */   \
	X(SWITCH, "switch")             /* a thread came onto its CPU, or left it */             \
	X(AUX, "aux")                   /* an AUX area (processor trace) was written to */       \
	X(AUX_ID, "aux-id")             /* the number by which AUX data names its counter */     \
	X(ITRACE_START, "itrace-start") /* the trace of a thread begins */                       \
	X(NAMESPACES, "namespaces")     /* a thread is in other namespaces now */                \
	X(CGROUP, "cgroup")             /* a cgroup got a number */                              \
	X(BPF_PROGRAM, "bpf-program")   /* a BPF program was loaded or unloaded */               \
	X(TEXT_POKE, "text-poke")       /* the kernel changed its own code */                    \
	X(TRACE_ERROR, "trace-error")   /* a processor trace could not be followed */            \
	X(TRACE_UNVERIFIED, "trace-unverified") /* the end of a stretch with such an error in it \
						 */

enum event_type {
#define X(id, name) EVENT_##id,
	EVENT_TYPES(X)
#undef X
		N_EVENT_TYPES
};

extern const char *const event_type_names[N_EVENT_TYPES];

enum cpu_mode {
	MODE_USER,
	MODE_KERNEL,
	MODE_GUEST_KERNEL,
	MODE_GUEST_USER,
	MODE_HYPERVISOR,
	MODE_UNKNOWN
};

/* Whether addresses are in none of this machine's address spaces. */
static inline bool mode_is_guest(enum cpu_mode mode)
{
	return mode >= MODE_GUEST_KERNEL && mode <= MODE_HYPERVISOR;
}

/* One entry of a branch stack, newest first; the bits of `flags` are those of perf_branch_entry. */
struct branch {
	uint64_t from, to, flags;
};

/* The value of one counter of a group when its leader was sampled (PERF_SAMPLE_READ). */
struct counter_value {
	uint64_t id, value;
};

/* Registers of user mode: values[i] is of the i-th set bit of `mask` (asm/perf_regs.h). */
struct sample_registers {
	uint64_t abi; /* enum perf_sample_regs_abi: 0 none, 1 32-bit, 2 64-bit */
	uint64_t mask;
	const uint64_t *values;
	uint32_t n_values; /* 0 where abi is 0 */
};

/* What samples have only where it was asked for. Zero or NULL where it is not there. */
struct sample_extra {
	uint64_t addr, phys_addr, data_src, weight, transaction, cgroup;
	uint64_t latency; /* of `weight`: the whole, where the weight has parts */
	uint64_t data_page_size, code_page_size;
	const struct counter_value *values;
	const struct branch *branches;
	struct sample_registers user, interrupted;
	const uint8_t *stack, *raw,
		*aux;                  /* bytes; raw: a tracepoint's fields, with their padding */
	uint64_t stack_size, aux_size; /* stack_size: what the kernel could copy, from sp up */
	uint32_t raw_size, n_values, n_branches;
	bool is_stack_whole; /* the kernel copied less than it was asked for: no more was there */
	uint32_t machine_pid, vcpu; /* of a guest: its process here, and its CPU; 0: no guest's */
	/* Of samples that were made of a processor trace. */
	uint32_t flags; /* of the branch: enum pt_flags, which are perf's PERF_IP_FLAG_… */
	uint32_t depth; /* calls that the thread is in, where asked for */
	uint64_t insns, cycles; /* since the last such sample that knew; 0: this one does not */
	uint8_t insn_size, insn[15]; /* the instruction at `ip` */
	uint8_t insn_width;          /* of its code, where `insn` is there: 16, 32, 64 */
};

struct sample_event {
	uint32_t counter;   /* index of the counter that fired, in the session's order */
	enum cpu_mode mode; /* of `ip` */
	uint64_t ip;
	uint64_t period; /* events that this sample stands for; ns for clocks */
	/*
	 * Return addresses above ip, innermost first, as the kernel gave them:
	 * kernel part, then user part; [0, n_kernel) are kernel addresses. The
	 * first address of a part that starts at ip itself is left out.
	 */
	const uint64_t *callers;
	uint32_t n_callers, n_kernel;
	bool chain_cut;                   /* the kernel's depth limit was reached */
	uint64_t chain_cookie;            /* the user part comes later (perfdata/deferred.h); 0 */
	const struct sample_extra *extra; /* NULL: none of it is in the sample's format */
};

struct mapping_event {
	uint64_t start, size;
	uint64_t file_off;
	uint64_t dev, ino; /* 0 when build_id is given instead */
	/* Of the inode, whose number a file system may use again; 0: not known. */
	uint64_t generation;
	struct build_id build_id; /* len 0 when not known */
	const char *path; /* as in /proc/PID/maps: may be "[vdso]", "//anon", "… (deleted)" */
	bool is_kernel;   /* module text: the kernel's record with pid -1 */
	bool is_executable;
};

/* One of a thread's namespaces, in the kernel's order (NET, UTS, IPC, PID, USER, MNT, CGROUP). */
struct namespace_link {
	uint64_t dev, ino;
};

/* All processes that have no number in our pid namespace, as one. */
#define PID_OTHER_NAMESPACE  (-2)
#define NAME_OTHER_NAMESPACE "[other namespace]"

struct event {
	enum event_type type;
	uint32_t cpu;
	int32_t pid, tid; /* process (thread group) and thread; -1 where not known */
	uint64_t time_ns;
	union {
		struct sample_event sample;
		struct mapping_event mapping;
		struct {
			const char *name;
			bool is_exec; /* all mappings before it are gone */
		} comm;
		struct {
			int32_t ppid, ptid;
		} fork; /* and EXIT. pid != ppid: a new process, a copy of the parent's mappings */
		struct {
			uint64_t addr;
			uint32_t size;
			bool is_bpf, is_unregister;
			const char *name;
		} ksymbol;
		struct {
			uint64_t n;
			uint32_t counter; /* LOST_SAMPLES only */
		} lost;
		struct {
			uint32_t counter;
			bool is_end; /* UNTHROTTLE */
		} throttle;
		struct {
			/* Preempted: the thread was still able to run. */
			bool is_out, is_preempted;
			/* The thread before or after it; -1: not known. */
			int32_t other_pid, other_tid;
		} context_switch;
		struct {
			uint64_t offset, size; /* offset: of all that was ever written to it */
			uint64_t flags;        /* PERF_AUX_FLAG_… */
			uint32_t counter;
		} aux; /* AUX_ID: `offset` is the number */
		struct {
			const struct namespace_link *links;
			uint32_t n;
		} namespaces;
		struct {
			uint64_t id;
			const char *path;
		} cgroup;
		struct {
			uint32_t id;
			bool is_unload;
			const uint8_t *tag; /* 8 bytes */
		} bpf;
		struct {
			uint64_t addr;
			const uint8_t *bytes; /* n_old bytes that were there, then n_new */
			uint16_t n_old, n_new;
		} text_poke;
		struct {
			uint32_t reason; /* enum loss_reason */
			uint64_t addr;   /* where the code was; 0: not known */
			uint64_t offset; /* in the trace */
			/* Of a recorded error: perf's number of it, and its sentence; else NULL. */
			uint32_t code;
			const char *text;
		} trace_error;
		struct {
			uint64_t insns;    /* of the stretch: some may not have run */
			uint64_t from_ns;  /* its begin; 0: not known */
			uint64_t offset;   /* the same in the trace */
			bool is_confirmed; /* execution stands where the trace says at its end */
			/* Of a recorded stretch, which has nothing else: a sentence; else NULL. */
			const char *text;
		} trace_unverified;
	};
};

/* Where events go. push() returns 0, or a negative errno that ends the source's run. */
struct event_sink {
	int (*push)(struct event_sink *self, const struct event *event);
	/*
	 * A sample that will be pushed soon, but maybe not next, with all that it points to: what
	 * will be read for it can be fetched. Nothing may change by it. NULL: not wanted.
	 */
	void (*expect)(struct event_sink *self, const struct event *event);
};

static inline int event_push(struct event_sink *sink, const struct event *event)
{
	return sink->push(sink, event);
}

static inline void event_expect(struct event_sink *sink, const struct event *event)
{
	if (sink->expect)
		sink->expect(sink, event);
}
