/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Folded stacks. */
#include "foreign/folded.h"
#include "foreign_sink.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_text(data, size, folded_read);
	return 0;
}
