/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Swift's names ("$s4shop4findyyF").
 *
 * Their grammar grows with each release of the language, and only the toolchain's reader is
 * complete. So names go to the toolchain's program (demangle/swift_program.h), all of an
 * image at once: it reads 100,000 in a fifth of a second. A name at which it fails stays as it is.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

struct swift_names;

struct swift_names *swift_names_new(void);
void swift_names_free(struct swift_names *s); /* NULL is fine */

bool is_swift_name(const char *name);

/* Reads Swift's names of the list; the list lives as long as `s`. */
void swift_names_read(struct swift_names *s, const char *const *names, size_t n);

/* Puts the readable form of a name that was read in place of the content of `out`. */
bool swift_names_find(const struct swift_names *s, const char *name, struct buf *out);

/* Whether swift_names_read() has seen the name. */
bool swift_names_has(const struct swift_names *s, const char *name);

bool swift_names_has_program(const struct swift_names *s);
