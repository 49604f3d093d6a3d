/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run of assay itself that makes an answer. So damaged sessions and hostile names harm a process
 * of one answer only, and its memory goes with it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"

struct error;
struct worker;

#define WORKER_SECONDS 60
#define WORKER_OUTPUT  ((size_t)64 << 20) /* bytes of an answer */
#define WORKER_MEMORY  ((size_t)2 << 30)  /* that only the worker has */

/*
 * Runs the program with the words, which end with NULL, in a process group. `input` is its standard
 * input, of which it gets a copy; NULL: it is empty.
 */
int worker_start(char *const *words, const struct buf *input, struct worker **out,
		 struct error *err);
/* Ends its process, and waits for the end, though not for long. NULL is fine. */
void worker_free(struct worker *w);
DEFINE_AT_EXIT(worker_free, struct worker)

/* Descriptors to poll for reading: of its output, its messages and its end; -1: closed. */
int worker_fd(const struct worker *w, int i);
#define WORKER_FDS    3
#define WORKER_FD_END 2

/* Reads what there is. True: it has ended, or must end, and worker_status() is known. */
bool worker_read(struct worker *w);

/*
 * Ends the process without waiting: by SIGTERM, and by SIGKILL if it is still there after the
 * deadline. Then call worker_has_ended() when its descriptor of the end is readable, and at the
 * deadline. A process that hangs in a dead file system ends late.
 */
void worker_stop(struct worker *w);
bool worker_has_ended(struct worker *w);

/* Of the monotonic clock; UINT64_MAX: nothing is to be done but to wait for the end. */
uint64_t worker_deadline_ns(const struct worker *w);

/*
 * 200, or the status of the failure for HTTP: 400 for a query that assay refuses, 422 for a source
 * that it cannot read, 503 and 504 for limits.
 */
unsigned int worker_status(const struct worker *w);
/* Whether names of an answer come later: EXIT_LATE, EXIT_LATE_DAMAGED. */
bool worker_is_without_names(const struct worker *w);
/* Whether an answer is incomplete or of a damaged source: worker_message() has the reason. */
bool worker_has_warned(const struct worker *w);
/* Whether it has warned because memory ran out, of which there may be more later. */
bool worker_lacked_memory(const struct worker *w);
const struct buf *worker_output(const struct worker *w);
/* Of a failure: the program's own message, else a sentence about the limit. */
const char *worker_message(const struct worker *w);
