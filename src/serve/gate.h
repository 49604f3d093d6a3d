/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The gateway of `assay serve --fleet`: requests by which hosts send their blocks to the directory
 * of a fleet (docs/fleet.md). A run of `assay fleet receive` carries each of them out. This process
 * looks at the path, the headers and the token alone.
 *
 * A host has a token, or a client's certificate, and speaks for itself only (fleet/fleet_tokens.h).
 * It may send so many blocks and bytes in a time; more is answered with 429.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct error;
struct gate;
struct http_request;
struct jobs;

/* -ENODEV: no fleet is at the path. -EACCES, -EBADMSG: as of fleet_tokens_read(). */
int gate_new(const char *fleet, struct gate **out, struct error *err);
void gate_free(struct gate *g); /* NULL is fine */
DEFINE_AT_EXIT(gate_free, struct gate)

/* Whether the request is one of a host. `g` may be NULL: none is. */
bool gate_wants(const struct gate *g, const struct http_request *q);

/* The most bytes of such a request's body; 0: the request will be refused. */
size_t gate_body_limit(struct gate *g, const struct http_request *q);

/* Answers such a request, now or by a job. */
void gate_take(struct gate *g, struct http_request *q, struct jobs *jobs);

/* Whether the request has the certificate of a host, which must read nothing. */
bool gate_knows_certificate(struct gate *g, const struct http_request *q);
