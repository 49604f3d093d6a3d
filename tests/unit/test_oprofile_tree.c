/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The files of oprofilefs: their contents, the values that can be written, and the effects. */
#include "unit.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "fake_machine.h"
#include "oprofile/fs/oprofile_tree.h"

static struct {
	bool is_enabled, refuses;
	int n_dumps;
	char specs[512];
	struct counters counters;
	struct machine *machine;
	struct oprofile_host host;
	struct oprofile_tree *tree;
} fx;

static int enable(void *context, bool on, struct error *err)
{
	(void)context, (void)err;
	fx.is_enabled = on;
	return 0;
}

static bool is_enabled(void *context)
{
	(void)context;
	return fx.is_enabled;
}

static int dump(void *context, struct error *err)
{
	(void)context, (void)err;
	fx.n_dumps++;
	return 0;
}

/* Sets the events, as the daemon does. */
static int set_events(void *context, const char *const *specs, size_t n, struct error *err)
{
	const struct counter_rate rate = { .freq_hz = 49 };
	struct counters counters = { 0 };

	(void)context;
	*fx.specs = '\0';
	for (size_t i = 0; i < n; i++)
		snprintf(fx.specs + strlen(fx.specs), sizeof(fx.specs) - strlen(fx.specs), "%s%s",
			 i ? " " : "", specs[i]);
	for (size_t i = 0; i < n; i++) {
		int r = counter_parse(&fx.machine->sources, specs[i], &rate, &counters, err);

		if (r < 0) {
			counters_fini(&counters);
			return r;
		}
	}
	counters_fini(&fx.counters);
	fx.counters = counters;
	return 0;
}

static const struct counters *counters_now(void *context)
{
	(void)context;
	return &fx.counters;
}

static void stats(void *context, struct oprofile_stats *out)
{
	static const uint64_t cpu_samples[] = { 5, 7 }, cpu_losses[] = { 4, 9 };

	(void)context;
	*out = (struct oprofile_stats){ .sample_received = 12,
					.sample_lost_no_mm = 1,
					.event_lost_overflow = 3,
					.cpu_samples = cpu_samples,
					.cpu_losses = cpu_losses,
					.n_cpus = 2 };
}

static void cookies(void *context, struct buf *out)
{
	(void)context;
	buf_str(out, "7 /bin/true\n");
}

static int setup(void **state)
{
	static const char *const timer[] = { "cpu-clock" };

	if (machine_setup(state) < 0)
		return -1;
	memset(&fx, 0, sizeof(fx));
	fx.machine = *state;
	put(fx.machine, "proc/cpuinfo",
	    "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\n");
	put(fx.machine, "events/x86-64/generic/unit_masks",
	    "name:zero type:mandatory default:0x0\n\t0x0 No unit mask\n"
	    "name:some type:bitmask default:0x3\n\t0x1 one\n\t0x2 two\n");
	put(fx.machine, "events/x86-64/generic/events",
	    "event:0x76 counters:0,1 um:zero minimum:3000 name:CLOCKS : Clocks\n"
	    "event:0x1c0 counters:0,1 um:some minimum:500 name:THINGS : Things\n");
	fx.machine->sources.events = xasprintf("%s/events", fx.machine->root);
	fx.host = (struct oprofile_host){ NULL,  enable,     is_enabled,
					  dump,  set_events, counters_now,
					  stats, cookies,    &fx.machine->sources };
	if (set_events(NULL, timer, 1, NULL) < 0)
		return -1;
	fx.tree = oprofile_tree_new(&fx.host, 2);
	return 0;
}

static int teardown(void **state)
{
	oprofile_tree_free(fx.tree);
	counters_fini(&fx.counters);
	free((char *)(uintptr_t)fx.machine->sources.events);
	return machine_teardown(state);
}

static uint32_t node(const char *path)
{
	char copy[128], *rest = copy;
	uint32_t at = 0;

	snprintf(copy, sizeof(copy), "%s", path);
	for (char *name; (name = strsep(&rest, "/"));)
		if (!oprofile_tree_find(fx.tree, at, name, &at))
			fail_msg("no %s", path);
	return at;
}

static const char *read_node(const char *path)
{
	static char text[512];
	struct buf b = { 0 };

	oprofile_tree_read(fx.tree, node(path), &b);
	snprintf(text, sizeof(text), "%s", buf_cstr(&b));
	buf_fini(&b);
	return text;
}

static int write_node(const char *path, const char *text)
{
	return oprofile_tree_write(fx.tree, node(path), text, strlen(text));
}

static void the_tree_is_that_of_oprofile(void **state)
{
	static const char *const files[] = {
		"enable",
		"dump",
		"buffer",
		"buffer_size",
		"buffer_watershed",
		"cpu_type",
		"cpu_buffer_size",
		"backtrace_depth",
		"pointer_size",
		"0/enabled",
		"0/event",
		"0/count",
		"0/unit_mask",
		"0/kernel",
		"0/user",
		"0/extra",
		"1/enabled",
		"cookies",
		"stats/sample_received",
		"stats/event_lost_overflow",
		"stats/cpu1/sample_received",
	};
	struct oprofile_node n;
	uint32_t at;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_true(oprofile_tree_get(fx.tree, node(files[i]), &n));
		assert_true(S_ISREG(n.mode));
	}
	assert_true(oprofile_tree_get(fx.tree, 0, &n) && S_ISDIR(n.mode));
	assert_true(oprofile_tree_is_buffer(fx.tree, node("buffer")));
	assert_false(oprofile_tree_is_buffer(fx.tree, node("dump")));
	assert_false(oprofile_tree_find(fx.tree, 0, "31", &at));
	assert_false(oprofile_tree_find(fx.tree, 0, "cpu0", &at));
	assert_false(oprofile_tree_find(fx.tree, 0, "ibs_op", &at)); /* this processor has none */
	assert_false(oprofile_tree_get(fx.tree, 100000, &n));
}

static void what_is_counted_can_be_read(void **state)
{
	(void)state;
	assert_string_equal(read_node("cpu_type"), "timer\n");
	assert_string_equal(read_node("pointer_size"), "8\n");
	assert_string_equal(read_node("enable"), "0\n");
	assert_string_equal(read_node("0/enabled"), "1\n");
	assert_string_equal(read_node("0/count"), "20408163\n"); /* ns of 49 Hz */
	assert_string_equal(read_node("0/name"), "cpu-clock\n");
	assert_string_equal(read_node("1/enabled"), "0\n");
	assert_string_equal(read_node("stats/sample_received"), "12\n");
	assert_string_equal(read_node("stats/cpu1/sample_received"), "7\n");
	assert_string_equal(read_node("stats/cpu0/sample_lost_overflow"), "4\n");
	assert_string_equal(read_node("stats/cpu1/sample_lost_overflow"), "9\n");
	assert_string_equal(read_node("stats/cpu1/backtrace_aborted"), "0\n");
	assert_string_equal(read_node("stats/cpu1/sample_invalid_eip"), "0\n");
	assert_string_equal(read_node("cookies"), "7 /bin/true\n");
	assert_string_equal(read_node("buffer_size"), "131072\n");
}

static void numbers_are_read_back_and_nonsense_is_refused(void **state)
{
	static const struct {
		const char *path, *text;
		int result;
		const char *after;
	} rows[] = {
		{ "buffer_size", "65536\n", 0, "65536\n" },
		{ "buffer_size", "0x2000", 0, "8192\n" },
		{ "buffer_size", " 9000", -EINVAL, "8192\n" },
		{ "buffer_size", "12", -EINVAL, "8192\n" },
		{ "buffer_size", "many", -EINVAL, "8192\n" },
		{ "buffer_size", "8192 8192", -EINVAL, "8192\n" },
		{ "buffer_size", "-1", -EINVAL, "8192\n" },
		{ "buffer_size", "99999999999999999999999", -EINVAL, "8192\n" },
		{ "buffer_size", "", -EINVAL, "8192\n" },
		{ "backtrace_depth", "16\n", 0, "16\n" },
		{ "backtrace_depth", "1000", -EINVAL, "16\n" },
		{ "0/count", "100000", 0, "100000\n" },
		{ "0/event", "0x76\n", 0, "118\n" },
		{ "0/kernel", "2", -EINVAL, "1\n" },
		{ "0/name", "a,b", -EINVAL, "CLOCKS\n" },
		{ "0/name", "a b", -EINVAL, "CLOCKS\n" },
		{ "0/name", "\n", -EINVAL, "CLOCKS\n" },
		{ "enable", "2", -EINVAL, "0\n" },
		{ "enable", "yes", -EINVAL, "0\n" },
		{ "cpu_type", "1", -EACCES, "timer\n" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(write_node(rows[i].path, rows[i].text), rows[i].result);
		assert_string_equal(read_node(rows[i].path), rows[i].after);
	}
	assert_int_equal(oprofile_tree_write(fx.tree, node("enable"), "1\0", 3), -EINVAL);
	assert_int_equal(oprofile_tree_write(fx.tree, 0, "1", 1), -EACCES);
}

static void enabling_takes_the_events_that_were_written(void **state)
{
	(void)state;
	assert_int_equal(write_node("enable", "1\n"), 0);
	assert_true(fx.is_enabled);
	assert_string_equal(fx.specs, "cpu-clock"); /* nothing was written: as it was */
	assert_int_equal(write_node("0/event", "0x76"), 0);
	assert_int_equal(write_node("0/count", "100000"), 0);
	assert_int_equal(write_node("0/kernel", "0"), 0);
	assert_int_equal(write_node("1/enabled", "1"), 0);
	assert_int_equal(write_node("1/event", "0x1c0"), 0);
	assert_int_equal(write_node("1/count", "6000"), 0);
	assert_int_equal(write_node("1/unit_mask", "2"), 0);
	assert_string_equal(fx.specs, "cpu-clock");
	assert_int_equal(write_node("enable", "1"), 0);
	assert_string_equal(fx.specs, "CLOCKS:100000:0:0:1 THINGS:6000:2:1:1");
	assert_string_equal(read_node("1/event"), "448\n");
	assert_string_equal(read_node("1/unit_mask"), "2\n");
	assert_string_equal(read_node("0/kernel"), "0\n");
	assert_int_equal(write_node("0/name", "cpu-clock"), 0);
	assert_int_equal(write_node("1/event", "0x33"), 0); /* no table has it */
	assert_int_equal(write_node("enable", "1"), 0);
	assert_string_equal(fx.specs, "cpu-clock:100000:0:0:1 r233:6000:0:1:1");
	assert_int_equal(write_node("enable", "0"), 0);
	assert_false(fx.is_enabled);
}

static void why_a_write_was_refused_can_be_read(void **state)
{
	(void)state;
	assert_string_equal(read_node("last_error"), "");
	assert_int_equal(write_node("0/enabled", "0"), 0);
	assert_int_equal(write_node("enable", "1"), -EINVAL);
	assert_string_equal(read_node("last_error"),
			    "no counter is enabled: write 1 to 0/enabled\n");
	assert_int_equal(write_node("1/enabled", "1"), 0);
	assert_int_equal(write_node("enable", "1"), -EINVAL);
	assert_string_equal(read_node("last_error"), "counter 1 has no count\n");
	assert_int_equal(write_node("1/count", "10"), 0);
	assert_int_equal(write_node("enable", "1"), -EINVAL);
	assert_string_equal(read_node("last_error"), "counter 1 has no event\n");
	assert_int_equal(write_node("1/name", "CLOCKS"), 0);
	assert_true(write_node("enable", "1") < 0);
	assert_non_null(strstr(read_node("last_error"), "3000")); /* the least count */
	assert_int_equal(write_node("1/name", "cpu/event=1/"), 0);
	assert_int_equal(write_node("enable", "1"), -EINVAL);
	assert_non_null(strstr(read_node("last_error"), "has terms"));
	assert_false(fx.is_enabled);
	assert_int_equal(write_node("dump", "whatever"), 0);
	assert_int_equal(fx.n_dumps, 1);
	assert_string_equal(read_node("last_error"), "");
}

static void impossible_sizes_of_the_buffer_are_refused_when_it_is_opened(void **state)
{
	struct oprofile_sizes sizes;

	(void)state;
	assert_int_equal(oprofile_tree_check_sizes(fx.tree, &sizes), 0);
	/* either may be written first */
	assert_int_equal(write_node("buffer_watershed", "131072"), 0);
	assert_int_equal(oprofile_tree_check_sizes(fx.tree, &sizes), -EINVAL);
	assert_non_null(strstr(read_node("last_error"), "buffer_size is 131072"));
	assert_int_equal(write_node("buffer_size", "131073"), 0);
	assert_int_equal(oprofile_tree_check_sizes(fx.tree, &sizes), 0);
	assert_int_equal(sizes.buffer_size, 131073);
	assert_int_equal(sizes.buffer_watershed, 131072);
	assert_int_equal(write_node("buffer_size", "1024"), 0);
	assert_int_equal(oprofile_tree_check_sizes(fx.tree, &sizes), -EINVAL);
}

/* A processor with IBS, and its events. */
static void give_ibs(void)
{
	const struct machine *m = fx.machine;

	put(m, "sys/bus/event_source/devices/ibs_fetch/type", "9\n");
	put(m, "sys/bus/event_source/devices/ibs_fetch/format/rand_en", "config:57\n");
	put(m, "sys/bus/event_source/devices/ibs_op/type", "10\n");
	put(m, "sys/bus/event_source/devices/ibs_op/format/cnt_ctl", "config:19\n");
	put(m, "events/x86-64/generic/events",
	    "event:0x76 counters:0,1 um:zero minimum:3000 name:CLOCKS : Clocks\n"
	    "event:0xf000 ext:ibs_fetch um:zero minimum:50000 name:IBS_FETCH_ALL : Fetches\n"
	    "event:0xf100 ext:ibs_op um:some minimum:50000 name:IBS_OP_ALL : Operations\n");
	oprofile_tree_free(fx.tree);
	fx.tree = oprofile_tree_new(&fx.host, 2);
}

static void ibs_has_its_own_directories(void **state)
{
	static const struct {
		const char *path, *text;
		int result;
		const char *after;
	} rows[] = {
		{ "ibs_fetch/max_count", "1048575", 0, "1048575\n" },
		{ "ibs_fetch/max_count", "1048576", -EINVAL, "1048575\n" },
		{ "ibs_fetch/max_count", "0", -EINVAL, "1048575\n" },
		{ "ibs_fetch/rand_enable", "1", 0, "1\n" },
		{ "ibs_fetch/rand_enable", "0", -EINVAL, "1\n" },
		{ "ibs_op/max_count", "134217727", 0, "134217727\n" },
		{ "ibs_op/dispatched_ops", "1", 0, "1\n" },
		{ "ibs_op/branch_target", "1", 0, "1\n" },
		{ "ibs_op/enable", "2", -EINVAL, "0\n" },
	};
	uint32_t at;

	(void)state;
	give_ibs();
	assert_string_equal(read_node("ibs_fetch/max_count"), "250000\n");
	assert_string_equal(read_node("ibs_op/enable"), "0\n");
	assert_false(oprofile_tree_find(fx.tree, node("ibs_fetch"), "dispatched_ops", &at));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(write_node(rows[i].path, rows[i].text), rows[i].result);
		assert_string_equal(read_node(rows[i].path), rows[i].after);
	}
}

static void ibs_is_counted_beside_the_counters(void **state)
{
	(void)state;
	give_ibs();
	assert_int_equal(write_node("0/enabled", "0"), 0);
	assert_int_equal(write_node("ibs_fetch/enable", "1"), 0);
	assert_int_equal(write_node("ibs_op/enable", "1"), 0);
	assert_int_equal(write_node("ibs_op/max_count", "160000"), 0);
	assert_int_equal(write_node("ibs_op/dispatched_ops", "1"), 0);
	assert_int_equal(write_node("enable", "1"), 0);
	assert_string_equal(fx.specs, "IBS_FETCH_ALL:250000:0:1:1 IBS_OP_ALL:160000:1:1:1");
	/* what is counted is shown there, and not as a counter */
	oprofile_tree_free(fx.tree);
	fx.tree = oprofile_tree_new(&fx.host, 2);
	assert_string_equal(read_node("ibs_fetch/enable"), "1\n");
	assert_string_equal(read_node("ibs_op/max_count"), "160000\n");
	assert_string_equal(read_node("ibs_op/dispatched_ops"), "1\n");
	assert_string_equal(read_node("0/enabled"), "0\n");
	assert_int_equal(write_node("ibs_op/enable", "0"), 0);
	assert_int_equal(write_node("enable", "1"), 0);
	assert_string_equal(fx.specs, "IBS_FETCH_ALL:250000:0:1:1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_tree_is_that_of_oprofile),
		TEST(what_is_counted_can_be_read),
		TEST(numbers_are_read_back_and_nonsense_is_refused),
		TEST(enabling_takes_the_events_that_were_written),
		TEST(why_a_write_was_refused_can_be_read),
		TEST(impossible_sizes_of_the_buffer_are_refused_when_it_is_opened),
		TEST(ibs_has_its_own_directories),
		TEST(ibs_is_counted_beside_the_counters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
