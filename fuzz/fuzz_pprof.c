/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof's messages, gzipped or as they are. */
#include "base/buf.h"
#include "foreign/gunzip.h"
#include "foreign/pprof.h"
#include "foreign_sink.h"

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
