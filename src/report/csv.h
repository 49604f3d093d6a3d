/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "base/buf.h"

/* Appends text that may hold anything as a field of CSV (RFC 4180), quoted where it must be. */
void csv_text(struct buf *line, const char *text);
