/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/child.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* 0, or the errno of a later execve(2), as far as the file shows it. */
static int check_executable(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) < 0 ? errno : 0;
}

char *child_find(const char *command)
{
	const char *path = getenv("PATH");
	cleanup(free_at_exit) char *copy = xstrdup(path ? path : "/bin:/usr/bin");
	char *rest = copy;

	if (strchr(command, '/'))
		return xstrdup(command);
	for (char *dir; (dir = strsep(&rest, ":"));) {
		char *file = xasprintf("%s/%s", *dir ? dir : ".", command);

		if (!access(file, X_OK))
			return file;
		free(file);
	}
	return NULL;
}

static int explain_not_executable(const char *path, int code, struct error *err)
{
	struct statvfs fs;

	if (code == EACCES && statvfs(path, &fs) == 0 && fs.f_flag & ST_NOEXEC)
		return error_set(err, -EACCES,
				 "cannot run '%s': its file system is mounted with noexec; copy it "
				 "to another one",
				 path);
	return error_errno(err, -code, "cannot run '%s'", path);
}

int child_check(const char *command, struct error *err)
{
	const char *path = getenv("PATH");
	cleanup(free_at_exit) char *copy = xstrdup(path ? path : "/bin:/usr/bin");
	char *rest = copy;
	int found = ENOENT;

	if (strchr(command, '/')) {
		found = check_executable(command);
		return found ? explain_not_executable(command, found, err) : 0;
	}
	for (char *dir; (dir = strsep(&rest, ":"));) {
		cleanup(free_at_exit) char *file = xasprintf("%s/%s", *dir ? dir : ".", command);
		int e = check_executable(file);

		if (!e)
			return 0;
		/* PATH may hold a folder without search permission */
		if (e == EACCES && access(file, F_OK) == 0)
			found = EACCES;
	}
	if (found == EACCES)
		return error_set(err, -EACCES,
				 "cannot run '%s': the file in PATH is not executable", command);
	return error_set(err, -ENOENT, "cannot run '%s': command not found", command);
}

static void child_run(char *const argv[], char *const variables[], const sigset_t *mask, int go_fd,
		      int error_fd)
{
	char go;
	int e;

	/* if the recorder dies before the byte, no command stays behind */
	if (read(go_fd, &go, 1) != 1)
		_exit(127);
	sigprocmask(SIG_SETMASK, mask, NULL);
	for (; variables && *variables; variables++)
		putenv(*variables);
	execvp(argv[0], argv);
	e = errno;
	if (write(error_fd, &e, sizeof(e)) != sizeof(e))
		_exit(127);
	_exit(127);
}

int child_prepare(char *const argv[], char *const variables[], const sigset_t *mask,
		  bool keeps_stdout, struct child *out, struct error *err)
{
	int go[2] = { -1, -1 }, error[2] = { -1, -1 };
	pid_t pid = -1;

	if (pipe2(go, O_CLOEXEC) == 0 && pipe2(error, O_CLOEXEC) == 0)
		pid = fork();
	if (pid < 0) {
		int e = errno;

		for (int i = 0; i < 2; i++) {
			close_at_exit(&go[i]);
			close_at_exit(&error[i]);
		}
		return error_errno(err, -e, "cannot start a process for '%s'", argv[0]);
	}
	if (pid == 0) {
		close(go[1]);
		if (!keeps_stdout)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		child_run(argv, variables, mask, go[0], error[1]);
	}
	close(go[0]);
	close(error[1]);
	*out = (struct child){ .pid = pid, .go_fd = go[1], .error_fd = error[0] };
	return 0;
}

int child_go(struct child *c, char *const argv[], struct error *err)
{
	int e = 0;
	ssize_t n;

	assert(c->pid > 0);
	if (write(c->go_fd, "", 1) != 1)
		e = errno;
	close(c->go_fd);
	while ((n = read(c->error_fd, &e, sizeof(e))) < 0 && errno == EINTR)
		;
	close(c->error_fd);
	if (!e)
		return 0;
	waitpid(c->pid, NULL, 0);
	return error_errno(err, -e, "cannot run '%s'", argv[0]);
}

void child_abandon(struct child *c)
{
	close(c->go_fd);
	close(c->error_fd);
	waitpid(c->pid, NULL, 0);
}
