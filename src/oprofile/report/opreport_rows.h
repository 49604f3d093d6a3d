/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside opreport's layouts: the rows that all of them are made of. */
#pragma once

#include "base/buf.h"
#include "base/intmap.h"
#include "oprofile/report/opreport.h"

/* A symbol of an image in an application, or an address below it. */
struct op_row {
	uint32_t app, image; /* of the profile */
	uint32_t function;   /* NO_INDEX: code of the image that has no name */
	const char *symbol;  /* for people */
	char *line;          /* "sort.c:12"; NULL: not asked for */
	uint64_t address;
	uint32_t detail_of;               /* index of the symbol's row; NO_INDEX: it is one */
	uint32_t first_detail, n_details; /* of a symbol's row: in `details` */
};

struct op_rows {
	const struct profile *p;
	const struct opreport_options *o;
	VEC(struct op_row) list;
	VEC(uint64_t) counts; /* [row * n_lanes + lane] */
	uint32_t *order;      /* symbols, then … */
	size_t n_order;
	uint32_t *details; /* … addresses, by symbol and address */
	size_t n_details;
	bool shows_image, shows_app;
	int address_digits;
};

void op_rows_make(struct op_rows *r, const struct profile *p, const struct opreport_options *o);
void op_rows_fini(struct op_rows *r);

/* A row for each node of a graph, of its number; `order` has those that are shown. */
struct arc_graph;
void op_rows_of_graph(struct op_rows *r, const struct arc_graph *g,
		      const struct opreport_options *o);

static inline const uint64_t *op_row_counts(const struct op_rows *r, uint32_t row)
{
	return &r->counts.data[(size_t)row * r->p->n_lanes];
}

double op_share(uint64_t count, uint64_t of);

/*
 * Adds a row without counts. Without `has_symbol` it is all code of the function's image without a
 * name.
 */
uint32_t op_rows_add(struct op_rows *r, uint32_t app, uint32_t function, bool has_symbol);

/*
 * Address and columns of each class, as far as they are columns. Shares are of `of`, by lane; NULL:
 * of the totals. `sums` are the running sums of the rows before, and grow.
 */
void op_put_counts(const struct op_rows *r, uint64_t address, const uint64_t *counts,
		   const uint64_t *of, uint64_t *sums, struct buf *line);

/* Orders rows by options->sort, then by all other keys. For qsort_r(); context: struct op_rows. */
int op_rows_compare(const void *a, const void *b, void *context);

/* The same for rows of two lists. */
int op_rows_compare_of(const struct op_rows *ra, uint32_t row_a, const struct op_rows *rb,
		       uint32_t row_b);

/* An image's path as its samples have it, of a module its name behind a slash: in XML. */
const char *op_sample_path(const struct profile *p, uint32_t image);

/* The path of its file, without links; where none was found, as above. */
const char *op_image_path(const struct profile *p, uint32_t image);

/* An image's name in a column: its file name, or with long names its path. */
const char *op_image_name(const struct profile *p, const struct opreport_options *o,
			  uint32_t image);

/* The name of code, and of code without one: its image's path. */
const char *op_symbol_name(const struct profile *p, uint32_t function);
uint64_t op_symbol_address(const struct profile *p, uint32_t function); /* 0: it has none */
bool op_has_symbol(const struct profile *p, uint32_t function);

/* Whether images and applications are worth a column: of the rows in `order`. */
void op_rows_choose_columns(struct op_rows *r);

/* "tid:101", "CPU_CLK_UNHALTED:100000": what stands above a class. */
void opreport_lane_title(const struct profile *p, uint32_t lane, struct buf *out);

/* Text in at least `width` columns, and a blank behind it. */
void op_put(struct buf *line, const char *text, size_t width);
void op_put_number(struct buf *line, uint64_t n, size_t width);
void op_put_percent(struct buf *line, double percent, size_t width);
void op_put_address(const struct op_rows *r, uint64_t address, struct buf *line);

/* The line without blanks at its end. */
void op_print_line(struct buf *line, FILE *out);

/* Titles of a list; with `diff` those of a comparison. */
void op_print_titles(const struct op_rows *r, bool is_diff, FILE *out);

/* Image, application, symbol of a row, as far as they are columns. */
void op_put_names(const struct op_rows *r, const struct op_row *row, const char *suffix,
		  struct buf *line);

#define OP_COUNT_WIDTH       9
#define OP_CUM_WIDTH         14
#define OP_PERCENT_WIDTH     9
#define OP_CUM_PERCENT_WIDTH 11
#define OP_DIFF_WIDTH        10
#define OP_ADDRESS_WIDTH     9
#define OP_LINE_WIDTH        28
#define OP_IMAGE_WIDTH       25
