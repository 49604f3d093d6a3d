/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "demangle/swift_program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"

#define MAX_MEMORY   (1U << 30)
#define MAX_CPU_S    2
#define MAX_WALL_MS  10000
#define MIN_OUTPUT   (1U << 20)
#define MAX_OUTPUT   (64U << 20)
#define TEXT_OF_NAME 8192

static const char debian_path[] = "/usr/libexec/swift/bin/swift-demangle";

/* Relative folders in PATH are passed over: the working directory may be anyone's. */
char *swift_program_find(void)
{
	const char *path = getenv("PATH");

	while (path && *path) {
		size_t len = strcspn(path, ":");
		char *file = xasprintf("%.*s/swift-demangle", (int)len, path);

		if (*file == '/' && !access(file, X_OK))
			return file;
		free(file);
		path += len + (path[len] == ':');
	}
	return access(debian_path, X_OK) ? NULL : xstrdup(debian_path);
}

static void limit_resource(__rlimit_resource_t what, rlim_t limit)
{
	const struct rlimit both = { limit, limit };

	setrlimit(what, &both);
}

/* In the child; nothing here takes a lock. */
static void run_in_child(const char *program, int in, int out, rlim_t max_output)
{
	static char *const environment[] = { NULL };
	char *const argv[] = { (char *)program, NULL };
	int null = open("/dev/null", O_WRONLY);

	if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	limit_resource(RLIMIT_AS, MAX_MEMORY);
	limit_resource(RLIMIT_CPU, MAX_CPU_S);
	limit_resource(RLIMIT_FSIZE, max_output);
	limit_resource(RLIMIT_CORE, 0);
	execve(program, argv, environment);
	_exit(127);
}

/* Waits for the child's end; kills it after its time. */
static void wait_for_end(pid_t pid)
{
	struct timespec pause = { 0, 1000000 };
	long waited_ms = 0;
	pid_t r;

	while ((r = waitpid(pid, NULL, WNOHANG)) == 0 || (r < 0 && errno == EINTR)) {
		if (waited_ms > MAX_WALL_MS)
			kill(pid, SIGKILL);
		nanosleep(&pause, NULL);
		waited_ms += pause.tv_nsec / 1000000;
		pause.tv_nsec = MIN(2 * pause.tv_nsec, 16000000L);
	}
}

static int file_of_names(const char *const *names, size_t n)
{
	struct buf text = { 0 };
	int fd = memfd_create("swift-names", MFD_CLOEXEC);

	for (size_t i = 0; i < n; i++) {
		buf_str(&text, names[i]);
		buf_u8(&text, '\n');
	}
	if (fd >= 0 && (file_write_all(fd, text.data, text.len) < 0 || lseek(fd, 0, SEEK_SET))) {
		close(fd);
		fd = -1;
	}
	buf_fini(&text);
	return fd;
}

static void read_back(int fd, size_t limit, struct buf *out)
{
	struct stat st;
	ssize_t n;

	out->len = 0;
	if (fstat(fd, &st) < 0 || st.st_size <= 0)
		return;
	limit = MIN(limit, (size_t)st.st_size);
	buf_reserve(out, limit);
	n = pread(fd, out->data, limit, 0);
	out->len = n > 0 ? (size_t)n : 0;
}

static size_t count_output_lines(const struct buf *text)
{
	size_t n = 0;

	for (size_t i = 0; i < text->len; i++)
		n += text->data[i] == '\n';
	return n;
}

size_t swift_program_run(const char *program, const char *const *names, size_t n, struct buf *out)
{
	size_t limit = MIN((size_t)MAX_OUTPUT, MIN_OUTPUT + n * TEXT_OF_NAME);
	cleanup(close_at_exit) int in = file_of_names(names, n);
	cleanup(close_at_exit) int written = memfd_create("swift-readable", MFD_CLOEXEC);
	pid_t pid = in >= 0 && written >= 0 ? fork() : -1;
	size_t n_lines;

	out->len = 0;
	if (pid == 0)
		run_in_child(program, in, written, limit);
	if (pid < 0)
		return 0;
	wait_for_end(pid);
	read_back(written, limit, out);
	/* the lines of a program that writes another number of lines are not used */
	n_lines = count_output_lines(out);
	return n_lines > n ? 0 : n_lines;
}
