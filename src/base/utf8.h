/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names from outside (symbols, comms, paths) hold any bytes; what we write is UTF-8. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Appends text that may hold anything as valid UTF-8: bad bytes become U+FFFD;
 * with `escape_controls` control characters become '?', so that a name can't
 * move the cursor.
 */
void utf8_append(struct buf *out, const char *text, bool escape_controls);
