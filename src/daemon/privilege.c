/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

/* Since Linux 5.8, and newer than some headers. */
#ifndef CAP_PERFMON
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

static const struct {
	unsigned int capability;
	bool for_mount;
} kept[] = {
	/* perf_event_open(2) for all processes, and attaching programs to counters. */
	{ CAP_PERFMON, false },
	/* Loading the in-kernel sampler again, when events change or the rate exceeds its maps. */
	{ CAP_BPF, false },
	/* /proc/PID/maps, exe and root of other users' processes: their mappings. */
	{ CAP_SYS_PTRACE, false },
	/* Executables that only their owner may read: build ids and unwind tables. */
	{ CAP_DAC_READ_SEARCH, false },
	/* /proc/kallsyms with addresses, where kernel.kptr_restrict is 1. */
	{ CAP_SYSLOG, false },
	/* Mapping the ring of a CPU that comes online, beyond kernel.perf_event_mlock_kb. */
	{ CAP_IPC_LOCK, false },
	/* Unmounting our own file system: oprofilefs. */
	{ CAP_SYS_ADMIN, true },
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

static bool is_kept(unsigned int capability, bool may_mount)
{
	if (capability == CAP_SYS_ADMIN && counters_want_admin())
		return true;
	for (size_t k = 0; k < ARRAY_SIZE(kept); k++)
		if (kept[k].capability == capability && (!kept[k].for_mount || may_mount))
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

int privilege_drop(bool may_mount, struct error *err)
{
	bool has_setpcap;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot set no_new_privs");
	if (capng_get_caps_process() < 0)
		return error_set(err, -EIO, "cannot read the capabilities of this process");
	/*
	 * Without CAP_SETPCAP, the bounding set stays; then children can't have more capabilities
	 * either.
	 */
	has_setpcap = capng_have_capability(CAPNG_EFFECTIVE, CAP_SETPCAP);
	for (unsigned int i = 0; i <= CAP_LAST_CAP; i++)
		if (!is_kept(i, may_mount) || !capng_have_capability(CAPNG_PERMITTED, i))
			capng_update(CAPNG_DROP,
				     CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE |
					     CAPNG_BOUNDING_SET | CAPNG_AMBIENT,
				     i);
	if (capng_apply(has_setpcap ? CAPNG_SELECT_ALL : CAPNG_SELECT_CAPS) < 0)
		return error_set(err, -EPERM, "cannot give up capabilities");
	return 0;
}
