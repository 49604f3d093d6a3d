/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Texts of other tools: the meaning of their lines, and the counts of lines without a meaning. */
#include "foreign/foreign.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "foreign/folded.h"
#include "foreign/perf_script.h"
#include "foreign/sniff.h"
#include "unit.h"

struct printing_sink {
	struct foreign_sink sink;
	struct buf text;
};

static void put(struct buf *out, struct slice s)
{
	if (s.len)
		buf_bytes(out, s.at, s.len);
}

/* "comm|pid/tid|cpu|time|event|unit|samples|period" and " <symbol+off@image#k=file:line" a frame.
 */
static int print(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct buf *out = &((struct printing_sink *)sink)->text;

	put(out, s->comm);
	buf_printf(out, "|%d/%d|%u|%" PRIu64 "|", s->pid, s->tid, s->cpu, s->time_ns);
	put(out, s->event);
	buf_str(out, "|");
	put(out, s->unit);
	buf_printf(out, "|%" PRIu64 "|%" PRIu64, s->samples, s->period);
	for (uint32_t i = 0; i < s->n_frames; i++) {
		const struct foreign_frame *f = &s->frames[i];

		buf_str(out, " <");
		put(out, f->symbol);
		buf_printf(out, "+%" PRIx64 "@", f->symbol_off);
		put(out, f->image);
		if (f->is_kernel)
			buf_str(out, "#k");
		if (f->line) {
			buf_str(out, "=");
			put(out, f->file);
			buf_printf(out, ":%u", f->line);
		}
	}
	buf_str(out, "\n");
	return 0;
}

typedef int text_reader(struct slice, struct foreign_sink *, struct foreign_facts *);

static struct foreign_facts check_text(text_reader *read, const char *text, const char *want)
{
	struct printing_sink sink = { { print }, { 0 } };
	struct foreign_facts facts = { 0 };

	assert_int_equal(read(slice_of(text), &sink.sink, &facts), 0);
	assert_string_equal(buf_cstr(&sink.text), want);
	buf_fini(&sink.text);
	return facts;
}

static void check_clean(text_reader *read, const char *text, const char *want)
{
	struct foreign_facts facts = check_text(read, text, want);

	assert_int_equal(facts.n_bad, 0);
	foreign_facts_fini(&facts);
}

static void the_default_output_of_perf_script_is_read(void **state)
{
	(void)state;
	check_clean(
		perf_script_read,
		"w prog 16457  1301.010568:     250000 cpu-clock:ppp: \n"
		"\t            1156 leaf+0x1d (/tmp/w prog)\n"
		"\tffffffff8158c7b7 do_fault+0x2ec ([kernel.kallsyms])\n"
		"\t               0 [unknown] ([unknown])\n"
		"\n"
		"          w prog 16460  1302.107915:      4000 cycles:u:      7f74 f+0x5c1 "
		"(/lib/ld.so)\n",
		"w prog|16457/16457|0|1301010568000|cpu-clock:ppp|ns|1|250000 <leaf+1d@/tmp/w prog"
		" <do_fault+2ec@[kernel.kallsyms]#k <+0@\n"
		"w prog|16460/16460|0|1302107915000|cycles:u||1|4000 <f+5c1@/lib/ld.so\n");
}

static void a_comm_may_have_blanks_digits_and_look_like_an_address(void **state)
{
	(void)state;
	check_clean(perf_script_read,
		    "my 12 prog 3 [001] 1.000002: 7 cycles: \n"
		    "\t1 f ([vdso])\n"
		    "          dead 44/45 [002] 1.000000001:          1 cycles: \n"
		    "12 34 [000] 1.5 5 6.000000: 9 cycles:  1 g (/bin/a (deleted))\n",
		    "my 12 prog|3/3|1|1000002000|cycles||1|7 <f+0@[vdso]\n"
		    "dead|44/45|2|1000000001|cycles||1|1\n"
		    "12 34 [000] 1.5|5/5|0|6000000000|cycles||1|9 <g+0@/bin/a (deleted)\n");
}

static void fields_may_be_missing(void **state)
{
	(void)state;
	check_clean(perf_script_read,
		    "a 1 cycles: \n\t10 f+0x1 (/b)\n\n"   /* no CPU, time, period */
		    "a 1 [003] 5.000000: \n\t10 f\n\n"    /* no event, no image */
		    "7 5.000000: cycles: \n\t g (/b)\n\n" /* no comm, no address */
		    "a 1 U 5.000000: cycles: 10\n"        /* flags; nothing but an address */
		    ":-1 -1/-1 [000] 5.000000: cycles:  1 f (/b)\n",
		    "a|1/1|0|0|cycles||1|1 <f+1@/b\n"
		    "a|1/1|3|5000000000|samples||1|1 <f+0@\n"
		    "|7/7|0|5000000000|cycles||1|1 <g+0@/b\n"
		    "a|1/1|0|5000000000|cycles||1|1 <+0@\n"
		    ":-1|-1/-1|0|5000000000|cycles||1|1 <f+0@/b\n");
}

static void names_may_have_blanks_and_parentheses(void **state)
{
	(void)state;
	check_clean(
		perf_script_read,
		"a 1 5.000000: cycles: \n"
		"\t10 std::vector<int, std::allocator<int> >::at(unsigned long) const+0x1f (/lib/x "
		"(1)/y)\n"
		"\t11 operator()(int)\n"
		"\t12 in1 (inlined)\n"
		"\t12 out+0x3 (/b)\n",
		"a|1/1|0|5000000000|cycles||1|1"
		" <std::vector<int, std::allocator<int> >::at(unsigned long) const+1f@/lib/x (1)/y"
		" <operator()(int)+0@ <in1+0@/b <out+3@/b\n");
}

static void payloads_and_source_lines_are_distinguished(void **state)
{
	struct foreign_facts facts;

	(void)state;
	facts = check_text(
		perf_script_read,
		"a 1 [000] 5.000000: sched:sched_switch: prev_comm=a prev_pid=1 ==> next_comm=b\n"
		"\tffff8000 schedule+0x1 ([kernel.kallsyms])\n"
		"  core.c:6590\n"
		"  [kernel.kallsyms][ffffffff8158c7b7]\n"
		"\tffff9000 [unknown] ([kernel.kallsyms])\n"
		"  core.c:7\n"
		"  core.c:0\n"
		"\n",
		"a|1/1|0|5000000000|sched:sched_switch||1|1 "
		"<schedule+1@[kernel.kallsyms]#k=core.c:6590"
		" <+0@[kernel.kallsyms]#k\n");
	assert_int_equal(facts.n_bad, 0);
	assert_int_equal(facts.n_extra, 1);
	assert_int_equal(facts.n_lines, 1);
	foreign_facts_fini(&facts);
}

static void headers_have_the_place_and_side_band_has_the_losses(void **state)
{
	struct foreign_facts facts;

	(void)state;
	facts = check_text(
		perf_script_read,
		"# ========\n# hostname : box\n# os release : 6.1\n# nrcpus online : 8\n#\n"
		"a 0 [000] 0.000000: PERF_RECORD_MMAP -1/0: [0x1(0x2) @ 0]: x [k]_text\n"
		"a 0 [000] 1.000000: PERF_RECORD_LOST lost 12\n"
		"a 1 [000] 5.000000: cycles:  1 f (/b)\n",
		"a|1/1|0|5000000000|cycles||1|1 <f+0@/b\n");
	assert_int_equal(facts.n_bad, 0);
	assert_int_equal(facts.lost, 12);
	assert_int_equal(facts.n_cpus, 8);
	assert_string_equal(facts.hostname, "box");
	assert_string_equal(facts.release, "6.1");
	foreign_facts_fini(&facts);
}

static void a_line_that_means_nothing_is_counted_with_its_number(void **state)
{
	struct foreign_facts facts;

	(void)state;
	facts = check_text(perf_script_read,
			   "a 1 5.000000: cycles: \n\t1 f (/b)\n\tno frame \001\n\nnonsense\n",
			   "a|1/1|0|5000000000|cycles||1|1 <f+0@/b\n");
	assert_int_equal(facts.n_bad, 2);
	assert_int_equal(facts.bad_line, 3);
	assert_string_equal(facts.bad_text, "?no frame ?");
	foreign_facts_fini(&facts);
}

static void chains_without_end_are_cut_and_counted(void **state)
{
	struct printing_sink sink = { { print }, { 0 } };
	struct foreign_facts facts = { 0 };
	struct buf text = { 0 };

	(void)state;
	buf_str(&text, "a 1 5.000000: cycles: \n");
	for (int i = 0; i < 3 * FOREIGN_MAX_FRAMES; i++)
		buf_printf(&text, "\t%x f\n", i);
	assert_int_equal(perf_script_read((struct slice){ (char *)text.data, text.len }, &sink.sink,
					  &facts),
			 0);
	assert_int_equal(facts.n_cut, 1);
	text.len = 0;
	for (int i = 0; i < 3 * FOREIGN_MAX_FRAMES; i++)
		buf_str(&text, "f;");
	buf_str(&text, "f 3");
	assert_int_equal(folded_read((struct slice){ (char *)text.data, text.len }, &sink.sink,
				     &facts),
			 0);
	assert_int_equal(facts.n_cut, 2);
	buf_fini(&text);
	buf_fini(&sink.text);
	foreign_facts_fini(&facts);
}

static void folded_stacks_are_read_from_the_inside_out(void **state)
{
	(void)state;
	check_clean(folded_read,
		    "# a comment\n"
		    "main;work(int, char);read_[k] 12\r\n"
		    "ng-11/12;lib`f_[j];[libc.so.6];[unknown] 3\n"
		    "my-comm-7;;f 2\n",
		    "|-1/-1|0|0|samples||12|12 <read+0@[kernel.kallsyms]#k <work(int, char)+0@ "
		    "<main+0@\n"
		    "ng|11/12|0|0|samples||3|3 <+0@ <+0@libc.so.6 <f+0@lib\n"
		    "my-comm|7/7|0|0|samples||2|2 <f+0@\n");
}

static void fractions_are_rounded_without_losing_the_sum(void **state)
{
	struct foreign_facts facts =
		check_text(folded_read, "a 0.4\nb 0.4\nc 0.4\nd 1.8\n",
			   "|-1/-1|0|0|samples||1|1 <b+0@\n|-1/-1|0|0|samples||2|2 <d+0@\n");

	(void)state;
	assert_int_equal(facts.n_rounded, 4);
	foreign_facts_fini(&facts);
}

static void folded_lines_without_a_count_are_counted(void **state)
{
	struct foreign_facts facts =
		check_text(folded_read, "a;b\na;b -3\na;b 99999999999999999999999\n12\na 1\n",
			   "|-1/-1|0|0|samples||1|1 <a+0@\n");

	(void)state;
	assert_int_equal(facts.n_bad, 4);
	assert_int_equal(facts.bad_line, 1);
	foreign_facts_fini(&facts);
}

static void formats_are_distinguished(void **state)
{
	static const struct {
		const char *text;
		enum foreign_format format;
	} rows[] = {
		{ "# hostname : x\n\na 1 5.000000: cycles: \n", FOREIGN_PERF_SCRIPT },
		{ "a;b 1\n", FOREIGN_FOLDED },
		{ "\na b 12.5\n", FOREIGN_FOLDED },
		{ "\x1f\x8b\x08", FOREIGN_GZIP },
		{ "\x0a\x04\x08\x01\x10\x02", FOREIGN_PPROF },
		{ "text\n", FOREIGN_NONE },
		{ "text\nchapter 1\n", FOREIGN_NONE },
		{ "", FOREIGN_NONE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(foreign_sniff(rows[i].text, strlen(rows[i].text), true),
				 rows[i].format);
	/* A line that is cut may be the beginning of anything. */
	assert_int_equal(foreign_sniff("a;b 1", 5, false), FOREIGN_NONE);
	assert_int_equal(foreign_sniff("a;b 1\n\0", 7, true), FOREIGN_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_output_of_perf_script_is_read),
		cmocka_unit_test(a_comm_may_have_blanks_digits_and_look_like_an_address),
		cmocka_unit_test(fields_may_be_missing),
		cmocka_unit_test(names_may_have_blanks_and_parentheses),
		cmocka_unit_test(payloads_and_source_lines_are_distinguished),
		cmocka_unit_test(headers_have_the_place_and_side_band_has_the_losses),
		cmocka_unit_test(a_line_that_means_nothing_is_counted_with_its_number),
		cmocka_unit_test(chains_without_end_are_cut_and_counted),
		cmocka_unit_test(folded_stacks_are_read_from_the_inside_out),
		cmocka_unit_test(fractions_are_rounded_without_losing_the_sum),
		cmocka_unit_test(folded_lines_without_a_count_are_counted),
		cmocka_unit_test(formats_are_distinguished),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
