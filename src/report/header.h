/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a report's numbers come from: event, rate, machine, command, totals, and
 * everything that is missing from them. Both forms have the same facts.
 */
#pragma once

#include <jansson.h>

#include "report/formats.h"
#include "report/report.h"

struct session;
struct style_codes;

json_t *header_json(const struct report *r);

/* Of a fleet: its hosts with samples, and its note. Sets nothing for other sessions. */
void header_put_coverage(const struct session *s, json_t *o);

void header_print(const struct report *r, const struct text_style *style, FILE *out);

/* Text that may hold anything, as a JSON string. */
json_t *json_text(const char *text);

/* JSON integers end at 2^63 - 1 in jansson; larger numbers become that. */
json_t *json_number(uint64_t number);
