/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a processor trace: they stay empty for an export of samples. */
#pragma once

#include "export/database/sql.h"

/* In this order: the calls are read first, and give functions and paths. */
void fill_calls(struct sql_out *out, const struct export *x);
void fill_branches(struct sql_out *out, const struct export *x);
void fill_trace_functions(struct sql_out *out, const struct export *x);
void fill_trace_call_paths(struct sql_out *out, const struct export *x);
