/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does harm to a profiler that believes its profiled programs. The tests run it as an ordinary user
 * beside root's assay. It works until it is killed.
 *
 *	hostile mappings   maps a page of itself at ever lower addresses
 *	hostile comms      gives its thread ever new names
 *	hostile names      maps files with ever new names of 4,000 bytes
 *	hostile threads N  runs N threads at once
 *	hostile forks N    starts N processes a minute, each with a new name
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE    4096UL
#define HIGHEST 0x700000000000UL
#define LOWEST  0x100000000000UL

static void flood_mappings(void)
{
	int fd = open("/proc/self/exe", O_RDONLY);

	for (uintptr_t at = HIGHEST;; at = at > LOWEST ? at - 2 * PAGE : HIGHEST) {
		void *p = mmap((void *)at, PAGE, PROT_READ | PROT_EXEC,
			       MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd, 0);

		if (p != MAP_FAILED)
			munmap(p, PAGE);
	}
}

static void flood_comms(void)
{
	char name[16];

	for (unsigned long i = 0;; i++) {
		snprintf(name, sizeof(name), "n%lx", i);
		prctl(PR_SET_NAME, name);
	}
}

/* Folders that are links of 250 characters are not needed: nested folders make the name long. */
static void flood_names(void)
{
	char part[251], file[32];

	memset(part, 'x', sizeof(part) - 1);
	part[250] = '\0';
	for (int depth = 0; depth < 15; depth++)
		if ((mkdir(part, 0755) < 0 && errno != EEXIST) || chdir(part) < 0)
			exit(1);
	for (unsigned long i = 0;; i++) {
		int fd;
		void *p;

		snprintf(file, sizeof(file), "f%lu", i);
		fd = open(file, O_RDWR | O_CREAT, 0755);
		if (fd < 0 || ftruncate(fd, PAGE) < 0)
			exit(1);
		p = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED)
			munmap(p, PAGE);
		close(fd);
		unlink(file);
	}
}

static void *thread_spin(void *context)
{
	for (volatile unsigned long i = 0;; i++)
		if (i % 100000 == 0)
			usleep(1000);
	return context;
}

static void many_threads(long n)
{
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread, &attr, thread_spin, NULL))
			exit(1);
	puts("running");
	fflush(stdout);
	for (;;)
		pause();
}

static void storm_forks(long per_minute)
{
	const struct timespec pause = { .tv_nsec = 60000000000L / per_minute };
	char name[16];

	for (unsigned long i = 0;; i++) {
		pid_t pid = fork();

		if (!pid) {
			snprintf(name, sizeof(name), "p%lx", i);
			prctl(PR_SET_NAME, name);
			for (volatile int k = 0; k < 200000; k++)
				;
			_exit(0);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
		nanosleep(&pause, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 0;

	if (!strcmp(mode, "mappings"))
		flood_mappings();
	else if (!strcmp(mode, "comms"))
		flood_comms();
	else if (!strcmp(mode, "names"))
		flood_names();
	else if (!strcmp(mode, "threads") && n > 0)
		many_threads(n);
	else if (!strcmp(mode, "forks") && n > 0)
		storm_forks(n);
	fprintf(stderr, "usage: hostile mappings|comms|names|threads N|forks N\n");
	return 2;
}
