/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/gateway.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/files/secret_file.h"
#include "base/json.h"
#include "base/path.h"
#include "base/plural.h"
#include "fleet/block_check.h"
#include "fleet/body_pack.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"
#include "fleet/host_facts.h"
#include "fleet/ship.h"
#include "http/http_client.h"
#include "store/history/blocks.h"

#define TOKEN_FILE_MAX 4096
#define SMALL_BYTES    4096 /* a body of this size is sent before a refusal could come */
#define CONTACT_S      600
#define CONTACT_MOST_S 3600
#define BEARER         "Bearer "

struct gateway {
	char *url, *host, *labels;
	char *bearer; /* "Bearer TOKEN"; NULL: a certificate says who this is */
	char *join;   /* "Bearer JOINTOKEN" until the host has joined; NULL: it need not */
	char *token_file, *new_token_file; /* with `join`: where the token goes, and where it is */
	struct host_facts facts;
	struct http_client *http;
	bool (*stops)(void);
	uint32_t retry_after_s;
	uint64_t introduced_ns; /* CLOCK_MONOTONIC; 0: not yet */
	uint64_t contact_ns;    /* until the next introduction */
	char fleet[FLEET_ID_SIZE];
	uint64_t rate_hz; /* that the fleet asks for */
	struct gateway_state state;
};

static bool gateway_stops(void *context)
{
	const struct gateway *g = context;

	return g->stops && g->stops();
}

/* ---- the object ---- */

static bool is_plain_address(const char *url)
{
	static const char *const local[] = { "http://127.0.0.1", "http://[::1]",
					     "http://localhost" };

	for (size_t i = 0; i < ARRAY_SIZE(local); i++) {
		size_t n = strlen(local[i]);

		if (!strncmp(url, local[i], n) && (!url[n] || strchr(":/", url[n])))
			return true;
	}
	return false;
}

/* A token must not go through a network that others can read. */
int gateway_check_url(const char *url, struct error *err)
{
	int r = http_url_check(url, err);

	if (r < 0)
		return r;
	if (!strncmp(url, "http://", 7) && !is_plain_address(url))
		return error_set(err, -EINVAL,
				 "'%s': other machines could read the token; write https://", url);
	return 0;
}

/* "Bearer TOKEN". The caller frees it. */
int gateway_bearer(const char *path, char **bearer, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	size_t size;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0)
		return error_errno(err, -errno, "cannot read '%s'", path);
	if (st.st_mode & secret_file_forbidden_bits(&st))
		return error_set(err, -EACCES,
				 "'%s' is not only yours: other users may read it. Try chmod 600",
				 path);
	r = file_read_fd(fd, TOKEN_FILE_MAX, &text, &size);
	if (r < 0)
		return error_errno(err, r, "cannot read '%s'", path);
	text[strcspn(text, " \t\r\n")] = '\0';
	if (!*text)
		return error_set(err, -EINVAL, "'%s' has no token", path);
	*bearer = xasprintf("%s%s", BEARER, text);
	return 0;
}

/*
 * A token that is made before the host asks: so it can ask again with the same one. It is whole and
 * on the disk before the gateway gets it: the gateway takes no other token of this host.
 */
static int make_own_token(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *part = xasprintf("%s.part", path), *folder = path_folder(path);
	char token[FLEET_TOKEN_SIZE];
	cleanup(close_at_exit) int fd = -1;
	int r = fleet_token_make(token, err);

	if (r < 0)
		return r;
	unlink(part); /* of a process that was killed */
	fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	r = fd < 0 ? -errno : file_write_all(fd, token, strlen(token));
	if (r >= 0 && (fsync(fd) < 0 || rename(part, path) < 0))
		r = -errno;
	if (r < 0) {
		unlink(part);
		return error_errno(err, r, "cannot write '%s'", path);
	}
	return fleet_sync(folder, err);
}

/* A host that joined has its token. Others have one that the gateway does not know yet. */
static int prepare_join(struct gateway *g, const struct gateway_config *c, struct error *err)
{
	int r;

	if (access(c->token_file, F_OK) == 0)
		return gateway_bearer(c->token_file, &g->bearer, err);
	g->token_file = xstrdup(c->token_file);
	g->new_token_file = xasprintf("%s.new", c->token_file);
	r = gateway_bearer(c->join_file, &g->join, err);
	if (r >= 0 && access(g->new_token_file, F_OK) < 0)
		r = make_own_token(g->new_token_file, err);
	return r < 0 ? r : gateway_bearer(g->new_token_file, &g->bearer, err);
}

int gateway_new(const struct gateway_config *c, struct gateway **out, struct error *err)
{
	cleanup(gateway_free_at_exit) struct gateway *g = xcalloc(1, sizeof(*g));
	struct http_client_options options = { .ca = c->ca,
					       .certificate = c->certificate,
					       .key = c->key,
					       .is_direct = is_plain_address(c->url),
					       .stops = gateway_stops,
					       .context = g };
	size_t n = strlen(c->url);
	int r = gateway_check_url(c->url, err);

	while (n && c->url[n - 1] == '/')
		n--;
	g->url = xstrndup(c->url, n);
	g->host = xstrdup(c->host);
	g->labels = xstrdup(c->labels ? c->labels : "");
	g->stops = c->stops;
	host_facts_of_this(&g->facts);
	if (r >= 0 && !c->token_file && !c->certificate)
		r = error_set(err, -EINVAL,
			      "the gateway needs to know this host: --token-file, --join-file, or "
			      "--certificate and --key");
	if (r >= 0 && c->join_file && !c->token_file)
		r = error_set(err, -EINVAL, "a host that joins needs a file for its token");
	else if (r >= 0 && c->join_file)
		r = prepare_join(g, c, err);
	else if (r >= 0 && c->token_file)
		r = gateway_bearer(c->token_file, &g->bearer, err);
	r = r < 0 ? r : http_client_new(&options, &g->http, err);
	if (r >= 0)
		*out = take_ptr(g);
	return r;
}

void gateway_free(struct gateway *g)
{
	if (!g)
		return;
	http_client_free(g->http);
	free(g->url);
	free(g->host);
	free(g->labels);
	free(g->bearer);
	free(g->join);
	free(g->token_file);
	free(g->new_token_file);
	free(g);
}

char *gateway_folder(const char *url)
{
	const char *begin = strstr(url, "://");
	size_t kind = strcspn(url, "+:");
	char *name = xasprintf("%.*s%s", url[kind] == '+' ? (int)kind + 1 : 0, url,
			       begin ? begin + 3 : url);

	for (char *at = name; *at; at++)
		if (!isalnum((unsigned char)*at) && *at != '.' && *at != '-')
			*at = '_';
	return name;
}

uint32_t gateway_retry_after_s(const struct gateway *g)
{
	return g->retry_after_s;
}

/* ---- requests ---- */

/* The member of an answer that says why; "" if there is none. The caller frees. */
static char *member_of(const struct http_reply *reply, const char *name)
{
	json_t *o = json_loadb((const char *)reply->body.data, reply->body.len, 0, NULL);
	const char *text = json_string_value(json_object_get(o, name));
	char *copy = xstrdup(text ? text : "");

	json_decref(o);
	return copy;
}

/* What a status means: one of gateway_status(). */
static const struct {
	unsigned int status;
	int result;
} statuses[] = {
	{ 200, 0 },       { 202, 0 },       { 400, 1 },
	{ 401, -EACCES }, { 403, -EACCES }, { 413, 1 },
	{ 415, 1 },       { 422, 1 },       { 426, -EPROTONOSUPPORT },
	{ 429, -EBUSY },  { 500, -EIO },    { 503, -EBUSY },
	{ 504, -EBUSY },
};

int gateway_status(const char *url, const struct http_reply *reply, struct error *err)
{
	cleanup(free_at_exit) char *why = member_of(reply, "error");
	int r = -EIO;

	for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
		if (statuses[i].status == reply->status)
			r = statuses[i].result;
	if (r)
		error_set(err, MIN(r, 0), "%s answers %u: %.300s", url, reply->status,
			  *why ? why : "no reason");
	return r;
}

/* Any server may answer 200. */
static int no_gateway(const struct gateway *g, struct error *err)
{
	return error_set(err, -EPROTO,
			 "%s is no gateway of a fleet: its answer lacks what each gateway says",
			 g->url);
}

/* NULL: the body is no JSON object. */
static json_t *object_of(const struct http_reply *reply)
{
	json_t *o = json_loadb((const char *)reply->body.data, reply->body.len, 0, NULL);

	if (json_is_object(o))
		return o;
	json_decref(o);
	return NULL;
}

static int require_object(const struct gateway *g, const struct http_reply *reply,
			  struct error *err)
{
	json_t *o = object_of(reply);
	int r = o ? 0 : no_gateway(g, err);

	json_decref(o);
	return r;
}

int gateway_block_status(unsigned int status, int result)
{
	return result < 0 && status == 500 ? SHIP_FAILS_AT_IT : result;
}

static int ask(struct gateway *g, const char *method, const char *path, const char *encoding,
	       const struct buf *body, struct http_reply *reply, struct error *err)
{
	cleanup(free_at_exit) char *url = xasprintf("%s%s", g->url, path);
	const struct http_field headers[] = {
		{ "Assay-Boot", g->facts.boot },
		{ "Content-Type", "application/octet-stream" },
		{ "Content-Encoding", encoding },
		{ "Authorization", g->join ? g->join : g->bearer },
	};
	const struct http_question question = { .method = method,
						.url = url,
						.headers = headers,
						.n_headers = ARRAY_SIZE(headers) - !g->bearer,
						.body = body->data,
						.body_size = body->len,
						.asks_first = body->len > SMALL_BYTES };
	int r = http_client_ask(g->http, &question, reply, err);

	g->retry_after_s = r < 0 ? 0 : reply->retry_after_s;
	return r;
}

/* ---- the host ---- */

static void put_labels(const struct gateway *g, struct buf *out)
{
	cleanup(free_at_exit) char *labels = xstrdup(g->labels);
	char *rest = labels, *label;

	json_put_key(out, "labels");
	buf_u8(out, '{');
	while ((label = strsep(&rest, "\n"))) {
		char *value = strchr(label, '=');

		if (!value)
			continue;
		*value++ = '\0';
		json_put_text(out, label, value);
	}
	buf_u8(out, '}');
}

/* The settings in the answer of an introduction. */
static int read_settings(struct gateway *g, const struct http_reply *reply, struct error *err)
{
	json_t *o = object_of(reply);
	const char *fleet = json_string_value(json_object_get(o, "fleet"));
	json_int_t contact = json_integer_value(json_object_get(o, "contact_s"));
	json_int_t bucket = json_integer_value(json_object_get(o, "bucket_s"));
	json_int_t rate = json_integer_value(json_object_get(o, "rate_hz"));

	if (!fleet || !fleet_id_is_valid(fleet)) {
		json_decref(o);
		return no_gateway(g, err);
	}
	snprintf(g->fleet, sizeof(g->fleet), "%s", fleet);
	contact = contact > 0 ? MIN(contact, CONTACT_MOST_S) : CONTACT_S;
	g->contact_ns = (uint64_t)contact * NS_PER_SECOND;
	g->rate_hz = rate > 0 && rate <= FLEET_RATE_MAX ? (uint64_t)rate : 0;
	json_decref(o);
	if (bucket && bucket != (json_int_t)(BLOCK_BUCKET_NS / NS_PER_SECOND))
		return error_set(err, -EPROTONOSUPPORT,
				 "%s wants blocks of %" JSON_INTEGER_FORMAT
				 " s, and this assay makes blocks of %" PRIu64 " s: upgrade it",
				 g->url, bucket, BLOCK_BUCKET_NS / NS_PER_SECOND);
	return 0;
}

uint64_t gateway_rate_hz(const struct gateway *g)
{
	return g->rate_hz;
}

const char *gateway_fleet(const struct gateway *g)
{
	return g->fleet;
}

/* Of a request about the host itself: 409 is for another machine of its name. */
static int judge_host(const struct gateway *g, const struct http_reply *reply, struct error *err)
{
	cleanup(free_at_exit) char *why = member_of(reply, "error");
	int r;

	if (reply->status == 409)
		return error_set(err, -EEXIST, "%s: %.300s", g->url, why);
	r = gateway_status(g->url, reply, err);
	return r > 0 ? -EPROTO : r;
}

static int introduce(struct gateway *g, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("/v1/hosts/%s", g->host);
	struct http_reply reply = { 0 };
	struct buf body = { 0 };
	int r;

	host_facts_of_this(&g->facts); /* processors come and go */
	buf_u8(&body, '{');
	json_put_text(&body, "version", g->facts.version);
	json_put_text(&body, "boot", g->facts.boot);
	json_put_number(&body, "uptime_s", host_uptime_s());
	json_put_number(&body, "clock_ms", clock_wall_ns() / NS_PER_MS);
	json_put_number(&body, "cpus", g->facts.cpus);
	json_put_number(&body, "backlog", g->state.backlog);
	json_put_number(&body, "expired", g->state.expired);
	if (g->state.rate_hz)
		json_put_number(&body, "rate_hz", g->state.rate_hz);
	put_labels(g, &body);
	buf_u8(&body, '}');
	r = ask(g, "PUT", path, "identity", &body, &reply, err);
	r = r < 0 ? r : judge_host(g, &reply, err);
	r = r < 0 ? r : read_settings(g, &reply, err);
	if (r >= 0)
		g->introduced_ns = clock_monotonic_ns();
	http_reply_fini(&reply);
	buf_fini(&body);
	return r;
}

/* The host has its token for good. */
static int keep_token(struct gateway *g, struct error *err)
{
	cleanup(free_at_exit) char *folder = path_folder(g->token_file);

	if (rename(g->new_token_file, g->token_file) < 0)
		return error_errno(err, -errno, "cannot write '%s'", g->token_file);
	return fleet_sync(folder, err);
}

static int join(struct gateway *g, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("/v1/join/%s", g->host);
	struct http_reply reply = { 0 };
	struct buf body = { 0 };
	int r;

	buf_u8(&body, '{');
	json_put_text(&body, "join", g->join + strlen(BEARER));
	json_put_text(&body, "token", g->bearer + strlen(BEARER));
	buf_u8(&body, '}');
	r = ask(g, "POST", path, "identity", &body, &reply, err);
	r = r < 0 ? r : judge_host(g, &reply, err);
	r = r < 0 ? r : require_object(g, &reply, err);
	http_reply_fini(&reply);
	buf_fini(&body);
	return r;
}

/* The gateway that took the token knows it. So a host that another server misled joins later. */
static int join_and_introduce(struct gateway *g, struct error *err)
{
	char *join_token;
	int r = join(g, err);

	if (r < 0)
		return r;
	join_token = take_ptr(g->join);
	r = introduce(g, err);
	if (r >= 0)
		r = keep_token(g, err);
	if (r < 0)
		g->join = join_token;
	else
		free(join_token);
	return r;
}

int gateway_introduce(struct gateway *g, const struct gateway_state *state, bool now,
		      struct error *err)
{
	g->state = *state;
	if (!now && g->introduced_ns && clock_monotonic_ns() - g->introduced_ns < g->contact_ns)
		return 0;
	return g->join ? join_and_introduce(g, err) : introduce(g, err);
}

/* ---- blocks ---- */

/* The answer to the request is in *reply, which the caller frees. */
static int ask_as_host(struct gateway *g, const char *method, const char *path,
		       const char *encoding, const struct buf *body, struct http_reply *reply,
		       struct error *err)
{
	int r = ask(g, method, path, encoding, body, reply, err);

	/* Another gateway came in its place, or a clone was here meanwhile. */
	if (r >= 0 && reply->status == 409) {
		http_reply_fini(reply);
		*reply = (struct http_reply){ 0 };
		r = introduce(g, err);
		r = r < 0 ? r : ask(g, method, path, encoding, body, reply, err);
	}
	return r < 0 ? r : gateway_status(g->url, reply, err);
}

/* How a gateway answers that does not know the request, because it is older. */
static bool is_unknown_request(unsigned int status)
{
	return status == 403 || status == 404 || status == 405;
}

/* The answer is in *reply, which the caller frees; status 0: there is none. */
static int send_file(struct gateway *g, const char *path, const char *file, size_t *bytes,
		     struct http_reply *reply, struct error *err)
{
	struct buf packed = { 0 };
	int r = body_pack(file, &packed, err);

	*bytes = packed.len;
	r = r ? r : ask_as_host(g, "PUT", path, "zstd", &packed, reply, err);
	buf_fini(&packed);
	return r;
}

/* Whether the gateway has this block. 1: it has another one with this key. */
static int judge_block(const struct gateway *g, const struct fleet_key *key,
		       const struct http_reply *reply, struct error *err)
{
	json_t *o = object_of(reply);
	const json_t *samples = json_object_get(o, "samples"), *lost = json_object_get(o, "lost");
	uint64_t has_samples = (uint64_t)json_integer_value(samples);
	uint64_t has_lost = (uint64_t)json_integer_value(lost);
	int r = 0;

	if (!json_is_boolean(json_object_get(o, "known")) || !json_is_integer(samples) ||
	    !json_is_integer(lost)) {
		r = no_gateway(g, err);
	} else if (has_samples != key->samples || has_lost != key->lost) {
		error_set(err, 0,
			  "%s has another block of %s at this time: %" PRIu64
			  " sample%s and %" PRIu64 " lost, and not %" PRIu64 " and %" PRIu64,
			  g->url, key->part, has_samples, plural_s(has_samples), has_lost,
			  key->samples, key->lost);
		r = 1;
	}
	json_decref(o);
	return r;
}

/* `kind`: "blocks" or "leaves". *status: of the answer; 0: there is none. */
static int send_block(struct gateway *g, const char *kind, const struct fleet_key *key,
		      const char *segment, unsigned int *status, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("/v1/%s/%s/%s/%" PRIu64, kind, g->host,
						     key->part, key->bucket / NS_PER_SECOND);
	struct http_reply reply = { 0 };
	size_t bytes;
	int r = send_file(g, path, segment, &bytes, &reply, err);

	*status = reply.status;
	r = r ? r : judge_block(g, key, &reply, err);
	http_reply_fini(&reply);
	return r;
}

int gateway_send(struct gateway *g, const struct fleet_key *key, const char *segment,
		 struct error *err)
{
	unsigned int status;
	int r = send_block(g, "blocks", key, segment, &status, err);

	return gateway_block_status(status, r);
}

int gateway_send_leaves(struct gateway *g, const struct fleet_key *key, const char *segment,
			struct error *err)
{
	unsigned int status;
	int r = send_block(g, "leaves", key, segment, &status, err);

	if (r < 0 && is_unknown_request(status))
		return error_set(err, -EOPNOTSUPP, "%s is older, and takes no addresses", g->url);
	return gateway_block_status(status, r);
}

int gateway_send_containers(struct gateway *g, const struct buf *lines, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("/v1/containers/%s", g->host);
	struct http_reply reply = { 0 };
	int r = ask_as_host(g, "PUT", path, "identity", lines, &reply, err);

	r = r < 0 && is_unknown_request(reply.status) ? 1 : r;
	r = r ? r : require_object(g, &reply, err);
	http_reply_fini(&reply);
	return r;
}

/* ---- names ---- */

int gateway_send_names(struct gateway *g, const char *build, const char *path, size_t *bytes,
		       struct error *err)
{
	cleanup(free_at_exit) char *url = xasprintf("/v1/images/%s/symbols", build);
	struct http_reply reply = { 0 };
	int r = send_file(g, url, path, bytes, &reply, err);
	json_t *o = r ? NULL : object_of(&reply);

	r = r || json_is_boolean(json_object_get(o, "kept")) ? r : no_gateway(g, err);
	r = gateway_block_status(reply.status, r);
	json_decref(o);
	http_reply_fini(&reply);
	return r;
}

int gateway_ask_names(struct gateway *g, const struct buf *images, struct buf *wanted,
		      struct error *err)
{
	struct http_reply reply = { 0 };
	int r = ask_as_host(g, "POST", "/v1/images", "identity", images, &reply, err);
	json_t *o, *id;
	size_t i;

	r = r < 0 && is_unknown_request(reply.status) ? 1 : r;
	o = r ? NULL : object_of(&reply);
	r = r || json_is_array(json_object_get(o, "wanted")) ? r : no_gateway(g, err);
	json_array_foreach(json_object_get(o, "wanted"), i, id)
	{
		struct build_id build;

		/* It becomes a file's name. */
		if (json_is_string(id) && build_id_parse(json_string_value(id), &build))
			buf_printf(wanted, "%s\n", json_string_value(id));
	}
	json_decref(o);
	http_reply_fini(&reply);
	return r;
}
