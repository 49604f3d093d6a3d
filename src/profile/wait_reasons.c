/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/wait_reasons.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

const char *const wait_reason_names[N_WAIT_REASONS] = {
#define X(id, name, text) name,
	WAIT_REASONS(X)
#undef X
};

#define OF(id) REASON_TO_WAIT_##id

/*
 * Of Linux 5.10 to 7.2. A name that ends in '*' is a prefix. Functions that wait for anything
 * (schedule(), wait_woken(), …) are not here: their callers decide.
 */
static const struct {
	const char *name;
	enum wait_reason reason;
} reasons[] = {
	{ "futex_*", OF(FUTEX) },
	{ "__futex_*", OF(FUTEX) },
	{ "do_futex", OF(FUTEX) },
	{ "do_nanosleep", OF(SLEEP) },
	{ "hrtimer_nanosleep", OF(SLEEP) },
	{ "common_nsleep*", OF(SLEEP) },
	{ "ep_poll", OF(POLL) },
	{ "do_epoll_wait", OF(POLL) },
	{ "do_poll*", OF(POLL) },
	{ "do_sys_poll", OF(POLL) },
	{ "poll_schedule_timeout*", OF(POLL) },
	{ "do_select", OF(POLL) },
	{ "eventfd_read", OF(POLL) },
	{ "timerfd_read*", OF(POLL) },
	{ "signalfd_read*", OF(POLL) },
	{ "inotify_read", OF(POLL) },
	{ "fanotify_read", OF(POLL) },
	{ "userfaultfd_read*", OF(POLL) },
	{ "io_cqring_wait*", OF(POLL) },
	{ "read_events", OF(POLL) }, /* io_getevents(2) */
	{ "sk_wait_data", OF(SOCKET) },
	{ "sk_stream_wait_*", OF(SOCKET) },
	{ "__sk_flush_backlog", OF(SOCKET) },
	{ "sock_alloc_send_pskb", OF(SOCKET) },
	{ "sock_wait_*", OF(SOCKET) },
	{ "__skb_wait_for_more_packets", OF(SOCKET) },
	{ "__skb_recv_*", OF(SOCKET) },
	{ "inet_csk_accept", OF(SOCKET) },
	{ "inet_wait_for_connect", OF(SOCKET) },
	{ "__inet_stream_connect", OF(SOCKET) },
	{ "tcp_*", OF(SOCKET) },
	{ "udp_*", OF(SOCKET) },
	{ "unix_*", OF(SOCKET) },
	{ "netlink_*", OF(SOCKET) },
	{ "vsock_*", OF(SOCKET) },
	{ "sock_recvmsg*", OF(SOCKET) },
	{ "sock_sendmsg*", OF(SOCKET) },
	{ "pipe_*", OF(PIPE) },
	{ "anon_pipe_*", OF(PIPE) },
	{ "fifo_open", OF(PIPE) },
	{ "wait_for_partner", OF(PIPE) },
	{ "do_wait*", OF(CHILD) },
	{ "kernel_wait4", OF(CHILD) },
	{ "do_sigtimedwait", OF(SIGNAL) },
	{ "sigsuspend", OF(SIGNAL) },
	{ "__do_sys_pause", OF(SIGNAL) },
	{ "__x64_sys_pause", OF(SIGNAL) },
	{ "do_signal_stop", OF(STOPPED) },
	{ "ptrace_stop", OF(STOPPED) },
	{ "do_freezer_trap", OF(STOPPED) },
	{ "__refrigerator", OF(STOPPED) },
	{ "de_thread", OF(STOPPED) },
	{ "n_tty_*", OF(TERMINAL) },
	{ "tty_*", OF(TERMINAL) },
	{ "do_semtimedop", OF(IPC) },
	{ "__do_semtimedop", OF(IPC) },
	{ "do_msgrcv", OF(IPC) },
	{ "do_msgsnd", OF(IPC) },
	{ "wq_sleep", OF(IPC) },
	{ "fcntl_setlk*", OF(FILE_LOCK) },
	{ "do_lock_file_wait", OF(FILE_LOCK) },
	{ "locks_lock_inode_wait", OF(FILE_LOCK) },
	{ "flock_lock_inode_wait", OF(FILE_LOCK) },
	{ "posix_lock_inode_wait", OF(FILE_LOCK) },
	{ "balance_dirty_pages*", OF(WRITEBACK) },
	{ "jbd2_*", OF(JOURNAL) },
	{ "wait_transaction_*", OF(JOURNAL) },
	{ "add_transaction_credits", OF(JOURNAL) },
	{ "do_get_write_access", OF(JOURNAL) },
	{ "xlog_*", OF(JOURNAL) },
	{ "xfs_log_*", OF(JOURNAL) },
	{ "btrfs_commit_transaction", OF(JOURNAL) },
	{ "wait_current_trans", OF(JOURNAL) },
	{ "rpc_*", OF(NETWORK_FILE) },
	{ "nfs_*", OF(NETWORK_FILE) },
	{ "nfs4_*", OF(NETWORK_FILE) },
	{ "cifs_*", OF(NETWORK_FILE) },
	{ "wait_for_response", OF(NETWORK_FILE) },
	{ "p9_client_*", OF(NETWORK_FILE) },
	{ "fuse_*", OF(NETWORK_FILE) },
	{ "request_wait_answer", OF(NETWORK_FILE) },
	{ "io_schedule", OF(BLOCK_IO) },
	{ "blk_io_schedule", OF(BLOCK_IO) },
	{ "bit_wait_io*", OF(BLOCK_IO) },
	{ "folio_wait_*", OF(BLOCK_IO) },
	{ "wait_on_page_*", OF(BLOCK_IO) },
	{ "__wait_on_buffer", OF(BLOCK_IO) },
	{ "submit_bio_wait", OF(BLOCK_IO) },
	{ "blk_*", OF(BLOCK_IO) },
	{ "blkdev_*", OF(BLOCK_IO) },
	{ "__blkdev_*", OF(BLOCK_IO) },
	{ "rq_qos_wait", OF(BLOCK_IO) },
	{ "wbt_wait", OF(BLOCK_IO) },
	{ "iomap_dio_rw", OF(BLOCK_IO) },
	{ "__iomap_dio_rw", OF(BLOCK_IO) },
	{ "inode_dio_wait*", OF(BLOCK_IO) },
	{ "md_*", OF(BLOCK_IO) },
	{ "dm_*", OF(BLOCK_IO) },
	{ "try_to_free_pages", OF(MEMORY) },
	{ "try_to_free_mem_cgroup_pages", OF(MEMORY) },
	{ "throttle_direct_reclaim", OF(MEMORY) },
	{ "reclaim_throttle", OF(MEMORY) },
	{ "congestion_wait", OF(MEMORY) },
	{ "wait_iff_congested", OF(MEMORY) },
	{ "mem_cgroup_handle_over_high", OF(MEMORY) },
	{ "mem_cgroup_oom_synchronize", OF(MEMORY) },
	{ "mutex_lock*", OF(KERNEL_LOCK) },
	{ "__mutex_lock*", OF(KERNEL_LOCK) },
	{ "ww_mutex_lock*", OF(KERNEL_LOCK) },
	{ "rwsem_down_*", OF(KERNEL_LOCK) },
	{ "down_read*", OF(KERNEL_LOCK) },
	{ "down_write*", OF(KERNEL_LOCK) },
	{ "__down_*", OF(KERNEL_LOCK) },
	{ "down", OF(KERNEL_LOCK) },
	{ "percpu_rwsem_wait", OF(KERNEL_LOCK) },
	{ "rt_mutex_lock*", OF(KERNEL_LOCK) },
	{ "rt_mutex_slowlock", OF(KERNEL_LOCK) }, /* not rt_mutex_slowlock_block(): also futexes */
	{ "__rt_mutex_lock*", OF(KERNEL_LOCK) },
	{ "__rt_mutex_slowlock*", OF(KERNEL_LOCK) },
	{ "rtlock_*", OF(KERNEL_LOCK) },
	{ "rt_spin_lock*", OF(KERNEL_LOCK) },
	{ "synchronize_rcu*", OF(KERNEL_LOCK) },
	{ "synchronize_srcu*", OF(KERNEL_LOCK) },
	{ "__synchronize_srcu*", OF(KERNEL_LOCK) },
	{ "__wait_rcu_gp", OF(KERNEL_LOCK) },
	{ "kthread", OF(KERNEL_THREAD) },
	{ "kthreadd", OF(KERNEL_THREAD) },
	{ "rest_init", OF(KERNEL_THREAD) },
};

static bool reason_matches(const char *pattern, const char *function)
{
	size_t n = strlen(pattern);

	if (pattern[n - 1] == '*')
		return !strncmp(pattern, function, n - 1);
	return !strncmp(pattern, function, n) && (!function[n] || function[n] == '.');
}

enum wait_reason wait_reason_of(const char *function)
{
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reason_matches(reasons[i].name, function))
			return reasons[i].reason;
	return REASON_TO_WAIT_OTHER;
}
