/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet adopt: profiles that programs push become blocks of a host. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/log.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_adopt.h"
#include "fleet/fleet_store.h"
#include "guard/parser.h"

#define USUAL_HOST   "pushed"
#define PARSER_BYTES ((uint64_t)512 << 20)

static volatile sig_atomic_t adopt_is_over;

static void end_adopt(int signal)
{
	(void)signal;
	adopt_is_over = 1;
}

static bool adopt_stops(void)
{
	return adopt_is_over;
}

static int adopt_once(struct fleet_adopt *a, struct error *err)
{
	struct fleet_adopt_result result;
	int r = fleet_adopt_round(a, &result, err);

	parser_end_children(); /* until the next round, their memory is free */
	if (result.n_sent)
		log_info("%" PRIu32 " blocks with %" PRIu64 " samples", result.n_sent,
			 result.samples);
	if (result.expired)
		log_warning("%" PRIu64 " samples can't be sent any longer: their parts were "
			    "merged or removed",
			    result.expired);
	if (r >= 0 && result.n_unread)
		return error_set(err, -EBADMSG, "%" PRIu32 " parts or blocks were left out",
				 result.n_unread);
	return r;
}

int fleet_adopt_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	const struct sigaction on_end = { .sa_handler = end_adopt };
	const struct timespec pause =
		timespec_of_ns((uint64_t)(args->interval_s * (double)NS_PER_SECOND));
	struct fleet_adopt_config config = { .host = USUAL_HOST,
					     .max_bytes = args->push_bytes,
					     .stops = adopt_stops };
	struct fleet_adopt *a;
	int r;

	if (operands->n < 2 || operands->n > 3)
		return error_set(err, -EINVAL,
				 "adopt: name the fleet, the history of the profiles, and perhaps "
				 "the name of a host");
	config.fleet = operands->data[0];
	config.history = operands->data[1];
	if (operands->n > 2)
		config.host = operands->data[2];
	if (!fleet_host_is_valid(config.host))
		return error_set(err, -EINVAL, "'%s' can't be the name of a host", config.host);
	if (!args->follow && access(config.history, R_OK) < 0)
		return error_errno(err, -errno, "cannot read %s", config.history);
	r = fleet_make(config.fleet, err);
	if (r < 0)
		return r;
	sigaction(SIGINT, &on_end, NULL);
	sigaction(SIGTERM, &on_end, NULL);
	parser_use_children(PARSER_BYTES);
	a = fleet_adopt_new(&config);
	r = args->follow ? 0 : adopt_once(a, err);
	while (args->follow && !adopt_is_over) {
		struct error why = { 0 };

		if (adopt_once(a, &why) < 0 && !adopt_is_over)
			log_warning("pushed profiles: %s", why.text);
		if (!adopt_is_over)
			nanosleep(&pause, NULL); /* a signal ends it */
	}
	fleet_adopt_free(a);
	return r < 0 ? r : EXIT_OK;
}
