/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The default event, and the reasons of refusals. */
#include "counter_parse.h"

#include "counter/catalog/catalog.h"
#include "counter/pace.h"

struct chosen {
	char note[256];
	int r;
};

static struct chosen choose(struct machine *m, struct counter_rate rate)
{
	struct chosen chosen;

	counters_fini(&m->counters);
	memset(&m->err, 0, sizeof(m->err));
	chosen.r = counter_default(&m->sources, &rate, &m->counters, chosen.note,
				   sizeof(chosen.note), &m->err);
	return chosen;
}

static void the_default_is_cycles_where_they_open(void **state)
{
	struct machine *m = *state;
	struct chosen chosen = choose(m, (struct counter_rate){ 0 });

	assert_int_equal(chosen.r, 0);
	assert_string_equal(chosen.note, "");
	assert_int_equal(m->counters.n, 1);
	assert_string_equal(m->counters.data[0].name, "cycles");
	assert_true(m->counters.data[0].attr.sample_freq == 997);
}

static void the_default_falls_to_the_clock_and_says_so(void **state)
{
	struct machine *m = *state;
	struct chosen chosen;

	answers.hardware = ENOENT;
	chosen = choose(m, (struct counter_rate){ 0 });
	assert_int_equal(chosen.r, 0);
	assert_string_equal(chosen.note,
			    "no hardware counters here; sampling by the cpu-clock timer");
	assert_int_equal(m->counters.n, 1);
	assert_string_equal(m->counters.data[0].name, "cpu-clock");
	put(m, "proc/self/status", NOBODY_STATUS);
	chosen = choose(m, (struct counter_rate){ .count = 1000000 });
	assert_string_equal(
		chosen.note,
		"no hardware counters here; sampling by the cpu-clock timer; the count "
		"is in nanoseconds; user mode only, as kernel.perf_event_paranoid is 2");
	assert_string_equal(m->counters.data[0].name, "cpu-clock:u");
}

static void the_default_leaves_the_kernel_out_where_it_is_refused(void **state)
{
	struct machine *m = *state;
	struct chosen chosen;

	answers.kernel_mode = EACCES;
	chosen = choose(m, (struct counter_rate){ 0 });
	assert_int_equal(chosen.r, 0);
	assert_string_equal(m->counters.data[0].name, "cycles:u");
	assert_string_equal(chosen.note, "user mode only, as the kernel refuses the rest");
}

static void cycles_at_a_frequency_have_a_period(void **state)
{
	struct machine *m = *state;
	struct counter_rate at_1000 = { .freq_hz = 1000 };
	struct perf_event_attr a;

	put(m, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700007\n");
	assert_non_null(parse_at(m, "cycles:u", at_1000));
	pace_find(&m->sources, &m->counters);
	a = pace_attr(&m->counters.data[0]);
	assert_false(a.freq);
	/* IBS takes multiples of 16. */
	assert_int_equal(a.sample_period, 3700000);
	assert_int_equal(pace_period(&m->counters.data[0]), 3700000);
	assert_true(a.exclude_kernel);
	/* The attributes are the requested ones. */
	assert_true(m->counters.data[0].attr.freq);
	assert_int_equal(m->counters.data[0].attr.sample_freq, 1000);
}

static void only_known_rates_become_periods(void **state)
{
	struct machine *m = *state;
	struct counter_rate at_1000 = { .freq_hz = 1000 };
	struct {
		const char *spec;
		bool is_freq;
		uint64_t period, told;
	} rows[] = {
		{ "instructions", true, 1000, 0 },
		{ "cpu-clock", true, 1000, 1000000 }, /* the kernel's own work */
		{ "cycles:70001", false, 70001, 70001 },
	};

	put(m, "sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3700007\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct perf_event_attr a;

		assert_non_null(parse_at(m, rows[i].spec,
					 rows[i].is_freq ? at_1000 : (struct counter_rate){ 0 }));
		pace_find(&m->sources, &m->counters);
		a = pace_attr(&m->counters.data[0]);
		assert_int_equal(a.freq, rows[i].is_freq);
		assert_int_equal(a.sample_period, rows[i].period);
		assert_int_equal(pace_period(&m->counters.data[0]), rows[i].told);
	}
}

static void cycles_of_an_unknown_rate_are_left_to_the_kernel(void **state)
{
	struct machine *m = *state;

	assert_non_null(parse_at(m, "cycles", (struct counter_rate){ .freq_hz = 1000 }));
	pace_find(&m->sources, &m->counters);
	assert_true(pace_attr(&m->counters.data[0]).freq);
	assert_int_equal(pace_period(&m->counters.data[0]), 0);
}

static void the_default_keeps_below_the_maximum_rate(void **state)
{
	struct machine *m = *state;
	struct chosen chosen;

	put(m, "proc/sys/kernel/perf_event_max_sample_rate", "250\n");
	chosen = choose(m, (struct counter_rate){ 0 });
	assert_true(m->counters.data[0].attr.sample_freq == 250);
	assert_string_equal(chosen.note,
			    "250 Hz, as kernel.perf_event_max_sample_rate allows no more");
	chosen = choose(m, (struct counter_rate){ .freq_hz = 251 });
	assert_int_equal(chosen.r, -EINVAL);
	assert_int_equal(m->counters.n, 0);
	assert_non_null(strstr(m->err.text, "above kernel.perf_event_max_sample_rate"));
}

static void where_nothing_opens_the_default_explains(void **state)
{
	struct machine *m = *state;
	struct chosen chosen;

	answers.hardware = answers.software = EACCES;
	put(m, "proc/self/status", NOBODY_STATUS);
	put(m, "proc/sys/kernel/perf_event_paranoid", "3\n");
	chosen = choose(m, (struct counter_rate){ 0 });
	assert_int_equal(chosen.r, -EACCES);
	assert_string_equal(chosen.note, "");
	assert_int_equal(m->counters.n, 0);
	assert_non_null(strstr(m->err.text, "kernel.perf_event_paranoid is 3"));
}

static void explain_counter(struct machine *m, const struct counter *c, int code, const char *text)
{
	struct error err = { 0 };

	assert_non_null(c);
	assert_int_equal(counter_explain(&m->sources, c, code, &err), code);
	if (!strstr(err.text, text))
		fail_msg("the message is \"%s\", without \"%s\"", err.text, text);
}

static void explain(struct machine *m, const char *spec, int code, const char *text)
{
	explain_counter(m, parse(m, spec), code, text);
}

static void a_failed_open_has_the_reason_and_the_remedy(void **state)
{
	struct machine *m = *state;

	explain(m, "cycles", -ENOENT, "event 'cycles' can't be opened (ENOENT): this processor");
	explain(m, "cycles", -EIO, "event 'cycles' can't be opened: Input/output error");
	explain(m, "cycles", -ENOENT, "no such counter; -e cpu-clock works");
	explain(m, "cycles", -EBUSY, "(another profiler, the NMI watchdog, or an exclusive event)");
	put(m, "proc/sys/kernel/nmi_watchdog", "0\n");
	explain(m, "cycles", -EBUSY, "(another profiler, or an exclusive event)");
	put(m, "proc/sys/kernel/nmi_watchdog", "1\n");
	explain(m, "cycles", -EBUSY, "'sysctl kernel.nmi_watchdog=0' as root frees it");
	explain(m, "cycles", -EMFILE, "ulimit -n ");
	explain(m, "cycles", -ENOSYS, "a seccomp filter refuses perf_event_open");
	explain(m, "cycles:p", -EOPNOTSUPP, "leave out the modifier p");
	explain(m, "cycles", -EOPNOTSUPP, "counted but not sampled; use -e cpu-clock");
	explain(m, "cycles", -EINVAL, "no such event code");
	explain(m, "cycles", -ESRCH, "no such process");
	explain(m, "cycles", -EACCES, "a security module");
	/* A filter that lets the call through is not to blame, and one that does not is. */
	put(m, "proc/self/status", FILTERED_STATUS);
	explain(m, "cycles", -EPERM, "only processes of his own");
	answers.filter = EPERM;
	explain(m, "cycles", -EPERM, "a seccomp filter refuses perf_event_open");
	explain(m, "cycles", -EACCES, "a seccomp filter refuses perf_event_open");
}

/* A setting is named only if it was given, and no remedy is what the user did already. */
static void refused_branches_have_each_suspect_named(void **state)
{
	static const struct {
		const char *spec;
		uint64_t kinds;
		int code;
		const char *text;
	} rows[] = {
		{ "cycles", PERF_SAMPLE_BRANCH_ANY, -EOPNOTSUPP,
		  "keeps no branch stacks, or none of these kinds; leave out -b and -j" },
		{ "cycles:ppp", PERF_SAMPLE_BRANCH_ANY, -EOPNOTSUPP,
		  "or can't sample the event precisely; leave out -b and -j, or the modifier p" },
		{ "cycles", PERF_SAMPLE_BRANCH_ANY, -EINVAL,
		  "most likely the branch stacks: leave out -b and -j" },
		{ "cycles:p", PERF_SAMPLE_BRANCH_ANY, -EINVAL,
		  "the branch stacks, or the modifier p: leave out -b and -j, or leave out the "
		  "modifier p" },
		{ "cycles", PERF_SAMPLE_BRANCH_CALL, -EINVAL,
		  "most likely the kinds of branches: try -b" },
		{ "cycles:p", PERF_SAMPLE_BRANCH_CALL, -EINVAL,
		  "the kinds of branches, or the modifier p: try -b, or leave out the modifier p" },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct counter *c;

		parse(m, rows[i].spec);
		c = &m->counters.data[m->counters.n - 1];
		c->attr.branch_sample_type = rows[i].kinds;
		explain_counter(m, c, rows[i].code, rows[i].text);
	}
}

static void each_paranoid_level_has_its_own_way_out(void **state)
{
	struct machine *m = *state;

	put(m, "proc/self/status", NOBODY_STATUS);
	explain(m, "cycles:k", -EACCES, "allows an ordinary user no kernel mode");
	explain(m, "context-switches", -EACCES, "no kernel mode, where this event happens");
	explain(m, "cycles:u", -EACCES, "only processes of his own, not a whole CPU");
	put(m, "proc/sys/kernel/perf_event_paranoid", "4\n");
	explain(m, "cycles", -EACCES, "is 4, which closes perf events to ordinary users");
	put(m, "proc/sys/kernel/perf_event_paranoid", "1\n");
	explain(m, "cycles", -EACCES, "'sysctl kernel.perf_event_paranoid=0' as root");
	explain(m, "sched:sched_switch", -EACCES, "'sysctl kernel.perf_event_paranoid=-1' as root");
	put(m, "proc/self/status", BARE_ROOT_STATUS);
	explain(m, "cycles", -EACCES, "this root lacks CAP_PERFMON");
}

/* In a container, what helps is an option of its engine. */
static void in_a_container_the_remedy_is_its_engine_s_option(void **state)
{
	struct machine *m = *state;

	put(m, "proc/self/status", NOBODY_STATUS);
	put(m, "proc/self/ns/pid", "");
	explain(m, "cycles:u", -EACCES, "start the container with --cap-add PERFMON");
	answers.filter = EPERM;
	put(m, "proc/self/status", FILTERED_STATUS);
	explain(m, "cycles:u", -EPERM, "--security-opt seccomp=");
	answers.filter = 0;
	/* Its capabilities do not count in a user namespace. */
	put(m, "proc/self/status", ROOT_STATUS);
	put(m, "proc/self/ns/user", "");
	explain(m, "cycles:u", -EACCES, "let root start the container (not rootless)");
}

static void a_setting_that_is_not_read_is_no_number(void **state)
{
	struct machine *m = *state;
	char path[PATH_MAX];

	put(m, "proc/self/status", NOBODY_STATUS);
	snprintf(path, sizeof(path), "%s/sys/kernel/perf_event_paranoid", m->proc);
	unlink(path);
	explain(m, "cycles:u", -EACCES, "kernel.perf_event_paranoid cannot be read, which allows");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(the_default_is_cycles_where_they_open),
		ON_A_MACHINE(the_default_falls_to_the_clock_and_says_so),
		ON_A_MACHINE(the_default_leaves_the_kernel_out_where_it_is_refused),
		ON_A_MACHINE(cycles_at_a_frequency_have_a_period),
		ON_A_MACHINE(only_known_rates_become_periods),
		ON_A_MACHINE(cycles_of_an_unknown_rate_are_left_to_the_kernel),
		ON_A_MACHINE(the_default_keeps_below_the_maximum_rate),
		ON_A_MACHINE(where_nothing_opens_the_default_explains),
		ON_A_MACHINE(a_failed_open_has_the_reason_and_the_remedy),
		ON_A_MACHINE(refused_branches_have_each_suspect_named),
		ON_A_MACHINE(each_paranoid_level_has_its_own_way_out),
		ON_A_MACHINE(in_a_container_the_remedy_is_its_engine_s_option),
		ON_A_MACHINE(a_setting_that_is_not_read_is_no_number),
	};

	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
