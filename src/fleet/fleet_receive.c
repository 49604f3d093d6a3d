/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_receive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/block_check.h"
#include "fleet/block_take.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"
#include "fleet/host_facts.h"
#include "store/history/blocks.h"
#include "store/history/containers.h"

/* The lock of a host, which a merge may hold. */
#define LOCK_MS 2000

#define BODY_MAX ((size_t)64 << 10)

/* The settings that a host gets. It speaks again after so many seconds. */
#define CONTACT_S 600

void receive_answer_fini(struct receive_answer *a)
{
	buf_fini(&a->json);
}

void receive_refuse(struct receive_answer *out, unsigned int status, const char *code,
		    const char *sentence)
{
	out->status = status;
	buf_u8(&out->json, '{');
	json_put_text(&out->json, "error", sentence);
	json_put_text(&out->json, "code", code);
	buf_str(&out->json, "}\n");
}

/* ---- blocks ---- */

static const struct status_row {
	int error;
	unsigned int status;
	const char *code;
} block_statuses[] = {
	{ -EFBIG, 413, "large" },       { -EPROTONOSUPPORT, 426, "newer" },
	{ -EBADMSG, 422, "damaged" },   { -ERANGE, 422, "time" },
	{ -EPIPE, 422, "damaged" },     { -EPROTO, 422, "damaged" },
	{ -ETIMEDOUT, 422, "damaged" }, /* the parser's deadline */
	{ -ETIME, 422, "clock" },       { -ENOTUNIQ, 422, "other" },
};

static const struct status_row *status_of(int error)
{
	static const struct status_row other = { 0, 503, "busy" };

	for (size_t i = 0; i < ARRAY_SIZE(block_statuses); i++)
		if (block_statuses[i].error == error)
			return &block_statuses[i];
	return &other;
}

void receive_refuse_for(struct receive_answer *out, int error, const char *sentence)
{
	const struct status_row *row = status_of(error);

	receive_refuse(out, row->status, row->code, sentence);
}

static int open_host(const struct receive_request *q, struct fleet_host **out, struct error *err)
{
	return fleet_host_await(q->fleet, q->host, LOCK_MS, out, err);
}

/* A refusal that is to be seen in `assay fleet hosts`. */
static void refuse_block(const struct receive_request *q, struct host_facts *facts,
			 struct receive_answer *out, const struct status_row *row,
			 const char *sentence)
{
	receive_refuse(out, row->status, row->code, sentence);
	block_take_refused(q->fleet, q->host, facts, q->part, sentence);
}

static bool check_sender(const struct receive_request *q, const struct host_facts *facts,
			 struct receive_answer *out)
{
	if (*facts->boot && !strcmp(facts->boot, q->boot))
		return true;
	receive_refuse(out, 409, "host", "this machine has not said yet that it is this host");
	return false;
}

static int write_segment(const char *place, const struct block_check *block, struct error *err)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", place);
	cleanup(free_at_exit) char *segment = block_segment(place);
	int r;

	file_remove_tree(place, NULL);
	r = file_mkdirs(current, 0750, err);
	if (r >= 0) {
		cleanup(close_at_exit) int fd =
			open(segment, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

		r = fd < 0 ? -errno : file_write_all(fd, block->bytes, block->facts.size);
		if (r < 0)
			error_errno(err, r, "cannot write %s", segment);
	}
	if (r < 0)
		file_remove_tree(place, NULL);
	return r;
}

static void put_stored(struct receive_answer *out, const struct block_facts *block, bool is_known)
{
	out->status = 200;
	buf_str(&out->json, is_known ? "{\"known\":true" : "{\"known\":false");
	json_put_number(&out->json, "samples", block->samples);
	json_put_number(&out->json, "lost", block->lost);
	buf_str(&out->json, "}\n");
}

static int store_block(const struct receive_request *q, struct fleet_host *host,
		       const struct block_check *block, struct fleet_key *key, struct error *err)
{
	cleanup(free_at_exit) char *place = fleet_host_place(host, q->part, q->bucket);
	int r;

	key->samples = block->facts.samples;
	key->lost = block->facts.lost;
	r = write_segment(place, block, err);
	return r < 0 ? r : fleet_host_take(host, key, err);
}

/* The block is new, and checked. */
static void take_new(const struct receive_request *q, struct fleet_host *host,
		     const struct block_check *block, struct receive_answer *out)
{
	struct fleet_key key = { .bucket = q->bucket };
	struct error err = { 0 };
	int r;

	snprintf(key.part, sizeof(key.part), "%s", q->part);
	r = store_block(q, host, block, &key, &err);
	if (r == -EEXIST)
		receive_refuse(out, 422, "name", err.text);
	else if (r < 0)
		receive_refuse(out, 503, "disk", err.text);
	else
		put_stored(out, &block->facts, false);
}

/* The host is locked. */
static void take_block(const struct receive_request *q, struct fleet_host *host,
		       struct host_facts *facts, struct receive_answer *out)
{
	const struct block_offer offer = { .facts = facts,
					   .known = fleet_host_find(host, q->part, q->bucket),
					   .part = q->part,
					   .bucket = q->bucket,
					   .now_ns = clock_wall_ns(),
					   .body = q->body,
					   .is_packed = q->is_packed };
	struct block_check block;
	struct error err = { 0 };
	int r = block_take_check(&offer, &block, &err);
	const struct status_row *row = status_of(MIN(r, 0));

	if (r < 0 && row->error)
		refuse_block(q, facts, out, row, err.text);
	else if (r < 0)
		receive_refuse(out, row->status, row->code, err.text);
	else if (offer.known)
		put_stored(out, &block.facts, true);
	else
		take_new(q, host, &block, out);
	block_check_fini(&block);
}

struct fleet_host *receive_open(const struct receive_request *q, struct host_facts *facts,
				struct receive_answer *out)
{
	struct fleet_host *host = NULL;
	struct error err = { 0 };

	if (open_host(q, &host, &err) < 0) {
		receive_refuse(out, 503, "busy", err.text);
		return NULL;
	}
	/* Under the lock: another request of this host may change them. */
	if (host_facts_read(q->fleet, q->host, facts, &err) < 0)
		receive_refuse(out, 503, "disk", err.text);
	else if (check_sender(q, facts, out))
		return host;
	fleet_host_drop(host);
	return NULL;
}

static bool check_part(const struct receive_request *q, struct receive_answer *out)
{
	uint64_t part_ns;

	if (history_part_time(q->part, &part_ns) && strlen(q->part) < HISTORY_NAME_SIZE)
		return true;
	receive_refuse(out, 400, "name", "no part of a history has such a name");
	return false;
}

void receive_block(const struct receive_request *q, struct receive_answer *out)
{
	struct fleet_host *host;
	struct host_facts facts;

	if (!check_part(q, out))
		return;
	host = receive_open(q, &facts, out);
	if (host)
		take_block(q, host, &facts, out);
	fleet_host_close(host);
}

/* The names of containers name the services of addresses, too. */
static void copy_containers(const struct receive_request *q, struct fleet_host *leaves)
{
	cleanup(free_at_exit) char *file = fleet_containers_file(q->fleet, q->host), *lines = NULL;
	struct error err = { 0 };

	if (file_read_all(file, CONTAINER_TEXT_MAX, &lines, NULL) == 0 &&
	    fleet_host_name_containers(leaves, lines, &err) < 0)
		log_warning("%s", err.text);
}

void receive_leaves(const struct receive_request *q, struct receive_answer *out)
{
	cleanup(free_at_exit) char *fleet = fleet_leaves(q->fleet);
	struct fleet_host *host = NULL, *leaves = NULL;
	struct host_facts facts;
	struct error err = { 0 };

	if (check_part(q, out))
		host = receive_open(q, &facts, out);
	if (!host)
		return;
	if (fleet_make(fleet, &err) < 0 ||
	    fleet_host_await(fleet, q->host, LOCK_MS, &leaves, &err) < 0) {
		receive_refuse(out, 503, "busy", err.text);
	} else {
		take_block(q, leaves, &facts, out);
		copy_containers(q, leaves);
	}
	fleet_host_close(leaves);
	fleet_host_close(host);
}

/* ---- hosts ---- */

static uint64_t number_of(const json_t *o, const char *key)
{
	json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *text = json_string_value(json_object_get(o, key));

	return text ? text : "";
}

/* False: it does not say which machine it is. */
static bool parse_facts(const json_t *o, struct host_facts *out)
{
	uint64_t now_ms = clock_wall_ns() / NS_PER_MS, clock_ms = number_of(o, "clock_ms");
	uint64_t uptime_s = number_of(o, "uptime_s");

	if (!host_boot_is_valid(text_of(o, "boot")) || !clock_ms)
		return false;
	*out = (struct host_facts){
		.seen_s = now_ms / 1000,
		.skew_ms = (int64_t)clock_ms - (int64_t)now_ms,
		.cpus = number_of(o, "cpus"),
		.rate_hz = number_of(o, "rate_hz"),
		.backlog = number_of(o, "backlog"),
		.expired = number_of(o, "expired"),
	};
	out->boot_s = out->seen_s - MIN(out->seen_s, uptime_s);
	snprintf(out->boot, sizeof(out->boot), "%s", text_of(o, "boot"));
	snprintf(out->version, sizeof(out->version), "%s", text_of(o, "version"));
	return true;
}

/* A line each. False: there are too many, or one is none. */
static bool parse_labels(const json_t *labels, struct buf *out)
{
	const char *name;
	const json_t *value;

	if (json_object_size(labels) > FLEET_LABELS_MAX)
		return false;
	json_object_foreach((json_t *)(uintptr_t)labels, name, value)
	{
		cleanup(free_at_exit) char *line =
			json_is_string(value) ? xasprintf("%s=%s", name, json_string_value(value))
					      : NULL;

		if (!line || !fleet_label_is_valid(line))
			return false;
		buf_printf(out, "%s\n", line);
	}
	return true;
}

static void put_settings(struct receive_answer *out, const char *fleet_id, uint64_t rate_hz)
{
	out->status = 200;
	buf_u8(&out->json, '{');
	json_put_text(&out->json, "fleet", fleet_id);
	json_put_number(&out->json, "contact_s", CONTACT_S);
	json_put_number(&out->json, "bucket_s", BLOCK_BUCKET_NS / NS_PER_SECOND);
	if (rate_hz)
		json_put_number(&out->json, "rate_hz", rate_hz);
	buf_str(&out->json, "}\n");
}

/* The host is locked. */
static void keep_host(const struct receive_request *q, struct fleet_host *host,
		      struct host_facts *now, const char *labels, struct receive_answer *out)
{
	char id[FLEET_ID_SIZE] = "";
	struct error err = { 0 };
	uint64_t rate_hz = 0;
	int r;

	/* Blocks do not wait for an optional rate. */
	if (fleet_rate_read(q->fleet, q->host, &rate_hz, &err) < 0)
		log_warning("%s", err.text);
	if (!fleet_is_enrolled(q->fleet, q->host)) {
		/* It was forgotten while the request waited for the lock. */
		receive_refuse(out, 401, "token", "this host is not enrolled any longer");
		return;
	}
	r = fleet_id_text(q->fleet, id, &err);
	r = r < 0 ? r : host_introduce(q->fleet, q->host, now, &err);
	if (r == -EEXIST) {
		cleanup(free_at_exit) char *why = xasprintf("%s and another token", err.text);

		receive_refuse(out, 409, "clone", why);
	} else if (r < 0) {
		receive_refuse(out, 503, "disk", err.text);
	} else if (fleet_host_label(host, labels, &err) < 0) {
		receive_refuse(out, 503, "busy", err.text);
	} else {
		put_settings(out, id, rate_hz);
	}
}

static void take_host(const struct receive_request *q, const json_t *body,
		      struct receive_answer *out)
{
	struct fleet_host *host = NULL;
	struct host_facts now;
	struct buf labels = { 0 };
	struct error err = { 0 };

	/* A token of an older fleet can have the name. */
	if (!strcmp(q->host, FLEET_PUSHED_HOST))
		receive_refuse(out, 409, "name",
			       "'" FLEET_PUSHED_HOST "' is the name of the host with the profiles "
			       "that programs push: enroll this one by another name");
	else if (!json_is_object(body) || !parse_facts(body, &now))
		receive_refuse(out, 400, "body", "the facts of a host need boot and clock_ms");
	else if (!parse_labels(json_object_get(body, "labels"), &labels))
		receive_refuse(out, 400, "labels",
			       "a host has at most 64 labels NAME=VALUE of 256 bytes");
	else if (open_host(q, &host, &err) < 0)
		receive_refuse(out, 503, "busy", err.text);
	else
		keep_host(q, host, &now, buf_cstr(&labels), out);
	if (out->status == 200)
		fleet_host_close(host);
	else
		fleet_host_drop(host);
	buf_fini(&labels);
}

/* NULL: it is no JSON, or too long. */
static json_t *load_body(const struct receive_request *q)
{
	return q->body->size <= BODY_MAX ? json_loadb((const char *)q->body->base, q->body->size,
						      JSON_REJECT_DUPLICATES, NULL)
					 : NULL;
}

void receive_host(const struct receive_request *q, struct receive_answer *out)
{
	json_t *body = load_body(q);

	take_host(q, body, out);
	json_decref(body);
}

/* ---- containers ---- */

void receive_containers(const struct receive_request *q, struct receive_answer *out)
{
	cleanup(free_at_exit) char *lines = NULL;
	struct fleet_host *host;
	struct host_facts facts;
	struct error err = { 0 };

	if (q->body->size > BODY_MAX) {
		receive_refuse(out, 413, "large", "these are too many names at once");
		return;
	}
	host = receive_open(q, &facts, out);
	if (!host)
		return;
	lines = xstrndup((const char *)q->body->base, q->body->size);
	if (fleet_host_name_containers(host, lines, &err) < 0) {
		receive_refuse(out, 503, "disk", err.text);
	} else {
		out->status = 200;
		buf_str(&out->json, "{}\n");
	}
	fleet_host_close(host);
}

/* ---- new hosts ---- */

static const struct status_row join_statuses[] = {
	{ -ENOKEY, 401, "join" },
	{ -EEXIST, 409, "host" },
	{ -EINVAL, 400, "body" },
};

static void join_host(const struct receive_request *q, const json_t *body,
		      struct receive_answer *out)
{
	struct status_row row = { 0, 503, "busy" };
	struct error err = { 0 };
	int r = fleet_join(q->fleet, text_of(body, "join"), q->host, text_of(body, "token"), &err);

	for (size_t i = 0; i < ARRAY_SIZE(join_statuses); i++)
		if (join_statuses[i].error == r)
			row = join_statuses[i];
	if (r < 0) {
		receive_refuse(out, row.status, row.code, err.text);
		return;
	}
	/* It has joined, also if that can't be written down. */
	if (r > 0 && fleet_log(q->fleet, "join", q->host, &err) < 0)
		log_warning("%s", err.text);
	out->status = 200;
	buf_str(&out->json, "{}\n");
}

void receive_join(const struct receive_request *q, struct receive_answer *out)
{
	json_t *body = load_body(q);

	join_host(q, body, out);
	json_decref(body);
}
