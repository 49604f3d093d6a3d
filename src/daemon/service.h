/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's interfaces to users: its control socket (daemon/control.h), its statistics in the
 * log, and metrics over HTTP if they are configured. They are sources of the daemon's loop
 * (daemon_add_source()); daemon/actions.h does the work.
 */
#pragma once

#include "base/mem.h"

struct daemon;
struct error;
struct service;

#define SERVICE_STATISTICS_S 600 /* between two statistics in the log */

/*
 * Opens the socket DIR/control, and `metrics_listen` (daemon/metrics_http.h) if it is not NULL.
 * Only once in a process, because it handles SIGUSR1, which writes the statistics to the log.
 */
int service_open(struct daemon *d, const char *dir, const char *metrics_listen,
		 struct service **out, struct error *err);

/* Writes the last statistics and closes everything. NULL is fine. */
void service_close(struct service *s);
DEFINE_AT_EXIT(service_close, struct service)
