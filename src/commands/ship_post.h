/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a history to other tools' servers: OTLP over HTTP, and pprof for Pyroscope. A block is
 * written by the exporter of the format, and sent as one request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct error;
struct fleet_key;
struct ship_post;

struct ship_post_config {
	const char *to;    /* otlp+https://HOST[:PORT][/PATH], pyroscope+https://…; http of this
			      machine alone */
	const char *host;  /* the name that the servers get */
	const char *state; /* a folder that exists when a block is sent: names of functions */
	const char *token_file;             /* "Authorization: Bearer TOKEN"; NULL: none */
	const char *ca, *certificate, *key; /* of http_client_new(); NULL: none */
	bool (*stops)(void);
};

/* Whether `to` names such a server. */
bool ship_post_takes(const char *to);

/* -EINVAL: the URL. -ENOTSUP: assay was built without the format. Others as of gateway_bearer() and
 * http_client_new(). */
int ship_post_new(const struct ship_post_config *config, struct ship_post **out, struct error *err);
void ship_post_free(struct ship_post *p); /* NULL is fine */
DEFINE_AT_EXIT(ship_post_free, struct ship_post)

/*
 * Of struct ship_config, with the struct ship_post as its context. The server may get a block
 * twice, if an answer does not come. 1 also for a block that can't be read or written in the
 * format. -EBUSY: later, after ship_post_retry_after_s().
 */
int ship_post_send(void *post, const struct fleet_key *key, const char *place, struct error *err);

/* Of the last block that was sent; 0: the server did not say. */
uint32_t ship_post_retry_after_s(const struct ship_post *p);
