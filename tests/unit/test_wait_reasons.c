/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why threads wait, by the kernel functions that they wait in. */
#include "profile/wait_reasons.h"

#include "scratch.h"

/* Innermost first, from /proc/PID/stack of several kernels. */
static enum wait_reason reason_of_stack(const char *const *functions)
{
	enum wait_reason reason = REASON_TO_WAIT_OTHER;

	for (; *functions && reason == REASON_TO_WAIT_OTHER; functions++)
		reason = wait_reason_of(*functions);
	return reason;
}

static void the_innermost_function_with_a_reason_decides(void **state)
{
	static const struct {
		const char *reason, *stack[10];
	} cases[] = {
		{ "futex", { "__schedule", "schedule", "futex_wait_queue", "futex_wait" } },
		{ "futex", { "__schedule", "schedule", "futex_do_wait", "__futex_wait" } },
		{ "futex", { "__schedule", "rt_mutex_schedule", "futex_lock_pi" } },
		{ "sleep", { "__schedule", "do_nanosleep", "hrtimer_nanosleep" } },
		{ "poll", { "schedule_hrtimeout_range_clock", "ep_poll", "do_epoll_wait" } },
		{ "poll", { "poll_schedule_timeout.constprop.0", "do_sys_poll" } },
		{ "socket", { "schedule_timeout", "wait_woken", "sk_wait_data", "tcp_recvmsg" } },
		{ "socket", { "schedule_timeout", "inet_csk_accept", "inet_accept" } },
		{ "pipe", { "schedule", "anon_pipe_read", "vfs_read" } },
		{ "child", { "schedule", "do_wait", "kernel_wait4" } },
		{ "signal", { "schedule", "sigsuspend", "__x64_sys_rt_sigsuspend" } },
		{ "terminal", { "schedule_timeout", "wait_woken", "n_tty_read", "tty_read" } },
		{ "ipc", { "schedule", "__do_semtimedop", "do_semtimedop" } },
		{ "file-lock", { "schedule", "locks_lock_inode_wait", "__do_sys_flock" } },
		{ "block-io", { "schedule", "io_schedule", "folio_wait_bit_common" } },
		{ "block-io", { "schedule", "blk_io_schedule", "__iomap_dio_rw" } },
		{ "journal", { "schedule", "jbd2_log_wait_commit", "ext4_sync_file" } },
		{ "writeback", { "io_schedule_timeout.isra.0", "balance_dirty_pages" } },
		{ "network-file", { "schedule", "rpc_wait_bit_killable", "out_of_line_wait" } },
		{ "memory", { "schedule_timeout", "reclaim_throttle", "shrink_node" } },
		{ "kernel-lock", { "schedule", "rwsem_down_read_slowpath", "down_read" } },
		{ "kernel-lock", { "schedule_preempt_disabled", "__mutex_lock.constprop.0" } },
		{ "kernel-thread", { "schedule", "worker_thread", "kthread", "ret_from_fork" } },
		{ "other", { "schedule", "some_driver_wait", "do_syscall_64" } },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (strcmp(wait_reason_names[reason_of_stack(cases[i].stack)], cases[i].reason))
			fail_msg("%s is '%s', and not '%s'", cases[i].stack[1],
				 wait_reason_names[reason_of_stack(cases[i].stack)],
				 cases[i].reason);
}

static void a_name_is_no_prefix_unless_it_says_so(void **state)
{
	(void)state;
	assert_int_equal(wait_reason_of("kthread"), REASON_TO_WAIT_KERNEL_THREAD);
	assert_int_equal(wait_reason_of("kthread_park"), REASON_TO_WAIT_OTHER);
	assert_int_equal(wait_reason_of("do_wait.part.0"), REASON_TO_WAIT_CHILD);
	assert_int_equal(wait_reason_of(""), REASON_TO_WAIT_OTHER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_innermost_function_with_a_reason_decides),
		cmocka_unit_test(a_name_is_no_prefix_unless_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
