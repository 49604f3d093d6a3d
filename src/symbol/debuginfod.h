/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug files from the servers in $DEBUGINFOD_URLS, through libdebuginfod, which keeps what it
 * fetches in its own cache (and for a while, what there is not). Nothing is asked where that is
 * not set, or in a build without the library.
 */
#pragma once

#include "base/build_id.h"

/* Whether asking would ask somebody. */
bool debuginfod_is_on(void);

/*
 * Path of the debug file of a build id, the caller's to free; NULL if there is none to be had.
 * `say` gets a sentence before the first request for it, and one with the outcome.
 */
char *debuginfod_fetch(const struct build_id *id, const char *image_path,
		       void (*say)(const char *sentence));
