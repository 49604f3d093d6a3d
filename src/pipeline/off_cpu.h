/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU time: the names of its states, and the threads that were blocked before recording began.
 *
 * Each state has one event, which counts blocked time in ns. So every view can show it: a sample of
 * such an event stands for a millisecond.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/bpf/shared.h"
#include "machine/proc.h"
#include "store/store.h"

#define OFF_CPU_SAMPLE_NS 1000000ULL

struct machine;
struct memory_reads;

/* Describes the first `n` events, in the order of enum wait_state. The texts are static. */
void off_cpu_describe(struct counter_info *out, uint32_t n);

/*
 * The text of what a wait is for (collect/bpf/shared.h): the name of a lock's owner, or of a
 * device. `with_tid`: with the owner's thread id. False: the thread is not known to be of process
 * `pid`.
 */
bool off_cpu_detail_text(const struct machine *m, const char *proc, const char *sys, int32_t pid,
			 uint64_t detail, bool with_tid, char *text, size_t size);

/* A blocked thread, as /proc shows it. */
struct blocked_thread {
	int32_t pid, tid;
	enum wait_state state;
	char comm[16];
	uint64_t pc, sp; /* user mode; 0: not readable */
	bool is_i386;
};

/*
 * Returns false if the thread does not wait, has ended, or is a kernel thread. `proc`: see
 * proc_scan_process().
 */
bool off_cpu_look(const char *proc, int32_t pid, int32_t tid, struct blocked_thread *out);

/*
 * Calls `look_at` for each listed thread and each thread of the listed processes. Without either
 * list: for all threads of the machine.
 */
void off_cpu_each(const char *proc, const struct pid_list *pids, const struct pid_list *tids,
		  void (*look_at)(void *context, int32_t pid, int32_t tid), void *context);

/* Reads at most `size` bytes of a stack from `sp` on. Returns the number of bytes. */
size_t off_cpu_read_stack(struct memory_reads *reads, int32_t pid, uint64_t sp, void *bytes,
			  size_t size);
