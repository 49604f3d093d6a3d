/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The side band of a trace, in a form that answers for any moment: the mapped code of a process,
 * the thread that a CPU ran, the losses.
 *
 * Decoders and the reader of samples are at different times. So the mappings are no state that
 * follows time, as in machine/. Each process has a list of changes, and its mappings after the
 * first n changes are the same for all callers.
 *
 *   events ─► changes of process 12: map, map, map, exec, map, map …
 *             changes of process 17: fork of 12 after 5, map …
 *             CPU 0: thread 12 from 1.5 s on, thread 17 from 1.7 s on …
 *
 * After the reading nothing changes, so any thread may ask.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/strings.h"
#include "machine/address_space.h"
#include "machine/image.h"
#include "perfdata/perfdata.h"

struct error;

enum pt_change_kind { PT_MAP, PT_EXEC, PT_FORK };

struct pt_change {
	uint64_t time_ns;
	enum pt_change_kind kind;
	int32_t parent;       /* FORK: the process that it is a copy of, … */
	uint32_t n_of_parent; /* … after so many of its changes */
	struct mapping map;   /* MAP; `image` is of pt_history.images */
};

struct pt_process {
	int32_t pid;
	image_id dump; /* its jitdump: a FILE; 0: none */
	VEC(struct pt_change) changes;
};

/* From `time_ns` on the CPU ran this thread; pid -1: not told. */
struct pt_switch {
	uint64_t time_ns;
	int32_t pid, tid;
	bool is_ahead; /* it was said by who was to leave the CPU, and is done soon after */
};

/* A CPU of a guest, and the threads of the guest that ran on it (event/guest_task.h). */
struct pt_guest_cpu {
	uint32_t machine_pid, vcpu;
	VEC(struct pt_switch) switches;
};

/* The kernel dropped trace data. */
struct pt_loss {
	uint64_t time_ns;
	int32_t pid, tid;
	uint32_t cpu;
};

/* The kernel changed its code: n_old bytes that were there, then n_new. */
struct pt_poke {
	uint64_t time_ns, addr;
	const uint8_t *bytes; /* of the recording's files, or of pt_history.copies */
	uint16_t n_old, n_new;
};

/* Trace data in a sample of another event: the last of it up to then. */
struct pt_sampled {
	const uint8_t *bytes; /* of the recording's files, or of pt_history.copies */
	uint64_t size;
	uint64_t time_ns;
	int32_t pid, tid;
	uint32_t cpu; /* UINT32_MAX: not told */
};

/* A module of the kernel, where it was loaded. */
struct pt_module {
	uint64_t start, end;
	const char *name, *path; /* for people: "nf_tables"; and as it was recorded */
	struct build_id build_id;
};

/* On a CPU, PEBS records of a counter have this number. */
struct pt_counter {
	uint64_t number;
	uint32_t cpu, counter; /* of the recording */
};

struct pt_history {
	struct image_table *images; /* of mappings: FILE, VDSO, JIT (anonymous) */
	VEC(struct pt_process) processes;
	struct intmap by_pid; /* to index in processes */
	struct intmap by_tid; /* to pid */
	VEC(VEC(struct pt_switch)) cpus;
	VEC(struct pt_guest_cpu) guest_cpus;
	VEC(struct perfdata_guest_text) guest_texts;
	struct intmap guest_cpu_by_number; /* machine_pid << 32 | vcpu, to index in guest_cpus */
	struct intmap guest_cpu_by_tid;    /* of the thread that runs it, to index in guest_cpus */
	VEC(struct pt_loss) losses;
	VEC(struct pt_sampled) sampled; /* in the order of time */
	VEC(struct pt_poke) pokes;      /* in the order of time */
	VEC(uint32_t) by_addr;          /* pokes in the order of their addresses */
	VEC(struct pt_module) modules;
	VEC(struct pt_counter) counters;
	struct arena *copies; /* of texts, and bytes that the recording has packed; NULL: none */
	uint64_t last_ns;     /* of all events */
	/* The kernel: where its _text was, 0: not told; and its build. */
	uint64_t kernel_text;
	struct build_id kernel_build_id;
};

/*
 * Reads all events of a recording. They can't be read again. Damage ends the reading without
 * an error; the reader of the samples reports it.
 */
void pt_history_read(struct pt_history *h, struct perfdata *data);
void pt_history_fini(struct pt_history *h);

/* NULL: the side band has nothing of the process. */
const struct pt_process *pt_history_process(const struct pt_history *h, int32_t pid);

/* The jitdump of a process, or of the process that it was forked from. id 0: none. */
image_id pt_history_dump(const struct pt_history *h, int32_t pid);

/* The process of a thread. If it is not known, the number of the thread. */
int32_t pt_history_pid(const struct pt_history *h, int32_t tid);

/* The guest's CPU that a thread of this machine runs; NULL: none. */
const struct pt_guest_cpu *pt_history_guest_cpu(const struct pt_history *h, int32_t tid);

/*
 * The thread of a guest that a CPU of the guest ran. NULL: none is known. *next becomes the time of
 * the next switch if that is earlier.
 */
const struct pt_switch *pt_history_guest_thread(const struct pt_guest_cpu *cpu, uint64_t now_ns,
						uint64_t *next);

/* The mappings of a process after the first `n` of its changes; *out is empty, or reused. */
void pt_history_space(const struct pt_history *h, int32_t pid, size_t n, struct address_space *out);

/*
 * Makes the kernel code after the first `n` changes of the code known at any time. `out` has room
 * for `size` bytes from `addr` on, and the first `n_read` are there. Returns the number of bytes
 * that are there now.
 */
size_t pt_history_poke(const struct pt_history *h, size_t n, uint64_t addr, uint8_t *out,
		       size_t n_read, size_t size);

/* The module at an address; NULL: none. */
const struct pt_module *pt_history_module(const struct pt_history *h, uint64_t addr);

/* Applies one change to the mappings before it. */
void pt_history_apply(const struct pt_history *h, const struct pt_change *c,
		      struct address_space *space);

/* The later mapping at an address that has none after `n` changes; NULL: none. */
const struct mapping *pt_history_later(const struct pt_history *h, int32_t pid, size_t n,
				       uint64_t addr);
