/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with a secret: who may read them. */
#pragma once

#include <sys/stat.h>

/*
 * The rights that others must not have in a file with a secret: those of the group and of others.
 *
 * In a file of root, the group may have rights if it is root's group or one of this process's. So
 * an administrator shares a secret with a service. Kubernetes does the same with a pod (fsGroup).
 *
 * systemd gives a unit the files of LoadCredential= as root's, with an entry of the ACL. The bits
 * of the group are then the mask of the ACL (acl(5)).
 */
mode_t secret_file_forbidden_bits(const struct stat *st);
