/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The columns of a report: what each says of a row. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct report;

enum value_kind { VALUE_NONE, VALUE_COUNT, VALUE_PERCENT, VALUE_PERIOD, VALUE_TEXT };

/* What a column says of a row. `text` may point into `scratch`. */
struct value {
	enum value_kind kind;
	uint64_t number;
	double percent;
	const char *text;
	char scratch[160];
};

struct column {
	const char *key, *title, *help;
	enum value_kind kind; /* of all its values; a key that is a number gives VALUE_COUNT */
	bool is_per_lane;     /* once for every event, side by side in text */
	int arg;              /* for get() */
	void (*get)(const struct report *r, const struct column *self, uint32_t row, uint32_t lane,
		    struct value *out);
};

/* The column's value for a row and lane: or VALUE_NONE. Only what a kind needs is set.
 */
void column_value(const struct report *r, const struct column *c, uint32_t row, uint32_t lane,
		  struct value *out);

#define MAX_COLUMNS 32
struct column_list {
	const struct column *column[MAX_COLUMNS];
	bool is_reversed[MAX_COLUMNS]; /* in --sort only */
	size_t n;
};

/* Appends the columns of "samples,image"; "-image" is taken as reversed. Unknown: -EINVAL. */
int column_list_parse(struct column_list *list, const char *text, struct error *err);
const struct column *column_find(const char *key, size_t len);

/* <0, 0, >0 as for qsort(): numbers descending, texts ascending. */
int column_compare(const struct report *r, const struct column *c, uint32_t row_a, uint32_t row_b);
