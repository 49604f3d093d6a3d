/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The events of a recording, and the event of each record. */
#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "perfdata/attr.h"
#include "perfdata/state.h"

static void counter_add_id(struct perfdata *p, uint32_t counter, uint64_t id)
{
	*intmap_put(&p->by_id, id, NULL) = counter;
}

struct perfdata_counter *counter_add(struct perfdata *p, const struct perf_event_attr *attr,
				     const void *ids, size_t n)
{
	struct perfdata_counter *c = vec_add(&p->info.counters);
	struct order_reader o = order_reader_over(ids, n * 8, p->is_foreign);
	uint64_t *copy = arena_alloc(p->arena, n * 8 + 1);

	c->attr = *attr;
	c->ids = copy;
	c->n_ids = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		copy[i] = order_u64(&o);
		counter_add_id(p, (uint32_t)p->info.counters.n - 1, copy[i]);
	}
	return c;
}

struct perfdata_counter *counter_of_id(struct perfdata *p, uint64_t id)
{
	uint32_t *at = intmap_find(&p->by_id, id);

	return at ? &p->info.counters.data[*at] : NULL;
}

/*
 * Finds the places of ids. All events of a recording have them at the same place; otherwise a
 * reader could not find a record's event. IDENTIFIER is the first field of a sample and the last of
 * other records. ID is behind the other fields of the first event.
 */
static int id_word_of(uint64_t type)
{
	if (type & PERF_SAMPLE_IDENTIFIER)
		return 0;
	return type & PERF_SAMPLE_ID
		       ? __builtin_popcountll(type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						      PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR))
		       : -1;
}

static void find_id_words(struct perfdata *p)
{
	const struct perf_event_attr *a = &p->info.counters.data[0].attr;
	uint64_t type = a->sample_type;

	p->guest_id_word = id_word_of(type);
	p->id_word = -1;
	p->id_word_from_end = 0;
	if (p->info.counters.n < 2)
		return;
	p->id_word = p->guest_id_word;
	if (type & PERF_SAMPLE_IDENTIFIER)
		p->id_word_from_end = 1;
	else if (type & PERF_SAMPLE_ID)
		p->id_word_from_end =
			1 + __builtin_popcountll(type & (PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU));
	if (!a->sample_id_all)
		p->id_word_from_end = 0;
}

/* The bytes before TIME in a sample: the header and IDENTIFIER, IP, TID. */
static uint32_t time_offset(uint64_t sample_type)
{
	uint64_t before = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID;

	if (!(sample_type & PERF_SAMPLE_TIME))
		return 0;
	return 8 + 8 * (uint32_t)__builtin_popcountll(sample_type & before);
}

static void name_counter(struct perfdata *p, struct perfdata_counter *c)
{
	uint32_t *tracepoint = c->attr.type == PERF_TYPE_TRACEPOINT
				       ? intmap_find(&p->by_tracepoint, c->attr.config)
				       : NULL;
	const char *pmu = NULL;
	struct buf text = { 0 };

	if (tracepoint) {
		c->name = p->info.tracepoints.data[*tracepoint].name;
		return;
	}
	vec_foreach (&p->pmus, known)
		if (known->type == c->attr.type)
			pmu = known->name;
	attr_name(&c->attr, pmu, &text);
	c->name = arena_strndup(p->arena, (const char *)text.data, text.len);
	buf_fini(&text);
}

/* The event of `perf record --off-cpu`. */
static bool is_off_cpu(const struct perfdata_counter *c)
{
	return c->attr.type == PERF_TYPE_SOFTWARE && c->attr.config == PERF_COUNT_SW_BPF_OUTPUT &&
	       !strcmp(c->name, "offcpu-time");
}

int counters_finish(struct perfdata *p, struct error *err)
{
	size_t n = p->info.counters.n;

	if (!n)
		return error_set(err, -EINVAL, "there is no event in it");
	p->fixed_periods = xcalloc(n, sizeof(*p->fixed_periods));
	p->time_offs = xcalloc(n, sizeof(*p->time_offs));
	for (size_t i = 0; i < n; i++) {
		struct perfdata_counter *c = &p->info.counters.data[i];
		const struct perf_event_attr *a = &c->attr;

		if (!c->name)
			name_counter(p, c);
		c->unit = is_off_cpu(c) ? "ns" : attr_unit(a);
		c->has_chains = a->sample_type & PERF_SAMPLE_CALLCHAIN ||
				(is_off_cpu(c) && a->sample_type & PERF_SAMPLE_RAW);
		p->time_offs[i] = time_offset(a->sample_type);
		p->fixed_periods[i] = a->freq || !a->sample_period ? 1 : a->sample_period;
		vec_push(&p->formats,
			 (struct record_format){
				 .sample_type = a->sample_type,
				 .sample_id_all = a->sample_id_all,
				 .counter = (uint32_t)i,
				 .read_format = a->read_format,
				 .branch_sample_type = a->branch_sample_type,
				 .regs_user = a->sample_regs_user,
				 .regs_intr = a->sample_regs_intr,
				 .max_stack = a->sample_max_stack,
				 .has_values_by_thread =
					 a->inherit && a->sample_type & PERF_SAMPLE_TID,
				 .has_waits = is_off_cpu(c) && a->sample_type & PERF_SAMPLE_RAW,
				 .fixed_periods = p->fixed_periods,
			 });
	}
	find_id_words(p);
	return 0;
}

uint32_t perfdata_add_counter(struct perfdata *p, const struct perf_event_attr *attr,
			      const char *name)
{
	struct perfdata_counter *c = counter_add(p, attr, NULL, 0);

	c->unit = attr_unit(attr);
	c->has_chains = attr->sample_type & PERF_SAMPLE_CALLCHAIN;
	if (name)
		c->name = arena_strndup(p->arena, name, strlen(name));
	else
		name_counter(p, c);
	assert(c->name);
	return (uint32_t)p->info.counters.n - 1;
}
