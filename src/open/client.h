/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking a daemon over its control socket (daemon/control.h). */
#pragma once

#include <jansson.h>

struct error;

#define CLIENT_PATIENCE 10.0 /* seconds that an answer may take */

/*
 * Sends `request` to the daemon of a session directory and waits for the answer. What it refuses
 * for a moment only is asked again until the patience ends. *reply is the caller's to
 * json_decref(); it has "ok": true. Messages say what to do: -ESRCH: no daemon runs
 * there; -EACCES: only root and the socket's group may ask it; -ETIMEDOUT: it does not answer;
 * -EPROTO: what answers is no daemon of ours; -EREMOTEIO: it refused, with its own words.
 */
int client_ask(const char *session_dir, const json_t *request, double patience_s, json_t **reply,
	       struct error *err);

/*
 * The session directory to ask: `given`, or where that is NULL, `usual` if a daemon's socket is
 * there, else that of the only daemon that runs on this machine (root's or the caller's own), or
 * runs below the working directory, else `usual`. -EINVAL: several run, and the message has their
 * directories. The caller frees *dir.
 */
int client_choose_dir(const char *given, const char *usual, char **dir, struct error *err);
