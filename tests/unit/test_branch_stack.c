/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branch stacks: the kinds as typed, the request to the kernel, and the recording's file. */
#include "folder.h"

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "counter/branch_stack.h"
#include "fake_perf.h"
#include "perfdata/perfdata.h"
#include "record/raw.h"

#define CYCLES_AT 0x401000

static struct counter hardware_counter(const char *name, uint64_t config)
{
	struct counter c = { .name = (char *)name, .spec = (char *)name, .unit = "events" };

	c.attr.type = PERF_TYPE_HARDWARE;
	c.attr.config = config;
	c.attr.sample_period = 1000;
	return c;
}

static void kinds_are_words_between_commas(void **state)
{
	struct error err = { 0 };
	uint64_t kinds;

	(void)state;
	assert_int_equal(branch_kinds_parse("any_call,ind_jmp,u", &kinds, &err), 0);
	assert_int_equal(kinds, PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_JUMP |
					PERF_SAMPLE_BRANCH_USER);
	/* The kernel refuses a mode without a kind. */
	assert_int_equal(branch_kinds_parse("u", &kinds, &err), 0);
	assert_int_equal(kinds, PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER);
	assert_int_equal(branch_kinds_parse("any,,u", &kinds, &err), -EINVAL);
	assert_int_equal(branch_kinds_parse("any_cal", &kinds, &err), -EINVAL);
	assert_non_null(strstr(err.text, "'any_cal' is no kind of branches; there are: any, "));
}

static void an_event_that_is_no_counter_of_the_processor_is_refused(void **state)
{
	struct counters counters = { 0 };
	struct error err = { 0 };

	(void)state;
	vec_push(&counters, hardware_counter("cycles", PERF_COUNT_HW_CPU_CYCLES));
	assert_int_equal(branch_stack_request(&counters, PERF_SAMPLE_BRANCH_ANY, &err), 0);
	assert_int_equal(counters.data[0].attr.branch_sample_type, PERF_SAMPLE_BRANCH_ANY);
	vec_push(&counters, hardware_counter("page-faults", PERF_COUNT_SW_PAGE_FAULTS));
	counters.data[1].attr.type = PERF_TYPE_SOFTWARE;
	assert_int_equal(branch_stack_request(&counters, PERF_SAMPLE_BRANCH_ANY, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "'page-faults' has no branch stacks"));
	vec_fini(&counters);
}

/* A recording of two events on one CPU, whose kernel is a fake. */
struct world {
	struct fake_perf perf;
	struct perf_backend backend;
	struct counters counters;
	struct cpu_list cpus;
	struct rings *rings;
	struct raw_recording *raw;
	struct event_sink nothing;
};

static int take_nothing(struct event_sink *sink, const struct event *e)
{
	(void)sink, (void)e;
	return 0;
}

static void world_open(struct world *w)
{
	static const struct counter_sources sources;
	struct rings_config rings;
	struct raw_config raw;
	struct error err = { 0 };

	*w = (struct world){ .nothing = { take_nothing } };
	w->backend = fake_backend(&w->perf);
	vec_push(&w->counters, hardware_counter("cycles", PERF_COUNT_HW_CPU_CYCLES));
	vec_push(&w->counters, hardware_counter("instructions", PERF_COUNT_HW_INSTRUCTIONS));
	vec_push(&w->cpus, 0);
	assert_int_equal(branch_stack_request(&w->counters, PERF_SAMPLE_BRANCH_ANY, &err), 0);
	rings = (struct rings_config){ .backend = &w->backend,
				       .counters = &w->counters,
				       .sources = &sources,
				       .cpus = &w->cpus,
				       .cgroup_fd = -1,
				       .for_file = true };
	assert_int_equal(rings_open(&rings, &w->rings, &err), 0);
	raw = (struct raw_config){ .path = "branches.data",
				   .version = "0",
				   .cpu_model = "fake",
				   .rings = w->rings,
				   .counters = &w->counters,
				   .n_cpus = 1,
				   .next = &w->nothing };
	assert_int_equal(raw_open(&raw, &w->raw, &err), 0);
	raw_set_scanning(w->raw, false);
}

static void world_close(struct world *w)
{
	uint64_t samples, n_bytes;

	assert_int_equal(rings_drain(w->rings, UINT64_MAX, raw_sink(w->raw)), 0);
	assert_int_equal(raw_close(w->raw, &samples, &n_bytes, NULL), 0);
	rings_close(w->rings);
	vec_fini(&w->counters);
	vec_fini(&w->cpus);
}

/* IDENTIFIER, IP, TID, TIME, CPU, BRANCH_STACK */
static void write_sample(struct world *w, uint64_t event, uint64_t time, uint64_t n)
{
	struct buf b = { 0 };

	buf_u32(&b, PERF_RECORD_SAMPLE);
	buf_u32(&b, PERF_RECORD_MISC_USER);
	buf_u64(&b, event);
	buf_u64(&b, CYCLES_AT);
	buf_u32(&b, 41);
	buf_u32(&b, 42);
	buf_u64(&b, time);
	buf_u64(&b, 0);
	buf_u64(&b, n);
	for (uint64_t i = 0; i < n; i++) {
		buf_u64(&b, 0x401010 + i);
		buf_u64(&b, 0x401000 + i);
		buf_u64(&b, 1); /* mispredicted */
	}
	((uint16_t *)b.data)[3] = (uint16_t)b.len;
	assert_true(fake_write(fake_ring(&w->perf, 0), b.data, b.len));
	buf_fini(&b);
}

struct seen {
	struct event_sink sink;
	uint64_t n_samples, n_branches, ip_sum, from_sum, to_sum, flags_sum;
};

static int count_branches(struct event_sink *sink, const struct event *e)
{
	struct seen *s = (struct seen *)sink;
	const struct sample_extra *x;

	if (e->type != EVENT_SAMPLE)
		return 0;
	x = e->sample.extra;
	assert_non_null(x);
	s->n_samples++;
	s->ip_sum += e->sample.ip;
	s->n_branches += x->n_branches;
	for (uint32_t i = 0; i < x->n_branches; i++) {
		s->from_sum += x->branches[i].from;
		s->to_sum += x->branches[i].to;
		s->flags_sum += x->branches[i].flags;
	}
	return 0;
}

static void branches_of_the_rings_are_those_of_the_file(void **state)
{
	struct seen seen = { .sink = { count_branches } };
	struct perfdata *p = NULL;
	struct error err = { 0 };
	struct world w;
	char *text = NULL;
	size_t size = 0;
	int n_asked = 0;

	(void)state;
	world_open(&w);
	for (int i = 0; i < w.perf.n; i++) {
		const struct perf_event_attr *a = &w.perf.events[i].attr;

		/* The kernel refuses a dummy with branch stacks. */
		assert_int_equal(!!(a->sample_type & PERF_SAMPLE_BRANCH_STACK),
				 a->type == PERF_TYPE_HARDWARE);
		assert_int_equal(a->branch_sample_type,
				 a->type == PERF_TYPE_HARDWARE ? PERF_SAMPLE_BRANCH_ANY : 0);
		if (a->type != PERF_TYPE_HARDWARE)
			continue;
		n_asked++;
		write_sample(&w, (uint64_t)(100 + i) * 1000, 10 + (uint64_t)i, 32);
		write_sample(&w, (uint64_t)(100 + i) * 1000, 20 + (uint64_t)i, 0);
	}
	assert_int_equal(n_asked, 2);
	world_close(&w);
	assert_int_equal(file_read_all("branches.data", 1 << 20, &text, &size), 0);
	assert_int_equal(perfdata_open(&(struct perfdata_bytes){ (const uint8_t *)text, size }, 1,
				       &p, &err),
			 0);
	assert_int_equal(perfdata_info(p)->counters.n, 3); /* and the side band */
	assert_int_equal(perfdata_read(p, &seen.sink, &err), 0);
	assert_int_equal(seen.n_samples, 4);
	assert_int_equal(seen.ip_sum, 4 * CYCLES_AT);
	assert_int_equal(seen.n_branches, 64);
	assert_int_equal(seen.from_sum, 2 * (32 * 0x401010 + 31 * 16));
	assert_int_equal(seen.to_sum, 2 * (32 * 0x401000 + 31 * 16));
	assert_int_equal(seen.flags_sum, 64);
	perfdata_free(p);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kinds_are_words_between_commas),
		cmocka_unit_test(an_event_that_is_no_counter_of_the_processor_is_refused),
		cmocka_unit_test(branches_of_the_rings_are_those_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
