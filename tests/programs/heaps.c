/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocations with known sums. It is compiled without frame pointers.
 *
 *   heaps         calls keep(), churn(), grow() and map().
 *   heaps fork    forks. The child frees copies of 40 MB, and allocates 40 MB in child().
 *   heaps family  allocates a large block by each function of the family.
 *   heaps orphan  prints its pid, and waits for the end of a line. Then main() ends, and another
 *                 thread waits for the end of a line, calls family(), prints "done", and waits.
 *   heaps again   maps 16 MB and unmaps them, and another thread maps 16 MB at the same address.
 *   heaps left    main() maps 16 MB and ends. When it is gone, another thread unmaps them.
 *   heaps inside  forks into a new pid namespace. The child allocates 40 MB in child().
 *   heaps wait    keeps 4 MB in early(), prints its pid, and waits for the end of a line. Then it
 *                 frees that, and calls keep(), grow(), map(), part(), refused() and family(), and
 *                 later() in a new thread and in a child, prints "done", and waits again.
 *
 * keep() keeps 40 MB in blocks of 10 kB. churn() allocates and frees 200 MB in blocks of 200 bytes,
 * in two threads. grow() enlarges a block by realloc, 101 MB in all. map() maps 32 MB, and unmaps
 * half of it. part() maps 16 MB, and unmaps the first quarter of it and one in the middle.
 * refused() maps 16 MB, and tries in vain to unmap it.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT  4000
#define LARGE (16 << 20) /* always sampled */

static void *kept[KEPT];
static void *volatile sink;

static __attribute__((noinline)) void *use(void *block)
{
	sink = block;
	return block;
}

static __attribute__((noinline)) void keep(void)
{
	for (int i = 0; i < KEPT; i++)
		kept[i] = use(malloc(10000));
}

static __attribute__((noinline)) void *churn(void *unused)
{
	for (int i = 0; i < 500000; i++)
		free(use(malloc(200)));
	return unused;
}

static __attribute__((noinline)) void grow(void)
{
	char *block = NULL;

	for (size_t i = 1; i <= 100; i++)
		block = use(realloc(block, i * 20000));
	free(block);
}

static __attribute__((noinline)) void map(void)
{
	for (int i = 0; i < 2; i++) {
		void *m = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (i)
			munmap(use(m), LARGE);
	}
}

static __attribute__((noinline)) void part(void)
{
	char *m = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(use(m), LARGE / 4);
	munmap(m + LARGE / 2, LARGE / 4);
}

static __attribute__((noinline)) void refused(void)
{
	char *m = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (munmap((char *)use(m) + 1, LARGE) == 0)
		exit(1);
}

static __attribute__((noinline)) void early(bool ends)
{
	for (int i = 0; i < KEPT / 10; i++)
		if (ends)
			free(kept[i]);
		else
			kept[i] = use(malloc(10000));
}

static __attribute__((noinline)) void *later(void *unused)
{
	use(malloc(LARGE));
	return unused;
}

static __attribute__((noinline)) void child(void)
{
	for (int i = 0; i < KEPT; i++)
		free(kept[i]);
	for (int i = 0; i < KEPT; i++)
		use(malloc(10000));
}

static __attribute__((noinline)) void family(void)
{
	void *block = NULL;

	use(malloc(LARGE));
	use(calloc(4, LARGE / 4));
	use(realloc(NULL, LARGE));
	use(memalign(64, LARGE));
	use(aligned_alloc(64, LARGE));
	if (posix_memalign(&block, 64, LARGE) == 0)
		use(block);
	use(valloc(LARGE));
	use(pvalloc(LARGE));
	use(strdup(memset(use(calloc(1, LARGE)), 'x', LARGE - 1)));
	use(reallocarray(NULL, 16, LARGE / 16));
}

static void run_inside(void)
{
	int status = 1;
	pid_t pid;

	use(malloc(LARGE)); /* the parent's number is known before the fork */
	if (unshare(CLONE_NEWPID) < 0)
		exit(77);
	pid = fork();
	if (pid == 0) {
		if (getpid() == 1)
			child();
		_exit(0);
	}
	waitpid(pid, &status, 0);
	exit(status != 0);
}

static void run_later(void)
{
	pthread_t thread;
	pid_t pid;

	if (pthread_create(&thread, NULL, later, NULL) == 0)
		pthread_join(thread, NULL);
	pid = fork();
	if (pid == 0) {
		later(NULL);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void run_waiting(void)
{
	early(false);
	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
	early(true);
	keep();
	grow();
	map();
	part();
	refused();
	family();
	run_later();
	puts("done");
	fflush(stdout);
	getchar();
}

static void *run_alone(void *unused)
{
	getchar();
	family();
	puts("done");
	fflush(stdout);
	getchar();
	exit(0);
	return unused;
}

static __attribute__((noinline)) void *left(void *block)
{
	char path[64], line[256];
	bool has_ended = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/status", (int)getpid());
	while (!has_ended && (f = fopen(path, "r"))) {
		while (fgets(line, sizeof(line), f))
			has_ended |= !strncmp(line, "State:\tZ", 8);
		fclose(f);
		usleep(1000);
	}
	sleep(1); /* the recorder sees the end, too */
	munmap(block, LARGE);
	exit(0);
	return NULL;
}

static __attribute__((noinline)) void run_left(void)
{
	pthread_t thread;
	void *block = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pthread_create(&thread, NULL, left, use(block)))
		exit(1);
	pthread_exit(NULL);
}

static void run_orphan(void)
{
	pthread_t thread;

	printf("%d\n", (int)getpid());
	fflush(stdout);
	getchar();
	if (pthread_create(&thread, NULL, run_alone, NULL))
		exit(1);
	pthread_exit(NULL);
}

static char *first;

/* A page that is not there has ENOMEM. */
static __attribute__((noinline)) void *again(void *unused)
{
	unsigned char there;

	while (mincore(first, 1, &there) == 0)
		usleep(100);
	if (mmap(first, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != first)
		exit(1);
	return unused;
}

static __attribute__((noinline)) void run_again(void)
{
	pthread_t thread;

	first = mmap(NULL, LARGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pthread_create(&thread, NULL, again, NULL))
		exit(1);
	munmap(first, LARGE);
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	pid_t pid;

	if (argc > 1 && !strcmp(argv[1], "family")) {
		family();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "orphan"))
		run_orphan();
	if (argc > 1 && !strcmp(argv[1], "inside"))
		run_inside();
	if (argc > 1 && !strcmp(argv[1], "left"))
		run_left();
	if (argc > 1 && !strcmp(argv[1], "again")) {
		run_again();
		return 0;
	}
	if (argc > 1 && !strcmp(argv[1], "wait")) {
		run_waiting();
		return 0;
	}
	keep();
	if (argc > 1) {
		pid = fork();
		if (pid == 0)
			child();
		else
			waitpid(pid, NULL, 0);
		return 0;
	}
	if (pthread_create(&thread, NULL, churn, NULL))
		return 1;
	churn(NULL);
	pthread_join(thread, NULL);
	grow();
	map();
	part();
	refused();
	return 0;
}
