/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_synth_counters.h"

#include <linux/perf_event.h>

/* What all of them have of the event that the trace was recorded by. */
static struct perf_event_attr synth_base_attr(const struct pt_synth *s, struct perfdata *data)
{
	const struct pt_trace_info *info = pt_trace_info(s->trace);
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_HARDWARE,
		.sample_period = 1,
		.sample_id_all = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD,
	};

	vec_foreach (&perfdata_info(data)->counters, c) {
		if (c->attr.type != info->pmu_type)
			continue;
		attr.exclude_user = c->attr.exclude_user;
		attr.exclude_kernel = c->attr.exclude_kernel;
		attr.exclude_hv = c->attr.exclude_hv;
		attr.exclude_host = c->attr.exclude_host;
		attr.exclude_guest = c->attr.exclude_guest;
		break;
	}
	if (!info->is_timeless)
		attr.sample_type |= PERF_SAMPLE_TIME;
	if (info->is_per_cpu)
		attr.sample_type |= PERF_SAMPLE_CPU;
	return attr;
}

static void synth_add_synths(struct pt_synth *s, struct perfdata *data, struct perf_event_attr attr)
{
	attr.type = PT_SYNTH_TYPE;
	attr.sample_type |= PERF_SAMPLE_RAW;
	for (uint32_t i = 0; i < N_PT_SYNTHS; i++) {
		bool is_of_event = i == PT_SYNTH_EVT || i == PT_SYNTH_IFLAG;
		bool is_wanted = i == PT_SYNTH_PTWRITE ? s->itrace.ptwrites
				 : is_of_event         ? s->itrace.interrupts && s->has_event_trace
						       : s->itrace.power;

		attr.config = i;
		s->synths[i] =
			is_wanted ? (int32_t)perfdata_add_counter(data, &attr, pt_synth_names[i])
				  : NO_COUNTER;
	}
}

/* The event whose PEBS records go to the trace; there is one at most. */
static void synth_find_pebs_counter(struct pt_synth *s, const struct perfdata *data)
{
	const struct perfdata_info *info = perfdata_info(data);

	for (size_t i = 0; i < info->counters.n; i++) {
		const struct perf_event_attr *attr = &info->counters.data[i].attr;

		if (!attr->aux_output)
			continue;
		s->pebs = (int32_t)i;
	}
}

void synth_add_counters(struct pt_synth *s, struct perfdata *data)
{
	struct perf_event_attr attr = synth_base_attr(s, data), with = attr, own;

	s->instructions = s->cycles = s->branches = s->transactions = s->pebs = NO_COUNTER;
	if (s->itrace.pebs)
		synth_find_pebs_counter(s, data);
	if (s->itrace.branches) {
		with.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS;
		with.sample_type |= PERF_SAMPLE_ADDR;
		s->branches = (int32_t)perfdata_add_counter(data, &with, NULL);
	}
	with = attr;
	with.config = PERF_COUNT_HW_INSTRUCTIONS;
	if (s->itrace.chains)
		with.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (s->itrace.last_branches)
		with.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	own = with;
	own.sample_period = s->itrace.period;
	if (s->itrace.instructions)
		s->instructions = (int32_t)perfdata_add_counter(data, &own, NULL);
	own.config = PERF_COUNT_HW_CPU_CYCLES;
	if (s->itrace.cycles)
		s->cycles = (int32_t)perfdata_add_counter(data, &own, NULL);
	s->passes_insns = s->itrace.instructions || s->itrace.cycles;
	if (s->itrace.transactions)
		s->transactions = (int32_t)perfdata_add_counter(data, &with, "transactions");
	synth_add_synths(s, data, attr);
}
