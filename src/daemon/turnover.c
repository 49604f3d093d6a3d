/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/turnover.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/actions.h"
#include "daemon/confine.h"
#include "daemon/daemon_state.h"
#include "daemon/upkeep.h"

/* Of the size to keep, in percent: two sessions, and a fifth for what grows meanwhile. */
#define SHARE_OF_ONE 40

/* The child's exit status is the session's share of the size to keep in percent, or … */
#define SHARE_MOST   100
#define NOT_MEASURED 101

/* In the child: removes what was turned over before, and measures the rest. */
static int measure(const struct daemon *d)
{
	cleanup(free_at_exit) char *dropped = xasprintf("%s/" DROPPED_NAME, d->samples);
	struct error why = { 0 };
	double share;

	if (confine_upkeep(d->samples, &why) < 0 ||
	    (access(dropped, F_OK) == 0 && file_remove_tree(dropped, &why) < 0)) {
		log_error("the size of the samples: %s", why.text);
		return NOT_MEASURED;
	}
	share = 100.0 * (double)file_tree_disk_bytes(d->current) / (double)d->settings.keep_bytes;
	return share < SHARE_MOST ? (int)share : SHARE_MOST;
}

static void begin_measuring(struct daemon *d, uint64_t now_ns)
{
	struct error err = { 0 };
	pid_t pid = upkeep_fork(d->is_upkeep_late, &err);

	if (!pid)
		_exit(measure(d));
	d->upkept_ns = now_ns;
	d->size_before = d->size_bytes;
	d->upkeep = MAX(pid, 0);
	if (pid >= 0)
		return;
	log_error("%s", err.text);
	d->size_bytes = 0; /* in a minute again */
}

static void take_measure(struct daemon *d, int status, uint64_t now_ns)
{
	struct error err = { 0 };
	int share = WIFEXITED(status) ? WEXITSTATUS(status) : NOT_MEASURED;

	d->upkeep = 0;
	d->is_upkeep_late = false;
	d->size_bytes -= d->size_before; /* what grew meanwhile may count twice */
	if (share > SHARE_MOST)
		return;
	if (share < SHARE_OF_ONE) {
		d->size_bytes += d->settings.keep_bytes / 100 * (uint64_t)share;
		return;
	}
	d->size_bytes = 0;
	if (daemon_turn_over(d, &err) < 0)
		log_error("the samples cannot be turned over: %s", err.text);
	else
		begin_measuring(d, now_ns); /* at once, to remove the oldest */
}

static bool may_be_large(struct daemon *d, uint64_t grown_bytes)
{
	if (grown_bytes < d->grown_bytes) /* another recording */
		d->grown_bytes = 0;
	d->size_bytes += grown_bytes - d->grown_bytes;
	d->grown_bytes = grown_bytes;
	return d->size_bytes >= d->settings.keep_bytes / 100 * SHARE_OF_ONE;
}

void watch_size(struct daemon *d, uint64_t grown_bytes, uint64_t now_ns)
{
	uint64_t since = now_ns - (d->upkept_ns ? d->upkept_ns : d->start_ns);
	uint64_t pace_ns = MIN(d->pace.upkeep_ns, d->pace.measure_ns);
	bool is_urgent;
	int status = 0;

	if (d->upkeep && waitpid(d->upkeep, &status, WNOHANG) != 0)
		take_measure(d, status, now_ns);
	is_urgent = may_be_large(d, grown_bytes);
	if (d->upkeep && !d->is_upkeep_late && (is_urgent || since >= 2 * pace_ns)) {
		stop_upkeep(d);
		d->is_upkeep_late = true;
	}
	if (d->upkeep || !d->settings.keep_bytes || (d->upkept_ns && !is_urgent && since < pace_ns))
		return;
	d->is_upkeep_late |= is_urgent; /* at an ordinary priority */
	begin_measuring(d, now_ns);
}
