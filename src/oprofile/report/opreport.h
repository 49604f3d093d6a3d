/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opreport's layouts: what scripts and eyes of OProfile's users expect, column for column. The
 * numbers are the profile's; classes are its lanes (profile/merge.h).
 *
 * Percent: seven columns, four decimals; 100 has three, 0 none, what is not above 0.001 an
 * exponent. Text columns are left-aligned in their least width. Source of the layouts: OProfile
 * 1.5's own output.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "profile/profile.h"

struct opreport_options {
	bool no_header;      /* neither the processor's and events' lines nor titles */
	bool long_names;     /* paths */
	bool short_order;    /* images are in the order of their file names also then */
	bool with_addresses; /* a column `vma` */
	bool with_lines;     /* a column `linenr info` */
	bool accumulated;    /* columns of running sums */
	bool with_mangled;   /* names as in the symbol table */
	bool with_details;   /* below each symbol its addresses (request: with_addresses) */
	bool global_percent; /* details, arcs, dependents: of the total instead of the row above */
	bool is_reversed;    /* the order of sort */
	double threshold;    /* percent */
	const char *sort;    /* "sample,image,app-name,symbol,debug,vma"; NULL: sample */
	uint32_t sort_lane;  /* whose samples order rows */
	bool many_apps;      /* a class has several applications: they are a column */
	const struct query *query; /* whose symbols a call graph shows; NULL: all */
};

/* What profile_load() is to keep apart: APP unless libraries are merged, and of the code. */
void opreport_summary_keys(bool merges_lib, struct key_list *keys);
void opreport_symbol_keys(bool merges_lib, const struct opreport_options *o, struct key_list *keys);

/*
 * Gives the profile's images the paths that OProfile's tools show: of a module a name without
 * brackets, of the kernel /proc/kallsyms, and with functions that of a file that was found
 * elsewhere.
 */
void opreport_name_images(struct profile *p);

/* -EINVAL for a word that is none of the sort keys, which are named. */
int opreport_check_sort(const char *sort, struct error *err);

/*
 * An axis is a property in which the classes of a profile differ. With several axes opreport
 * refuses; here, titles have all values.
 */
void opreport_print_summary(const struct profile *p, const struct opreport_options *o, FILE *out);
void opreport_print_symbols(const struct profile *p, const struct opreport_options *o, FILE *out);
void opreport_print_callgraph(const struct profile *p, const struct opreport_options *o, FILE *out);

/* Old and new, of as many lanes, which are paired in their order; symbols by their names. */
void opreport_print_diff(const struct profile *const profiles[2], const struct opreport_options *o,
			 FILE *out);

/* Processor, events, classes. */
void opreport_print_header(const struct profile *p, FILE *out);

/* "99.5025", "100.000", "      0": 7 characters and more. */
void opreport_percent(char *text, size_t size, double percent);
