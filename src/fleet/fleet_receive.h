/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The requests that hosts send to a gateway (docs/fleet.md, "The gateway"): each is carried out by
 * a process of its own, which `assay serve --fleet` starts, after it has checked the host's token.
 *
 * fleet/block_take.h has the checks of blocks and of hosts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"
#include "base/buf.h"

struct error;
struct file_mapping;

struct receive_request {
	const char *fleet, *host;
	const char *boot;      /* of the sender; "": it did not say */
	const char *part;      /* of a block */
	uint64_t bucket;       /* CLOCK_REALTIME in ns */
	struct build_id build; /* of an index of names */
	bool is_packed;        /* the body is packed by zstd */
	const struct file_mapping *body;
};

struct receive_answer {
	unsigned int status; /* of HTTP */
	struct buf json;     /* an object; of a refusal, with the member "error" */
};

/* A block: 200, 409, 413, 422, 426 or 503. */
void receive_block(const struct receive_request *q, struct receive_answer *out);

/* A block of addresses, into fleet_leaves() of the fleet. The same. */
void receive_leaves(const struct receive_request *q, struct receive_answer *out);

/*
 * The facts of a host, as a JSON object: version, boot, uptime_s, clock_ms, cpus, rate_hz, backlog,
 * expired, labels. 200 with the settings, 400, 409 or 503.
 */
void receive_host(const struct receive_request *q, struct receive_answer *out);

/*
 * A new host enrolls itself: a JSON object with "join", a join token, and "token", its own. 200,
 * 400, 401, 409 or 503. The host has not introduced itself yet.
 */
void receive_join(const struct receive_request *q, struct receive_answer *out);

/*
 * Names of a host's containers and pods: lines "ID NAME". Other lines are left out. 200, 409, 413
 * or 503.
 */
void receive_containers(const struct receive_request *q, struct receive_answer *out);

/*
 * Which indexes of names the gateway wants: a JSON object with an object "images" of build ids and
 * words of symbol_status_keys, RECEIVE_IMAGES_MAX at most. 200 with the array "wanted", or 400.
 */
#define RECEIVE_IMAGES_MAX 1000
void receive_images(const struct receive_request *q, struct receive_answer *out);

/* An index of names of a build (fleet/fleet_names.h): 200, 409, 413, 422, 429 or 503. */
void receive_names(const struct receive_request *q, struct receive_answer *out);

/* For the functions above. The reason of a refusal is a sentence, its code a word. */
void receive_refuse(struct receive_answer *out, unsigned int status, const char *code,
		    const char *sentence);
/* By a negative errno of a parser: 413 and 422 are for good, and 503 is for later. */
void receive_refuse_for(struct receive_answer *out, int error, const char *sentence);

struct fleet_host;
struct host_facts;

/*
 * Locks the host, and reads its facts. The caller closes it. NULL: the host is refused, because it
 * is busy, or has not said that it is this host.
 */
struct fleet_host *receive_open(const struct receive_request *q, struct host_facts *facts,
				struct receive_answer *out);

void receive_answer_fini(struct receive_answer *a);
