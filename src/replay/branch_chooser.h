/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses among the branches of a decoded trace, by the names of both ends (trace/branch_filter.h).
 * Looks up each address once for as long as the mappings of its thread stay.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct branch_chooser;
struct branch_filter;
struct event;
struct machine;
struct symbolizer_config;
struct thread_view;

/* Filter and machine outlive the chooser. `places` may be NULL: the files of this machine. */
struct branch_chooser *branch_chooser_new(const struct branch_filter *filter,
					  struct machine *machine,
					  const struct symbolizer_config *places);
void branch_chooser_free(struct branch_chooser *c); /* NULL is fine */

/* `generation` is another one after each change of the thread or its mappings (replay.h). */
bool branch_chooser_takes(struct branch_chooser *c, const struct event *branch,
			  const struct thread_view *thread, const char *comm, uint32_t generation);
