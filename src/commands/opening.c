/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/opening.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "cli/command.h"
#include "guard/parser.h"
#include "replay/replay.h"

/*
 * Temporary directories of this process, the newest first; each is removed at most once more than
 * needed. A signal handler walks the list, so that nothing is ever taken off it.
 */
struct scratch_dir {
	const struct scratch_dir *next;
	char path[];
};
static const struct scratch_dir *_Atomic scratch_dirs;
static pid_t scratch_owner;

static void opening_remove_now(void)
{
	if (getpid() != scratch_owner)
		return;
	for (const struct scratch_dir *dir = scratch_dirs; dir; dir = dir->next)
		file_remove_tree(dir->path, NULL);
}

/* Only what is safe in a signal handler: other processes remove the trees. */
static void scratch_remove_by_others(void)
{
	for (const struct scratch_dir *dir = scratch_dirs; dir; dir = dir->next) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/rm", "rm", "-rf", "--", dir->path, (char *)NULL);
			_exit(1);
		}
		if (pid > 0)
			waitpid(pid, NULL, 0);
	}
}

static void remove_and_end(int signal_number)
{
	if (getpid() == scratch_owner)
		scratch_remove_by_others();
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

/* The child keeps no terminal, and no pipe of the caller, open. */
static _Noreturn void scratch_remove_after(int read_end)
{
	char byte;

	setsid();
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		close(fd);
	signal(SIGHUP, SIG_IGN);
	while (read(read_end, &byte, 1) < 0 && errno == EINTR)
		;
	scratch_remove_by_others();
	_exit(0);
}

void opening_remove_after_end(void)
{
	int ends[2];
	pid_t pid;

	if (getpid() != scratch_owner || !scratch_dirs)
		return;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = fork();
	if (pid)
		return; /* the other end closes with this process */
	close(ends[1]);
	scratch_remove_after(ends[0]);
}

/* What ends a process by default is caught; what the caller ignores stays ignored. */
static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT };
	struct sigaction now;

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == SIG_DFL)
			signal(ends[i], remove_and_end);
}

/* A command has one directory, or one for each side of a comparison. */
void opening_remove_at_end(const char *dir)
{
	size_t size = dir ? strlen(dir) + 1 : 0;
	struct scratch_dir *made;

	if (!dir)
		return;
	if (!scratch_dirs)
		atexit(opening_remove_now);
	scratch_owner = getpid();
	made = xcalloc(1, sizeof(*made) + size);
	memcpy(made->path, dir, size);
	made->next = scratch_dirs;
	scratch_dirs = made;
	catch_signals();
}

static void report_fetching(const char *sentence)
{
	log_info("%s", sentence);
}

static void report_unread(const char *sentence)
{
	log_warning("%s", sentence);
}

const struct open_config opening_config = {
	.guards_cut_files = true,
	.on_scratch = opening_remove_at_end,
	.report_fetching = report_fetching,
	.report_unread = report_unread,
	.report_progress = log_progress,
};

int opening_begin(const char *command, const struct open_config *options, struct input **out)
{
	struct open_config config = *options;
	struct error err = { 0 };
	int r;

	config.guards_cut_files = opening_config.guards_cut_files;
	config.on_scratch = opening_config.on_scratch;
	config.report_fetching = opening_config.report_fetching;
	config.report_unread = opening_config.report_unread;
	config.report_progress = opening_config.report_progress;
	/* A child has a deadline, which this process would not have for itself. */
	if (config.names_s > 0 && !parser_uses_children())
		parser_use_children(PARSER_BYTES);
	r = input_new(&config, out, &err);
	if (r >= 0)
		return -1;
	log_error("%s: --%s", command, err.text);
	return r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

int opening_status(int result, bool is_damaged)
{
	if (result > 0)
		return is_damaged ? EXIT_LATE_DAMAGED : EXIT_LATE;
	return result < 0 || is_damaged ? EXIT_FAILED : EXIT_OK;
}

bool opening_find_trace(const char *path)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;

	return path && strcmp(path, "-") != 0 && replay_is_perfdata(path) &&
	       replay_open(path, &replay, NULL) == 0 && replay_find_trace(replay);
}

void opening_note(void *path, const char *sentence)
{
	log_warning("%s: %s", (const char *)path, sentence);
}
