/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cached table whose checksum happens to fit: any block that is taken is safe to use. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "unwind/table.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	void *block = xmalloc(size); /* aligned, as a mapping is */
	struct unwind_table t;
	unsigned int sum = 0;

	memcpy(block, bytes, size);
	if (unwind_table_open(&t, block, size)) {
		uint64_t start = (uint64_t)t.first_page << UNWIND_PAGE_BITS;

		for (uint64_t i = 0; i < 4096ull * (t.n_pages + 1ull) && i < 1 << 20; i += 13)
			sum += unwind_table_find(&t, start + i).off;
		sum += unwind_table_find(&t, 0).off + unwind_table_find(&t, UINT64_MAX).off;
	}
	free(block);
	__asm__ volatile("" : : "r"(sum)); /* so that nothing above is optimised away */
	return 0;
}
