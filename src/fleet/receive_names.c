/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "fleet/fleet_names.h"
#include "fleet/fleet_receive.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "fleet/names_check.h"

#define DAY_S 86400

/* ---- the question ---- */

/* False: one of them is no build id, or has no word of symbol_status_keys. */
static bool put_wanted(const struct receive_request *q, json_t *images, struct buf *out)
{
	const char *hex, *between = "";
	json_t *value;

	json_object_foreach(images, hex, value)
	{
		enum symbol_status status = N_SYMBOL_STATUSES;
		struct build_id id;

		if (json_is_string(value))
			status = names_status_of(json_string_value(value));
		if (status == N_SYMBOL_STATUSES || !build_id_parse(hex, &id) || !id.len)
			return false;
		if (!fleet_names_want(q->fleet, q->host, &id, status))
			continue;
		buf_printf(out, "%s\"%s\"", between, hex);
		between = ",";
	}
	return true;
}

static void answer_images(const struct receive_request *q, const json_t *body,
			  struct receive_answer *out)
{
	json_t *images = json_object_get(body, "images");
	struct buf wanted = { 0 };

	if (!json_is_object(images) || json_object_size(images) > RECEIVE_IMAGES_MAX ||
	    !put_wanted(q, images, &wanted)) {
		receive_refuse(out, 400, "body",
			       "write an object of at most 1000 build ids and qualities");
	} else {
		out->status = 200;
		buf_printf(&out->json, "{\"wanted\":[%s]}\n", buf_cstr(&wanted));
	}
	buf_fini(&wanted);
}

void receive_images(const struct receive_request *q, struct receive_answer *out)
{
	json_t *body = json_loadb((const char *)q->body->base, q->body->size,
				  JSON_REJECT_DUPLICATES, NULL);

	answer_images(q, body, out);
	json_decref(body);
}

/* ---- an index ---- */

/* Whether the host may send another index today. */
static bool may_send(struct host_facts *facts)
{
	uint64_t day = clock_wall_ns() / NS_PER_SECOND / DAY_S;

	if (facts->names_day != day) {
		facts->names_day = day;
		facts->names = facts->names_bytes = 0;
	}
	return facts->names < NAMES_A_DAY && facts->names_bytes < NAMES_BYTES_A_DAY;
}

static void refuse_more(struct receive_answer *out)
{
	receive_refuse(out, 429, "names", "this host has sent enough names today");
}

/* Each index counts, also a damaged one (size 0): checking it was work. */
static void count_names(const struct receive_request *q, struct host_facts *facts, size_t size)
{
	struct error err = { 0 };

	facts->names++;
	facts->names_bytes += size;
	if (host_facts_write(q->fleet, q->host, facts, &err) < 0)
		log_warning("%s", err.text);
}

/* It is to be seen in `assay fleet hosts`: the names of one of the two hosts are wrong. */
static void tell_conflict(const struct receive_request *q, struct host_facts *facts,
			  const char *why)
{
	char hex[BUILD_ID_HEX_SIZE];
	struct error err = { 0 };

	build_id_hex(&q->build, hex);
	log_warning("host '%s': its index of %s is refused: %s", q->host, hex, why);
	snprintf(facts->refusal, sizeof(facts->refusal), "names of %.16s: %.120s", hex, why);
	if (host_facts_write(q->fleet, q->host, facts, &err) < 0)
		log_warning("%s", err.text);
}

static void keep_names(const struct receive_request *q, struct host_facts *facts,
		       struct names_check *names, struct receive_answer *out)
{
	struct error err = { 0 };
	int r = fleet_names_take(q->fleet, q->host, &q->build, names->bytes, names->facts.size,
				 &err);

	if (r == -EEXIST) {
		tell_conflict(q, facts, err.text);
	} else if (r < 0) {
		receive_refuse(out, 503, "disk", err.text);
		return;
	}
	out->status = 200;
	buf_str(&out->json, r > 0 ? "{\"kept\":true}\n" : "{\"kept\":false}\n");
}

void receive_names(const struct receive_request *q, struct receive_answer *out)
{
	struct names_check names = { 0 };
	struct host_facts facts;
	struct error err = { 0 };
	struct fleet_host *host = receive_open(q, &facts, out);

	if (!host)
		return;
	if (may_send(&facts)) {
		int r = names_check_ask(q->body, &q->build, q->is_packed, &names, &err);

		count_names(q, &facts, r < 0 ? 0 : names.facts.size);
		if (r < 0)
			receive_refuse_for(out, r, err.text);
		else if (facts.names_bytes > NAMES_BYTES_A_DAY)
			refuse_more(out);
		else
			keep_names(q, &facts, &names, out);
		names_check_fini(&names);
	} else {
		refuse_more(out);
	}
	fleet_host_close(host);
}
