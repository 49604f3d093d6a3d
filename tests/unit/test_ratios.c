/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake_machine.h"

#include "record/ratios.h"

static void put_events(const struct machine *m, const char *pmu, const char *const *events)
{
	char path[256];

	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/type", pmu);
	put(m, path, strcmp(pmu, "cpu_atom") ? "4\n" : "10\n");
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/format/event", pmu);
	put(m, path, "config:0-7\n");
	snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/format/umask", pmu);
	put(m, path, "config:8-15\n");
	for (unsigned i = 0; events[i]; i++) {
		char terms[40];

		snprintf(terms, sizeof(terms), "event=0x%x,umask=0x%x\n", i + 1, 0x80 + i);
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s/events/%s", pmu,
			 events[i]);
		put(m, path, terms);
	}
}

static const char *const sapphire_rapids[] = { "slots",
					       "topdown-retiring",
					       "topdown-bad-spec",
					       "topdown-fe-bound",
					       "topdown-be-bound",
					       "topdown-heavy-ops",
					       "topdown-br-mispredict",
					       "topdown-fetch-lat",
					       "topdown-mem-bound",
					       NULL };
static const char *const skylake[] = { "topdown-total-slots",      "topdown-slots-issued",
				       "topdown-slots-retired",    "topdown-fetch-bubbles",
				       "topdown-recovery-bubbles", NULL };

/* Parses the method's events and gives them these counts: the shares, as "1 retiring 0.50; …". */
static void assert_shares(struct machine *m, const uint64_t *counts, size_t n, const char *expected)
{
	struct topdown t;
	struct topdown_share shares[TOPDOWN_SHARES_MAX];
	struct count values[16] = { 0 };
	char text[1024] = "";
	size_t n_shares;

	assert_true(topdown_find(&m->sources, &t));
	assert_int_equal(counter_parse(&m->sources, t.events, &(struct counter_rate){ 0 },
				       &m->counters, &m->err),
			 0);
	assert_int_equal(m->counters.n, n);
	for (size_t i = 0; i < n; i++)
		values[i] = (struct count){ counts[i], 100, counts[i] == UINT64_MAX ? 0 : 100 };
	n_shares = topdown_shares(&t, &m->counters, values, shares);
	for (size_t i = 0; i < n_shares; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u %s %.2f; ",
			 shares[i].level, shares[i].name, shares[i].share);
	assert_string_equal(text, expected);
	topdown_fini(&t);
}

static void both_levels_of_a_new_processor(void **state)
{
	static const uint64_t counts[] = { 1000, 400, 100, 200, 300, 50, 80, 150, 250 };
	struct machine *m = *state;

	put_events(m, "cpu", sapphire_rapids);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.40; 2 heavy operations 0.05; 2 light operations 0.35; "
		      "1 bad speculation 0.10; 2 branch mispredicts 0.08; 2 machine clears 0.02; "
		      "1 frontend bound 0.20; 2 fetch latency 0.15; 2 fetch bandwidth 0.05; "
		      "1 backend bound 0.30; 2 memory bound 0.25; 2 core bound 0.05; ");
	/* The kernel takes them behind their leader only. */
	assert_int_equal(m->counters.data[0].group, 1);
	assert_int_equal(m->counters.data[8].group, 1);
}

static void parts_have_no_more_than_their_share_of_level_1(void **state)
{
	/* More heavy operations than operations, and a fetch latency of all slots. */
	static const uint64_t counts[] = { 1000, 400, 100, 200, 300, 450, 80, 1000, 250 };
	struct machine *m = *state;

	put_events(m, "cpu", sapphire_rapids);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.40; 2 heavy operations 0.40; 2 light operations 0.00; "
		      "1 bad speculation 0.10; 2 branch mispredicts 0.08; 2 machine clears 0.02; "
		      "1 frontend bound 0.20; 2 fetch latency 0.20; 2 fetch bandwidth 0.00; "
		      "1 backend bound 0.30; 2 memory bound 0.25; 2 core bound 0.05; ");
}

static void level_1_where_the_processor_has_no_more(void **state)
{
	static const uint64_t counts[] = { 1000, 400, 100, 200, 300 };
	static const char *ice_lake[6];
	struct machine *m = *state;

	memcpy(ice_lake, sapphire_rapids, 5 * sizeof(*ice_lake));
	put_events(m, "cpu", ice_lake);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.40; 1 bad speculation 0.10; 1 frontend bound 0.20; 1 backend "
		      "bound 0.30; ");
}

static void cores_of_the_kind_that_has_slots(void **state)
{
	static const uint64_t counts[] = { 1000, 400, 100, 200, 300, 50, 80, 150, 250 };
	struct machine *m = *state;
	struct topdown t;

	put_events(m, "cpu_core", sapphire_rapids);
	put_events(m, "cpu_atom", sapphire_rapids + 1);
	put(m, "sys/bus/event_source/devices/cpu_core/cpus", "0-7\n");
	put(m, "sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n");
	assert_true(topdown_find(&m->sources, &t));
	assert_non_null(strstr(t.events, "{cpu_core/slots/,cpu_core/topdown-retiring/"));
	assert_null(strstr(t.events, "atom"));
	topdown_fini(&t);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.40; 2 heavy operations 0.05; 2 light operations 0.35; "
		      "1 bad speculation 0.10; 2 branch mispredicts 0.08; 2 machine clears 0.02; "
		      "1 frontend bound 0.20; 2 fetch latency 0.15; 2 fetch bandwidth 0.05; "
		      "1 backend bound 0.30; 2 memory bound 0.25; 2 core bound 0.05; ");
}

static void cycles_of_an_older_processor_have_several_slots(void **state)
{
	static const uint64_t counts[] = { 250, 600, 500, 200, 25 };
	struct machine *m = *state;
	struct topdown t;

	put_events(m, "cpu", skylake);
	/* Without the scale, no share would be right. */
	assert_false(topdown_find(&m->sources, &t));
	put(m, "sys/bus/event_source/devices/cpu/events/topdown-total-slots.scale", "4\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.50; 1 bad speculation 0.20; 1 frontend bound 0.20; 1 backend "
		      "bound 0.10; ");
}

static const char *const neoverse[] = {
	"cpu_cycles", "stall_slot", "stall_slot_frontend", "stall_slot_backend", "op_retired",
	"op_spec",    NULL
};

static void shares_of_arm_by_the_slots_that_stalled(void **state)
{
	/* 5 slots in a cycle: 2000 slots, of which 800 had an operation, and 600 of 800 retired. */
	static const uint64_t counts[] = { 400, 1200, 500, 700, 600, 800 };
	static const uint64_t no_operation[] = { 400, 2000, 2000, 0, 0, 0 };
	struct machine *m = *state;
	struct topdown t;

	put_events(m, "armv8_pmuv3_0", neoverse);
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/cpus", "0-7\n");
	/* A processor that does not count slots says 0. */
	assert_false(topdown_find(&m->sources, &t));
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/caps/slots", "0x00000000\n");
	assert_false(topdown_find(&m->sources, &t));
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/caps/slots", "0x00000005\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.30; 1 bad speculation 0.10; 1 frontend bound 0.25; 1 backend "
		      "bound 0.35; ");
	counters_drop(&m->counters, 0);
	assert_shares(m, no_operation, ARRAY_SIZE(no_operation),
		      "1 frontend bound 1.00; 1 backend bound 0.00; ");
}

static void put_arm(const struct machine *m, uint32_t part, uint32_t revision)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "processor\t: 0\nCPU implementer\t: 0x41\nCPU variant\t: 0x0\n"
		 "CPU part\t: 0x%x\nCPU revision\t: %u\n",
		 part, revision);
	put(m, "proc/cpuinfo", text);
}

static void put_neoverse(const struct machine *m, const char *slots)
{
	static const char *const newer[] = {
		"cpu_cycles",         "stall_slot",    "stall_slot_frontend",
		"stall_slot_backend", "op_retired",    "op_spec",
		"stall_frontend",     "stall_backend", NULL
	};

	put_events(m, "armv8_pmuv3_0", newer);
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/format/event", "config:0-15\n");
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/cpus", "0-7\n");
	put(m, "sys/bus/event_source/devices/armv8_pmuv3_0/caps/slots", slots);
}

static void slots_that_a_neoverse_n2_counts_too_often(void **state)
{
	/* 2000 slots: stalls of the frontend have 400 too many. */
	static const uint64_t counts[] = { 400, 1600, 900, 700, 600, 800 };
	struct machine *m = *state;

	put_arm(m, 0xd49, 2);
	put_neoverse(m, "0x00000005\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.30; 1 bad speculation 0.10; 1 frontend bound 0.25; 1 backend "
		      "bound 0.35; ");
	/* r0p3 counts them right. */
	counters_drop(&m->counters, 0);
	put_arm(m, 0xd49, 3);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.15; 1 bad speculation 0.05; 1 frontend bound 0.45; 1 backend "
		      "bound 0.35; ");
	/* V2 has eight slots: 3200, of which 1600 had an operation. */
	counters_drop(&m->counters, 0);
	put_arm(m, 0xd4f, 0);
	put_neoverse(m, "0x00000008\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.38; 1 bad speculation 0.12; 1 frontend bound 0.28; 1 backend "
		      "bound 0.22; ");
}

static void both_levels_of_a_neoverse_v3(void **state)
{
	/* 4000 slots. 20 cycles of recovery, 200 slots of them, are bad speculation. */
	static const uint64_t counts[] = { 400, 2400, 1000, 1400, 1200, 1600, 120,
					   200, 30,   90,   20,   150,  50 };
	/* The part that the recovery has of more stalls than there are. */
	static const uint64_t flushes[] = { 400, 2400, 1000, 1400, 1200, 1600, 20,
					    200, 30,   90,   20,   150,  50 };
	struct machine *m = *state;

	put_arm(m, 0xd84, 0);
	put_neoverse(m, "0x0000000a\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.30; 1 bad speculation 0.15; 1 frontend bound 0.20; 2 memory "
		      "bound 0.06; 2 core bound 0.14; 1 backend bound 0.35; 2 memory bound 0.26; "
		      "2 core bound 0.09; ");
	assert_int_equal(m->counters.data[12].attr.config, 0x816a);
	counters_drop(&m->counters, 0);
	assert_shares(m, flushes, ARRAY_SIZE(flushes),
		      "1 retiring 0.30; 1 bad speculation 0.15; 1 frontend bound 0.20; "
		      "1 backend bound 0.35; 2 memory bound 0.26; 2 core bound 0.09; ");
	/* Another maker's part of this number. */
	counters_drop(&m->counters, 0);
	put(m, "proc/cpuinfo", "CPU implementer\t: 0x48\nCPU part\t: 0xd84\n");
	assert_shares(m, counts, 6,
		      "1 retiring 0.30; 1 bad speculation 0.10; 1 frontend bound 0.25; 1 backend "
		      "bound 0.35; ");
}

static void parts_that_are_counted_apart_have_no_more_together(void **state)
{
	/* Of 200 cycles of a stalled backend, 150 wait for memory, and 120 for the core. */
	static const uint64_t counts[] = { 400, 2400, 1000, 1400, 1200, 1600, 120,
					   200, 30,   90,   20,   150,  120 };
	struct machine *m = *state;

	put_arm(m, 0xd84, 0);
	put_neoverse(m, "0x0000000a\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.30; 1 bad speculation 0.15; 1 frontend bound 0.20; 2 memory "
		      "bound 0.06; 2 core bound 0.14; 1 backend bound 0.35; 2 memory bound 0.26; "
		      "2 core bound 0.09; ");
}

static void put_amd(const struct machine *m, uint32_t family, uint32_t model)
{
	char text[128];

	snprintf(text, sizeof(text),
		 "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: %u\n"
		 "model\t\t: %u\n",
		 family, model);
	put(m, "proc/cpuinfo", text);
}

static void shares_of_amd_by_family_and_model(void **state)
{
	/* 6000 slots, or 8000 of Zen 5. */
	static const uint64_t counts[] = { 1000, 2400, 3000, 1200, 1500, 300,
					   150,  600,  40,   10,   400,  500 };
	static const uint64_t level_1[] = { 1000,       2400,       3000,       1200,
					    1500,       300,        UINT64_MAX, UINT64_MAX,
					    UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
	struct machine *m = *state;
	struct topdown t;

	put_amd(m, 25, 0x11);
	assert_false(topdown_find(&m->sources, &t)); /* without counters, as in a virtual machine */
	put(m, "sys/bus/event_source/devices/cpu/type", "4\n");
	put(m, "sys/bus/event_source/devices/cpu/format/event", "config:0-7,32-35\n");
	put(m, "sys/bus/event_source/devices/cpu/format/umask", "config:8-15\n");
	put(m, "sys/bus/event_source/devices/cpu/format/cmask", "config:24-31\n");
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.40; 2 fastpath operations 0.30; 2 microcode operations 0.10; "
		      "1 bad speculation 0.10; 2 branch mispredicts 0.08; 2 pipeline restarts "
		      "0.02; 1 frontend bound 0.20; 2 fetch latency 0.15; 2 fetch bandwidth 0.05; "
		      "1 backend bound 0.25; 2 memory bound 0.20; 2 core bound 0.05; 1 the other "
		      "thread's turn 0.05; ");
	assert_int_equal(m->counters.data[4].attr.config, 0x100001ea0);
	assert_int_equal(m->counters.data[6].attr.config, 0x1060001a0);
	assert_int_equal(m->counters.data[9].attr.config, 0x96);
	counters_drop(&m->counters, 0);
	assert_shares(m, level_1, ARRAY_SIZE(level_1),
		      "1 retiring 0.40; 1 bad speculation 0.10; 1 frontend bound 0.20; 1 backend "
		      "bound 0.25; 1 the other thread's turn 0.05; ");
	/* Zen 5 has 8 slots. */
	counters_drop(&m->counters, 0);
	put_amd(m, 26, 0x44);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "1 retiring 0.30; 2 fastpath operations 0.23; 2 microcode operations 0.07; "
		      "1 bad speculation 0.07; 2 branch mispredicts 0.06; 2 pipeline restarts "
		      "0.01; 1 frontend bound 0.15; 2 fetch latency 0.15; 2 fetch bandwidth 0.00; "
		      "1 backend bound 0.19; 2 memory bound 0.15; 2 core bound 0.04; 1 the other "
		      "thread's turn 0.04; ");
	assert_int_equal(m->counters.data[6].attr.config, 0x1080001a0);
	assert_int_equal(m->counters.data[9].attr.config, 0x19f);
	/* Zen 3 has other events. */
	put_amd(m, 25, 0x21);
	assert_false(topdown_find(&m->sources, &t));
}

static void shares_of_events_that_were_not_counted_are_left_out(void **state)
{
	/* More of a part than of the whole: they took turns. */
	static const uint64_t counts[] = { 1000, UINT64_MAX, 100, 200, 1100, 50, 120, 150, 250 };
	static const uint64_t second[] = { 1000, 100, UINT64_MAX, 200, 300, 50, 120, 150, 250 };
	static const uint64_t nothing[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	struct machine *m = *state;

	put_events(m, "cpu", sapphire_rapids);
	assert_shares(m, counts, ARRAY_SIZE(counts),
		      "2 heavy operations 0.05; 1 bad speculation 0.10; 2 branch mispredicts 0.10; "
		      "2 machine clears 0.00; 1 frontend bound 0.20; 2 fetch latency 0.15; "
		      "2 fetch bandwidth 0.05; 1 backend bound 1.00; 2 memory bound 0.25; "
		      "2 core bound 0.75; ");
	/* The parts of a share that was not counted are not bounded by the share before it. */
	counters_drop(&m->counters, 0);
	assert_shares(m, second, ARRAY_SIZE(second),
		      "1 retiring 0.10; 2 heavy operations 0.05; 2 light operations 0.05; "
		      "2 branch mispredicts 0.12; 1 frontend bound 0.20; 2 fetch latency 0.15; "
		      "2 fetch bandwidth 0.05; 1 backend bound 0.30; 2 memory bound 0.25; "
		      "2 core bound 0.05; ");
	counters_drop(&m->counters, 0);
	assert_shares(m, nothing, ARRAY_SIZE(nothing), "");
}

static void a_machine_without_these_events_has_none(void **state)
{
	struct machine *m = *state;
	struct topdown t;

	put_events(m, "cpu", sapphire_rapids + 1);
	assert_false(topdown_find(&m->sources, &t));
	topdown_fini(&t);
}

static void a_count_has_a_relation_to_another_one(void **state)
{
	struct machine *m = *state;
	struct count values[] = { { 300, 1, 1 }, { 100, 1, 1 } };
	char text[64];

	assert_int_equal(counter_parse(&m->sources, "instructions:u,cycles:u",
				       &(struct counter_rate){ 0 }, &m->counters, &m->err),
			 0);
	assert_true(ratio_print(&m->counters, values, 0, text, sizeof(text)));
	assert_string_equal(text, "      3.00 per cycle");
	assert_false(ratio_print(&m->counters, values, 1, text, sizeof(text)));
	values[1].ran_ns = 0; /* not counted */
	assert_false(ratio_print(&m->counters, values, 0, text, sizeof(text)));
}

static void a_ratio_is_of_one_kind_of_cores(void **state)
{
	struct machine *m = *state;
	struct count values[] = { { 100, 1, 1 }, { 1000, 1, 1 }, { 300, 1, 1 }, { 500, 1, 1 } };
	char text[64];

	put(m, "sys/bus/event_source/devices/cpu_core/type", "4\n");
	put(m, "sys/bus/event_source/devices/cpu_core/cpus", "0-7\n");
	put(m, "sys/bus/event_source/devices/cpu_atom/type", "10\n");
	put(m, "sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n");
	assert_int_equal(counter_parse(&m->sources, "cycles,instructions",
				       &(struct counter_rate){ 0 }, &m->counters, &m->err),
			 0);
	assert_int_equal(m->counters.n, 4);
	/* Each kind has 100 or 1000 cycles, and 300 or 500 instructions, in this order. */
	assert_true(ratio_print(&m->counters, values, 2, text, sizeof(text)));
	assert_string_equal(text, "      3.00 per cycle");
	assert_true(ratio_print(&m->counters, values, 3, text, sizeof(text)));
	assert_string_equal(text, "      0.50 per cycle");
}

static void help_has_each_formula(void **state)
{
	char *text = ratio_formulas();

	(void)state;
	assert_non_null(strstr(text, "per cycle                instructions / cycles\n"));
	assert_non_null(strstr(text, "core bound             (topdown-be-bound - "
				     "topdown-mem-bound) / slots\n"));
	assert_non_null(strstr(text, "bad speculation          (W * cpu_cycles - stall_slot) / "
				     "(W * cpu_cycles) * (op_spec - op_retired) / op_spec\n"));
	assert_non_null(strstr(text, "\nArm, Neoverse V3 and N3:\n"));
	assert_non_null(strstr(text, " + (W * stall_frontend_flush) / (W * cpu_cycles)\n"));
	assert_non_null(strstr(text, "pipeline restarts      (de_src_op_disp.all - ex_ret_ops) / "
				     "(W * ls_not_halted_cyc) * resyncs / "
				     "(ex_ret_brn_misp + resyncs)\n"));
	/* One list for all of AMD's processors. */
	assert_null(strstr(strstr(text, "AMD, ") + 1, "AMD, "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_MACHINE(both_levels_of_a_new_processor),
		ON_A_MACHINE(parts_have_no_more_than_their_share_of_level_1),
		ON_A_MACHINE(level_1_where_the_processor_has_no_more),
		ON_A_MACHINE(cores_of_the_kind_that_has_slots),
		ON_A_MACHINE(cycles_of_an_older_processor_have_several_slots),
		ON_A_MACHINE(shares_of_arm_by_the_slots_that_stalled),
		ON_A_MACHINE(slots_that_a_neoverse_n2_counts_too_often),
		ON_A_MACHINE(both_levels_of_a_neoverse_v3),
		ON_A_MACHINE(parts_that_are_counted_apart_have_no_more_together),
		ON_A_MACHINE(shares_of_amd_by_family_and_model),
		ON_A_MACHINE(shares_of_events_that_were_not_counted_are_left_out),
		ON_A_MACHINE(a_machine_without_these_events_has_none),
		ON_A_MACHINE(a_count_has_a_relation_to_another_one),
		ON_A_MACHINE(a_ratio_is_of_one_kind_of_cores),
		ON_A_MACHINE(help_has_each_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
