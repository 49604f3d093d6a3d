/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts as many short-lived processes as the argument says, one after the other. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 10000;

	for (long i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		if (pid == 0)
			_exit(0);
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0) {
			perror("forks");
			return 1;
		}
	}
	printf("%ld forks\n", n);
	return 0;
}
