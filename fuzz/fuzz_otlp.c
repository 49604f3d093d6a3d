/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OpenTelemetry's profiles. */
#include "limits.h"
#include "foreign/otlp.h"
#include "foreign_sink.h"

/*
 * A byte of a sample may be the number of a stack of 1,024 frames, or one of several values of such
 * a stack. A location of two bytes is a frame of 144, in a table that doubles.
 */
const struct fuzz_limits fuzz_limits = { .bytes_a_byte = 256, .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct touching_sink sink = { { touch }, 0 };
	struct foreign_facts facts = { 0 };

	otlp_read(data, size, &sink.sink, &facts, NULL);
	foreign_facts_fini(&facts);
	return 0;
}
