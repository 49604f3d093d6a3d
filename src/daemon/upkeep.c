/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/upkeep.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "daemon/daemon.h"
#include "store/history.h"
#include "store/pack.h"
#include "store/retention.h"

/* linux/ioprio.h, which older headers lack. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE        (3 << 13)

static void be_modest(void)
{
	struct sched_param none = { 0 };

	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_IDLE, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

/* All but the one that is being written are over, with an end or without. */
static int pack_all(const char *dir, const char *active, struct error *err)
{
	struct history_names names = { 0 };
	int n = 0, r = history_list(dir, &names);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", dir);
	for (size_t i = 0; i < names.n && r != -ENOSPC; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, names.data[i]);

		if (!strcmp(names.data[i], active))
			continue;
		/* One that can't be read is left for people to look at. */
		r = part_pack(path, true, err);
		n += r > 0;
	}
	history_names_fini(&names);
	return r == -ENOSPC ? r : n;
}

static int keep_up(const char *dir, const char *active, const struct daemon_settings *settings,
		   struct error *err)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	/* Somebody may be at it by hand. */
	cleanup(close_at_exit) int lock = history_lock(dir, true, err);
	int r = lock < 0 ? lock : pack_all(dir, active, err);

	if (lock < 0)
		return r;
	if (r > 0)
		log_verbose("upkeep: %d parts packed", r);
	policy.max_age_s = (uint64_t)settings->keep_age_s;
	policy.max_bytes = settings->keep_bytes;
	policy.active = active;
	policy.is_locked = true;
	if (r >= 0 || r == -ENOSPC) /* what is too old makes room */
		r = history_retain(dir, &policy, &result, err);
	if (r < 0)
		return r;
	if (result.n_made || result.n_removed)
		log_info("upkeep: %u parts merged into %u, %u removed; %.1f MB, before %.1f MB",
			 result.n_merged, result.n_made, result.n_removed,
			 (double)result.bytes_after / 1e6, (double)result.bytes_before / 1e6);
	return 0;
}

pid_t upkeep_start(const char *dir, const char *active, const struct daemon_settings *settings,
		   struct error *err)
{
	struct error why = { 0 };
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	if (pid < 0)
		return error_errno(err, -errno, "cannot start the upkeep of the history");
	if (pid)
		return pid;
	/* The lock, above all: should the daemon be killed, the next one must not wait for us. */
	close_range(STDERR_FILENO + 1, ~0U, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	be_modest();
	if (keep_up(dir, active, settings, &why) < 0)
		log_error("upkeep: %s", why.text);
	_exit(0);
}

void upkeep_end(pid_t pid, void (*meanwhile)(void *context), void *context)
{
	static const struct timespec nap = { .tv_nsec = 5000000 };

	if (!pid)
		return;
	kill(pid, SIGKILL);
	if (!meanwhile)
		waitpid(pid, NULL, 0);
	while (meanwhile && waitpid(pid, NULL, WNOHANG) == 0) {
		nanosleep(&nap, NULL);
		meanwhile(context);
	}
}

bool upkeep_has_ended(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}
