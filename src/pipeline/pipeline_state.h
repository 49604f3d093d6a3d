/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of pipeline.c, which its parts share. */
#pragma once

#include "base/error.h"
#include "base/mem.h"
#include "lang/runtime.h"
#include "pipeline/file_jobs.h"
#include "pipeline/frames.h"
#include "pipeline/pipeline.h"
#include "pipeline/waiting_samples.h"

/* A look, or a jitdump (pipeline_dumps.c), that samples wait for. */
struct pending_look {
	image_id id;
	uint32_t user; /* whose file it is */
	uint64_t until_ns;
};

/* An image that is the runtime of a language. */
struct runtime_image {
	image_id image;
	struct lang_runtime runtime;
};

struct pipeline {
	struct event_sink sink;
	const struct store_ops *ops;
	const struct sample_tap *tap; /* or NULL */
	struct store *store;
	struct machine *machine;
	struct jit_names *jit;
	struct lang_names *lang_names;    /* of frames in copied stacks; NULL: offline */
	struct java_stacks *java;         /* likewise */
	struct v8_stacks *v8;             /* likewise */
	struct trampolines *trampolines;  /* likewise */
	struct file_jobs *jobs;           /* NULL: offline */
	VEC(struct pending_look) pending; /* the oldest first */
	struct waiting_samples waiting;
	struct frame_resolver *resolver;
	image_id cut_image;               /* of IMAGE_CUT_PATH; id 0: no stack was cut yet */
	struct ext_session *ext;          /* or NULL */
	struct container_log *containers; /* or NULL */
	bool is_offline;
	char *proc, *names_dir;
	VEC(struct runtime_image) runtimes;
	VEC(struct runtime_image) go_programs; /* with places of labels (lang/go_labels.h) */
	bool expects_languages, expects_trampolines;
	bool lacks_walks; /* stacks come by frame pointers, or not at all */
	bool is_settling; /* samples that waited: their processes are not forgotten meanwhile */
	uint32_t session;
	VEC(uint32_t) canonical; /* image id to the id it is stored under, or its state */
	VEC(bool)
	counted;        /* by image id: it counts as late, as samples were kept without the look */
	VEC(bool) late; /* by image id: no sample waits any more for the look at its file */
	/* for pipeline_add(): of a wait and its waker */
	struct code_addr frames[2 * MAX_FRAMES + CUT_FRAMES];
	uint64_t flush_ns;      /* end of the second that is being collected */
	uint64_t kept_since_ns; /* see pipeline_keep_ended() */
	uint64_t n_unwritten;   /* of the store, and already in the counts */
	struct pipeline_counts counts;
	struct pipeline_tally tally;
	struct error write_error;  /* the first */
	struct error last_failure; /* of the last attempt; code 0: it succeeded */
};

/* The state of an image without a number to be stored under. */
enum {
	IMAGE_UNREAD = UINT32_MAX - 2, /* it stands for code of a jitdump (machine_settle()) */
	IMAGE_BEING_LOOKED_AT,
	IMAGE_NOT_LOOKED_AT,
};

/* The number that an image is stored under, or its state. */
uint32_t *pipeline_canonical(struct pipeline *p, image_id id);

/* Nothing waits for this any more. */
void pipeline_forget_pending(struct pipeline *p, image_id id);

/* From now on, jobs read the machine's jitdumps. */
void pipeline_begin_dumps(struct pipeline *p);

/* Notes addresses of JIT code, whose names come from perf maps. */
void pipeline_note_jit(struct pipeline *p, int32_t pid, const struct code_addr *code);

/* Adds a sample to the store. */
void pipeline_keep(struct pipeline *p, const struct sample *sample);

/* Keeps a sample now, or when its images are known. */
void pipeline_keep_or_wait(struct pipeline *p, struct sample *sample, struct code_addr *frames);

/* A flush that a reader asked for waits no longer for the look at an image. */
#define LOOK_FLUSH_WAIT_NS (20 * NS_PER_MS)

/* Nor does the beginning of another session. */
#define SWITCH_WAIT_NS (100 * NS_PER_MS)

/*
 * Samples wait no longer for the look at an image. If other looks end meanwhile, the machine is
 * busy and no file system is stuck: then they wait for the longer time.
 */
#define LOOK_WAIT_NS     (2 * NS_PER_SECOND)
#define LOOK_WAIT_MAX_NS (10 * NS_PER_SECOND)

/* Keeps all samples that wait, after a while. */
void pipeline_end_waiting(struct pipeline *p, uint64_t wait_ns);

/* The same, and names of JIT code. Names that come later belong to the next session. */
void pipeline_end_jobs(struct pipeline *p, uint64_t wait_ns);
