/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/ship_rounds.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/end_signals.h"
#include "commands/ship_post.h"
#include "commands/ship_words.h"
#include "fleet/gateway.h"
#include "fleet/ship.h"
#include "fleet/ship_names.h"
#include "guard/parser.h"

/* Between two tries after a failure: a random time up to this, which doubles each time. */
#define RETRY_FIRST_S 1.0
#define RETRY_MOST_S  600.0

/* With --once: names take so long at most. */
#define NAMES_ONCE_S 86400.0

/* Full jitter: any time up to the limit, so that hosts that failed together come back apart. */
static double retry_after(double *limit_s)
{
	uint32_t random = 0;
	double seconds;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_wall_ns();
	seconds = *limit_s * ((double)random + 1) / 4294967296.0;
	*limit_s = MIN(*limit_s * 2, RETRY_MOST_S);
	return seconds;
}

/* The folder moves in one step, so a kill at any moment leaves no keys without their fleet's id. */
static int move_state_away(const struct ship_rounds *rs, const char *old, struct error *err)
{
	int r = file_remove_tree(old, err);

	log_info("the gateway has another fleet: all blocks are sent to it");
	if (r >= 0 && rename(rs->state_dir, old) < 0)
		r = error_errno(err, -errno, "cannot rename %s", rs->state_dir);
	return r < 0 ? r : fleet_make(rs->state_dir, err);
}

/* Another fleet at the gateway has none of the blocks and names that the state folder names. */
static int match_state(const struct ship_rounds *rs, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.of", rs->state_dir);
	cleanup(free_at_exit) char *old = xasprintf("%s.old", rs->state_dir);
	cleanup(free_at_exit) char *was = NULL;
	const char *is = gateway_fleet(rs->gateway);
	size_t size = 0;
	int r = fleet_make(rs->state_dir, err), found;

	if (r < 0)
		return r;
	found = file_read_all(path, FLEET_ID_SIZE, &was, &size);
	if (found < 0 && found != -ENOENT)
		return error_errno(err, found, "cannot read %s", path);
	if (!found && size == strlen(is) && !memcmp(was, is, size))
		return 0;
	if (!found)
		r = move_state_away(rs, old, err);
	r = r < 0 ? r : file_replace(path, is, strlen(is), err);
	if (r < 0)
		return r;
	file_remove_tree(old, NULL); /* also that of a run that was killed */
	if (rs->names)
		ship_names_forget(rs->names, rs->once ? 0 : rs->interval_s);
	return 0;
}

/* Addresses that were not sent: the daemon goes on, without them if the gateway is older. */
static int without_leaves(struct ship_rounds *rs, int r, struct error *err)
{
	if (rs->once || rs->dry_run || r == -EINTR)
		return r;
	log_warning("addresses are not sent: %s", err->text);
	if (r == -EOPNOTSUPP)
		ship_free(take_ptr(rs->leaves));
	return 0;
}

/* Blocks of addresses follow those of functions, which do not need them. */
static int leaves_round(struct ship_rounds *rs, struct ship_result *result, struct error *err)
{
	cleanup(free_at_exit) char *fleet = fleet_leaves(rs->state_dir);
	struct ship_result more = { 0 };
	int r = fleet_make(fleet, err); /* match_state() may have moved it away */

	do {
		struct ship_result before = more;

		if (r >= 0 || r == -EAGAIN)
			r = ship_round(rs->leaves, &more, err);
		more.n_sent += before.n_sent;
		more.n_refused += before.n_refused;
		more.samples += before.samples;
		more.bytes += before.bytes;
	} while (r == -EAGAIN);
	if (more.n_sent && !rs->quiet && !rs->dry_run)
		log_info("%" PRIu32 " block%s of addresses sent: %" PRIu64 " sample%s, %" PRIu64
			 " bytes",
			 more.n_sent, plural_s(more.n_sent), more.samples, plural_s(more.samples),
			 more.bytes);
	rs->n_sent += more.n_sent;
	result->n_damaged += more.n_damaged;
	result->n_refused += more.n_refused;
	result->n_left += more.n_left;
	return r < 0 ? without_leaves(rs, r, err) : 0;
}

/* The gateway is away: what waits, and what waits no longer. */
static void look(struct ship_rounds *rs, struct ship_result *result)
{
	struct ship_result more = { 0 };

	rs->has_looked = ship_look(rs->ship, result, NULL) >= 0;
	rs->state.expired += result->expired;
	if (!rs->has_looked)
		return;
	if (rs->leaves)
		ship_look(rs->leaves, &more, NULL);
	result->n_left += more.n_left;
	rs->state.backlog = result->n_left;
}

static int one_round(struct ship_rounds *rs, struct ship_result *result, struct error *err)
{
	int r = rs->gateway ? gateway_introduce(rs->gateway, &rs->state, rs->is_first, err) : 0;
	bool has_news;

	*result = (struct ship_result){ 0 };
	rs->n_sent = 0;
	rs->has_looked = false;
	if (r >= 0 && rs->gateway)
		r = match_state(rs, err);
	if (r < 0) {
		look(rs, result);
		return r;
	}
	r = ship_round(rs->ship, result, err);
	rs->n_sent = result->n_sent;
	if (r >= 0 && rs->leaves)
		r = leaves_round(rs, result, err);
	parser_end_children(); /* until the next round, their memory is free */
	rs->state.backlog = result->n_left + result->n_refused;
	has_news = result->expired || (result->rate_hz && result->rate_hz != rs->state.rate_hz);
	rs->state.rate_hz = result->rate_hz ? result->rate_hz : rs->state.rate_hz;
	rs->state.expired += result->expired;
	if (r >= 0 && has_news && rs->gateway)
		r = gateway_introduce(rs->gateway, &rs->state, true, err);
	return r;
}

/* What a new start does not mend: the command line, or a token that the gateway does not know. */
static bool is_final(const struct ship_rounds *rs, int r)
{
	return rs->once || rs->dry_run || (rs->is_first && (r == -EINVAL || r == -ENOENT));
}

/* What a server asked for at its last answer; 0: nothing. */
static uint32_t asked_wait_s(const struct ship_rounds *rs)
{
	if (rs->gateway)
		return gateway_retry_after_s(rs->gateway);
	return rs->post ? ship_post_retry_after_s(rs->post) : 0;
}

/* The time until the next round, after the result r of one. A server may ask for more. */
static double time_until_next(struct ship_rounds *rs, int r)
{
	if (r >= 0) {
		rs->limit_s = RETRY_FIRST_S;
		return rs->interval_s;
	}
	return retry_after(&rs->limit_s) + asked_wait_s(rs);
}

/*
 * Between two rounds: sends names that the gateway wants, for so many seconds. Once: until all are
 * sent. Blocks do not wait for names, so a failure is no failure of the round.
 */
static void send_names(const struct ship_rounds *rs, double seconds)
{
	uint64_t end = clock_monotonic_ns() + (uint64_t)(seconds * 1e9), now, wait = 0;
	struct error err = { 0 };

	while (!end_signals_came() && (now = clock_monotonic_ns()) < end) {
		if (!rs->names)
			wait = UINT64_MAX;
		else if (ship_names_step(rs->names, &wait, &err) < 0)
			log_warning("names are not sent: %s", err.text);
		if (wait == UINT64_MAX && rs->once)
			return;
		end_signals_wait((double)MIN(wait, end - now) / 1e9);
	}
}

/* Of each round, also of one that goes on at once: the next result has none of them. */
static void count_round(struct ship_rounds *rs, const struct ship_result *result)
{
	rs->n_sent_all += rs->n_sent;
	rs->status.refused += result->n_refused;
	rs->status.expired += result->expired;
}

/* Tells the daemon of a round with the result r. */
static void put_status(struct ship_rounds *rs, const struct ship_result *result, int r)
{
	struct ship_status *s = &rs->status;
	struct error err = { 0 };

	s->round_ns = clock_wall_ns();
	s->success_ns = r < 0 ? s->success_ns : s->round_ns;
	s->failures = r < 0 ? s->failures + 1 : 0;
	/* A round that failed early leaves the queue unknown: the last one counts. */
	if (r >= 0 || rs->has_looked || result->n_left || result->n_sent)
		s->backlog = result->n_left + result->n_refused;
	if (!rs->gateway)
		s->rate_hz = 0;
	else if (*gateway_fleet(rs->gateway)) /* it has spoken: else the last one counts */
		s->rate_hz = gateway_rate_hz(rs->gateway);
	if (!rs->dry_run && ship_status_write(s, &err) < 0)
		log_warning("%s", err.text);
}

/* Whether no round had a block to send, and nothing else was printed. */
static bool is_idle(const struct ship_rounds *rs, const struct ship_result *r)
{
	return !rs->n_sent_all && !r->n_refused && !r->n_damaged && !r->n_left && !r->expired;
}

int ship_rounds_run(struct ship_rounds *rs, struct error *err)
{
	rs->limit_s = RETRY_FIRST_S;
	rs->is_first = true;
	rs->state.expired = rs->status.expired; /* a new process goes on counting */
	while (!end_signals_came()) {
		struct ship_result result;
		int r = one_round(rs, &result, err);

		count_round(rs, &result);
		malloc_trim(0); /* a part's tree is large, and the next round is far */
		ship_print_round(&result, rs->quiet || rs->dry_run);
		if (rs->dry_run && result.n_containers)
			printf("names of containers and pods: %" PRIu32 "\n", result.n_containers);
		if (r != -EAGAIN && r != -EINTR)
			put_status(rs, &result, r);
		if (rs->n_sent)
			rs->limit_s = RETRY_FIRST_S; /* the gateway takes blocks: only as many as it
							wants */
		if (r == -EAGAIN || r == -EINTR)
			continue;
		/* Once: a busy server gets the rest, as long as it takes blocks. */
		if (r == -EBUSY && rs->once && (rs->gateway || rs->post) && rs->n_sent) {
			end_signals_wait(time_until_next(rs, r));
			continue;
		}
		if (r < 0 && is_final(rs, r))
			return r;
		rs->is_first = false;
		if ((rs->once || rs->dry_run) && !rs->quiet && is_idle(rs, &result))
			ship_print_nothing(&result, clock_wall_ns());
		if (rs->once && rs->names)
			send_names(rs, NAMES_ONCE_S);
		/* What is left was refused in an earlier round: the server was busy after it. */
		if (rs->once || rs->dry_run)
			return result.n_damaged || result.n_refused || result.n_left
				       ? error_set(err, -EBADMSG, "%s", "")
				       : 0;
		if (r < 0)
			log_warning("%s; assay tries again", err->text);
		if (r < 0)
			end_signals_wait(time_until_next(rs, r));
		else
			send_names(rs, time_until_next(rs, r));
	}
	return rs->once || rs->dry_run
		       ? error_set(err, -EINTR,
				   "a signal ended it before it had looked at all blocks")
		       : 0;
}
