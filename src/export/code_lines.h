/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Source lines of places: for each place the functions that are inlined there, with files and
 * lines.
 *
 * A place has at least one line, which is the line of the symbol table's function. Inlined
 * functions come before it, innermost first:
 *
 *	place 7   __introsort_loop  stl_algo.h:1939    lines[first[7]]          inlined
 *	          std::sort         stl_algo.h:4820                             inlined
 *	          main              sort.cc:12         lines[first[8] - 1]      the symbol
 *
 * A function is one name in one file of one image.
 */
#pragma once

#include "export/names.h"
#include "profile/profile.h"

struct code_function {
	const char *name, *system_name; /* as frame_name() and frame_system_name(); never NULL */
	const char *file;               /* "" if not known */
	uint32_t image;
	uint32_t symbol; /* NO_INDEX for an inlined one, else the profile's function */
};

struct code_line {
	uint32_t function; /* index of code_lines->functions */
	uint32_t line;     /* 0: not known */
};

struct code_lines {
	VEC(struct code_function) functions;
	VEC(struct code_line) lines;
	uint32_t *first;  /* by place, and one more */
	uint32_t *symbol; /* by function of the profile: index of functions; from its first place */
};

/*
 * For a profile with places. Without `with_source`, no debug information is read: each place has
 * one line, its symbol's. Texts live as long as `names` and the profile's symbolizer.
 */
void code_lines_init(struct code_lines *c, const struct profile *p, struct frame_names *names,
		     bool with_source);
void code_lines_fini(struct code_lines *c);

/*
 * The lines of a call chain, outermost first; appended to *out. The root gives none.
 */
struct line_chain {
	uint32_t *data; /* indexes of code_lines->lines */
	size_t n, cap;
};
void code_lines_chain(const struct code_lines *c, const struct profile *p, uint32_t node,
		      struct line_chain *out);
