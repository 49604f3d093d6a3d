/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles that programs push (assay import --into) become blocks of the host
 * FLEET_PUSHED_HOST of a fleet. Each push is a part of a history, so there are many small ones. A
 * round has these steps:
 *
 *  1. Parts that no block has yet become one part for each ten minutes, when these are over for ten
 *     minutes. If a push comes later than that, it becomes another part.
 *  2. Such parts are sent as any host sends its own (fleet/ship.h), so each sample arrives exactly
 *     once, whenever the process stops.
 *  3. The history becomes smaller than its limit. Parts that were sent whole go first.
 *
 * Nobody else may merge the parts of this history meanwhile. A part of samples that were sent, and
 * of others that were not, can't be sent: the others would count as expired.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct fleet_adopt;

struct fleet_adopt_config {
	const char *fleet, *history; /* the history may come later */
	uint64_t max_bytes;          /* of the history; 0: no limit */
	bool (*stops)(void);         /* whether to end the round. May be NULL */
	uint64_t now_ns;             /* CLOCK_REALTIME, for tests; 0: now */
};

struct fleet_adopt_result {
	uint32_t n_sent;    /* blocks */
	uint64_t samples;   /* of them */
	uint64_t expired;   /* samples that can't be sent any longer */
	uint64_t n_refused; /* pushes, so far: too many services or events (pushed_names.h) */
	uint32_t n_unread;  /* parts and blocks that can't be read or joined, or were refused */
};

/* The texts of *config must stay valid. */
struct fleet_adopt *fleet_adopt_new(const struct fleet_adopt_config *config);
void fleet_adopt_free(struct fleet_adopt *a); /* NULL is fine */

/* -EBUSY: another process does it. A failure: the next round goes on. *out has the blocks that were
 * sent, also then. */
int fleet_adopt_round(struct fleet_adopt *a, struct fleet_adopt_result *out, struct error *err);
