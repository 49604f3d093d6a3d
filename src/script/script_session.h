/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a session, one by one where their times are known. Inside script/. */
#pragma once

#include "script/script.h"

/* script_run() of a session. */
int script_run_session(const struct script_input *input, const struct script_options *options,
		       struct error *err);

/* The facts that samples of a session have. */
struct perf_event_attr script_stored_attr(const struct session *session);

/* script.c: filters a row and prints it. Not 0: the reading ends. */
int script_take_row(struct script_printer *p, const struct script_row *row);
int script_flush(struct script_printer *p);
