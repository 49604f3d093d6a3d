/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "event/text.h"

struct printing_sink {
	struct event_sink sink;
	struct buf out;
	int n, refuse_after;
};

static int print_event(struct event_sink *sink, const struct event *event)
{
	struct printing_sink *p = (struct printing_sink *)sink;

	event_format(&p->out, event);
	return ++p->n == p->refuse_after ? -ECANCELED : 0;
}

static const char every_type[] =
	"0.000000000 cpu0 41/41 comm exec name=\"a \\\"b\\\\\"\n"
	"0.000010000 cpu0 41/41 mmap start=0x401000 size=0x1000 off=0x1000 build-id=00ff "
	"path=\"/bin/with blank\"\n"
	"0.000010001 cpu0 41/41 mmap start=0x7f0000 size=0x1000 off=0x0 dev=8 ino=77 data "
	"path=\"/x\"\n"
	"1.001000000 cpu1 41/42 sample counter=0 mode=user period=1003009 ip=0x401136 "
	"user=0x401200,0x7f00\n"
	"1.002000000 cpu1 41/42 sample counter=2 mode=kernel period=1 ip=0xffffffff81000010 cut "
	"kernel=0xffffffff81000200 user=0x401136\n"
	"2.003000000 cpu1 43/43 fork parent=41/42\n"
	"2.003000001 cpu1 -1/-1 ksymbol start=0xffffffffc0001000 size=0x80 bpf gone name=\"prog\"\n"
	"2.003000002 cpu1 -1/-1 throttle counter=1 end\n"
	"2.004000000 cpu1 43/43 exit\n"
	"2.004000001 cpu1 43/43 switch other=41/42 out preempted\n"
	"2.004000002 cpu1 41/42 switch other=-1/-1\n"
	"2.004000003 cpu1 41/42 aux counter=1 off=0x1000 size=0x80 flags=0x1\n"
	"2.004000004 cpu1 41/42 aux-id counter=1 off=0x7 size=0x0 flags=0x0\n"
	"2.004000005 cpu1 41/42 itrace-start\n"
	"2.004000006 cpu1 41/42 namespaces links=0x4,0xf0000001,0x4,0xf0000002\n"
	"2.004000007 cpu1 -1/-1 cgroup n=17 path=\"/system.slice\"\n"
	"2.004000008 cpu1 -1/-1 bpf-program n=9 gone tag=0011223344556677\n"
	"2.004000009 cpu1 -1/-1 text-poke start=0xffffffff81000000 old=0f1f new=e801\n"
	"12.005000000 cpu0 -1/-1 lost counter=0 n=17\n"
	"12.005000000 cpu0 -1/-1 lost-samples counter=1 n=3\n";

static void every_type_comes_back_as_it_was_written(void **state)
{
	struct printing_sink p = { .sink = { print_event } };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(event_parse_text(every_type, &p.sink, &err), 0);
	assert_string_equal(buf_cstr(&p.out), every_type);
	buf_fini(&p.out);
}

static void comments_and_empty_lines_say_nothing(void **state)
{
	struct printing_sink p = { .sink = { print_event } };

	(void)state;
	assert_int_equal(event_parse_text("\n# a comment\n   \n1.5 cpu0 1/1 exit # end\n", &p.sink,
					  NULL),
			 0);
	assert_string_equal(buf_cstr(&p.out), "1.500000000 cpu0 1/1 exit\n");
	buf_fini(&p.out);
}

static void an_error_names_the_line_and_the_word(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "\n1.0 cpu0 1/1 nonsense\n", "line 2: 'nonsense' is not understood" },
		{ "1.0 cpu0 1/1 sample ip=zz", "line 1: 'ip' is not understood" },
		{ "1.0 cpu0 1/1 sample mode=odd", "line 1: 'mode' is not understood" },
		{ "1.0 cpu0 1/1 comm name", "line 1: 'name' is not understood" },
		{ "1.0 cpu0", "line 1: TIME cpuN PID/TID TYPE expected" },
		{ "x cpu0 1/1 exit", "line 1: 'x' is not understood" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct printing_sink p = { .sink = { print_event } };
		struct error err = { 0 };

		assert_int_equal(event_parse_text(cases[i].text, &p.sink, &err), -EINVAL);
		assert_string_equal(err.text, cases[i].message);
		assert_int_equal(p.n, 0);
		buf_fini(&p.out);
	}
}

static void a_sink_that_refuses_ends_it(void **state)
{
	struct printing_sink p = { .sink = { print_event }, .refuse_after = 2 };

	(void)state;
	assert_int_equal(event_parse_text(every_type, &p.sink, NULL), -ECANCELED);
	assert_int_equal(p.n, 2);
	buf_fini(&p.out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_type_comes_back_as_it_was_written),
		cmocka_unit_test(comments_and_empty_lines_say_nothing),
		cmocka_unit_test(an_error_names_the_line_and_the_word),
		cmocka_unit_test(a_sink_that_refuses_ends_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
