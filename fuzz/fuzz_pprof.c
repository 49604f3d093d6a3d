/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof's messages, gzipped or as they are. */
#include "limits.h"
#include "base/buf.h"
#include "foreign/gunzip.h"
#include "foreign/pprof.h"
#include "foreign_sink.h"

/*
 * A byte of a sample may be the number of a location of 1,024 inlined frames, or one of several
 * values of such a chain. A location of two bytes is a frame of 144, in a table that doubles.
 */
const struct fuzz_limits fuzz_limits = { .bytes_a_byte = 256, .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct touching_sink sink = { { touch }, 0 };
	struct foreign_facts facts = { 0 };
	struct buf bytes = { 0 };

	if (gunzip_has_magic(data, size))
		gunzip(data, size, 16 << 20, &bytes, NULL);
	else
		buf_bytes(&bytes, data, size);
	pprof_read(bytes.data ? (const char *)bytes.data : "", bytes.len, &sink.sink, &facts, NULL);
	foreign_facts_fini(&facts);
	buf_fini(&bytes);
	return 0;
}
