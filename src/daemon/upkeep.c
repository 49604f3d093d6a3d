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
#include "base/files/file.h"
#include "base/log.h"
#include "base/thread.h"
#include "guard/opener.h"
#include "base/mem.h"
#include "daemon/confine.h"
#include "daemon/daemon_config.h"
#include "store/history/retention.h"

/* From linux/ioprio.h, which older headers lack. */
#define IOPRIO_WHO_PROCESS 1
#define IOPRIO_IDLE        (3 << 13)

static void be_modest(void)
{
	struct sched_param none = { 0 };

	setpriority(PRIO_PROCESS, 0, 19);
	sched_setscheduler(0, SCHED_BATCH, &none);
	syscall(SYS_ioprio_set, IOPRIO_WHO_PROCESS, 0, IOPRIO_IDLE);
}

/*
 * Lists the parts that are finished now. The child gets to run later, because of its priority and
 * the history's lock; then another part may be the active one.
 */
static int list_over(const char *dir, const char *active, struct history_names *out,
		     struct error *err)
{
	int r = history_list(dir, out);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", dir);
	history_names_drop(out, active);
	return 0;
}

static int keep_up(const char *dir, const struct history_names *over,
		   const struct daemon_settings *settings, struct error *err)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result;
	/* A user may be merging by hand. */
	cleanup(close_at_exit) int lock = history_lock(dir, true, err);
	int r;

	if (lock < 0)
		return lock;
	policy.max_age_s = (uint64_t)settings->keep_age_s;
	policy.max_bytes = settings->keep_bytes;
	policy.times_s = (uint64_t)settings->exact_age_s;
	policy.over = over;
	policy.is_locked = true;
	r = history_retain(dir, &policy, &result, err);
	if (result.n_packed)
		log_verbose("upkeep: %u parts packed", result.n_packed);
	if (r < 0)
		return r;
	if (result.n_made || result.n_removed)
		log_info("upkeep: %u parts merged into %u, %u removed; %.1f MB, before %.1f MB",
			 result.n_merged, result.n_made, result.n_removed,
			 (double)result.bytes_after / 1e6, (double)result.bytes_before / 1e6);
	return 0;
}

pid_t upkeep_fork(bool is_late, struct error *err)
{
	pid_t parent = getpid(), pid = fork();
	sigset_t none;

	if (pid)
		return pid > 0 ? pid : error_errno(err, -errno, "cannot start the upkeep");
	/* Above all the lock file: if the daemon is killed, the next one must not wait for us. */
	opener_connect(-1);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	signal(SIGHUP, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (is_late)
		thread_be_ordinary();
	else
		be_modest();
	return 0;
}

pid_t upkeep_start(const char *dir, const char *active, const struct daemon_settings *settings,
		   bool is_late, struct error *err)
{
	struct history_names over = { 0 };
	struct error why = { 0 };
	int r = list_over(dir, active, &over, err);
	pid_t pid = r < 0 ? r : upkeep_fork(is_late, err);

	if (pid) {
		history_names_fini(&over);
		return pid;
	}
	if (confine_upkeep(dir, &why) < 0 || keep_up(dir, &over, settings, &why) < 0)
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

bool upkeep_reap(pid_t pid)
{
	return waitpid(pid, NULL, WNOHANG) != 0;
}
