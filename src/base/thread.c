/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/thread.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"

bool thread_start(pthread_t *out, void *(*run)(void *), void *arg)
{
	sigset_t all, old;
	bool has_started;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	has_started = pthread_create(out, NULL, run, arg) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return has_started;
}

/* Linux has a nice value for each thread. */
void thread_be_ordinary(void)
{
	if (getpriority(PRIO_PROCESS, 0) < 0)
		setpriority(PRIO_PROCESS, 0, 0);
}

#define NICE_HURRY (-20)

void thread_hurry(bool is_wanted)
{
	int now = getpriority(PRIO_PROCESS, 0), wanted = is_wanted ? NICE_HURRY : 0;

	if (now <= 0 && now != wanted)
		setpriority(PRIO_PROCESS, 0, wanted);
}

int thread_open_delay(void)
{
	return open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
}

uint64_t thread_delay_ns(int fd)
{
	char text[96] = "", *rest = text;

	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	strtoull(text, &rest, 10);
	return strtoull(rest, NULL, 10);
}

uint64_t process_delay_ns(pid_t pid)
{
	char path[64];
	struct dirent *entry;
	uint64_t longest_ns = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		cleanup(close_at_exit) int fd = -1;
		char file[sizeof(entry->d_name) + 16];

		snprintf(file, sizeof(file), "%s/schedstat", entry->d_name);
		fd = openat(dirfd(dir), file, O_RDONLY | O_CLOEXEC);
		longest_ns = MAX(longest_ns, thread_delay_ns(fd));
	}
	if (dir)
		closedir(dir);
	return longest_ns;
}

void thread_init_lock(pthread_mutex_t *lock)
{
	pthread_mutexattr_t inherits;

	pthread_mutexattr_init(&inherits);
	pthread_mutexattr_setprotocol(&inherits, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(lock, &inherits);
	pthread_mutexattr_destroy(&inherits);
}

void thread_init_condition(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

static bool set_real_time(int flag)
{
	struct sched_param first = { .sched_priority = 1 };

	return sched_setscheduler(0, SCHED_RR | flag, &first) == 0;
}

static bool may_be_real_time(void)
{
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER &&
	       getpriority(PRIO_PROCESS, 0) <= 0;
}

bool thread_be_real_time(void)
{
	return may_be_real_time() && set_real_time(SCHED_RESET_ON_FORK);
}

pid_t thread_fork_real_time(void)
{
	bool is_changed = may_be_real_time() && set_real_time(0);
	pid_t pid = fork();

	if (pid && is_changed)
		set_real_time(SCHED_RESET_ON_FORK);
	return pid;
}

/* Without CAP_SYS_NICE, the flag has to stay. */
void thread_end_real_time(void)
{
	struct sched_param none = { 0 };

	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

#define LOOK_NS (100 * NS_PER_MS)

void real_time_guard_begin(struct real_time_guard *g)
{
	bool is_on = thread_be_real_time();

	*g = (struct real_time_guard){ is_on, is_on, clock_monotonic_ns(), clock_thread_cpu_ns() };
}

void real_time_guard_look(struct real_time_guard *g)
{
	uint64_t now_ns = clock_monotonic_ns(), cpu_ns;
	bool is_greedy;

	if (!g->is_wanted || now_ns - g->since_ns < LOOK_NS)
		return;
	cpu_ns = clock_thread_cpu_ns();
	is_greedy = cpu_ns - g->cpu_ns > (now_ns - g->since_ns) / 2;
	if (is_greedy && g->is_on)
		thread_end_real_time();
	g->is_on = !is_greedy && (g->is_on || thread_be_real_time());
	g->since_ns = now_ns;
	g->cpu_ns = cpu_ns;
}

void real_time_guard_end(struct real_time_guard *g)
{
	if (g->is_on)
		thread_end_real_time();
	g->is_on = g->is_wanted = false;
}
