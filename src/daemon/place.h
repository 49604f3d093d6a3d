/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The directory of the daemon, and how its user comes to own it. */
#pragma once

struct daemon;
struct daemon_user;
struct error;

/*
 * Makes the directory, takes its lock, and sets the paths of *d. Gives a history of root to the
 * daemon's user, and steps down to this user (daemon/user.h). If the user cannot reach the
 * directory by its path, the directory becomes the working directory, and d->dir is ".".
 *
 * -EEXIST: the directory is a session of samples, and stays as it is. Its samples/current has
 * segments, or the directory itself has some, also beside a samples/current.
 */
int place_make(struct daemon *d, struct error *err);
