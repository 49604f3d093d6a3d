/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks a daemon over its control socket (daemon/control.h). */
#pragma once

#include <jansson.h>

struct error;

#define CLIENT_PATIENCE 10.0 /* seconds that an answer may take */

/*
 * Sends `request` to the daemon of a session directory and waits for the answer. If the daemon
 * refuses only for the moment, asks again until the patience ends. *reply has "ok": true; the
 * caller frees it by json_decref(). The messages name the remedy. -ESRCH: no daemon runs there.
 * -EACCES: only root and the socket's group may ask. -ETIMEDOUT: no answer. -EPROTO: another
 * program answers. -EREMOTEIO: the daemon refused; the message is its own.
 */
int client_ask(const char *session_dir, const json_t *request, double patience_s, json_t **reply,
	       struct error *err);

/*
 * The session directory to ask. It is `given`, if that is not NULL. It is `usual`, if a daemon's
 * socket is there. Else it is the directory of the only daemon on this machine (root's or the
 * caller's own), or of the only one below the working directory, else `usual`. -EINVAL: several
 * daemons run, and the message has their directories. The caller frees *dir.
 */
int client_choose_dir(const char *given, const char *usual, char **dir, struct error *err);
