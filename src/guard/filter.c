/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>

#include "base/error.h"
#include "base/mem.h"

/* A thread shares all with its process. */
#define THREAD_FLAGS ((uint64_t)(CLONE_VM | CLONE_THREAD | CLONE_SIGHAND))

#define FCNTL(number)                                                                       \
	{                                                                                   \
		.call = SCMP_SYS(fcntl), .argument = 1, .mask = UINT32_MAX, .value = number \
	}

static const struct filter_row basic[] = {
	FILTER_ALLOW(alarm),
	FILTER_ALLOW(brk),
	FILTER_ALLOW(clock_getres),
	FILTER_ALLOW(clock_gettime),
	FILTER_ALLOW(clock_nanosleep),
	FILTER_ALLOW(close),
	FILTER_ALLOW(exit),
	FILTER_ALLOW(exit_group),
	FILTER_ALLOW(fstat),
	FILTER_ALLOW(fstatfs),
	FILTER_ALLOW(ftruncate),
	FILTER_ALLOW(futex),
	FILTER_ALLOW(getpid),
	FILTER_ALLOW(getrandom),
	FILTER_ALLOW(gettid),
	FILTER_ALLOW(geteuid),
	FILTER_ALLOW(getuid),
	FILTER_ALLOW(lseek),
	FILTER_ALLOW(madvise),
	FILTER_ALLOW(memfd_create),
	FILTER_ALLOW(mremap),
	FILTER_ALLOW(munmap),
	FILTER_ALLOW(nanosleep),
	FILTER_ALLOW(poll),
	FILTER_ALLOW(ppoll),
	FILTER_ALLOW(pread64),
	FILTER_ALLOW(pwrite64),
	FILTER_ALLOW(read),
	FILTER_ALLOW(recvmsg),
	FILTER_ALLOW(restart_syscall),
	FILTER_ALLOW(rseq),
	FILTER_ALLOW(rt_sigaction),
	FILTER_ALLOW(rt_sigprocmask),
	FILTER_ALLOW(rt_sigreturn),
	FILTER_ALLOW(sched_getaffinity),
	FILTER_ALLOW(sched_yield),
	FILTER_ALLOW(sendmsg),
	FILTER_ALLOW(set_robust_list),
	FILTER_ALLOW(setitimer), /* alarm() where there is no such call */
	FILTER_ALLOW(sigaltstack),
	FILTER_ALLOW(write),
	/* nothing that sends signals: F_SETOWN and F_SETSIG would */
	FCNTL(F_DUPFD),
	FCNTL(F_DUPFD_CLOEXEC),
	FCNTL(F_GETFD),
	FCNTL(F_SETFD),
	FCNTL(F_GETFL),
	FCNTL(F_ADD_SEALS),
	FCNTL(F_GET_SEALS),
	/* shared memory would not count as the parser's */
	{ .call = SCMP_SYS(mmap),
	  .argument = 2,
	  .mask = PROT_EXEC,
	  .argument_2 = 3,
	  .mask_2 = MAP_TYPE,
	  .value_2 = MAP_PRIVATE },
	{ .call = SCMP_SYS(mprotect), .argument = 2, .mask = PROT_EXEC },
	/* a question only */
	{ .call = SCMP_SYS(prlimit64), .argument = 2, .mask = UINT64_MAX },
	{ .call = SCMP_SYS(clone), .mask = THREAD_FLAGS, .value = THREAD_FLAGS },
	/* its flags are in memory, where a filter sees nothing; clone is taken then */
	{ .call = SCMP_SYS(clone3), .error = ENOSYS },
};

const struct filter_table filter_basic = { basic, ARRAY_SIZE(basic) };

static const struct filter_row signal_calls[] = { FILTER_ALLOW(fcntl), FILTER_ALLOW(tgkill) };

const struct filter_table filter_signals = { signal_calls, ARRAY_SIZE(signal_calls) };

static int add_row(scmp_filter_ctx filter, const struct filter_row *row)
{
	const struct scmp_arg_cmp conditions[] = {
		SCMP_CMP64(row->argument, SCMP_CMP_MASKED_EQ, row->mask, row->value),
		SCMP_CMP64(row->argument_2, SCMP_CMP_MASKED_EQ, row->mask_2, row->value_2),
	};
	unsigned int n = row->mask_2 ? 2 : row->mask ? 1 : 0;
	uint32_t action = row->error ? SCMP_ACT_ERRNO((uint32_t)row->error) : SCMP_ACT_ALLOW;

	return seccomp_rule_add_array(filter, action, row->call, n, conditions);
}

static int add_tables(scmp_filter_ctx filter, const struct filter_table *tables, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < tables[i].n && r >= 0; k++)
			r = add_row(filter, &tables[i].rows[k]);
	return r;
}

int filter_enter(const struct filter_table *tables, size_t n, const char *whose, struct error *err)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ERRNO(EPERM));
	int r = filter ? add_tables(filter, tables, n) : -ENOMEM;

	if (r >= 0)
		r = seccomp_load(filter);
	seccomp_release(filter);
	return r < 0 ? error_errno(err, r, "cannot filter the system calls of the %s", whose) : 0;
}
