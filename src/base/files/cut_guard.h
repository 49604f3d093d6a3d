/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mappings of files that others may cut while we read them.
 *
 * Reading a page of a mapping that its file has lost is a SIGBUS. A guarded range gets pages of
 * zeros there instead, from the page that was read to the range's end, and is marked;
 * whoever reads untrusted bytes can take zeros as well as anything. file_map() guards
 * what it maps, and file_is_cut() tells.
 *
 * A program asks for guards with cut_guard_enable(). Until then nothing handles SIGBUS, and
 * file_map() reads files into memory. A SIGBUS that is not ours goes on to the handler that was
 * there before. Any thread may put guards and look at them.
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

/* Whether something was read that the file no longer had. False for NULL. */
bool cut_guard_is_cut(const struct cut_guard *g);
