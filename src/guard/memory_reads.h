/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads of the memory of profiled programs, which may never end.
 *
 * A program can map a file of a file system that does not answer (FUSE, NFS), or have its page
 * faults handled by itself (userfaultfd(2)). A thread that reads such a page waits, and no signal
 * ends that: with FUSE, not even SIGKILL does. So a thread of its own reads, and its caller waits
 * for a read no longer than a limit. Then the thread is given up, and never comes back to its work.
 * When its read ends at last, the thread ends, too, and the process can be read again.
 *
 *	static void work(void *arg)
 *	{
 *		... memory_read(fd, addr, out, size) ...
 *	}
 *
 *	if (memory_reads_run(reads, pid, work, &arg))
 *		...		it was given up, and its results are incomplete
 *
 * The caller waits, so the two need no locks. Work that may be given up holds no lock at a read,
 * and leaves no object of others half made at one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lang/memory.h"

#define MEMORY_READ_NS  ((uint64_t)250 * 1000 * 1000) /* the longest time of a read */
#define MEMORY_READ_MAX ((size_t)64 << 10)            /* bytes of one read */

/* A thread that is ready to run, but has no CPU, is not given up for so long. */
#define MEMORY_READS_DELAY_NS ((uint64_t)2 * 1000 * 1000 * 1000)

/* All reads of a work may take so many times the limit. Later ones fail with ETIME. */
#define MEMORY_READS_LONGEST 4

/* Threads that may be given up at once. With more, nothing is read until a read has ended. */
#define MEMORY_READS_STUCK_MAX 16

struct memory_reads;

/* `limit_ns`: MEMORY_READ_NS, but for tests. */
struct memory_reads *memory_reads_new(uint64_t limit_ns);

/*
 * Threads that were given up stay. If not even SIGKILL ends their reads, then assay's process
 * stays, too, until the file system answers or is unmounted. NULL is fine.
 */
void memory_reads_free(struct memory_reads *r);

/*
 * Runs `work`, which reads memory of process `pid`, and waits for it.
 *
 *	-ETIME      a read did not end, and the work was given up: it runs no further, but its
 *	            stack and its memory stay allocated
 *	-EACCES     it did not run, as a former read of this process did not end so far
 *	-EAGAIN     it did not run, as the system has no thread left, or too many were given up
 *	-ETIMEDOUT  it ran to its end, but its reads together took too long
 *
 * With `r` NULL, the caller itself runs it. Work may call this function for parts of it, each with
 * reads of another process. If a read of such a part does not end, the whole work is given up, and
 * it is the part's process that is not read any more.
 */
int memory_reads_run(struct memory_reads *r, int32_t pid, void (*work)(void *arg), void *arg);

/* The process has ended, so its number may be another one's. `r` may be NULL. */
void memory_reads_forget(struct memory_reads *r, int32_t pid);

/* How long the thread has waited for a CPU, of all works so far. Not during a work. */
uint64_t memory_reads_delay_ns(const struct memory_reads *r); /* NULL: 0 */

/* Whether the caller is work that memory_reads_run() runs. */
bool memory_reads_here(void);

/* As pread(2) of a process's memory file, and process_vm_readv(2). Elsewhere: -1, EPERM. */
ssize_t memory_read(int fd, uint64_t addr, void *out, size_t size);
ssize_t memory_read_of(int32_t pid, uint64_t addr, void *out, size_t size);

/*
 * As lang_read_many(), of the process that has the number now. If the kernel does not permit this,
 * each range is read from `fd`, its memory file. Together, the ranges have at most MEMORY_READ_MAX
 * bytes; else none is read.
 */
uint32_t memory_read_many(int32_t pid, int fd, const struct lang_range *ranges, uint32_t n,
			  uint8_t *out);
