/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Colours of the text format, each "" where there is none. */
#pragma once

#include "report/formats.h"

/* X(id, ANSI escape) */
#define TEXT_STYLES(X)        \
	X(NONE, "\033[0m")    \
	X(DIM, "\033[2m")     \
	X(HEADING, "\033[1m") \
	X(HOT, "\033[31m")    \
	X(WARM, "\033[33m")

enum text_style_id {
#define X(id, code) STYLE_##id,
	TEXT_STYLES(X)
#undef X
};

static inline const char *text_ellipsis(const struct text_style *style)
{
	return style->is_ascii ? "..." : "\xe2\x80\xa6"; /* U+2026 */
}

static inline const char *style_code(const struct text_style *style, enum text_style_id id)
{
	static const char *const codes[] = {
#define X(id, code) code,
		TEXT_STYLES(X)
#undef X
	};

	return style->with_colour ? codes[id] : "";
}
