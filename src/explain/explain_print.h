/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The findings of `assay explain`, as text for people and as JSON (assay-explain(1)). */
#pragma once

#include <stdio.h>

#include "explain/rules.h"

struct session;

struct explain_page {
	const struct session *session;
	const struct explain_facts *facts;
	const struct explain_commands *commands;
};

typedef void explain_printer(const struct explain_page *page, FILE *out);
explain_printer explain_print_text, explain_print_json;
