/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OpenTelemetry's profiles: ExportProfilesServiceRequest and ProfilesData, which have the same
 * fields, of opentelemetry-proto v1.10.0 and v1.11.0 (profiles/v1development/profiles.proto). Its
 * messages have no version. The fields of a sample tell: v1.9.0 has its values in field 2 and the
 * index of its link in field 4, older ones have its values in field 3. If no sample has a field
 * that only v1.10.0 and later can have, the version is not certain, and nothing is read.
 *
 * Every profile is an event by the type of its samples. "samples" in "count" with a period in
 * nanoseconds is the event of the period, so that its sum is a time. A value in "count" is its own
 * number of samples, and others count as one sample each. If a profile "samples" (or "X samples"
 * before X) has the numbers of samples of the next one, both are one event. Values with timestamps
 * have these times, if all values of the request do.
 *
 * The attributes process.pid, thread.id, thread.name and cpu.logical_number are the sample's class.
 * Without the name of a thread, it is that of the executable or the service. Other attributes that
 * are texts, of the sample or its resource, are its labels.
 */
#pragma once

#include "foreign/foreign.h"

/*
 * Pushes all samples. Counts in `facts` the messages that are damaged or refer to missing ones.
 * -EBADMSG: from some point on the bytes are no message, and no sample was pushed. -ENOTSUP: the
 * version is another one, or not certain.
 */
int otlp_read(const void *bytes, size_t size, struct foreign_sink *sink,
	      struct foreign_facts *facts, struct error *err);
