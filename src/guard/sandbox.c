/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/sandbox.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <seccomp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"

#define SANDBOX_USER "assay-parser"

static const int allowed[] = {
	SCMP_SYS(alarm),
	SCMP_SYS(brk),
	SCMP_SYS(clock_getres),
	SCMP_SYS(clock_gettime),
	SCMP_SYS(clock_nanosleep),
	SCMP_SYS(close),
	SCMP_SYS(exit),
	SCMP_SYS(exit_group),
	SCMP_SYS(fcntl),
	SCMP_SYS(fstat),
	SCMP_SYS(fstatfs),
	SCMP_SYS(ftruncate),
	SCMP_SYS(futex),
	SCMP_SYS(getpid),
	SCMP_SYS(getrandom),
	SCMP_SYS(gettid),
	SCMP_SYS(geteuid),
	SCMP_SYS(getuid),
	SCMP_SYS(lseek),
	SCMP_SYS(madvise),
	SCMP_SYS(memfd_create),
	SCMP_SYS(mremap),
	SCMP_SYS(munmap),
	SCMP_SYS(nanosleep),
	SCMP_SYS(poll),
	SCMP_SYS(ppoll),
	SCMP_SYS(pread64),
	SCMP_SYS(pwrite64),
	SCMP_SYS(read),
	SCMP_SYS(recvmsg),
	SCMP_SYS(restart_syscall),
	SCMP_SYS(rseq),
	SCMP_SYS(rt_sigaction),
	SCMP_SYS(rt_sigprocmask),
	SCMP_SYS(rt_sigreturn),
	SCMP_SYS(sched_getaffinity),
	SCMP_SYS(sched_yield),
	SCMP_SYS(sendmsg),
	SCMP_SYS(set_robust_list),
	SCMP_SYS(setitimer), /* alarm() where there is no such call */
	SCMP_SYS(sigaltstack),
	SCMP_SYS(tgkill),
	SCMP_SYS(write),
};

static const int opens[] = {
	SCMP_SYS(access),     SCMP_SYS(faccessat), SCMP_SYS(faccessat2), SCMP_SYS(lstat),
	SCMP_SYS(open),       SCMP_SYS(openat),    SCMP_SYS(openat2),    SCMP_SYS(readlink),
	SCMP_SYS(readlinkat), SCMP_SYS(stat),      SCMP_SYS(statx),
};

/* A thread shares all with its process. */
#define THREAD_FLAGS ((scmp_datum_t)(CLONE_VM | CLONE_THREAD | CLONE_SIGHAND))

static int add_rules(scmp_filter_ctx filter)
{
	const scmp_datum_t exec = PROT_EXEC;
	int r = 0;

	/* Rules for calls that this architecture does not have are left out by the library. */
	for (size_t i = 0; i < ARRAY_SIZE(allowed) && r >= 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, allowed[i], 0);
	for (size_t i = 0; i < ARRAY_SIZE(opens) && r >= 0; i++)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), opens[i], 0);
	if (r >= 0) /* fstat() of glibc */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(newfstatat), 1,
				     SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, AT_EMPTY_PATH));
	if (r >= 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(newfstatat), 1,
				     SCMP_A3(SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0));
	if (r >= 0) /* shared memory would not count as the child's */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mmap), 2,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, exec, 0),
				     SCMP_A3(SCMP_CMP_MASKED_EQ, MAP_TYPE, MAP_PRIVATE));
	if (r >= 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(mprotect), 1,
				     SCMP_A2(SCMP_CMP_MASKED_EQ, exec, 0));
	if (r >= 0) /* a question only */
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(prlimit64), 1,
				     SCMP_A2(SCMP_CMP_EQ, 0));
	if (r >= 0)
		r = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
				     SCMP_A0(SCMP_CMP_MASKED_EQ, THREAD_FLAGS, THREAD_FLAGS));
	if (r >= 0) /* its flags are in memory, where a filter sees nothing; clone is taken then */
		r = seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0);
	return r;
}

static int filter_calls(struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? add_rules(filter) : -ENOMEM;

	if (r >= 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? error_errno(err, r, "cannot filter the system calls of the parser") : 0;
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
	const struct rlimit memory = { now + memory_bytes, now + memory_bytes }, none = { 0 };

	if (!now || setrlimit(RLIMIT_DATA, &memory) < 0 || setrlimit(RLIMIT_CORE, &none) < 0)
		return error_errno(err, -errno, "cannot limit the memory of the parser");
	return 0;
}

/* Without such a user, root's name remains, without root's rights. */
static int change_user(struct error *err)
{
	const struct passwd *user = geteuid() == 0 ? getpwnam(SANDBOX_USER) : NULL;

	if (user &&
	    (setgroups(0, NULL) < 0 || setresgid(user->pw_gid, user->pw_gid, user->pw_gid) < 0 ||
	     setresuid(user->pw_uid, user->pw_uid, user->pw_uid) < 0))
		return error_errno(err, -errno, "cannot become the user '%s'", SANDBOX_USER);
	return 0;
}

/* Without CAP_SETPCAP, the bounding set stays; no_new_privs makes it useless. */
static int drop_capabilities(struct error *err)
{
	capng_clear(CAPNG_SELECT_ALL);
	capng_apply(CAPNG_SELECT_BOUNDS);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return error_set(err, -EPERM, "cannot give up the capabilities of the parser");
	return 0;
}

int sandbox_enter(uint64_t memory_bytes, struct error *err)
{
	int r;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return error_errno(err, -errno, "cannot give up the rights of the parser");
	r = change_user(err);
	if (r == 0)
		r = drop_capabilities(err);
	if (r == 0 && prctl(PR_SET_DUMPABLE, 0) < 0)
		r = error_errno(err, -errno, "cannot give up the rights of the parser");
	if (r == 0)
		r = limit_resources(memory_bytes, err);
	return r == 0 ? filter_calls(err) : r;
}
