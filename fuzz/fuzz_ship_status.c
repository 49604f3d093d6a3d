/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The file in which `assay ship` says how far it is. A wrong one gives zeros. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "fleet/ship_status.h"

const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 64,
					 .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct ship_status none;
	struct ship_status status;

	if (!ship_status_parse((const char *)data, size, &status) &&
	    memcmp(&status, &none, sizeof(none)) != 0)
		abort();
	return 0;
}
