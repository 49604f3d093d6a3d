/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Data sources in perf's words. */
#include "event/data_source.h"

#include "unit.h"

#include "base/buf.h"
#include "base/mem.h"

/* What `perf script -F data_src` of perf 7.2 prints. It cuts the longest texts off at 99 bytes. */
static const struct {
	uint64_t source;
	const char *text;
} sources[] = {
	{ 0x0, "|OP No|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x5080021, "|OP N/A|LVL N/A|SNP N/A|TLB N/A|LCK N/A|BLK  N/A" },
	{ 0x142, "|OP LOAD|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x242, "|OP LOAD|LVL LFB/MAB hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x442, "|OP LOAD|LVL L2 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x842, "|OP LOAD|LVL L3 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x1042, "|OP LOAD|LVL Local RAM hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x2042, "|OP LOAD|LVL Remote RAM (1 hop) hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x4042, "|OP LOAD|LVL Remote RAM (2 hops) hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x8042, "|OP LOAD|LVL Remote Cache (1 hop) hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x10042, "|OP LOAD|LVL Remote Cache (2 hops) hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x20042, "|OP LOAD|LVL I/O hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x40042, "|OP LOAD|LVL Uncached hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x582, "|OP LOAD|LVL L1 or L2 miss|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x2a100144, "|OP STORE|LVL L1 hit|SNP None|TLB L1 hit|LCK Yes|BLK  N/A" },
	{ 0x1048, "|OP PFETCH|LVL Local RAM hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x150, "|OP EXEC|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x42, "|OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x82, "|OP LOAD|LVL N/A|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x162, "|OP LOAD|LVL L1 hit|SNP N/A|TLB N/A|LCK No|BLK  N/A" },
	{ 0x268100142, "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x468100142, "|OP LOAD|LVL L2 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x668100142, "|OP LOAD|LVL L3 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x868100142, "|OP LOAD|LVL L4 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0xa68100142, "|OP LOAD|LVL L2 MHB hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0xc68100142,
	  "|OP LOAD|LVL Memory-side Cache hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0xe68100142,
	  "|OP LOAD|LVL Unknown level 7 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1068100142, "|OP LOAD|LVL Uncached hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1268100142, "|OP LOAD|LVL CXL hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1468100142, "|OP LOAD|LVL I/O hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1668100142, "|OP LOAD|LVL Any cache hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1868100142, "|OP LOAD|LVL LFB/MAB hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1a68100142, "|OP LOAD|LVL RAM hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1c68100142, "|OP LOAD|LVL PMEM hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1e68100142, "|OP LOAD|LVL L1 hit|SNP None|TLB L1 or L2 hit|LCK No|BLK  N/A" },
	{ 0x1a90100082, "|OP LOAD|LVL RAM miss|SNP None|TLB Walker miss|LCK No|BLK  N/A" },
	{ 0x700000002, "|OP LOAD|LVL L3 |SNP N/A|TLB Fault|LCK No|BLK  N/A" },
	{ 0x2608800042, "|OP LOAD|LVL Remote L3 hit|SNP HitM|TLB N/A hit|LCK No|BLK  N/A" },
	{ 0x83608200042,
	  "|OP LOAD|LVL Remote core, same node Any cache hit|SNP Hit|TLB N/A hit|LCK No|BLK  N/A" },
	{ 0x103608200042, "|OP LOAD|LVL Remote node, same socket Any cache hit|SNP Hit|TLB N/A "
			  "hit|LCK No|BLK  N/A" },
	{ 0x183608200042, "|OP LOAD|LVL Remote socket, same board Any cache hit|SNP Hit|TLB N/A "
			  "hit|LCK No|BLK  N/A" },
	{ 0x203608200042,
	  "|OP LOAD|LVL Remote board Any cache hit|SNP Hit|TLB N/A hit|LCK No|BLK  N/A" },
	{ 0x4628000042, "|OP LOAD|LVL L3 hit|SNP Fwd|TLB L1 hit|LCK No|BLK  N/A" },
	{ 0x8628400042, "|OP LOAD|LVL L3 hit|SNP Miss or Peer|TLB L1 hit|LCK No|BLK  N/A" },
	{ 0x2c628000042, "|OP LOAD|LVL L3 hit|SNP Fwd or Peer|TLB L1 hit|LCK No|BLK  Data" },
	{ 0x40628100042, "|OP LOAD|LVL L3 hit|SNP None|TLB L1 hit|LCK No|BLK  Addr" },
	{ 0x60628100042, "|OP LOAD|LVL L3 hit|SNP None|TLB L1 hit|LCK No|BLK  Data Addr" },
	{ 0x107f8100042,
	  "|OP LOAD|LVL L3 hit|SNP None|TLB L1 or L2 or Walker or Fault hit miss|LCK No|BLK  N/A" },
};

static void each_source_has_perfs_text(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sources); i++) {
		struct buf text = { 0 };

		data_source_put(&text, sources[i].source);
		assert_string_equal(buf_cstr(&text), sources[i].text);
		buf_fini(&text);
	}
}

static void check_part(void (*put)(struct buf *out, uint64_t source), uint64_t source,
		       const char *wanted)
{
	struct buf text = { 0 };

	put(&text, source);
	assert_string_equal(buf_cstr(&text), wanted);
	buf_fini(&text);
}

/* A column of `perf mem report` has no space at its end. */
static void parts_stand_alone(void **state)
{
	(void)state;
	check_part(data_source_put_level, 0x268100142, "L1 hit");
	check_part(data_source_put_level, 0x700000002, "L3");
	check_part(data_source_put_tlb, 0x268100142, "L1 or L2 hit");
	check_part(data_source_put_snoop, 0x2608800042, "HitM");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_source_has_perfs_text),
		cmocka_unit_test(parts_stand_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
