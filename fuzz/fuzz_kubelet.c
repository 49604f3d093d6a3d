/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A kubelet's list of pods: each line that comes of it is an id and a name. */
#include <stdlib.h>
#include <string.h>

#include "limits.h"
#include "base/buf.h"
#include "fleet/kubelet.h"

const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 256,
					 .ns_a_byte = 40000 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf lines = { 0 };
	char *rest, *line;

	kubelet_parse_pods((const char *)data, size, &lines);
	rest = (char *)buf_cstr(&lines);
	while (*rest && (line = strsep(&rest, "\n"))) {
		char *blank = strchr(line, ' ');

		if (!rest || !blank || blank == line || !blank[1])
			abort();
	}
	buf_fini(&lines);
	return 0;
}
