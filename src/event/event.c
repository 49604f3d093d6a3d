/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/event.h"

const char *const event_type_names[N_EVENT_TYPES] = {
#define X(id, name) [EVENT_##id] = name,
	EVENT_TYPES(X)
#undef X
};
