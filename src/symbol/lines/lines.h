/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * (image, offset) to source: the functions inlined there, files and lines.
 *
 *	struct line_frame frames[LINES_MAX_FRAMES];
 *	size_t n = lines_find(s, table, offset, frames, LINES_MAX_FRAMES);
 *
 *	frames[0]      __introsort_loop   at stl_algo.h:1939    is_inline   <- executes there
 *	frames[1]      std::sort          at stl_algo.h:4820    is_inline   <- called frames[0]
 *	frames[n - 1]  main               at sort.cc:12         the function of symbol_find()
 *
 * The first look-up opens an image's index of lines (symbol/lines/line_index.h). It comes from the
 * cache beside the symbols' index. Otherwise it is made from the debug information in the image, in
 * its separate debug file, or in .dwo and .dwp files. The caller looks up a return address one byte
 * back.
 *
 * Nothing here fails. One thread at a time, as for the symbolizer.
 */
#pragma once

#include "symbol/symbols.h"

/* Deeper inlining gives the innermost frames and the outermost one. */
#define LINES_MAX_FRAMES 128

struct line_frame {
	const char *function;   /* as in the symbol table (mangled); "" if not known */
	const char *file;       /* as the compiler saw it, mostly absolute; "" if not known */
	uint32_t line;          /* 0: not known, or code without a line */
	uint32_t column;        /* 0: not known */
	uint32_t decl_line;     /* of the function; 0: not known */
	uint32_t discriminator; /* the piece of the line's code, as LLVM numbers it */
	bool is_inline;         /* inlined into the next frame */
	/* Equal numbers of one table are equal texts. function_id is for lines_name(). */
	uint32_t function_id, file_id;
};

/*
 * The frames at an offset, innermost first; returns their number. Without debug information there,
 * the symbol alone is the one frame; 0 without a symbol. Texts live as long as the symbolizer.
 */
size_t lines_find(struct symbolizer *s, const struct symbol_table *t, uint64_t offset,
		  struct line_frame *out, size_t max);

/*
 * lines_find() of many offsets, in half the time: the data of one offset comes into the processor's
 * caches while another is looked up. `take` is called in their order; the frames are valid until it
 * returns.
 */
typedef void lines_take_fn(void *context, size_t index, const struct line_frame *frames, size_t n);
void lines_find_each(struct symbolizer *s, const struct symbol_table *t, const uint64_t *offsets,
		     size_t n, lines_take_fn *take, void *context);

/* The name of a frame's function for people: demangled, as in symbol_name(). */
const char *lines_name(struct symbolizer *s, const struct symbol_table *t,
		       const struct line_frame *frame);

/* X(id, text) */
#define LINE_STATUSES(X)                                                           \
	X(OWN, "debug information of the image")                                   \
	X(DEBUG_FILE, "debug information of a separate file")                      \
	X(CACHED, "read before")                                                   \
	X(NONE, "no debug information; compile with -g, or install its package's " \
		"debug symbols")                                                   \
	X(NO_FILE, "no file to read")                                              \
	X(GIVEN, "lines recorded with the session")

enum line_status {
#define X(id, text) LINES_##id,
	LINE_STATUSES(X)
#undef X
		N_LINE_STATUSES
};
extern const char *const line_status_texts[N_LINE_STATUSES];

/* These open the lines, too. */
enum line_status lines_status(struct symbolizer *s, const struct symbol_table *t);

/* One sentence about the missing part; "" if nothing is missing. */
const char *lines_detail(struct symbolizer *s, const struct symbol_table *t);

/* A piece of code of one line. */
struct line_span {
	uint64_t start, end; /* offsets */
	const char *file;
	uint32_t file_id, line, column;
};

/* The span that holds the offset; false if none is known. */
bool lines_span(struct symbolizer *s, const struct symbol_table *t, uint64_t offset,
		struct line_span *out);
