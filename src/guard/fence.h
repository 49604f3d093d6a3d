/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fence around a process (Landlock): the files that it may read and write, no programs unless
 * they are wanted, no new connections by TCP, and no signals to processes outside.
 *
 * A process with a fence may not look into processes outside of it, either: /proc/PID/exe, maps and
 * root of others are refused to it, whatever its capabilities. So the opener has no fence.
 *
 * The numbers and structures of Landlock are in fence.c, because older headers lack them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct error;

struct fence {
	const char *const *readable; /* files and folders, and all below them */
	size_t n_readable;
	const char *const *writable; /* the same; also for reading */
	size_t n_writable;
	bool may_use_abstract_sockets; /* of processes outside */
	bool may_run_and_link;         /* readable programs run, and links are made */
};

/*
 * The version of Landlock that this kernel has and that a fence can use; 0: none. Version 1 refuses
 * to rename files from one folder to another, so there are no fences then.
 */
int fence_version(void);

/*
 * Puts the fence around this process and its children. Places that are not there are left out.
 * There must be one thread, with no_new_privs. Returns fence_version(), 0 also if the kernel has no
 * Landlock, or a negative errno.
 */
int fence_enter(const struct fence *fence, struct error *err);
