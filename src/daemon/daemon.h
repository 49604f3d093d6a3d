/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The continuous profiler: an endless recording (record/recorder.h), kept as a history of parts
 * below one directory. The process keeps to a budget.
 *
 *   DIR/lock               its process id; locked (flock) while it lives
 *   DIR/log                its messages, when detached
 *   DIR/samples/current/   the history: a directory of parts (daemon/parts.h)
 *   DIR/samples/NAME/      a saved history
 *
 * The daemon has one thread and one loop, the recorder's. Everything else is a callback of that
 * loop.
 */
#pragma once

#include "daemon/daemon_config.h"

struct error;

/*
 * Runs until SIGTERM, SIGINT or daemon_shutdown(). With `detach`, it returns in the calling process
 * when the daemon counts or has failed; the result says which. Prints to the log: DIR/log when
 * detached, or stderr.
 */
int daemon_run(const struct daemon_config *config, struct error *err);
