/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/file_jobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/thread.h"

/* How long the end waits for jobs in progress. */
#define END_WAIT_NS (2 * NS_PER_SECOND)

/* A job that takes longer holds its thread up; further jobs get another thread. So does a large one
 * from its beginning. */
#define SLOW_NS NS_PER_SECOND

/* Large files have threads of their own. */
#define LARGE_THREADS 2
#define THREADS       (FILE_JOBS_THREADS + LARGE_THREADS)

/* Less CPU time is that of a look at the clock. */
#define WORK_NS NS_PER_MS

/* Each holds one reference: it may outlive its owner, in a file system that is stuck. */
struct job_thread {
	bool is_running, is_busy;
	bool is_large;     /* busy: the rank of its job, … */
	uint32_t user;     /* … whose it is, */
	uint64_t since_ns; /* … and since when */
	clockid_t clock;   /* running: the CPU time of the thread, … */
	uint64_t seen_ns;  /* … and how much it had, as file_jobs_go_on() looked */
	struct file_jobs *jobs;
};

struct job_list {
	struct file_job *first, **end;
	uint32_t n;
};

/* CPU time of a user's jobs. */
struct used_time {
	uint64_t all_ns, hurried_ns; /* the second at a low nice value */
	uint64_t moved_ns;           /* when one has ended, or was seen to go on; 0: never */
};

struct file_jobs {
	uint64_t start_ns;
	uint32_t n; /* not taken */
	atomic_uint n_refs;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t wake, change;
	struct job_thread threads[THREADS];
	struct job_list waiting, ended;
	struct intmap users; /* the index of a user in … */
	VEC(struct used_time) used;
	bool is_ending;
};

static void job_list_init(struct job_list *l)
{
	*l = (struct job_list){ .end = &l->first };
}

static void job_list_push(struct job_list *l, struct file_job *job)
{
	job->next = NULL;
	*l->end = job;
	l->end = &job->next;
	l->n++;
}

/* `at` points to the job. */
static struct file_job *job_list_remove(struct job_list *l, struct file_job **at)
{
	struct file_job *job = *at;

	*at = job->next;
	if (l->end == &job->next)
		l->end = at;
	l->n--;
	return job;
}

struct file_jobs *file_jobs_new(void)
{
	struct file_jobs *j = xcalloc(1, sizeof(*j));

	j->start_ns = clock_monotonic_ns();
	job_list_init(&j->waiting);
	job_list_init(&j->ended);
	atomic_init(&j->n_refs, 1);
	thread_init_lock(&j->lock);
	pthread_cond_init(&j->wake, NULL);
	thread_init_condition(&j->change);
	return j;
}

static void job_list_free(struct job_list *l)
{
	while (l->first) {
		struct file_job *job = job_list_remove(l, &l->first);

		job->free(job);
	}
}

static void file_jobs_unref(struct file_jobs *j)
{
	if (atomic_fetch_sub(&j->n_refs, 1) > 1)
		return;
	job_list_free(&j->waiting);
	job_list_free(&j->ended);
	intmap_fini(&j->users);
	vec_fini(&j->used);
	pthread_cond_destroy(&j->change);
	pthread_cond_destroy(&j->wake);
	pthread_mutex_destroy(&j->lock);
	free(j);
}

/* ---- the threads ---- */

static struct used_time used_by(const struct file_jobs *j, uint32_t user)
{
	const uint32_t *index = intmap_find(&j->users, user);

	return index ? j->used.data[*index] : (struct used_time){ 0 };
}

/* A job with a large file leaves half of the time to others. */
static bool is_within(const struct file_jobs *j, const struct file_job *job, uint64_t used_ns,
		      uint64_t burst_ns)
{
	uint64_t since_ns = clock_monotonic_ns() - j->start_ns;
	uint64_t all_ns = burst_ns + since_ns / 100 * FILE_JOBS_PERCENT;

	return used_ns <= (job->is_large && job->rank != FILE_JOB_URGENT ? all_ns / 2 : all_ns);
}

/* Whether no thread may take the job now: its user has one, or large files have all of theirs. */
static bool must_wait(const struct file_jobs *j, const struct file_job *job)
{
	uint32_t n_large = 0;

	for (size_t i = 0; i < THREADS; i++) {
		const struct job_thread *t = &j->threads[i];

		n_large += t->is_busy && t->is_large;
		if (t->is_busy && t->user == job->user && t->is_large == job->is_large)
			return true;
	}
	return job->is_large && n_large >= LARGE_THREADS;
}

/* Whether a job comes before an older one. */
static bool comes_before(const struct file_jobs *j, const struct file_job *job,
			 const struct file_job *older)
{
	if (job->user == older->user && job->rank == older->rank)
		return job->is_large < older->is_large;
	return job->user == older->user
		       ? job->rank < older->rank
		       : used_by(j, job->user).all_ns < used_by(j, older->user).all_ns;
}

/* Of the user whose jobs took the least time: the oldest one of the first rank. NULL: none. */
static struct file_job *take_job(struct file_jobs *j)
{
	struct file_job **best = NULL;

	for (struct file_job **at = &j->waiting.first; *at; at = &(*at)->next)
		if ((!best || comes_before(j, *at, *best)) && !must_wait(j, *at))
			best = at;
	return best ? job_list_remove(&j->waiting, best) : NULL;
}

static struct used_time *used_of(struct file_jobs *j, uint32_t user)
{
	bool is_new;
	uint32_t *index = intmap_put(&j->users, user, &is_new);

	if (is_new) {
		*index = (uint32_t)j->used.n;
		vec_push(&j->used, (struct used_time){ 0 });
	}
	return &j->used.data[*index];
}

static void add_time(struct file_jobs *j, uint32_t user, const struct used_time *more)
{
	struct used_time *used = used_of(j, user);

	used->all_ns += more->all_ns;
	used->hurried_ns += more->hurried_ns;
}

static void end_job(struct file_jobs *j, struct file_job *job)
{
	job_list_push(&j->ended, job);
	used_of(j, job->user)->moved_ns = clock_monotonic_ns();
}

static void put_back(struct file_jobs *j, struct file_job *job)
{
	job->is_again = false;
	job_list_push(&j->waiting, job);
}

/* With the lock held, a woken thread would only wait for the lock. */
static void unlock_and_wake(struct file_jobs *j, pthread_cond_t *condition)
{
	pthread_mutex_unlock(&j->lock);
	pthread_cond_broadcast(condition);
}

/* Called with the lock held, which it gives back meanwhile. */
static void do_job(struct job_thread *t, struct file_job *job)
{
	struct file_jobs *j = t->jobs;
	struct used_time used = used_by(j, job->user);
	uint64_t cpu_ns = clock_thread_cpu_ns();
	bool may_hurry = is_within(j, job, used.hurried_ns, FILE_JOBS_HURRY_NS);

	job->is_refused = !is_within(j, job, used.all_ns, FILE_JOBS_BURST_NS);
	t->is_busy = true;
	t->is_large = job->is_large;
	t->seen_ns = cpu_ns;
	t->user = job->user;
	t->since_ns = clock_monotonic_ns();
	pthread_mutex_unlock(&j->lock);
	thread_hurry(may_hurry);
	if (!job->is_refused)
		job->run(job);
	pthread_mutex_lock(&j->lock);
	t->is_busy = false;
	cpu_ns = clock_thread_cpu_ns() - cpu_ns;
	used = (struct used_time){ .all_ns = cpu_ns, .hurried_ns = may_hurry ? cpu_ns : 0 };
	add_time(j, job->user, &used);
	if (job->is_again)
		put_back(j, job);
	else
		end_job(j, job);
	if (j->waiting.n)
		pthread_cond_broadcast(&j->wake); /* others waited for this user */
	unlock_and_wake(j, &j->change);
	pthread_mutex_lock(&j->lock);
}

static void *job_thread_run(void *arg)
{
	struct job_thread *t = arg;
	struct file_jobs *j = t->jobs;

	thread_be_ordinary();
	pthread_mutex_lock(&j->lock);
	pthread_getcpuclockid(pthread_self(), &t->clock);
	while (!j->is_ending) {
		struct file_job *job = take_job(j);

		if (job)
			do_job(t, job);
		else
			pthread_cond_wait(&j->wake, &j->lock);
	}
	t->is_running = false;
	pthread_cond_broadcast(&j->change);
	pthread_mutex_unlock(&j->lock);
	file_jobs_unref(j);
	return NULL;
}

/* ---- the owner ---- */

uint32_t file_jobs_user(const char *proc, int32_t pid)
{
	char path[256];
	struct stat st;

	snprintf(path, sizeof(path), "%s/%d", proc, pid);
	return stat(path, &st) == 0 ? st.st_uid : UINT32_MAX;
}

static bool thread_begin(struct file_jobs *j, struct job_thread *t)
{
	pthread_t thread;

	t->jobs = j;
	atomic_fetch_add(&j->n_refs, 1);
	t->is_running = thread_start(&thread, job_thread_run, t);
	if (t->is_running)
		pthread_detach(thread);
	else
		atomic_fetch_sub(&j->n_refs, 1);
	return t->is_running;
}

/* Starts the first thread, and further ones when the others are held up. False: there is none. */
static bool threads_prepare(struct file_jobs *j)
{
	uint64_t now_ns = clock_monotonic_ns();

	for (size_t i = 0; i < THREADS; i++) {
		struct job_thread *t = &j->threads[i];

		if (!t->is_running)
			return thread_begin(j, t) || i;
		if (!t->is_busy || (!t->is_large && now_ns - t->since_ns < SLOW_NS))
			return true;
	}
	return true;
}

void file_jobs_add(struct file_jobs *j, struct file_job *job)
{
	j->n++;
	pthread_mutex_lock(&j->lock);
	if (j->waiting.n >= FILE_JOBS_MAX) {
		job->is_refused = true;
		end_job(j, job);
	} else if (threads_prepare(j)) {
		job_list_push(&j->waiting, job);
	} else { /* the system has no thread left */
		do {
			job->is_again = false;
			job->run(job);
		} while (job->is_again);
		end_job(j, job);
	}
	unlock_and_wake(j, &j->wake);
}

void file_jobs_charge(struct file_jobs *j, uint32_t user, uint64_t cpu_ns)
{
	pthread_mutex_lock(&j->lock);
	add_time(j, user, &(struct used_time){ .all_ns = cpu_ns, .hurried_ns = cpu_ns });
	pthread_mutex_unlock(&j->lock);
}

uint32_t file_jobs_take(struct file_jobs *j)
{
	struct file_job *first;
	uint32_t n = 0;

	if (!j->n)
		return 0;
	pthread_mutex_lock(&j->lock);
	if (j->waiting.n)
		threads_prepare(j);
	first = j->ended.first;
	job_list_init(&j->ended);
	pthread_mutex_unlock(&j->lock);
	for (struct file_job *job; (job = first); n++) {
		first = job->next;
		j->n--;
		job->done(job);
		job->free(job);
	}
	return n;
}

/* Called with the lock held: the thread of a job does not end meanwhile. */
static bool has_worked(struct job_thread *t)
{
	struct timespec now = { 0 };
	uint64_t cpu_ns;

	if (clock_gettime(t->clock, &now) < 0)
		return false;
	cpu_ns = timespec_ns(now);
	if (cpu_ns < t->seen_ns + WORK_NS)
		return false;
	t->seen_ns = cpu_ns;
	return true;
}

bool file_jobs_go_on(struct file_jobs *j, uint32_t user, uint64_t ns)
{
	uint64_t now_ns = clock_monotonic_ns(), moved_ns;

	pthread_mutex_lock(&j->lock);
	for (size_t i = 0; i < THREADS; i++) {
		struct job_thread *t = &j->threads[i];

		if (t->is_busy && t->user == user && has_worked(t))
			used_of(j, user)->moved_ns = now_ns;
	}
	moved_ns = used_of(j, user)->moved_ns;
	pthread_mutex_unlock(&j->lock);
	return moved_ns && now_ns - MIN(now_ns, moved_ns) < ns;
}

uint32_t file_jobs_count(const struct file_jobs *j)
{
	return j->n;
}

static bool is_any_running(const struct file_jobs *j)
{
	for (size_t i = 0; i < THREADS; i++)
		if (j->threads[i].is_running)
			return true;
	return false;
}

void file_jobs_wait(struct file_jobs *j, uint64_t until_ns)
{
	struct timespec until = timespec_of_ns(until_ns);
	int r = 0;

	pthread_mutex_lock(&j->lock);
	while (!r && j->n && !j->ended.n)
		r = pthread_cond_timedwait(&j->change, &j->lock, &until);
	pthread_mutex_unlock(&j->lock);
}

void file_jobs_free(struct file_jobs *j)
{
	struct timespec until;
	int r = 0;

	if (!j)
		return;
	until = timespec_of_ns(clock_monotonic_ns() + END_WAIT_NS);
	pthread_mutex_lock(&j->lock);
	j->is_ending = true;
	pthread_cond_broadcast(&j->wake);
	while (!r && is_any_running(j))
		r = pthread_cond_timedwait(&j->change, &j->lock, &until);
	pthread_mutex_unlock(&j->lock);
	file_jobs_unref(j);
}
