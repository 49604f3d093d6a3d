/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf.data as bytes to events.
 *
 * Files and pipe output of perf record, of either byte order, with every layout of
 * perf_event_attr from its first 64 bytes on, compressed or not, one file or a directory
 * of them. Takes bytes (that must stay), opens nothing, prints nothing.
 *
 * Whatever is damaged ends the reading at that place: what came before has been
 * delivered, and the error says what was wrong, and at which offset. What is only unknown
 * (a record type, a feature section) is stepped over and counted.
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

/* One event that was sampled. */
struct perfdata_counter {
	struct perf_event_attr attr; /* in our byte order; zero where the file's is shorter */
	const char *name;            /* as perf shows it; never NULL */
	const char *unit;            /* "ns" for clocks, else "events" */
	const uint64_t *ids;
	uint32_t n_ids;
};

/* A piece of an AUX area (Intel PT …): where it is; not read. */
struct perfdata_aux {
	uint32_t file;     /* index of the bytes it is in */
	uint64_t file_off; /* of the data */
	uint64_t size_bytes, aux_offset, reference;
	uint32_t index, cpu;
	int32_t tid;
};

/* A tracepoint's format description, as tracefs has it. */
struct perfdata_tracepoint {
	uint64_t id;        /* perf_event_attr.config */
	const char *name;   /* "sched:sched_switch" */
	const char *format; /* format_size characters, no NUL */
	uint32_t format_size;
};

/* A feature section, as it stands. */
struct perfdata_section {
	uint32_t feature;
	const char *name; /* NULL: not known to us */
	const uint8_t *bytes;
	uint64_t size_bytes;
};

/* What the recording says of itself. Texts are "" and numbers 0 where it does not. */
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

/* What was met while reading. */
struct perfdata_stats {
	uint64_t records, samples, bytes; /* samples: as delivered, each of a group's counted */
	uint64_t bad_records;             /* that did not fit their own layout */
	uint64_t unknown_ids;             /* samples of an id that no event has */
	uint64_t late;                    /* delivered after a record of a later time */
	uint64_t unknown_types;           /* records of a type that we do not know */
	uint32_t an_unknown_type;         /* one of them */
	uint64_t text_bytes; /* of perf's own messages, at the end of a pipe's output */
	uint64_t aux_bytes;
	struct {
		struct perfdata_aux *data;
		size_t n, cap;
	} aux;
};

/* The bytes of a recording: `n` > 1 for a directory: its file "data", then data.0 and on. */
struct perfdata_bytes {
	const uint8_t *base;
	size_t size;
	const char *name; /* for messages */
};

bool perfdata_has_magic(const void *bytes, size_t size);

/* Reads the header, the events, the features; -EINVAL where it is no perf.data at all. */
int perfdata_open(const struct perfdata_bytes *files, size_t n, struct perfdata **out,
		  struct error *err);
void perfdata_free(struct perfdata *p); /* NULL is fine */
DEFINE_AT_EXIT(perfdata_free, struct perfdata)

const struct perfdata_info *perfdata_info(const struct perfdata *p);
const struct perfdata_stats *perfdata_stats(const struct perfdata *p);

/*
 * An event that the recording does not have: of samples that are made of what it has (Intel PT).
 * Its index in info.counters; what was got of these before is void. `name` NULL: by the attributes.
 */
uint32_t perfdata_add_counter(struct perfdata *p, const struct perf_event_attr *attr,
			      const char *name);

/* What of the file is known to be missing, before all is read; code 0: nothing. */
const struct error *perfdata_damage(const struct perfdata *p);

size_t perfdata_n_files(const struct perfdata *p);

/* The build ids that were recorded, by the paths of their files ("[kernel.kallsyms]" …). */
void perfdata_each_build_id(const struct perfdata *p,
			    void (*visit)(void *context, const char *path,
					  const struct build_id *id),
			    void *context);

/*
 * Pushes every event, in the order of time as far as perf's rounds promise one; those
 * without a time come where they stand. -EBADMSG with a message when something was
 * damaged, after all that could be read; or what the sink refused with.
 */
int perfdata_read(struct perfdata *p, struct event_sink *sink, struct error *err);

/*
 * A part of that reading, from one end of a round of perf's to another: so that several threads,
 * each with a perfdata of its own over the same bytes, can share a file. Parts that meet tell
 * together what perfdata_read() does, in its order. Beyond that each tells from the file's
 * beginning on what must be known of processes and code (mappings, names, forks, exits, kernel
 * symbols); to step over the samples there takes little time.
 *
 * Of the stats, bytes, records, unknown types, text and AUX count all that was read: those of the
 * last part are the file's. Samples, late, bad and unknown-id records count for each part alone.
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

/* False: what it tells hangs together beyond time, it must be read as a whole. */
bool perfdata_has_parts(const struct perfdata *p);

/* Where the records are, of the first file. */
void perfdata_data_range(const struct perfdata *p, uint64_t *start_off, uint64_t *end_off);

/* A record as it stands in the file; a kernel's record in our byte order. */
struct perfdata_record {
	uint32_t type;
	uint16_t misc, size;
	const uint8_t *bytes; /* with the header; hold until the visit returns */
	uint32_t file;
	uint64_t file_off;      /* of a compressed record: of the one that it was packed in */
	const uint8_t *payload; /* what follows it: AUXTRACE, TRACING_DATA */
	uint64_t payload_size;
	uint64_t time_ns; /* 0: it has none */
	bool has_event;   /* `event` is what the record says */
	struct event event;
};

/* "SAMPLE", "AUXTRACE_INFO" …; NULL for a type that is not known. */
const char *perfdata_record_name(uint32_t type);

/*
 * Visits every record, perf's own ones too, in the order of the file and not of time; what is
 * packed is unpacked, COMPRESSED records themselves are not visited. A visit's negative errno ends
 * it; -EBADMSG as for perfdata_read(). Either this or perfdata_read(), once.
 */
int perfdata_each_record(struct perfdata *p,
			 int (*visit)(void *context, const struct perfdata_record *record),
			 void *context, struct error *err);

/*
 * Steps through all records, so that info's words on AUX areas and stats.aux are complete before
 * anything is read: decoders need the pieces of an area in the order of their time, which is
 * not that of the file. Damage is left for the reading to tell.
 */
void perfdata_find_aux(struct perfdata *p);

/* Whether these bytes stand in the recording's files, and so hold as long as those. */
bool perfdata_is_in_place(const struct perfdata *p, const void *bytes, size_t size);

/* The aux->size_bytes bytes of a piece, in place; NULL if they are not inside their file. */
const uint8_t *perfdata_aux_bytes(const struct perfdata *p, const struct perfdata_aux *aux);

/*
 * Calls back after each few megabytes that will not be looked at again: their memory may go.
 * To be set before perfdata_read().
 */
typedef void (*perfdata_consumed)(void *context, uint32_t file, uint64_t from_off,
				  uint64_t until_off);
void perfdata_on_consumed(struct perfdata *p, perfdata_consumed consumed, void *context);
