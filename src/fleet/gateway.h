/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A gateway of a fleet as its hosts see it: `assay serve --fleet` at the other end of HTTP
 * (fleet/fleet_receive.h). One request is on its way at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct buf;
struct error;
struct fleet_key;
struct gateway;

struct gateway_config {
	const char *url; /* https://HOST[:PORT]; http:// of this machine alone */
	const char *host;
	const char
		*token_file; /* a line with the host's token, which only its owner may read; NULL */
	/*
	 * With a join token (a file like the token's), a new host enrolls itself at the first
	 * introduction. Its own token is then in `token_file`, which must be named and which it
	 * makes. NULL: it is enrolled.
	 */
	const char *join_file;
	const char *ca, *certificate, *key; /* files with PEM texts; NULL: none */
	const char *labels;                 /* a line NAME=VALUE each */
	bool (*stops)(void);                /* true ends a request; may be NULL */
};

/* What a host says of itself, beside its clock, its boot and its version. */
struct gateway_state {
	uint64_t backlog; /* blocks that wait */
	uint64_t expired; /* samples that could not be sent */
	uint64_t rate_hz; /* of its recorder, on each processor; 0: not known */
};

/* -EINVAL: the URL. -EACCES: others may read the token. Others as of http_client_new(). */
int gateway_new(const struct gateway_config *config, struct gateway **out, struct error *err);
void gateway_free(struct gateway *g); /* NULL is fine */
DEFINE_AT_EXIT(gateway_free, struct gateway)

/*
 * The name of a folder that keeps what this gateway has: "gw.example.org_8443". A server of another
 * kind has the kind before it ("otlp_gw.example.org_4318"): two kinds can have one address. The
 * caller frees.
 */
char *gateway_folder(const char *url);

/*
 * Says which host this is, if the time has passed that the gateway asked for, ten minutes by
 * default; always with `now`. Errors are of gateway_send(); -EEXIST: another machine runs under
 * this name, or is enrolled under it. A server that names no fleet is no gateway: -EPROTO.
 */
int gateway_introduce(struct gateway *g, const struct gateway_state *state, bool now,
		      struct error *err);

/* The rate that the fleet asks for, as of the last introduction; 0: none. */
uint64_t gateway_rate_hz(const struct gateway *g);

/* The id of the gateway's fleet (fleet_id_text()), as of the last introduction; "": none was. */
const char *gateway_fleet(const struct gateway *g);

/*
 * Sends the segment of a block. 0: the gateway says that it has it, with the samples and losses of
 * `key`. 1: it refuses this block (*err has the reason), and may take others. Or it has another
 * block with this key. -EPROTO: the answer is not that of a gateway. 2: it failed at this block
 * (status 500), as SHIP_FAILS_AT_IT. -EACCES: it refuses this host. -EPROTONOSUPPORT: the gateway
 * is older than this assay. -EBUSY: later, after gateway_retry_after_s(). Others as of
 * http_client_ask(). After a failure, the gateway has the block or not.
 */
int gateway_send(struct gateway *g, const struct fleet_key *key, const char *segment,
		 struct error *err);

/*
 * The same for a block of addresses (LEAVES_BUCKET_NS). -EOPNOTSUPP: the gateway is older, and
 * takes none.
 */
int gateway_send_leaves(struct gateway *g, const struct fleet_key *key, const char *segment,
			struct error *err);

/*
 * Sends names of containers and pods of this host, lines "ID NAME". Results as of gateway_send(),
 * but -EIO for status 500; 1 also from an older gateway, which has no place for them.
 */
int gateway_send_containers(struct gateway *g, const struct buf *lines, struct error *err);

/*
 * Asks which of the indexes of names the gateway wants: `images` is a JSON object (docs/fleet.md).
 * Appends "BUILDID\n" each to `wanted`. Errors as of gateway_send(), and -EIO for status 500. 1:
 * the gateway refuses the question, as an older one does.
 */
int gateway_ask_names(struct gateway *g, const struct buf *images, struct buf *wanted,
		      struct error *err);

/* Sends the index of a build, the file at `path`. *bytes: what went over the network. Results as of
 * gateway_send(). */
int gateway_send_names(struct gateway *g, const char *build, const char *path, size_t *bytes,
		       struct error *err);

/*
 * For requests to other servers: whether a token may go to a URL; "Bearer TOKEN" out of a file,
 * which the caller frees; and the meaning of an answer. Errors are those of gateway_new() and
 * gateway_send(), and -EIO for status 500.
 */
struct http_reply;
int gateway_check_url(const char *url, struct error *err);
int gateway_bearer(const char *path, char **bearer, struct error *err);
int gateway_status(const char *url, const struct http_reply *reply, struct error *err);

/*
 * The same for a block or an index, of which others may go well: SHIP_FAILS_AT_IT for status 500.
 * `result` is of gateway_status(), or of a request without an answer: status 0.
 */
int gateway_block_status(unsigned int status, int result);

/* Of the last request; 0: the gateway did not say. */
uint32_t gateway_retry_after_s(const struct gateway *g);
