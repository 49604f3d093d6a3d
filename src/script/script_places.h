/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What (image, offset) is called in perf's words: function, offset in it, image. Each place is
 * looked up once and kept.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "machine/image.h"
#include "symbol/symbols.h"

struct script_places;

struct script_place {
	const char *symbol; /* NULL: not known */
	uint64_t symbol_off, symbol_size;
	const char *dso;
	enum image_kind kind;
	/* What script_place_keep() was given last. */
	const char *text;
	uint32_t text_len, text_key;
};

struct script_places_config {
	struct symbolizer *symbolizer;
	const struct image *(*image)(const void *context, image_id id);
	/* Names of code without a file: `visit` is to be called for each of the image's; may be
	 * NULL. */
	void (*names)(const void *context, image_id id,
		      void (*visit)(void *visitor, const struct given_symbol *symbol),
		      void *visitor);
	const void *context;
	bool with_brackets; /* stripped code is named by the symbols around it */
};

struct script_places *script_places_new(const struct script_places_config *config);
void script_places_free(struct script_places *p); /* NULL is fine */

/* Keeps a text with the place, for example its printed form. `key` (not 0) identifies the text. */
void script_place_keep(struct script_places *p, const struct script_place *place, uint32_t key,
		       const void *text, size_t len);

/* Holds until the next call. */
const struct script_place *script_place(struct script_places *p, struct code_addr code);

/* Whether it is a function of Go (symbol_is_go()). */
bool script_place_is_go(struct script_places *p, struct code_addr code);

/*
 * The functions that are inlined there, innermost first, with their names as in perf: calls `take`
 * for each. The function of script_place() has inlined them.
 */
void script_place_inlined(struct script_places *p, struct code_addr code,
			  void (*take)(void *context, const char *function), void *context);

/* The bytes of the code there, and its width in bits: how many of `size`; 0 if it can't be read. */
size_t script_place_code(struct script_places *p, struct code_addr code, uint8_t *out, size_t size,
			 unsigned int *width);

/* The text of a line of a source file, without its end. NULL: it can't be read. Holds until the
 * next call. The file is root's or of the user who owns the image's file. */
const char *script_place_source(struct script_places *p, struct code_addr code, const char *file,
				uint32_t line, size_t *len);

/* The source line of the innermost function there; false if no debug information tells. */
bool script_place_line(struct script_places *p, struct code_addr code, const char **file,
		       uint32_t *line);
