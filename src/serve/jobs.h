/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests of `assay serve` that wait for workers, and the answers that were made.
 *
 * At most SERVE_WORKERS workers run at once. Equal requests share a worker and its answer. If
 * SERVE_WAITING requests wait, others get 429. So does one whose turn would come later than in
 * SERVE_QUEUE_NS, by the time that workers took lately, if SERVE_PATIENT_JOBS wait already. A
 * request whose turn does not come in SERVE_TURN_S seconds gets 503: the workers may hang in a dead
 * file system. A worker of which nobody waits for the answer ends.
 */
#pragma once

#include <poll.h>
#include <stddef.h>
#include <stdint.h>

#include "base/mem.h"
#include "serve/api.h"

struct http_request;
struct jobs;

#define SERVE_WORKERS      2
#define SERVE_WAITING      128
#define SERVE_TURN_S       120
#define SERVE_PATIENT_JOBS 8
#define SERVE_QUEUE_NS     UINT64_C(1000000000)
#define SERVE_CACHE_BYTES  ((size_t)64 << 20)

struct jobs *jobs_new(void);
/* Requests that wait must have their answers, or be gone. NULL is fine. */
void jobs_free(struct jobs *js);

/* Answers a request now, or when its worker has ended. Takes the call. */
void jobs_add(struct jobs *js, const struct api_row *row, struct api_call *call,
	      struct http_request *q);
/* How many calls have this key, among those that wait or run. */
size_t jobs_count(const struct jobs *js, const struct buf *key);
/* Runs a command of which nobody waits for the answer. Its failure is logged. Takes the call. */
void jobs_add_own(struct jobs *js, const struct api_row *row, struct api_call *call);
/* The client of the request is gone. */
void jobs_forget(struct jobs *js, const struct http_request *q);

/* Starts workers, as long as there are places. */
void jobs_start(struct jobs *js);
/* Reads what workers wrote, and answers. */
void jobs_read(struct jobs *js);

/* What jobs_read() waits for: returns the number of descriptors. */
#define JOBS_MAX_FDS 64
nfds_t jobs_descriptors(const struct jobs *js, struct pollfd fds[static JOBS_MAX_FDS]);
/* When jobs_read() must be called at last, of the monotonic clock; UINT64_MAX: never. */
uint64_t jobs_deadline_ns(const struct jobs *js);
