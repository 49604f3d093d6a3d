/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread of a library's own, beside those of the program. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Starts a thread that receives no signals except SIGBUS, which a read of the thread itself may
 * raise (base/files/cut_guard.h). False: the system has no thread left.
 */
bool thread_start(pthread_t *out, void *(*run)(void *), void *arg);

/* Gives up a high priority that the calling thread inherited; other threads keep theirs. */
void thread_be_ordinary(void);

/*
 * A thread that others wait for hurries: it has the nice value -20 where that is permitted
 * (RLIMIT_NICE, CAP_SYS_NICE), unless somebody gave it a positive one. Beside 2,500 busy threads on
 * its CPU, it has 3 % of the CPU then, not 0.04 %. False: it has the nice value 0 again.
 */
void thread_hurry(bool is_wanted);

/*
 * How long a thread has been ready to run, but had no CPU, since it began (proc_pid_schedstat(5)).
 * Any thread may ask, with the descriptor that the thread itself has opened. -1 or an error: 0.
 */
int thread_open_delay(void); /* -1: not known */
uint64_t thread_delay_ns(int fd);

/* The same of a process: that of its thread with the longest delay. 0: not known. */
uint64_t process_delay_ns(pid_t pid);

/*
 * A lock that threads of different priorities share. While one waits for it, the owner runs at the
 * priority of the waiting one. Otherwise, an owner that thousands of other threads delay would
 * delay a real-time thread, too.
 */
void thread_init_lock(pthread_mutex_t *lock);

/* A condition whose pthread_cond_timedwait() goes by CLOCK_MONOTONIC. */
void thread_init_condition(pthread_cond_t *condition);

/*
 * Real-time priority for the calling thread, where it is permitted (RLIMIT_RTPRIO, CAP_SYS_NICE):
 * thousands of threads that are ready to run don't delay it then. Only for threads that do little,
 * and sleep otherwise. Its children and later threads are ordinary. False: it has the priority
 * already, or can't have it, or somebody gave it another policy or a positive nice value.
 */
bool thread_be_real_time(void);

/* The same, and forks: the child and its children have the priority, too. As fork(2). */
pid_t thread_fork_real_time(void);

/* Ends that; the nice value is as before. */
void thread_end_real_time(void);

/*
 * Real-time priority while the thread uses little CPU time. If it uses more than half of a CPU, it
 * is ordinary until it uses less. Otherwise other threads of that CPU would hardly run. All
 * functions belong to the thread.
 */
struct real_time_guard {
	bool is_wanted, is_on;
	uint64_t since_ns, cpu_ns; /* when it was looked at, and the thread's CPU time then */
};

void real_time_guard_begin(struct real_time_guard *g);
void real_time_guard_look(struct real_time_guard *g); /* call it often */
void real_time_guard_end(struct real_time_guard *g);
