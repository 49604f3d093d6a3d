/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Into how many parts a perf.data is imported, and where they meet (perfdata_read_part()). */
#pragma once

#include <stdint.h>

#include "perfdata/perfdata.h"

#define IMPORT_PARTS_MAX 8

/*
 * How many parts pay for so many bytes of records on this machine: one a processor, of some
 * megabytes each; one where memory does not hold the file, as it is read again by each. For tests
 * $ASSAY_IMPORT_PARTS says how many, whatever the size.
 */
uint32_t import_count_parts(uint64_t bytes);

/*
 * Cuts [start_off, end_off) into n pieces that take the same time: later ones have to step over
 * what comes before them, and are shorter. The first begins with the data and the last has no end.
 */
void import_split(uint64_t start_off, uint64_t end_off, uint32_t n, struct perfdata_part *out);
