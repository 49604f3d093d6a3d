/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several sessions as one, and the saved sessions of a store. */
#pragma once

#include "store/session.h"

/*
 * One session of the parts (at least one), which become its own, also on failure: their segments
 * one after the other, their events by name, count, unit mask and mode, their times on one clock
 * by the wall clock of their starts. The rest is told by the part that started first.
 * `any_rate`: events that differ in their frequency alone are one, at the first one's.
 */
int session_join(struct session **parts, uint32_t n, bool any_rate, struct session **out,
		 struct error *err);

/*
 * Keeps the current session of a store as samples/NAME beside it. -EEXIST if there is one of the
 * name, -ENOENT if there is no current one.
 */
int session_save(const char *dir, const char *name, struct error *err);

/* The sessions of a store, by name; the texts are the caller's to free. */
struct session_names {
	char **data;
	size_t n, cap;
};
void session_names_fini(struct session_names *names);

/* The folders in DIR/samples, sorted; none where there is no such folder. */
void session_names_list(const char *dir, struct session_names *out);
