/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replays a recording: the events of a perf.data file in their order, and the state of the recorded
 * machine at each event. All code that needs single samples uses it, because a session has sums.
 *
 *   file ─► perfdata ─► events ─┬─► replay_events(): as they come; the sink feeds the machine
 *                               └─► machine ─► frames ─► replay_samples()
 *
 * A replay looks at no process of this machine, because the recording may be of another one. It is
 * one pass: call one of the two functions, once.
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
struct finder;
struct itrace;
struct pt_event;
struct pt_flow_stats;
struct replay;
struct symbolizer_config;

/* Whether there is perf.data at the path: a file by its first bytes, a directory by its "data". */
bool replay_is_perfdata(const char *path);

/* `path`: a file, a directory of perf record --threads, a FIFO; "-": standard input. */
int replay_open(const char *path, struct replay **out, struct error *err);

/* As replay_open(), of a file that is already mapped. Takes *map over. */
int replay_open_mapped(const char *path, struct file_mapping *map, struct replay **out,
		       struct error *err);
/*
 * Another replay of the same files, for another thread. It has its own reader and machine. The
 * first replay owns the bytes and must outlive it.
 */
int replay_open_beside(const struct replay *first, struct replay **out, struct error *err);
void replay_close(struct replay *r); /* NULL is fine */
DEFINE_AT_EXIT(replay_close, struct replay)

/*
 * The places of the files of the recorded images (symbol/finder.h), before the reading. Without it,
 * or of NULL, the places are those of this machine.
 */
void replay_set_places(struct replay *r, const struct symbolizer_config *places);
/* What the places say of guests. Both calls above do it for the replay's own machine. */
void replay_set_guests(struct machine *m, const struct symbolizer_config *places);
struct finder *replay_finder(struct replay *r);

/* The facts of the recording, its events, its AUX data. */
struct perfdata *replay_data(struct replay *r);
struct machine *replay_machine(struct replay *r);
uint64_t replay_mtime_ns(const struct replay *r); /* of the file */

/*
 * Decodes the Intel PT trace of the recording, too. The samples and events that `itrace` asks for
 * come among the others, in the order of time. replay_data() has their counters. `places`: where
 * the code is (NULL: on this machine); copied. -ENODATA: there is no trace, which is no failure.
 * -EBADMSG: its description is damaged.
 */
int replay_decode(struct replay *r, const struct itrace *itrace,
		  const struct symbolizer_config *places, struct error *err);
/* Whether the recording has a trace of Intel PT. Reads on in the files until it knows all pieces.
 */
bool replay_find_trace(struct replay *r);

/* The message that there is no trace, with `what` behind it; or that the file is cut before the
 * trace (-EBADMSG). */
int replay_no_trace(const struct replay *r, const char *what, struct error *err);

/* Complete after the reading; NULL: nothing was decoded. */
const struct pt_flow_stats *replay_trace_stats(struct replay *r);
/* Sentences about executed code that assay could not read. */
void replay_trace_notes(struct replay *r, void (*note)(void *context, const char *sentence),
			void *context);

/*
 * The times of the first and the last sample. If the recording does not have these times, a
 * separate pass finds them. A trace has no samples; then the times are those of its records.
 */
void replay_time_range(struct replay *r, uint64_t *first_ns, uint64_t *last_ns);

/* As perfdata_read(). The machine changes as the sink lets it. */
int replay_events(struct replay *r, struct event_sink *sink, struct error *err);

/* As perfdata_read_part(). If a trace is decoded, the part is the whole recording. */
int replay_part(struct replay *r, const struct perfdata_part *part, struct event_sink *sink,
		struct error *err);

/* A sample with its thread and its frames. Valid until the sink returns. */
struct replay_sample {
	const struct event *event; /* .sample.extra has the other recorded fields */
	const struct perfdata_counter *counter;
	struct thread_view thread;
	const char *comm;
	const struct frames *frames; /* callers without a mapping are kept; copied stacks walked */
	uint32_t generation;         /* not 0; the same while thread and mappings are */
	/*
	 * For addresses of this machine's kernel, which threads share: not 0; the same while the
	 * kernel's mappings are. No other kernel's is the same.
	 */
	uint32_t kernel_generation;
};

/* A negative errno ends the replay. */
struct replay_sink {
	int (*sample)(struct replay_sink *self, const struct replay_sample *sample);
	/* Every other event, after the machine knows of it; may be NULL. */
	int (*event)(struct replay_sink *self, const struct event *event);
	/* The sink needs only the address of each sample: no code, no callers. */
	bool addresses_alone;
	/*
	 * Branches of a decoded trace in a row (pt/flow.h), for a sink that needs only their
	 * addresses. They may come here instead of one sample each. `first` is the sample of the
	 * first of them, without frames: all are of its thread and time. NULL: they come as
	 * samples.
	 */
	int (*branches)(struct replay_sink *self, const struct replay_sample *first,
			const struct pt_event *branches, size_t n);
};
int replay_samples(struct replay *r, struct replay_sink *sink, struct error *err);

/* The place of another address of the sample's thread (of a branch, of data); as machine_resolve().
 */
int replay_resolve(struct replay *r, const struct replay_sample *sample, uint64_t addr,
		   struct code_addr *out);
