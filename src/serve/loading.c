/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/loading.h"

#include <inttypes.h>
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

/* How often the old blocks are looked for, and the samples of an hour are counted. */
#define HOURLY     "--interval=1h"
#define NICE_LEVEL 10

/* Pushed profiles wait for ten minutes anyhow. */
#define EACH_MINUTE "--interval=60"

struct loading {
	const char *work; /* for people */
	bool is_nice;
	VEC(char *) words; /* of the command; the last one is NULL */
	pid_t pid;         /* 0: it does not run */
	int end;           /* its pidfd; -1 */
	uint64_t start_ns;
};

/* `word` and `option` are copied, and so is the fleet. */
static struct loading *loading_of(const char *work, const char *word, const char *option)
{
	struct loading *l = xcalloc(1, sizeof(*l));

	l->work = work;
	l->end = -1;
	vec_push(&l->words, xstrdup("assay"));
	vec_push(&l->words, xstrdup("fleet"));
	vec_push(&l->words, xstrdup(word));
	vec_push(&l->words, xstrdup("--follow"));
	vec_push(&l->words, xstrdup(option));
	return l;
}

static void loading_name_fleet(struct loading *l, const char *fleet, char *const *others,
			       size_t n_others)
{
	vec_push(&l->words, xstrdup("--"));
	vec_push(&l->words, xstrdup(fleet));
	for (size_t i = 0; i < n_others; i++)
		vec_push(&l->words, xstrdup(others[i]));
	vec_push(&l->words, NULL);
}

struct loading *loading_new(const char *fleet, const char *urls, const char *login)
{
	cleanup(free_at_exit) char *servers = xasprintf("--clickhouse=%s", urls);
	struct loading *l = loading_of("loads ClickHouse", "load", servers);

	if (login)
		vec_push(&l->words, xasprintf("--login=%s", login));
	loading_name_fleet(l, fleet, NULL, 0);
	return l;
}

struct loading *loading_new_merge(const char *fleet)
{
	struct loading *l = loading_of("merges old blocks", "merge", HOURLY);

	l->is_nice = true;
	loading_name_fleet(l, fleet, NULL, 0);
	return l;
}

struct loading *loading_new_pushed(const char *fleet, const char *history, uint64_t max_bytes)
{
	struct loading *l = loading_of("makes blocks of pushed profiles", "adopt", EACH_MINUTE);

	vec_push(&l->words, xasprintf("--push-size=%" PRIu64, max_bytes));
	loading_name_fleet(l, fleet, (char *const[]){ (char *)history }, 1);
	return l;
}

struct loading *loading_new_rates(const char *fleet, uint64_t target_samples, char *const *services,
				  size_t n_services)
{
	struct loading *l = loading_of("sets the rates of hosts", "rate", HOURLY);

	l->is_nice = true;
	vec_push(&l->words, xasprintf("--target-samples=%" PRIu64, target_samples));
	loading_name_fleet(l, fleet, services, n_services);
	return l;
}

static void loading_run_child(const struct loading *l)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (l->is_nice)
		setpriority(PRIO_PROCESS, 0, NICE_LEVEL);
	execv("/proc/self/exe", l->words.data);
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
		log_warning("cannot start the process that %s", l->work);
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
		log_warning("the process that %s ended%s; it is started again", l->work,
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
	vec_foreach (&l->words, word)
		free(*word);
	vec_fini(&l->words);
	free(l);
}
