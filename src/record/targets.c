/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/targets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "counter/reason.h"
#include "counter/sources.h"

static void print_reason(enum reason reason, const char *meaning)
{
	struct reason_text text;

	reason_tell(NULL, reason, &text);
	log_info("%s%s; %s", text.reason, meaning, text.remedy);
}

void print_surroundings(bool whole_machine)
{
	cleanup(free_at_exit) char *online =
		xasprintf("%s/devices/system/cpu/online", sources_sysfs(NULL));
	enum reason of_proc = reason_of_proc(NULL);

	if (access(online, F_OK) < 0)
		print_reason(REASON_NO_SYSFS, ": assay only sees the CPUs that it may run on");
	if (of_proc == REASON_NO_PROC)
		print_reason(of_proc, ": processes that already run have no names");
	if (of_proc == REASON_HIDDEN_PROCESSES && whole_machine)
		print_reason(of_proc, ": other users' processes that already run have no names");
	if (whole_machine && sources_pid_namespace(NULL))
		print_reason(REASON_PID_NAMESPACE, "");
}

int parse_ids(const struct option_list *args, const char *what, struct pid_list *out,
	      struct error *err)
{
	vec_foreach (args, arg) {
		const char *at = *arg;

		for (;;) {
			char *end;
			long n;

			errno = 0;
			n = strtol(at, &end, 10);
			if (end == at || n <= 0 || n > INT32_MAX || errno || (*end && *end != ','))
				return error_set(err, -EINVAL,
						 "'%s' is not a %s id, or a list of them", *arg,
						 what);
			vec_push(out, (int32_t)n);
			if (!*end)
				break;
			at = end + 1;
		}
	}
	return 0;
}

int pass_on_status(int wait_status)
{
	struct rlimit no_core = { 0, 0 };

	if (wait_status < 0)
		return EXIT_OK;
	if (WIFEXITED(wait_status))
		return WEXITSTATUS(wait_status);
	if (!WIFSIGNALED(wait_status))
		return EXIT_OK;
	fflush(NULL);
	setrlimit(RLIMIT_CORE, &no_core);
	signal(WTERMSIG(wait_status), SIG_DFL);
	raise(WTERMSIG(wait_status));
	return 128 + WTERMSIG(wait_status);
}
