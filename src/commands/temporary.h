/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A file that has not got its name yet: should a signal (Ctrl-C, SIGTERM, SIGHUP) end the process
 * meanwhile, the file goes with it. One at a time; the process then ends by that signal, as it
 * would have without. A signal that is ignored stays so.
 */
#pragma once

void temporary_begin(const char *path); /* shorter than PATH_MAX, else nothing is done */
void temporary_end(void);               /* it has its name, or is gone */

/* For export_options.on_temporary: begin, or end for NULL. */
void temporary_follow(const char *path);
