/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gives up all rights of a process that parses (guard/parser.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/*
 * The user "assay-parser". False: this process is not root, or there is no such user, or it is not
 * in this user namespace, as in a container of an ordinary user.
 */
bool sandbox_user(uid_t *user, gid_t *group);

/* From now on the calling process is of that user if there is one, and has no capabilities, nor
 * gets any by exec. It can execute programs. */
int sandbox_give_up_rights(struct error *err);

/*
 * From now on the calling process
 *
 *   - has no capabilities, and gets none by exec; is of the user "assay-parser" if it was root and
 *     there is such a user;
 *   - may have `memory_bytes` of memory more than it has now; files that it maps do not count;
 *   - has the system calls that reading of open files and computing need (seccomp). Others fail:
 *     opens with EACCES, the rest with EPERM. It can make threads, but no processes, and can send
 *     signals to itself only;
 *   - can't be traced by its user.
 *
 * There must be one thread. 0 or a negative errno; then the process must end.
 */
int sandbox_enter(uint64_t memory_bytes, struct error *err);
