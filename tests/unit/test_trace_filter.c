/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address filters: their words, their symbols, and the limits of a PMU. */
#include "trace/trace_filter.h"

#include <errno.h>

#include "base/error.h"
#include "counter/address_filter.h"
#include "counter/counter.h"
#include "scratch.h"
#include "symbol/function_names.h"

#define PMU_DIR "sys/bus/event_source/devices/intel_pt"

static const struct counter_sources fake = { .sysfs = "sys" };
static const struct trace_filter_config config = { .pmu = "intel_pt",
						   .sources = &fake,
						   .kallsyms = "kallsyms" };

static int make_machine(void **state)
{
	(void)state;
	file_mkdirs(PMU_DIR, 0700, NULL);
	write_file(PMU_DIR "/type", "8\n");
	write_file(PMU_DIR "/nr_addr_filters", "2\n");
	write_file("kallsyms", "ffffffff81000000 T _text\n"
			       "ffffffff81000100 T do_exit\n"
			       "ffffffff81000180 t helper\n"
			       "ffffffff810001c0 t helper\n"
			       "ffffffff81000200 T helper\n"
			       "ffffffff81000240 T last_one\n"
			       "ffffffff81000300 D data\n");
	return 0;
}

static void assert_kernel_text(const char *text, const char *expected)
{
	struct buf out = { 0 };
	struct error err = { 0 };

	if (trace_filter_resolve(&config, text, &out, &err) < 0)
		fail_msg("'%s': %s", text, err.text);
	assert_string_equal(buf_cstr(&out), expected);
	buf_fini(&out);
}

static void assert_refused(const char *text, int code, const char *why)
{
	struct buf out = { 0 };
	struct error err = { 0 };
	int r = trace_filter_resolve(&config, text, &out, &err);

	if (r != code || !strstr(err.text, why))
		fail_msg("'%s': %d '%s', expected %d '%s'", text, r, err.text, code, why);
	assert_int_equal(out.len, 0);
}

static void words_become_filters(void **state)
{
	struct address_filters f = { 0 };

	(void)state;
	assert_int_equal(address_filters_parse("filter main / end #2 @/bin/a,stop 0x40@b\t"
					       "tracestop * @c",
					       &f, NULL),
			 0);
	assert_int_equal(f.n, 3);
	assert_int_equal(f.data[0].action, ADDRESS_FILTER);
	assert_string_equal(f.data[0].start.symbol, "main");
	assert_int_equal(f.data[0].start.pick, PICK_ONLY);
	assert_string_equal(f.data[0].size.symbol, "end");
	assert_int_equal(f.data[0].size.pick, 2);
	assert_string_equal(f.data[0].file, "/bin/a");
	assert_int_equal(f.data[1].action, ADDRESS_STOP);
	assert_int_equal(f.data[1].start.number, 0x40);
	assert_string_equal(f.data[1].file, "b");
	assert_int_equal(f.data[2].action, ADDRESS_TRACESTOP);
	assert_true(f.data[2].is_all);
	address_filters_fini(&f);
	assert_true(address_filter_is_one(" tracestop x"));
	assert_false(address_filter_is_one("prev_pid == 4"));
}

static void bad_words_are_named(void **state)
{
	(void)state;
	assert_refused("", -EINVAL, "one of filter, start, stop, tracestop is missing");
	assert_refused("filtr main", -EINVAL, "expected where 'filtr' is");
	assert_refused("filter", -EINVAL, "an address or a symbol is missing");
	assert_refused("filter do_exit / ", -EINVAL, "a size or a symbol is missing");
	assert_refused("filter 0x10", -EINVAL, "filter is a region: give its size");
	assert_refused("filter 0x10/0", -EINVAL, "no size");
	assert_refused("filter 12zz", -EINVAL, "where '12zz' is");
	assert_refused("filter 0x99999999999999999/4", -EINVAL, "an address or a symbol");
	assert_refused("filter main @", -EINVAL, "the name of a file");
	assert_refused("filter helper #x", -EINVAL, "a number or g behind '#'");
	assert_refused("start do_exit / 0x40", -EINVAL, "takes no size");
	assert_refused("stop * @/bin/true", -EINVAL, "takes one address");
	assert_refused("filter * / 4", -EINVAL, "no size behind '*'");
}

static void symbols_of_the_kernel_are_its_addresses(void **state)
{
	(void)state;
	assert_kernel_text("filter do_exit", "filter 0xffffffff81000100/0x80");
	assert_kernel_text("filter do_exit / last_one", "filter 0xffffffff81000100/0x200");
	assert_kernel_text("tracestop do_exit / 0x10, filter 0xffffffff81000000/0x40",
			   "stop 0xffffffff81000100/0x10,filter 0xffffffff81000000/0x40");
	assert_kernel_text("filter *", "filter 0xffffffff81000000/0x300");
}

static void one_of_a_name_is_picked(void **state)
{
	(void)state;
	assert_kernel_text("filter helper #1", "filter 0xffffffff81000180/0x40");
	assert_kernel_text("filter helper #2 / 0x8", "filter 0xffffffff810001c0/0x8");
	assert_kernel_text("filter helper #g", "filter 0xffffffff81000200/0x40");
	assert_kernel_text("filter helper #G", "filter 0xffffffff81000200/0x40");
	assert_kernel_text("filter helper #0", "filter 0xffffffff81000200/0x40");
	assert_refused("filter helper", -ENOTUNIQ,
		       "there is more than one 'helper' in the kernel: #1 at 0xffffffff81000180 "
		       "(local), #2 at 0xffffffff810001c0 (local), #3 at 0xffffffff81000200 "
		       "(global)");
	assert_refused("filter helper #4", -ENOTUNIQ, "there are not so many 'helper'");
}

static void a_name_that_is_not_there_has_neighbours(void **state)
{
	(void)state;
	assert_refused("filter do_exut", -ENOENT,
		       "no function 'do_exut' in the kernel; nearest: do_exit");
	assert_refused("filter last_one / do_exit", -EINVAL, "'do_exit' is before it");
	assert_refused("filter x @/nowhere", -ENOENT, "/nowhere");
	assert_refused("filter x @kallsyms", -EINVAL, "kallsyms");
}

static void hidden_addresses_of_the_kernel_are_reported(void **state)
{
	struct trace_filter_config hidden = config;
	struct buf out = { 0 };
	struct error err = { 0 };

	(void)state;
	write_file("hidden", "0000000000000000 T _text\n0000000000000000 T do_exit\n");
	hidden.kallsyms = "hidden";
	assert_int_equal(trace_filter_resolve(&hidden, "filter do_exit", &out, &err), -EACCES);
	assert_non_null(strstr(err.text, "kptr_restrict"));
}

static void symbols_of_a_file_are_offsets_in_it(void **state)
{
	cleanup(function_names_free_at_exit) struct function_names *names = NULL;
	struct function_name f;
	struct buf out = { 0 };
	struct error err = { 0 };
	cleanup(free_at_exit) char *expected = NULL;

	(void)state;
	write_file("a.c",
		   "int work(int n) { return n * 3; }\nint main(void) { return work(1); }\n");
	need_command("cc -O0 -o a.out a.c");
	assert_int_equal(function_names_of_file("a.out", &names, NULL), 0);
	assert_int_equal(function_names_find(names, "work", PICK_GLOBAL, &f, NULL), 0);
	assert_true(f.is_global && f.size > 4 && f.start > 0x40);
	assert_int_equal(trace_filter_resolve(&config, "filter work @a.out", &out, &err), 0);
	expected = xasprintf("filter 0x%jx/0x%jx@%s/a.out", (uintmax_t)f.start, (uintmax_t)f.size,
			     scratch_dir);
	assert_string_equal(buf_cstr(&out), expected);
	out.len = 0;
	assert_int_equal(trace_filter_resolve(&config, "filter * @./a.out", &out, &err), 0);
	assert_non_null(strstr(buf_cstr(&out), "filter 0x0/0x"));
	buf_fini(&out);
	assert_int_equal(function_names_find(names, "wrok", PICK_ONLY, &f, &err), -ENOENT);
	assert_non_null(strstr(err.text, "nearest: work"));
}

static void names_of_cpp_are_as_they_are_read(void **state)
{
	cleanup(function_names_free_at_exit) struct function_names *names = NULL;
	struct function_name f;
	struct error err = { 0 };

	(void)state;
	write_file("b.cc",
		   "namespace shop { int find(int n) { return n; } int find(long n) { return "
		   "(int)n; } int sell() { return 1; } }\n"
		   "int main() { return shop::find(1) + shop::find(1L) + shop::sell(); }\n");
	need_command("c++ -O0 -o b.out b.cc");
	assert_int_equal(function_names_of_file("b.out", &names, NULL), 0);
	assert_int_equal(function_names_find(names, "_ZN4shop4findEl", PICK_ONLY, &f, NULL), 0);
	assert_int_equal(function_names_find(names, "shop::sell", PICK_ONLY, &f, &err), 0);
	assert_int_equal(function_names_find(names, "shop::find(int)", PICK_ONLY, &f, &err), 0);
	assert_string_equal(f.name, "_ZN4shop4findEi");
	assert_int_equal(function_names_find(names, "shop::find", PICK_ONLY, &f, &err), -ENOTUNIQ);
	assert_int_equal(function_names_find(names, "shop::fnd", PICK_ONLY, &f, &err), -ENOENT);
	assert_non_null(strstr(err.text, "shop::find"));
}

static void the_pmu_takes_as_many_as_it_has_registers(void **state)
{
	(void)state;
	assert_refused("filter do_exit, filter last_one, tracestop helper #1", -E2BIG,
		       "3 address filters, and intel_pt has registers for 2");
	assert_refused("start do_exit", -EOPNOTSUPP, "filters by regions: 'start'");
	assert_refused("stop do_exit", -EOPNOTSUPP, "use filter or tracestop");
	write_file(PMU_DIR "/nr_addr_filters", "0\n");
	assert_refused("filter do_exit", -EOPNOTSUPP, "no address filters on this processor");
	write_file(PMU_DIR "/nr_addr_filters", "2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_become_filters),
		cmocka_unit_test(bad_words_are_named),
		cmocka_unit_test(symbols_of_the_kernel_are_its_addresses),
		cmocka_unit_test(one_of_a_name_is_picked),
		cmocka_unit_test(a_name_that_is_not_there_has_neighbours),
		cmocka_unit_test(hidden_addresses_of_the_kernel_are_reported),
		cmocka_unit_test(symbols_of_a_file_are_offsets_in_it),
		cmocka_unit_test(names_of_cpp_are_as_they_are_read),
		cmocka_unit_test(the_pmu_takes_as_many_as_it_has_registers),
	};

	return cmocka_run_group_tests(tests, make_machine, NULL);
}
