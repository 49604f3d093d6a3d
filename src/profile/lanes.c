/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lanes: the groups of columns of a profile, and their order. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/index.h"

uint32_t profile_lane_value(const struct profile_lane *lane, enum profile_key key)
{
	switch (key) {
	case PROFILE_EVENT:
		return lane->counter;
	case PROFILE_CPU:
		return lane->cpu;
	case PROFILE_PROCESS:
		return lane->process;
	case PROFILE_THREAD:
		return lane->thread;
	default:
		return NO_INDEX;
	}
}

static bool takes_counter(const struct query *q, const struct counter_info *c)
{
	return query_takes_name(q, FILTER_EVENT, c->name) &&
	       query_takes_number(q, FILTER_COUNT, c->count) &&
	       query_takes_number(q, FILTER_UNIT_MASK, c->unit_mask);
}

static bool differ_in_mask_only(const struct counter_info *a, const struct counter_info *b)
{
	return !strcmp(a->name, b->name) && a->count == b->count && a->freq_hz == b->freq_hz &&
	       a->in_user == b->in_user && a->in_kernel == b->in_kernel;
}

/* The lane of a counter that another one's stands for, or NO_INDEX. */
static uint32_t merged_lane(struct profile *p, const struct counter_info *c)
{
	for (uint32_t i = 0; p->index->request->merge_masks && i < p->n_lanes; i++) {
		const struct counter_info *other = &p->session->info.counters[p->lanes[i].counter];

		if (!differ_in_mask_only(other, c))
			continue;
		p->lanes[i].masks_merged |= other->unit_mask != c->unit_mask;
		p->lanes[i].masks |= c->unit_mask;
		return i;
	}
	return NO_INDEX;
}

static void add_lane(struct profile *p, uint32_t counter)
{
	p->lanes[p->n_lanes++] = (struct profile_lane){
		.counter = counter,
		.cpu = NO_INDEX,
		.process = NO_INDEX,
		.thread = NO_INDEX,
		.masks = counter == NO_INDEX ? 0 : p->session->info.counters[counter].unit_mask,
	};
}

/*
 * A lane for every counter that the query takes. If events are rows, there is a single lane. A
 * session without counters has one, too.
 */
void lanes_init(struct profile *p)
{
	const struct session_info *info = &p->session->info;
	bool is_single = key_list_has(&p->class_keys, PROFILE_EVENT);

	p->lanes = xcalloc(info->n_counters + 1, sizeof(*p->lanes));
	p->index->lane_of = xcalloc(info->n_counters + 1, sizeof(uint32_t));
	for (uint32_t i = 0; i < info->n_counters; i++) {
		uint32_t lane = NO_INDEX;

		p->index->lane_of[i] = NO_INDEX;
		if (!takes_counter(p->index->query, &info->counters[i]))
			continue;
		if (is_single && p->n_lanes) {
			p->lanes[0].counter = NO_INDEX;
			lane = 0;
		}
		lane = lane == NO_INDEX ? merged_lane(p, &info->counters[i]) : lane;
		if (lane == NO_INDEX) {
			lane = p->n_lanes;
			add_lane(p, i);
		}
		p->index->lane_of[i] = lane;
	}
	if (!p->n_lanes)
		add_lane(p, NO_INDEX);
}

/* The lane of its counter, with the class's values of the keys that are columns. */
uint32_t lanes_add(struct profile *p, const struct profile_class *class)
{
	uint32_t counter_lane = p->index->lane_of[class->counter];
	struct profile_lane lane;

	if (!p->index->finds_lanes)
		return counter_lane;
	memset(&lane, 0, sizeof(lane)); /* its bytes are the key, padding, too */
	lane.counter = p->lanes[counter_lane].counter;
	lane.masks_merged = p->lanes[counter_lane].masks_merged;
	lane.masks = p->lanes[counter_lane].masks;
	lane.cpu = lane.process = lane.thread = NO_INDEX;
	if (key_list_has(&p->lane_keys, PROFILE_CPU))
		lane.cpu = class->cpu == (uint32_t)CLASS_ALL ? PROFILE_CPU_ALL : class->cpu;
	if (key_list_has(&p->lane_keys, PROFILE_PROCESS))
		lane.process = index_process(p, class->pid);
	if (key_list_has(&p->lane_keys, PROFILE_THREAD))
		lane.thread = index_thread(p, class->pid, class->tid);
	return strings_add_n(&p->index->lane_tuples, (const char *)&lane, sizeof(lane)).n - 1;
}

static int order_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

/* OProfile's order of events: by unit mask, name and count, the latter as text. */
static int by_counter(const struct profile *p, const struct profile_lane *x,
		      const struct profile_lane *y)
{
	const struct counter_info *a = &p->session->info.counters[x->counter];
	const struct counter_info *b = &p->session->info.counters[y->counter];
	char counts[2][24];
	int order = 0;

	if (!p->index->request->lanes_by_samples || x->counter == y->counter ||
	    x->counter == NO_INDEX || y->counter == NO_INDEX)
		return order_u32(x->counter, y->counter);
	if (!p->index->request->merge_masks)
		order = (a->unit_mask > b->unit_mask) - (a->unit_mask < b->unit_mask);
	order = order ? order : strcmp(a->name, b->name);
	snprintf(counts[0], sizeof(counts[0]), "%" PRIu64, a->count);
	snprintf(counts[1], sizeof(counts[1]), "%" PRIu64, b->count);
	order = order ? order : strcmp(counts[0], counts[1]);
	return order ? order : order_u32(x->counter, y->counter);
}

/* Ids in the order of their numbers; "all", -1, is the last. */
static int by_value(const void *a, const void *b, void *context)
{
	const struct profile *p = context;
	const struct profile_lane *x = &p->lanes[*(const uint32_t *)a];
	const struct profile_lane *y = &p->lanes[*(const uint32_t *)b];
	int order = order_u32(x->cpu, y->cpu);

	if (!order && x->process != NO_INDEX)
		order = order_u32((uint32_t)p->processes.data[x->process].pid,
				  (uint32_t)p->processes.data[y->process].pid);
	if (!order && x->thread != NO_INDEX)
		order = order_u32((uint32_t)p->threads.data[x->thread].tid,
				  (uint32_t)p->threads.data[y->thread].tid);
	if (!order && x->thread != NO_INDEX)
		order = order_u32(x->thread, y->thread);
	return order ? order : by_counter(p, x, y);
}

void lanes_done(struct profile *p)
{
	uint32_t n = p->index->lane_tuples.n - 1, *order;
	struct profile_lane *sorted;

	if (!p->index->finds_lanes || !n)
		return;
	if (n > PROFILE_MAX_LANES) {
		p->n_lanes_refused = n;
		return;
	}
	p->lanes = xrealloc(p->lanes, n, sizeof(*p->lanes));
	order = xcalloc(n, sizeof(*order));
	sorted = xcalloc(n, sizeof(*sorted));
	for (uint32_t i = 0; i < n; i++) {
		memcpy(&p->lanes[i], p->index->lane_tuples.text[i + 1], sizeof(*p->lanes));
		order[i] = i;
	}
	qsort_r(order, n, sizeof(*order), by_value, p);
	p->index->lane_order = xcalloc(n, sizeof(uint32_t));
	for (uint32_t i = 0; i < n; i++) {
		sorted[i] = p->lanes[order[i]];
		p->index->lane_order[order[i]] = i;
	}
	free(p->lanes);
	free(order);
	p->lanes = sorted;
	p->n_lanes = n;
}
