/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spends its time in a filter of its system calls (seccomp), until it is killed. The kernel has no
 * name for the filter's code.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(void)
{
	/* The kernel runs no filter whose result depends on the call's number alone. */
	static struct sock_filter steps[BPF_MAXINSNS] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args)),
	};
	struct sock_fprog program = { BPF_MAXINSNS, steps };

	for (int i = 1; i < BPF_MAXINSNS - 1; i++)
		steps[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_XOR | BPF_K, 0x5a5a);
	steps[BPF_MAXINSNS - 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("seccomp");
		return 1;
	}
	for (;;)
		syscall(SYS_getppid, 0);
}
