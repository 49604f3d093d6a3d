/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answer of an OTLP receiver to profiles: ExportProfilesServiceResponse
 * (opentelemetry/proto/collector/profiles/v1development/profiles_service.proto). With status 200,
 * it may say that some of the profiles were rejected. They must not be sent again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct otlp_answer {
	uint64_t n_rejected; /* profiles */
	char why[256];       /* a line of text for people; "" if there is none, or a part of it */
};

/* False: the bytes are no such message. None at all are one: all was taken. */
bool otlp_answer_parse(const void *bytes, size_t size, struct otlp_answer *out);
