/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts of a report's header that its text (header_text.c) and its JSON (header.c) share. Private
 * to these two.
 */
#pragma once

#include "report/report.h"

struct buf;

#define MAX_IMAGES_NAMED 8

/* Images of which names are missing that the report could have shown, with most samples first. */
struct named_images {
	const struct profile_image *image[MAX_IMAGES_NAMED];
	size_t n;
};

/* One sentence about a missing part of an image with a table; "": nothing is missing. */
typedef const char *missing_part(const struct report *r, const struct profile_image *image);

missing_part header_missing_symbols, header_missing_lines;
struct named_images header_incomplete_images(const struct report *r, missing_part *part);

/* The sentence about code that a runtime made and did not name; NULL: the image has none. */
const char *header_unnamed_jit(const struct report *r, const struct profile_image *image);

/* ns: a time of the session's samples. 0 for times before its start. */
double header_seconds_since_start(const struct session *s, uint64_t ns);
double header_duration_seconds(const struct session *s);

/* Appends the local time of the start; format: as of strftime(3). */
void header_put_start(struct buf *text, const struct session *s, const char *format);

/* Appends the query as it could be typed: "comm:make,cc1 time:2-". */
void header_put_filters(struct buf *text, const struct query *q);
