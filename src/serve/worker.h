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

/* Runs the program with the words, which end with NULL. Without input, in a process group. */
int worker_start(char *const *words, struct worker **out, struct error *err);
void worker_free(struct worker *w); /* ends its process; NULL is fine */
DEFINE_AT_EXIT(worker_free, struct worker)

/* Descriptors to poll for reading: of its output, its messages and its end; -1: closed. */
int worker_fd(const struct worker *w, int i);
#define WORKER_FDS 3

/* Reads what there is. True: it has ended, or must end, and worker_status() is known. */
bool worker_read(struct worker *w);

uint64_t worker_deadline_ns(const struct worker *w); /* of the monotonic clock */

/*
 * 200, or the status of the failure for HTTP: 400 for a query that assay refuses, 422 for a source
 * that it cannot read, 503 and 504 for limits.
 */
unsigned int worker_status(const struct worker *w);
/* Whether an answer is incomplete or of a damaged source: worker_message() has the reason. */
bool worker_has_warned(const struct worker *w);
const struct buf *worker_output(const struct worker *w);
/* Of a failure: the program's own message, else a sentence about the limit. */
const char *worker_message(const struct worker *w);
