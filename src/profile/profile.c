/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/profile.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "event/event.h"
#include "profile/context.h"
#include "profile/index.h"
#include "store/session.h"
#include "symbol/addresses.h"

void profile_free(struct profile *p)
{
	if (!p)
		return;
	profile_index_free(p);
	vec_fini(&p->images);
	vec_fini(&p->functions);
	vec_fini(&p->lines);
	strings_fini(&p->files);
	vec_fini(&p->nodes);
	vec_fini(&p->places);
	vec_fini(&p->node_places);
	vec_fini(&p->entries);
	vec_fini(&p->slices);
	vec_fini(&p->weights);
	vec_fini(&p->arcs);
	vec_fini(&p->arc_weights);
	vec_fini(&p->group_values);
	vec_fini(&p->processes);
	vec_fini(&p->threads);
	strings_fini(&p->comms);
	vec_fini(&p->cgroups);
	strings_fini(&p->cgroup_texts);
	arena_free(p->arena);
	free(p->lanes);
	free(p);
}

enum code_mode image_kind_mode(enum image_kind kind)
{
	static const enum code_mode modes[N_IMAGE_KINDS] = {
		[IMAGE_UNKNOWN] = CODE_UNKNOWN, [IMAGE_FILE] = CODE_USER,
		[IMAGE_KERNEL] = CODE_KERNEL,   [IMAGE_MODULE] = CODE_KERNEL,
		[IMAGE_VDSO] = CODE_USER,       [IMAGE_BPF] = CODE_KERNEL,
		[IMAGE_JIT] = CODE_USER,        [IMAGE_NAMED] = CODE_USER,
	};

	return kind < N_IMAGE_KINDS ? modes[kind] : CODE_UNKNOWN;
}

uint32_t profile_code_value(const struct profile *p, enum profile_key key, uint32_t function)
{
	uint32_t image = p->functions.data[function].image;

	if (key == PROFILE_SYMBOL)
		return p->functions.data[function].whole;
	if (key == PROFILE_IMAGE)
		return image;
	if (key == PROFILE_ADDRESS)
		return function;
	if (key == PROFILE_LINE)
		return p->functions.data[function].line;
	if (key == PROFILE_FILE)
		return p->lines.data[p->functions.data[function].line].file;
	return image_kind_mode(p->images.data[image].image->kind);
}

uint32_t profile_class_value(const struct profile *p, enum profile_key key, uint32_t group)
{
	for (size_t i = 0; i < p->class_keys.n; i++)
		if (p->class_keys.key[i] == key)
			return p->group_values.data[group * p->class_keys.n + i];
	return NO_INDEX;
}

int32_t profile_cpu(const struct profile *p, uint32_t group)
{
	uint32_t cpu = profile_class_value(p, PROFILE_CPU, group);

	return cpu == PROFILE_CPU_ALL ? CLASS_ALL : (int32_t)cpu;
}

static const char *function_text(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct profile_image *image = &p->images.data[f->image];

	if (f->inlined)
		return f->inlined;
	if (f->symbol != NO_SYMBOL)
		return symbol_name(p->symbols, image->table, f->symbol);
	return image->image->kind == IMAGE_UNKNOWN ? "(unknown)" : "(no symbols)";
}

static const char *process_text(const struct profile *p, const struct profile_process *process,
				char scratch[static KEY_TEXT_SIZE])
{
	const char *comm = process->pid ? strings_get(&p->comms, process->comm) : "[idle]";
	int id = process->tid >= 0 && process->pid ? process->tid : process->pid;

	if (id == CLASS_ALL || id == PID_OTHER_NAMESPACE)
		return *comm ? comm : "all";
	snprintf(scratch, KEY_TEXT_SIZE, *comm ? "%.40s (%d)" : "%.0s%d", comm, id);
	return scratch;
}

uint64_t profile_address(const struct profile *p, uint32_t function)
{
	const struct profile_function *f = &p->functions.data[function];
	const struct symbol_table *table = p->images.data[f->image].table;
	uint64_t offset = f->offset;

	if (offset == NO_OFFSET && table && f->symbol != NO_SYMBOL)
		offset = symbol_get(table, f->symbol).offset;
	if (offset == NO_OFFSET)
		return 0;
	return table ? symbol_link_addr(p->symbols, table, offset) : offset;
}

static bool are_masks_merged(const struct profile *p, uint32_t counter)
{
	for (uint32_t i = 0; i < p->n_lanes; i++)
		if (p->lanes[i].counter == counter)
			return p->lanes[i].masks_merged;
	return false;
}

/* Events of one name are told apart by count and unit mask: "cycles:100000:0x1". */
static const char *event_text(const struct profile *p, uint32_t counter,
			      char scratch[static KEY_TEXT_SIZE])
{
	const struct session_info *info = &p->session->info;
	const struct counter_info *c = &info->counters[counter];
	bool other_count = false, other_mask = false;
	int n;

	for (uint32_t i = 0; i < info->n_counters; i++) {
		bool is_namesake = !strcmp(info->counters[i].name, c->name);

		other_count |= is_namesake && info->counters[i].count != c->count;
		other_mask |= is_namesake && info->counters[i].unit_mask != c->unit_mask;
	}
	if (!other_count && !other_mask)
		return c->name;
	n = snprintf(scratch, KEY_TEXT_SIZE, "%.20s:%" PRIu64, c->name, c->count);
	if (other_mask && !are_masks_merged(p, counter))
		snprintf(scratch + n, (size_t)(KEY_TEXT_SIZE - n), ":0x%" PRIx64, c->unit_mask);
	return scratch;
}

const char *profile_key_text(const struct profile *p, enum profile_key key, uint32_t value,
			     char scratch[static KEY_TEXT_SIZE])
{
	static const char *const modes[] = { "user", "kernel", "unknown" };

	switch (key) {
	case PROFILE_APP:
	case PROFILE_IMAGE:
		return p->images.data[value].name;
	case PROFILE_PROCESS:
		return process_text(p, &p->processes.data[value], scratch);
	case PROFILE_THREAD:
		return process_text(p, &p->threads.data[value], scratch);
	case PROFILE_COMM:
		return strings_get(&p->comms, (string_id){ value });
	case PROFILE_CGROUP:
	case PROFILE_UNIT:
	case PROFILE_CONTAINER:
	case PROFILE_POD:
		return profile_cgroup_text(p, key, value);
	case PROFILE_CONTEXT:
		return sample_context_names[value];
	case PROFILE_EVENT:
		return event_text(p, value, scratch);
	case PROFILE_MODE:
		return modes[value];
	case PROFILE_SYMBOL:
		return function_text(p, value);
	case PROFILE_FILE:
		return *strings_get(&p->files, (string_id){ value })
			       ? strings_get(&p->files, (string_id){ value })
			       : "(no line)";
	case PROFILE_LINE:
		return p->lines.data[value].name;
	case PROFILE_CPU:
		if (value == PROFILE_CPU_ALL)
			return "all";
		break;
	case PROFILE_ADDRESS:
		snprintf(scratch, KEY_TEXT_SIZE, "%08" PRIx64, profile_address(p, value));
		return scratch;
	case N_PROFILE_KEYS:
		break;
	}
	snprintf(scratch, KEY_TEXT_SIZE, "%" PRIu32, value);
	return scratch;
}

bool profile_period_is_constant(const struct profile *p, uint32_t lane)
{
	const struct weight *total = &p->lanes[lane].total;
	uint64_t each = total->samples ? total->period / total->samples : 0;

	for (size_t i = 0; i < p->entries.n; i++) {
		const struct weight *w = &profile_weights(p, i)[lane];

		if (w->period != each * w->samples)
			return false;
	}
	return true;
}

bool profile_weighs_by_period(const struct profile *p)
{
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (!profile_period_is_constant(p, lane))
			return true;
	return false;
}
