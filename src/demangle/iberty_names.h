/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of Rust (legacy and v0) and D, by libiberty within limits. None without libiberty. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/*
 * Puts the readable form in place of the content of `out`; false if the name is none of the
 * language, damaged, or beyond a limit. Short: without parameters.
 */
bool iberty_demangle_rust(const char *name, bool is_short, struct buf *out);
bool iberty_demangle_d(const char *name, bool is_short, struct buf *out);
