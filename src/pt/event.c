/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/event.h"

const char *const pt_error_texts[N_PT_ERRORS] = {
#define X(id, text) text,
	PT_ERRORS(X)
#undef X
};

const char *const pt_event_names[N_PT_EVENTS] = {
#define X(id, member, name) name,
	PT_EVENTS(X)
#undef X
};
