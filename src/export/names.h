/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of functions, images and threads in exports. All texts are valid UTF-8. */
#pragma once

#include "profile/profile.h"

/* The names of a profile's functions, made at first use and kept. */
struct frame_names;
struct frame_names *frame_names_new(const struct profile *p);
void frame_names_free(struct frame_names *names); /* NULL is fine */

/*
 * Demangled. Code without a symbol has the short name of its image in brackets; without an image,
 * "[unknown]". Valid until frame_names_free(). May hold control characters.
 */
const char *frame_name(struct frame_names *names, uint32_t function);

/* As in the symbol table; "" without a symbol. */
const char *frame_system_name(struct frame_names *names, uint32_t function);

/* The path of an image ("[kernel]", "[vdso]" …), or the path behind its short name. */
const char *frame_image_path(struct frame_names *names, uint32_t image);
const char *frame_image_name(struct frame_names *names, uint32_t image);

/* Any other text of the session as UTF-8; kept as long. */
const char *frame_text(struct frame_names *names, const char *text);
