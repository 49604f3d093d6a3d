/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/text.h"

#include <string.h>

#include "base/utf8.h"

void text_u64(struct buf *out, uint64_t v)
{
	char digits[20];
	size_t n = 0;

	do
		digits[sizeof(digits) - ++n] = (char)('0' + v % 10);
	while (v /= 10);
	buf_bytes(out, digits + sizeof(digits) - n, n);
}

void text_scaled(struct buf *out, uint64_t ns, uint64_t unit_ns)
{
	uint64_t rest = ns % unit_ns;

	text_u64(out, ns / unit_ns);
	if (rest)
		buf_u8(out, '.');
	for (uint64_t place = unit_ns / 10; rest; place /= 10) {
		buf_u8(out, (uint8_t)('0' + rest / place));
		rest %= place;
	}
}
