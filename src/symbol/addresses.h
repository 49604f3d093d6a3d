/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The addresses that nm, objdump and OProfile's tools show. */
#pragma once

#include <stdint.h>

struct symbolizer;
struct symbol_table;

/*
 * The link address of an offset (machine/image.h) in the table's image, by the segments of its
 * file. The offset itself if there is no file, or if no segment maps the offset as code. One
 * thread, as for the symbolizer; the file is read once.
 */
uint64_t symbol_link_addr(struct symbolizer *s, const struct symbol_table *t, uint64_t offset);
