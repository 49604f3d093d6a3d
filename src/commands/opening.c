/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/opening.h"

#include <errno.h>
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

/* Temporary directories of this process; each is removed at most once more than needed. */
static char *scratch_dirs[8];
static size_t n_scratch_dirs;
static pid_t scratch_owner;

void opening_remove_now(void)
{
	if (getpid() == scratch_owner)
		for (size_t i = 0; i < n_scratch_dirs; i++)
			file_remove_tree(scratch_dirs[i], NULL);
}

/* Only what is safe in a signal handler: another process removes the trees. */
static void remove_and_end(int signal_number)
{
	pid_t pid = getpid() == scratch_owner ? fork() : -1;

	if (!pid) {
		char *argv[3 + ARRAY_SIZE(scratch_dirs) + 1] = { "rm", "-rf", "--" };

		for (size_t i = 0; i < n_scratch_dirs; i++)
			argv[3 + i] = scratch_dirs[i];
		execv("/bin/rm", argv);
		_exit(1);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
	signal(signal_number, SIG_DFL);
	raise(signal_number);
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
	if (!dir || n_scratch_dirs == ARRAY_SIZE(scratch_dirs))
		return;
	if (!n_scratch_dirs)
		atexit(opening_remove_now);
	scratch_owner = getpid();
	scratch_dirs[n_scratch_dirs] = xstrdup(dir);
	n_scratch_dirs++;
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
