/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof: profile.proto of github.com/google/pprof, unpacked (foreign/gunzip.h).
 *
 * Every sample type is an event, with two exceptions that make the counts right. A type "samples"
 * (or "X samples" before X) in the unit "count" has the numbers of samples behind the values of the
 * next type: Go's CPU profiles have it, and assay's own. A value of another type in "count" is its
 * own number of samples. All other values count as one sample each.
 *
 * Each line of a location becomes a frame, the innermost first. A location without lines keeps its
 * build id and file offset, so assay can find symbols. The labels pid, tid (thread_id), comm
 * (thread, thread_name) and cpu are the sample's class. Other labels that are texts are its labels.
 */
#pragma once

#include "foreign/foreign.h"

bool pprof_has_magic(const void *bytes, size_t size);

/*
 * Pushes all samples. Counts in `facts` the messages that are damaged or refer to missing ones.
 * -EBADMSG: from some point on the bytes are no message; the samples before it were pushed.
 */
int pprof_read(const void *bytes, size_t size, struct foreign_sink *sink,
	       struct foreign_facts *facts, struct error *err);
