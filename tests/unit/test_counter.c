/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "counter_parse.h"

#include "counter/catalog/catalog.h"

static void assert_refused(struct machine *m, const char *spec, const char *text)
{
	const struct counter *c = parse(m, spec);

	if (c)
		fail_msg("'%s' was taken", spec);
	if (!strstr(m->err.text, text))
		fail_msg("'%s': the message is \"%s\", without \"%s\"", spec, m->err.text, text);
	assert_true(m->err.code < 0);
}

static void kernel_names_become_type_and_config(void **state)
{
	static const struct {
		const char *name;
		uint32_t type;
		uint64_t config;
	} rows[] = {
		{ "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ "cpu-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
		{ "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
		{ "cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
		{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, 0 },
		{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, 0x10000 },
		{ "LLC-store-misses", PERF_TYPE_HW_CACHE, 0x10102 },
		{ "dTLB-misses", PERF_TYPE_HW_CACHE, 0x10003 },
		{ "r01c2", PERF_TYPE_RAW, 0x1c2 },
		{ "rffffffffffffffff", PERF_TYPE_RAW, UINT64_MAX },
		{ "sched:sched_switch", PERF_TYPE_TRACEPOINT, 316 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct counter *c = parse(*state, rows[i].name);

		if (!c)
			fail_msg("%s", ((struct machine *)*state)->err.text);
		assert_int_equal(c->attr.type, rows[i].type);
		assert_true(c->attr.config == rows[i].config);
		assert_string_equal(c->name, rows[i].name);
	}
}

static void parse_named(void *ctx, const struct event_name *event)
{
	struct machine *m = ctx;

	if (event->kind == EVENT_PROCESSOR) /* many of these need a unit mask */
		return;
	if (!parse(m, event->name))
		fail_msg("%s", m->err.text);
	answers.n_calls++;
}

static void every_name_of_the_catalogue_parses(void **state)
{
	struct machine *m = *state;

	catalog_each(&m->sources, parse_named, m);
	assert_true(answers.n_calls > 40);
}

static void letters_choose_modes_and_precision(void **state)
{
	const struct counter *c = parse(*state, "cycles:upp");

	assert_false(c->attr.exclude_user);
	assert_true(c->attr.exclude_kernel && c->attr.exclude_hv && c->attr.exclude_guest);
	assert_int_equal(c->attr.precise_ip, 2);
	assert_string_equal(c->name, "cycles:upp");
	c = parse(*state, "cycles:uk");
	assert_false(c->attr.exclude_user || c->attr.exclude_kernel);
	assert_true(c->attr.exclude_hv);
	c = parse(*state, "cycles:GHDI");
	assert_false(c->attr.exclude_guest || c->attr.exclude_host);
	assert_true(c->attr.pinned && c->attr.exclude_idle);
	c = parse(*state, "cycles:P");
	assert_int_equal(c->attr.precise_ip, 3);
	assert_refused(*state, "cycles:ux", "unknown modifier 'x'; allowed are u k h");
	assert_refused(*state, "cycles:S", "modifier 'S' samples the leader of a group alone");
	assert_refused(*state, "cycles:pppp", "at most ppp");
	assert_refused(*state, "cycles:", "nothing follows the last ':'");
	assert_refused(*state, "cycles:u:k", "'k' is too much after the modifiers");
	assert_refused(*state, "cycles:h", "neither user nor kernel");
}

static void oprofile_words_are_count_mask_kernel_user(void **state)
{
	const struct counter *c = parse(*state, "cycles:100000:0:1:0");

	assert_true(c->attr.sample_period == 100000 && !c->attr.freq);
	assert_true(c->attr.exclude_user && !c->attr.exclude_kernel);
	assert_string_equal(c->name, "cycles:k");
	assert_string_equal(c->spec, "cycles:100000:0:1:0");
	c = parse(*state, "cycles:100000");
	assert_false(c->attr.exclude_user || c->attr.exclude_kernel);
	assert_refused(*state, "cycles:100000:0:0:0", "neither user nor kernel");
	assert_refused(*state, "cycles:100000:1", "no unit mask except 0");
	assert_refused(*state, "cycles:100000:0:2", "KERNEL is 0 or 1, not '2'");
	assert_refused(*state, "cycles:100000:0:1:1:1", "'1' is too much");
	assert_refused(*state, "cycles:1e5", "the count '1e5' is not a number");
}

static void absurd_rates_are_refused(void **state)
{
	struct machine *m = *state;

	assert_refused(m, "cycles:0", "a count of 0");
	assert_refused(m, "cycles:499", "below the minimum of 500");
	assert_refused(m, "cpu-clock:9999", "faster than 100 kHz");
	assert_refused(m, "page-faults:9223372036854775808", "less than 2^63");
	assert_refused(m, "cycles:18446744073709551616", "not a number of 64 bits");
	assert_non_null(parse(m, "page-faults:1"));
	assert_non_null(parse(m, "cycles:500"));
	assert_null(parse_at(m, "cycles", (struct counter_rate){ .freq_hz = 100001 }));
	assert_non_null(strstr(m->err.text, "perf_event_max_sample_rate, which is 100000"));
	assert_null(parse_at(m, "cycles", (struct counter_rate){ .freq_hz = 1, .count = 1 }));
	assert_non_null(strstr(m->err.text, "not both"));
}

static void a_count_in_the_spec_wins_over_the_options(void **state)
{
	const struct counter *c =
		parse_at(*state, "cycles:5000", (struct counter_rate){ .freq_hz = 99 });

	assert_true(!c->attr.freq && c->attr.sample_period == 5000);
	c = parse_at(*state, "cycles", (struct counter_rate){ .freq_hz = 99 });
	assert_true(c->attr.freq && c->attr.sample_freq == 99);
	c = parse(*state, "cycles");
	assert_true(c->attr.freq && c->attr.sample_freq == 997);
	c = parse(*state, "sched:sched_switch");
	assert_true(!c->attr.freq && c->attr.sample_period == 1);
	/* their number is exact, and not an estimate of a frequency */
	c = parse(*state, "page-faults");
	assert_true(!c->attr.freq && c->attr.sample_period == 1 && counter_is_rare(c));
	c = parse_at(*state, "page-faults", (struct counter_rate){ .freq_hz = 99 });
	assert_true(c->attr.freq && !counter_is_rare(c));
	c = parse(*state, "context-switches");
	assert_true(c->attr.freq && !counter_is_rare(c));
}

static void a_list_is_cut_at_commas_and_repeats_merge(void **state)
{
	struct machine *m = *state;

	parse(m, "cycles,sched:sched_switch,cpu-clock:u");
	assert_int_equal(m->counters.n, 3);
	assert_string_equal(m->counters.data[1].name, "sched:sched_switch");
	assert_string_equal(m->counters.data[2].unit, "ns");
	parse(m, "cycles,cycles,cycles:u");
	assert_int_equal(m->counters.n, 2);
	assert_refused(m, "cycles:1000,cycles:2000", "given twice with different settings");
	assert_refused(m, "cycles,,instructions", "an event is empty");
	assert_refused(m, "", "an event is empty");
}

static void assert_groups(const struct machine *m, const char *wanted)
{
	char text[64] = "";

	for (size_t i = 0; i < m->counters.n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ",
			 m->counters.data[i].group);
	assert_string_equal(text, wanted);
}

static void braces_make_a_group(void **state)
{
	struct machine *m = *state;

	assert_non_null(parse(m, "cs,{cycles,instructions:1000},faults,{branches,sched:sched_*}"));
	assert_groups(m, "0 2 2 0 5 5 5 ");
	assert_int_equal(m->counters.data[2].attr.sample_period, 1000);
	assert_non_null(parse(m, "{cycles,cycles,cpu-clock}"));
	assert_groups(m, "1 1 ");
	assert_refused(m, "cs,{cycles,instructions", "a group has no closing '}'");
	assert_refused(m, "{cycles,{instructions}}", "a group within a group");
	assert_refused(m, "{cycles,instructions}}", "'}' follows a group");
	assert_refused(m, "cs,{}", "a group is empty");
	assert_refused(m, "{,cycles}", "an event is empty");
	assert_refused(m, "{cycles,}", "an event is empty");
	assert_refused(m, "{cycles},", "an event is empty");
	assert_refused(m, "{cycles}u,cs", "'u,cs' follows a group");
	assert_refused(m, "cycles},cs", "a brace within 'cycles}'");
	assert_refused(m, "mine{cycles,cs}", "a brace within 'mine{cycles'");
	assert_refused(m, "cs,{cycles,cs}", "'cs' is given twice, in a group and outside of it");
	assert_refused(m, "{cycles,cs},cs", "'cs' is given twice, in a group and outside of it");
	assert_refused(m, "{cycles,cs},{cs}", "'cs' is given twice, in a group and outside of it");
}

static void modifiers_of_a_group_are_those_of_all_in_it(void **state)
{
	struct machine *m = *state;

	assert_non_null(parse(m, "{cycles:p,faults:k,cs:u}:up,cpu-clock"));
	assert_string_equal(m->counters.data[0].name, "cycles:pup");
	assert_int_equal(m->counters.data[0].attr.precise_ip, 2);
	assert_true(m->counters.data[0].attr.exclude_kernel);
	assert_string_equal(m->counters.data[1].name, "faults:kup");
	assert_false(m->counters.data[1].attr.exclude_kernel);
	assert_false(m->counters.data[1].attr.exclude_user);
	assert_string_equal(m->counters.data[2].name, "cs:up");
	assert_string_equal(m->counters.data[3].name, "cpu-clock");
	assert_false(m->counters.data[3].attr.exclude_kernel);
	assert_non_null(parse(m, "{cycles:1000:0:0:1,faults}:De"));
	assert_true(m->counters.data[0].attr.pinned && m->counters.data[0].attr.exclusive);
	assert_true(m->counters.data[0].attr.exclude_kernel);
	assert_false(m->counters.data[1].attr.pinned || m->counters.data[1].attr.exclusive);
	assert_refused(m, "{cycles,faults:D}", "only the first event of a group can be pinned");
	assert_refused(m, "{cycles,faults}:", "nothing follows '}:'");
	assert_refused(m, "{cycles,faults}:x", "'{cycles,faults}:x': unknown modifier 'x'");
	assert_refused(m, "{cycles:pp,faults}:pp", "at most ppp");
}

static void a_pattern_stands_for_every_tracepoint_it_matches(void **state)
{
	struct machine *m = *state;

	put(m, "tracing/events/ftrace/print/format", "no id here\n");
	assert_non_null(parse(m, "sched:sched_*:k"));
	assert_int_equal(m->counters.n, 2);
	assert_string_equal(m->counters.data[0].name, "sched:sched_switch:k");
	assert_string_equal(m->counters.data[1].name, "sched:sched_wakeup:k");
	assert_true(m->counters.data[1].attr.config == 317);
	assert_refused(m, "sched:x*", "unknown event 'sched:x*'");
	for (int i = 0; i < 130; i++) {
		char path[64];

		snprintf(path, sizeof(path), "tracing/events/many/e%d/id", i);
		put(m, path, "1\n");
	}
	assert_refused(m, "many:*", "matches 130 tracepoints; at most 128");
}

static void an_unknown_name_brings_the_nearest(void **state)
{
	struct machine *m = *state;

	assert_refused(m, "cycels", "unknown event 'cycels'; nearest: cycles");
	assert_refused(m, "cycels:u", "unknown event 'cycels'; nearest: cycles");
	assert_refused(m, "sched:sched_swich", "nearest: sched:sched_switch");
	assert_refused(m, "sched_switch", "nearest: sched:sched_switch");
	assert_refused(m, "l1_dcache_load_mises", "nearest: L1-dcache-load-misses");
	assert_refused(m, "quite-something-else", "unknown event 'quite-something-else'");
	assert_null(strstr(m->err.text, "nearest"));
	assert_refused(m, "..:enable_x", "unknown event");
	m->sources.tracefs = "/nonexistent";
	assert_refused(m, "kmem:mm_page_alloc", "mount -t tracefs nodev /nonexistent");
}

static void an_ordinary_user_gets_user_mode_at_level_2(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put(m, "proc/self/status", NOBODY_STATUS);
	c = parse(m, "cycles");
	assert_true(c->attr.exclude_kernel && c->attr.exclude_hv && !c->attr.exclude_user);
	assert_string_equal(c->name, "cycles:u");
	c = parse(m, "cycles:k");
	assert_false(c->attr.exclude_kernel);
	c = parse(m, "context-switches");
	assert_false(c->attr.exclude_kernel);
	put(m, "proc/sys/kernel/perf_event_paranoid", "1\n");
	c = parse(m, "cycles");
	assert_false(c->attr.exclude_kernel);
}

/* Skylake's cpu PMU, as far as the tests need it, and one that only counts. */
static void put_pmus(const struct machine *m)
{
#define PMU(path) "sys/bus/event_source/devices/" path
	put(m, PMU("cpu/type"), "4\n");
	put(m, PMU("cpu/format/event"), "config:0-7\n");
	put(m, PMU("cpu/format/umask"), "config:8-15\n");
	put(m, PMU("cpu/format/edge"), "config:18\n");
	put(m, PMU("cpu/format/ldlat"), "config1:0-15\n");
	put(m, PMU("cpu/format/split"), "config:0-7,32-35\n");
	put(m, PMU("cpu/format/all"), "config2:0-63\n");
	put(m, PMU("cpu/format/broken"), "config:9-3,99\n");
	put(m, PMU("cpu/format/strange"), "elsewhere:0-3\n");
	put(m, PMU("cpu/events/mem-loads"), "event=0xcd,umask=0x1,ldlat=3\n");
	put(m, PMU("cpu/events/loop"), "loop\n");
	put(m, PMU("msr/type"), "12\n");
	put(m, PMU("msr/format/event"), "config:0-63\n");
	put(m, PMU("msr/events/tsc"), "event=0x00\n");
	put(m, PMU("msr/events/tsc.scale"), "1\n");
}

static void pmu_terms_go_to_the_bits_of_their_format(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put_pmus(m);
	c = parse(m, "cpu/event=0x3c,umask=1,edge/uk");
	assert_int_equal(c->attr.type, 4);
	assert_true(c->attr.config == (0x3c | 1 << 8 | 1 << 18));
	assert_true(c->attr.exclude_guest && c->attr.exclude_hv && !c->attr.exclude_user);
	assert_string_equal(c->name, "cpu/event=0x3c,umask=1,edge/uk");
	c = parse(m, "cpu/split=0xabc/");
	assert_true(c->attr.config == (0xbc | 0xaULL << 32));
	c = parse(m, "cpu/all=0xffffffffffffffff/");
	assert_true(c->attr.config2 == UINT64_MAX);
	c = parse(m, "cpu/config=0x1234,config1=5/:k");
	assert_true(c->attr.config == 0x1234 && c->attr.config1 == 5 && c->attr.exclude_user);
	c = parse(m, "cpu/r1c2/");
	assert_true(c->attr.config == 0x1c2);
	c = parse(m, "cpu/branch-misses/");
	assert_int_equal(c->attr.type, PERF_TYPE_HARDWARE);
	assert_true(c->attr.config == PERF_COUNT_HW_BRANCH_MISSES);
	c = parse(m, "msr//");
	assert_int_equal(c->attr.type, 12);
	assert_false(c->attr.exclude_guest);
}

static void an_alias_stands_for_its_terms(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put_pmus(m);
	c = parse(m, "cpu/mem-loads,ldlat=50/p");
	assert_true(c->attr.config == 0x1cd && c->attr.config1 == 50 && c->attr.precise_ip == 1);
	c = parse(m, "mem-loads:u");
	assert_true(c->attr.config == 0x1cd && c->attr.config1 == 3 && c->attr.exclude_kernel);
	assert_string_equal(c->name, "cpu/mem-loads/u");
	c = parse(m, "tsc");
	assert_int_equal(c->attr.type, 12);
	assert_refused(m, "mem-loadz", "nearest: mem-loads");
}

static void terms_can_set_rate_and_name(void **state)
{
	struct machine *m = *state;
	const struct counter *c;

	put_pmus(m);
	c = parse_at(m, "cpu/event=0x3c,period=70000,name=busy/u",
		     (struct counter_rate){ .freq_hz = 99 });
	assert_true(!c->attr.freq && c->attr.sample_period == 70000);
	assert_string_equal(c->name, "busy:u");
	c = parse(m, "cpu/event=0x3c,freq=50/");
	assert_true(c->attr.freq && c->attr.sample_freq == 50);
	assert_refused(m, "cpu/event=0x3c,freq=0/", "a frequency of 0");
	assert_refused(m, "cpu/event=1,freq=50,period=1000/", "not both");
	assert_refused(m, "cpu/event=1,name=/", "name= needs a name");
}

static void wrong_pmu_terms_are_named(void **state)
{
	struct machine *m = *state;

	put_pmus(m);
	assert_refused(m, "cpo/event=1/", "no PMU 'cpo' here; there are: cpu, msr");
	assert_refused(m, "cpu/evnt=1/", "PMU 'cpu' has no term or event 'evnt'; it has: all, ");
	assert_refused(m, "cpu/event=0x100/", "event=0x100 is too large; it has 8 bits");
	assert_refused(m, "cpu/edge=2/", "edge=0x2 is too large; it has 1 bit");
	assert_refused(m, "cpu/event=x/", "event='x' is not a number");
	assert_refused(m, "cpu/event=-1/", "event='-1' is not a number");
	assert_refused(m, "cpu/broken=1/", "the format of 'broken' is damaged");
	assert_refused(m, "cpu/strange=1/", "which assay does not know");
	assert_refused(m, "cpu/loop/", "no term or event 'loop'");
	assert_refused(m, "cpu/event=1", "no closing '/'");
	assert_refused(m, "cpu/event=1/u/", "unknown modifier '/'");
	assert_refused(m, "cpu/../", "'..' is no term");
	assert_refused(m, "../cpu/type/", "no PMU '..' here");
	assert_refused(m, "/event=1/", "no PMU '' here");
	assert_refused(m, "cpu/,/", "'' is no term");
	/* traces of other kinds, whether their PMU is there or not */
	put(m, "sys/bus/event_source/devices/cs_etm/type", "9\n");
	assert_refused(m, "cs_etm/@tmc_etr0/u", "assay does not record Arm CoreSight ETM");
	assert_refused(m, "arm_spe_0/ts_enable=1/", "assay does not record Arm SPE");
}

static void a_hybrid_machine_counts_on_each_kind_of_core(void **state)
{
	struct machine *m = *state;

	put(m, PMU("cpu_core/type"), "4\n");
	put(m, PMU("cpu_core/cpus"), "0-7\n");
	put(m, PMU("cpu_atom/type"), "10\n");
	put(m, PMU("cpu_atom/cpus"), "8-15\n");
	put(m, PMU("cpu_atom/format/event"), "config:0-7\n");
	assert_non_null(parse(m, "cycles:u"));
	assert_int_equal(m->counters.n, 2);
	assert_string_equal(m->counters.data[0].name, "cpu_atom/cycles/u");
	assert_string_equal(m->counters.data[0].cpus, "8-15");
	assert_true(m->counters.data[0].attr.config == 10ULL << 32);
	assert_string_equal(m->counters.data[1].name, "cpu_core/cycles/u");
	assert_true(m->counters.data[1].attr.config == 4ULL << 32);
	assert_non_null(parse(m, "r1c2"));
	assert_int_equal(m->counters.data[0].attr.type, 10);
	assert_true(m->counters.data[0].attr.config == 0x1c2);
	assert_non_null(parse(m, "cpu_atom/event=0x3c/"));
	assert_int_equal(m->counters.n, 1);
	assert_string_equal(m->counters.data[0].cpus, "8-15");
	assert_non_null(parse(m, "cpu-clock"));
	assert_int_equal(m->counters.n, 1);
	assert_null(m->counters.data[0].cpus);
	assert_non_null(parse(m, "{cycles,instructions}:D"));
	assert_groups(m, "1 2 1 2 ");
	assert_true(m->counters.data[1].attr.pinned && !m->counters.data[3].attr.pinned);
}

/* main() makes libpfm4 believe in a Skylake. */
static void libpfm_knows_the_names_of_the_manual(void **state)
{
#if defined(HAVE_LIBPFM) && defined(__x86_64__)
	struct machine *m = *state;
	const struct counter *c = parse(m, "MEM_LOAD_RETIRED:L1_HIT:ukpp");

	assert_non_null(c);
	assert_int_equal(c->attr.type, PERF_TYPE_RAW);
	assert_true(c->attr.config == 0x1d1 && c->attr.precise_ip == 2 && c->attr.exclude_guest);
	assert_string_equal(c->name, "MEM_LOAD_RETIRED:L1_HIT:ukpp");
	c = parse(m, "MEM_LOAD_RETIRED:u:L1_HIT");
	assert_true(c->attr.exclude_kernel && !c->attr.exclude_user);
	c = parse(m, "FP_ARITH:128B_PACKED_DOUBLE");
	assert_true(c->attr.config == 0x4c7);
	c = parse(m, "skl::L1D:REPLACEMENT:period=1234");
	assert_true(c->attr.config == 0x151 && !c->attr.freq && c->attr.sample_period == 1234);
	assert_refused(m, "MEM_LOAD_RETIRED", "it needs another unit mask; it has L1_HIT, ");
	assert_refused(m, "MEM_LOAD_RETIRED:BOGUS", "no such unit mask or attribute; it has L1");
	assert_refused(m, "MEM_LOAD_RETIRD", "nearest: MEM_LOAD_RETIRED");
#else
	(void)state;
	skip_because("this libpfm4 knows no Skylake");
#endif
}

static void oprofile_masks_are_numbers_or_names(void **state)
{
#if defined(HAVE_LIBPFM) && defined(__x86_64__)
	struct machine *m = *state;
	const struct counter *c = parse(m, "MEM_LOAD_RETIRED:200000:0x08:1:0");

	assert_non_null(c);
	assert_true(c->attr.config == 0x8d1 && c->attr.sample_period == 200000);
	assert_true(c->attr.exclude_user && !c->attr.exclude_kernel);
	assert_true(c->unit_mask == 8);
	assert_string_equal(c->name, "MEM_LOAD_RETIRED:0x8:k");
	c = parse(m, "MEM_LOAD_RETIRED:200000:L1_MISS");
	assert_true(c->attr.config == 0x8d1);
	c = parse(m, "CPU_CLK_UNHALTED:100000:0:1:1");
	assert_true(c->attr.type == PERF_TYPE_RAW && c->attr.config == 0x3c);
	assert_refused(m, "MEM_LOAD_RETIRED:200000:NO_SUCH", "no such unit mask");
	assert_refused(m, "MEM_LOAD_RETIRED:200000:8x", "the unit mask '8x' is not a number");
#else
	(void)state;
	skip_because("this libpfm4 knows no Skylake");
#endif
}

static void classic_names_fall_to_the_kernel_s_events(void **state)
{
	const struct counter *c = parse(*state, "RETIRED_BRANCH_INSTRUCTIONS:50000:0:0:1");

	assert_non_null(c);
	assert_int_equal(c->attr.type, PERF_TYPE_HARDWARE);
	assert_true(c->attr.config == PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	assert_string_equal(c->name, "RETIRED_BRANCH_INSTRUCTIONS:u");
	c = parse(*state, "TIMER_INT:1000000");
	assert_int_equal(c->attr.type, PERF_TYPE_SOFTWARE);
	assert_refused(*state, "TIMER_INT:1000000:1", "no unit mask except 0, and '1' is given");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(kernel_names_become_type_and_config),
		ON_A_MACHINE(every_name_of_the_catalogue_parses),
		ON_A_MACHINE(letters_choose_modes_and_precision),
		ON_A_MACHINE(oprofile_words_are_count_mask_kernel_user),
		ON_A_MACHINE(absurd_rates_are_refused),
		ON_A_MACHINE(a_count_in_the_spec_wins_over_the_options),
		ON_A_MACHINE(a_list_is_cut_at_commas_and_repeats_merge),
		ON_A_MACHINE(braces_make_a_group),
		ON_A_MACHINE(modifiers_of_a_group_are_those_of_all_in_it),
		ON_A_MACHINE(a_pattern_stands_for_every_tracepoint_it_matches),
		ON_A_MACHINE(an_unknown_name_brings_the_nearest),
		ON_A_MACHINE(an_ordinary_user_gets_user_mode_at_level_2),
		ON_A_MACHINE(pmu_terms_go_to_the_bits_of_their_format),
		ON_A_MACHINE(an_alias_stands_for_its_terms),
		ON_A_MACHINE(terms_can_set_rate_and_name),
		ON_A_MACHINE(wrong_pmu_terms_are_named),
		ON_A_MACHINE(a_hybrid_machine_counts_on_each_kind_of_core),
		ON_A_MACHINE(libpfm_knows_the_names_of_the_manual),
		ON_A_MACHINE(oprofile_masks_are_numbers_or_names),
		ON_A_MACHINE(classic_names_fall_to_the_kernel_s_events),
	};

	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
