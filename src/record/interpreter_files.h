/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreters that a recording of the whole machine may meet. The sampler knows an interpreter
 * once assay has read its file. So the files are read before the recording begins, or the first
 * script of each interpreter would have no names.
 */
#pragma once

#include <stdint.h>

struct program_files;

/*
 * Adds the interpreters whose frames are in their heap, in the usual folders, and those that run
 * now, also Node.js and Java. Links are followed. A file is known by its name alone. `proc`:
 * "/proc". Only files below /usr and /opt that root alone can change are added, and no more
 * interpreters once there are INSTALLED_FILES_MAX files.
 */
#define INSTALLED_FILES_MAX 128
void interpreter_files_find(const char *proc, struct program_files *out);

/* The same for one process. */
void interpreter_files_of_process(const char *proc, int32_t pid, struct program_files *out);
