/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast the hosts of a fleet have to sample, so that services have so many samples an hour: out
 * of the samples that they had. Samples of a block are those of its own first event.
 */
#pragma once

#include <stdint.h>

#include "base/mem.h"
#include "base/time_window.h"

struct error;

struct steer_config {
	const char *const *services; /* globs of the key `service` */
	size_t n_services;
	uint64_t target;           /* samples of a service in an hour, on all hosts together */
	struct time_window window; /* where samples are counted; both ends are known */
};

/* A host that has samples of a service in the window. */
struct steer_host {
	char *name;
	uint64_t samples; /* of the services */
	uint64_t had_hz;  /* as the host said last; 0: it did not, and the host keeps its rate */
	uint64_t hz;      /* what it needs for the service that needs most; 0: it keeps its rate */
};

struct steer_hosts {
	struct steer_host *data;
	size_t n, cap;
};

/*
 * The hosts by name. All hosts of a service whose rates are known change by the same factor. It is
 * the target, less the samples of hosts whose rates are not known, divided by the samples that the
 * others would have had at their present rates. A rate grows to its fourfold at most. -ENODATA: the
 * window has no samples. -EBADMSG: some of them can't be read; warnings name them.
 */
int fleet_steer(const char *fleet, const struct steer_config *config, struct steer_hosts *out,
		struct error *err);
void steer_hosts_fini(struct steer_hosts *hosts);
