/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings of files that others may cut while we read them.
 *
 * Reading a page of a mapping that its file has lost is a SIGBUS. A guarded range gets pages of
 * zeros there instead, from the page that was read to the range's end, and is marked;
 * whoever reads untrusted bytes can take zeros as well as anything. file_map() guards
 * what it maps, and file_is_cut() tells.
 *
 * Putting a guard installs the handler; a SIGBUS that is not ours goes on to whoever
 * had the signal before. Guards may be put and looked at by any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct cut_guard;

/* Guards [base, base + size), of whole pages from `base` on, until cut_guard_drop(). */
struct cut_guard *cut_guard_put(void *base, size_t size);
void cut_guard_drop(struct cut_guard *g); /* before the range is unmapped; NULL is fine */

/* Whether something was read that the file no longer had. False for NULL. */
bool cut_guard_is_cut(const struct cut_guard *g);
