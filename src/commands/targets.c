/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/targets.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/error.h"
#include "commands/command.h"

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
