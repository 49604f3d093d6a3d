/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks an archive that anybody may have made: tar(1) runs without capabilities and network, as
 * the user "assay-parser" if assay is root and there is such a user. Where the kernel has Landlock,
 * it writes into its folder only.
 */
#pragma once

struct error;

/* Into an empty folder of this process, which may change its owner. */
int unpack_archive(const char *path, const char *dir, struct error *err);
