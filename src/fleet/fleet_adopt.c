/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_adopt.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"
#include "fleet/ship.h"
#include "store/history/blocks.h"
#include "store/history/retention.h"

/* The history may change while it is read. */
#define TRIES_MOST 10

#define BUCKET_S (BLOCK_BUCKET_NS / NS_PER_SECOND)

struct fleet_adopt {
	struct fleet_adopt_config config;
	struct ship *ship;
};

struct fleet_adopt *fleet_adopt_new(const struct fleet_adopt_config *config)
{
	struct fleet_adopt *a = xcalloc(1, sizeof(*a));
	const struct ship_config ship = { .history = config->history,
					  .fleet = config->fleet,
					  .host = config->host,
					  .merged_only = true,
					  .stops = config->stops };

	a->config = *config;
	a->ship = ship_new(&ship);
	return a;
}

void fleet_adopt_free(struct fleet_adopt *a)
{
	if (!a)
		return;
	ship_free(a->ship);
	free(a);
}

/* Lists the parts of the history that have a key in the fleet, or those that have none. */
static int list_parts(const struct fleet_adopt *a, const char *dir, bool sent,
		      struct history_names *out, struct error *err)
{
	struct history_names all = { 0 };
	struct fleet_keys keys = { 0 };
	cleanup(free_at_exit) bool *has_key = NULL;
	int r = history_list(dir, &all);

	if (r < 0)
		error_errno(err, r, "cannot read %s", dir);
	r = r < 0 ? r : fleet_keys_read(a->config.fleet, a->config.host, &keys, err);
	has_key = xcalloc(all.n + 1, sizeof(*has_key));
	vec_foreach (&keys, key) {
		char *part = key->part;
		char **at =
			all.n ? bsearch(&part, all.data, all.n, sizeof(*all.data), history_by_name)
			      : NULL;

		if (at)
			has_key[at - all.data] = true;
	}
	for (size_t i = 0; i < all.n && r >= 0; i++)
		if (has_key[i] == sent)
			vec_push(out, take_ptr(all.data[i]));
	vec_fini(&keys);
	history_names_fini(&all);
	return r;
}

/* Applies the policy to the parts that were sent, or to the others. */
static int retain_parts(const struct fleet_adopt *a, const char *dir, bool sent,
			struct retention_policy *policy, struct retention_result *result,
			struct error *err)
{
	struct history_names names = { 0 };
	int r = list_parts(a, dir, sent, &names, err);

	policy->over = &names;
	policy->now_ns = a->config.now_ns;
	r = r < 0 ? r : history_retain(dir, policy, result, err);
	history_names_fini(&names);
	return r;
}

/* Step 1. */
static int join_pushes(const struct fleet_adopt *a, const char *dir, struct error *err)
{
	struct retention_policy policy = {
		.tiers = { [LEVEL_MINUTES] = { BUCKET_S, BUCKET_S, 0, 0 } },
		.overviews = OVERVIEWS_THAT_PAY,
	};
	struct retention_result result;

	return retain_parts(a, dir, false, &policy, &result, err);
}

/* Step 2. */
static int send_joined(struct fleet_adopt *a, struct fleet_adopt_result *out, struct error *err)
{
	struct ship_result result = { 0 };
	int r = -EAGAIN;

	for (int i = 0; i < TRIES_MOST && r == -EAGAIN; i++) {
		r = ship_round(a->ship, &result, err);
		out->n_sent += result.n_sent;
		out->samples += result.samples;
		out->expired += result.expired;
	}
	out->n_unread = result.n_damaged + result.n_refused;
	return r;
}

/* Step 3. */
static int limit_size(const struct fleet_adopt *a, const char *dir, struct error *err)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	int r;

	policy.tiers[LEVEL_MINUTES].after_s = 0; /* they are minutes */
	policy.max_bytes = a->config.max_bytes;
	r = retain_parts(a, dir, true, &policy, &result, err);
	if (r < 0 || !policy.max_bytes || result.bytes_after <= policy.max_bytes)
		return r;
	/* The disk comes first. */
	policy = (struct retention_policy){ .max_bytes = a->config.max_bytes,
					    .now_ns = a->config.now_ns };
	r = history_retain(dir, &policy, &result, err);
	if (r >= 0 && result.n_removed)
		log_warning("%s: %" PRIu32 " parts that the fleet may not have were removed: the "
			    "history is larger than %" PRIu64 " bytes",
			    a->config.history, result.n_removed, policy.max_bytes);
	return r;
}

int fleet_adopt_round(struct fleet_adopt *a, struct fleet_adopt_result *out, struct error *err)
{
	cleanup(free_at_exit) char *dir = history_dir(a->config.history);
	struct error why = { 0 };
	int r, limited;

	*out = (struct fleet_adopt_result){ 0 };
	if (!dir) /* nobody has pushed yet */
		return 0;
	r = join_pushes(a, dir, err);
	r = r < 0 ? r : send_joined(a, out, err);
	limited = limit_size(a, dir, &why);
	return r < 0 || limited >= 0 ? r : error_set(err, limited, "%s", why.text);
}
