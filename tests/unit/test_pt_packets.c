/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intel PT packets: each one's bytes by hand from the SDM, perf's dump, damage. */
#include "unit.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "perfdata/perfdata.h"
#include "pt/packet.h"
#include "pt/packet_text.h"

/* The words, and the bytes that the SDM gives for them. */
static const struct {
	const char *text, *hex;
} packets[] = {
	{ "PAD", "00" },
	{ "TNT T (1)", "06" },
	{ "TNT N (1)", "04" },
	{ "TNT TTNTTT (6)", "ee" },
	{ "TNT NNNNNN (6)", "80" },
	{ "TNT TNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNNT (47)", "02a30100000000c0" },
	{ "TIP no ip", "0d" },
	{ "TIP 0xd794", "2d94d7" },
	{ "TIP.PGE 0xffffb960d302", "7102d360b9ffff" },
	{ "TIP.PGD no ip", "01" },
	{ "FUP 0xb97420a2", "5da22074b9" },
	{ "FUP 0x123456789abc", "9dbc9a78563412" },
	{ "FUP 0x8123456789abcdef", "ddefcdab8967452381" },
	{ "PIP 0x1fea1a00 (NR=0)", "02430034d43f0000" },
	{ "PIP 0x1fea1a00 (NR=1)", "02430134d43f0000" },
	{ "VMCS 0x123456789a", "02c89a78563412" },
	{ "TSC 0xbc4cd2cfe8", "19e8cfd24cbc0000" },
	{ "TMA CTC 0xb23c FC 0x30", "02733cb2003000" },
	{ "TMA CTC 0x1 FC 0x1ff", "0273010000ff01" },
	{ "MTC 0x48", "5948" },
	{ "CYC 0x3", "1b" },
	{ "CYC 0x1f", "fb" },
	{ "CYC 0x20", "0702" },
	{ "CYC 0xfff", "fffe" },
	{ "CYC 0x1000", "070102" },
	{ "CBR 0x1d", "02031d00" },
	{ "MODE.Exec IF:0 16", "9900" },
	{ "MODE.Exec IF:0 64", "9901" },
	{ "MODE.Exec IF:1 32", "9906" },
	{ "MODE.TSX TXAbort:0 InTX:1", "9921" },
	{ "MODE.TSX TXAbort:1 InTX:0", "9922" },
	{ "PSB", "02820282028202820282028202820282" },
	{ "PSBEND", "0223" },
	{ "OVF", "02f3" },
	{ "TraceSTOP", "0283" },
	{ "MNT 0x8877665544332211", "02c3881122334455667788" },
	{ "PTWRITE 0x44332211 IP:0", "021211223344" },
	{ "PTWRITE 0x44332211 IP:1", "029211223344" },
	{ "PTWRITE 0x8877665544332211 IP:0", "02321122334455667788" },
	{ "PTWRITE 0x8877665544332211 IP:1", "02b21122334455667788" },
	{ "EXSTOP IP:0", "0262" },
	{ "EXSTOP IP:1", "02e2" },
	{ "MWAIT 0x100000060 Hints 0x60 Extensions 0x1", "02c26000000001000000" },
	{ "PWRE 0x2380 HW:1 CState:2 Sub-CState:3", "02228023" },
	{ "PWRX 0x422 Last CState:2 Deepest CState:2 Wake Reason 0x4", "02a22204000000" },
	{ "BBP SZ 8-byte Type 0x4", "026304" },
	{ "BIP ID 0x05 Value 0x1122334455667788", "2c8877665544332211" },
	{ "BEP IP:1", "02b3" },
	{ "BBP SZ 4-byte Type 0x11", "026391" },
	{ "BIP ID 0x1f Value 0x11223344", "fc44332211" },
	{ "BEP IP:0", "0233" },
	{ "CFE IP:1 Type 0x01 Vector 0xec", "021381ec" },
	{ "CFE IP:0 Type 0x1f Vector 0x0", "02131f00" },
	{ "EVD Type 0x00 Payload 0x7fff12345678", "02530078563412ff7f0000" },
	{ "TRIG IP:1 TRBV 0x03 Payload 0x200000", "d9a003" },
	{ "TRIG IP:0 TRBV 0x01 Payload 0x401234", "d940013412" },
};

/* The suffixes that say the form of the addresses above. */
static const char *form_of(const char *hex)
{
	unsigned int opcode = (unsigned int)strtoul((char[3]){ hex[0], hex[1], 0 }, NULL, 16);
	static const char *const suffix[] = { "", "/1", "/2", "/3", "/4", "", "/6", "" };
	unsigned int low = opcode & 0x1f;

	return low == 0x0d || low == 0x11 || low == 0x01 || low == 0x1d ? suffix[opcode >> 5] : "";
}

static size_t bytes_of(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t)strtoul((char[3]){ hex[2 * i], hex[2 * i + 1], 0 }, NULL, 16);
	return n;
}

static void each_packet_is_read_as_the_manual_has_it(void **state)
{
	enum pt_block block = PT_NO_BLOCK;
	uint8_t bytes[64];
	struct buf text = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		size_t n = bytes_of(packets[i].hex, bytes);
		struct pt_packet p;

		assert_int_equal(pt_packet_read(bytes, bytes + n, &block, &p), n);
		assert_int_equal(p.size, n);
		text.len = 0;
		pt_packet_print(&text, &p);
		assert_string_equal(buf_cstr(&text), packets[i].text);
	}
	buf_fini(&text);
}

static void each_packet_is_written_from_its_words(void **state)
{
	struct buf text = { 0 }, all = { 0 }, want = { 0 };
	struct error err = { 0 };
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		size_t n = bytes_of(packets[i].hex, bytes);

		buf_printf(&text, "  %s%s # comment\n\n", packets[i].text, form_of(packets[i].hex));
		buf_bytes(&want, bytes, n);
	}
	assert_int_equal(pt_text_write(&all, buf_cstr(&text), &err), 0);
	assert_int_equal(all.len, want.len);
	assert_memory_equal(all.data, want.data, want.len);
	buf_fini(&text);
	buf_fini(&all);
	buf_fini(&want);
}

static void text_that_is_no_packet_is_refused_with_its_line(void **state)
{
	static const char *const bad[] = { "FROB",      "TIP",          "TIP 0x1/5",
					   "TIP 0x1/7", "TIP 0x1x",     "TNT TXN",
					   "TSC",       "MODE.Exec 64", "BBP SZ 5-byte Type 0x1",
					   "TMA CTC 1", "PSBENDX" };
	struct buf out = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err = { 0 };
		char text[64], want[96];

		snprintf(text, sizeof(text), "PSB\n%s\n", bad[i]);
		snprintf(want, sizeof(want), "line 2: '%s' is no packet", bad[i]);
		assert_int_equal(pt_text_write(&out, text, &err), -EINVAL);
		assert_string_equal(err.text, want);
	}
	buf_fini(&out);
}

static void the_six_forms_of_an_address(void **state)
{
	const uint64_t last = 0xfedcba9876543210;

	(void)state;
	assert_int_equal(pt_last_ip(last, PT_IP_NONE, 0), last);
	assert_int_equal(pt_last_ip(last, PT_IP_16, 0xabcd), 0xfedcba987654abcd);
	assert_int_equal(pt_last_ip(last, PT_IP_32, 0xabcd1234), 0xfedcba98abcd1234);
	assert_int_equal(pt_last_ip(last, PT_IP_48_SIGNED, 0x800000000001), 0xffff800000000001);
	assert_int_equal(pt_last_ip(last, PT_IP_48_SIGNED, 0x7fffffffffff), 0x7fffffffffff);
	assert_int_equal(pt_last_ip(last, PT_IP_48, 0x800000000001), 0xfedc800000000001);
	assert_int_equal(pt_last_ip(last, PT_IP_64, 0x123), 0x123);
}

static void a_tip_is_read_in_each_form_without_a_jump(void **state)
{
	uint8_t bytes[PT_TIP_ROOM] = { 0, 0x11, 0x22, 0x33, 0x44, 0x55, 0x86, 0x77, 0x88 };

	(void)state;
	for (unsigned int head = 0; head < 256; head++) {
		const uint64_t before = 0xfedcba9876543210;
		enum pt_block block = PT_NO_BLOCK;
		uint64_t ip = before;
		struct pt_packet p;
		size_t size;
		int r;

		bytes[0] = (uint8_t)head;
		size = pt_tip_read(bytes, &ip);
		r = pt_packet_read(bytes, bytes + sizeof(bytes), &block, &p);
		if (r > 0 && p.type == PT_TIP && p.count != PT_IP_NONE) {
			assert_int_equal(size, r);
			assert_int_equal(ip, pt_last_ip(before, p.count, p.payload));
		} else {
			assert_int_equal(size, 0);
			assert_int_equal(ip, before);
		}
	}
}

static void a_cut_packet_needs_more_bytes(void **state)
{
	enum pt_block block = PT_NO_BLOCK;
	uint8_t bytes[64];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(packets); i++) {
		size_t n = bytes_of(packets[i].hex, bytes);
		struct pt_packet p = { .type = N_PT_TYPES };

		for (size_t cut = 0; cut < n; cut++) {
			enum pt_block before = block;
			/*
			 * At the end of a separate allocation, so that the sanitizer sees a read
			 * beyond it.
			 */
			cleanup(free_at_exit) uint8_t *own = xmalloc(cut + 1);

			memcpy(own, bytes, cut);
			assert_int_equal(pt_packet_read(own, own + cut, &block, &p), -ENODATA);
			assert_int_equal(block, before);
			assert_int_equal(p.type, N_PT_TYPES);
		}
		assert_true(pt_packet_read(bytes, bytes + n, &block, &p) > 0);
	}
}

static void what_the_manual_reserves_is_no_packet(void **state)
{
	static const char *const bad[] = {
		"adffffffffffff",
		"edffffffffffffffff",               /* IPBytes 5, 7 */
		"9903",                             /* MODE.Exec CS.D and CS.L */
		"9923",                             /* MODE.TSX with both bits */
		"9940",                             /* MODE of no known leaf */
		"0204",                             /* no such second byte */
		"0252000000000000000000",           /* PTWRITE of reserved size */
		"02c389",                           /* MNT's third byte */
		"02820282028202820282028202820283", /* nearly a PSB */
		"39",
		"05",
		"09",                       /* no opcode */
		"070101010101010101010100", /* CYC of more than 64 bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		uint8_t bytes[64];
		size_t n = bytes_of(bad[i], bytes);
		enum pt_block block = PT_NO_BLOCK;
		struct pt_packet p;

		assert_int_equal(pt_packet_read(bytes, bytes + n, &block, &p), -EBADMSG);
	}
}

static void items_are_read_only_inside_a_block(void **state)
{
	static const uint8_t item[] = { 0x2c, 1, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t rest[] = { 0x59, 0, 6 }; /* MTC, TNT T */
	enum pt_block block = PT_NO_BLOCK;
	struct pt_packet p;

	(void)state;
	assert_int_equal(pt_packet_read(item, item + sizeof(item), &block, &p), 1);
	assert_int_equal(p.type, PT_TNT);
	block = PT_BLOCK_4;
	assert_int_equal(pt_packet_read(item, item + sizeof(item), &block, &p), 5);
	assert_int_equal(p.type, PT_BIP);
	/* An MTC may be inside; a TNT may not, and so ends the block. */
	assert_int_equal(pt_packet_read(rest, rest + 3, &block, &p), 2);
	assert_int_equal(block, PT_BLOCK_4);
	assert_int_equal(pt_packet_read(rest + 2, rest + 3, &block, &p), 1);
	assert_int_equal(block, PT_NO_BLOCK);
}

static uint32_t lcg(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

/* Bytes of which most are TNTs, many of them full ones in a row, with PADs among them. */
static void fill_with_tnts(uint8_t *bytes, size_t n, uint32_t *seed)
{
	bool full = false;

	for (size_t i = 0; i < n; i++) {
		uint32_t r = lcg(seed);

		if (r % 17 == 0)
			full = !full;
		bytes[i] = (uint8_t)(lcg(seed) << 1);
		if (full)
			bytes[i] |= 0x80;
		if (bytes[i] == 2 && r % 3 && i + 8 < n) {
			bytes[++i] = 0xa3;
			for (int k = 0; k < 6; k++)
				bytes[++i] = (uint8_t)(k < 4 || r % 5 ? lcg(seed) : 0);
		}
	}
}

/* The directions of all packets up to `stop`, one by one. */
static size_t directions(const uint8_t *at, const uint8_t *stop, char *out)
{
	enum pt_block block = PT_NO_BLOCK;
	size_t n = 0;

	while (at < stop) {
		struct pt_packet p;
		int r = pt_packet_read(at, stop, &block, &p);

		assert_true(r > 0 && (p.type == PT_TNT || p.type == PT_PAD));
		for (unsigned int i = 0; p.type == PT_TNT && i < p.count; i++)
			out[n++] = p.payload >> (63 - i) & 1 ? 'T' : 'N';
		at += r;
	}
	return n;
}

static void collected_directions_are_those_of_the_packets(void **state)
{
	enum { SIZE = 4096 };
	cleanup(free_at_exit) uint8_t *bytes = xmalloc(SIZE);
	cleanup(free_at_exit) char *want = xmalloc(64 * SIZE);
	uint32_t seed = 7;

	(void)state;
	for (int round = 0; round < 200; round++) {
		const uint8_t *at = bytes, *end = bytes + SIZE, *next;
		struct pt_tnt tnt = { 0 };

		fill_with_tnts(bytes, SIZE, &seed);
		for (; at < end; at = next) {
			uint32_t had = lcg(&seed) % (PT_TNT_ROOM + 2);
			struct pt_packet p;
			enum pt_block block = PT_NO_BLOCK;
			size_t n;

			tnt = (struct pt_tnt){ .n = had };
			next = pt_tnt_collect(at, end, &tnt);
			n = directions(at, next, want);
			assert_int_equal(tnt.n, had + n);
			for (size_t i = 0; i < n; i++)
				assert_int_equal(tnt.bits >> (63 - had - i) & 1, want[i] == 'T');
			if (tnt.n < 64)
				assert_int_equal(tnt.bits << tnt.n, 0);
			/* It stopped at something else, or had enough. */
			if (tnt.n <= PT_TNT_ROOM && pt_packet_read(next, end, &block, &p) > 0)
				assert_true(p.type != PT_TNT && p.type != PT_PAD);
			if (next == at) /* step over it */
				next += pt_packet_read(at, end, &block, &p) > 0 ? p.size : 1;
		}
	}
}

static void a_psb_is_found_wherever_it_is(void **state)
{
	uint8_t bytes[64];

	(void)state;
	for (size_t at = 0; at + PT_PSB_SIZE <= sizeof(bytes); at++) {
		memset(bytes, 0x82, sizeof(bytes));
		for (size_t i = 0; i < PT_PSB_SIZE; i += 2)
			bytes[at + i] = 2;
		assert_ptr_equal(pt_find_psb(bytes, bytes + sizeof(bytes)), bytes + at);
		assert_ptr_equal(pt_find_psb(bytes, bytes + at + 15), bytes + at + 15);
	}
	assert_ptr_equal(pt_find_psb(bytes + 64, bytes + 64), bytes + 64);
}

/* A CYC may end with 02, and a TNT be 82. */
static void a_packet_before_a_psb_may_end_with_its_first_bytes(void **state)
{
	uint8_t bytes[5 * PT_PSB_SIZE];

	(void)state;
	for (size_t n_psbs = 1; n_psbs <= 2; n_psbs++)
		for (size_t n_pairs = 0; n_pairs < PT_PSB_SIZE / 2; n_pairs++) {
			memset(bytes, 0, sizeof(bytes));
			for (size_t i = 0; i < 2 * n_pairs + n_psbs * PT_PSB_SIZE; i += 2)
				memcpy(bytes + 3 + i, "\x02\x82", 2);
			assert_ptr_equal(pt_find_psb(bytes, bytes + sizeof(bytes)),
					 bytes + 3 + 2 * n_pairs);
		}
}

static void a_dump_of_garbage_shows_each_byte_once(void **state)
{
	uint8_t bytes[512];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 100; round++) {
		enum pt_block block = PT_NO_BLOCK;
		struct buf out = { 0 };
		size_t at = 0;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)lcg(&seed);
		while (at < sizeof(bytes))
			at += pt_dump_line(&out, bytes + at, bytes + sizeof(bytes), at, &block);
		assert_int_equal(at, sizeof(bytes));
		buf_fini(&out);
	}
}

static int ignore(struct event_sink *sink, const struct event *e)
{
	(void)sink;
	(void)e;
	return 0;
}

/* The dump of every AUX piece of a recording, as `perf script -D` has it. */
static void dump_recording(const char *path, struct buf *out)
{
	struct event_sink sink = { .push = ignore };
	struct perfdata_bytes file = { .name = path };
	struct file_mapping map;
	struct error err = { 0 };
	struct perfdata *p;

	assert_int_equal(file_map(path, &map, &err), 0);
	file.base = map.base;
	file.size = map.size;
	assert_int_equal(perfdata_open(&file, 1, &p, &err), 0);
	assert_int_equal(perfdata_read(p, &sink, &err), 0);
	vec_foreach (&perfdata_stats(p)->aux, aux) {
		enum pt_block block = PT_NO_BLOCK;
		const uint8_t *at = map.base + aux->file_off;

		assert_true(aux->file_off + aux->size_bytes <= map.size);
		for (uint64_t i = 0; i < aux->size_bytes;)
			i += pt_dump_line(out, at + i, at + aux->size_bytes, i, &block);
	}
	perfdata_free(p);
	file_unmap(&map);
}

/* A recording from outside the project, beside it (or beside its worktrees). */
static bool find_fixture(const char *name, char path[static PATH_MAX])
{
	const char *const folders[] = { getenv("ASSAY_FIXTURES"),
					ASSAY_SRC "/../../shared/fixtures",
					ASSAY_SRC "/../../../shared/fixtures" };

	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		snprintf(path, PATH_MAX, "%s/%s", folders[i] ? folders[i] : "/nowhere", name);
		if (access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static void a_real_recording_reads_as_perf_reads_it(void **state)
{
	struct buf ours = { 0 };
	char path[PATH_MAX], line[256];
	size_t at = 0, n = 0;
	FILE *perf;

	(void)state;
	if (!find_fixture("perfdata/perf.data.intel_pt-4.14", path))
		skip_because("the fixtures are not here");
	if (system("perf --version >/dev/null 2>&1") != 0)
		skip_because("perf is not installed");
	dump_recording(path, &ours);
	buf_cstr(&ours);
	setenv("RECORDING", path, 1);
	perf = popen("perf script -D -i \"$RECORDING\" 2>/dev/null | grep -E '^\\.  [0-9a-f]{8}:'",
		     "r");
	assert_non_null(perf);
	for (; fgets(line, sizeof(line), perf); n++) {
		size_t len = strlen(line);

		if (at + len > ours.len || memcmp(ours.data + at, line, len) != 0)
			fail_msg("packet %zu: perf has %s we have %.*s", n, line, (int)len,
				 (const char *)ours.data + at);
		at += len;
	}
	pclose(perf);
	assert_int_equal(at, ours.len);
	assert_int_equal(n, 86631);
	buf_fini(&ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_packet_is_read_as_the_manual_has_it),
		cmocka_unit_test(each_packet_is_written_from_its_words),
		cmocka_unit_test(text_that_is_no_packet_is_refused_with_its_line),
		cmocka_unit_test(the_six_forms_of_an_address),
		cmocka_unit_test(a_tip_is_read_in_each_form_without_a_jump),
		cmocka_unit_test(a_cut_packet_needs_more_bytes),
		cmocka_unit_test(what_the_manual_reserves_is_no_packet),
		cmocka_unit_test(items_are_read_only_inside_a_block),
		cmocka_unit_test(collected_directions_are_those_of_the_packets),
		cmocka_unit_test(a_psb_is_found_wherever_it_is),
		cmocka_unit_test(a_packet_before_a_psb_may_end_with_its_first_bytes),
		cmocka_unit_test(a_dump_of_garbage_shows_each_byte_once),
		cmocka_unit_test(a_real_recording_reads_as_perf_reads_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
