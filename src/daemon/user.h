/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user that the daemon becomes. A process of root that has no capabilities can still write
 * root's files, and so become root. So a daemon that root starts becomes the user "assay"
 * (data/sysusers.conf), and so do its helpers.
 *
 * The directory of the daemon then belongs to this user. Whoever took the daemon over could put
 * links into it, so root's rights never touch its files: the daemon steps down first.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct error;

struct daemon_user {
	uid_t user;
	gid_t group;
	bool is_other;       /* than the present one: the daemon becomes this user */
	char name[64];       /* "" if it has none */
	const char *why_not; /* why root stays root; NULL: it does not */
};

/* This process's user, or for root the user "assay". */
struct daemon_user daemon_user_find(void);

/*
 * Becomes the user for opens and the like, until user_step_up(). Keeps only the right to listen at
 * low ports meanwhile. Without `is_other`, both do nothing.
 */
int user_step_down(const struct daemon_user *u, struct error *err);
int user_step_up(const struct daemon_user *u, struct error *err);

/* Becomes the user for ever. The permitted capabilities stay, and no capability is effective. */
int user_become(const struct daemon_user *u, struct error *err);
