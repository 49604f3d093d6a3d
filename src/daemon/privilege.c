/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "daemon/user.h"
#include "guard/opener.h"

/* Since Linux 5.8, and newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

struct kept {
	unsigned int capability;
	bool (*is_needed)(bool has_mount); /* NULL: always */
};

static bool has_mount_to_end(bool has_mount)
{
	return has_mount;
}

static const struct kept kept_by_daemon[] = {
	/* perf_event_open(2) for all processes, and attaching programs to counters. */
	{ CAP_PERFMON, NULL },
	/* Loading the in-kernel sampler again, when events change or the rate exceeds its maps. */
	{ CAP_BPF, NULL },
	/* /proc/kallsyms with addresses, where kernel.kptr_restrict is 1. */
	{ CAP_SYSLOG, NULL },
	/* Mapping the ring of a CPU that comes online, beyond kernel.perf_event_mlock_kb. */
	{ CAP_IPC_LOCK, NULL },
	/* Unmounting our own file system: oprofilefs. */
	{ CAP_SYS_ADMIN, has_mount_to_end },
};

/*
 * Linux has levels up to 2. The kernels of Debian (default 3) and Ubuntu require CAP_SYS_ADMIN for
 * counters at higher levels. Other kernels treat such a level as 2.
 */
#define LEVEL_FILE "/proc/sys/kernel/perf_event_paranoid"
#define LEVEL_MAX  2

/* Before Linux 5.8, CAP_PERFMON was part of CAP_SYS_ADMIN. See also LEVEL_MAX. */
static bool counters_want_admin(void)
{
	char level[16];

	return prctl(PR_CAPBSET_READ, CAP_PERFMON, 0, 0, 0) < 0 ||
	       (file_read_line(LEVEL_FILE, level, sizeof(level)) && atoi(level) > LEVEL_MAX);
}

static bool opener_opens_counters(bool has_mount)
{
	(void)has_mount;
	return counters_want_admin();
}

static const struct kept kept_by_opener[] = {
	/* /proc/PID/maps, exe and root of other users' processes: their mappings. */
	{ CAP_SYS_PTRACE, NULL },
	/* Executables that only their owner may read: build ids and unwind tables. */
	{ CAP_DAC_READ_SEARCH, NULL },
	/* Counters for the daemon. */
	{ CAP_PERFMON, opener_opens_counters },
	{ CAP_SYS_ADMIN, opener_opens_counters },
};

static bool is_kept(const struct kept *kept, size_t n, unsigned int capability, bool has_mount)
{
	for (size_t k = 0; k < n; k++)
		if (kept[k].capability == capability &&
		    (!kept[k].is_needed || kept[k].is_needed(has_mount)))
			return true;
	return false;
}

/* As in the unit file; ten steps are a tenfold weight. */
#define NICE_FIRST (-10)

void privilege_go_first(void)
{
	if (getpriority(PRIO_PROCESS, 0) == 0)
		setpriority(PRIO_PROCESS, 0, NICE_FIRST);
}

/*
 * Without CAP_SETPCAP, the bounding set stays; then children can't have more capabilities either.
 * The change of the user makes all capabilities ineffective.
 */
static int keep_only(const struct kept *kept, size_t n, bool has_mount,
		     const struct daemon_user *user, struct error *err)
{
	bool had[CAP_LAST_CAP + 1];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot set no_new_privs");
	if (capng_get_caps_process() < 0)
		return error_set(err, -EIO, "cannot read the capabilities of this process");
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		had[i] =
			capng_have_capability(CAPNG_PERMITTED, i) && is_kept(kept, n, i, has_mount);
	if (capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP)) {
		capng_clear(CAPNG_SELECT_BOUNDS);
		for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
			if (had[i])
				capng_update(CAPNG_ADD, CAPNG_BOUNDING_SET, i);
		if (capng_apply(CAPNG_SELECT_BOUNDS) < 0)
			return error_set(err, -EPERM, "cannot give up capabilities");
	}
	if (user_become(user, err) < 0)
		return -EPERM;
	capng_clear(CAPNG_SELECT_CAPS);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		if (had[i])
			capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, i);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return error_set(err, -EPERM, "cannot give up capabilities");
	return 0;
}

int privilege_drop(const struct daemon_user *user, bool may_mount, struct error *err)
{
	return keep_only(kept_by_daemon, ARRAY_SIZE(kept_by_daemon), may_mount, user, err);
}

/* In the opener. A signal for the group of the daemon does not end it before the daemon. */
static void privilege_be_opener(int socket, pid_t parent, const struct daemon_user *user)
{
	sigset_t all;
	struct error err;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "assay-opener");
	if (dup2(socket, STDIN_FILENO) < 0)
		_exit(1);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	if (keep_only(kept_by_opener, ARRAY_SIZE(kept_by_opener), false, user, &err) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(1);
	/* A change of the user clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	opener_serve(STDIN_FILENO);
	_exit(0);
}

/* Whether this process has what only an opener is to have. */
static bool has_rights_for_opener(void)
{
	if (capng_get_caps_process() < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(kept_by_opener); i++)
		if (!kept_by_opener[i].is_needed &&
		    capng_have_capability(CAPNG_PERMITTED, kept_by_opener[i].capability))
			return true;
	return false;
}

int privilege_start_opener(const struct daemon_user *user, struct error *err)
{
	int ends[2];
	pid_t parent = getpid(), pid;

	if (!has_rights_for_opener())
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, -errno, "cannot start the opener");
	pid = fork();
	if (pid == 0)
		privilege_be_opener(ends[1], parent, user);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return error_errno(err, -errno, "cannot start the opener");
	}
	opener_connect(ends[0]);
	return pid;
}
