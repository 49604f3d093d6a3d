/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Requests by which other programs push profiles into a history: those of Pyroscope's clients, and
 * OTLP over HTTP. A run of `assay import` reads each body (docs/api.md); this process looks at its
 * headers alone.
 */
#pragma once

#include <stddef.h>

#include "serve/api.h"

struct access_right;
struct error;
struct http_request;

#define PUSH_BYTES ((size_t)8 << 20) /* of a body, perhaps compressed */

enum push_kind { PUSH_INGEST, PUSH_CONNECT, PUSH_OTLP };

/*
 * Makes the command that adds the body of the request to the history at `dir`, for the asker with
 * this right. The row is that of its answer. -EINVAL: the type or the compression of the body is
 * another one.
 */
int push_call(enum push_kind kind, const struct http_request *q, const struct access_right *right,
	      const char *dir, const struct api_row **row, struct api_call *out, struct error *err);

/* Makes the command that keeps the history small. */
extern const struct api_row push_retain_row;
void push_retain(const char *dir, uint64_t max_bytes, struct api_call *out);
