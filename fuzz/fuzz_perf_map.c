/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Perf map files, which any process may write as it likes. */
#include <stdlib.h>

#include "base/mem.h"
#include "machine/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size);
	struct perf_map map;

	perf_map_parse(&map, text);
	for (size_t i = 0; i < map.n; i++) {
		const struct perf_map_entry *e = &map.data[i];

		/* Ordered and apart, so that a search finds each by its start. */
		if (perf_map_find(&map, e->start) != e ||
		    (i && map.data[i - 1].start + map.data[i - 1].size > e->start))
			abort();
	}
	perf_map_fini(&map);
	free(text);
	return 0;
}
