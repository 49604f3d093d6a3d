/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event/data_source.h"

#include <stdbool.h>

#include "base/buf.h"

/* The fields of union perf_mem_data_src, from the lowest bit up (linux/perf_event.h). */
enum data_source_field {
	OP,
	LEVEL,
	SNOOP,
	LOCK,
	TLB,
	LEVEL_NUMBER,
	REMOTE,
	SNOOP_MORE,
	BLOCKED,
	HOPS
};
static const struct {
	unsigned int shift, bits;
} data_source_fields[] = {
	[OP] = { 0, 5 },      [LEVEL] = { 5, 14 },      [SNOOP] = { 19, 5 },
	[LOCK] = { 24, 2 },   [TLB] = { 26, 7 },        [LEVEL_NUMBER] = { 33, 4 },
	[REMOTE] = { 37, 1 }, [SNOOP_MORE] = { 38, 2 }, [BLOCKED] = { 40, 3 },
	[HOPS] = { 43, 3 },
};

/* In LEVEL and TLB, the first three bits have one meaning. */
enum { SOURCE_NA = 1, SOURCE_HIT = 2, SOURCE_MISS = 4 };

#define LEVEL_NUMBER_NA 15

static unsigned int data_source_get(uint64_t source, enum data_source_field field)
{
	return (unsigned int)(source >> data_source_fields[field].shift) &
	       ((1U << data_source_fields[field].bits) - 1);
}

/* The names of the bits that are set, as "L1 or L2"; false if there is none. */
static bool put_bits(struct buf *out, unsigned int bits, const char *const *names, bool is_first)
{
	for (unsigned int i = 0; bits >> i; i++) {
		if (!(bits >> i & 1))
			continue;
		buf_printf(out, "%s%s", is_first ? "" : " or ", names[i]);
		is_first = false;
	}
	return !is_first;
}

static const char *hit_or_miss(unsigned int bits)
{
	return bits & SOURCE_HIT ? " hit" : bits & SOURCE_MISS ? " miss" : "";
}

static void put_level_number(struct buf *out, uint64_t source, unsigned int number)
{
	static const char *const names[16] = {
		[1] = "L1",         [2] = "L2",       [3] = "L3",
		[4] = "L4",         [5] = "L2 MHB",   [6] = "Memory-side Cache",
		[8] = "Uncached",   [9] = "CXL",      [10] = "I/O",
		[11] = "Any cache", [12] = "LFB/MAB", [13] = "RAM",
		[14] = "PMEM",
	};
	static const char *const hops[8] = {
		[1] = "core, same node ",
		[2] = "node, same socket ",
		[3] = "socket, same board ",
		[4] = "board ",
	};
	unsigned int n_hops = data_source_get(source, HOPS);

	if (data_source_get(source, REMOTE))
		buf_str(out, "Remote ");
	if (hops[n_hops])
		buf_str(out, hops[n_hops]);
	if (names[number])
		buf_str(out, names[number]);
	else
		buf_printf(out, "Unknown level %u", number);
}

/* False: it is not known. */
static bool put_level_name(struct buf *out, uint64_t source)
{
	static const char *const names[] = {
		"N/A",
		"HIT",
		"MISS",
		"L1",
		"LFB/MAB",
		"L2",
		"L3",
		"Local RAM",
		"Remote RAM (1 hop)",
		"Remote RAM (2 hops)",
		"Remote Cache (1 hop)",
		"Remote Cache (2 hops)",
		"I/O",
		"Uncached",
	};
	unsigned int bits = data_source_get(source, LEVEL);
	unsigned int number = data_source_get(source, LEVEL_NUMBER);

	if (!number || number == LEVEL_NUMBER_NA)
		return put_bits(out, bits & ~(unsigned int)(SOURCE_NA | SOURCE_HIT | SOURCE_MISS),
				names, true);
	put_level_number(out, source, number);
	return true;
}

void data_source_put_level(struct buf *out, uint64_t source)
{
	if (put_level_name(out, source))
		buf_str(out, hit_or_miss(data_source_get(source, LEVEL)));
	else
		buf_str(out, "N/A");
}

void data_source_put_tlb(struct buf *out, uint64_t source)
{
	static const char *const names[] = { "N/A", "HIT", "MISS", "L1", "L2", "Walker", "Fault" };
	unsigned int bits = data_source_get(source, TLB);

	if (!put_bits(out, bits & ~(unsigned int)(SOURCE_HIT | SOURCE_MISS), names, true))
		buf_str(out, "N/A");
	buf_str(out, hit_or_miss(bits));
	if ((bits & SOURCE_HIT) && (bits & SOURCE_MISS))
		buf_str(out, " miss");
}

void data_source_put_snoop(struct buf *out, uint64_t source)
{
	static const char *const names[] = { "N/A", "None", "Hit", "Miss", "HitM" };
	static const char *const more[] = { "Fwd", "Peer" };
	bool any = put_bits(out, data_source_get(source, SNOOP), names, true);

	if (!put_bits(out, data_source_get(source, SNOOP_MORE), more, !any) && !any)
		buf_str(out, "N/A");
}

/* The name of the lowest bit that is set; else `none`. */
static const char *lowest_bit(unsigned int bits, const char *const *names, const char *none)
{
	return bits ? names[__builtin_ctz(bits)] : none;
}

void data_source_put(struct buf *out, uint64_t source)
{
	static const char *const ops[] = { "N/A", "LOAD", "STORE", "PFETCH", "EXEC" };
	static const char *const locks[] = { "N/A", "Yes" };
	unsigned int blocked = data_source_get(source, BLOCKED);
	const char *hit = hit_or_miss(data_source_get(source, LEVEL));

	buf_printf(out, "|OP %s|LVL ", lowest_bit(data_source_get(source, OP), ops, "No"));
	/* perf has a space behind a level without either */
	buf_str(out, !put_level_name(out, source) ? "N/A" : *hit ? hit : " ");
	buf_str(out, "|SNP ");
	data_source_put_snoop(out, source);
	buf_str(out, "|TLB ");
	data_source_put_tlb(out, source);
	buf_printf(out, "|LCK %s|BLK ", lowest_bit(data_source_get(source, LOCK), locks, "No"));
	if (!blocked || blocked & 1)
		buf_str(out, " N/A");
	else
		buf_printf(out, "%s%s", blocked & 2 ? " Data" : "", blocked & 4 ? " Addr" : "");
}
