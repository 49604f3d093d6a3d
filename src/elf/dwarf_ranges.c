/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "elf/dwarf_form.h"

enum { KIND_NONE, KIND_ONE, KIND_RANGES, KIND_RNGLIST };

/* DW_RLE_*: DWARF 5, section 7.25 */
enum {
	RLE_end,
	RLE_base_addressx,
	RLE_startx_endx,
	RLE_startx_length,
	RLE_offset_pair,
	RLE_base_address,
	RLE_start_end,
	RLE_start_length
};

static bool one_range(struct dwarf_ranges *it, const struct dwarf_die *die)
{
	uint64_t high;

	if (!dwarf_has(die, DWARF_AT_LOW_PC) || !dwarf_has(die, DWARF_AT_HIGH_PC) ||
	    !dwarf_form_addr(it->unit, die->form[DWARF_AT_LOW_PC], die->raw[DWARF_AT_LOW_PC],
			     &it->low))
		return false;
	/* An address, or how far it is. */
	if (dwarf_form_addr(it->unit, die->form[DWARF_AT_HIGH_PC], die->raw[DWARF_AT_HIGH_PC],
			    &high))
		it->high = high;
	else
		it->high = it->low + die->raw[DWARF_AT_HIGH_PC];
	return true;
}

static bool begin_rnglist(struct dwarf_ranges *it, uint64_t form, uint64_t raw)
{
	const struct dwarf_unit *u = it->unit;
	const struct reader *section = &u->file->section[DWARF_RNGLISTS];
	struct reader table = dwarf_at(section, u->rnglists_base);

	if (form == DW_FORM_rnglistx) {
		if (raw > UINT32_MAX)
			return false;
		it->r = dwarf_at(&table, raw * (u->is_64 ? 8 : 4));
		raw = dwarf_read_offset(&it->r, u->is_64);
		if (it->r.bad)
			return false;
		it->r = dwarf_at(&table, raw);
	} else {
		it->r = dwarf_at(section, raw);
	}
	return true;
}

void dwarf_ranges_begin(struct dwarf_ranges *it, const struct dwarf_unit *u,
			const struct dwarf_die *die)
{
	uint64_t raw = dwarf_number(die, DWARF_AT_RANGES);

	*it = (struct dwarf_ranges){ .unit = u, .base = u->low_pc };
	if (!dwarf_has(die, DWARF_AT_RANGES)) {
		it->kind = one_range(it, die) ? KIND_ONE : KIND_NONE;
	} else if (u->version >= 5) {
		if (begin_rnglist(it, die->form[DWARF_AT_RANGES], raw))
			it->kind = KIND_RNGLIST;
	} else {
		it->kind = KIND_RANGES;
		it->r = dwarf_at(&u->ranges, raw);
		if (u->file->is_split)
			it->r = dwarf_at(&it->r, u->ranges_base);
	}
}

static bool next_range(struct dwarf_ranges *it, uint64_t *low, uint64_t *high)
{
	uint8_t size = it->unit->addr_size;
	uint64_t none = size == 8 ? UINT64_MAX : UINT32_MAX, a, b;

	for (;;) {
		a = dwarf_read_addr(&it->r, size);
		b = dwarf_read_addr(&it->r, size);
		if (it->r.bad || (!a && !b))
			return false;
		if (a != none)
			break;
		it->base = b;
	}
	*low = it->base + a;
	*high = it->base + b;
	return true;
}

/* Reads one entry of a list. False: the entry has no range. */
static bool rnglist_entry(struct dwarf_ranges *it, uint8_t kind, uint64_t *low, uint64_t *high)
{
	const struct dwarf_unit *u = it->unit;
	struct reader *r = &it->r;
	uint64_t a, b;

	switch (kind) {
	case RLE_base_addressx:
		if (!dwarf_indexed_addr(u, reader_uleb(r), &it->base))
			r->bad = true;
		return false;
	case RLE_base_address:
		it->base = dwarf_read_addr(r, u->addr_size);
		return false;
	case RLE_startx_endx:
		a = reader_uleb(r);
		b = reader_uleb(r);
		return dwarf_indexed_addr(u, a, low) && dwarf_indexed_addr(u, b, high);
	case RLE_startx_length:
		a = reader_uleb(r);
		b = reader_uleb(r);
		if (!dwarf_indexed_addr(u, a, low))
			return false;
		*high = *low + b;
		return true;
	case RLE_offset_pair:
		*low = it->base + reader_uleb(r);
		*high = it->base + reader_uleb(r);
		return true;
	case RLE_start_end:
		*low = dwarf_read_addr(r, u->addr_size);
		*high = dwarf_read_addr(r, u->addr_size);
		return true;
	case RLE_start_length:
		*low = dwarf_read_addr(r, u->addr_size);
		*high = *low + reader_uleb(r);
		return true;
	default:
		r->bad = true;
		return false;
	}
}

bool dwarf_ranges_next(struct dwarf_ranges *it, uint64_t *low, uint64_t *high)
{
	switch (it->kind) {
	case KIND_ONE:
		it->kind = KIND_NONE;
		*low = it->low;
		*high = it->high;
		return true;
	case KIND_RANGES:
		return next_range(it, low, high);
	case KIND_RNGLIST:
		for (;;) {
			uint8_t kind = reader_u8(&it->r);
			bool has_range;

			if (it->r.bad || kind == RLE_end)
				return false;
			has_range = rnglist_entry(it, kind, low, high);
			if (it->r.bad)
				return false;
			if (has_range)
				return true;
		}
	default:
		return false;
	}
}
