/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OProfile's event stream: the items that are read from any bytes are written, and read again as
 * the same items.
 */
#include <stdlib.h>
#include <string.h>

#include "oprofile/fs/event_stream.h"

static void check_again(const struct estream_item *item, bool has_branch_target)
{
	struct estream_words words = { 0 };
	struct estream_item again;
	struct estream_reader r;

	estream_put(&words, item);
	r = estream_reader_over(words.data, words.n * sizeof(*words.data), 8);
	r.has_branch_target = has_branch_target;
	if (!estream_next(&r, &again) || memcmp(&again, item, sizeof(again)))
		abort();
	vec_fini(&words);
}

/* The first byte chooses the width of words and whether branch targets are there. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct estream_context context = { 0 };
	struct estream_entry entry;
	struct estream_reader r;
	struct estream_item item;

	if (!size)
		return 0;
	r = estream_reader_over(data + 1, size - 1, data[0] & 1 ? 4 : 8);
	r.has_branch_target = data[0] & 2;
	while (estream_next(&r, &item)) {
		check_again(&item, r.has_branch_target);
		estream_follow(&context, &item, &entry);
	}
	return 0;
}
