/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbols.h"

const char *const symbol_status_keys[N_SYMBOL_STATUSES] = {
#define X(id, key, text) key,
	SYMBOL_STATUSES(X)
#undef X
};

const char *const symbol_status_texts[N_SYMBOL_STATUSES] = {
#define X(id, key, text) text,
	SYMBOL_STATUSES(X)
#undef X
};
