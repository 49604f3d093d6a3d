/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's oprofilefs (oprofile/fs/oprofilefs.h): mounted at the start, served by the daemon's own
 * thread, its files translated to daemon/actions.h. Inside daemon/ only.
 */
#pragma once

#include "base/mem.h"

struct daemon;
struct fs_service;
struct machine;

/* NULL, with the reason in the log, where it can't be mounted: the daemon does without. */
struct fs_service *fs_service_open(struct daemon *d, const char *mountpoint);

/* Unmounts. NULL is fine, here and below. */
void fs_service_close(struct fs_service *s);

/* A recording begins, with this machine; or (NULL) ends. */
void fs_service_set_machine(struct fs_service *s, struct machine *machine);

/* Readers get what has come. Each turn of the loop. */
void fs_service_turn(struct fs_service *s);
