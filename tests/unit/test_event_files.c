/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_machine.h"

#include "config.h"
#include "counter/catalog/catalog.h"
#include "counter/catalog/event_files.h"

#define AMD "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 33\ncpu MHz\t\t: 2400.5\n"

static struct event_table table_of(const char *events, const char *masks)
{
	struct event_table t;
	cleanup(free_at_exit) char *e = xstrdup(events);
	cleanup(free_at_exit) char *m = xstrdup(masks);

	event_table_init(&t);
	event_table_read_masks(&t, m, "unit_masks", NULL);
	event_table_read_events(&t, e, "events", NULL);
	event_table_finish(&t, &(struct counter_sources){ .proc = "/nowhere" });
	return t;
}

static const char masks[] = "# a comment\n"
			    "name:zero type:mandatory default:0x0\n"
			    "\t0x0 No unit mask\n"
			    "name:mesi type:bitmask default:0x0f\n"
			    "\t0x08 (M)odified cache state\n"
			    "\t0x04 (E)xclusive\n\t0x02 (S)hared\n\t0x01 (I)nvalid\n"
			    "name:named type:exclusive default:first\n"
			    "\t0x1 extra: first the first\n"
			    "\t0x1 extra:cmask=a,inv,edge second the second\n"
			    "\t0x2 extra:pebs third the third\n";

static void a_line_gives_an_event_with_its_unit_mask(void **state)
{
	struct event_table t = table_of(
		"event:0x41 counters:0,2 um:mesi minimum:6000 name:LOADS : Loads of all kinds\n",
		masks);
	const struct table_event *e = event_table_find(&t, "loads");

	(void)state;
	assert_int_equal(t.complaints.n, 0);
	assert_non_null(e);
	assert_string_equal(e->help, "Loads of all kinds");
	assert_int_equal(e->code, 0x41);
	assert_int_equal(e->counters, 5);
	assert_int_equal(e->minimum, 6000);
	assert_int_equal(e->mask.units.n, 4);
	assert_int_equal(e->mask.type, UNIT_MASK_BITMASK);
	event_table_fini(&t);
}

static uint32_t choose(const struct table_event *e, const char *word, uint32_t *extra)
{
	struct mask_choice choice;
	struct error err = { 0 };

	if (table_event_mask(e, word, &choice, &err) < 0)
		fail_msg("%s", err.text);
	*extra = choice.extra;
	return choice.value;
}

static void assert_no_mask(const struct table_event *e, const char *word, const char *text)
{
	struct mask_choice choice;
	struct error err = { 0 };

	assert_int_equal(table_event_mask(e, word, &choice, &err), -EINVAL);
	if (!strstr(err.text, text))
		fail_msg("'%s': \"%s\" without \"%s\"", word, err.text, text);
}

static void unit_masks_by_number_by_name_and_by_default(void **state)
{
	struct event_table t = table_of("event:0x41 counters:0 um:mesi name:A : a\n"
					"event:0x42 counters:0 um:named name:B : b\n"
					"event:0x43 counters:0 um:zero name:C : c\n",
					masks);
	const struct table_event *a = event_table_find(&t, "A"), *b = event_table_find(&t, "B");
	uint32_t extra;

	(void)state;
	assert_int_equal(choose(a, NULL, &extra), 0x0f);
	assert_int_equal(choose(a, "0", &extra), 0x0f);
	assert_int_equal(choose(a, "0x9", &extra), 9);
	assert_no_mask(a, "0x10", "is not possible; it has 0x08, 0x04");
	assert_no_mask(a, "4x", "is not a number");
	assert_int_equal(choose(b, NULL, &extra), 1);
	assert_int_equal(extra, EXTRA_NONE);
	assert_int_equal(choose(b, "second", &extra), 1);
	assert_int_equal(extra, 0xaU << EXTRA_CMASK | EXTRA_INV | EXTRA_EDGE);
	assert_int_equal(choose(b, "2", &extra), 2);
	assert_int_equal(extra, EXTRA_PEBS);
	assert_no_mask(b, "1", "is that of several: choose by name");
	assert_no_mask(b, "fourth", "it has first, second, third");
	assert_no_mask(event_table_find(&t, "C"), "1", "is not possible");
	event_table_fini(&t);
}

static void a_bad_line_is_reported_with_file_and_line_and_left_out(void **state)
{
	static const struct {
		const char *line, *complaint;
	} rows[] = {
		{ "event:0x41 counters:0 um:zero", "events:1: no 'name:'" },
		{ "counters:0 name:A", "events:1: no 'event:'" },
		{ "event:0x41 name:A", "events:1: no 'counters:'" },
		{ "event:0x41 ext:x counters:0 name:A", "events:1: both 'counters:' and 'ext:'" },
		{ "event:0x41 counters:0,99 name:A", "counters:0,99 is not a list" },
		{ "event:0x41 counters:0, name:A", "counters:0, is not a list" },
		{ "event:zz counters:0 name:A", "event:zz is not a number" },
		{ "event:0x123456789 counters:0 name:A", "is not a number of 32 bits" },
		{ "event:0x41 counters:0 name:A.B", "has a '.' or '/'" },
		{ "event:0x41 event:0x42 counters:0 name:A", "the tag 'event:' is given twice" },
		{ "event:0x41 counters:0 name:A colour:red", "unknown tag 'colour:'" },
		{ "event:0x41 counters:0 name:A rubbish", "'rubbish' is not TAG:VALUE" },
		{ "event:0x41 counters:0 name:A um:absent", "no unit mask 'absent'" },
		{ "include:x", "an include is not possible here" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		cleanup(free_at_exit) char *text =
			xasprintf("%s\nevent:0x1 counters:0 um:zero name:GOOD : stays\n",
				  rows[i].line);
		struct event_table t = table_of(text, masks);

		assert_int_equal(t.complaints.n, 1);
		if (!strstr(t.complaints.data[0], rows[i].complaint))
			fail_msg("'%s' is not \"%s\"", t.complaints.data[0], rows[i].complaint);
		assert_int_equal(t.events.n, 1);
		assert_non_null(event_table_find(&t, "GOOD"));
		event_table_fini(&t);
	}
}

static void a_bad_mask_and_its_events_are_reported(void **state)
{
	static const struct {
		const char *text, *complaint;
	} rows[] = {
		{ "name:m type:odd default:0x1\n\t0x1 a\n", "unit_masks:1: type:odd is none of" },
		{ "name:m type:bitmask\n\t0x1 a\n", "unit_masks:1: no 'default:'" },
		{ "\t0x1 a\n", "unit_masks:1: a value without" },
		{ "name:m type:bitmask default:0x1\n\tzz a\n", "unit_masks:2: 'zz' is not a hex" },
		{ "name:m type:bitmask default:0x1\n\t0x1 extra:odd n a\n",
		  "'odd' is none of edge" },
		{ "name:m type:bitmask default:0x1\n\t0x1 extra:edge\n", "no name behind" },
		{ "name:m type:bitmask default:0x1\nname:m type:bitmask default:0x1\n",
		  "unit_masks:2: the unit mask 'm' is given twice" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct event_table t = table_of("", rows[i].text);

		assert_int_equal(t.complaints.n, 1);
		if (!strstr(t.complaints.data[0], rows[i].complaint))
			fail_msg("'%s' is not \"%s\"", t.complaints.data[0], rows[i].complaint);
		event_table_fini(&t);
	}
}

static void counters_are_given_by_backtracking(void **state)
{
	struct event_table t = table_of("event:1 counters:0,1 name:ANY : x\n"
					"event:2 counters:0 name:FIRST : x\n"
					"event:3 counters:0 name:ALSO : x\n"
					"event:4 ext:ibs_op name:IBS : x\n",
					"");
	const struct table_event *any = event_table_find(&t, "ANY");
	const struct table_event *first = event_table_find(&t, "FIRST");
	const struct table_event *also = event_table_find(&t, "ALSO");
	const struct table_event *ibs = event_table_find(&t, "IBS");
	const struct table_event *good[] = { any, ibs, first }, *bad[] = { any, first, also };
	struct error err = { 0 };
	int out[3];

	(void)state;
	assert_int_equal(table_events_allocate(good, 3, 4, out, &err), 0);
	assert_int_equal(out[0], 1);
	assert_int_equal(out[1], -1);
	assert_int_equal(out[2], 0);
	assert_int_equal(table_events_allocate(bad, 3, 4, out, &err), -EBUSY);
	assert_non_null(strstr(err.text, "event 'ALSO' has no free counter"));
	assert_non_null(strstr(err.text, "FIRST (0)"));
	assert_int_equal(table_events_allocate(bad, 3, 2, out, &err), -EBUSY);
	assert_non_null(strstr(err.text, "3 events need a counter, and there are 2"));
	event_table_fini(&t);
}

/* A machine with event files for one processor. */
static struct machine *with_files(void **state, char dir[static 96])
{
	struct machine *m = *state;

	snprintf(dir, 96, "%s/events", m->root);
	m->sources.events = dir;
	put(m, "proc/cpuinfo", AMD);
	put(m, "events/x86-64/generic/unit_masks", masks);
	put(m, "events/x86-64/generic/events",
	    "include:x86-64/base\n"
	    "event:0x1c0 counters:0,1 um:mesi minimum:6000 name:MINE : an event of my own\n"
	    "event:0xf100 ext:ibs_op um:zero minimum:50000 name:IBS_OP_ALL : all\n");
	put(m, "events/x86-64/base/events",
	    "include:x86-64/generic\n"
	    "event:0x76 counters:0,1 um:zero minimum:50000 name:CPU_CLK_UNHALTED : cycles\n");
	return m;
}

static const struct counter *parse(struct machine *m, const char *spec)
{
	counters_fini(&m->counters);
	memset(&m->err, 0, sizeof(m->err));
	return counter_parse(&m->sources, spec, &(struct counter_rate){ 0 }, &m->counters,
			     &m->err) < 0
		       ? NULL
		       : &m->counters.data[0];
}

static void assert_refused(struct machine *m, const char *spec, const char *text)
{
	if (parse(m, spec))
		fail_msg("'%s' was taken", spec);
	if (!strstr(m->err.text, text))
		fail_msg("'%s': the message is \"%s\", without \"%s\"", spec, m->err.text, text);
}

static void events_of_files_can_be_asked_for(void **state)
{
	char dir[96];
	struct machine *m = with_files(state, dir);
	const struct counter *c = parse(m, "MINE:10000:0x3:0:1");

	if (!c)
		fail_msg("%s", m->err.text);
	assert_int_equal(c->attr.type, PERF_TYPE_RAW);
	/* code 0x1c0: its upper bits are AMD's, at 32 */
	assert_true(c->attr.config == (UINT64_C(1) << 32 | 0x3c0));
	assert_true(c->attr.exclude_kernel);
	assert_int_equal(c->attr.sample_period, 10000);
	assert_int_equal(c->unit_mask, 3);
	assert_int_equal(c->event_code, 0x1c0);
	assert_string_equal(c->name, "MINE:u");
	c = parse(m, "cpu_clk_unhalted");
	assert_non_null(c);
	assert_true(c->attr.config == 0x76);
	assert_refused(m, "MINE:100", "below the minimum of 6000");
	assert_refused(m, "MINE:10000:0x70", "the unit mask '0x70' is not possible");
	assert_refused(m, "IBS_OP_ALL:50000", "there is no ibs_op here");
}

static void an_unknown_processor_leaves_the_generic_events(void **state)
{
	char dir[96];
	struct machine *m = with_files(state, dir);

	put(m, "proc/cpuinfo", "vendor_id\t: Nobody\ncpu family\t: 1\nmodel\t\t: 1\n");
	assert_non_null(parse(m, "cycles"));
	assert_null(parse(m, "MINE"));
}

static void a_cpus_file_adds_a_processor(void **state)
{
	char dir[96];
	struct machine *m = with_files(state, dir);
	const struct cpu_type *cpu;
	struct event_table t;

	put(m, "events/cpus",
	    "cpu:x86-64/mine vendor:AuthenticAMD family:25 model:1,0x21 counters:6 "
	    "default:MY_CYCLES:100000:0:1:1 : My own\n"
	    "cpu:x86-64/bad vendor:AuthenticAMD\n");
	put(m, "events/x86-64/mine/events", "event:0x76 counters:5 um:zero name:MY_CYCLES : c\n");
	assert_int_equal(event_files_load(&m->sources, NULL, &t, &cpu, NULL), 0);
	assert_string_equal(cpu->name, "x86-64/mine");
	assert_string_equal(cpu->pretty, "My own");
	assert_string_equal(cpu->default_event, "MY_CYCLES:100000:0:1:1");
	assert_int_equal(cpu_type_n_counters(cpu, &m->sources), 6);
	assert_int_equal(t.complaints.n, 1);
	assert_non_null(strstr(t.complaints.data[0], "cpus:2: no 'family:'"));
	event_table_fini(&t);
	assert_non_null(parse(m, "my_cycles"));
}

static void ones_own_folder_comes_before_the_others(void **state)
{
	struct machine *m = *state;
	char dirs[192], dir[96];

	with_files(state, dir);
	snprintf(dirs, sizeof(dirs), "%s/own:%s", m->root, dir);
	m->sources.events = dirs;
	put(m, "own/x86-64/generic/events",
	    "event:0x99 counters:0 um:mesi name:MINE : another\n"
	    "event:0x76 counters:0 um:zero name:TICKS : another name\n");
	assert_true(parse(m, "MINE")->attr.config == 0xf99);
	assert_true(parse(m, "TICKS")->attr.config == 0x76);
	assert_true(parse(m, "CPU_CLK_UNHALTED")->attr.config == 0x76);
}

static void processors_are_known_by_cpuinfo(void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ AMD, "x86-64/generic" },
		{ "vendor_id\t: AuthenticAMD\ncpu family\t: 21\nmodel\t\t: 2\n",
		  "x86-64/family15h" },
		{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 94\n", "i386/skylake" },
		{ "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n",
		  "i386/arch_perfmon" },
		{ "CPU implementer\t: 0x41\nCPU part\t: 0xd03\n", "arm/armv8-ca53" },
		{ "processor\t: 0\ncpu\t\t: POWER8 (raw), altivec supported\n", "ppc64/power8" },
	};
	struct machine *m = *state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct cpu_type *cpu;

		put(m, "proc/cpuinfo", rows[i].text);
		cpu = cpu_type_detect(&m->sources, NULL);
		assert_non_null(cpu);
		assert_string_equal(cpu->name, rows[i].name);
	}
	put(m, "proc/cpuinfo", AMD);
	assert_true(cpu_type_mhz(&m->sources) == 2400.5);
}

static void numbers_in_sample_files_are_oprofiles(void **state)
{
	(void)state;
	assert_string_equal(cpu_type_by_number(4)->name, "timer");
	assert_string_equal(cpu_type_by_number(69)->pretty, "AMD64 generic");
	assert_string_equal(cpu_type_by_number(87)->name, "arm/armv8-thunderx2");
	assert_null(cpu_type_by_number(88));
	assert_null(cpu_type_by_number(CPU_TYPE_NEW));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_gives_an_event_with_its_unit_mask),
		cmocka_unit_test(unit_masks_by_number_by_name_and_by_default),
		cmocka_unit_test(a_bad_line_is_reported_with_file_and_line_and_left_out),
		cmocka_unit_test(a_bad_mask_and_its_events_are_reported),
		cmocka_unit_test(counters_are_given_by_backtracking),
		ON_A_MACHINE(events_of_files_can_be_asked_for),
		ON_A_MACHINE(an_unknown_processor_leaves_the_generic_events),
		ON_A_MACHINE(a_cpus_file_adds_a_processor),
		ON_A_MACHINE(ones_own_folder_comes_before_the_others),
		ON_A_MACHINE(processors_are_known_by_cpuinfo),
		cmocka_unit_test(numbers_in_sample_files_are_oprofiles),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
