/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The way of a sample: event → machine → store. One pipeline serves record,
 * import and the daemon; whoever has events pushes them into its sink.
 *
 *   event ──► machine (who is pid 41 now? which image lies at this PC?)
 *                └──► frames of (image, offset) ──► store_ops->add()
 *
 * Every sample that comes in is added to the store; what could not be resolved is
 * stored under [unknown] and its reason counted.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "event/event.h"
#include "machine/machine.h"
#include "store/store.h"

struct pipeline;
struct error;
struct user_stacks;
struct ext_session;

struct pipeline_config {
	const char *proc; /* NULL: "/proc" */
	const struct store_ops *ops;
	const char *dir;
	const struct session_info *info;
	/* The events are of another machine or time: no file of theirs is looked for here. */
	bool is_offline;
	struct machine *machine; /* stays the caller's, and outlives the pipeline */
	struct ext_session *ext; /* likewise: makes counts of raw samples; NULL: there are none */
};

struct pipeline *pipeline_open(const struct pipeline_config *config, struct error *err);

struct event_sink *pipeline_sink(struct pipeline *p);

/* Samples that their source has resolved and added up already: alike in all that is here. */
struct pipeline_sample {
	int32_t pid, tid;
	uint32_t cpu, counter;
	string_id comm; /* of the machine's strings */
	image_id app;
	string_id cgroup; /* as comm */
	uint64_t time_ns;
	const struct code_addr *frames; /* innermost first, of the machine's images */
	uint32_t n_frames;
	uint32_t n_unmapped; /* callers that were left out */
	int leaf_loss;       /* enum loss_reason why frames[0] is unknown, or -1 */
	uint64_t samples, period;
};
void pipeline_add(struct pipeline *p, const struct pipeline_sample *sample);

/*
 * A second pair of eyes: sees each sample just before the store does, with its image ids and its
 * strings those of the machine. `tap` stays the caller's; NULL: nobody looks any more, which costs
 * nothing.
 */
struct sample_tap {
	void (*see)(void *context, const struct sample *sample);
	void *context;
};
void pipeline_set_tap(struct pipeline *p, const struct sample_tap *tap);

/* The walker of copied stacks: for sources that have some to be walked before they add a sample. */
struct user_stacks *pipeline_user_stacks(struct pipeline *p);

/* Keeps the name of code that has no file, or whose names the source knows. */
void pipeline_name_code(struct pipeline *p, const struct code_symbol *symbol);

/* Counts a loss that the source knows of. `context` is the pipeline. */
void pipeline_lose(void *context, enum loss_reason reason, uint32_t counter, uint64_t n);

/*
 * All events up to `now_ns` have been pushed: writes what is a whole second or
 * more old. A write error is kept for pipeline_close() and told by pipeline_write_error().
 */
void pipeline_advance(struct pipeline *p, uint64_t now_ns);

/*
 * Forgets what ended before, names its code first. Of what happens here pipeline_advance() does
 * it; a source of events from elsewhere (is_offline) knows the time itself.
 */
void pipeline_forget_ended(struct pipeline *p, uint64_t before_ns);

/*
 * The image under which samples of this one are kept. Asked for the first time, it looks at the
 * file, which can be read while a process that has it mapped lives.
 */
image_id pipeline_look_at_image(struct pipeline *p, int32_t pid, image_id id);

/*
 * What ended at this time or later is not forgotten, however old, as a sample of it still waits for
 * something. UINT64_MAX, at first: nothing waits.
 */
void pipeline_keep_ended(struct pipeline *p, uint64_t since_ns);

/* The time at which pipeline_advance() has something to do next. */
uint64_t pipeline_next_flush(const struct pipeline *p);

struct pipeline_counts {
	uint64_t samples;      /* added to the store */
	uint64_t lost;         /* by reasons of kind LOST */
	uint64_t unattributed; /* of the samples */
};
struct pipeline_counts pipeline_counts(const struct pipeline *p);

/* Since it was opened, over all its sessions. */
struct pipeline_tally {
	uint64_t losses[N_LOSS_REASONS];
	struct {
		uint64_t *data;
		size_t n, cap;
	} cpu_samples; /* by CPU */
};
const struct pipeline_tally *pipeline_tally(const struct pipeline *p);

/*
 * All that was pushed is visible to readers when it returns, the second that is not over, too.
 * The error is kept as pipeline_advance() does.
 */
int pipeline_flush(struct pipeline *p, struct error *err);

/* Whether what was flushed is still on its way to the disk. */
bool pipeline_is_behind(const struct pipeline *p);

/*
 * Ends the session as pipeline_close() does and goes on in another, of config->dir and
 * config->info. On failure the old one goes on; what could not be written of the old one's end is
 * no failure, as nothing could be done about it: pipeline_write_failure() tells.
 */
int pipeline_switch(struct pipeline *p, const struct pipeline_config *config,
		    const struct session_end *end, struct error *err);

/* What the last attempt to write met, or NULL: it went well. */
const struct error *pipeline_write_failure(const struct pipeline *p);

/* The first error that writing met, or NULL. */
const struct error *pipeline_write_error(const struct pipeline *p);

/*
 * Names JIT code, writes the rest and the end. `end` NULL: abandoned. Frees in
 * any case. *counts (may be NULL) gets the last word: samples that could not be written are
 * lost.
 */
int pipeline_close(struct pipeline *p, const struct session_end *end,
		   struct pipeline_counts *counts, struct error *err);
