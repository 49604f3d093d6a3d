/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_overlap.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "pt/packet.h"

/* The TSC of a PSB+; false: it has none. */
static bool tsc_of(const uint8_t *psb, const uint8_t *end, uint64_t *tsc)
{
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;

	for (int r; (r = pt_packet_read(psb, end, &block, &p)) > 0; psb += r) {
		if (p.type == PT_TSC) {
			*tsc = p.payload;
			return true;
		}
		if (p.type == PT_PSBEND || p.type == PT_OVF)
			return false;
	}
	return false;
}

static bool last_tsc(const uint8_t *at, const uint8_t *end, uint64_t *tsc)
{
	bool has = false;

	for (at = pt_find_psb(at, end); at < end; at = pt_find_psb(at + PT_PSB_SIZE, end))
		has |= tsc_of(at, end, tsc);
	return has;
}

/* The first PSB that is later than all of the other snapshot's. */
static const uint8_t *first_after(const uint8_t *at, const uint8_t *end, uint64_t tsc)
{
	uint64_t own;

	for (; at < end; at = pt_find_psb(at + PT_PSB_SIZE, end))
		if (tsc_of(at, end, &own) && own > tsc)
			break;
	return at;
}

/* From one of its PSBs to its end, the snapshot before is what this one begins with: how much. */
static size_t common(const uint8_t *at, const uint8_t *end, const uint8_t *psb, size_t left)
{
	for (; (at = pt_find_psb(at, end)) < end; at += PT_PSB_SIZE) {
		size_t n = (size_t)(end - at);

		if (n <= left && !memcmp(at, psb, n))
			return n;
	}
	return 0;
}

size_t pt_overlap(const uint8_t *before, size_t n_before, const uint8_t *now, size_t n_now,
		  bool *is_consecutive)
{
	const uint8_t *end, *now_end, *psb, *filled;
	size_t left, n;
	uint64_t tsc;

	*is_consecutive = false;
	if (!n_now)
		return 0;
	now_end = now + n_now;
	psb = pt_find_psb(now, now_end);
	if (!n_before)
		return (size_t)(psb - now);
	left = (size_t)(now_end - psb);
	end = filled = before + n_before;
	n = common(before, end, psb, left);
	/* perf fills the last eight bytes up with PADs. */
	while (filled > before && end - filled < 7 && !filled[-1])
		filled--;
	if (!n && filled < end)
		n = common(before, filled, psb, left);
	*is_consecutive = n;
	if (!n && last_tsc(before, end, &tsc))
		psb = first_after(psb, now_end, tsc);
	assert(n <= (size_t)(now_end - psb));
	return (size_t)(psb - now) + n;
}
