/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `assay script`: every field that text has is in JSON, too, under the key of its row. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "config.h"
#include "perfdata/tracepoint.h"
#include "pt/synth_raw.h"
#include "script/script.h"
#include "symbol/disasm.h"
#include "symbol/symbols.h"

/* Its twelfth line says so. */
static char source_path[] = "/tmp/assay-test-source.XXXXXX";

static int write_source(void **state)
{
	int fd = mkstemp(source_path);

	(void)state;
	return fd < 0 || dprintf(fd, "\n\n\n\n\n\n\n\n\n\n\nthe twelfth line\nthe last") < 0 ||
	       close(fd) < 0;
}

static int remove_source(void **state)
{
	(void)state;
	return unlink(source_path);
}

static const struct image program = { .kind = IMAGE_NAMED, .path = "program" };

static const struct image *image_of(const void *context, image_id id)
{
	(void)context;
	(void)id;
	return &program;
}

static void names_of(const void *context, image_id id,
		     void (*visit)(void *visitor, const struct given_symbol *symbol), void *visitor)
{
	struct given_symbol function = { 0x1000, 0x100, "function", 0 };
	struct given_symbol line = { 0x1000, 0x100, source_path, 12 };

	(void)context;
	(void)id;
	visit(visitor, &function);
	visit(visitor, &line);
}

static struct code_addr resolve(const void *context, uint64_t addr)
{
	(void)context;
	return (struct code_addr){ { 1 }, addr };
}

static const char trace_format[] = "name: probe\nID: 1\nformat:\n"
				   "\tfield:int number;\toffset:0;\tsize:4;\tsigned:1;\n\n"
				   "print fmt: \"number=%d\", REC->number\n";

/* The text of one row, with one field. */
static void print(const struct script_row *row, enum script_field field, bool is_json,
		  struct buf *out)
{
	const struct symbolizer_config config = { .cache_dir = "" };
	struct symbolizer *symbols = symbolizer_new(&config);
	struct script_places_config places = { .symbolizer = symbols,
					       .image = image_of,
					       .names = names_of };
	struct script_options options = {
		.is_json = is_json,
		.is_trace = true,
		.max_stack = 8,
		.has_wall_clock = true,
		.wall_ns = 1000000000000000000ULL,
	};
	struct script_printer *p = xcalloc(1, sizeof(*p));

	for (size_t i = 0; i < SCRIPT_TYPES; i++)
		options.fields.of_type[i] = (uint64_t)1 << field;
	options.fields.is_set = true;
	p->options = &options;
	p->places = script_places_new(&places);
	if (is_json)
		script_print_json(p, row);
	else
		script_print_text(p, row);
	buf_bytes(out, p->out.data, p->out.len);
	buf_fini(&p->out);
	script_places_free(p->places);
	disassembler_close(p->disassemblers[0]);
	disassembler_close(p->disassemblers[1]);
	symbolizer_free(symbols);
	free(p);
}

/* A branch, a tracepoint's sample and a trace's event, each with all that there is of it. */
static bool has_field(enum script_field field, bool is_json, const char *wanted)
{
	static const struct branch branch = { 0x1010, 0x1020, 1 };
	static const uint8_t raw[32] = { 7 };
	static const uint64_t addr[1] = { 0x1010 };
	static const struct code_addr code[1] = { { { 1 }, 0x1010 } };
	uint64_t value = 5;
	struct sample_extra extra = {
		.addr = 0x1020,
		.phys_addr = 2,
		.data_src = 3,
		.weight = 4,
		.latency = 4,
		.transaction = 5,
		.data_page_size = 4096,
		.code_page_size = 4096,
		.branches = &branch,
		.n_branches = 1,
		.user = { .abi = 2, .mask = 1, .values = &value, .n_values = 1 },
		.interrupted = { .abi = 2, .mask = 1, .values = &value, .n_values = 1 },
		.raw = raw,
		.raw_size = sizeof(raw),
		.flags = 3,
		.depth = 1,
		.insns = 8,
		.cycles = 9,
		.machine_pid = 77,
		.vcpu = 3,
		.insn_size = 1,
		.insn = { 0x90 },
	};
	struct perf_event_attr attrs[] = {
		{ .type = PERF_TYPE_HARDWARE,
		  .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
		  .sample_period = 1 },
		{ .type = PERF_TYPE_TRACEPOINT },
		{ .type = PT_SYNTH_TYPE, .config = PT_SYNTH_CBR },
		{ .type = PERF_TYPE_RAW },
		{ .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_BPF_OUTPUT },
	};
	struct tracepoint_format *trace =
		tracepoint_new(trace_format, sizeof(trace_format) - 1, false);
	struct buf out = { 0 };
	bool is_there = false;

	for (size_t i = 0; i < ARRAY_SIZE(attrs); i++) {
		struct script_row row = {
			.comm = "worker",
			.event = "probe",
			.cgroup = "/group",
			.attr = &attrs[i],
			.pid = 12,
			.tid = 13,
			.cpu = 1,
			.time_ns = 5,
			.period = 6,
			.samples = 1,
			.mode = MODE_USER,
			.extra = &extra,
			.code = code,
			.addr = addr,
			.n_frames = 1,
			.trace = attrs[i].type == PERF_TYPE_TRACEPOINT ? trace : NULL,
			.resolve = resolve,
		};

		attrs[i].sample_type = ~(uint64_t)PERF_SAMPLE_CALLCHAIN;
		out.len = 0;
		print(&row, field, is_json, &out);
		is_there |= strstr(buf_cstr(&out), wanted) != NULL;
	}
	tracepoint_free(trace);
	buf_fini(&out);
	return is_there;
}

/* perf 6.1's bytes: lines of eight, and the text if all of it is one. */
static void the_output_of_bpf_is_perfs(void **state)
{
	struct buf out = { 0 };

	(void)state;
	script_put_bpf_output(&out, (const uint8_t *)"Raise a BPF\0\0", 13);
	assert_string_equal(buf_cstr(&out),
			    "\n      BPF output: 0000: 52 61 69 73 65 20 61 20  Raise a \n"
			    "                  0008: 42 50 46 00 00           BPF..   \n"
			    "      BPF string: \"Raise a BPF\"\n");
	out.len = 0;
	/* a number is no text, and neither is one that goes on behind its end */
	script_put_bpf_output(&out, (const uint8_t *)"\1a", 2);
	script_put_bpf_output(&out, (const uint8_t *)"a\0b", 4);
	assert_null(strstr(buf_cstr(&out), "BPF string"));
	buf_fini(&out);
}

static void every_field_of_text_is_in_json(void **state)
{
	(void)state;
	for (int i = 0; i < N_SCRIPT_FIELDS; i++) {
		const struct script_field_row *row = &script_field_rows[i];
		char key[64];

		assert_true(*row->json_key);
		snprintf(key, sizeof(key), "\"%s\":", row->json_key);
		if (!has_field((enum script_field)i, true, key))
			fail_msg("JSON has no %s for the field '%s'", key, row->name);
	}
}

/* sym, symoff, dso and srcline stand behind an address. */
static bool needs_address(enum script_field field)
{
	return field == FIELD_SYM || field == FIELD_SYMOFF || field == FIELD_DSO ||
	       field == FIELD_SRCLINE;
}

/* A line of text that has the field is another than the line of no field. */
static void every_field_is_in_text(void **state)
{
	static const char *const values[N_SCRIPT_FIELDS] = {
		[FIELD_COMM] = "worker",
		[FIELD_PID] = "12",
		[FIELD_TID] = "13",
		[FIELD_CPU] = "[001]",
		[FIELD_MISC] = "U",
		[FIELD_TOD] = "20", /* of the year */
		[FIELD_TIME] = "0.000000",
		[FIELD_SAMPLES] = "1 sample",
		[FIELD_PERIOD] = "6",
		[FIELD_EVENT] = "probe",
		[FIELD_FLAGS] = "call",
		[FIELD_CALLINDENT] = "function",
		[FIELD_SYNTH] = "cbr",
		[FIELD_TRACE] = "number=7",
		[FIELD_ADDR] = "1020",
		[FIELD_DATA_SRC] = "3",
		[FIELD_WEIGHT] = "4",
		[FIELD_IP] = "1010",
		[FIELD_IREGS] = "ABI:2",
		[FIELD_UREGS] = "ABI:2",
		[FIELD_BRSTACK] = "0x1010/0x1020",
		[FIELD_BRSTACKSYM] = "function+0x10/function+0x20",
		[FIELD_BRSTACKOFF] = "0x1010/0x1020",
		[FIELD_INSN] = "90",
		[FIELD_DISASM] = "nop",
		[FIELD_IPC] = "IPC",
		[FIELD_PHYS_ADDR] = "2",
		[FIELD_DATA_PAGE_SIZE] = "4K",
		[FIELD_CODE_PAGE_SIZE] = "4K",
		[FIELD_CGROUP] = "/group",
		[FIELD_TRANSACTION] = "transaction=0x5",
		[FIELD_INSNLEN] = "ilen: 1",
		[FIELD_BPF_OUTPUT] = "BPF output: 0000: 07 00 00 00",
		[FIELD_MACHINE_PID] = "VM:   77 ",
		[FIELD_VCPU] = "VCPU:003 ",
		[FIELD_SRCCODE] = "|12       the twelfth line\n",
	};

	(void)state;
	for (int i = 0; i < N_SCRIPT_FIELDS; i++) {
		if (needs_address((enum script_field)i))
			continue;
#ifndef HAVE_ZYDIS
		if (i == FIELD_DISASM)
			continue;
#endif
		assert_non_null(values[i]); /* a new field needs a value here */
		if (!has_field((enum script_field)i, false, values[i]))
			fail_msg("text has no '%s' for the field '%s'", values[i],
				 script_field_rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_of_text_is_in_json),
		cmocka_unit_test(every_field_is_in_text),
		cmocka_unit_test(the_output_of_bpf_is_perfs),
	};

	return cmocka_run_group_tests(tests, write_source, remove_source);
}
