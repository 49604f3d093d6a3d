/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile's beginning and its end. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/reserve.h"
#include "profile/cut_roots.h"
#include "profile/index.h"
#include "profile/load.h"
#include "profile/load_blocks.h"
#include "profile/parallel.h"
#include "profile/slices.h"

static struct profile *profile_new(const struct profile_request *request)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->session = request->session;
	p->symbols = request->symbols;
	p->has_functions = request->with_functions && request->symbols;
	p->has_lines = request->symbols && (request->with_lines || request->with_inlines);
	for (size_t i = 0; i < request->keys.n; i++)
		if (profile_keys[request->keys.key[i]].kind == KEY_CLASS)
			key_list_add(&p->class_keys, request->keys.key[i]);
	p->slice_s = MAX(request->slice_s, 1);
	p->arena = arena_new();
	strings_init(&p->comms);
	strings_init(&p->waker_texts);
	strings_init(&p->cgroup_texts);
	strings_init(&p->files);
	vec_push(&p->nodes, (struct profile_node){ 0, NO_INDEX, 0 });
	vec_push(&p->node_places, NO_INDEX);
	profile_index_init(p, request);
	p->index->has_moments = p->index->is_spread = load_wants_moments(p);
	p->index->needs_times = p->index->has_moments || load_needs_times(p);
	p->lacks_times = index_wants_parallelism(p) && !p->index->needs_times;
	p->lane_keys = request->columns;
	p->index->finds_lanes = p->lane_keys.n || request->lanes_by_samples;
	lanes_init(p);
	return p;
}

static bool has_latencies(const struct profile *p)
{
	vec_foreach (&p->images, i)
		if (image_is_latency_mark(i->image))
			return true;
	return false;
}

static void load_fill(struct profile *p)
{
	load_segments(p);
	p->lacks_latency = p->index->request->latency_weight && !has_latencies(p);
	slices_sort(p);
	p->n_filtered = p->n_stored - p->n_selected - p->n_idle;
	index_name_images(p);
	index_name_processes(p);
}

static void free_index(struct profile *p)
{
	if (p->index && p->index->parts)
		for (uint32_t i = 0; i < p->session->n_segments; i++)
			load_part_fini(&p->index->parts[i]);
	if (p->index)
		cut_roots_free(p->index->cut_roots);
	profile_index_free(p);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	free_index(p);
	vec_fini(&p->images);
	vec_fini(&p->functions);
	vec_fini(&p->lines);
	strings_fini(&p->files);
	vec_fini(&p->nodes);
	vec_fini(&p->places);
	vec_fini(&p->node_places);
	vec_fini(&p->entries);
	vec_fini(&p->leaf_rows);
	vec_fini(&p->slices);
	vec_fini(&p->moments);
	vec_fini(&p->weights);
	vec_fini(&p->arcs);
	vec_fini(&p->arc_weights);
	vec_fini(&p->group_values);
	vec_fini(&p->processes);
	vec_fini(&p->threads);
	strings_fini(&p->comms);
	vec_fini(&p->cgroups);
	strings_fini(&p->cgroup_texts);
	vec_fini(&p->wakers);
	strings_fini(&p->waker_texts);
	arena_free(p->arena);
	free(p->lanes);
	free(p);
}

struct profile *profile_load(const struct profile_request *request)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	uint32_t n_failures = reserve_failures();
	struct profile *p = profile_new(request);

	if (load_part_reserve(&room, request->session) == 0)
		load_fill(p);
	if (reserve_failures() != n_failures) {
		profile_free(p);
		p = profile_new(request);
		lanes_done(p);
	}
	if (request->with_samples)
		profile_index_rest(p);
	else
		free_index(p);
	return p;
}
