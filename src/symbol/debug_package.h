/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command that installs the debug information of a file, by the distribution's own list of
 * packages. dpkg's and apk's lists are read; for the others, the command asks rpm. Nothing of the
 * system is run, and no link leads out of it.
 */
#pragma once

/*
 * `root` is the folder with the system of the file: "" for this machine. NULL: the file is of no
 * package, the distribution is not known, or a name is no plain word. The caller frees the command.
 */
char *debug_package_command(const char *root, const char *path);
