/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "daemon/keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"
#include "daemon/confine.h"
#include "daemon/privilege.h"
#include "daemon/user.h"
#include "guard/opener.h"

#define SOCKET STDIN_FILENO

/* An opener that a file kills at once may not keep a CPU busy. */
static const struct timespec before_next = { .tv_nsec = 100000000 };

struct keeper {
	char *mountpoint; /* NULL: none */
	int children;     /* signalfd */
	pid_t opener;
};

/* The keeper is of the daemon's user already. */
static void be_opener(const struct keeper *k, pid_t keeper)
{
	static const struct daemon_user same = { 0 };
	struct error err;

	prctl(PR_SET_NAME, "assay-opener");
	close(k->children);
	if (privilege_drop(ROLE_OPENER, &same, false, &err) < 0 || prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(1);
	/* Not before, as a change of rights clears it. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != keeper || confine_opener(privilege_counters_want_admin(), &err) < 0)
		_exit(1);
	opener_serve(SOCKET);
	_exit(0);
}

static void start_opener(struct keeper *k)
{
	pid_t keeper = getpid();

	k->opener = fork();
	if (k->opener == 0)
		be_opener(k, keeper);
	opener_notice(SOCKET, k->opener > 0 ? k->opener : -errno);
}

/* Until the opener dies (true), or the daemon has gone (false). */
static bool keeper_await_death(struct keeper *k)
{
	struct pollfd polled[] = { { .fd = SOCKET }, { .fd = k->children, .events = POLLIN } };
	struct signalfd_siginfo info;

	while (k->opener > 0) {
		if (poll(polled, ARRAY_SIZE(polled), -1) < 0 && errno != EINTR)
			return false;
		if (polled[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return false;
		if (polled[1].revents && read(k->children, &info, sizeof(info)) > 0 &&
		    waitpid(k->opener, NULL, WNOHANG) == k->opener)
			k->opener = 0;
	}
	return true;
}

static void keep(struct keeper *k)
{
	for (;;) {
		start_opener(k);
		if (!keeper_await_death(k))
			break;
		opener_notice(SOCKET, -ECHILD);
		nanosleep(&before_next, NULL);
	}
	if (k->opener > 0) {
		kill(k->opener, SIGKILL);
		waitpid(k->opener, NULL, 0);
	}
	if (k->mountpoint)
		umount2(k->mountpoint, MNT_DETACH | UMOUNT_NOFOLLOW);
}

/* A signal for the group of the daemon does not end the keeper before the daemon. */
static void be_keeper(int socket, const struct daemon_user *user, const char *mountpoint)
{
	struct keeper k = { .mountpoint = mountpoint ? realpath(mountpoint, NULL) : NULL };
	struct error err;
	sigset_t all, children;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_NAME, "assay-keeper");
	if (dup2(socket, SOCKET) < 0)
		_exit(1);
	close_range(STDERR_FILENO + 1, ~0U, 0);
	sigemptyset(&children);
	sigaddset(&children, SIGCHLD);
	k.children = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
	if (k.children < 0 || privilege_drop(ROLE_KEEPER, user, k.mountpoint != NULL, &err) < 0 ||
	    prctl(PR_SET_DUMPABLE, 0) < 0 ||
	    confine_keeper(privilege_counters_want_admin(), k.mountpoint != NULL, &err) < 0)
		_exit(1);
	keep(&k);
	_exit(0);
}

pid_t keeper_start(const struct daemon_user *user, const char *mountpoint, struct error *err)
{
	int ends[2];
	pid_t pid;

	if (!privilege_check_opener())
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return error_errno(err, -errno, "cannot start the opener");
	pid = thread_fork_real_time();
	if (pid == 0)
		be_keeper(ends[1], user, mountpoint);
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return error_errno(err, -errno, "cannot start the opener");
	}
	opener_connect(ends[0]);
	return pid;
}

void keeper_end(pid_t keeper)
{
	opener_connect(-1);
	if (keeper > 0)
		while (waitpid(keeper, NULL, 0) < 0 && errno == EINTR)
			;
}
