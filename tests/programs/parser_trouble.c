/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loaded into assay (LD_PRELOAD): its parser process gets into trouble with one file, as if the
 * file had found a bug.
 *
 *   PARSER_LOG=FILE       each start of a parser process appends a line
 *   PARSER_BYTES=N        the file is the one of this size …
 *   PARSER_TROUBLE=die    … and the process aborts
 *                  hang   … or does not answer
 *                  eat    … or takes memory until there is none
 *                  lie    … or answers with other bytes
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static bool is_parser, lies;

static void note_start(void)
{
	const char *path = getenv("PARSER_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;

	if (fd >= 0 && write(fd, "started\n", 8) == 8)
		close(fd);
}

int prctl(int option, ...)
{
	static int (*next)(int, ...);
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	if (!next)
		next = (int (*)(int, ...))dlsym(RTLD_NEXT, "prctl");
	if (option == PR_SET_NAME && !strcmp((const char *)a[0], "assay-parser")) {
		is_parser = true;
		note_start();
	}
	return next(option, a[0], a[1], a[2], a[3]);
}

static void get_into_trouble(void)
{
	const char *trouble = getenv("PARSER_TROUBLE");
	const struct timespec moment = { .tv_nsec = 10000000 };

	lies = trouble && !strcmp(trouble, "lie");
	if (trouble && !strcmp(trouble, "die"))
		abort();
	while (trouble && !strcmp(trouble, "hang"))
		nanosleep(&moment, NULL);
	for (size_t n = 1 << 20; trouble && !strcmp(trouble, "eat"); n *= 2) {
		char *bytes = malloc(n);

		if (!bytes)
			abort();
		memset(bytes, 1, n);
	}
}

ssize_t recvmsg(int socket, struct msghdr *m, int flags)
{
	static ssize_t (*next)(int, struct msghdr *, int);
	const char *wanted = getenv("PARSER_BYTES");
	const struct cmsghdr *c;
	struct stat st;
	ssize_t n;
	int fd;

	if (!next)
		next = (ssize_t(*)(int, struct msghdr *, int))dlsym(RTLD_NEXT, "recvmsg");
	n = next(socket, m, flags);
	c = n > 0 ? CMSG_FIRSTHDR(m) : NULL;
	if (!is_parser || !wanted || !c || c->cmsg_type != SCM_RIGHTS)
		return n;
	memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (fstat(fd, &st) == 0 && st.st_size == atoll(wanted))
		get_into_trouble();
	return n;
}

ssize_t sendmsg(int socket, const struct msghdr *m, int flags)
{
	static ssize_t (*next)(int, const struct msghdr *, int);

	if (!next)
		next = (ssize_t(*)(int, const struct msghdr *, int))dlsym(RTLD_NEXT, "sendmsg");
	if (lies && m->msg_iovlen == 2)
		memset(m->msg_iov[1].iov_base, 0xee, m->msg_iov[1].iov_len);
	return next(socket, m, flags);
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	static ssize_t (*next)(int, const void *, size_t);

	if (!next)
		next = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	if (lies)
		memset((void *)bytes, 0xee, size);
	return next(fd, bytes, size);
}
