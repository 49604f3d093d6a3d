/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the loading of a fleet into ClickHouse goes: FLEET/.clickhouse, a JSON object that `assay
 * fleet load --follow` replaces after each round. `assay serve` shows it.
 */
#pragma once

#include <stdint.h>

struct error;

struct load_state {
	uint64_t round_s;    /* the end of the last round, since 1970 */
	uint64_t success_s;  /* the end of the last round without a failure; 0: none */
	uint64_t retry_s;    /* seconds until the next round */
	uint64_t n_failures; /* rounds that failed since the last success */
	uint64_t n_blocks, samples, lost, n_left_out; /* since the process began */
	const char *error;                            /* of the last round; "": none */
};

int load_state_write(const char *fleet, const struct load_state *state, struct error *err);

/* The object as text; NULL: nothing loads this fleet, or the file is damaged. The caller frees. */
char *load_state_read(const char *fleet);
