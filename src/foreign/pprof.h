/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: profile.proto of github.com/google/pprof, unpacked (foreign/gunzip.h).
 *
 * Every sample type is an event, with two exceptions that make the counts right: a type
 * "samples" (or "X samples" before X) in "count" tells how many samples stand behind the values of
 * the next type (Go's CPU profiles, and assay's own), and a value in "count" is its own number of
 * samples. All other values count as one sample each. A location's lines become a frame each,
 * innermost first; a location without lines keeps its build id and file offset, so that symbols can
 * be found here. The labels pid, tid (thread_id), comm (thread, thread_name) and cpu are the
 * sample's class.
 */
#pragma once

#include "foreign/foreign.h"

bool pprof_has_magic(const void *bytes, size_t size);

/*
 * Pushes all samples. Messages that are damaged or refer to what is not there are counted in
 * `facts`; -EBADMSG where the bytes end being a message at all, after all samples before.
 */
int pprof_read(const void *bytes, size_t size, struct foreign_sink *sink,
	       struct foreign_facts *facts, struct error *err);
