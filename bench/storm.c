/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A storm of short processes at a fixed rate, which a profiler of the whole machine must forget
 * again.
 *
 *   storm PER_SECOND SECONDS KIND DIR
 *   storm --spin MS
 *
 * The processes take turns: one only forks, one executes a program of DIR, and one executes a shell
 * that executes such a program. Each is busy for 2 ms. With KIND "fixed", there are as many
 * programs and names as DIR has files. With "fresh", each process that only forks has a name that
 * no other has. The programs of DIR are copies of this one.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUSY_MS    "2"
#define FILES_MAX  4096
#define PATH_BYTES 512

static char files[FILES_MAX][PATH_BYTES];
static uint32_t n_files;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void spin(const char *ms)
{
	uint64_t end = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + strtoull(ms, NULL, 10) * 1000000;

	while (clock_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static int list_files(const char *path)
{
	DIR *dir = opendir(path);
	const struct dirent *entry;

	if (!dir) {
		fprintf(stderr, "storm: cannot read %s: %s\n", path, strerror(errno));
		return -1;
	}
	while (n_files < FILES_MAX && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && (size_t)snprintf(files[n_files], PATH_BYTES, "%s/%s",
								path, entry->d_name) < PATH_BYTES)
			n_files++;
	closedir(dir);
	return n_files ? 0 : -1;
}

static void be_one(uint64_t i, int is_fresh)
{
	const char *file = files[i / 3 % n_files];
	char text[PATH_BYTES + 32];

	if (i % 3 == 0) {
		snprintf(text, sizeof(text), "storm%llu",
			 (unsigned long long)(is_fresh ? i : i / 3 % n_files));
		prctl(PR_SET_NAME, text);
		spin(BUSY_MS);
		_exit(0);
	}
	if (i % 3 == 1)
		execl(file, file, "--spin", BUSY_MS, NULL);
	snprintf(text, sizeof(text), "exec %s --spin " BUSY_MS, file);
	execl("/bin/sh", "sh", "-c", text, NULL);
	_exit(127);
}

static void wait_until(uint64_t ns)
{
	struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

int main(int argc, char **argv)
{
	uint64_t start = clock_ns(CLOCK_MONOTONIC), n, failed = 0;
	int status;

	if (argc == 3 && !strcmp(argv[1], "--spin")) {
		spin(argv[2]);
		return 0;
	}
	if (argc != 5 || list_files(argv[4]) < 0)
		return 2;
	n = strtoull(argv[1], NULL, 10) * strtoull(argv[2], NULL, 10);
	for (uint64_t i = 0; i < n; i++) {
		wait_until(start + i * 1000000000 / strtoull(argv[1], NULL, 10));
		switch (fork()) {
		case 0:
			be_one(i, !strcmp(argv[3], "fresh"));
			_exit(127);
		case -1:
			failed++;
		}
		while (waitpid(-1, &status, WNOHANG) > 0)
			failed += status != 0;
	}
	while (wait(&status) > 0)
		failed += status != 0;
	printf("%llu %llu %.3f\n", (unsigned long long)n, (unsigned long long)failed,
	       (double)(clock_ns(CLOCK_MONOTONIC) - start) / 1e9);
	return 0;
}
