/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pipe that a recording is written into, instead of a file. Several threads may write: each
 * call writes whole records, one behind the other.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct perfdata_pipe;

/* Takes over `fd`. */
struct perfdata_pipe *perfdata_pipe_new(int fd);
/* Closes it. NULL is fine. */
void perfdata_pipe_free(struct perfdata_pipe *p);

/* After a failure, nothing is written any more. */
void perfdata_pipe_write(struct perfdata_pipe *p, const struct iovec *parts, size_t n);

/* The negative errno of the first failure, -EPIPE without a reader; or 0. */
int perfdata_pipe_failure(struct perfdata_pipe *p);
uint64_t perfdata_pipe_size(struct perfdata_pipe *p); /* bytes that were written */
