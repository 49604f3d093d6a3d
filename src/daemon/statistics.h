/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's statistics in three forms: JSON for the control socket, Prometheus text
 * (prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4), and lines for the log.
 * statistics.def lists them.
 */
#pragma once

#include <jansson.h>

#include "daemon/actions.h"
#include "fleet/ship_status.h"

struct buf;

struct statistics {
	struct daemon_status status;
	uint64_t disk_bytes;     /* of all histories */
	uint64_t oldest_wall_ns; /* start of the oldest current part; 0: none */
	struct ship_status ship; /* of this machine's `assay ship`; zeros: none */
};

/* Adds members to `reply`. */
void statistics_json(const struct statistics *s, json_t *reply);

void statistics_metrics(const struct statistics *s, struct buf *out);

/* Calls `line` for each line, without a newline. */
void statistics_lines(const struct statistics *s, void (*line)(const char *text));
