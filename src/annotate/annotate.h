/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Annotation: the samples of a profile by source line and by instruction.
 *
 *	places of the profile --lines--> (file, line) -> weights per event
 *	a function's code     --disassembler--> instructions, each with the places in it
 *
 * The profile was loaded with places and functions. Each sample is at its own address. If it was
 * loaded with chains, functions and their lines also have totals: a sample counts once for each
 * line of its stack.
 */
#pragma once

#include <stdio.h>

#include "annotate/source_files.h"
#include "base/buf.h"
#include "base/intmap.h"
#include "base/strings.h"
#include "profile/profile.h"
#include "report/formats.h"
#include "report/report.h"
#include "symbol/symbolizer/code_files.h"
#include "symbol/lines/lines.h"

struct annotated_line {
	uint32_t file; /* of `files` */
	uint32_t line; /* 0: no line is known */
};

/* Weights by line. */
struct line_sums {
	struct intmap index; /* file << 32 | line */
	VEC(struct annotated_line) lines;
	VEC(struct weight) weights; /* [line * n_lanes + lane] */
	VEC(struct weight) totals;  /* likewise, of a function; none without has_totals */
};

struct annotation {
	const struct profile *profile;
	struct symbolizer *symbols;
	struct source_files *sources;
	struct code_files *code;
	bool with_source, with_assembly;
	bool by_period; /* percentages and order are of events: profile_weighs_by_period() */

	struct weight *place_weights; /* [place * n_lanes + lane] */
	bool has_totals;              /* the profile has chains, so there are … */
	struct weight *node_totals; /* … [node * n_lanes + lane]: of it and of all that it called */
	uint32_t *first_node;       /* … by place: one of its nodes; 0: none */
	uint32_t *next_node;        /* … by node: another one of its place; 0: none */
	uint32_t *order;            /* places by image and offset */
	uint32_t *owners;           /* by image of the profile: who owns its file */
	struct strings files;       /* paths as the compiler saw them */
	struct line_sums lines;     /* of all places, after annotation_sum_lines() */
};

struct annotation *annotation_new(const struct profile *profile, struct symbolizer *symbols,
				  struct source_files *sources);
void annotation_free(struct annotation *a); /* NULL is fine */
DEFINE_AT_EXIT(annotation_free, struct annotation)

/* Finds the lines of all places, which needs the debug information of every image. */
void annotation_sum_lines(struct annotation *a);

/* The weights of a place. */
static inline const struct weight *annotation_place(const struct annotation *a, uint32_t place)
{
	return &a->place_weights[(size_t)place * a->profile->n_lanes];
}

/* Adds up the places in [start, end) of an image. */
void annotation_sum(const struct annotation *a, uint32_t image, uint64_t start, uint64_t end,
		    struct weight *out);

/* With has_totals: the samples with a place in [start, end) of an image in their stack. */
void annotation_total(const struct annotation *a, uint32_t image, uint64_t start, uint64_t end,
		      struct weight *out);

/* The samples of a function; and with has_totals, those with the function in their stack. */
void annotation_function_own(const struct annotation *a, uint32_t function, struct weight *out);
void annotation_function_total(const struct annotation *a, uint32_t function, struct weight *out);

/* Weights of a function's places by line. The sums start as { 0 }. */
void annotation_function_lines(struct annotation *a, uint32_t function, struct line_sums *out);
void line_sums_fini(struct line_sums *s);

/* The weights of a line; NULL if it has none. */
const struct weight *line_sums_find(const struct annotation *a, const struct line_sums *s,
				    uint32_t file, uint32_t line);
/* Its totals, where there are some. */
const struct weight *line_sums_total(const struct annotation *a, const struct line_sums *s,
				     uint32_t file, uint32_t line);

/* What a sample of the counter says about where, in a sentence. */
void annotation_put_skid(const struct annotation *a, uint32_t lane, struct buf *out);

/* An image names a source file: whose owner can read it is shown (annotate/source_files.h). */
void annotation_name_source(struct annotation *a, uint32_t image, const char *path);

/* One function as text. Its source: lines from its first to its last, then what is inlined. */
void annotation_print_function(struct annotation *a, uint32_t function,
			       const struct text_style *style, FILE *out);

/* A whole source file as text; false (and nothing) if it is not there. After
 * annotation_sum_lines(). */
bool annotation_print_file(struct annotation *a, uint32_t file, const struct text_style *style,
			   FILE *out);

/* Functions as JSON, with source lines and instructions. */
void annotation_print_json(struct annotation *a, const uint32_t *functions, size_t n, FILE *out);
