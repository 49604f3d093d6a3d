/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon answers with: its control socket (daemon/control.h), its statistics in the log,
 * and as metrics over HTTP where that was asked for. All of it hangs on daemon_add_source(); what
 * is asked for is done by daemon/actions.h.
 */
#pragma once

#include "base/mem.h"

struct daemon;
struct error;
struct service;

#define SERVICE_STATISTICS_S 600 /* between two statistics in the log */

/*
 * Begins to answer at DIR/control, and at `metrics_listen` (daemon/metrics_http.h) unless that is
 * NULL. Once a process: SIGUSR1, which writes the statistics to the log, is taken.
 */
int service_open(struct daemon *d, const char *dir, const char *metrics_listen,
		 struct service **out, struct error *err);

/* Writes the statistics a last time and closes all. NULL is fine. */
void service_close(struct service *s);
DEFINE_AT_EXIT(service_close, struct service)
