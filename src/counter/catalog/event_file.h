/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Textual event files in OProfile's syntax: the events of a processor and their codes.
 *
 *   events       event:0x3c counters:0,1 um:zero minimum:6000 name:CPU_CLK_UNHALTED : Clock cycles
 *                include:i386/arch_perfmon
 *   unit_masks   name:MESI type:bitmask default:0x0f
 *                        0x08 (M)odified cache state
 *                        0x01 extra:cmask=1,inv some_name Its description
 *
 * `counters` is a list or "cpuid"; `ext` instead of it names an extended feature (ibs_op). `um` may
 * be a list whose masks are joined. `filter` is a bit of CPUID 0xA EBX: if it is set, the event is
 * missing. `#` begins a comment line.
 *
 * A line that can't be read is left out, with a complaint that has file and line: tables are
 * advice.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "counter/catalog/cpu_type.h"

struct error;

#define ALL_COUNTERS UINT64_MAX
#define FILTER_NONE  UINT32_MAX

/* Bits of an event's code on x86 that a named mask sets ("extra:edge,cmask=1"). */
#define EXTRA_EDGE  (1U << 18)
#define EXTRA_PEBS  (1U << 19) /* no bit of the register: asks for precise_ip */
#define EXTRA_ANY   (1U << 21)
#define EXTRA_NONE  (1U << 22) /* marks a named mask without such bits */
#define EXTRA_INV   (1U << 23)
#define EXTRA_CMASK 24

struct event_unit {
	uint32_t value, extra; /* extra 0: it has no name, and is chosen by value */
	const char *name;      /* NULL */
	const char *help;
};

/* X(id, word) */
#define UNIT_MASK_TYPES(X)        \
	X(MANDATORY, "mandatory") \
	X(EXCLUSIVE, "exclusive") \
	X(BITMASK, "bitmask")

enum unit_mask_type {
#define X(id, word) UNIT_MASK_##id,
	UNIT_MASK_TYPES(X)
#undef X
		N_UNIT_MASK_TYPES
};
extern const char *const unit_mask_type_words[N_UNIT_MASK_TYPES];

struct unit_mask {
	const char *name;
	enum unit_mask_type type;
	uint32_t default_value;
	const char *default_name; /* NULL: by value */
	VEC(struct event_unit) units;
	const char *file;
	uint32_t line;
};

struct table_event {
	const char *name, *help;
	uint32_t code;
	uint64_t counters; /* a bit each; ALL_COUNTERS: any */
	const char *ext;   /* "ibs_op", or NULL */
	uint32_t minimum;
	uint32_t filter;        /* bit of CPUID 0xA EBX; FILTER_NONE */
	const char *mask_names; /* of its `um`, as written; "" */
	struct unit_mask mask;  /* those, joined; no units: none */
	const char *file;
	uint32_t line;
};

/* A processor of a `cpus` file (counter/catalog/cpu_type.h). */
struct table_cpu {
	struct cpu_type type;
	const char *vendor;                 /* x86: of /proc/cpuinfo; NULL */
	uint32_t family, implementer, part; /* 0: not said */
	VEC(uint32_t) models;               /* none: all of the family */
};

struct event_table {
	VEC(struct table_event) events;
	VEC(struct unit_mask *) masks;
	VEC(struct table_cpu) cpus;
	VEC(char *) complaints; /* "FILE:LINE: what is wrong" */
	struct arena *arena;
};

void event_table_init(struct event_table *t);
void event_table_fini(struct event_table *t);

/* Handles an include line. NULL: a complaint about each include. */
struct event_include {
	void (*read)(void *context, struct event_table *t, const char *cpu);
	void *context;
};

/*
 * Reads the text of one file, which is cut up meanwhile. `file` is for complaints. An event or a
 * mask of a name that an earlier *file* gave is left out: what a user adds comes first.
 */
void event_table_read_masks(struct event_table *t, char *text, const char *file,
			    const struct event_include *include);
void event_table_read_events(struct event_table *t, char *text, const char *file,
			     const struct event_include *include);
void event_table_read_cpus(struct event_table *t, char *text, const char *file);

/*
 * To be called after the last file. Gives events their masks; an event without its mask is dropped
 * with a complaint. Corrects "cpuid" counters and drops events that this processor lacks.
 */
void event_table_finish(struct event_table *t, const struct counter_sources *sources);

/* Without regard to case; NULL where there is none. */
const struct table_event *event_table_find(const struct event_table *t, const char *name);

/* A chosen unit mask. */
struct mask_choice {
	uint32_t value, extra;
	const char *name; /* NULL: chosen by value */
};

/*
 * Finds the mask of an event by `word`: a number, a name, or NULL for the default. 0 chooses the
 * default, too. -EINVAL: the message lists the masks.
 */
int table_event_mask(const struct table_event *e, const char *word, struct mask_choice *out,
		     struct error *err);

/*
 * Gives each event of a list a separate counter: out[i] is its number, or -1 for an extended event.
 * The processor has `n_counters`. -EBUSY: the message names the conflicting events.
 */
int table_events_allocate(const struct table_event *const *events, size_t n, uint32_t n_counters,
			  int *out, struct error *err);
