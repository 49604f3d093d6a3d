/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often one hardware event happened in a command, in user mode, from the kernel's counter
 * itself: `counted CONFIG COMMAND [ARGUMENT…]`, CONFIG being PERF_COUNT_HW_*. The figure is the
 * last line.
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.disabled = 1,
		.inherit = 1,
		.enable_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	unsigned long long count;
	int ready[2], fd, status;
	char byte;
	pid_t pid;

	if (argc < 3 || pipe(ready) < 0)
		return 2;
	attr.config = strtoull(argv[1], NULL, 0);
	pid = fork();
	if (pid == 0) {
		close(ready[1]);
		if (read(ready[0], &byte, 1) == 0)
			execvp(argv[2], argv + 2);
		_exit(127);
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		perror("perf_event_open");
		return 1;
	}
	close(ready[1]);
	if (waitpid(pid, &status, 0) != pid || read(fd, &count, sizeof(count)) != sizeof(count))
		return 1;
	printf("%llu\n", count);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
