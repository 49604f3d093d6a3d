/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "daemon/user.h"

/* Since Linux 5.8, and newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

/*
 * Linux has levels up to 2. The kernels of Debian (default 3) and Ubuntu require CAP_SYS_ADMIN for
 * counters at higher levels. Other kernels treat such a level as 2.
 */
#define LEVEL_FILE "/proc/sys/kernel/perf_event_paranoid"
#define LEVEL_MAX  2

/* Before Linux 5.8, CAP_PERFMON was part of CAP_SYS_ADMIN. See also LEVEL_MAX. */
bool privilege_counters_want_admin(void)
{
	char level[16];

	return prctl(PR_CAPBSET_READ, CAP_PERFMON, 0, 0, 0) < 0 ||
	       (file_read_line(LEVEL_FILE, level, sizeof(level)) && atoi(level) > LEVEL_MAX);
}

static bool opener_opens_counters(bool has_mount)
{
	(void)has_mount;
	return privilege_counters_want_admin();
}

static bool has_mount_to_end(bool has_mount)
{
	return has_mount;
}

#define BIT(n) (1u << (n))
#define DAEMON BIT(ROLE_DAEMON)
#define KEEPER BIT(ROLE_KEEPER)
#define OPENER BIT(ROLE_OPENER)

static const struct kept {
	unsigned int capability, roles;
	bool (*is_needed)(bool has_mount); /* NULL: always */
} table[] = {
	/* perf_event_open(2) for all processes, and attaching programs to counters. */
	{ CAP_PERFMON, DAEMON, NULL },
	/* Loading the in-kernel sampler again, when events change or the rate exceeds its maps. */
	{ CAP_BPF, DAEMON, NULL },
	/* /proc/kallsyms with addresses, where kernel.kptr_restrict is 1. */
	{ CAP_SYSLOG, DAEMON, NULL },
	/* Mapping the ring of a CPU that comes online, beyond kernel.perf_event_mlock_kb. */
	{ CAP_IPC_LOCK, DAEMON, NULL },
	/* /proc/PID/maps, exe and root of other users' processes: their mappings. */
	{ CAP_SYS_PTRACE, KEEPER | OPENER, NULL },
	/* Executables that only their owner may read: build ids and unwind tables. */
	{ CAP_DAC_READ_SEARCH, KEEPER | OPENER, NULL },
	/* Counters for the daemon. */
	{ CAP_PERFMON, KEEPER | OPENER, opener_opens_counters },
	{ CAP_SYS_ADMIN, KEEPER | OPENER, opener_opens_counters },
	/* Unmounting our own file system: oprofilefs. */
	{ CAP_SYS_ADMIN, KEEPER, has_mount_to_end },
};

static bool is_kept(enum privilege_role role, unsigned int capability, bool has_mount)
{
	for (size_t k = 0; k < ARRAY_SIZE(table); k++)
		if (table[k].capability == capability && table[k].roles & BIT(role) &&
		    (!table[k].is_needed || table[k].is_needed(has_mount)))
			return true;
	return false;
}

/* As in the unit file; ten steps are a tenfold weight. */
#define NICE_FIRST (-10)

void privilege_go_first(void)
{
	struct rlimit first = { 0 }, nice = { 0 };

	if (getpriority(PRIO_PROCESS, 0) == 0)
		setpriority(PRIO_PROCESS, 0, NICE_FIRST);
	/* real_time_guard_look() may end the priority, and needs this to get it again */
	if (getrlimit(RLIMIT_RTPRIO, &first) == 0 && first.rlim_max < 1)
		setrlimit(RLIMIT_RTPRIO, &(struct rlimit){ 1, 1 });
	/* likewise thread_hurry(): 20 less the nice value */
	if (getrlimit(RLIMIT_NICE, &nice) == 0 && nice.rlim_max < 40)
		setrlimit(RLIMIT_NICE, &(struct rlimit){ 40, 40 });
}

/*
 * Without CAP_SETPCAP, the bounding set stays; then children can't have more capabilities either.
 * The change of the user makes all capabilities ineffective.
 */
int privilege_drop(enum privilege_role role, const struct daemon_user *user, bool has_mount,
		   struct error *err)
{
	bool had[CAP_LAST_CAP + 1];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot set no_new_privs");
	capng_setpid(gettid()); /* it may have that of the parent */
	if (capng_get_caps_process() < 0)
		return error_set(err, -EIO, "cannot read the capabilities of this process");
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		had[i] = capng_have_capability(CAPNG_PERMITTED, i) && is_kept(role, i, has_mount);
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

bool privilege_check_opener(void)
{
	if (capng_get_caps_process() < 0)
		return false;
	for (size_t k = 0; k < ARRAY_SIZE(table); k++)
		if (table[k].roles & OPENER && !table[k].is_needed &&
		    capng_have_capability(CAPNG_PERMITTED, table[k].capability))
			return true;
	return false;
}
