/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a perf.data of an Intel PT recording for perf 6.1, with one AUX buffer for each thread
 * (perf record --per-thread) or CPU. First comes the side band in the order of the calls, then the
 * trace of each buffer. Times are TSC ticks; the file declares them as nanoseconds.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "elf/elf_file.h"
#include "writer.h"

struct recording {
	struct buf data; /* records */
	struct writer_options options;
	struct {
		size_t *data;
		size_t n, cap;
	} traces; /* where their records begin in `data` */
	bool has_kernel, lacks_user;
	struct build_id kernel_build_id; /* len 0: it is not told */
	const char *module_path;         /* of the module with a build id; NULL: none. Not owned */
	pid_t sampled_tid;               /* of the first sample; 0: there is none */
	/*
	 * Buffers of CPUs, and the kind of records about their threads; none:
	 * PERF_RECORD_SWITCH_CPU_WIDE.
	 */
	bool is_per_cpu, tells_switches_of_tasks, has_tracepoint;
	uint64_t switch_ticks; /* between the two records of a switch; 0: 50 */
	bool has_event_trace;
	bool is_silent;       /* no side band but the trace's own */
	bool tells_build_ids; /* of the files that are mapped */
	struct {
		struct recorded_file {
			char *path;
			struct build_id id;
		} * data;
		size_t n, cap;
	} files;
	bool has_pebs; /* of cycles, in the trace */
	/*
	 * The next records are of a guest's side band, as perf inject --guest-data puts it in. The
	 * process `host_pid`, which has one thread, runs the guest's CPU `guest_cpu`.
	 */
	bool is_of_guest;
	pid_t host_pid; /* 0: there is no such guest */
	uint32_t guest_cpu;
	uint32_t cpu; /* of the next records */
};

struct recording_thread {
	pid_t pid, tid; /* 0: the idle one */
};

void recording_init(struct recording *r, const struct writer_options *options);
void recording_fini(struct recording *r);

void recording_comm(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, const char *comm,
		    bool is_exec);
void recording_fork(struct recording *r, pid_t pid, pid_t ppid, pid_t tid, pid_t ptid,
		    uint64_t tsc);
void recording_exit(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc);
void recording_start(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc);
void recording_map(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, uint64_t start,
		   uint64_t end, uint64_t file_off, uint32_t major, uint32_t minor, uint64_t inode,
		   const char *path);

/* On r->cpu, another thread goes on. */
void recording_switch(struct recording *r, uint64_t tsc, struct recording_thread before,
		      struct recording_thread now);

/* The kernel, from its _text on; what is traced is its code then. */
void recording_kernel(struct recording *r, uint64_t start, uint64_t size);
/* The kernel of a guest that the process runs (0: of any guest), as perf kvm record has it. */
void recording_guest_kernel(struct recording *r, pid_t pid, uint64_t start, uint64_t size);
/* One of its modules. With `tells_build_ids`, the last one has the id 1111… (20 bytes). */
void recording_module(struct recording *r, uint64_t start, uint64_t size, const char *path);
/* It changed `n` bytes of its code. */
void recording_poke(struct recording *r, uint64_t tsc, uint64_t addr, const uint8_t *before,
		    const uint8_t *after, uint16_t n);

/* The trace of one thread, or of r->cpu (tid -1): written padded to 8 bytes. */
void recording_trace(struct recording *r, pid_t tid, uint32_t index, uint64_t tsc,
		     const struct buf *packets);

/* A sample of another event: the last bytes of the thread's packets up to now go with it. */
void recording_sample(struct recording *r, pid_t pid, pid_t tid, uint64_t tsc, uint64_t ip,
		      const struct buf *packets);

/*
 * A sample without trace data. With r->is_of_guest, the guest's own event took it; else the host
 * took it in one of its threads. `misc` is the record's: it has the mode of the processor.
 */
void recording_plain_sample(struct recording *r, uint16_t misc, struct recording_thread who,
			    uint64_t tsc, uint64_t ip);

/* Writes the whole file into `out`, or the output of perf record -o -. */
void recording_finish(const struct recording *r, struct buf *out);
void recording_finish_pipe(const struct recording *r, struct buf *out);
