/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a session: the narrow waist between recording and keeping.
 *
 * The pipeline (record/) hands over samples whose addresses are already
 * (image, offset); a store keeps them. A store is a row of function pointers,
 * so that OProfile's sample files (a later store) are one more file here.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/strings.h"
#include "event/loss.h"
#include "machine/image.h"

struct error;

/* What one counter counted, as the user asked for it. */
struct counter_info {
	const char *name;   /* "cycles", "cpu-clock", "sched:sched_switch" */
	const char *spec;   /* as typed, or the default's */
	const char *unit;   /* of a period: "events", or "ns" for clocks */
	uint64_t freq_hz;   /* samples a second; 0 where `count` is given */
	uint64_t count;     /* events between two samples; 0 where `freq_hz` is given */
	uint64_t unit_mask; /* OProfile's sense; 0 if none */
	bool in_user, in_kernel;
};

/*
 * What samples are kept apart by, beside the event: OProfile's separation. Without LIB the
 * application of a sample is the image that it is in, and without KERNEL that is so for the
 * kernel and its modules.
 */
enum separation {
	SEPARATE_LIB = 1 << 0,
	SEPARATE_KERNEL = 1 << 1,
	SEPARATE_PROCESS = 1 << 2,
	SEPARATE_THREAD = 1 << 3,
	SEPARATE_CPU = 1 << 4,
	SEPARATE_CGROUP = 1 << 5,
	SEPARATE_ALL = (1 << 6) - 1,
};

/* A class's pid, tid or cpu where samples are not kept apart by it. */
#define CLASS_ALL (-1)

/* X(field): the texts of struct session_info. */
#define SESSION_INFO_TEXTS(X) \
	X(version)            \
	X(command)            \
	X(target)             \
	X(hostname)           \
	X(os_release)         \
	X(arch)               \
	X(cpu_model)          \
	X(collector)          \
	X(stacks)             \
	X(note)

/* What is known when a session starts. Strings are never NULL. */
struct session_info {
	const char *version; /* assay's */
	const char *command; /* the profiled command, quoted for a shell; "" if none */
	const char *target;  /* "command", "pid 12,13", "whole machine", "cgroup /x" … */
	const char *hostname, *os_release, *arch, *cpu_model;
	const char *collector; /* "perf rings" … */
	const char *stacks;    /* "frame pointers", "none" … */
	const char *note;      /* e.g. why the timer is used; "" if nothing to say */
	uint32_t n_cpus;
	uint64_t start_wall_ns; /* CLOCK_REALTIME at the same moment as … */
	uint64_t start_ns;      /* … CLOCK_MONOTONIC, the clock of all other times */
	struct counter_info *counters;
	uint32_t n_counters;
	uint32_t merged; /* enum separation: what samples are not kept apart by; 0: all are */
	/* A new file from this size on, of it and of the tables in memory; 0: the store's own; not
	 * kept. */
	uint64_t segment_bytes, table_bytes;
	bool writes_behind;   /* the recorder does not wait for the disk (store/segment_writer.h) */
	uint64_t block_ns;    /* what a block spans at most: of a merged part; 0: a second */
	const char *replaces; /* "NAME NAME …": parts that this one was merged of; "" */
};

/* What is known when it ends. */
struct session_end {
	uint64_t end_ns;
	uint64_t own_cpu_ns;     /* user + system time of assay itself */
	uint64_t own_peak_bytes; /* largest resident set of assay itself */
	int32_t exit_status;     /* wait(2) status of the command; -1 if none */
};

/* OProfile's class: what samples are kept apart by. */
struct profile_class {
	uint32_t counter;
	image_id app; /* the process's main executable; the kernel for kernel threads */
	int32_t pid, tid;
	string_id comm; /* of the thread */
	uint32_t cpu;
	string_id cgroup; /* path of the process's, "/…"; "" if not known, or merged */
};

struct sample {
	struct profile_class class;
	uint64_t time_ns;
	const struct code_addr *frames; /* innermost first; n_frames >= 1 */
	uint32_t n_frames;
	uint64_t samples; /* usually 1 */
	uint64_t period;  /* events in all */
};

/*
 * The name of code that has no file: JIT code, BPF programs, what another tool has named. Kept in
 * the session. Or, with a line, the source of such code: `name` is the file then, size is less than
 * 4 GiB and line at most INT32_MAX; a store may leave it out.
 */
struct code_symbol {
	image_id image;
	uint64_t offset, size;
	const char *name;
	uint32_t line; /* 0: it is a name */
};

/*
 * The class of a sample in the image `leaf`, without what is merged. Both stores call it: what
 * reaches them is always the whole class.
 */
void class_merge(struct profile_class *class, const struct image *leaf, image_id leaf_id,
		 uint32_t merged);

struct store;

struct store_ops {
	const char *name; /* --store NAME */
	const char *help;

	/*
	 * Creates the session `dir`, which does not exist yet. `images` and
	 * `strings` name what samples refer to; they stay the caller's and
	 * outlive the store. `info` is copied.
	 */
	int (*open)(const char *dir, const struct session_info *info,
		    const struct image_table *images, const struct strings *strings,
		    struct store **out, struct error *err);

	/* Allocates only when something new is seen. Times may go back within a block. */
	int (*add)(struct store *s, const struct sample *sample, struct error *err);

	/* Counts under the current block. `counter` may be UINT32_MAX: all or not known. */
	void (*lose)(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n);

	void (*name_code)(struct store *s, const struct code_symbol *symbol);

	/*
	 * Makes the samples of all whole seconds before until_ns visible to readers and safe
	 * from a crash of this process; a second that is not over waits, as a block never
	 * spans two: unless until_ns is UINT64_MAX, which means all, now. Called about
	 * once a second with the time up to which all samples have been added.
	 * On -ENOSPC and other write errors the session on disk stays whole up to the block
	 * before, the samples of this one are counted as lost (DISK_FULL), and later blocks are
	 * tried again.
	 */
	int (*flush)(struct store *s, uint64_t until_ns, struct error *err);

	/*
	 * Flushes, writes the end, frees. `end` NULL: abandoned. The store is gone in any case.
	 * *n_unwritten: samples that were added but could never be written (DISK_FULL).
	 */
	int (*close)(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
		     struct error *err);

	/* Whether what was flushed is not on the disk yet, as that takes long. NULL: never. */
	bool (*is_behind)(struct store *s);
};

/* The native store: segments (docs/formats.md). */
extern const struct store_ops native_store;

/* The kinds of stores by the names that `record --store` has; ends with NULL; in commands/tables.c.
 */
extern const struct store_ops *const store_kinds[];

/* Memory that a store holds, for the recorder's budget. */
uint64_t native_store_memory(const struct store *s);
