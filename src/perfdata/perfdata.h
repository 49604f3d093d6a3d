/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Turns the bytes of perf.data into events.
 *
 * Reads files and pipe output of perf record, in either byte order, with every layout of
 * perf_event_attr since its first 64 bytes, compressed or not, one file or a directory of them.
 * Takes bytes (that must stay), opens nothing, prints nothing.
 *
 * Damage ends the reading at its place. The records before it are delivered, and the error names
 * the damage and its offset. Unknown record types and feature sections are stepped over and
 * counted.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/mem.h"
#include "event/event.h"

struct perfdata;
struct error;

/* One sampled event. */
struct perfdata_counter {
	struct perf_event_attr attr; /* in our byte order; zero where the file's is shorter */
	const char *name;            /* as perf shows it; never NULL */
	const char *unit;            /* "ns" for clocks, else "events" */
	const uint64_t *ids;
	uint32_t n_ids;
	bool has_chains; /* of its samples: in a field of theirs, or in an off-cpu wait */
};

/* The place of a piece of an AUX area (Intel PT …), which is not read. */
struct perfdata_aux {
	uint32_t file;     /* index of the bytes that hold it */
	uint64_t file_off; /* of the data */
	uint64_t size_bytes, aux_offset, reference;
	uint32_t index, cpu;
	int32_t tid;
};

/* A tracepoint's format description, as in tracefs. */
struct perfdata_tracepoint {
	uint64_t id;        /* perf_event_attr.config */
	const char *name;   /* "sched:sched_switch" */
	const char *format; /* format_size characters, no NUL */
	uint32_t format_size;
};

/* A feature section, as in the file. */
struct perfdata_section {
	uint32_t feature;
	const char *name; /* NULL: unknown */
	const uint8_t *bytes;
	uint64_t size_bytes;
};

/* The recording's data on itself. Texts are "" and numbers 0 if it has none. */
struct perfdata_info {
	bool is_pipe, is_foreign; /* byte order */
	const char *hostname, *os_release, *version, *arch, *cpu_desc, *cpu_id;
	char *command; /* perf's own command line, quoted for a shell */
	uint32_t n_cpus;
	uint64_t total_mem_kib;
	uint64_t first_ns, last_ns; /* of the samples */
	bool has_clock;             /* one moment on two clocks: */
	uint64_t clock_ns, wall_ns; /* … the recording's, and the time of day */
	bool is_stat;               /* of perf stat: counts, no samples */
	struct {
		struct perfdata_counter *data;
		size_t n, cap;
	} counters;
	struct {
		struct perfdata_section *data;
		size_t n, cap;
	} sections;
	struct {
		struct perfdata_tracepoint *data;
		size_t n, cap;
	} tracepoints;
	/* Intel PT: the AUXTRACE_INFO record's type and private words, and the clock's. */
	uint32_t aux_type;
	const uint8_t *aux_private;
	uint64_t aux_private_size;
	bool has_time_conversion;
	uint64_t time_shift, time_mult, time_zero;
};

/* Counts of the reading. */
struct perfdata_stats {
	uint64_t records, samples, bytes; /* samples: as delivered, each sample of a group counts */
	uint64_t bad_records;             /* they did not fit their own layout */
	uint64_t unknown_ids;             /* samples of an id that no event has */
	uint64_t late;                    /* delivered after a record of a later time */
	uint64_t unknown_types;           /* records of unknown types */
	uint32_t an_unknown_type;         /* one of them */
	uint64_t text_bytes; /* of perf's own messages, at the end of a pipe's output */
	uint64_t aux_bytes;
	struct {
		struct perfdata_aux *data;
		size_t n, cap;
	} aux;
};

/* The bytes of a recording. `n` > 1 for a directory: its file "data", then data.0 and on. */
struct perfdata_bytes {
	const uint8_t *base;
	size_t size;
	const char *name; /* for messages */
};

bool perfdata_has_magic(const void *bytes, size_t size);

/* Reads the header, the events, the features. -EINVAL: the bytes are no perf.data. */
int perfdata_open(const struct perfdata_bytes *files, size_t n, struct perfdata **out,
		  struct error *err);
void perfdata_free(struct perfdata *p); /* NULL is fine */
DEFINE_AT_EXIT(perfdata_free, struct perfdata)

/* A CPU of a guest: the guest's process on this machine, and the number of the CPU. */
struct perfdata_guest {
	uint32_t machine_pid, vcpu;
	int32_t tid; /* of the thread of this machine that runs the CPU; 0: not told */
};

/*
 * The guest of the event that is being pushed; NULL: the event is of this machine. Processes and
 * threads of guests have numbers of their own (event/guest_task.h), but those of samples have the
 * guest's. Valid until the push returns.
 */
const struct perfdata_guest *perfdata_guest(const struct perfdata *p);

/*
 * Where the _text of a guest's kernel is, as its mapping in the recording says (perf kvm record).
 * `machine_pid` is the guest's process; 0: the record does not tell it.
 */
struct perfdata_guest_text {
	int32_t machine_pid;
	uint64_t addr;
};

/* All that the records named so far: the CPUs of guests, and the places of their kernels. Valid
 * until more records are read. */
const struct perfdata_guest *perfdata_guests(const struct perfdata *p, size_t *n);
const struct perfdata_guest_text *perfdata_guest_texts(const struct perfdata *p, size_t *n);

const struct perfdata_info *perfdata_info(const struct perfdata *p);
const struct perfdata_stats *perfdata_stats(const struct perfdata *p);

/*
 * Adds an event for samples that are made from the recording's data (Intel PT). Returns its index
 * in info.counters; pointers to counters from before are invalid. `name` NULL: named by its
 * attributes.
 */
uint32_t perfdata_add_counter(struct perfdata *p, const struct perf_event_attr *attr,
			      const char *name);

/* The known damage of the file before all is read; code 0: none. */
const struct error *perfdata_damage(const struct perfdata *p);

size_t perfdata_n_files(const struct perfdata *p);

/* The recorded build ids, by the paths of their files ("[kernel.kallsyms]" …). */
void perfdata_each_build_id(const struct perfdata *p,
			    void (*visit)(void *context, const char *path,
					  const struct build_id *id),
			    void *context);

/*
 * Pushes every event, in the order of time as far as perf's rounds promise it. Events without a
 * time come in their place in the file. Returns -EBADMSG with a message for damage, after all
 * readable events; or the sink's error.
 */
int perfdata_read(struct perfdata *p, struct event_sink *sink, struct error *err);

/*
 * A part of that reading, from one end of a perf round to another. So several threads can share a
 * file, each with its own perfdata over the same bytes. Parts that meet deliver together the events
 * of perfdata_read(), in its order. Besides, each part delivers the mappings, names, forks, exits
 * and kernel symbols from the file's beginning on; stepping over the samples there takes little
 * time.
 *
 * The stats bytes, records, unknown types, text and AUX count the whole reading: those of the last
 * part are the file's. Samples, late, bad and unknown-id records count each part alone.
 */
struct perfdata_part {
	uint64_t from_off, until_off; /* seams are at the first ends of rounds behind these */
};
#define PERFDATA_WHOLE        \
	{                     \
		0, UINT64_MAX \
	}

int perfdata_read_part(struct perfdata *p, const struct perfdata_part *part,
		       struct event_sink *sink, struct error *err);

/* False: events depend on each other beyond time; the file must be read as a whole. */
bool perfdata_has_parts(const struct perfdata *p);

/* The range of the records in the first file. */
void perfdata_data_range(const struct perfdata *p, uint64_t *start_off, uint64_t *end_off);

/* A record as in the file; a kernel's record in our byte order. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc, size;
	const uint8_t *bytes; /* with the header; valid until the visit returns */
	uint32_t file;
	uint64_t file_off;      /* of a compressed record: of its COMPRESSED record */
	const uint8_t *payload; /* bytes that follow it: AUXTRACE, TRACING_DATA */
	uint64_t payload_size;
	uint64_t time_ns; /* 0: it has none */
	bool has_event;   /* `event` is the record's event */
	struct event event;
};

/* "SAMPLE", "AUXTRACE_INFO" …; NULL for an unknown type. */
const char *perfdata_record_name(uint32_t type);

/*
 * Visits every record, perf's own ones too, in the order of the file and not of time. Compressed
 * records are unpacked; COMPRESSED records themselves are not visited. A visit's negative errno
 * ends it; -EBADMSG as for perfdata_read(). Call either this or perfdata_read(), once.
 */
int perfdata_each_record(struct perfdata *p,
			 int (*visit)(void *context, const struct perfdata_record *record),
			 void *context, struct error *err);

/*
 * Steps through all records, so that info's words on AUX areas and stats.aux are complete before
 * the reading. Decoders need the pieces of an area in the order of their time, which is not the
 * order of the file. The reading reports damage, not this.
 */
void perfdata_find_aux(struct perfdata *p);

/* Whether these bytes are in the recording's files, and so stay as long as those. */
bool perfdata_is_in_place(const struct perfdata *p, const void *bytes, size_t size);

/* The aux->size_bytes bytes of a piece, in place; NULL if they are not inside their file. */
const uint8_t *perfdata_aux_bytes(const struct perfdata *p, const struct perfdata_aux *aux);

/*
 * Calls back after each few megabytes that will not be read again: their memory may go. Set it
 * before perfdata_read().
 */
typedef void (*perfdata_consumed)(void *context, uint32_t file, uint64_t from_off,
				  uint64_t until_off);
void perfdata_on_consumed(struct perfdata *p, perfdata_consumed consumed, void *context);
