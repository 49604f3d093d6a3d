/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event half read: what the grammars (generic.c, tracepoint.c, pmu.c, pfm.c)
 * hand to counter.c, which adds modifiers, the rate and the name for reports.
 * Inside counter/ only.
 */
#pragma once

#include "counter/counter.h"

#define PMU_NAME_SIZE 128

struct draft {
	struct perf_event_attr attr; /* type, config*, and the members that modifiers set */
	uint64_t freq_hz, count;     /* from the event's text */
	uint64_t unit_mask;
	uint64_t set_config;     /* bits of attr.config that the event's own terms chose */
	uint64_t min_count;      /* of an event file; 0: the rule for all */
	uint32_t event_code;     /* likewise */
	const char *ext;         /* as in struct counter */
	char pmu[PMU_NAME_SIZE]; /* the PMU that was named, else "" */
	char name[256];          /* for reports, where the words say name=; else "" */
	bool has_freq, has_count;
	bool is_ibs;        /* of AMD's instruction-based sampling: counts go by 16, and … */
	uint64_t filter;    /* … modes are for the kernel to look at, where this is in config2 */
	const char *probed; /* the file of a uprobe */
	bool is_trace;      /* writes an AUX area */
	bool is_core;       /* counted by the processor core: guest and host differ, and counts
			       below 500 would drown the machine */
	bool has_mode;      /* user, kernel or hypervisor mode were chosen */
	bool has_machine;   /* guest or host were chosen */
};

/*
 * Each of these looks a name up in one place. Returns 1 if found and 0 if the place does not know
 * the name. Negative, with err: the name belongs to the place but is wrong. Zeroes *out first.
 */
int generic_find(const char *name, struct draft *out);
int raw_find(const char *name, struct draft *out);
int tracepoint_find(const struct counter_sources *sources, const char *system, const char *name,
		    struct draft *out, struct error *err);

/*
 * A name of libpfm4's tables with its unit masks and attributes, as
 * "MEM_LOAD_RETIRED:L1_HIT". `spec` is for messages.
 */
int pfm_find(const char *name, const char *spec, struct draft *out, struct error *err);

/* Are there such letters? `spec` is for the message. */
int modifiers_check(const char *letters, const char *spec, struct error *err);

/* Adds the modifier letters behind an event, such as "ukpp". `spec` is for the message. */
int modifiers_apply(const char *letters, const char *spec, struct draft *d, struct error *err);

/* Is the word made of modifier letters only? */
bool modifiers_only(const char *word);

/* Chooses and checks sample_freq or sample_period by the rules of counter.h. */
int rate_apply(const struct counter_sources *sources, const struct counter_rate *rate,
	       struct draft *d, const char *name, struct error *err);

/*
 * Does it happen in the kernel only, so that user mode alone would never see one?
 * Tracepoints, but for those of uprobes, and the scheduler's software events.
 */
bool attr_in_kernel(const struct perf_event_attr *attr);

/* Of one mode and not of the others. */
bool attr_has_modes(const struct perf_event_attr *attr);

/* Is this attr a clock, whose period is in nanoseconds? */
bool attr_is_clock(const struct perf_event_attr *attr);

/*
 * Does it happen seldom enough that each time can be a sample? Page faults, migrations and the
 * like. Their number is then exact, which a frequency only estimates.
 */
bool attr_is_rare(const struct perf_event_attr *attr);

/* The finished counter: modes, machine, precision and unit; takes neither string. */
struct counter draft_finish(const struct counter_sources *sources, const struct draft *d,
			    const char *name, const char *letters, const char *spec);

/* 997: a prime, so that sampling does not beat with anything periodic. */
#define DEFAULT_FREQ_HZ 997
