/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a command for which the kernel refuses a system call.
 *
 *   refuse perf|container|bpf COMMAND [ARGUMENT…]
 *
 *   perf       perf_event_open(2) fails as in a kernel without it (ENOSYS)
 *   container  perf_event_open(2) fails as with the filters of containers (EPERM)
 *   bpf        bpf(2) fails as with a policy (EPERM)
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int is_bpf = argc > 2 && !strcmp(argv[1], "bpf");
	int is_perf = argc > 2 && !strcmp(argv[1], "perf");
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, is_bpf ? SYS_bpf : SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (is_perf ? ENOSYS : EPERM)),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(steps) / sizeof(steps[0]), steps };

	if (argc < 3)
		return 2;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("seccomp");
		return 1;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
