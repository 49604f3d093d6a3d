/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of the parts in the sums of a fleet. A list that was read is written and read again. */
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "limits.h"
#include "base/buf.h"
#include "fleet/fleet_sums.h"

const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 512,
					 .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf text = { 0 }, again = { 0 };
	struct fleet_sums sums;

	/* The hash is in the last line: it is made here, so that the lines before it are read. */
	buf_bytes(&text, data, size);
	buf_printf(&text, "%016llx\n", (unsigned long long)XXH3_64bits(data, size));
	if (fleet_sums_parse((const char *)text.data, text.len, &sums)) {
		fleet_sums_print(&sums, &again);
		fleet_sums_fini(&sums);
		if (!fleet_sums_parse((const char *)again.data, again.len, &sums))
			abort();
		fleet_sums_fini(&sums);
	}
	if (fleet_sums_parse((const char *)data, size, &sums))
		fleet_sums_fini(&sums);
	buf_fini(&text);
	buf_fini(&again);
	return 0;
}
