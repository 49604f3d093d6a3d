/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings of files that others may truncate while we read them.
 *
 * Reading a page of a mapping that the file has lost raises SIGBUS. In a guarded range, the handler
 * maps pages of zeros from that page to the end of the range, and marks the range. Code that reads
 * untrusted bytes can handle zeros, too. file_map() guards its mappings, and file_is_cut() reports
 * the mark.
 *
 * A program enables guards with cut_guard_enable(). Without it, nothing handles SIGBUS, and
 * file_map() reads files into memory. A SIGBUS outside of guarded ranges goes to the previous
 * handler. All functions are safe for threads.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cut_guard;

/* From now on, for the whole process. */
void cut_guard_enable(void);
bool cut_guard_is_enabled(void);

/* Guards [base, base + size), of whole pages from `base` on, until cut_guard_drop(). */
struct cut_guard *cut_guard_put(void *base, size_t size);
void cut_guard_drop(struct cut_guard *g); /* before the range is unmapped; NULL is fine */

/*
 * Gives back the memory of all guarded ranges of at least `size` bytes: reading brings their pages
 * back from the files. A handler of a signal may call it.
 */
void cut_guard_rest(size_t size);

/*
 * Does so each time that the process has used so much CPU time (ITIMER_PROF, SIGPROF). A reader of
 * a large file goes through hundreds of megabytes of it once, and their pages would count as memory
 * of the process for as long as the file is mapped.
 */
void cut_guard_rest_often(size_t size, long cpu_us);

/* Whether something was read that the file no longer had. False for NULL. */
bool cut_guard_is_cut(const struct cut_guard *g);
