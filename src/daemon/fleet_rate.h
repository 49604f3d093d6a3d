/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rate that a fleet asks for. `assay ship` writes it down (fleet/ship_status.h), and the daemon
 * obeys if its settings say so. It only lowers the rate: the settings have the highest one, so
 * whoever took over the gateway can neither load the machine nor stop the samples. It changes the
 * rate once in ten minutes at most (pace.fleet_ns), as each change begins a part.
 */
#pragma once

#include <stdint.h>

struct daemon;

/* The rate of the settings, or less if the fleet asks for less. Never 0. */
uint64_t fleet_rate_wanted(const struct daemon *d);

/* Why the rate is lower than that of the settings: the end of a sentence. */
const char *fleet_rate_reason(const struct daemon *d);

/*
 * Looks at what the fleet asks for every ten seconds (pace.retry_ns). If that is another rate than
 * before, and ten minutes are over, lowers or raises the rate.
 */
void fleet_rate_watch(struct daemon *d, uint64_t now_ns);
