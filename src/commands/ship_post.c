/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/ship_post.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/plural.h"
#include "commands/opening.h"
#include "export/export.h"
#include "export/otlp_answer.h"
#include "fleet/fleet_store.h"
#include "fleet/gateway.h"
#include "fleet/ship.h"
#include "http/http_client.h"
#include "open/input.h"
#include "profile/profile.h"
#include "store/history/blocks.h"
#include "store/session.h"

static const struct post_kind {
	const char *prefix, *format, *type;
	const char *path; /* behind the URL */
	bool has_name;    /* the path has the host and the time */
	bool is_otlp;     /* the answer is a message of OTLP */
} post_kinds[] = {
	{ "otlp+", "otlp", "application/x-protobuf", "/v1development/profiles", false, true },
	{ "pyroscope+", "pprof", "application/octet-stream", "/ingest?format=pprof", true, false },
};

struct ship_post {
	const struct post_kind *kind;
	const struct export_format *format;
	char *url, *host, *state, *bearer;
	struct http_client *http;
	uint32_t retry_after_s; /* of the last answer */
	bool (*stops)(void);
};

static const struct post_kind *kind_of(const char *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(post_kinds); i++)
		if (!strncmp(to, post_kinds[i].prefix, strlen(post_kinds[i].prefix)))
			return &post_kinds[i];
	return NULL;
}

bool ship_post_takes(const char *to)
{
	return kind_of(to) != NULL;
}

static bool post_stops(void *context)
{
	const struct ship_post *p = context;

	return p->stops && p->stops();
}

int ship_post_new(const struct ship_post_config *c, struct ship_post **out, struct error *err)
{
	cleanup(ship_post_free_at_exit) struct ship_post *p = xcalloc(1, sizeof(*p));
	const char *url;
	size_t n;
	int r;

	p->kind = kind_of(c->to);
	url = c->to + strlen(p->kind->prefix);
	for (n = strlen(url); n && url[n - 1] == '/';)
		n--;
	p->url = xstrndup(url, n);
	p->host = xstrdup(c->host);
	p->state = xstrdup(c->state);
	p->stops = c->stops;
	p->format = export_find(p->kind->format);
	r = p->format ? gateway_check_url(p->url, err)
		      : error_set(err, -ENOTSUP, "built without libprotobuf-c");
	if (r >= 0 && c->token_file)
		r = gateway_bearer(c->token_file, &p->bearer, err);
	if (r >= 0) {
		const struct http_client_options options = { .ca = c->ca,
							     .certificate = c->certificate,
							     .key = c->key,
							     .is_direct =
								     !strncmp(p->url, "http:", 5),
							     .stops = post_stops,
							     .context = p };

		r = http_client_new(&options, &p->http, err);
	}
	if (r >= 0)
		*out = take_ptr(p);
	return r;
}

void ship_post_free(struct ship_post *p)
{
	if (!p)
		return;
	http_client_free(p->http);
	free(p->url);
	free(p->host);
	free(p->state);
	free(p->bearer);
	free(p);
}

uint32_t ship_post_retry_after_s(const struct ship_post *p)
{
	return p->retry_after_s;
}

/* The block at `place` in the kind's format, as the file `to`. */
static int write_block(const struct ship_post *p, const char *place, const char *to,
		       struct error *err)
{
	cleanup(free_at_exit) char *names = xasprintf("%s/" HISTORY_NAMES_DIR, p->state);
	cleanup(input_free_at_exit) struct input *in = NULL;
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = NULL;
	cleanup(session_close_at_exit) struct session *session = NULL;
	cleanup(profile_free_at_exit) struct profile *profile = NULL;
	const struct export_options options = { .no_source = true };
	const struct query query = { .overview_ns = UINT64_MAX };
	struct profile_request request = { .query = &query };
	bool is_damaged;
	uint64_t n_bytes;
	int r = input_new(&opening_config, &in, err);

	r = r < 0 ? r : input_open(in, place, &session, &is_damaged, err);
	if (r < 0)
		return r;
	symbols = input_symbolizer(in, place, names);
	session->info.hostname = p->host;
	export_request(p->format, &request);
	request.session = session;
	request.symbols = symbols;
	r = input_profile(&request, is_damaged, &profile, err);
	return r < 0 ? r : export_write(p->format, &options, profile, to, &n_bytes, err);
}

/* Letters of a host's name need no escapes (fleet_host_is_valid()); braces do. */
static char *url_of(const struct ship_post *p, const struct fleet_key *key)
{
	uint64_t from_s = key->bucket / NS_PER_SECOND;

	if (!p->kind->has_name)
		return xasprintf("%s%s", p->url, p->kind->path);
	return xasprintf("%s%s&name=assay%%7Bhost%%3D%s%%7D&from=%" PRIu64 "&until=%" PRIu64,
			 p->url, p->kind->path, p->host, from_s,
			 from_s + BLOCK_BUCKET_NS / NS_PER_SECOND);
}

/*
 * With status 200, a receiver may have rejected some profiles, which must not come again. Any other
 * server may answer 200, too.
 */
static int judge_otlp(const struct ship_post *p, const struct fleet_key *key,
		      const struct http_reply *reply, struct error *err)
{
	struct otlp_answer answer;
	char when[FLEET_TIME_SIZE];

	if (!otlp_answer_parse(reply->body.data, reply->body.len, &answer))
		return error_set(err, -EPROTO,
				 "%s is no receiver of OpenTelemetry: its answer is another one",
				 p->url);
	fleet_time_text(key->bucket, when);
	if (answer.n_rejected)
		log_warning("%s took the block of %s at %s, but rejected %" PRIu64
			    " profile%s of it: %s",
			    p->url, key->part, when, answer.n_rejected, plural_s(answer.n_rejected),
			    *answer.why ? answer.why : "no reason is given");
	return 0;
}

static int post_file(struct ship_post *p, const struct fleet_key *key, const char *url,
		     const char *path, struct error *err)
{
	const struct http_field headers[] = {
		{ "Content-Type", p->kind->type },
		{ "Authorization", p->bearer },
	};
	struct http_question question = { .method = "POST",
					  .url = url,
					  .headers = headers,
					  .n_headers = ARRAY_SIZE(headers) - !p->bearer };
	struct http_reply reply = { 0 };
	struct file_mapping file;
	int r = file_map(path, &file, err);

	if (r < 0)
		return r;
	question.body = file.base;
	question.body_size = file.size;
	r = http_client_ask(p->http, &question, &reply, err);
	p->retry_after_s = r < 0 ? 0 : reply.retry_after_s;
	if (r >= 0)
		r = gateway_block_status(reply.status, gateway_status(p->url, &reply, err));
	if (!r && p->kind->is_otlp)
		r = judge_otlp(p, key, &reply, err);
	http_reply_fini(&reply);
	file_unmap(&file);
	return r;
}

int ship_post_send(void *post, const struct fleet_key *key, const char *place, struct error *err)
{
	struct ship_post *p = post;
	cleanup(free_at_exit) char *path = xasprintf("%s/.post", p->state), *url = url_of(p, key);
	struct error why = { 0 };
	int r = write_block(p, place, path, &why);

	p->retry_after_s = 0;
	if (r == -ENODATA) /* it has losses alone */
		return 0;
	if (r < 0) {
		error_set(err, r, "%s", why.text);
		/* A block that is too large for the memory does not hold up the others. */
		return ship_is_of_disk(r) && r != -ENOMEM ? r : 1;
	}
	r = post_file(p, key, url, path, err);
	unlink(path);
	return r;
}
