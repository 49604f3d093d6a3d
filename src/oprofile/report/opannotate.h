/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * opannotate's layouts: source files with each line's samples before it, and instructions. A line
 * has, for each class, the count in six columns and the percentage of all samples in seven.
 */
#pragma once

#include <stdio.h>

#include "annotate/annotate.h"

struct opannotate_options {
	const char *command_line; /* for the comment that explains the numbers */
	double threshold;         /* percent, of files (source) and functions (assembly) */
	bool with_assembly;       /* instructions, else source files */
	bool with_source;         /* between instructions */
};

/* Data for all files: the starts of functions, and the samples of files. */
struct opannotation;

/* Annotation and options must outlive it. */
struct opannotation *opannotation_new(struct annotation *a, const struct opannotate_options *o);
void opannotation_free(struct opannotation *oa); /* NULL is fine */

/* Samples of a file of the annotation in the first class; what files are ordered by. */
uint64_t opannotation_file_samples(const struct opannotation *oa, uint32_t file);
/* Has it any, of any class? */
bool opannotation_has_file(const struct opannotation *oa, uint32_t file);

/* The comment in front of everything. */
void opannotation_print_interpretation(const struct opannotation *oa, FILE *out);

/*
 * A file: its comment with path and total, then its lines, where `comment_last` in the other
 * order, so that line numbers are those of the source. A file that is not there has its functions
 * listed alone.
 */
void opannotation_print_file(struct opannotation *oa, uint32_t file, bool comment_last, FILE *out);

/* Functions in the order of their samples. */
void opannotation_print_assembly(struct opannotation *oa, FILE *out);
