/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Queries, and the tables and call trees that they give. */
#ifndef ASSAY_ROWS_H
#define ASSAY_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include <assay/session.h>

#ifdef __cplusplus
extern "C" {
#endif

struct assay_query; /* selects samples and makes rows of them */
struct assay_rows;  /* a table or a call tree */

/* A query that takes all samples but idle ones, and makes rows of images and symbols. */
struct assay_query *assay_query_new(void);
void assay_query_free(struct assay_query *query);

/* Adds a filter: "comm:worker", "pid:12,13", "symbol:parse*"; see FILTERS of assay-report(1). */
int assay_query_filter(struct assay_query *query, const char *filter, struct assay_error *error);

/*
 * What a row stands for: keys separated by commas, such as "app,symbol". -EINVAL: there is no such
 * key; the message lists them. assay_key_name() lists them, too. A tree takes keys of whole
 * samples only (app, process, thread …) and has a tree for each tuple of them.
 */
int assay_query_by(struct assay_query *query, const char *keys, struct assay_error *error);

void assay_query_idle(struct assay_query *query, int is_on);         /* idle samples, too */
void assay_query_weigh_events(struct assay_query *query, int is_on); /* sorts by events */

/*
 * Which frames of stacks are shown: "both" (the default), "native" or "language"; see --frames of
 * assay-report(1). -EINVAL: another word.
 */
int assay_query_frames(struct assay_query *query, const char *which, struct assay_error *error);

/* Leaves out rows below a share (0 to 100) of the total; they become a row "other". 0: none. */
void assay_query_min_percent(struct assay_query *query, double percent);

/* Keys of rows: name and help. NULL: there are no more. */
const char *assay_key_name(size_t index);
const char *assay_key_help(size_t index);

/* A table: a row for each tuple of keys, heaviest first. `query` NULL: the default. */
int assay_rows(struct assay_session *session, const struct assay_query *query,
	       struct assay_rows **out, struct assay_error *error);

/* The call tree: a row for each function below its caller; parents stand before children. */
int assay_tree(struct assay_session *session, const struct assay_query *query,
	       struct assay_rows **out, struct assay_error *error);

/* The inverted call tree: functions by their own samples, below each its callers. */
int assay_inverted_tree(struct assay_session *session, const struct assay_query *query,
			struct assay_rows **out, struct assay_error *error);

void assay_rows_free(struct assay_rows *rows);

size_t assay_rows_count(const struct assay_rows *rows);

/*
 * Weights stand in columns: one for each event, or one for all if "event" is a key. Their sums over
 * all rows of a table are the totals.
 */
size_t assay_rows_columns(const struct assay_rows *rows);
const char *assay_rows_column(const struct assay_rows *rows, size_t column); /* "" for all events */
uint64_t assay_rows_total_samples(const struct assay_rows *rows, size_t column);
uint64_t assay_rows_total_events(const struct assay_rows *rows, size_t column);

/*
 * The text of a column of assay-report(1), as in `report --format json`: a key of the row, or pid,
 * tid, build_id, name, other … Returns "" if the row has no such value. Returns NULL if there is no
 * such column.
 */
const char *assay_row_text(struct assay_rows *rows, size_t row, const char *column);

/* Samples whose innermost frame is the row's; and those with the row anywhere in their stack. */
uint64_t assay_row_samples(const struct assay_rows *rows, size_t row, size_t column);
uint64_t assay_row_total_samples(const struct assay_rows *rows, size_t row, size_t column);
uint64_t assay_row_events(const struct assay_rows *rows, size_t row, size_t column);
uint64_t assay_row_total_events(const struct assay_rows *rows, size_t row, size_t column);

/* Of trees: how many rows are above it, and the index of the one above; SIZE_MAX: none. */
size_t assay_row_depth(const struct assay_rows *rows, size_t row);
size_t assay_row_parent(const struct assay_rows *rows, size_t row);
int assay_row_is_other(const struct assay_rows *rows, size_t row); /* sum of rows left out */

/*
 * The losses in the query's time, by reason. `index` counts the reasons. assay_loss_name() returns
 * NULL behind the last one.
 */
const char *assay_loss_name(size_t index);
const char *assay_loss_text(size_t index);
uint64_t assay_rows_loss(const struct assay_rows *rows, size_t index);

#ifdef __cplusplus
}
#endif
#endif
