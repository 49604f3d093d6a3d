/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/confine.h"

#include <cap-ng.h>
#include <errno.h>
#include <linux/netlink.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/cache_dir.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/fence.h"
#include "guard/filter.h"

/* Newer than some headers. */
#ifndef CLONE_NEWCGROUP
#define CLONE_NEWCGROUP 0x02000000
#endif

#define NO_SET_ID .mask = S_ISUID | S_ISGID
#define NAMESPACES                                                                                \
	((uint64_t)(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		    CLONE_NEWPID | CLONE_NEWNET))

/* A history: files and folders, and the process itself. */
static const struct filter_row history_calls[] = {
	FILTER_ALLOW(access),
	FILTER_ALLOW(capget),
	FILTER_ALLOW(capset),
	FILTER_ALLOW(chdir),
	{ .call = SCMP_SYS(chmod), .argument = 1, NO_SET_ID },
	FILTER_ALLOW(close_range),
	FILTER_ALLOW(copy_file_range),
	FILTER_ALLOW(dup),
	FILTER_ALLOW(dup2),
	FILTER_ALLOW(dup3),
	FILTER_ALLOW(faccessat),
	FILTER_ALLOW(faccessat2),
	FILTER_ALLOW(fadvise64),
	FILTER_ALLOW(fallocate),
	FILTER_ALLOW(fchown),
	FILTER_ALLOW(fchownat),
	FILTER_ALLOW(fdatasync),
	FILTER_ALLOW(flock),
	FILTER_ALLOW(fsync),
	FILTER_ALLOW(getcpu),
	FILTER_ALLOW(getcwd),
	FILTER_ALLOW(getdents),
	FILTER_ALLOW(getdents64),
	FILTER_ALLOW(getegid),
	FILTER_ALLOW(getgid),
	FILTER_ALLOW(getppid),
	FILTER_ALLOW(getpriority),
	FILTER_ALLOW(getrlimit),
	FILTER_ALLOW(getrusage),
	FILTER_ALLOW(ioprio_set),
	FILTER_ALLOW(lchown),
	FILTER_ALLOW(link),
	FILTER_ALLOW(linkat),
	FILTER_ALLOW(lstat),
	FILTER_ALLOW(membarrier),
	FILTER_ALLOW(mincore),
	FILTER_ALLOW(mkdir),
	FILTER_ALLOW(mkdirat),
	FILTER_ALLOW(mlock),
	FILTER_ALLOW(msync),
	FILTER_ALLOW(munlock),
	FILTER_ALLOW(newfstatat),
	FILTER_ALLOW(open),
	FILTER_ALLOW(openat),
	FILTER_ALLOW(openat2),
	FILTER_ALLOW(pipe),
	FILTER_ALLOW(pipe2),
	FILTER_ALLOW(prctl),
	FILTER_ALLOW(preadv),
	FILTER_ALLOW(pwritev),
	FILTER_ALLOW(readahead),
	FILTER_ALLOW(readlink),
	FILTER_ALLOW(readlinkat),
	FILTER_ALLOW(readv),
	FILTER_ALLOW(rename),
	FILTER_ALLOW(renameat),
	FILTER_ALLOW(renameat2),
	FILTER_ALLOW(rmdir),
	FILTER_ALLOW(sched_getparam),
	FILTER_ALLOW(sched_getscheduler),
	FILTER_ALLOW(sched_setscheduler),
	FILTER_ALLOW(seccomp),
	FILTER_ALLOW(sendfile),
	FILTER_ALLOW(set_tid_address),
	FILTER_ALLOW(setpriority),
	FILTER_ALLOW(setrlimit),
	FILTER_ALLOW(stat),
	FILTER_ALLOW(statfs),
	FILTER_ALLOW(statx),
	FILTER_ALLOW(sync_file_range),
	FILTER_ALLOW(syncfs),
	FILTER_ALLOW(sysinfo),
	FILTER_ALLOW(times),
	FILTER_ALLOW(truncate),
	FILTER_ALLOW(umask),
	FILTER_ALLOW(uname),
	FILTER_ALLOW(unlink),
	FILTER_ALLOW(unlinkat),
	FILTER_ALLOW(utimensat),
	FILTER_ALLOW(writev),
	{ .call = SCMP_SYS(fchmod), .argument = 1, NO_SET_ID },
	{ .call = SCMP_SYS(mmap), .argument = 2, .mask = PROT_EXEC },
	{ .call = SCMP_SYS(fchmodat), .argument = 2, NO_SET_ID },
	{ .call = SCMP_SYS(prlimit64), .argument = 0, .mask = UINT64_MAX },
};

/*
 * Counters, the sampler, requests. A socket of the internet is opened before, to listen; there is
 * no connect(2), and none by the way of MSG_FASTOPEN.
 */
static const struct filter_row daemon_calls[] = {
	FILTER_ALLOW(accept),
	FILTER_ALLOW(accept4),
	FILTER_ALLOW(bind),
	FILTER_ALLOW(bpf),
	FILTER_ALLOW(epoll_create),
	FILTER_ALLOW(epoll_create1),
	FILTER_ALLOW(epoll_ctl),
	FILTER_ALLOW(epoll_pwait),
	FILTER_ALLOW(epoll_pwait2),
	FILTER_ALLOW(epoll_wait),
	FILTER_ALLOW(eventfd2),
	FILTER_ALLOW(getpeername),
	FILTER_ALLOW(getsockname),
	FILTER_ALLOW(getsockopt),
	FILTER_ALLOW(ioctl),
	FILTER_ALLOW(kill),
	FILTER_ALLOW(name_to_handle_at),
	FILTER_ALLOW(open_by_handle_at),
	FILTER_ALLOW(perf_event_open),
	FILTER_ALLOW(pidfd_open),
	FILTER_ALLOW(pselect6),
	FILTER_ALLOW(recvfrom),
	FILTER_ALLOW(sched_setaffinity),
	FILTER_ALLOW(select),
	FILTER_ALLOW(setsockopt),
	FILTER_ALLOW(shutdown),
	FILTER_ALLOW(signalfd4),
	FILTER_ALLOW(timerfd_create),
	FILTER_ALLOW(timerfd_gettime),
	FILTER_ALLOW(timerfd_settime),
	FILTER_ALLOW(wait4),
	FILTER_ALLOW(waitid),
	{ .call = SCMP_SYS(socket), .mask = UINT64_MAX, .value = AF_UNIX },
	{ .call = SCMP_SYS(socket), .mask = UINT64_MAX, .value = AF_NETLINK },
	{ .call = SCMP_SYS(socketpair), .mask = UINT64_MAX, .value = AF_UNIX },
	{ .call = SCMP_SYS(sendto), .argument = 3, .mask = MSG_FASTOPEN },
	/* Processes, but in no other namespaces. */
	{ .call = SCMP_SYS(clone), .mask = NAMESPACES },
	/* The fence of the upkeep, which has no names in older libraries. */
	{ .call = 444 },
	{ .call = 445 },
	{ .call = 446 },
};

static const struct filter_row opener_calls[] = {
	FILTER_ALLOW(access),
	FILTER_ALLOW(lstat),
	FILTER_ALLOW(newfstatat),
	FILTER_ALLOW(open),
	FILTER_ALLOW(open_by_handle_at),
	FILTER_ALLOW(openat),
	FILTER_ALLOW(openat2),
	FILTER_ALLOW(readlink),
	FILTER_ALLOW(readlinkat),
	FILTER_ALLOW(stat),
	FILTER_ALLOW(statx),
};

static const struct filter_row counter_calls[] = { FILTER_ALLOW(perf_event_open) };

int confine_opener(bool opens_counters, struct error *err)
{
	const struct filter_table tables[] = { filter_basic, filter_signals,
					       FILTER_TABLE(opener_calls),
					       FILTER_TABLE(counter_calls) };

	return filter_enter(tables, opens_counters ? 4 : 3, "opener", err);
}

static const struct filter_row keeper_calls[] = {
	FILTER_ALLOW(capget),
	FILTER_ALLOW(capset),
	FILTER_ALLOW(getppid),
	FILTER_ALLOW(kill),
	FILTER_ALLOW(prctl),
	FILTER_ALLOW(seccomp),
	FILTER_ALLOW(set_tid_address),
	FILTER_ALLOW(wait4),
	{ .call = SCMP_SYS(clone), .mask = NAMESPACES },
};

static const struct filter_row mount_calls[] = { FILTER_ALLOW(umount2) };
static const struct filter_table none;

/* The calls of its openers, too, because they inherit its filter. */
int confine_keeper(bool opens_counters, bool has_mount, struct error *err)
{
	const struct filter_table tables[] = {
		filter_basic,
		filter_signals,
		FILTER_TABLE(opener_calls),
		FILTER_TABLE(keeper_calls),
		opens_counters ? FILTER_TABLE(counter_calls) : none,
		has_mount ? FILTER_TABLE(mount_calls) : none,
	};

	return filter_enter(tables, ARRAY_SIZE(tables), "keeper", err);
}

/* A service manager of systemd's protocol may listen at such a name. */
static bool is_manager_abstract(void)
{
	const char *socket = getenv("NOTIFY_SOCKET");

	return socket && *socket == '@';
}

int confine_daemon(const char *dir, bool has_opener, struct error *err)
{
	const struct filter_table tables[] = { filter_basic, filter_signals,
					       FILTER_TABLE(history_calls),
					       FILTER_TABLE(daemon_calls) };
	cleanup(free_at_exit) char *cache = cache_dir("");
	const char *const readable[] = { "/" };
	const char *const writable[] = { dir, "/dev/null", cache ? cache : dir };
	const struct fence fence = {
		.readable = readable,
		.n_readable = ARRAY_SIZE(readable),
		.writable = writable,
		.n_writable = ARRAY_SIZE(writable),
		.may_use_abstract_sockets = is_manager_abstract(),
	};
	int version, r;

	if (cache)
		file_mkdirs(cache, 0700, NULL);
	version = has_opener ? fence_enter(&fence, err) : 0;
	if (version < 0)
		return version;
	r = filter_enter(tables, ARRAY_SIZE(tables), "daemon", err);
	return r < 0 ? r : version;
}

int confine_upkeep(const char *dir, struct error *err)
{
	const struct filter_table tables[] = { filter_basic, filter_signals,
					       FILTER_TABLE(history_calls) };
	const char *const readable[] = { "/etc", "/usr/share/zoneinfo" };
	const struct fence fence = {
		.readable = readable,
		.n_readable = ARRAY_SIZE(readable),
		.writable = &dir,
		.n_writable = 1,
	};
	int r;

	capng_setpid(gettid());
	capng_clear(CAPNG_SELECT_CAPS);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return error_set(err, -EPERM, "cannot give up the capabilities of the upkeep");
	r = fence_enter(&fence, err);
	return r < 0 ? r : filter_enter(tables, ARRAY_SIZE(tables), "upkeep", err);
}
