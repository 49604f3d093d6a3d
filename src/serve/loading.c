/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/loading.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"

/* The process waits by itself if ClickHouse is away. So it ends for other reasons. */
#define START_AGAIN_NS (30 * NS_PER_SECOND)
/* A signal ends it between two blocks. A block takes less. */
#define END_MS 10000

/* How often the old blocks are looked for. */
#define MERGE_INTERVAL "--interval=1h"
#define MERGE_NICE     10

enum { MAX_WORDS = 9 };

struct loading {
	char *fleet, *urls, *login; /* urls NULL: it merges old blocks */
	pid_t pid;                  /* 0: it does not run */
	int end;                    /* its pidfd; -1 */
	uint64_t start_ns;
};

struct loading *loading_new(const char *fleet, const char *urls, const char *login)
{
	struct loading *l = xcalloc(1, sizeof(*l));

	l->fleet = xstrdup(fleet);
	l->urls = urls ? xstrdup(urls) : NULL;
	l->login = login ? xstrdup(login) : NULL;
	l->end = -1;
	return l;
}

static const char *loading_work(const struct loading *l)
{
	return l->urls ? "loads ClickHouse" : "merges old blocks";
}

static void loading_run_child(const struct loading *l)
{
	char *words[MAX_WORDS] = { (char[]){ "assay" }, (char[]){ "fleet" },
				   l->urls ? (char[]){ "load" } : (char[]){ "merge" },
				   (char[]){ "--follow" } };
	cleanup(free_at_exit) char *urls =
		l->urls ? xasprintf("--clickhouse=%s", l->urls) : xstrdup(MERGE_INTERVAL);
	cleanup(free_at_exit) char *login = l->login ? xasprintf("--login=%s", l->login) : NULL;
	size_t n = 4;
	sigset_t none;

	words[n++] = urls;
	if (login)
		words[n++] = login;
	words[n++] = (char[]){ "--" };
	words[n++] = l->fleet;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (!l->urls)
		setpriority(PRIO_PROCESS, 0, MERGE_NICE);
	execv("/proc/self/exe", words);
	_exit(127);
}

static void loading_start(struct loading *l)
{
	l->start_ns = clock_monotonic_ns() + START_AGAIN_NS;
	l->pid = fork();
	if (l->pid == 0)
		loading_run_child(l);
	if (l->pid < 0) {
		l->pid = 0;
		log_warning("cannot start the process that %s", loading_work(l));
		return;
	}
	l->end = (int)syscall(SYS_pidfd_open, l->pid, 0);
}

static void loading_forget(struct loading *l)
{
	l->pid = 0;
	close_at_exit(&l->end);
	l->end = -1;
}

void loading_run(struct loading *l)
{
	int status;

	if (!l)
		return;
	if (l->pid && waitpid(l->pid, &status, WNOHANG) == l->pid) {
		loading_forget(l);
		log_warning("the process that %s ended%s; it is started again", loading_work(l),
			    WIFSIGNALED(status) ? " by a signal" : "");
	}
	if (!l->pid && clock_monotonic_ns() >= l->start_ns)
		loading_start(l);
}

int loading_fd(const struct loading *l)
{
	return l ? l->end : -1;
}

uint64_t loading_deadline_ns(const struct loading *l)
{
	return !l || l->pid ? UINT64_MAX : l->start_ns;
}

void loading_free(struct loading *l)
{
	struct pollfd end;

	if (!l)
		return;
	end = (struct pollfd){ .fd = l->end, .events = POLLIN };
	if (l->pid) {
		kill(l->pid, SIGTERM);
		poll(&end, 1, END_MS);
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	loading_forget(l);
	free(l->fleet);
	free(l->urls);
	free(l->login);
	free(l);
}
