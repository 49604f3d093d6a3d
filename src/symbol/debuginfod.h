/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files from the servers in $DEBUGINFOD_URLS, through libdebuginfod. The library caches each file
 * that it fetches. Without that variable or without the library, no server is asked.
 *
 * All requests of a report share one limit of time. When it is used up, a running request ends
 * within a second, and no more follow. A file that no server has, or that was too large to come in
 * time, and servers that do not answer, are remembered for ten minutes, also by other processes of
 * the user.
 *
 * Any thread may call these functions; requests wait for each other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/build_id.h"

struct debuginfod;

#define DEBUGINFOD_LIMIT_S    30
#define DEBUGINFOD_REMEMBER_S 600
#define DEBUGINFOD_SLOW_BYTES 10000 /* a second; servers that send less do not answer */

struct debuginfod_config {
	uint32_t limit_s;       /* of all requests together; 0: DEBUGINFOD_LIMIT_S */
	const char *memory_dir; /* files about failures; NULL: cache_dir("debuginfod"); "": none */
	bool asks_later;        /* no server is asked: debuginfod_n_unasked() counts the files */
	/* Gets a sentence before the first request for a file, and one with the outcome. */
	void (*report)(const char *sentence);
	/* Gets a text about once a second while a request runs, and NULL at its end. May be NULL.
	 */
	void (*progress)(const char *text);
};

struct debuginfod *debuginfod_new(const struct debuginfod_config *config);
void debuginfod_free(struct debuginfod *d); /* NULL is fine */

/* Files for which a server would have been asked without asks_later. */
uint32_t debuginfod_n_unasked(const struct debuginfod *d);

/* Whether a request would reach a server. */
bool debuginfod_is_on(void);

enum debuginfod_kind { DEBUGINFOD_DEBUG_FILE, DEBUGINFOD_EXECUTABLE };

/*
 * Path of the file of a build id, the caller's to free; NULL if no server has it. `image_path` is
 * for messages. `d` may be NULL: then nothing is asked.
 */
char *debuginfod_fetch(struct debuginfod *d, enum debuginfod_kind kind, const struct build_id *id,
		       const char *image_path);

/* Why a file of a build id did not come, or that it came; for people. The caller frees it. */
char *debuginfod_verdict(struct debuginfod *d, enum debuginfod_kind kind,
			 const struct build_id *id);

/*
 * Where the library keeps a fetched file, whether it is there or not. NULL: there is no folder for
 * it. The caller frees it.
 */
char *debuginfod_kept_path(enum debuginfod_kind kind, const struct build_id *id);
