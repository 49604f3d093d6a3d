/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet forget: removes a host, or makes a service unknown. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/reader.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/batch_list.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_fleet.h"
#include "fleet/clickhouse_forget.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_load.h"
#include "fleet/fleet_forget.h"
#include "fleet/fleet_names.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_sums_make.h"
#include "fleet/fleet_tokens.h"
#include "fleet/load_state.h"

#define SERVICE_PREFIX "service:"
#define LOCK_PAUSE_NS  (100 * NS_PER_MS)

/* The number of a run that has not ended (clickhouse_forget_service()). */
#define RUN_FILE ".forgetting"

static int forget_host(const char *fleet, const char *host, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", fleet, host);
	cleanup(free_at_exit) char *of = fleet_leaves(fleet);
	cleanup(free_at_exit) char *leaves = xasprintf("%s/%s", of, host);
	bool was_there = fleet_has_host(fleet, host);
	cleanup(close_at_exit) int sums = -1;
	struct fleet_host *h = NULL;
	int r;

	if (!fleet_host_is_valid(host))
		return error_set(err, -EINVAL, "'%s' can't be the name of a host", host);
	/* Sums come first, as in a merge. Without them, nothing is changed. */
	r = sums = fleet_sums_lock(fleet, FLEET_FORGET_MS, err);
	/* It must not send while it is removed. */
	r = r < 0 ? r : fleet_revoke(fleet, host, err);
	r = r < 0 ? r : fleet_log(fleet, "forget", host, err);
	r = r < 0 ? r : fleet_rate_set(fleet, host, 0, err);
	/* Under its lock: no request is in the middle of a block, or of names. */
	r = r < 0 ? r : fleet_host_await(fleet, host, FLEET_FORGET_MS, &h, err);
	r = r < 0 ? r : fleet_names_forget(fleet, host, err);
	r = r < 0 ? r : fleet_sums_forget(fleet, host, err);
	if (r >= 0 && access(leaves, F_OK) == 0)
		r = file_remove_tree(leaves, err);
	if (r >= 0)
		r = file_remove_tree(path, err);
	else if (!was_there)
		file_remove_tree(path, NULL); /* the lock made it */
	fleet_host_close(h);
	return r;
}

/* ---- in ClickHouse ---- */

static int open_clickhouse_of(const struct fleet_args *args, const char *fleet,
			      struct clickhouse **out, struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	const struct clickhouse_options options = {
		.urls = args->clickhouse,
		.login = args->login ? args->login : getenv("ASSAY_CLICKHOUSE_LOGIN"),
	};
	int r = clickhouse_open(&options, &ch, err);

	r = r < 0 ? r : clickhouse_check_fleets(ch, fleet, err);
	if (r >= 0)
		*out = take_ptr(ch);
	return r;
}

/* A gateway may be in the middle of a round. */
static int rebuild_day(struct clickhouse *ch, const char *fleet, uint64_t day_s, struct error *err)
{
	const struct timespec pause = timespec_of_ns(LOCK_PAUSE_NS);
	int r = fleet_rebuild_day(ch, fleet, day_s, false, err);

	for (uint64_t ms = 0; r == -EBUSY && ms < FLEET_FORGET_MS;
	     ms += LOCK_PAUSE_NS / NS_PER_MS) {
		nanosleep(&pause, NULL);
		r = fleet_rebuild_day(ch, fleet, day_s, false, err);
	}
	return r == EXIT_FAILED ? error_set(err, -EIO, "some blocks of a day were left out") : r;
}

/*
 * Each of its days is loaded again from the directory, which does not have the host any longer. A
 * day that has to stay, as the directory lacks other samples of it, does not keep the others.
 */
static int forget_host_in_clickhouse(const struct fleet_args *args, const char *fleet,
				     const char *host, struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	cleanup(buf_fini) struct buf days = { 0 };
	struct reader rows;
	int kept = 0;
	int r = open_clickhouse_of(args, fleet, &ch, err);

	r = r < 0 ? r : clickhouse_days_of_host(ch, host, &days, err);
	rows = reader_over(days.data, days.len);
	while (r >= 0 && reader_left(&rows)) {
		uint64_t day_s = (uint64_t)reader_u32(&rows) * 86400;
		struct error why = { 0 };

		r = rows.bad ? error_set(&why, -EPROTO, "the list of days is not whole")
			     : rebuild_day(ch, fleet, day_s, &why);
		if (r < 0 && !kept)
			error_set(err, r, "ClickHouse still has %s: %s", host, why.text);
		if (r == -EBADMSG) {
			kept = r;
			r = 0;
		}
	}
	if (r >= 0 && kept)
		return kept;
	return r < 0 ? r : clickhouse_forget_host(ch, host, err);
}

static int forget_host_everywhere(const struct fleet_args *args, const char *fleet,
				  const char *host, struct error *err)
{
	cleanup(free_at_exit) char *state = load_state_read(fleet);
	int r = forget_host(fleet, host, err);

	if (r >= 0 && args->clickhouse)
		return forget_host_in_clickhouse(args, fleet, host, err);
	if (r >= 0 && state)
		log_warning("ClickHouse still has %s: add --clickhouse URL,…", host);
	return r;
}

/* ---- services ---- */

static int lock_loading(const char *fleet, struct error *err)
{
	const struct timespec pause = timespec_of_ns(LOCK_PAUSE_NS);
	int r = fleet_load_lock(fleet, err);

	for (uint64_t ms = 0; r == -EBUSY && ms < FLEET_FORGET_MS;
	     ms += LOCK_PAUSE_NS / NS_PER_MS) {
		nanosleep(&pause, NULL);
		r = fleet_load_lock(fleet, err);
	}
	return r;
}

/* The number of the run that was stopped, if it was of this service, or else a new one. */
static int run_number(const char *path, const char *service, uint64_t *run, struct error *err)
{
	cleanup(free_at_exit) char *line = NULL;
	char old[256], *end = NULL;
	int r;

	if (file_read_line(path, old, sizeof(old))) {
		*run = strtoull(old, &end, 16);
		if (*end == ' ' && !strcmp(end + 1, service) && *run)
			return 0;
	}
	if (getrandom(run, sizeof(*run), 0) != sizeof(*run))
		return error_errno(err, -errno, "there are no random bytes");
	*run |= 1; /* 0 is no number of a run */
	line = xasprintf("%016" PRIx64 " %s\n", *run, service);
	r = file_replace(path, line, strlen(line), err);
	return r < 0 ? r : fleet_sync(path, err);
}

static int forget_in_clickhouse(const struct fleet_args *args, const char *fleet,
				const char *service, struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	cleanup(free_at_exit) char *path = xasprintf("%s/" RUN_FILE, fleet);
	cleanup(close_at_exit) int lock = lock_loading(fleet, err);
	uint64_t run;
	int r = lock < 0 ? lock : open_clickhouse_of(args, fleet, &ch, err);

	/* An insert that runs on could bring rows between the sums and the deletion. */
	r = r < 0 ? r : batch_list_check_others(fleet, NULL, 0, CLICKHOUSE_INSERT_MAX_NS, err);
	r = r < 0 ? r : run_number(path, service, &run, err);
	r = r < 0 ? r : clickhouse_forget_service(ch, service, run, err);
	if (r >= 0 && unlink(path) < 0)
		r = error_errno(err, -errno, "cannot remove %s", path);
	return r;
}

static int forget_service(const struct fleet_args *args, const char *fleet, const char *service,
			  struct error *err)
{
	cleanup(free_at_exit) char *what = xasprintf(SERVICE_PREFIX "%s", service);
	cleanup(free_at_exit) char *state = load_state_read(fleet);
	struct forgotten_service done = { 0 };
	int r;

	if (!fleet_service_is_one(service))
		return error_set(err, -EINVAL, "'%s' is not the name of one service", service);
	r = fleet_lock(fleet, err); /* it must be the fleet's own user */
	if (r < 0)
		return r;
	close(r);
	r = fleet_log(fleet, "forget", what, err);
	r = r < 0 ? r : fleet_forget_service(fleet, service, &done, err);
	if (r >= 0)
		log_info("%" PRIu64 " sample%s of %s %s unknown now, in %" PRIu32 " part%s",
			 done.samples, plural_s(done.samples), service,
			 plural(done.samples, "is", "are"), done.n_parts, plural_s(done.n_parts));
	if (r >= 0 && args->clickhouse)
		r = forget_in_clickhouse(args, fleet, service, err);
	else if (r >= 0 && state)
		log_warning("ClickHouse still has %s: add --clickhouse URL,…", service);
	return r;
}

int fleet_forget_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	size_t prefix = strlen(SERVICE_PREFIX);
	const char *fleet, *what;
	int r = operands->n == 2 ? fleet_operand(operands, &fleet, err)
				 : error_set(err, -EINVAL,
					     "forget: name the fleet and a host, or service:NAME");

	if (r < 0)
		return r;
	what = operands->data[1];
	if (strncmp(what, SERVICE_PREFIX, prefix) == 0)
		r = forget_service(args, fleet, what + prefix, err);
	else
		r = forget_host_everywhere(args, fleet, what, err);
	return r < 0 ? r : EXIT_OK;
}
