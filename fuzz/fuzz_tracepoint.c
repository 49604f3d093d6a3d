/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tracepoint's format description, a NUL, and the raw data of a sample. */
#include <string.h>

#include "perfdata/tracepoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len = size ? strnlen((const char *)data, size) : 0, at = len < size ? len + 1 : len;
	uint8_t *raw = xmalloc(size - at + 1); /* so that a read beyond it is seen */
	struct tracepoint_format *t = tracepoint_new((const char *)data, len, size & 1);
	struct buf out = { 0 };

	if (size > at)
		memcpy(raw, data + at, size - at);
	tracepoint_print(t, raw, size - at, &out);
	for (uint32_t i = 0; i < tracepoint_n_fields(t); i++) {
		buf_str(&out, tracepoint_field_name(t, i));
		tracepoint_field_value(t, i, raw, size - at, &out);
	}
	buf_fini(&out);
	tracepoint_free(t);
	free(raw);
	return 0;
}
