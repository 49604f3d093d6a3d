/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside profile/: parallelism, the number of threads that ran at the moment of a sample.
 *
 * A thread that runs all the time has a sample in each period T. A sample of another thread, d away
 * in time, counts 1 - |d| / T. For a steady row of samples these add up to 1 at each moment,
 * whatever its phase. So the sum over the samples of a thread is how far it ran, and more than 1
 * counts as 1. Threads that take turns faster than T seem to run at once.
 *
 * Counted are threads of one counter whose classes the query takes, and not idle ones.
 */
#pragma once

#include "store/segment.h"

struct load_part;
struct profile;

/* Whether a key, a filter or the weight asks. */
bool index_wants_parallelism(const struct profile *p);

/*
 * The parallelism at each sample; 0: not known, because the counter has no period in time. `times`
 * are in the order of time, and of `rows`. The caller frees it.
 */
double *load_parallelism(const struct profile *p, const struct load_part *part,
			 const struct sample_times *times, const struct count_row *rows);

/* The filter parallelism: of a row of `part`. Without exact times, the number is not known: 0. */
bool load_takes_parallelism(const struct profile *p, const struct load_part *part,
			    const struct count_row *row);
