/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which blocks of a history are long enough for a view over time: query->overview_ns
 * (profile/query.h). A view of a long time is there sooner if it reads no single seconds.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct query;

/* For a page of the source at `path` (NULL: the default). 0: it is no history, or a short time. */
uint64_t overview_of_page(const char *path, const struct query *query);

/*
 * For a series. *step_s is the step, 0: not given. With is_quick, a step that was not given becomes
 * one that the history has soon.
 */
uint64_t overview_of_series(const char *path, const struct query *query, bool is_quick,
			    double *step_s);
