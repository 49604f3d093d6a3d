/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of `assay record`, and the settings that follow from them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "commands/record_children.h"
#include "commands/record_trace.h"
#include "counter/counter.h"
#include "record/interpreter.h"
#include "record/labels.h"
#include "record/steering.h"
#include "record/target_names.h"
#include "record/targets.h"

struct record_args {
	const char *output;
	struct option_list events, pids, tids, filters, labels;
	struct target_names names;
	const char *cpus, *cgroup, *call_graph, *collector, *store, *separate, *control, *delay,
		*branch_kinds;
	struct trace_options trace;
	uint64_t freq_hz, count, stack_bytes, segment_bytes;
	double duration_s;
	double off_cpu_min_s;
	uint64_t alloc_every;
	const char *page_faults; /* one of so many is recorded; NULL: none */
	bool alloc;
	bool whole_machine, quiet, with_stacks, off_cpu, kernel_locks, no_exact_time, raw, kcore,
		with_children, branch_any, python_trampoline;
	int verbose;
};

struct record_setup {
	struct record_args args;
	struct option_list operands;
	struct counters counters;
	struct pid_list pids, tids;
	struct process_filter chosen, *filter; /* NULL: the whole machine or the pids, not both */
	char *group;                           /* of a unit or a container; NULL */
	char *target;                          /* what the session says of named targets; NULL */
	struct record_children children;
	struct cpu_list cpus;
	bool alloc_by_probes; /* struct recorder_config */
	char note[256];
	size_t note_len; /* before record_choose_sampler() */
	char **argv;
	struct trace_plan trace;
	struct record_labels labels;
	char *raw_path; /* of a raw recording */
	bool has_kernel_copy;
	char **command_line; /* of assay itself */
	uint32_t merged;     /* enum separation */
	struct steering_config steering;
	struct interpreters interpreters; /* none before record_choose_sampler() */
};

/* Whether a BPF program measures waits, beside the samples. */
static inline bool record_has_waits(const struct record_args *a)
{
	return a->off_cpu || a->kernel_locks;
}
