/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reasons of waits, by the kernel function in which a thread waits. */
#pragma once

/* X(id, name, text) */
#define WAIT_REASONS(X)                                                                     \
	X(FUTEX, "futex", "a lock or a condition of the program (pthread mutexes, …)")      \
	X(SLEEP, "sleep", "a time that the program chose")                                  \
	X(POLL, "poll", "one of several files or events (poll, select, epoll, …)")          \
	X(SOCKET, "socket", "data or room in a socket, or a connection")                    \
	X(PIPE, "pipe", "data or room in a pipe")                                           \
	X(CHILD, "child", "the end of a child process")                                     \
	X(SIGNAL, "signal", "a signal")                                                     \
	X(TERMINAL, "terminal", "input or output of a terminal")                            \
	X(IPC, "ipc", "a System V or POSIX semaphore or message queue")                     \
	X(FILE_LOCK, "file-lock", "a lock of a file")                                       \
	X(BLOCK_IO, "block-io", "reading or writing a block device")                        \
	X(JOURNAL, "journal", "the journal of a file system")                               \
	X(WRITEBACK, "writeback", "too many unwritten pages in memory")                     \
	X(NETWORK_FILE, "network-file", "the server of a network or FUSE file system")      \
	X(MEMORY, "memory", "free memory")                                                  \
	X(KERNEL_LOCK, "kernel-lock", "a lock of the kernel")                               \
	X(KERNEL_THREAD, "kernel-thread", "work for a kernel thread")                       \
	X(CPU, "cpu", "a free CPU: the thread could go on")                                 \
	X(STOPPED, "stopped", "a debugger, a stopping signal, or another thread's exec")    \
	X(OTHER, "other", "something else in the kernel")                                   \
	X(UNKNOWN, "[unknown]", "the stack of the wait has no kernel function with a name") \
	X(NONE, "[none]", "the sample is no wait")

enum wait_reason {
#define X(id, name, text) REASON_TO_WAIT_##id,
	WAIT_REASONS(X)
#undef X
		N_WAIT_REASONS
};

extern const char *const wait_reason_names[N_WAIT_REASONS];

/*
 * The reason that a kernel function stands for, with or without what compilers append (".part.0");
 * REASON_TO_WAIT_OTHER: none. The innermost function with a reason decides.
 */
enum wait_reason wait_reason_of(const char *function);
