/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/gate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "fleet/block_check.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"
#include "http/http_server.h"
#include "serve/jobs.h"
#include "serve/reply.h"

/* Requests of one host at once: its present one, and one that it gave up. */
#define HOST_JOBS 2
/* Of all hosts that join, which are the host "*" until they have their tokens. */
#define JOIN_JOBS 16
/* What a host may send: at once, and in each second since. */
#define BLOCKS_BURST    240.0
#define BLOCKS_A_SECOND 4.0
#define BYTES_BURST     (64.0 * 1048576)
#define BYTES_A_SECOND  1048576.0

#define FACTS_BYTES ((size_t)64 << 10)
#define BOOT_HEADER "Assay-Boot"

/* What a host may still send. */
struct allowance {
	char host[FLEET_HOST_MAX + 1];
	double blocks, bytes;
	uint64_t at_ns;
};

struct gate {
	char *fleet;
	struct fleet_tokens tokens;
	VEC(struct allowance) allowances; /* by host: enrolled ones, and "*" */
};

enum { MAX_WORDS = 3 };

/* A request that was checked. */
struct gate_request {
	unsigned int status; /* 200, or that of the refusal */
	const char *reason;
	const char *host;
	char path[256];
	char *words[MAX_WORDS]; /* of the path, behind its row's */
	size_t n_words;
};

/* ---- the rows ---- */

static void add_word(struct api_call *c, const char *word)
{
	vec_push(&c->words, xstrdup(word));
}

static const char *boot_of(const struct http_request *q)
{
	const char *boot = http_request_header(q, BOOT_HEADER);

	return boot ? boot : "";
}

static const char *encoding_of(const struct http_request *q)
{
	const char *encoding = http_request_header(q, "Content-Encoding");

	return encoding && !strcasecmp(encoding, "zstd") ? "zstd" : "identity";
}

static void add_block_words(struct api_call *c, const struct http_request *q,
			    const struct gate_request *r)
{
	add_word(c, r->words[1]);
	add_word(c, r->words[2]);
	add_word(c, encoding_of(q));
}

static void add_names_words(struct api_call *c, const struct http_request *q,
			    const struct gate_request *r)
{
	add_word(c, r->words[0]);
	add_word(c, encoding_of(q));
}

static const struct gate_row {
	const char *method, *path; /* words follow */
	size_t n_words, most_bytes;
	bool has_host;         /* the first word is the host's name */
	bool is_join;          /* the token is a join token, and the word a new host's name */
	const char *last;      /* the last word; NULL: any */
	struct api_row answer; /* its name is the kind of `assay fleet receive` */
	void (*add_words)(struct api_call *c, const struct http_request *q,
			  const struct gate_request *r);
} gate_rows[] = {
	{ .method = "PUT",
	  .path = "/v1/blocks/",
	  .n_words = 3,
	  .most_bytes = BODY_PACKED_MAX,
	  .has_host = true,
	  .answer = { .name = "block", .type = "application/json" },
	  .add_words = add_block_words },
	{ .method = "PUT",
	  .path = "/v1/leaves/",
	  .n_words = 3,
	  .most_bytes = BODY_PACKED_MAX,
	  .has_host = true,
	  .answer = { .name = "leaves", .type = "application/json" },
	  .add_words = add_block_words },
	{ .method = "PUT",
	  .path = "/v1/hosts/",
	  .n_words = 1,
	  .most_bytes = FACTS_BYTES,
	  .has_host = true,
	  .answer = { .name = "host", .type = "application/json" } },
	{ .method = "PUT",
	  .path = "/v1/containers/",
	  .n_words = 1,
	  .most_bytes = FACTS_BYTES,
	  .has_host = true,
	  .answer = { .name = "containers", .type = "application/json" } },
	{ .method = "POST",
	  .path = "/v1/join/",
	  .n_words = 1,
	  .most_bytes = FACTS_BYTES,
	  .is_join = true,
	  .answer = { .name = "join", .type = "application/json" } },
	{ .method = "PUT",
	  .path = "/v1/images/",
	  .n_words = 2,
	  .most_bytes = BODY_PACKED_MAX,
	  .last = "symbols",
	  .answer = { .name = "names", .type = "application/json" },
	  .add_words = add_names_words },
	{ .method = "POST",
	  .path = "/v1/images",
	  .most_bytes = FACTS_BYTES,
	  .answer = { .name = "images", .type = "application/json" } },
};

static const struct gate_row *find_row(const struct http_request *q)
{
	for (size_t i = 0; i < ARRAY_SIZE(gate_rows); i++)
		if (!strncmp(gate_rows[i].path, http_request_path(q), strlen(gate_rows[i].path)))
			return &gate_rows[i];
	return NULL;
}

bool gate_wants(const struct gate *g, const struct http_request *q)
{
	return g && find_row(q);
}

/* ---- the gate ---- */

int gate_new(const char *fleet, struct gate **out, struct error *err)
{
	cleanup(gate_free_at_exit) struct gate *g = xcalloc(1, sizeof(*g));
	int r;

	g->fleet = xstrdup(fleet);
	r = fleet_require(fleet, err);
	if (r >= 0)
		r = fleet_tokens_read(fleet, &g->tokens, err);
	if (r >= 0)
		*out = take_ptr(g);
	return r;
}

void gate_free(struct gate *g)
{
	if (!g)
		return;
	fleet_tokens_fini(&g->tokens);
	vec_fini(&g->allowances);
	free(g->fleet);
	free(g);
}

static struct allowance *allowance_of(struct gate *g, const char *host)
{
	uint64_t now = clock_monotonic_ns();
	struct allowance *a = NULL,
			 new = { .blocks = BLOCKS_BURST, .bytes = BYTES_BURST, .at_ns = now };
	double seconds;

	vec_foreach (&g->allowances, each)
		if (!strcmp(each->host, host))
			a = each;
	if (!a) {
		snprintf(new.host, sizeof(new.host), "%s", host);
		vec_push(&g->allowances, new);
		a = &g->allowances.data[g->allowances.n - 1];
	}
	seconds = (double)(now - a->at_ns) / 1e9;
	a->at_ns = now;
	a->blocks = MIN(BLOCKS_BURST, a->blocks + seconds * BLOCKS_A_SECOND);
	a->bytes = MIN(BYTES_BURST, a->bytes + seconds * BYTES_A_SECOND);
	return a;
}

/* ---- checks ---- */

static struct gate_request refuse(unsigned int status, const char *reason)
{
	return (struct gate_request){ .status = status, .reason = reason };
}

/* Whose request it is; NULL: of nobody that is enrolled. */
static const char *find_host(struct gate *g, const struct http_request *q)
{
	static const char bearer[] = "Bearer ";
	const char *header = http_request_header(q, "Authorization");
	static char name[HTTP_NAME_SIZE]; /* the server has one thread */

	if (header && !strncasecmp(header, bearer, strlen(bearer)))
		return fleet_tokens_host(&g->tokens, header + strlen(bearer));
	if (http_request_certificate(q, name) && fleet_tokens_have_certificate(&g->tokens, name))
		return name;
	return NULL;
}

/* False: there are more or fewer words than the row has, or one is empty. */
static bool split_path(const struct gate_row *row, const struct http_request *q,
		       struct gate_request *r)
{
	const char *path = http_request_path(q) + strlen(row->path);
	char *rest = r->path, *word;

	if (strlen(path) >= sizeof(r->path))
		return false;
	if (!row->n_words)
		return !*path;
	strcpy(r->path, path);
	while ((word = strsep(&rest, "/"))) {
		if (!*word || r->n_words >= row->n_words)
			return false;
		r->words[r->n_words++] = word;
	}
	return r->n_words == row->n_words &&
	       (!row->last || !strcmp(row->last, r->words[r->n_words - 1]));
}

static void gate_read_tokens(struct gate *g)
{
	struct error err = { 0 };

	if (fleet_tokens_read_again(g->fleet, &g->tokens, &err) < 0)
		log_warning("%s; the tokens of hosts stay as they were", err.text);
}

static void gate_check(struct gate *g, const struct gate_row *row, const struct http_request *q,
		       struct gate_request *r)
{
	const struct allowance *a;

	*r = (struct gate_request){ .status = 200 };
	gate_read_tokens(g);
	if (strcmp(http_request_method(q), row->method)) {
		*r = refuse(405, "Another method is possible here.");
		return;
	}
	r->host = find_host(g, q);
	if (!r->host || !strcmp(r->host, "*") != row->is_join) {
		*r = refuse(401, row->is_join ? "This is no join token of the fleet."
					      : "This is no token of a host of the fleet.");
		return;
	}
	if (!split_path(row, q, r)) {
		*r = refuse(404, "There is no such request.");
		return;
	}
	if (row->has_host && strcmp(r->words[0], r->host)) {
		*r = refuse(403, "This token is of another host.");
		return;
	}
	a = allowance_of(g, r->host);
	if (a->blocks < 1 || a->bytes < 0)
		*r = refuse(429, "This host sends too much. Send the rest later.");
}

size_t gate_body_limit(struct gate *g, const struct http_request *q)
{
	const struct gate_row *row = find_row(q);
	struct gate_request r;

	gate_check(g, row, q, &r);
	return r.status == 200 ? row->most_bytes : 0;
}

bool gate_knows_certificate(struct gate *g, const struct http_request *q)
{
	char name[HTTP_NAME_SIZE];

	gate_read_tokens(g);
	return http_request_certificate(q, name) && fleet_tokens_have_certificate(&g->tokens, name);
}

/* ---- requests ---- */

void gate_take(struct gate *g, struct http_request *q, struct jobs *jobs)
{
	const struct gate_row *row = find_row(q);
	cleanup(api_call_fini) struct api_call call = { .is_action = true,
							.has_body = true,
							.has_status = true };
	struct gate_request r;
	struct allowance *a;

	gate_check(g, row, q, &r);
	if (r.status != 200) {
		reply_error(q, r.status, r.reason);
		return;
	}
	buf_str(&call.key, r.host);
	if (jobs_count(jobs, &call.key) >= (row->is_join ? JOIN_JOBS : HOST_JOBS)) {
		reply_error(q, 429,
			    row->is_join ? "Other hosts join at the moment. Try again later."
					 : "Other requests of this host are still looked at.");
		return;
	}
	a = allowance_of(g, r.host);
	a->blocks -= 1;
	a->bytes -= (double)http_request_body(q)->len;
	add_word(&call, "assay");
	add_word(&call, "fleet");
	add_word(&call, "--");
	add_word(&call, "receive");
	add_word(&call, row->answer.name);
	add_word(&call, g->fleet);
	add_word(&call, row->is_join ? r.words[0] : r.host);
	add_word(&call, boot_of(q));
	if (row->add_words)
		row->add_words(&call, q, &r);
	vec_push(&call.words, NULL);
	jobs_add(jobs, &row->answer, &call, q);
}
