/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HTML, SVG and XML. */
#pragma once

#include <stdio.h>

/* Text that may hold anything, as the text of an element or of a quoted attribute. */
void markup_print_text(const char *text, FILE *out);
