/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters: from the words that a user types to perf_event_attr.
 *
 * Accepted, in this order of meaning:
 *
 *   NAME[:MODIFIERS]                    cycles:u  cpu-clock  sched:sched_switch  sched:*  r01c2
 *   PMU/TERM[=VALUE],…/[MODIFIERS]      cpu/event=0x3c,umask=0/k      (sysfs format/ and events/)
 *   NAME/TERM[=VALUE],…/[MODIFIERS]     branch-misses/aux-sample-size=8192/u     (generic events)
 *   EVENT:COUNT[:UNITMASK[:KERNEL[:USER]]]   OProfile's, e.g. CPU_CLK_UNHALTED:100000:0:1:1
 *   {EVENT,EVENT,…}[:MODIFIERS]         a group: on the processor all at once or not at all
 *
 * Names come from the kernel's generic and software events (perf_event_open(2)), tracepoints
 * (tracefs events/), sysfs PMUs (/sys/bus/event_source/devices), textual event files
 * (counter/catalog/event_files.h) and libpfm4's tables for this processor. Tables are advice: an
 * unknown processor never stops the generic ones.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

struct counter {
	/*
	 * type, config*, exclude_*, precise_ip, and freq + sample_freq or
	 * sample_period are set; how it is read is up to the collector.
	 */
	struct perf_event_attr attr;
	char *name;          /* for reports: "cycles:u", "sched:sched_switch" */
	char *spec;          /* as typed */
	const char *unit;    /* of a period: "events"; "ns" for cpu-clock and task-clock */
	uint64_t unit_mask;  /* OProfile's, for the record */
	uint32_t event_code; /* of an event file (counter/catalog/event_file.h), likewise; else 0 */
	char *cpus;          /* the CPUs it can be opened on, as "0-7,16"; NULL: on any. A core of
				another kind (hybrid), or an uncore PMU, refuses with ENOENT */
	uint64_t set_config; /* bits of attr.config that the event's own terms chose */
	uint64_t per_second; /* at a frequency: how many events a second has at most, if that is
				known (counter/pace.h); else 0 */
	char *filter;        /* of addresses, as text for PERF_EVENT_IOC_SET_FILTER; NULL: none */
	char *probed;        /* the file of a uprobe, which attr points to; else NULL */
	bool wakes;          /* each sample wakes the reader of the rings at once */
	bool is_trace;       /* it writes an AUX area and has no samples (Intel PT) */
	/*
	 * Opened for all threads on a CPU, and on at once, for any target: the source of context
	 * switches.
	 */
	bool of_all_threads;
	bool in_kernel;   /* the in-kernel sampler counts its samples; else the rings bring them */
	const char *ext;  /* "ibs_op": its samples are made of the raw ones of this PMU, by its
			     event_code (pipeline/ext.h); NULL: they are as they come */
	uint32_t carrier; /* 1 + the index of the counter that brings these raw samples, which is
			     the first of its `ext`; 0: it is opened itself */
	uint32_t group;   /* 1 + the index of its group's first counter, the leader, which
			     perf_event_open(2) is given as group_fd; 0: in no group */
};

/* Whether each of its events is a sample, and they are few enough for a copy of the stack. */
bool counter_is_rare(const struct counter *c);

/*
 * Of the processor's own: a value of 0 after a while may mean that it lacks the event. Types from
 * PERF_TYPE_MAX on are those of PMUs in sysfs: newer libpfm4s name the core's so.
 */
static inline bool counter_is_hardware(const struct counter *c)
{
	return c->attr.type == PERF_TYPE_HARDWARE || c->attr.type == PERF_TYPE_HW_CACHE ||
	       c->attr.type == PERF_TYPE_RAW ||
	       (c->attr.type >= PERF_TYPE_MAX && !c->probed && !c->is_trace);
}

/* Bytes of an AUX area that a sample can have: the largest record, less what else is in it. */
#define AUX_SAMPLE_MAX (60 << 10)

struct counters {
	struct counter *data;
	size_t n, cap;
};
void counter_fini(struct counter *c); /* its texts */
void counters_fini(struct counters *c);
void counters_drop(struct counters *c, size_t n); /* all behind the first n */

/* Where to look; all NULL for this machine. Tests give fake trees. */
struct counter_sources {
	const char *sysfs;   /* default "/sys" */
	const char *tracefs; /* default: /sys/kernel/tracing, else /sys/kernel/debug/tracing */
	const char *proc;    /* default "/proc" */
	/* replaces perf_event_open(2) in tests of the probes; NULL: the system call */
	int (*perf_event_open)(struct perf_event_attr *attr, int pid, int cpu, int group_fd,
			       unsigned long flags);
	const char *events; /* folders of event files; default: counter/catalog/event_files.h */
	/* CPUID: EAX to EDX; false where there is no such leaf. NULL: the processor's own, if sysfs
	 * is this machine's, too. */
	bool (*cpuid)(uint32_t leaf, uint32_t subleaf, uint32_t regs[4]);
};

/* Rate options of the command line; a count inside a spec wins. Both 0: 997 Hz. */
struct counter_rate {
	uint64_t freq_hz;
	uint64_t count;
};

/*
 * Parses one -e argument, which may be a list with commas (outside of slashes), and appends the
 * counters to *out. Errors name the word and the allowed words and, for an unknown name, the
 * nearest known names. Impossible rates are refused: a frequency of 0 or above
 * kernel.perf_event_max_sample_rate; a count of 0, below the event's minimum (OProfile's rule; 500
 * for hardware events, 100 kHz for clocks), or of 2^63 and more.
 *
 * A repeated event is dropped. Events of one name with different settings are refused, and so is an
 * event in a group and outside of it. A group's modifiers are added to those of its events, except
 * D and e, which are for the leader. A group for several kinds of cores becomes a group for each
 * kind. If the user may not sample the kernel, a NAME without a mode becomes "NAME:u". A tracepoint
 * without a rate samples every pass. With several kinds of cores, a generic event becomes one
 * counter for each kind ("cpu_core/cycles/" and "cpu_atom/cycles/"). On failure *out may have
 * grown.
 *
 * Call it from one thread: the first name that only libpfm4 can know loads its tables.
 */
int counter_parse(const struct counter_sources *sources, const char *spec,
		  const struct counter_rate *rate, struct counters *out, struct error *err);

/*
 * Chooses the default: hardware cycles if this user can open them, else cpu-clock. For cpu-clock,
 * `note` gives the reason in one line ("no hardware counters here; sampling by the cpu-clock
 * timer"); otherwise it is "". If the user may not sample the kernel, kernel mode is left out, and
 * the note says so.
 */
int counter_default(const struct counter_sources *sources, const struct counter_rate *rate,
		    struct counters *out, char *note, size_t note_size, struct error *err);

/*
 * Explains a failed perf_event_open of this counter: the reason and the remedy (paranoid level,
 * missing PMU, exclude_kernel, file limit, EBUSY, …). Sets err and returns code.
 */
int counter_explain(const struct counter_sources *sources, const struct counter *counter, int code,
		    struct error *err);

/*
 * The same for the counter at `at`, where it is refused in its group and would be taken alone.
 */
int counter_explain_group(const struct counters *counters, size_t at, int code, struct error *err);
