/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of perf script. */
#include "foreign/perf_script.h"
#include "foreign_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_text(data, size, perf_script_read);
	return 0;
}
