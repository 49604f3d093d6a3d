/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/context.h"

const char *const sample_context_names[N_CONTEXTS] = {
#define X(id, name, text) [CONTEXT_##id] = name,
	SAMPLE_CONTEXTS(X)
#undef X
};
