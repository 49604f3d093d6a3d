/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether another user could read a file.
 *
 * A profiled binary names its source files. assay, run by root, could read and show any of them. So
 * it asks whether the owner of the binary could read the file himself: by the permission bits of
 * the file and of each folder on its real path. Access control lists are not regarded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GUARD_NOBODY UINT32_MAX /* only files that everybody can read */

/* `fd`: the open file. `user`: 0 reads everything. False if its path is not known. */
bool guard_is_readable_by(int fd, uint32_t user);
