/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the objects of libassay hold: for libassay/ alone. */
#pragma once

#include <stdbool.h>

#include <assay/assay.h>

#include "base/error.h"
#include "base/strings.h"
#include "open/input.h"
#include "profile/profile.h"
#include "report/report.h"

#define ASSAY_API __attribute__((visibility("default")))

struct assay_config {
	struct open_config open;
	struct window_args window;
	char *cache;   /* NULL: the usual place */
	char *text[8]; /* those of `open` and `window`, by the row of assay_config_set() */
};

struct assay_session {
	unsigned int uses; /* the caller's and one for each rows */
	struct input *in;
	struct session *session;
	struct symbolizer *symbols;
	char *path;
	bool is_damaged, no_itrace;
};

struct assay_query {
	struct query samples;
	struct key_list by;
	double min_percent;
	bool weighs_events;
};

struct assay_rows {
	struct assay_session *session;
	struct query query; /* empty: report_new() keeps a pointer */
	struct report_options options;
	struct profile *profile;
	struct report *report;
	struct strings texts;
};

void assay_session_unuse(struct assay_session *session); /* frees it at the last */

/* Gives the caller the error, and the code. */
int assay_give_error(struct assay_error *to, int code, const struct error *from);
int assay_refuse(struct assay_error *to, int code, const char *sentence);

/*
 * A piece of work that reads a file. assay_end_work() returns r, or -ENOMEM if memory ran short
 * meanwhile (base/reserve.h): then the results are incomplete.
 */
struct assay_work {
	uint32_t n_failures;
};
struct assay_work assay_begin_work(void);
int assay_end_work(const struct assay_work *work, int r, struct error *err);
