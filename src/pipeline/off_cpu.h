/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Off-CPU time beside samples: what its states are called, and the threads
 * that were blocked before anybody looked.
 *
 * Blocked time is counted under one event a state, in ns, so that every view has
 * it: a sample of such an event stands for a millisecond.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/bpf/shared.h"
#include "machine/proc.h"
#include "store/store.h"

#define OFF_CPU_SAMPLE_NS 1000000ULL

/* The events of the states, in their order. */
void off_cpu_describe(struct counter_info out[N_WAIT_STATES]);

/* What a thread waits in, as /proc tells. */
struct blocked_thread {
	int32_t pid, tid;
	enum wait_state state;
	char comm[16];
	uint64_t pc, sp; /* of user mode; 0: not to be seen */
};

/*
 * False: it does not wait, is gone, or is the kernel's own. `proc` as for
 * proc_scan_process().
 */
bool off_cpu_look(const char *proc, int32_t pid, int32_t tid, struct blocked_thread *out);

/*
 * Calls `look_at` for each thread of a list of processes (none: of all there are), or of
 * a list of threads.
 */
void off_cpu_each(const char *proc, const struct pid_list *pids, const struct pid_list *tids,
		  void (*look_at)(void *context, int32_t pid, int32_t tid), void *context);

/* The stack's bytes from t->sp on, as many as there are: the number of them. */
size_t off_cpu_read_stack(const char *proc, const struct blocked_thread *t, void *bytes,
			  size_t size);
