/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of a processor trace: they stay empty where the export is of samples. */
#pragma once

#include "export/database/sql.h"

/* In this order: functions and paths are known when the calls have been read. */
void fill_calls(struct sql_out *out, const struct export *x);
void fill_branches(struct sql_out *out, const struct export *x);
void fill_trace_functions(struct sql_out *out, const struct export *x);
void fill_trace_call_paths(struct sql_out *out, const struct export *x);
