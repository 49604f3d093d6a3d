/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Line tables of Java's methods, as HotSpot keeps them: steps of bytecode index and line.
 *
 *	0            the end
 *	iiiiilll     5 bits of index, 3 bits of line
 *	255 I L      two signed numbers (hotspot_number.h), the sign in the low bit
 */
#include "base/mem.h"
#include "lang/hotspot.h"
#include "lang/hotspot_number.h"

#define LONG_STEP 0xff
#define LINE_BITS 3

#define U5_SHIFT 6
#define U5_LAST  192
#define U5_BYTES 5

uint32_t hotspot_u5(struct reader *r, uint32_t version)
{
	uint32_t sum = 0, least = version >> 8 >= 20;

	for (uint32_t i = 0; i < U5_BYTES; i++) {
		uint8_t byte = reader_u8(r);

		if (byte < least)
			r->bad = true;
		if (r->bad)
			return 0;
		sum += (uint32_t)(byte - least) << (U5_SHIFT * i);
		if (byte < U5_LAST)
			break;
	}
	return sum;
}

static int32_t signed_u5(struct reader *r, uint32_t version)
{
	uint32_t v = hotspot_u5(r, version);

	return (int32_t)(v >> 1) ^ -(int32_t)(v & 1);
}

struct java_place {
	uint32_t bci, line; /* wrap around in bad tables */
};

/* False: the table ends here. */
static bool next_place(struct reader *r, uint32_t version, struct java_place *at)
{
	uint8_t step = reader_u8(r);

	if (r->bad || !step)
		return false;
	if (step == LONG_STEP) {
		at->bci += (uint32_t)signed_u5(r, version);
		at->line += (uint32_t)signed_u5(r, version);
	} else {
		at->bci += step >> LINE_BITS;
		at->line += step & ((1u << LINE_BITS) - 1);
	}
	return !r->bad;
}

static struct reader table_of(const struct lang_code *code)
{
	return reader_over(code->lines, MIN(code->n_lines, (uint32_t)LANG_LINES_MAX));
}

/* The line of the last place at or before an index. Places need not be in its order. */
uint32_t java_line(const struct lang_code *code, uint32_t bci)
{
	struct reader r = table_of(code);
	struct java_place at = { 0 }, best = { 0 };

	while (next_place(&r, code->version, &at))
		if (at.bci <= bci && at.bci >= best.bci)
			best = at;
	return best.line;
}

uint32_t java_table_size(const struct lang_code *code)
{
	struct reader r = table_of(code);
	struct java_place at = { 0 };
	const uint8_t *start = r.at;

	while (next_place(&r, code->version, &at))
		;
	return (uint32_t)(r.at - start);
}
