/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asking a daemon, for front ends. */
#pragma once

#include <jansson.h>

struct error;

/*
 * Asks the daemon of a session directory; `argument` is the one of the request, or NULL. *reply is
 * the caller's to json_decref(); NULL where only success counts. Errors are those of client_ask().
 */
int ctl_ask(const char *dir, const char *name, const char *argument, json_t **reply,
	    struct error *err);
