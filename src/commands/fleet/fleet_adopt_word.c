/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet adopt: profiles that programs push become blocks of a host. */
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "commands/end_signals.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_adopt.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_tokens.h"
#include "guard/parser.h"
#include "store/history/pushed_names.h"

#define PARSER_BYTES ((uint64_t)512 << 20)

/* Of the last round: each part, and each refusal, has one warning. */
struct adopt_warned {
	uint64_t n_refused;
	uint32_t n_unread;
};

static void warn_of_refused(const struct fleet_adopt_config *config)
{
	struct buf pushers = { 0 }, visible = { 0 };
	uint64_t n = pushed_names_refused(config->history, &pushers);

	utf8_append_visible(&visible, buf_cstr(&pushers));
	log_warning("%" PRIu64 " %s too many services or events%s%s", n,
		    plural(n, "push was refused so far: it names",
			   "pushes were refused so far: they name"),
		    visible.len ? "; in the last days: " : "", buf_cstr(&visible));
	buf_fini(&pushers);
	buf_fini(&visible);
}

static int adopt_once(struct fleet_adopt *a, const struct fleet_adopt_config *config,
		      struct adopt_warned *warned, struct error *err)
{
	struct fleet_adopt_result result;
	int r = fleet_adopt_round(a, &result, err);

	parser_end_children(); /* until the next round, their memory is free */
	if (result.n_sent)
		log_info("%" PRIu32 " block%s with %" PRIu64 " sample%s", result.n_sent,
			 plural_s(result.n_sent), result.samples, plural_s(result.samples));
	if (result.expired)
		log_warning("%" PRIu64 " sample%s can't be sent any longer: their parts were "
			    "merged or removed",
			    result.expired, plural_s(result.expired));
	if (result.n_refused > warned->n_refused)
		warn_of_refused(config);
	if (r >= 0 && result.n_unread && result.n_unread != warned->n_unread)
		r = error_set(err, -EBADMSG, "%" PRIu32 " %s left out", result.n_unread,
			      plural(result.n_unread, "part or block was", "parts or blocks were"));
	warned->n_refused = result.n_refused;
	warned->n_unread = result.n_unread;
	return r;
}

/* Files of root would keep the gateway out, and a host of this name would be refused. */
static int check_fleet(const char *fleet, struct error *err)
{
	cleanup(close_at_exit) int lock = fleet_lock(fleet, err);

	if (lock >= 0 && fleet_is_enrolled(fleet, FLEET_PUSHED_HOST))
		return error_set(
			err, -EEXIST,
			"%s has a token of a host '%s', which is the name of the host with "
			"pushed profiles: forget it, or enroll it by another name",
			fleet, FLEET_PUSHED_HOST);
	return MIN(lock, 0);
}

int fleet_adopt_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	struct fleet_adopt_config config = { .max_bytes = args->push_bytes,
					     .stops = end_signals_came };
	struct fleet_adopt *a;
	struct adopt_warned warned = { 0 };
	int r;

	if (operands->n != 2)
		return error_set(err, -EINVAL,
				 "adopt: name the fleet, and the history of the profiles");
	config.fleet = operands->data[0];
	config.history = operands->data[1];
	if (!args->follow && access(config.history, R_OK) < 0)
		return error_errno(err, -errno, "cannot read %s", config.history);
	r = fleet_make(config.fleet, err);
	r = r < 0 ? r : check_fleet(config.fleet, err);
	if (r < 0)
		return r;
	end_signals_catch();
	parser_use_children(PARSER_BYTES);
	a = fleet_adopt_new(&config);
	r = args->follow ? 0 : adopt_once(a, &config, &warned, err);
	while (args->follow && !end_signals_came()) {
		struct error why = { 0 };

		if (adopt_once(a, &config, &warned, &why) < 0 && !end_signals_came())
			log_warning("pushed profiles: %s", why.text);
		end_signals_wait(args->interval_s);
	}
	fleet_adopt_free(a);
	return r < 0 ? r : EXIT_OK;
}
