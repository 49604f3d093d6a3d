/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/options.h"

struct args {
	bool flag, kept;
	int verbose;
	const char *output, *format, *graph;
	struct option_list events;
	uint64_t freq, size, any;
	double threshold, duration;
};

#define FIELD(f) offsetof(struct args, f)
static const struct option_spec rows[] = {
	{ 'a', "all", NULL, OPT_FLAG, FIELD(flag) },
	{ 0, "no-keep", NULL, OPT_NEGATE, FIELD(kept) },
	{ 'v', "verbose", NULL, OPT_COUNT, FIELD(verbose) },
	{ 'o', "output", "DIR", OPT_STRING, FIELD(output), "assay.data" },
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(events) },
	{ 'F', "freq", "HZ", OPT_U64, FIELD(freq), "997", .min = 1, .max = 1e6 },
	{ 0, "any", "N", OPT_U64, FIELD(any) },
	{ 'm', "size", "BYTES", OPT_SIZE, FIELD(size) },
	{ 't', "threshold", "PERCENT", OPT_DOUBLE, FIELD(threshold), .min = 0, .max = 100 },
	{ 'd', "duration", "S", OPT_SECONDS, FIELD(duration), .min = 0, .max = 1e9 },
	{ 0, "format", "F", OPT_CHOICE, FIELD(format), "text", .choices = "text|csv|json" },
	{ 'g', "graph", "HOW", OPT_OPTIONAL, FIELD(graph), .implied = "fp" },
	{ 'q', NULL, "X", OPT_STRING, FIELD(graph) },
};
static const struct option_table table = OPTIONS(rows);

struct parsed {
	struct args args;
	struct option_list operands;
	struct error err;
	int r;
};

#define MAX_ARGS 16

static struct parsed parse_until(bool stop_at_operand, const char *const *words)
{
	struct parsed p = { .args.kept = true };
	char *argv[MAX_ARGS] = { (char *)"record" };
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	p.r = options_parse(&table, stop_at_operand, argc, argv, &p.args, &p.operands, &p.err);
	return p;
}

#define parse(...) parse_until(false, (const char *const[]){ __VA_ARGS__, NULL })

static void drop(struct parsed *p)
{
	option_list_fini(&p->args.events);
	option_list_fini(&p->operands);
}

#define assert_refused(message, ...)                             \
	do {                                                     \
		struct parsed refused_ = parse(__VA_ARGS__);     \
                                                                 \
		assert_int_equal(refused_.r, -EINVAL);           \
		assert_string_equal(refused_.err.text, message); \
		drop(&refused_);                                 \
	} while (0)

static void defaults_are_set_before_anything_is_read(void **state)
{
	struct parsed p = parse("x");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.output, "assay.data");
	assert_string_equal(p.args.format, "text");
	assert_int_equal(p.args.freq, 997);
	assert_null(p.args.graph);
	assert_true(p.args.kept && !p.args.flag);
	drop(&p);
}

static void values_may_stand_in_every_gnu_way(void **state)
{
	static const char *const ways[][3] = {
		{ "-ofile" },           { "-o", "file" }, { "--output=file" },
		{ "--output", "file" }, { "--out=file" }, { "-avofile" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++) {
		struct parsed p = parse_until(false, ways[i]);

		assert_int_equal(p.r, 0);
		assert_string_equal(p.args.output, "file");
		assert_int_equal(p.operands.n, 0);
		drop(&p);
	}
}

static void lists_keep_their_order_and_strings_their_last(void **state)
{
	struct parsed p = parse("-e", "b", "-o1", "--event=a", "-o2", "-vv", "-v");

	(void)state;
	assert_int_equal(p.args.events.n, 2);
	assert_string_equal(p.args.events.data[0], "b");
	assert_string_equal(p.args.events.data[1], "a");
	assert_string_equal(p.args.output, "2");
	assert_int_equal(p.args.verbose, 3);
	drop(&p);
}

static void an_empty_value_is_a_value(void **state)
{
	struct parsed p = parse("--output=", "-o", "");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_string_equal(p.args.output, "");
	drop(&p);
}

static void an_optional_value_is_only_taken_attached(void **state)
{
	struct parsed p = parse("-g", "fp2");

	(void)state;
	assert_string_equal(p.args.graph, "fp");
	assert_string_equal(p.operands.data[0], "fp2");
	drop(&p);
	p = parse("-gdwarf");
	assert_string_equal(p.args.graph, "dwarf");
	drop(&p);
	p = parse("--graph=none", "--no-keep");
	assert_string_equal(p.args.graph, "none");
	assert_false(p.args.kept);
	drop(&p);
}

static void options_end_at_two_dashes_or_the_command(void **state)
{
	struct parsed p = parse("a", "-a", "--", "-v", "--", "-");

	(void)state;
	assert_true(p.args.flag && p.args.verbose == 0);
	assert_int_equal(p.operands.n, 4);
	assert_string_equal(p.operands.data[1], "-v");
	assert_string_equal(p.operands.data[2], "--");
	drop(&p);
	p = parse_until(true, (const char *const[]){ "-a", "ls", "-v", "--", NULL });
	assert_true(p.args.flag && p.args.verbose == 0);
	assert_int_equal(p.operands.n, 3);
	assert_string_equal(p.operands.data[2], "--");
	drop(&p);
}

static void help_is_asked_for_by_letter_or_name(void **state)
{
	struct parsed p = parse("-ah");

	(void)state;
	assert_int_equal(p.r, 1);
	drop(&p);
	p = parse("--help", "--nonsense");
	assert_int_equal(p.r, 1);
	drop(&p);
	p = parse("--", "--help");
	assert_int_equal(p.r, 0);
	drop(&p);
}

static void numbers_have_suffixes_of_their_kind(void **state)
{
	struct parsed p = parse("-F2k", "-m", "1.5M", "-t", ".5", "-d", "250ms");

	(void)state;
	assert_int_equal(p.r, 0);
	assert_int_equal(p.args.freq, 2000);
	assert_int_equal(p.args.size, 1572864);
	assert_true(p.args.threshold == 0.5 && p.args.duration == 0.25);
	drop(&p);
	p = parse("-d2m", "-m", "1G");
	assert_true(p.args.duration == 120 && p.args.size == 1073741824);
	drop(&p);
}

static void whole_numbers_keep_all_their_digits(void **state)
{
	struct parsed p = parse("--any=9007199254740993");

	(void)state;
	assert_true(p.args.any == 9007199254740993ULL);
	drop(&p);
	p = parse("--any=18446744073709551615");
	assert_true(p.args.any == UINT64_MAX);
	drop(&p);
	p = parse("--any=0x10");
	assert_true(p.args.any == 16);
	drop(&p);
	assert_refused("--any: '18446744073709551616' is not a valid N",
		       "--any=18446744073709551616");
	assert_refused("--any: '18446744073709551615k' is not a valid N",
		       "--any=18446744073709551615k");
}

static void wrong_numbers_are_errors_with_the_allowed_range(void **state)
{
	(void)state;
	assert_refused("--freq: '0' is not a number from 1 to 1000000", "-F0");
	assert_refused("--freq: '1000001' is not a number from 1 to 1000000", "-F", "1000001");
	assert_refused("--freq: '-5' is not a number from 1 to 1000000", "-F", "-5");
	assert_refused("--freq: '1.5' is not a number from 1 to 1000000", "-F1.5");
	assert_refused("--freq: 'fast' is not a number from 1 to 1000000", "--freq=fast");
	assert_refused("--freq: '' is not a number from 1 to 1000000", "--freq=");
	assert_refused("--freq: '5 Hz' is not a number from 1 to 1000000", "--freq=5 Hz");
	assert_refused("--threshold: 'nan' is not a number from 0 to 100", "-t", "nan");
	assert_refused("--duration: '1y' is not a time from 0s to 1000000000s", "-d1y");
	assert_refused("--any: '-1' is not a valid N", "--any", "-1");
	assert_refused("--size: '1T' is not a valid BYTES", "-m1T");
}

static void a_choice_is_one_of_its_words(void **state)
{
	struct parsed p = parse("--format", "json");

	(void)state;
	assert_string_equal(p.args.format, "json");
	drop(&p);
	assert_refused("--format: 'xml' is not one of text|csv|json", "--format=xml");
	assert_refused("--format: 'js' is not one of text|csv|json", "--format=js");
	assert_refused("--format: '' is not one of text|csv|json", "--format=");
	assert_refused("--format: 'csv|json' is not one of text|csv|json", "--format=csv|json");
}

static void wrong_options_name_themselves(void **state)
{
	(void)state;
	assert_refused("unknown option --nonsense", "--nonsense=3");
	assert_refused("unknown option -z", "-az");
	assert_refused("unknown option --", "--=3");
	assert_refused("option --f is ambiguous: --freq or --format", "--f=3");
	assert_refused("option --output needs a value: DIR", "-o");
	assert_refused("option --output needs a value: DIR", "--output");
	assert_refused("option -q needs a value: X", "-q");
	assert_refused("option --all takes no value", "--all=yes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_set_before_anything_is_read),
		cmocka_unit_test(values_may_stand_in_every_gnu_way),
		cmocka_unit_test(lists_keep_their_order_and_strings_their_last),
		cmocka_unit_test(an_empty_value_is_a_value),
		cmocka_unit_test(an_optional_value_is_only_taken_attached),
		cmocka_unit_test(options_end_at_two_dashes_or_the_command),
		cmocka_unit_test(help_is_asked_for_by_letter_or_name),
		cmocka_unit_test(numbers_have_suffixes_of_their_kind),
		cmocka_unit_test(whole_numbers_keep_all_their_digits),
		cmocka_unit_test(wrong_numbers_are_errors_with_the_allowed_range),
		cmocka_unit_test(a_choice_is_one_of_its_words),
		cmocka_unit_test(wrong_options_name_themselves),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
