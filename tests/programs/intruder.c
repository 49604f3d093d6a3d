/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded into a daemon: it is the code of somebody who took over the daemon or one of its
 * processes. Each process tries once what it is not to do, and prints "intruder: PROCESS ATTEMPT
 * refused", or "SUCCEEDED".
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool becomes_root(void)
{
	return setuid(0) == 0 || setresuid(0, 0, 0) == 0 || seteuid(0) == 0;
}

static bool reads_shadow(void)
{
	return open("/etc/shadow", O_RDONLY | O_CLOEXEC) >= 0;
}

static bool writes_elsewhere(void)
{
	return open("/tmp/assay-intruder", O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0;
}

static bool attaches(void)
{
	return ptrace(PTRACE_SEIZE, getppid(), NULL, NULL) == 0;
}

static bool connects(void)
{
	struct sockaddr_in there = { .sin_family = AF_INET, .sin_port = htons(9) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return fd >= 0 && (connect(fd, (struct sockaddr *)&there, sizeof(there)) == 0 ||
			   errno == ECONNREFUSED);
}

static bool makes_namespace(void)
{
	return unshare(CLONE_NEWUSER) == 0;
}

static bool maps_code(void)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) !=
	       MAP_FAILED;
}

/* A success would end the process, and so its lines. */
static bool executes(void)
{
	static char *const arguments[] = { "true", NULL };

	execve("/bin/true", arguments, NULL);
	return false;
}

#define READS_ANYTHING 1 /* the opener and its keeper read all files, which is their task */

static const struct attempt {
	const char *name;
	bool (*does)(void);
	unsigned int not_of;
} attempts[] = {
	{ "root", becomes_root, 0 },
	{ "shadow", reads_shadow, READS_ANYTHING },
	{ "elsewhere", writes_elsewhere, READS_ANYTHING },
	{ "ptrace", attaches, 0 },
	{ "connect", connects, 0 },
	{ "namespace", makes_namespace, 0 },
	{ "code", maps_code, 0 },
	{ "exec", executes, 0 },
};

static void intrude(const char *process, unsigned int is)
{
	static const char *done;
	char line[128];
	int mode = prctl(PR_GET_SECCOMP);

	/* Not before it has given up its rights; a filter may refuse the question. */
	if ((done && !strcmp(done, process)) || (mode >= 0 && mode != 2))
		return;
	done = process;
	for (size_t i = 0; i < sizeof(attempts) / sizeof(*attempts); i++) {
		if (attempts[i].not_of & is)
			continue;
		snprintf(line, sizeof(line), "intruder: %s %s %s\n", process, attempts[i].name,
			 attempts[i].does() ? "SUCCEEDED" : "refused");
		(void)!write(STDERR_FILENO, line, strlen(line));
	}
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int epoll_wait(int fd, struct epoll_event *events, int n, int wait_ms)
{
	intrude("daemon", 0);
	return NEXT(epoll_wait)(fd, events, n, wait_ms);
}

ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	char name[16] = "";

	prctl(PR_GET_NAME, name);
	if (!strcmp(name, "assay-parser"))
		intrude("parser", 0);
	else if (fd == STDIN_FILENO && !strcmp(name, "assay-starter"))
		intrude("starter", 0);
	else if (fd == STDIN_FILENO)
		intrude("opener", READS_ANYTHING);
	return NEXT(recvmsg)(fd, m, flags);
}

/* The keeper starts openers. */
pid_t fork(void)
{
	char name[16] = "";

	if (prctl(PR_GET_NAME, name) == 0 && !strcmp(name, "assay-keeper"))
		intrude("keeper", READS_ANYTHING);
	return NEXT(fork)();
}

int flock(int fd, int operation)
{
	intrude("upkeep", 0);
	return NEXT(flock)(fd, operation);
}
