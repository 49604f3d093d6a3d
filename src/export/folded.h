/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Call chains as text in one line. */
#pragma once

#include "export/export.h"

/* "outermost;…;innermost". */
void folded_chain(struct buf *out, const struct export *x, uint32_t node);
