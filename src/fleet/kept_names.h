/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Indexes of names that the recorder kept, for files that are gone (symbol/cache.h). */
#pragma once

/* Copies those to the folder `to` that it lacks, or has of a worse source of names. */
void kept_names_copy(const char *from, const char *to);
