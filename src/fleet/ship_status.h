/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How far `assay ship` is, for the daemon and `assay doctor`: the file /run/assay-ship/status,
 * which everybody may read. The unit of `ship` has a folder there (RuntimeDirectory=). A line is
 * "NAME NUMBER"; names that are not known are passed over. Tests name another file by the
 * environment: ASSAY_SHIP_STATUS.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct ship_status {
	uint64_t round_ns;   /* the end of the last round, CLOCK_REALTIME; 0: there was none */
	uint64_t success_ns; /* of the last one without a failure; 0: none */
	uint64_t backlog;    /* blocks that wait, those that were refused included */
	uint64_t refused;    /* blocks that the gateway refused, since the machine started */
	uint64_t expired;    /* samples that could not be sent, since then */
	uint64_t failures;   /* rounds that failed since the last success */
	uint64_t rate_hz;    /* that the gateway asks for (fleet/fleet_rates.h); 0: none */
};

/* Zeros, and false: the file is not there, or is no such file. */
bool ship_status_read(struct ship_status *out);

/* The text of such a file. False: a line is wrong. */
bool ship_status_parse(const char *text, size_t size, struct ship_status *out);

/* Writes the file, if the environment says where: RUNTIME_DIRECTORY of systemd's units. */
int ship_status_write(const struct ship_status *status, struct error *err);
