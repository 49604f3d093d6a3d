/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Intel PT packets: whatever is read as a packet, written again and read again is the same, and
 * directions collected are those of the packets. Nothing reads beyond the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "pt/packet.h"
#include "pt/packet_text.h"

#define TEXT_MAX    4096 /* of a dump, which is read again */
#define COLLECT_MAX 256  /* bytes: collecting goes over padding, from each packet on */

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void write_and_read_again(const struct pt_packet *p, enum pt_block before)
{
	struct buf bytes = { 0 };
	struct pt_packet again;

	pt_packet_write(&bytes, p);
	must(pt_packet_read(bytes.data, bytes.data + bytes.len, &before, &again) == (int)bytes.len);
	must(again.type == p->type && again.count == p->count && again.flag == p->flag &&
	     again.payload == p->payload);
	buf_fini(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *own = xmalloc(size ? size : 1); /* so that a read beyond it is seen */
	const uint8_t *at = own, *end = own + size;
	enum pt_block block = PT_NO_BLOCK, dumped = PT_NO_BLOCK;
	struct buf text = { 0 }, bytes = { 0 };

	memcpy(own, data, size);
	while (at < end) {
		const uint8_t *collect_end = at + MIN(end - at, COLLECT_MAX);
		enum pt_block before = block;
		struct pt_tnt tnt = { 0 };
		struct pt_packet p;
		int r = pt_packet_read(at, end, &block, &p);

		must(pt_tnt_collect(at, collect_end, &tnt) <= collect_end && tnt.n <= 64);
		if (r > 0)
			write_and_read_again(&p, before);
		at += r > 0 ? r : 1;
	}
	for (size_t i = 0; i < size;) {
		i += pt_dump_line(&text, own + i, end, i, &dumped);
		text.len = MIN(text.len, (size_t)TEXT_MAX);
	}
	must(pt_find_psb(own, end) <= end);
	pt_text_write(&bytes, buf_cstr(&text), NULL);
	buf_fini(&bytes);
	buf_fini(&text);
	free(own);
	return 0;
}
