/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The branch stacks in the text of perf script, and the mappings that their addresses need. The
 * command is
 *
 *   perf script --show-mmap-events -F comm,pid,tid,time,event,ip,dso,brstack
 *
 * and its text:
 *
 *   comm pid time: PERF_RECORD_MMAP2 pid/tid: [0xSTART(0xSIZE) @ 0xOFFSET …]: PROT PATH
 *   comm pid time: event: ip (dso) 0xFROM[(dso)]/0xTO[(dso)]/P/-/-/CYCLES …
 *
 * The newest branch comes first. M in the place of P marks a mispredicted branch. perf_script.h has
 * the source of the format. Branches by name (brstacksym) are only counted, because a name gives no
 * place in a file.
 */
#pragma once

#include "foreign/foreign.h"

#define SCRIPT_MAX_BRANCHES 1024 /* of a sample; no processor has more than 64 */

struct script_branch {
	uint64_t from, to;
	bool is_mispredicted;
};

struct script_mapping {
	int32_t pid, tid; /* -1: the kernel's */
	uint64_t time_ns, start, size, file_off;
	struct slice path;
};

struct script_sample {
	int32_t pid, tid;
	uint64_t time_ns, ip;
	const struct script_branch *branches; /* until the sink returns */
	uint32_t n_branches;
};

struct script_branches_sink {
	void (*mapping)(struct script_branches_sink *self, const struct script_mapping *mapping);
	void (*sample)(struct script_branches_sink *self, const struct script_sample *sample);
};

/* How many branches have names instead of addresses. */
uint64_t script_branches_read(struct slice text, struct script_branches_sink *sink);
