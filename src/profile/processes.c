/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/processes.h"

#include <stdlib.h>
#include <string.h>

#include "store/session.h"

void processes_request(struct profile_request *request)
{
	key_list_add(&request->keys, PROFILE_PROCESS);
	key_list_add(&request->keys, PROFILE_CONTEXT);
	request->with_functions = true;
}

static const struct counter_info *lane_counter(const struct profile *p, uint32_t lane)
{
	uint32_t counter = p->lanes[lane].counter;

	return counter == NO_INDEX ? NULL : &p->session->info.counters[counter];
}

uint32_t processes_first_lane(const struct profile *p)
{
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		const struct counter_info *c = lane_counter(p, lane);

		if (p->lanes[lane].total.samples && (!c || !counter_is_wait(c)))
			return lane;
	}
	return 0;
}

static void find_basis(struct processes *list)
{
	const struct counter_info *c = lane_counter(list->profile, list->lane);

	list->basis = TIME_NONE;
	if (c && !strcmp(c->unit, "ns")) {
		list->basis = TIME_PERIOD;
	} else if (c && c->freq_hz) {
		list->basis = TIME_RATE;
		list->freq_hz = (double)c->freq_hz;
	}
}

static void row_add(struct process_row *row, enum sample_context context, const struct weight *w,
		    bool is_unknown)
{
	weight_add(&row->by[context], w);
	weight_add(&row->all, w);
	if (is_unknown)
		weight_add(&row->unknown, w);
}

static bool is_at_unknown(const struct profile *p, uint32_t node)
{
	uint32_t image = p->functions.data[p->nodes.data[node].function].image;

	return p->images.data[image].image->kind == IMAGE_UNKNOWN;
}

static int heavier(const void *a, const void *b)
{
	const struct process_row *x = a, *y = b;

	if (x->is_idle_task != y->is_idle_task)
		return x->is_idle_task - y->is_idle_task;
	if (x->all.samples != y->all.samples)
		return x->all.samples > y->all.samples ? -1 : 1;
	return (x->process > y->process) - (x->process < y->process);
}

void processes_make(struct processes *out, const struct profile *p, uint32_t lane)
{
	uint32_t *row_of = xcalloc(p->processes.n + 1, sizeof(*row_of)); /* + 1 */

	*out = (struct processes){ .profile = p, .lane = lane, .total.process = NO_INDEX };
	find_basis(out);
	for (size_t i = 0; i < p->entries.n; i++) {
		const struct profile_entry *e = &p->entries.data[i];
		const struct weight *w = &profile_weights(p, i)[lane];
		uint32_t process = profile_class_value(p, PROFILE_PROCESS, e->group);
		uint32_t context = profile_class_value(p, PROFILE_CONTEXT, e->group);
		bool is_unknown = is_at_unknown(p, e->node);

		if (!w->samples)
			continue;
		if (!row_of[process]) {
			vec_push(&out->rows,
				 (struct process_row){ .process = process,
						       .is_idle_task =
							       !p->processes.data[process].pid });
			row_of[process] = (uint32_t)out->rows.n;
		}
		row_add(&out->rows.data[row_of[process] - 1], (enum sample_context)context, w,
			is_unknown);
		row_add(&out->total, (enum sample_context)context, w, is_unknown);
	}
	free(row_of);
	if (out->rows.n)
		qsort(out->rows.data, out->rows.n, sizeof(*out->rows.data), heavier);
}

void processes_fini(struct processes *list)
{
	vec_fini(&list->rows);
}

double processes_seconds(const struct processes *list, const struct weight *w)
{
	if (list->basis == TIME_PERIOD)
		return (double)w->period / 1e9;
	return list->basis == TIME_RATE ? (double)w->samples / list->freq_hz : 0;
}

const char *process_name(const struct processes *list, const struct process_row *row)
{
	const struct profile_process *process = &list->profile->processes.data[row->process];
	const char *name = strings_get(&list->profile->comms, process->comm);

	if (row->is_idle_task)
		return "[idle]";
	return !*name && process->pid == CLASS_ALL ? "all" : name;
}

int32_t process_pid(const struct processes *list, const struct process_row *row)
{
	return list->profile->processes.data[row->process].pid;
}
