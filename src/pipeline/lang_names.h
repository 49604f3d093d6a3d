/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the frames of languages to places in a session.
 *
 * The in-kernel sampler sends each function once, before the first stack that has it. A frame is
 * (code object, position in it). Here it becomes (image, offset): the image is the source file, of
 * kind LANGUAGE, and the offset is a key of the function's name and line. A place has no process
 * and no address, so the same line of all workers of a program is one place, in every session
 * (lang/place.h).
 *
 * The session keeps the names and lines (struct code_symbol), each once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guard/limits.h"
#include "lang/runtime.h"
#include "machine/image.h"
#include "pipeline/lang_frame.h"

struct lang_names;
struct machine;
struct pipeline;

/* `pipeline` and `machine` stay the caller's, and outlive it. */
struct lang_names *lang_names_new(struct pipeline *pipeline, struct machine *machine);
void lang_names_free(struct lang_names *n); /* NULL is fine */

/* `code` is copied. Its bytes come from the process, so nothing in them is trusted. */
void lang_names_learn(struct lang_names *n, int32_t pid, const struct lang_code *code);

/* False: the function is not known. */
bool lang_names_place(struct lang_names *n, const struct lang_frame *frame, struct code_addr *out);

/*
 * Functions are kept up to this number and to these bytes of line tables. Then the caller has them
 * forgotten and sent again.
 */
bool lang_names_is_full(const struct lang_names *n);
void lang_names_forget(struct lang_names *n);
