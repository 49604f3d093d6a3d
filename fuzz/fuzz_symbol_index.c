/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cached index whose checksum happens to fit: any block that index_open() takes is safe to use.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbol/index.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	void *block = xmalloc(size);
	uint64_t sum = 0;
	struct index ix;

	memcpy(block, bytes, size); /* aligned, as a mapping is */
	if (index_open(&ix, block, size)) {
		for (uint32_t i = 0; i < ix.n; i++) {
			sum += index_find(&ix, ix.starts[i]);
			sum += index_find(&ix, ix.starts[i] + ix.sizes[i]);
			sum += strlen(index_text(&ix, ix.names[i]));
			if (ix.ends)
				sum += strlen(index_text(&ix, ix.ends[i]));
		}
		sum += strlen(index_text(&ix, ix.header->debug_link));
	}
	free(block);
	__asm__ volatile("" : : "r"(sum)); /* so that nothing above is optimised away */
	return 0;
}
