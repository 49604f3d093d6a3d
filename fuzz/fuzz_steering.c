/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of --control: the same ones, wherever the bytes are cut. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "record/control_channel.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_message(const struct control_text *t, struct buf *out)
{
	const char *argument;
	int message = control_text_message(t, &argument);

	buf_printf(out, "%d %s|%s\n", message, t->text, argument);
}

static void read_all(const char *bytes, size_t size, size_t step, struct buf *out)
{
	struct control_text t = { 0 };

	for (size_t at = 0; at < size;) {
		size_t left = size - at, used;

		if (control_text_feed(&t, bytes + at, left < step ? left : step, &used))
			put_message(&t, out);
		if (!used)
			abort();
		at += used;
	}
	if (control_text_end(&t))
		put_message(&t, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = { 0 }, pieces = { 0 };

	read_all((const char *)data, size, size, &whole);
	read_all((const char *)data, size, 3, &pieces);
	if (whole.len != pieces.len || (whole.len && memcmp(whole.data, pieces.data, whole.len)))
		abort();
	buf_fini(&whole);
	buf_fini(&pieces);
	return 0;
}
