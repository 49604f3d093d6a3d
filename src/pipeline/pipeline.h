/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of a sample: event → machine → store. One pipeline serves record, import and the daemon.
 * Sources push their events into its sink.
 *
 *   event ──► machine (process 41 at this time; the image at this pc)
 *                └──► frames of (image, offset) ──► store_ops->add()
 *
 * Every sample is added to the store. Unresolved frames are stored under [unknown], and the reason
 * is counted.
 *
 * Not thread-safe: one thread owns a pipeline with its machine, and calls all functions.
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
struct finder;

struct pipeline_config {
	const char *proc; /* NULL: "/proc" */
	const struct store_ops *ops;
	const char *dir;
	const struct session_info *info;
	/* The events are from another machine or time: no files of this machine are read. */
	bool is_offline;
	const char *names_dir;   /* image_files.h; NULL: the cache */
	struct machine *machine; /* not owned; outlives the pipeline */
	struct finder *finder;   /* likewise; finds the files of offline events. May be NULL */
	struct ext_session *ext; /* likewise; derives counts from raw samples; may be NULL */
};

struct pipeline *pipeline_open(const struct pipeline_config *config, struct error *err);

/* The session begins at this moment, and not when it was opened: before the first sample. */
int pipeline_begin(struct pipeline *p, uint64_t wall_ns, uint64_t ns, struct error *err);

struct event_sink *pipeline_sink(struct pipeline *p);

/* Samples that their source has resolved and added up: all of them agree in every field here. */
struct pipeline_sample {
	int32_t pid, tid;
	uint32_t cpu, counter;
	string_id comm; /* in the machine's strings */
	image_id app;
	string_id cgroup; /* likewise */
	uint64_t time_ns;
	bool is_timed;                  /* as in struct sample */
	const struct code_addr *frames; /* innermost first; images of the machine */
	uint32_t n_frames;
	uint32_t n_unmapped; /* callers that were left out */
	bool is_cut;         /* the callers of the last frame are not known */
	int leaf_loss;       /* enum loss_reason why frames[0] is unknown, or -1 */
	uint64_t samples, period;
};
void pipeline_add(struct pipeline *p, const struct pipeline_sample *sample);

/*
 * An observer: sees each sample just before the store does. Image ids and strings are those of the
 * machine. The caller keeps `tap`. NULL removes the observer; then there is no cost.
 */
struct sample_tap {
	void (*see)(void *context, const struct sample *sample);
	void *context;
};
void pipeline_set_tap(struct pipeline *p, const struct sample_tap *tap);

/* The walker of copied stacks, for sources that walk stacks before they add samples. */
struct user_stacks *pipeline_user_stacks(struct pipeline *p);

/* Stores the name of code: code without a file, or code that the source has names for. */
void pipeline_name_code(struct pipeline *p, const struct code_symbol *symbol);

/* Counts a loss that the source found. `context` is the pipeline. */
void pipeline_lose(void *context, enum loss_reason reason, uint32_t counter, uint64_t n);

/*
 * All events up to `now_ns` have been pushed: writes the samples that are at least a full second
 * old. A write error is kept for pipeline_close().
 */
void pipeline_advance(struct pipeline *p, uint64_t now_ns);

/*
 * Forgets processes that ended before `before_ns`, after naming their code. For events of this
 * machine, pipeline_advance() does it. Sources with is_offline know the time themselves.
 */
void pipeline_forget_ended(struct pipeline *p, uint64_t before_ns);

/*
 * Replaces an image by the one that its samples are stored under. The first call for an image has
 * its file looked at, on another thread (pipeline/image_looks.h), which is possible while a process
 * that has it mapped lives. False: the result is not there yet, and *id is unchanged.
 */
bool pipeline_look_at_image(struct pipeline *p, int32_t pid, image_id *id);

/*
 * Whether samples of an image are stored by its path alone, but the look at its file goes on. Only
 * then it is known which runtime it is. `id`: before pipeline_look_at_image() has replaced it.
 */
bool pipeline_is_file_late(const struct pipeline *p, image_id id);

/* Takes the results that are there; pipeline_advance() does it, too. */
void pipeline_take_looks(struct pipeline *p);

/* For tests: whether results are still to come. */
bool pipeline_is_looking(const struct pipeline *p);

/*
 * The runtime of a language that the file of an image is (lang/detect.h); NULL: none that assay can
 * follow. `image` comes from pipeline_look_at_image().
 */
struct lang_runtime;
const struct lang_runtime *pipeline_runtime(const struct pipeline *p, image_id image);

/* Likewise, where the labels of goroutines are; NULL: the image is no Go program. */
const struct label_places *pipeline_label_places(const struct pipeline *p, image_id image);

/* The place of a frame that a walk of user_stacks.h found. False: its function was forgotten. */
struct lang_frame;
bool pipeline_place_frame(struct pipeline *p, const struct lang_frame *frame,
			  struct code_addr *out);

/*
 * Forgets all functions of these frames if there are too many. The next walks learn them anew, so
 * frames of a walk get their places before the next call. pipeline_sink() does it for its samples.
 * Returns whether it did.
 */
bool pipeline_keep_language_limits(struct pipeline *p);

/*
 * Counts a runtime whose frames are on the native stack and stay without names, if samples are to
 * have frames of languages.
 */
void pipeline_lose_runtime(struct pipeline *p, const struct lang_runtime *runtime);

/* The source's samples have frames of languages. Otherwise each runtime counts as a loss, too. */
void pipeline_expect_languages(struct pipeline *p);

/* Python's perf trampoline is on (3.12 and newer), so copied stacks have its functions. */
void pipeline_expect_trampolines(struct pipeline *p);

/* Another number for each session (pipeline_switch()): names are to be stored in each. */
uint32_t pipeline_session(const struct pipeline *p);

/*
 * Keeps processes that ended at `since_ns` or later, because a sample of theirs is still pending.
 * UINT64_MAX, the initial value: nothing is pending.
 */
void pipeline_keep_ended(struct pipeline *p, uint64_t since_ns);

/* The time when pipeline_advance() next has work to do. */
uint64_t pipeline_next_flush(const struct pipeline *p);

struct pipeline_counts {
	uint64_t samples;      /* added to the store */
	uint64_t lost;         /* sum of the reasons of kind LOST */
	uint64_t unattributed; /* part of `samples` */
};
struct pipeline_counts pipeline_counts(const struct pipeline *p);

/* Sums since pipeline_open(), over all sessions. */
struct pipeline_tally {
	uint64_t losses[N_LOSS_REASONS];
	struct {
		uint64_t *data;
		size_t n, cap;
	} cpu_samples; /* by CPU */
};
const struct pipeline_tally *pipeline_tally(const struct pipeline *p);

/*
 * Makes all pushed samples visible to readers, including those of the unfinished second. Errors are
 * kept as by pipeline_advance().
 */
int pipeline_flush(struct pipeline *p, struct error *err);

/* Is flushed data still on its way to the disk? */
bool pipeline_is_behind(const struct pipeline *p);

/*
 * Ends the session as pipeline_close() does and begins another one, of config->dir and
 * config->info. On failure the old session continues. A failed write at the end of the old session
 * is no failure here, as the caller cannot repair it; pipeline_write_failure() reports it.
 */
int pipeline_switch(struct pipeline *p, const struct pipeline_config *config,
		    const struct session_end *end, struct error *err);

/*
 * Lets go of the session's files, which may then be moved or removed; what comes next begins a
 * session at their place. Only for stores with leave(). Errors are kept as by pipeline_advance().
 */
int pipeline_leave(struct pipeline *p, struct error *err);

/* The bytes by which the store's files grew, about; 0: the store does not count them. */
uint64_t pipeline_grown(const struct pipeline *p);

/* The error of the last attempt to write, or NULL if it succeeded. */
const struct error *pipeline_write_failure(const struct pipeline *p);

/*
 * Names JIT code, writes the remaining samples and the end. `end` NULL: the session is abandoned.
 * Frees the pipeline in any case. *counts (may be NULL) gets the final counts: samples that could
 * not be written are lost.
 */
int pipeline_close(struct pipeline *p, const struct session_end *end,
		   struct pipeline_counts *counts, struct error *err);
