/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader of x86 instructions, in code of each width. It reads one instruction after the other,
 * each out of memory that ends with the input: a size is never 0, nor more than there is.
 */
#include <stdlib.h>
#include <string.h>

#include "limits.h"

#include "base/mem.h"
#include "pt/insn.h"

const struct fuzz_limits fuzz_limits = { .floor_ms = 1000, .ns_a_byte = 100000 };

static bool is_same(const struct pt_insn *a, const struct pt_insn *b)
{
	return a->distance == b->distance && a->size == b->size && a->end == b->end &&
	       a->ip_bits == b->ip_bits && a->is_direct == b->is_direct;
}

static void read_all(unsigned int width, const uint8_t *bytes, size_t size)
{
	struct pt_insn insn, again;
	size_t at = 0;

	while (at < size) {
		if (!pt_insn_read(width, bytes + at, size - at, &insn)) {
			at++;
			continue;
		}
		if (!insn.size || insn.size > PT_INSN_MAX || insn.size > size - at ||
		    insn.end >= PT_END_UNREADABLE)
			abort();
		/* Its own bytes are enough, and fewer are not. */
		if (!pt_insn_read(width, bytes + at, insn.size, &again) ||
		    !is_same(&insn, &again) ||
		    pt_insn_read(width, bytes + at, insn.size - 1u, &again))
			abort();
		at += insn.size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *own;

	if (size > 4096)
		return 0;
	own = xmalloc(size + !size);
	memcpy(own, data, size);
	read_all(16, own, size);
	read_all(32, own, size);
	read_all(64, own, size);
	free(own);
	return 0;
}
