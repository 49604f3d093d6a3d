/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet rate: how often the hosts of a fleet sample. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_rates.h"
#include "fleet/fleet_steer.h"
#include "fleet/fleet_store.h"
#include "store/history/blocks.h"

/* With --follow, a rate changes by more than a tenth. */
#define RATE_STEP 10

static int parse_hz(const char *text, uint64_t *hz, struct error *err)
{
	size_t n = strspn(text, "0123456789");

	if (!n || n > 6 || text[n])
		return error_set(err, -EINVAL, "rate: '%s' is no number of samples a second", text);
	*hz = strtoull(text, NULL, 10);
	return 0;
}

/* The last hour whose blocks are all there: a block comes when its ten minutes are over. */
static int steer_window(const struct fleet_args *args, struct time_window *out, struct error *err)
{
	uint64_t now = clock_wall_ns();
	int r = fleet_args_window(args, out, err);

	if (r < 0)
		return r;
	if (!args->until)
		out->to_ns = now - now % BLOCK_BUCKET_NS;
	if (!args->since)
		out->from_ns = out->to_ns - 3600 * NS_PER_SECOND;
	return out->from_ns < out->to_ns
		       ? 0
		       : error_set(err, -EINVAL, "--since has to be before --until");
}

static int log_rate(const char *fleet, const char *host, uint64_t hz, struct error *err)
{
	cleanup(free_at_exit) char *what = xasprintf("%s %" PRIu64, host, hz);

	return fleet_log(fleet, "rate", what, err);
}

static void print_rate(const struct steer_host *h)
{
	printf("%s: %" PRIu64 " sample%s, %" PRIu64 " Hz", h->name, h->samples,
	       plural_s(h->samples), h->had_hz);
	if (h->hz)
		printf(" -> %" PRIu64 " Hz\n", h->hz);
	else
		printf("; it has not said its rate, and keeps it\n");
}

/*
 * Whether the host may keep the rate that it was given. A daemon begins a new part for each rate,
 * so it does not follow each small change of the load.
 */
static bool rate_is_near(const char *fleet, const struct steer_host *h)
{
	uint64_t is = 0, apart;

	if (fleet_rate_read(fleet, h->name, &is, NULL) < 0 || !is)
		return false;
	apart = is > h->hz ? is - h->hz : h->hz - is;
	return apart <= is / RATE_STEP;
}

/* With args->follow, rates that are near stay. */
static int apply_rates(const struct fleet_args *args, const char *fleet,
		       const struct steer_hosts *hosts, struct error *err)
{
	cleanup(free_at_exit) struct fleet_rate *rates = xcalloc(hosts->n, sizeof(*rates));
	size_t n = 0;
	int r;

	for (size_t i = 0; i < hosts->n; i++) {
		const struct steer_host *h = &hosts->data[i];

		if (!args->follow)
			print_rate(h);
		if (h->hz && !(args->follow && rate_is_near(fleet, h)))
			rates[n++] = (struct fleet_rate){ h->name, h->hz };
	}
	r = fleet_rates_set(fleet, rates, n, err);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = log_rate(fleet, rates[i].host, rates[i].hz, err);
	return r;
}

static int rate_by_target(const struct fleet_args *args, const char *fleet,
			  const struct option_list *operands, struct error *err)
{
	struct steer_config config = { .target = args->target_samples,
				       .services = (const char *const *)operands->data + 1,
				       .n_services = operands->n - 1 };
	struct steer_hosts hosts = { 0 };
	int r = config.n_services ? steer_window(args, &config.window, err)
				  : error_set(err, -EINVAL,
					      "rate --target-samples: name the fleet and services");

	r = r < 0 ? r : fleet_steer(fleet, &config, &hosts, err);
	r = r < 0 ? r : apply_rates(args, fleet, &hosts, err);
	steer_hosts_fini(&hosts);
	return r;
}

/* Until a signal ends the process. An hour without samples is no failure. */
static int follow_target(const struct fleet_args *args, const char *fleet,
			 const struct option_list *operands, struct error *err)
{
	double s = args->interval_s;
	const struct timespec pause = { .tv_sec = (time_t)s,
					.tv_nsec = (long)((s - (double)(time_t)s) * 1e9) };

	for (;;) {
		struct error why = { 0 };
		int r = rate_by_target(args, fleet, operands, &why);

		if (r == -EINVAL)
			return error_set(err, r, "%s", why.text);
		if (r < 0 && r != -ENODATA)
			log_warning("rates stay as they are: %s", why.text);
		nanosleep(&pause, NULL);
	}
}

int fleet_rate_run(const struct fleet_args *args, const struct option_list *operands,
		   struct error *err)
{
	bool has_target = args->target_samples > 0;
	const char *fleet;
	uint64_t hz = 0;
	int r = operands->n == 3 || has_target
			? fleet_operand(operands, &fleet, err)
			: error_set(err, -EINVAL, "rate: name the fleet, a host or '*', and HZ");

	if (r >= 0 && has_target && args->follow)
		return follow_target(args, fleet, operands, err);
	if (r >= 0 && has_target) {
		r = rate_by_target(args, fleet, operands, err);
		return r < 0 ? r : EXIT_OK;
	}
	r = r < 0 ? r : parse_hz(operands->data[2], &hz, err);
	r = r < 0 ? r : fleet_rate_set(fleet, operands->data[1], hz, err);
	r = r < 0 ? r : log_rate(fleet, operands->data[1], hz, err);
	return r < 0 ? r : EXIT_OK;
}
