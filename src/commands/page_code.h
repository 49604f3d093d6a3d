/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Source and assembly for the page of a report. */
#pragma once

struct profile_request;

/*
 * The heaviest functions of the session, with their lines and instructions as far as their files
 * are here: JSON as of `assay annotate`. The request is that of the report. The caller frees the
 * text. NULL: there is none.
 */
char *page_code(const struct profile_request *of);
