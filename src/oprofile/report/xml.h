/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OProfile's XML, valid by its schema 3.1 (report.xsd): options, events, classes; then binaries
 * with modules, or processes with threads and modules; symbols, and with details addresses and
 * code.
 *
 * Samples that are kept apart by thread are below process elements. Classes are named by processor,
 * event and unit mask. An event of a frequency has the count 0. A profile without functions has a
 * symbol for each image, because a module needs one.
 */
#pragma once

#include <stdio.h>

#include "profile/profile.h"

struct query;

struct xml_source {
	const struct profile *profile;
	const char *title;
	bool with_graph;     /* callers and callees */
	bool with_details;   /* of a profile with addresses */
	bool with_lines;     /* source files and lines */
	bool with_mangled;   /* names as in the symbol table */
	bool with_frequency; /* more than the schema has: the frequency of events without a count */
	bool merges_masks;   /* the profile was loaded so (profile_request.merge_masks) */
	bool with_paths;     /* images are in the order of their paths; else of file names */
	bool is_reversed;    /* the order */
	double threshold;    /* percent */
	const struct query *query; /* whose symbols a graph shows; NULL: all */
	/* Options that the user gave, as text; NULL: not given. */
	const char *session, *image_path, *merge, *exclude_symbols, *include_symbols;
	bool excludes_dependents;
};

void xml_print(const struct xml_source *source, FILE *out);
