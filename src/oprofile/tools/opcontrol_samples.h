/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lies in the session directory of opcontrol's daemon. */
#pragma once

#include <stdbool.h>

struct error;

/* Whether the session that is to be saved has any file. */
bool opcontrol_has_samples(const char *dir);

/*
 * Samples of the other kind become another session: a history has nothing but its parts, and sample
 * files are not added to parts.
 */
int opcontrol_make_room(const char *dir, bool for_files, struct error *err);
