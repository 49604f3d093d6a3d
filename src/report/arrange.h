/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From rows in no order to rows to be shown: nested, sorted, the light ones in "other". */
#pragma once

#include "report/report.h"

/*
 * Replaces r->rows, one for each tuple of r->keys. In a nest the rows of equal
 * leading keys come under a GROUP row with their sum; in a list there is one
 * level. The rows under one heading that are below the limits become one OTHER
 * row at its end.
 */
void arrange(struct report *r, const struct row_limits *limits);
