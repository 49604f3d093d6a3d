/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that installs the debug information of a file, by the distribution's own list of
 * packages. dpkg's and apk's lists are read; for the others, the command asks rpm.
 */
#pragma once

/*
 * `root` is put before all paths of lists: "" for this machine. NULL: the file is of no package, or
 * the distribution is not known. The caller frees the command.
 */
char *debug_package_command(const char *root, const char *path);
