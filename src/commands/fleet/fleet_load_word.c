/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet load, and assay fleet rebuild: the directory of a fleet into ClickHouse. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/end_signals.h"
#include "commands/fleet/fleet_words.h"
#include "commands/opening.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_day.h"
#include "fleet/clickhouse_load.h"
#include "fleet/fleet_store.h"
#include "fleet/load_state.h"
#include "open/input.h"

static void warn_of_load(const char *sentence)
{
	log_warning("%s", sentence);
}

/* "2026-11-27": the second in which the day begins in UTC. */
static int parse_day(const char *text, uint64_t *day_s, struct error *err)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, "%Y-%m-%d", &tm);
	int day = tm.tm_mday;
	time_t t = end && !*end ? timegm(&tm) : -1;

	if (t < 0 || tm.tm_mday != day) /* of 31 February, timegm() makes a day of March */
		return error_set(err, -EINVAL, "'%s' is no day: write YYYY-MM-DD", text);
	*day_s = (uint64_t)t;
	return 0;
}

static void print_load(const struct fleet_load_result *r)
{
	log_info("%" PRIu32 " block%s stored, %" PRIu32 " %s there, %" PRIu32 " left out: %" PRIu64
		 " sample%s, %" PRIu64 " lost, %" PRIu64 " row%s, %" PRIu64 " byte%s",
		 r->n_blocks, plural_s(r->n_blocks), r->n_known, plural(r->n_known, "was", "were"),
		 r->n_left_out, r->samples, plural_s(r->samples), r->lost, r->rows,
		 plural_s(r->rows), r->bytes, plural_s(r->bytes));
	if (r->n_named)
		log_info("%" PRIu64 " function%s of stored samples got a name", r->n_named,
			 plural_s(r->n_named));
}

static int load_once(struct fleet_load_config *config, struct fleet_load_result *result,
		     struct error *err)
{
	cleanup(input_free_at_exit) struct input *in = NULL;
	int r = input_new(&opening_config, &in, err);

	if (r < 0)
		return r;
	config->symbols = input_symbolizer(in, config->fleet, NULL);
	config->stops = end_signals_came;
	config->warn = warn_of_load;
	r = fleet_load(config, result, err);
	symbolizer_free(config->symbols);
	return r;
}

static int load_fleet(struct fleet_load_config *config, struct error *err)
{
	struct fleet_load_result result = { 0 };
	int r;

	end_signals_catch();
	r = load_once(config, &result, err);
	print_load(&result);
	return r < 0 ? r : result.n_left_out ? EXIT_FAILED : EXIT_OK;
}

static int open_clickhouse(const struct fleet_args *args, struct clickhouse **out,
			   struct error *err)
{
	const struct clickhouse_options options = { .urls = args->clickhouse,
						    .login = args->login,
						    .stops = end_signals_came };

	if (!args->clickhouse)
		return error_set(err, -EINVAL, "--clickhouse URL,… is missing");
	return clickhouse_open(&options, out, err);
}

/* ---- load --follow ---- */

/* A part that was left out, and a name that ClickHouse lost, are looked at again after this time.
 */
#define REMEMBER_NS  (UINT64_C(86400) * NS_PER_SECOND)
#define RETRY_MOST_S 600.0

struct follow {
	const struct fleet_args *args;
	const char *fleet;
	struct fleet_load_memory *memory;
	uint64_t remembers_since_ns; /* CLOCK_MONOTONIC */
	uint64_t dropped_ns;         /* when old data were dropped last; 0: not yet */
	double limit_s;              /* the longest time until the next try */
	struct load_state state;
};

/* Failures do not put this off: the disk would fill. */
static int follow_drop_old(struct follow *f, struct clickhouse *ch, struct error *err)
{
	uint64_t now = clock_monotonic_ns();
	int r = 0;

	if (f->dropped_ns && now - f->dropped_ns <= REMEMBER_NS)
		return 0;
	r = clickhouse_drop_old(ch, clock_wall_ns() / NS_PER_SECOND, err);
	if (r >= 0)
		f->dropped_ns = now;
	return r;
}

static int follow_load(struct follow *f, struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct fleet_load_config config = { .fleet = f->fleet,
					    .to_ns = UINT64_MAX,
					    .memory = f->memory };
	struct fleet_load_result result = { 0 };
	int r = open_clickhouse(f->args, &ch, err);

	config.clickhouse = ch;
	r = r < 0 ? r : load_once(&config, &result, err);
	f->state.n_blocks += result.n_blocks;
	f->state.samples += result.samples;
	f->state.lost += result.lost;
	f->state.n_left_out += result.n_left_out;
	return r < 0 ? r : follow_drop_old(f, ch, err);
}

/* Any time up to the limit, so that gateways that failed together come back apart. */
static double follow_retry_after(struct follow *f)
{
	uint32_t random = 0;
	double seconds;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock_wall_ns();
	seconds = f->limit_s * ((double)random + 1) / 4294967296.0;
	f->limit_s = MIN(f->limit_s * 2, RETRY_MOST_S);
	return seconds;
}

static void follow_forget(struct follow *f)
{
	fleet_load_memory_free(f->memory);
	f->memory = fleet_load_memory_new();
	f->remembers_since_ns = clock_monotonic_ns();
}

/* Returns the seconds until the next round. */
static double follow_round(struct follow *f)
{
	struct error err = { 0 }, unwritten = { 0 };
	double wait_s = f->args->interval_s;
	int r;

	if (!f->memory || clock_monotonic_ns() - f->remembers_since_ns > REMEMBER_NS)
		follow_forget(f);
	r = follow_load(f, &err);
	f->state.round_s = clock_wall_ns() / NS_PER_SECOND;
	f->state.error = r < 0 && !end_signals_came() ? err.text : "";
	if (r >= 0) {
		if (f->state.n_failures)
			log_info("ClickHouse takes blocks again");
		f->state.n_failures = 0;
		f->state.success_s = f->state.round_s;
		f->limit_s = 1;
	} else if (!end_signals_came()) {
		if (!f->state.n_failures++)
			log_warning("%s; blocks wait in %s", err.text, f->fleet);
		follow_forget(f);
		wait_s = follow_retry_after(f);
	}
	f->state.retry_s = (uint64_t)wait_s;
	if (load_state_write(f->fleet, &f->state, &unwritten) < 0)
		log_warning("%s", unwritten.text);
	return wait_s;
}

static int follow_fleet(const struct fleet_args *args, const char *fleet)
{
	struct follow f = { .args = args, .fleet = fleet, .limit_s = 1 };

	end_signals_catch();
	while (!end_signals_came())
		end_signals_wait(follow_round(&f));
	fleet_load_memory_free(f.memory);
	return EXIT_OK;
}

int fleet_load_run(const struct fleet_args *args, const struct option_list *operands,
		   struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct fleet_load_config config = { .to_ns = UINT64_MAX };
	int r = fleet_operand(operands, &config.fleet, err);

	if (r >= 0 && args->follow && args->clickhouse)
		return follow_fleet(args, config.fleet);
	r = r < 0 ? r : open_clickhouse(args, &ch, err);
	config.clickhouse = ch;
	r = r < 0 ? r : load_fleet(&config, err);
	if (r >= 0) {
		int dropped = clickhouse_drop_old(ch, clock_wall_ns() / NS_PER_SECOND, err);

		r = dropped < 0 ? dropped : r;
	}
	return r;
}

int fleet_rebuild_day(struct clickhouse *ch, const char *fleet, uint64_t day_s, bool takes_broken,
		      struct error *err)
{
	struct fleet_load_config config = { .fleet = fleet,
					    .clickhouse = ch,
					    .from_ns = day_s * NS_PER_SECOND,
					    .to_ns = (day_s + 86400) * NS_PER_SECOND,
					    .drops_first = true,
					    .takes_broken = takes_broken };
	int r = load_fleet(&config, err);

	if (r < 0 && rebuilding_has_days(fleet))
		return error_wrap(err, r,
				  "a day lacks samples in ClickHouse until 'assay fleet load' "
				  "succeeds");
	return r;
}

int fleet_rebuild_run(const struct fleet_args *args, const struct option_list *operands,
		      struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	const char *fleet;
	uint64_t day_s = 0;
	int r = fleet_operand(operands, &fleet, err);

	if (r >= 0 && operands->n != 2)
		r = error_set(err, -EINVAL, "name the directory of the fleet and one day");
	r = r < 0 ? r : parse_day(operands->data[1], &day_s, err);
	r = r < 0 ? r : open_clickhouse(args, &ch, err);
	r = r < 0 ? r : fleet_log(fleet, "rebuild", operands->data[1], err);
	return r < 0 ? r : fleet_rebuild_day(ch, fleet, day_s, true, err);
}
