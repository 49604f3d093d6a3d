/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts as text, CSV and JSON. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "record/stat.h"

struct topdown;

struct stat_printing {
	FILE *out;
	const char *what;              /* "'./app'", "the whole machine" */
	const char *lane;              /* "cpu", "thread"; NULL: one lane */
	const struct topdown *topdown; /* NULL: the machine has none */
	uint64_t n_readings;
};

/* X(name) */
#define STAT_FORMATS(X) X(text) X(csv) X(json)

struct stat_format {
	const char *name;
	void (*print)(struct stat_printing *p, const struct stat_reading *r);
};

/* By a name of STAT_FORMATS. */
const struct stat_format *stat_format_find(const char *name);

/* Whether it was wanted and not counted all the time. A gap of a hundredth is ignored. */
bool count_is_missing(const struct count *c);
bool count_is_scaled(const struct count *c);
double count_percent(const struct count *c);

/* "9,408,018,070" */
void count_print_grouped(char *text, size_t size, uint64_t value);
