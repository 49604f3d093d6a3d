/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How often the hosts of a fleet are to sample: FLEET/.rates. A line is "HOST HZ", in samples a
 * second on each CPU; the host "*" is all that have no line of their own. A gateway tells a host
 * its rate when the host says hello (fleet/fleet_receive.h).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;

#define FLEET_RATE_MAX 100000
#define FLEET_RATE_ALL "*"

/* *hz 0: none was set. -EBADMSG: a line is wrong. */
int fleet_rate_read(const char *fleet, const char *host, uint64_t *hz, struct error *err);

struct fleet_rate {
	const char *host;
	uint64_t hz;
};

/* Sets the rates of several hosts, which are sorted by name, at once. */
int fleet_rates_set(const char *fleet, const struct fleet_rate *rates, size_t n, struct error *err);

/* Sets the rate of a host, or of FLEET_RATE_ALL. 0 removes it. */
int fleet_rate_set(const char *fleet, const char *host, uint64_t hz, struct error *err);
