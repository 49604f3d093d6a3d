/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from the servers in $DEBUGINFOD_URLS, through libdebuginfod. The library caches what
 * it fetches and, for a while, failures. Without that variable or without the library, no server is
 * asked.
 */
#pragma once

#include "base/build_id.h"

/* Whether a request would reach a server. */
bool debuginfod_is_on(void);

/*
 * Path of the debug file of a build id, the caller's to free; NULL if no server has it. `report`
 * gets a sentence before the first request for it, and one with the outcome.
 */
char *debuginfod_fetch(const struct build_id *id, const char *image_path,
		       void (*report)(const char *sentence));
