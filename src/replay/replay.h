/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A recording played again: what a perf.data file tells, event by event, with the machine that it
 * tells of. Everything that wants single samples stands on this; a session has them added up.
 *
 *   file ─► perfdata ─► events ─┬─► replay_events(): as they come; the sink feeds the machine
 *                               └─► machine ─► frames ─► replay_samples()
 *
 * Nothing of this machine's processes is looked at: the recording may be of another one. One
 * pass: of a replay either is called, once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"
#include "event/event.h"
#include "machine/machine.h"
#include "perfdata/perfdata.h"
#include "pipeline/frames.h"

struct error;
struct file_mapping;
struct itrace;
struct pt_event;
struct pt_flow_stats;
struct replay;
struct symbolizer_config;

/* Whether there is perf.data at the path: a file by its first bytes, a directory by its "data". */
bool replay_is_perfdata(const char *path);

/* `path`: a file, a directory of perf record --threads, a FIFO; "-": standard input. */
int replay_open(const char *path, struct replay **out, struct error *err);

/* As replay_open(), of a file whose bytes are there already: *map is taken over. */
int replay_open_mapped(const char *path, struct file_mapping *map, struct replay **out,
		       struct error *err);
/*
 * Another replay of the same files, for a thread of its own: with a reader and a machine of its own
 * over the first one's bytes, which must outlive it.
 */
int replay_open_beside(const struct replay *first, struct replay **out, struct error *err);
void replay_close(struct replay *r); /* NULL is fine */
DEFINE_AT_EXIT(replay_close, struct replay)

/* What the recording says of itself, its events, its AUX data. */
struct perfdata *replay_data(struct replay *r);
struct machine *replay_machine(struct replay *r);
uint64_t replay_mtime_ns(const struct replay *r); /* of the file */

/*
 * From here on the Intel PT of the recording is decoded, and what `itrace` asks for are samples and
 * events among the others, in the order of time; their counters are among replay_data()'s.
 * `places`: where code is looked for (NULL: on this machine); copied. -ENODATA: it has none, which
 * is no failure; -EBADMSG: its description is damaged.
 */
int replay_decode(struct replay *r, const struct itrace *itrace,
		  const struct symbolizer_config *places, struct error *err);
bool replay_has_trace(struct replay *r); /* of Intel PT */

/* Says that there is none, or that the file is cut before it (-EBADMSG); `what` follows the first.
 */
int replay_no_trace(const struct replay *r, const char *what, struct error *err);

/* Complete after the reading; NULL: nothing was decoded. */
const struct pt_flow_stats *replay_trace_stats(struct replay *r);
/* Sentences about code that the trace ran through and that could not be had. */
void replay_trace_notes(struct replay *r, void (*note)(void *context, const char *sentence),
			void *context);

/*
 * The times of the first and the last sample: as recorded, else found by a pass of its own; of a
 * recording of a trace, which has no samples, those of its records.
 */
void replay_time_range(struct replay *r, uint64_t *first_ns, uint64_t *last_ns);

/* As perfdata_read(). The machine changes as the sink lets it. */
int replay_events(struct replay *r, struct event_sink *sink, struct error *err);

/* As perfdata_read_part(); where a trace is decoded, the part is the whole. */
int replay_part(struct replay *r, const struct perfdata_part *part, struct event_sink *sink,
		struct error *err);

/* One sample, and who and where it was. All of it holds until the call that gave it returns. */
struct replay_sample {
	const struct event *event; /* .sample.extra has what else was recorded */
	const struct perfdata_counter *counter;
	struct thread_view thread;
	const char *comm;
	const struct frames *frames; /* callers without a mapping are kept; copied stacks walked */
	uint32_t generation;         /* not 0; the same while thread and mappings are */
};

/* A negative errno ends the replay. */
struct replay_sink {
	int (*sample)(struct replay_sink *self, const struct replay_sample *sample);
	/* Every other event, after the machine knows of it; may be NULL. */
	int (*event)(struct replay_sink *self, const struct event *event);
	/* Of a sample's frames its own address is all that is wanted: no code, no callers. */
	bool addresses_alone;
	/*
	 * Branches of a decoded trace in a row (pt/flow.h), for who wants nothing but their
	 * addresses: they may come here in place of one sample each. NULL: they do not.
	 */
	int (*branches)(struct replay_sink *self, const struct pt_event *branches, size_t n);
};
int replay_samples(struct replay *r, struct replay_sink *sink, struct error *err);

/* The place of another address of the sample's thread (of a branch, of data); as machine_resolve().
 */
int replay_resolve(struct replay *r, const struct replay_sample *sample, uint64_t addr,
		   struct code_addr *out);
