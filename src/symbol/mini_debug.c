/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/mini_debug.h"

#include "base/reserve.h"
#include "config.h"

#ifdef HAVE_LZMA

#include <lzma.h>
#include <stdlib.h>

#include "base/mem.h"

#define MAX_UNPACKED (64U << 20)
#define MAX_MEMORY   (128U << 20) /* of the decoder: an xz header can ask for gigabytes */

uint8_t *xz_unpack(struct reader packed, size_t *size)
{
	size_t cap = MIN(reader_left(&packed) * 8 + 4096, (size_t)MAX_UNPACKED);

	for (;;) {
		uint8_t *bytes = mem_try(cap, 1);
		uint64_t memory = MAX_MEMORY;
		size_t in = 0, out = 0;
		lzma_ret r =
			!bytes ? LZMA_MEM_ERROR
			       : lzma_stream_buffer_decode(&memory, 0, NULL, packed.at, &in,
							   reader_left(&packed), bytes, &out, cap);

		if (r == LZMA_OK) {
			*size = out;
			return bytes;
		}
		if (bytes && r == LZMA_MEM_ERROR)
			reserve_count_failure();
		free(bytes);
		if (r != LZMA_BUF_ERROR || cap >= MAX_UNPACKED) /* or the buffer is too small */
			return NULL;
		cap = MIN(cap * 4, (size_t)MAX_UNPACKED);
	}
}

bool mini_debug_open(const struct elf_file *image, uint8_t **bytes, struct elf_file *elf)
{
	struct elf_section section;
	uint8_t *unpacked;
	size_t size;

	if (!elf_section_named(image, ".gnu_debugdata", &section))
		return false;
	unpacked = xz_unpack(elf_section_bytes(image, &section), &size);
	if (!unpacked || elf_file_open(elf, unpacked, size, NULL) < 0) {
		free(unpacked);
		return false;
	}
	*bytes = unpacked;
	return true;
}

#else

uint8_t *xz_unpack(struct reader packed, size_t *size)
{
	(void)packed, (void)size;
	return NULL;
}

bool mini_debug_open(const struct elf_file *image, uint8_t **bytes, struct elf_file *elf)
{
	(void)image, (void)bytes, (void)elf;
	return false;
}

#endif
