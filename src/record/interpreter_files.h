/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interpreters that a recording of the whole machine may meet. The sampler knows an interpreter
 * once assay has read its file. So the files are read before the recording begins, or the first
 * script of each interpreter would have no names.
 */
#pragma once

struct program_files;

/*
 * Adds the interpreters whose frames are in their heap, in the usual folders, and those that run
 * now, also Node.js and Java. Links are followed. A file is known by its name alone. `proc`:
 * "/proc".
 */
void interpreter_files_find(const char *proc, struct program_files *out);
