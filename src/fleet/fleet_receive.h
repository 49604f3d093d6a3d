/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests that hosts send to a gateway (docs/fleet.md, "The gateway"): each is carried out by
 * a process of its own, which `assay serve --fleet` starts, after it has checked the host's token.
 *
 * Clocks. A host that spoke has a known skew. With a skew of more than an hour, its blocks are
 * refused: their time is wrong. A block may be ahead of the gateway's clock by the skew and ten
 * minutes.
 *
 * Clones. If two machines run under one name, as copies of a virtual machine do, the blocks of the
 * second one are refused (host_facts_are_cloned()).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct error;
struct file_mapping;

struct receive_request {
	const char *fleet, *host;
	const char *boot; /* of the sender; "": it did not say */
	const char *part; /* of a block */
	uint64_t bucket;  /* CLOCK_REALTIME in ns */
	bool is_packed;   /* the body is packed by zstd */
	const struct file_mapping *body;
};

struct receive_answer {
	unsigned int status; /* of HTTP */
	struct buf json;     /* an object; of a refusal, with the member "error" */
};

/* A block: 200, 409, 413, 422, 426 or 503. */
void receive_block(const struct receive_request *q, struct receive_answer *out);

/*
 * The facts of a host, as a JSON object: version, boot, uptime_s, clock_ms, cpus, rate_hz, backlog,
 * expired, labels. 200 with the settings, 400, 409 or 503.
 */
void receive_host(const struct receive_request *q, struct receive_answer *out);

void receive_answer_fini(struct receive_answer *a);
