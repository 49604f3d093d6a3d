/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads files that profiled programs control, on threads of their own.
 *
 * A program chooses its files: a file may be large, and its file system may answer late or never.
 * The thread that empties the kernel's rings must not wait for it. So it adds a job, and gets the
 * result later:
 *
 *	file_jobs_add(jobs, &mine->job);   the thread calls mine->job.run(), …
 *	…
 *	file_jobs_take(jobs);              … and this one calls mine->job.done()
 *
 * One user's files do not delay those of others: a user has one thread at a time, and the next job
 * is of the user whose jobs took the least time so far. A user has FILE_JOBS_BURST_NS of CPU time,
 * and FILE_JOBS_PERCENT of the time since. Jobs beyond that are refused.
 *
 * Large files do not delay small ones of their user: jobs for large files have two threads of their
 * own. Unless they are urgent, they are refused after half of the time, and hurry for half of it.
 *
 * The first thread starts with the first job, and others when it is held up: for a second, or by a
 * large file. All functions are for one thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guard/limits.h"

/* The first rank comes first. 0 is the usual one. */
enum file_job_rank { FILE_JOB_URGENT = -1, FILE_JOB_USUAL, FILE_JOB_LONG };

struct file_job {
	uint32_t user;                   /* file_jobs_user() */
	void (*run)(struct file_job *);  /* on a thread; not called for a refused job */
	void (*done)(struct file_job *); /* on the owner's thread */
	void (*free)(struct file_job *); /* after that, or if there is no owner any more */
	enum file_job_rank rank;
	bool is_large; /* it is for a large file; run() may set this, with … */
	bool is_again; /* … this: run() is called once more, when it is its turn */
	bool is_refused;
	struct file_job *next;
};

struct file_jobs;

struct file_jobs *file_jobs_new(void);

/* Waits for jobs in progress, up to two seconds, and frees all jobs. NULL is fine. */
void file_jobs_free(struct file_jobs *j);

/* The user of a process; UINT32_MAX if it has ended. `proc`: "/proc". */
uint32_t file_jobs_user(const char *proc, int32_t pid);

void file_jobs_add(struct file_jobs *j, struct file_job *job);

/* For tests: counts CPU time of a user, as if a job had used it. */
void file_jobs_charge(struct file_jobs *j, uint32_t user, uint64_t cpu_ns);

/* Calls done() and free() of the jobs that have ended. Returns their number. */
uint32_t file_jobs_take(struct file_jobs *j);

/* Waits until a job has ended, none is left, or the time (CLOCK_MONOTONIC) has come. */
void file_jobs_wait(struct file_jobs *j, uint64_t until_ns);

/*
 * Whether a job of a user has ended within the last `ns`, or was seen to use CPU time. Jobs on a
 * busy machine go on; those in a file system that is stuck do not.
 */
bool file_jobs_go_on(struct file_jobs *j, uint32_t user, uint64_t ns);

/* Jobs that have not been taken. */
uint32_t file_jobs_count(const struct file_jobs *j);
