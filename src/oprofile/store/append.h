/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions of sample files added up, as operf --append does. */
#pragma once

struct error;
struct sample_file_view;

/* Adds the counts of a file that was read to those of the file `to`, which is made if needed. */
int oprofile_add_counts(const struct sample_file_view *view, const char *to, struct error *err);

/*
 * Adds the counts of all sample files below `from` (the folder of a session: samples/NAME) to those
 * below `to`. Files that are only in `from` are moved. FACTS_FILE becomes the file of `from`, with
 * the samples of both. Afterwards `from` has only the files that could not be added, if any, or is
 * removed.
 */
int oprofile_append(const char *from, const char *to, struct error *err);
