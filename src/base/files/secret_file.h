/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with a secret: who may read them. */
#pragma once

#include <sys/stat.h>

/*
 * The rights that others must not have in a file with a secret: those of the group and of others.
 * The group may have rights in a file of root, if it is root's or one of this process's groups: so
 * do administrators share a secret with a service, and Kubernetes with a pod (fsGroup). systemd
 * gives a unit the files of LoadCredential= as root's, by an entry of the ACL, and then the group's
 * bits are the mask of the ACL (acl(5)).
 */
mode_t secret_file_forbidden_bits(const struct stat *st);
