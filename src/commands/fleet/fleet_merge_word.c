/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay fleet merge: joins the blocks of hosts to longer parts, and adds the hosts up. A fleet of
 * 50 hosts has 7,200 blocks a day, and most of the time of a question goes into opening them.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/end_signals.h"
#include "commands/fleet/fleet_words.h"
#include "commands/retain.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_sums_make.h"
#include "fleet/load_state.h"
#include "store/history/retention.h"

#define DAY_S UINT64_C(86400)

/*
 * Blocks of ten minutes stay as they are for two days, in parts of six hours. Then come hours, in
 * parts of a day. All samples stay, and all stacks.
 */
static const struct retention_policy merge_policy = {
	.tiers = { [LEVEL_TEN_MINUTES] = { 2 * 3600, 6 * 3600, 0, 0 },
		   [LEVEL_HOURS] = { 2 * DAY_S, DAY_S, 0, 0 },
		   [LEVEL_DAYS] = { 30 * DAY_S, 7 * DAY_S, 0, 0 } },
	.joins = true,
};

/*
 * ClickHouse takes single blocks: what it may not have stays. The age of parts that
 * `load --follow` had a day to store; 0: the fleet has no ClickHouse.
 */
static uint64_t age_of_loaded(const char *fleet)
{
	cleanup(free_at_exit) char *text = load_state_read(fleet);
	json_t *state = text ? json_loads(text, 0, NULL) : NULL;
	uint64_t now_s = clock_wall_ns() / NS_PER_SECOND, success_s;

	if (!state)
		return 0;
	success_s = (uint64_t)json_integer_value(json_object_get(state, "success_seconds"));
	json_decref(state);
	return now_s - MIN(success_s, now_s) + DAY_S;
}

static struct retention_policy policy_of(const char *fleet)
{
	struct retention_policy policy = merge_policy;
	uint64_t age_s = age_of_loaded(fleet);

	for (size_t i = 0; i < N_HISTORY_LEVELS; i++)
		if (policy.tiers[i].after_s)
			policy.tiers[i].after_s = MAX(policy.tiers[i].after_s, age_s);
	return policy;
}

/* Merges the parts of a host. Sums of the fleet follow them, if `has_sums`. */
static int merge_parts(const char *fleet, const char *host, const char *dir, bool has_sums,
		       const struct retention_policy *policy, struct retention_result *result,
		       struct error *err)
{
	struct retention_policy locked = *policy;
	struct history_names before = { 0 }, after = { 0 };
	cleanup(close_at_exit) int sums = has_sums ? fleet_sums_lock(fleet, 0, NULL) : -1;
	cleanup(close_at_exit) int lock = history_lock(dir, false, err);
	int r = lock < 0 ? lock : history_list(dir, &before);

	locked.is_locked = true;
	r = r < 0 ? r : history_retain(dir, &locked, result, err);
	if (sums >= 0 && result->n_made && history_list(dir, &after) >= 0)
		fleet_sums_follow(fleet, host, &before, &after);
	history_names_fini(&before);
	history_names_fini(&after);
	return r;
}

/* A host whose blocks come at the moment is merged the next time. */
static void merge_host(const char *fleet, const char *host, bool has_sums,
		       const struct retention_policy *policy, struct retention_result *sum)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", fleet, host);
	cleanup(free_at_exit) char *dir = history_dir(path);
	struct retention_result result = { 0 };
	struct error err = { 0 };

	if (!dir) /* it was enrolled, and has sent nothing yet */
		return;
	if (merge_parts(fleet, host, dir, has_sums, policy, &result, &err) < 0 &&
	    err.code != -EBUSY)
		log_warning("%s is not merged: %s", path, err.text);
	sum->n_merged += result.n_merged;
	sum->n_made += result.n_made;
	sum->n_damaged += result.n_damaged;
	sum->n_newer += result.n_newer;
	sum->bytes_before += result.bytes_before;
	sum->bytes_after += result.bytes_after;
}

static int merge_blocks(const char *fleet, bool has_sums, const struct retention_policy *policy,
			struct retention_result *sum, struct error *err)
{
	struct history_names hosts = { 0 };
	int r = fleet_hosts(fleet, &hosts, err);

	for (size_t i = 0; i < hosts.n && r >= 0 && !end_signals_came(); i++)
		merge_host(fleet, hosts.data[i], has_sums, policy, sum);
	history_names_fini(&hosts);
	return r;
}

/* Adds the hosts up. Without sums, questions read the parts of hosts. */
static void make_sums(const char *fleet)
{
	struct sums_made made = { 0 };
	struct error err = { 0 };
	cleanup(close_at_exit) int lock = fleet_sums_lock(fleet, 0, &err);

	if (lock < 0 || fleet_sums_make(fleet, end_signals_came, &made, &err) < 0)
		log_warning("the hosts are not added up: %s", err.text);
	if (made.n_made)
		log_info("%" PRIu32 " part%s of hosts %s added up", made.n_parts,
			 plural_s(made.n_parts), plural(made.n_parts, "was", "were"));
	if (made.n_removed)
		log_info("%" PRIu32 " sum%s did not fit any longer, and %s removed", made.n_removed,
			 plural_s(made.n_removed), plural(made.n_removed, "was", "were"));
}

static int merge_fleet(const char *fleet, struct error *err)
{
	cleanup(free_at_exit) char *leaves = fleet_leaves(fleet);
	const struct retention_policy policy = policy_of(fleet);
	struct retention_result sum = { 0 };
	int r = merge_blocks(fleet, true, &policy, &sum, err);

	if (r >= 0 && fleet_is_at(leaves))
		r = merge_blocks(leaves, false, &policy, &sum, err);
	if (r >= 0 && sum.n_merged)
		log_info("%" PRIu32 " %s %" PRIu32 " now; %.1f MB are %.1f MB", sum.n_merged,
			 plural(sum.n_merged, "block or part is", "blocks and parts are"),
			 sum.n_made, (double)sum.bytes_before / 1e6, (double)sum.bytes_after / 1e6);
	if (r >= 0 && !end_signals_came())
		make_sums(fleet);
	retain_warn_of_parts(&sum);
	return r;
}

int fleet_merge_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	const char *fleet;
	int r = fleet_operand(operands, &fleet, err);

	end_signals_catch();
	if (r < 0 || !args->follow)
		return r < 0 ? r : (r = merge_fleet(fleet, err)) < 0 ? r : EXIT_OK;
	while (!end_signals_came()) {
		if (merge_fleet(fleet, err) < 0)
			log_warning("%s", err->text);
		end_signals_wait(args->interval_s);
	}
	return EXIT_OK;
}
