/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Intel PT's config terms, by perf-intel-pt(1): defaults, what a processor takes, refusals. */
#include "fake_machine.h"

#include "counter/intel_pt.h"

#define PMU "sys/bus/event_source/devices/intel_pt/"

static void put_format(struct machine *m)
{
	static const char *const rows[][2] = {
		{ "cyc", "config:1\n" },        { "cyc_thresh", "config:19-22\n" },
		{ "mtc", "config:9\n" },        { "mtc_period", "config:14-17\n" },
		{ "noretcomp", "config:11\n" }, { "psb_period", "config:24-27\n" },
		{ "tsc", "config:10\n" },
	};
	char path[128];

	put(m, PMU "type", "6\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		snprintf(path, sizeof(path), PMU "format/%s", rows[i][0]);
		put(m, path, rows[i][1]);
	}
}

/* A Skylake, and newer processors. */
static void put_newer(struct machine *m)
{
	put_format(m);
	put(m, PMU "format/pt", "config:0\n");
	put(m, PMU "format/branch", "config:13\n");
	put(m, PMU "format/ptw", "config:12\n");
	put(m, PMU "format/fup_on_ptw", "config:5\n");
	put(m, PMU "format/pwr_evt", "config:4\n");
	put(m, PMU "format/event", "config:31\n");
	put(m, PMU "format/notnt", "config:55\n");
	put(m, PMU "caps/mtc", "1\n");
	put(m, PMU "caps/mtc_periods", "249\n");
	put(m, PMU "caps/psb_cyc", "1\n");
	put(m, PMU "caps/psb_periods", "3f\n");
	put(m, PMU "caps/cycle_thresholds", "1fff\n");
	put(m, PMU "caps/ptwrite", "0\n");
	put(m, PMU "caps/power_event_trace", "0\n");
	put(m, PMU "caps/event_trace", "0\n");
	put(m, PMU "caps/tnt_disable", "0\n");
}

static const struct counter *parse(struct machine *m, const char *spec)
{
	struct counter_rate rate = { .freq_hz = 100 };

	counters_fini(&m->counters);
	m->err = (struct error){ 0 };
	return counter_parse(&m->sources, spec, &rate, &m->counters, &m->err) < 0
		       ? NULL
		       : &m->counters.data[0];
}

static void assert_config(struct machine *m, const char *spec, uint64_t config)
{
	const struct counter *c = parse(m, spec);

	if (!c)
		fail_msg("%s: %s", spec, m->err.text);
	if (c->attr.config != config)
		fail_msg("%s: config %#llx, wanted %#llx", spec, (unsigned long long)c->attr.config,
			 (unsigned long long)config);
	assert_int_equal(c->attr.type, 6);
	assert_int_equal(c->attr.freq, 0);
	assert_int_equal(c->attr.sample_period, 1);
}

static void assert_refused(struct machine *m, const char *spec, const char *text)
{
	if (parse(m, spec))
		fail_msg("'%s' was taken", spec);
	if (!strstr(m->err.text, text))
		fail_msg("'%s': \"%s\", without \"%s\"", spec, m->err.text, text);
}

static void the_first_processors_have_tsc_alone(void **state)
{
	struct machine *m = *state;

	put_format(m);
	assert_config(m, "intel_pt//", 0x400);
	assert_config(m, "intel_pt/tsc,noretcomp=0/", 0x400);
	assert_config(m, "intel_pt/tsc=1,noretcomp=0/", 0x400);
	assert_config(m, "intel_pt/noretcomp=0/", 0x400);
	assert_config(m, "intel_pt/noretcomp/", 0xc00);
	assert_config(m, "intel_pt/tsc=0/", 0);
	assert_config(m, "intel_pt/config=0x400/", 0x400);
}

static void defaults_fit_the_processor(void **state)
{
	struct machine *m = *state;

	put_newer(m);
	/* pt, branch, tsc, mtc, psb_period=3, mtc_period=3: as perf 6.1 has it */
	assert_config(m, "intel_pt//u", 0x300e601);
	assert_true(parse(m, "intel_pt//u")->attr.exclude_kernel);
	assert_true(parse(m, "intel_pt//k")->attr.exclude_user);
	assert_config(m, "intel_pt/branch=0/", 0x300c601);
	assert_config(m, "intel_pt/pt=0/", 0x300e601);
	assert_config(m, "intel_pt/config=0x400/", 0x401);
	assert_config(m, "intel_pt/psb_period=5,mtc_period=9/", 0x5026601);
	assert_config(m, "intel_pt/cyc,cyc_thresh=12/", 0x3600603 | 0xe000);
	put(m, PMU "caps/mtc_periods", "5\n");  /* 0 and 2 */
	put(m, PMU "caps/psb_periods", "21\n"); /* 0 and 5 */
	assert_config(m, "intel_pt//", 0xa601);
	put(m, PMU "caps/mtc", "0\n");
	assert_config(m, "intel_pt//", 0x2401);
}

static void invalid_values_are_refused_with_the_valid_ones(void **state)
{
	struct machine *m = *state;

	put_newer(m);
	assert_refused(m, "intel_pt/psb_period=15/u",
		       "Invalid psb_period for intel_pt. Valid "
		       "values are: 0-5");
	assert_refused(m, "intel_pt/mtc_period=15/u",
		       "Invalid mtc_period for intel_pt. Valid "
		       "values are: 0,3,6,9");
	assert_refused(m, "intel_pt/cyc,cyc_thresh=15/u",
		       "Invalid cyc_thresh for intel_pt. Valid "
		       "values are: 0-12");
	put(m, PMU "caps/psb_cyc", "0\n");
	assert_refused(m, "intel_pt/psb_period=2/u", "Valid values are: 0");
	assert_refused(m, "intel_pt/psb_period=16/u", "is too large; it has 4 bits");
	assert_refused(m, "intel_pt/config=0xf000400/u", "Invalid psb_period");
}

static void what_the_processor_lacks_is_refused(void **state)
{
	struct machine *m = *state;

	put_newer(m);
	assert_refused(m, "intel_pt/ptw/u", "no PTWRITE packets (caps/ptwrite is 0)");
	assert_refused(m, "intel_pt/pwr_evt/u", "no power events");
	assert_refused(m, "intel_pt/event/u", "no event trace");
	assert_refused(m, "intel_pt/notnt/u", "caps/tnt_disable is 0");
	put(m, PMU "caps/ptwrite", "1\n");
	assert_config(m, "intel_pt/ptw,fup_on_ptw/u", 0x300f621);
	put(m, PMU "caps/psb_cyc", "0\n");
	assert_refused(m, "intel_pt/cyc/u", "no CYC packets");
	assert_refused(m, "intel_pt/nonsense/u", "it has: branch");
	assert_refused(m, "intel_pt/mtc=x/u", "is not a number");
}

static void modifiers_but_u_and_k_are_refused_with_the_reason(void **state)
{
	struct machine *m = *state;

	put_newer(m);
	assert_non_null(parse(m, "intel_pt//uk"));
	assert_refused(m, "intel_pt//h", "virtualization, which Intel PT does not support");
	assert_refused(m, "intel_pt//uG", "virtualization");
	assert_refused(m, "intel_pt//pp", "makes samples precise");
	assert_refused(m, "intel_pt//D", "is for events that count");
	assert_refused(m, "{intel_pt//,cycles}:uppp", "makes samples precise");
}

static void absence_is_explained(void **state)
{
	struct machine *m = *state;

	assert_refused(m, "intel_pt//u", "no Intel PT here: this processor has none");
	put(m, "proc/cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu vme\n\n");
	assert_refused(m, "intel_pt//u", "not Intel's");
	put(m, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu hypervisor vme\n\n");
	assert_refused(m, "intel_pt//u", "its hypervisor does not pass Intel PT on");
	put(m, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu intel_pt vme\n\n");
	assert_refused(m, "intel_pt//u", "BIOS");
	put(m, "proc/cpuinfo", "vendor_id\t: GenuineIntel\nflags\t\t: fpu vme\n\n");
	assert_refused(m, "intel_pt//u", "or the BIOS has switched it off");
}

static void samples_want_psbs_often(void **state)
{
	struct machine *m = *state;
	struct counter *c;

	put_newer(m);
	c = (struct counter *)parse(m, "intel_pt//u");
	assert_true(c->is_trace);
	assert_int_equal(intel_pt_psb_bytes(&m->sources, c), 16384);
	intel_pt_for_samples(&m->sources, c);
	assert_int_equal(intel_pt_psb_bytes(&m->sources, c), 2048);
	c = (struct counter *)parse(m, "intel_pt/psb_period=3/u");
	intel_pt_for_samples(&m->sources, c);
	assert_int_equal(intel_pt_psb_bytes(&m->sources, c), 16384);
}

static void events_ask_for_a_piece_of_the_trace(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put_newer(m);
	c = parse(m, "branch-misses/aux-sample-size=8192/u");
	if (!c)
		fail_msg("%s", m->err.text);
	assert_int_equal(c->attr.aux_sample_size, 8192);
	assert_int_equal(c->attr.config, PERF_COUNT_HW_BRANCH_MISSES);
	assert_true(c->attr.exclude_kernel);
	c = parse(m, "cycles/aux-output/ppp");
	assert_true(c->attr.aux_output);
	assert_int_equal(c->attr.precise_ip, 3);
	assert_refused(m, "branch-misses/aux-sample-size=61441/", "61440 bytes of trace at most");
	assert_refused(m, "branch-misses/aux-sample-size/", "is not a number");
	assert_refused(m, "branch-misses/nonsense=1/", "has no term 'nonsense'");
	assert_false(parse(m, "cycles:u")->is_trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(the_first_processors_have_tsc_alone),
		ON_A_MACHINE(defaults_fit_the_processor),
		ON_A_MACHINE(invalid_values_are_refused_with_the_valid_ones),
		ON_A_MACHINE(what_the_processor_lacks_is_refused),
		ON_A_MACHINE(modifiers_but_u_and_k_are_refused_with_the_reason),
		ON_A_MACHINE(absence_is_explained),
		ON_A_MACHINE(samples_want_psbs_often),
		ON_A_MACHINE(events_ask_for_a_piece_of_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
