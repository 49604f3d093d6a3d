/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Indexes of names that hosts send to a gateway. The first byte says whether zstd has packed the
 * rest; the build id is that of the seed. The parser's check accepts each answer.
 */
#include <stdlib.h>

#include "limits.h"
#include "base/mem.h"
#include "fleet/names_check.h"

/* For each of the 100 bytes that a byte may unpack to. */
const struct fuzz_limits fuzz_limits = { .floor_kib = 32768,
					 .bytes_a_byte = 25600,
					 .ns_a_byte = 400000 };

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
	buf_u8(&request, data[0] & 1);
	buf_bytes(&request, "\1\2\3\4", 4);
	job.request = reader_over(request.data, request.len);
	names_check_row.run(&job);
	if (!names_check_row.check(answer.data, answer.len))
		abort();
	buf_fini(&request);
	buf_fini(&answer);
	return 0;
}
