/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests to the opener. The first byte says whether a descriptor comes along. */
#include <stdlib.h>
#include <string.h>

#include "guard/opener.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct opener_request r;

	if (!size || opener_parse(data + 1, size - 1, data[0] & 1, &r) < 0)
		return 0;
	if (r.head.kind >= N_OPENER_KINDS || r.size > sizeof(r.path))
		abort();
	if (r.head.kind != OPENER_COUNTER && r.size && strlen(r.path) + 1 != r.size)
		abort();
	return 0;
}
