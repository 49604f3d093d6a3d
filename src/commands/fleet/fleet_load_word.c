/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet load, and assay fleet rebuild: the directory of a fleet into ClickHouse. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "commands/fleet/fleet_words.h"
#include "commands/opening.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_insert.h"
#include "fleet/clickhouse_load.h"
#include "open/input.h"

static volatile sig_atomic_t load_is_over;

static void end_load(int signal)
{
	(void)signal;
	load_is_over = 1;
}

static bool load_stops(void)
{
	return load_is_over;
}

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
	log_info("%" PRIu32 " blocks stored, %" PRIu32 " were there, %" PRIu32 " left out: %" PRIu64
		 " samples, %" PRIu64 " lost, %" PRIu64 " rows, %" PRIu64 " bytes",
		 r->n_blocks, r->n_known, r->n_left_out, r->samples, r->lost, r->rows, r->bytes);
}

static int load_fleet(struct fleet_load_config *config, struct error *err)
{
	const struct sigaction on_end = { .sa_handler = end_load };
	cleanup(input_free_at_exit) struct input *in = NULL;
	struct fleet_load_result result = { 0 };
	int r = input_new(&opening_config, &in, err);

	if (r < 0)
		return r;
	sigaction(SIGINT, &on_end, NULL);
	sigaction(SIGTERM, &on_end, NULL);
	config->symbols = input_symbolizer(in, config->fleet, NULL);
	config->stops = load_stops;
	config->warn = warn_of_load;
	r = fleet_load(config, &result, err);
	print_load(&result);
	symbolizer_free(config->symbols);
	return r < 0 ? r : result.n_left_out ? EXIT_FAILED : EXIT_OK;
}

static int open_clickhouse(const struct fleet_args *args, struct clickhouse **out,
			   struct error *err)
{
	const struct clickhouse_options options = { .urls = args->clickhouse,
						    .login = args->login };

	if (!args->clickhouse)
		return error_set(err, -EINVAL, "--clickhouse URL,… is missing");
	return clickhouse_open(&options, out, err);
}

int fleet_load_run(const struct fleet_args *args, const struct option_list *operands,
		   struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct fleet_load_config config = { .to_ns = UINT64_MAX };
	int r = fleet_operand(operands, &config.fleet, err);

	r = r < 0 ? r : open_clickhouse(args, &ch, err);
	config.clickhouse = ch;
	r = r < 0 ? r : load_fleet(&config, err);
	if (r >= 0) {
		int dropped = clickhouse_drop_old(ch, clock_wall_ns() / NS_PER_SECOND, err);

		r = dropped < 0 ? dropped : r;
	}
	return r;
}

int fleet_rebuild_run(const struct fleet_args *args, const struct option_list *operands,
		      struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct fleet_load_config config = { 0 };
	uint64_t day_s = 0;
	int r = fleet_operand(operands, &config.fleet, err);

	if (r >= 0 && operands->n != 2)
		r = error_set(err, -EINVAL, "name the directory of the fleet and one day");
	r = r < 0 ? r : parse_day(operands->data[1], &day_s, err);
	r = r < 0 ? r : open_clickhouse(args, &ch, err);
	config.from_ns = day_s * NS_PER_SECOND;
	config.to_ns = config.from_ns + 86400 * NS_PER_SECOND;
	config.clickhouse = ch;
	config.drops_first = true;
	return r < 0 ? r : load_fleet(&config, err);
}
