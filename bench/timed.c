/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs below a profiler, and measures the work alone. The start and the end of the profiler are
 * outside. The profiler's own use is its total minus these values.
 *
 * Usage: timed FILE COMMAND [ARG…]
 *
 * It writes "WALL CPU PEAK" to FILE. WALL is in seconds. CPU is the user and system time of the
 * command, all its children and this program, in seconds. PEAK is the largest resident set of a
 * child, in KiB. A process inherits the peak of the process that forked it. So this program is
 * small: a large parent such as Python would be measured instead.
 */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_of(int who)
{
	struct rusage u;

	getrusage(who, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
	double start = seconds();
	struct rusage children;
	int status = 0;
	pid_t pid;
	FILE *out;

	if (argc < 3)
		return 2;
	pid = fork();
	if (pid == 0) {
		execvp(argv[2], argv + 2);
		perror(argv[2]);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0)
		return 1;
	out = fopen(argv[1], "w");
	if (!out)
		return 1;
	getrusage(RUSAGE_CHILDREN, &children);
	fprintf(out, "%.6f %.6f %ld\n", seconds() - start,
		cpu_of(RUSAGE_SELF) + cpu_of(RUSAGE_CHILDREN), children.ru_maxrss);
	fclose(out);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
