/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks that hosts send to a gateway. The first byte says whether zstd has packed the rest; the
 * bucket is that of the seeds. A block that is accepted has sums that the parser's check accepts.
 */
#include <stdlib.h>

#include "limits.h"
#include "base/clock.h"
#include "base/mem.h"
#include "fleet/block_check.h"

/* As of the segment reader (fuzz_segment.c), for each of the 100 bytes that a byte may unpack to.
 */
const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 25600,
					 .ns_a_byte = 400000 };

/* 2026-06-01 00:10 UTC */
#define BUCKET (UINT64_C(1780272600) * NS_PER_SECOND)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf request = { 0 }, answer = { 0 };
	struct file_mapping file = { 0 };
	struct parser_job job = { .file = &file, .answer = &answer };

	if (!size)
		return 0;
	file.base = data + 1;
	file.size = size - 1;
	buf_u64(&request, BUCKET);
	buf_u8(&request, data[0] & 1);
	job.request = reader_over(request.data, request.len);
	block_check_row.run(&job);
	if (!block_check_row.check(answer.data, answer.len))
		abort();
	buf_fini(&request);
	buf_fini(&answer);
	return 0;
}
