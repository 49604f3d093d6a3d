/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The folder of a session that is being written, and its reserve for a full disk. */
#pragma once

#include "store/sharing.h"

struct error;

/*
 * Makes the session `dir` and its folder `segments_dir`, with their permissions. -EEXIST: it is
 * there already.
 */
int session_dir_make(const char *dir, const char *segments_dir, struct sharing *sharing,
		     struct error *err);

/*
 * A few blocks of the file system in reserve, in the folder of the segments. On a full disk, they
 * leave room for the last losses and the end.
 */
void session_dir_hold_reserve(const char *segments_dir);
void session_dir_give_up_reserve(const char *segments_dir);
