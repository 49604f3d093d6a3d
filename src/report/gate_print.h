/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The results of rules (profile/gate.h) for people and for CI systems. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "profile/gate.h"
#include "report/diff_print.h"

/* "kept", "not-significant", "broken", "unmatched". */
const char *gate_verdict_name(enum gate_verdict verdict);

/* The whole comparison: how much CPU time both sides took, and what became of each rule. */
diff_printer diff_print_junit, diff_print_markdown;

/* "12.345 s to 13.100 s: +6.1 % of CPU time **". */
void gate_print_total(struct buf *out, const struct diff_page *page);

json_t *gate_json_total(const struct diff_page *page);
json_t *gate_json_rules(const struct diff_page *page);
