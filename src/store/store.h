/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing a session: the narrow waist between recording and keeping.
 *
 * The pipeline (pipeline/) delivers samples whose addresses are (image, offset) already; a store
 * keeps them. A store is a table of function pointers. The native store and OProfile's sample files
 * are such tables.
 *
 * One thread uses a store. Times are nanoseconds of CLOCK_MONOTONIC.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/strings.h"
#include "event/loss.h"
#include "machine/image.h"

struct error;

/* A counter with its settings, as the user asked for it. */
struct counter_info {
	const char *name;   /* "cycles", "cpu-clock", "sched:sched_switch" */
	const char *spec;   /* as typed, or the default's */
	const char *unit;   /* unit of a period: "events", or "ns" for clocks */
	uint64_t freq_hz;   /* samples a second; 0 where `count` is given */
	uint64_t count;     /* events between two samples; 0 where `freq_hz` is given */
	uint64_t unit_mask; /* as in OProfile; 0: none */
	bool in_user, in_kernel;
};

#define OFF_CPU_EVENTS    "off-cpu:" /* the beginning of their names (pipeline/off_cpu.h) */
#define KERNEL_LOCK_EVENT "kernel-lock"

/* Whether it counts time that threads wait, and not what they do. */
static inline bool counter_is_wait(const struct counter_info *c)
{
	return !strncmp(c->name, OFF_CPU_EVENTS, strlen(OFF_CPU_EVENTS)) ||
	       !strcmp(c->name, KERNEL_LOCK_EVENT);
}

/*
 * The properties that keep samples apart, besides the event (OProfile's separation). Without
 * SEPARATE_LIB, the application of a sample in a library is the library itself. Without
 * SEPARATE_KERNEL, the same holds for the kernel and its modules.
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

/* The pid, tid or cpu of a class if samples are not kept apart by it. */
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

/* The facts at the start of a session. Strings are never NULL. */
struct session_info {
	const char *version; /* assay's */
	const char *command; /* the profiled command, quoted for a shell; "": none */
	const char *target;  /* "command", "pid 12,13", "whole machine", "cgroup /x" … */
	const char *hostname, *os_release, *arch, *cpu_model;
	const char *collector; /* "perf rings" … */
	const char *stacks;    /* "frame pointers", "none" … */
	const char *note;      /* for example, why the timer is used; "": none */
	uint32_t n_cpus;
	uint64_t start_wall_ns; /* CLOCK_REALTIME at the same moment as … */
	uint64_t start_ns;      /* … CLOCK_MONOTONIC, the clock of all other times */
	struct counter_info *counters;
	uint32_t n_counters;
	uint32_t merged; /* enum separation bits that do not keep samples apart; 0: all do */
	/*
	 * Limits of a segment: its file, and the tables in memory. 0: the store's default. Not
	 * stored in the session.
	 */
	uint64_t segment_bytes, table_bytes;
	bool exact_times;     /* samples keep their times (struct sample); not stored */
	bool writes_behind;   /* the recorder does not wait for the disk (store/segment_writer.h) */
	uint64_t block_ns;    /* longest time of a block, for merged parts; 0: a second */
	const char *replaces; /* "NAME NAME …": the parts that this merged part replaces; "" */
};

/* The facts at the end of a session. */
struct session_end {
	uint64_t end_ns;
	uint64_t own_cpu_ns;     /* user + system time of assay itself */
	uint64_t own_peak_bytes; /* largest resident set of assay itself */
	int32_t exit_status;     /* wait(2) status of the command; -1 if none */
};

/* OProfile's class: samples with equal properties are counted together. */
struct profile_class {
	uint32_t counter;
	image_id app; /* the process's main executable; the kernel for kernel threads */
	int32_t pid, tid;
	string_id comm; /* of the thread */
	uint32_t cpu;
	string_id cgroup; /* path of the process's cgroup, "/…"; "": not known, or merged */
};

struct sample {
	struct profile_class class;
	uint64_t time_ns;
	bool is_timed;                  /* time_ns is the very moment, not that of a sum */
	const struct code_addr *frames; /* innermost first; n_frames >= 1 */
	uint32_t n_frames;
	uint64_t samples; /* usually 1 */
	uint64_t period;  /* sum of events */
};

/*
 * A name for code without a file: JIT code, BPF programs, functions that another tool named. The
 * session keeps it. With line > 0, it is a source position instead: `name` is the file, size is
 * below 4 GiB and line at most INT32_MAX. A store may leave out positions.
 */
struct code_symbol {
	image_id image;
	uint64_t offset, size;
	const char *name;
	uint32_t line; /* 0: a name */
};

/*
 * Removes the merged properties from the class of a sample whose innermost frame is in the image
 * `leaf`. The stores call it; their callers always pass complete classes.
 */
void class_merge(struct profile_class *class, const struct image *leaf, image_id leaf_id,
		 uint32_t merged);

struct store;

struct store_ops {
	const char *name; /* --store NAME */
	const char *help;

	/*
	 * Creates the session `dir`, which must not exist. Samples refer to `images` and `strings`;
	 * the caller owns both and keeps them until the store is closed. `info` is copied.
	 */
	int (*open)(const char *dir, const struct session_info *info,
		    const struct image_table *images, const struct strings *strings,
		    struct store **out, struct error *err);

	/*
	 * The recording begins now, and not when open() was called: moves the session's start,
	 * before the first sample. If blocks are written already, the start stays. NULL: it always
	 * does.
	 */
	int (*begin)(struct store *s, uint64_t wall_ns, uint64_t ns, struct error *err);

	/*
	 * Adds a sample. Allocates only for new names, nodes or classes. Within a block, times may
	 * go backwards.
	 */
	int (*add)(struct store *s, const struct sample *sample, struct error *err);

	/* Counts n lost samples in the current block. `counter` UINT32_MAX: all or not known. */
	void (*lose)(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n);

	void (*name_code)(struct store *s, const struct code_symbol *symbol);

	/*
	 * Writes the samples of all whole seconds before until_ns. Then readers see them, and a
	 * crash of this process can't lose them. An unfinished second waits, because no block spans
	 * two seconds. until_ns UINT64_MAX: everything now. Called about once a second, with the
	 * time up to which all samples have been added. After -ENOSPC and other write errors, the
	 * session on disk is whole up to the last written block. The samples of the failed block
	 * count as lost (DISK_FULL), and later blocks are tried again.
	 */
	int (*flush)(struct store *s, uint64_t until_ns, struct error *err);

	/*
	 * Flushes, writes the end and frees the store, also on failure. `end` NULL: the session is
	 * abandoned. *n_unwritten: samples that were added but could not be written (DISK_FULL).
	 */
	int (*close)(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
		     struct error *err);

	/* Whether flushed blocks still wait for a slow disk. NULL: never. */
	bool (*is_behind)(struct store *s);

	/*
	 * Writes everything and lets go of the session's files, also after a failure: they may then
	 * be moved or removed, and the next sample begins a session at their old place. Such a
	 * store's open() goes on with a session that is there. NULL: the store can't.
	 */
	int (*leave)(struct store *s, struct error *err);

	/* Whether a folder has its files: of a session that leave() let go of, or of one below
	 * samples/. NULL: not known. */
	bool (*is_at)(const char *path);

	/* The number that close() would give now. NULL: only close() has it. */
	uint64_t (*unwritten)(const struct store *s);

	/* About the bytes by which its files grew on the disk since open(). NULL: not known. */
	uint64_t (*grown)(const struct store *s);
};

/* All stores, by the names of `record --store`; ends with NULL. Defined in commands/tables.c. */
extern const struct store_ops *const store_kinds[];
