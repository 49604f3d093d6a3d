/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The labels that a recording keeps, by their names in programs and in the session. `trace` and
 * `span` of the session are the labels trace_id and span_id of programs.
 */
#pragma once

#include <stddef.h>

#include "base/mem.h"

struct error;
struct option_list;

struct record_labels {
	VEC(const char *) in_program, in_session;
	VEC(char *) words; /* the texts of both */
};
void record_labels_fini(struct record_labels *l);

/*
 * Comma-separated names of each list, each at most once. -EINVAL: too many (LABELS_MAX), an empty
 * or a long name (LABEL_NAME_MAX), or a character that filters and keys cannot have.
 */
int record_labels_parse(const struct option_list *lists, struct record_labels *out,
			struct error *err);
