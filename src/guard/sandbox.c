/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/filter.h"

#define SANDBOX_USER "assay-parser"

/* Opens fail as for a file without permission. fstat() of glibc is a call on an open file. */
static const struct filter_row opens[] = {
	{ .call = SCMP_SYS(access), .error = EACCES },
	{ .call = SCMP_SYS(faccessat), .error = EACCES },
	{ .call = SCMP_SYS(faccessat2), .error = EACCES },
	{ .call = SCMP_SYS(lstat), .error = EACCES },
	{ .call = SCMP_SYS(open), .error = EACCES },
	{ .call = SCMP_SYS(openat), .error = EACCES },
	{ .call = SCMP_SYS(openat2), .error = EACCES },
	{ .call = SCMP_SYS(readlink), .error = EACCES },
	{ .call = SCMP_SYS(readlinkat), .error = EACCES },
	{ .call = SCMP_SYS(stat), .error = EACCES },
	{ .call = SCMP_SYS(statx), .error = EACCES },
	{ .call = SCMP_SYS(newfstatat),
	  .argument = 3,
	  .mask = AT_EMPTY_PATH,
	  .value = AT_EMPTY_PATH },
	{ .call = SCMP_SYS(newfstatat), .error = EACCES, .argument = 3, .mask = AT_EMPTY_PATH },
};

static int filter_calls(struct error *err)
{
	/* to itself, as abort() does; a daemon of the same user gets none */
	const struct filter_row own[] = {
		{ .call = SCMP_SYS(tgkill), .mask = UINT32_MAX, .value = (uint64_t)getpid() }
	};
	const struct filter_table tables[] = { filter_basic, FILTER_TABLE(opens),
					       FILTER_TABLE(own) };

	return filter_enter(tables, ARRAY_SIZE(tables), "parser", err);
}

/* Mapped bytes that count for RLIMIT_DATA, in pages: the sixth number. 0: not known. */
static uint64_t data_bytes(void)
{
	char line[128];
	unsigned long long pages = 0;

	if (!file_read_line("/proc/self/statm", line, sizeof(line)) ||
	    sscanf(line, "%*u %*u %*u %*u %*u %llu", &pages) != 1)
		return 0;
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Files that are mapped for reading do not count, as debug files have gigabytes. */
static int limit_resources(uint64_t memory_bytes, struct error *err)
{
	uint64_t now = data_bytes();
	const struct rlimit none = { 0 };
	struct rlimit memory;

	/* A process of a lower limit, as assay serve's, cannot raise it. */
	if (!now || getrlimit(RLIMIT_DATA, &memory) < 0)
		return error_errno(err, -errno, "cannot limit the memory of the parser");
	memory.rlim_cur = memory.rlim_max = MIN(now + memory_bytes, memory.rlim_max);
	if (setrlimit(RLIMIT_DATA, &memory) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return error_errno(err, -errno, "cannot limit the memory of the parser");
	return 0;
}

/*
 * getpwnam() would load the modules of nsswitch.conf and ask them, which takes a millisecond. A
 * user that sysusers has made is in the file.
 */
static bool find_user(uid_t *user, gid_t *group)
{
	FILE *users = fopen("/etc/passwd", "re");
	const struct passwd *p = NULL;

	while (users && (p = fgetpwent(users)) && strcmp(p->pw_name, SANDBOX_USER) != 0)
		;
	if (p) {
		*user = p->pw_uid;
		*group = p->pw_gid;
	}
	if (users)
		fclose(users);
	return p;
}

/*
 * Whether this user namespace has the number, by /proc/self/uid_map or gid_map: lines of the first
 * number, its number outside, and how many follow (user_namespaces(7)). Without the file, it has.
 */
static bool is_mapped(const char *map, uint32_t id)
{
	FILE *file = fopen(map, "re");
	unsigned int first, n;
	bool is_found = !file;

	while (file && !is_found && fscanf(file, "%u %*u %u", &first, &n) == 2)
		is_found = id - first < n;
	if (file)
		fclose(file);
	return is_found;
}

/* Without such a user, root's name remains, without root's rights. */
static int change_user(struct error *err)
{
	uid_t user;
	gid_t group;

	if (sandbox_user(&user, &group) &&
	    (setgroups(0, NULL) < 0 || setresgid(group, group, group) < 0 ||
	     setresuid(user, user, user) < 0))
		return error_errno(err, -errno, "cannot become the user '%s'", SANDBOX_USER);
	return 0;
}

static int drop_capabilities(struct error *err)
{
	capng_setpid(gettid());
	capng_clear(CAPNG_SELECT_ALL);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return error_set(err, -EPERM, "cannot give up the capabilities of the parser");
	return 0;
}

int sandbox_give_up_rights(struct error *err)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot give up the rights of the parser");
	/* Without CAP_SETPCAP, the bounding set stays; no_new_privs makes it useless. */
	capng_setpid(gettid());
	capng_clear(CAPNG_SELECT_BOUNDS);
	capng_apply(CAPNG_SELECT_BOUNDS);
	r = change_user(err);
	return r == 0 ? drop_capabilities(err) : r;
}

bool sandbox_user(uid_t *user, gid_t *group)
{
	return geteuid() == 0 && find_user(user, group) && is_mapped("/proc/self/uid_map", *user) &&
	       is_mapped("/proc/self/gid_map", *group);
}

int sandbox_enter(uint64_t memory_bytes, struct error *err)
{
	int r = sandbox_give_up_rights(err);

	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = error_errno(err, -errno, "cannot give up the rights of the parser");
	if (r == 0)
		r = limit_resources(memory_bytes, err);
	return r == 0 ? filter_calls(err) : r;
}
