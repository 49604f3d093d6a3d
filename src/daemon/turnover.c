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

/* Of the size to keep: two sessions, and a fifth for the growth until the next measuring. */
#define SHARE_OF_ONE (2.0 / 5)

#define MEASURE_NS (60 * NS_PER_SECOND)

/* The child's exit status. */
#define SIZE_IS_LARGE 3

/* In the child: removes what was turned over before, and looks at the rest. */
static int measure(const struct daemon *d)
{
	cleanup(free_at_exit) char *dropped = xasprintf("%s/" DROPPED_NAME, d->samples);
	struct error why = { 0 };

	if (confine_upkeep(d->samples, &why) < 0 ||
	    (access(dropped, F_OK) == 0 && file_remove_tree(dropped, &why) < 0)) {
		log_error("the size of the samples: %s", why.text);
		return 0;
	}
	return (double)file_tree_disk_bytes(d->current) >=
			       SHARE_OF_ONE * (double)d->settings.keep_bytes
		       ? SIZE_IS_LARGE
		       : 0;
}

static void begin_measuring(struct daemon *d, uint64_t now_ns)
{
	struct error err = { 0 };
	pid_t pid = upkeep_fork(d->is_upkeep_late, &err);

	if (!pid)
		_exit(measure(d));
	d->upkept_ns = now_ns;
	d->upkeep = MAX(pid, 0);
	if (pid < 0)
		log_error("%s", err.text);
}

void watch_size(struct daemon *d, uint64_t now_ns)
{
	uint64_t since = now_ns - (d->upkept_ns ? d->upkept_ns : d->start_ns);
	uint64_t pace_ns = MIN(d->pace.upkeep_ns, MEASURE_NS);
	struct error err = { 0 };
	int status = 0;

	if (d->upkeep && waitpid(d->upkeep, &status, WNOHANG) != 0) {
		d->upkeep = 0;
		d->is_upkeep_late = false;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == SIZE_IS_LARGE) {
		if (daemon_turn_over(d, &err) < 0)
			log_error("the samples cannot be turned over: %s", err.text);
		else
			begin_measuring(d, now_ns); /* at once, to remove the oldest */
	}
	if (d->upkeep && !d->is_upkeep_late && since >= 2 * pace_ns) {
		stop_upkeep(d);
		d->is_upkeep_late = true;
	}
	if (!d->upkeep && d->settings.keep_bytes && since >= pace_ns)
		begin_measuring(d, now_ns);
}
