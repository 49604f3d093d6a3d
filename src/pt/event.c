/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/event.h"

const char *const pt_error_texts[N_PT_ERRORS] = {
#define X(id, text) text,
	PT_ERRORS(X)
#undef X
};
