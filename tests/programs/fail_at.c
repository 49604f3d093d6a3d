/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command whose N-th change of files fails:
 *
 * 	fail_at N HOW DIR LOG COMMAND…
 *
 * Changes are writes to files below DIR, and files and folders there that are made, renamed, cut,
 * synced or removed. Changes of all processes and threads of the command count. HOW is:
 *
 *   ENOSPC, EIO   the call returns this error
 *   short         a write takes half of its bytes; another call returns EIO
 *   kill          the process gets SIGKILL before the call
 *   half          it gets SIGKILL after half of the write
 *
 * LOG gets a line for each of these calls. The status is the command's. The kernel's notifications
 * (seccomp) make it work for any program; 77 is the status if the kernel has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_HERE 77

enum object { BY_FD, BY_PATH, BY_PATH_AT };

/* The calls that change files, and the argument that names the file. */
static const struct call {
	long number;
	const char *name;
	enum object object;
} calls[] = {
	{ SYS_write, "write", BY_FD },          { SYS_pwrite64, "pwrite64", BY_FD },
	{ SYS_writev, "writev", BY_FD },        { SYS_ftruncate, "ftruncate", BY_FD },
	{ SYS_fallocate, "fallocate", BY_FD },  { SYS_fsync, "fsync", BY_FD },
	{ SYS_fdatasync, "fdatasync", BY_FD },  { SYS_syncfs, "syncfs", BY_FD },
	{ SYS_fchmod, "fchmod", BY_FD },        { SYS_fchown, "fchown", BY_FD },
	{ SYS_openat, "openat", BY_PATH_AT },   { SYS_unlinkat, "unlinkat", BY_PATH_AT },
	{ SYS_mkdirat, "mkdirat", BY_PATH_AT }, { SYS_renameat2, "renameat2", BY_PATH_AT },
#ifdef SYS_rename
	{ SYS_rename, "rename", BY_PATH },      { SYS_renameat, "renameat", BY_PATH_AT },
	{ SYS_unlink, "unlink", BY_PATH },      { SYS_rmdir, "rmdir", BY_PATH },
	{ SYS_mkdir, "mkdir", BY_PATH },
#endif
};
#define N_CALLS (sizeof(calls) / sizeof(*calls))

/* ---- the command ---- */

static int install_filter(void)
{
	struct sock_filter code[2 * N_CALLS + 8];
	struct sock_fprog program = { 0, code };
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < N_CALLS; i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (uint32_t)calls[i].number, 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	program.len = (unsigned short)n;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

/* Passes a descriptor over a socket. None of these calls is in the filter. */
static int pass_fd(int socket, int *fd, int sends)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	if (sends) {
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(c), fd, sizeof(int));
		return sendmsg(socket, &m, 0) < 0 ? -1 : 0;
	}
	if (recvmsg(socket, &m, MSG_CMSG_CLOEXEC) <= 0 || !(c = CMSG_FIRSTHDR(&m)))
		return -1;
	memcpy(fd, CMSG_DATA(c), sizeof(int));
	return 0;
}

static void be_command(int socket, char **argv)
{
	int listener = install_filter();

	if (listener < 0 || pass_fd(socket, &listener, 1) < 0)
		_exit(NOT_HERE);
	close(listener);
	close(socket);
	execvp(argv[0], argv);
	_exit(127);
}

/* ---- its calls ---- */

struct watch {
	long n, at; /* calls so far; the one that fails */
	const char *how, *dir;
	FILE *log;
	int listener;
};

static const struct call *call_of(const struct seccomp_data *data)
{
	for (size_t i = 0; i < N_CALLS; i++)
		if (calls[i].number == data->nr)
			return &calls[i];
	return NULL;
}

static ssize_t read_memory(pid_t pid, uint64_t at, void *out, size_t size)
{
	struct iovec to = { out, size }, from = { (void *)(uintptr_t)at, size };

	return process_vm_readv(pid, &to, 1, &from, 1, 0);
}

/* A path may end just before a page that is not there. */
static void read_path(pid_t pid, uint64_t at, char *out, size_t size)
{
	size_t n = 0;

	for (; n < size - 1; n++)
		if (read_memory(pid, at + n, out + n, 1) != 1 || !out[n])
			break;
	out[n] = '\0';
}

static void link_of(pid_t pid, const char *which, char *out, size_t size)
{
	char name[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/%d/%s", pid, which);
	n = readlink(name, out, size - 1);
	out[n > 0 ? n : 0] = '\0';
}

static void object_of(const struct call *call, const struct seccomp_notif *note, char *out,
		      size_t size)
{
	int fd = (int)note->data.args[0];
	char path[PATH_MAX], folder[PATH_MAX], which[32];

	snprintf(which, sizeof(which), "fd/%d", fd);
	if (call->object == BY_FD) {
		link_of((pid_t)note->pid, which, out, size);
		return;
	}
	read_path((pid_t)note->pid, note->data.args[call->object == BY_PATH_AT], path,
		  sizeof(path));
	link_of((pid_t)note->pid, call->object == BY_PATH || fd == AT_FDCWD ? "cwd" : which, folder,
		sizeof(folder));
	snprintf(out, size, "%s%s%s", *path == '/' ? "" : folder, *path == '/' ? "" : "/", path);
}

/* Writes half of a write's bytes for the command. Returns the number, or a negative errno. */
static long write_half(const struct seccomp_notif *note)
{
	int pidfd = (int)syscall(SYS_pidfd_open, note->pid, 0);
	int fd = pidfd < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pidfd, note->data.args[0], 0);
	size_t size = note->data.args[2] / 2;
	char *bytes = malloc(size + 1);
	long r = -EIO;

	if (fd >= 0 &&
	    read_memory((pid_t)note->pid, note->data.args[1], bytes, size) == (ssize_t)size) {
		r = note->data.nr == SYS_write ? write(fd, bytes, size)
					       : pwrite(fd, bytes, size, (off_t)note->data.args[3]);
		r = r < 0 ? -errno : r;
	}
	free(bytes);
	close(fd);
	close(pidfd);
	return r;
}

/* True: the call's result is *result. False: the process is gone. */
static int fail(const struct watch *w, const struct seccomp_notif *note, long *result)
{
	int is_write = note->data.nr == SYS_write || note->data.nr == SYS_pwrite64;

	*result = !strcmp(w->how, "ENOSPC") ? -ENOSPC : -EIO;
	if (is_write && (!strcmp(w->how, "short") || !strcmp(w->how, "half")))
		*result = write_half(note);
	if (strcmp(w->how, "kill") && strcmp(w->how, "half"))
		return 1;
	kill((pid_t)note->pid, SIGKILL);
	return 0;
}

static void handle(struct watch *w, const struct seccomp_notif *note,
		   struct seccomp_notif_resp *answer)
{
	const struct call *call = call_of(&note->data);
	char object[2 * PATH_MAX + 2] = "";
	long result = 0;

	answer->id = note->id;
	answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	object_of(call, note, object, sizeof(object));
	if (strncmp(object, w->dir, strlen(w->dir)) != 0)
		return;
	if (note->data.nr == SYS_openat && !(note->data.args[2] & (O_CREAT | O_TRUNC)))
		return;
	w->n++;
	fprintf(w->log, "%ld %s %s\n", w->n, call->name, object + strlen(w->dir));
	if (w->n != w->at)
		return;
	fprintf(w->log, "failed\n");
	answer->flags = 0;
	fail(w, note, &result);
	answer->error = result < 0 ? (int)result : 0;
	answer->val = result < 0 ? 0 : result;
}

static void watch_calls(struct watch *w)
{
	struct seccomp_notif note;
	struct seccomp_notif_resp answer;
	struct pollfd p = { w->listener, POLLIN, 0 };

	while (poll(&p, 1, -1) > 0 && !(p.revents & POLLHUP && !(p.revents & POLLIN))) {
		memset(&note, 0, sizeof(note));
		memset(&answer, 0, sizeof(answer));
		if (ioctl(w->listener, SECCOMP_IOCTL_NOTIF_RECV, &note) < 0)
			continue; /* the process has gone meanwhile */
		handle(w, &note, &answer);
		ioctl(w->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	}
}

int main(int argc, char **argv)
{
	struct watch w = { .listener = -1 };
	int pair[2], status;
	pid_t pid;

	if (argc < 6 || !(w.log = fopen(argv[4], "we")) ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
		fprintf(stderr, "Usage: fail_at N HOW DIR LOG COMMAND...\n");
		return 2;
	}
	w.at = strtol(argv[1], NULL, 10);
	w.how = argv[2];
	w.dir = argv[3];
	pid = fork();
	if (!pid)
		be_command(pair[1], argv + 5);
	close(pair[1]);
	if (pid > 0 && pass_fd(pair[0], &w.listener, 0) == 0)
		watch_calls(&w);
	if (waitpid(pid, &status, 0) < 0 || fclose(w.log))
		return 1;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
