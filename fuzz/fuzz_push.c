/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Bodies of requests that push profiles: the first byte chooses a form or a message. */
#include "limits.h"
#include "foreign/push.h"
#include "foreign_sink.h"

/* As of pprof, which is inside; a gzipped profile may grow to 64 MiB at once. */
const struct fuzz_limits fuzz_limits = { .floor_kib = 200 << 10,
					 .bytes_a_byte = 256,
					 .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct touching_sink sink = { { touch }, 0 };
	struct foreign_facts facts = { 0 };
	struct slice body = { (const char *)data + 1, size - 1 };

	if (!size)
		return 0;
	if (*data & 1)
		push_read_form(body, &sink.sink, &facts, NULL);
	else
		push_read_request(body, &sink.sink, &facts, NULL);
	foreign_facts_fini(&facts);
	return 0;
}
