/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside profile/: the matchers of a query, NAME="TEXT" and the like (query.h). */
#pragma once

#include "profile/query.h"

/* Whether the operand begins as a list of matchers does. */
bool matchers_begin(const char *operand);

/*
 * Adds the matchers of an operand: 1. Returns 0 if it is no list of matchers, and -EINVAL if one of
 * them is wrong.
 */
int matchers_add(struct query *q, const char *operand, struct error *err);
void matchers_fini(struct query *q);

bool matchers_have(const struct query *q, enum filter_tag tag);

/* For numbers; of a range, whether some number of it may be taken. True without matchers. */
bool matchers_take_number(const struct query *q, enum filter_tag tag, uint64_t from, uint64_t to);
