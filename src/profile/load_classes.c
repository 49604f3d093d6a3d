/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/load_classes.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "machine/cgroup_name.h"
#include "profile/context.h"
#include "profile/index.h"
#include "profile/sums.h"

static const char *segment_string(const struct segment *s, string_id id)
{
	return id.n < s->n_strings ? s->strings[id.n] : "";
}

/* The service of a class: that of its cgroup, or else its program. The cgroups are loaded. */
static const char *service_of(const struct profile *p, const struct load_part *part, uint32_t i)
{
	const struct profile_class *c = &part->segment->classes[i];
	const char *service =
		strings_get(&p->cgroup_texts, p->cgroups.data[part->cgroups[i]].service);

	if (*service)
		return service;
	return part->idle[i]
		       ? "[idle]"
		       : path_file_name(p->images.data[load_image_of(part, c->app)].image->path);
}

static bool takes_service(const struct profile *p, const struct load_part *part, uint32_t i)
{
	const struct query *q = p->index->query;

	return !query_has(q, FILTER_SERVICE) ||
	       query_takes_name(q, FILTER_SERVICE, service_of(p, part, i));
}

static uint32_t load_service_of(struct profile *p, const struct load_part *part, uint32_t i)
{
	if (!key_list_has(&p->class_keys, PROFILE_SERVICE))
		return 0;
	return strings_add(&p->comms, service_of(p, part, i)).n;
}

static bool takes_class(const struct profile *p, const struct load_part *part, uint32_t i)
{
	const struct profile_class *c = &part->segment->classes[i];
	const struct query *q = p->index->query;

	return c->counter < p->session->info.n_counters &&
	       p->index->lane_of[c->counter] != NO_INDEX &&
	       p->index->image_takes.data[load_image_of(part, c->app)].app &&
	       !p->index->image_takes.data[load_image_of(part, c->app)].excluded &&
	       query_takes_number(q, FILTER_PID, (uint32_t)c->pid) &&
	       query_takes_number(q, FILTER_TID, (uint32_t)c->tid) &&
	       query_takes_number(q, FILTER_CPU, c->cpu) &&
	       query_takes_name(q, FILTER_COMM,
				strings_get(&p->comms, (string_id){ part->comms[i] })) &&
	       query_takes_name(q, FILTER_HOST,
				strings_get(&p->comms, (string_id){ part->host })) &&
	       takes_service(p, part, i) &&
	       (!part->cgroups || p->cgroups.data[part->cgroups[i]].is_taken);
}

struct row_extra load_row_extra(const struct profile *p, const struct load_part *part,
				const struct count_row *row)
{
	size_t i = (size_t)(row - part->rows.data);
	struct row_extra extra = { 0 };

	if (part->wants_wakers)
		extra.waker = part->row_wakers.data[i];
	if (i < part->row_parallelism.n && key_list_has(&p->class_keys, PROFILE_PARALLELISM))
		extra.parallelism = part->row_parallelism.data[i];
	return extra;
}

uint32_t *load_extra_group(struct load_part *part, const struct row_extra *extra,
			   uint32_t class_and_context, bool *is_new)
{
	uint32_t *number = intmap_put(&part->extras,
				      (uint64_t)extra->waker << 32 | extra->parallelism, is_new);

	if (*is_new)
		*number = ++part->n_extras;
	return intmap_put(&part->extra_groups, (uint64_t)*number << 32 | class_and_context, is_new);
}

void load_class_values(struct profile *p, const struct load_part *part, uint32_t i,
		       enum sample_context context, const struct row_extra *extra, uint32_t *values)
{
	const struct profile_class *c = &part->segment->classes[i];
	const struct class_facts facts = {
		.class = c,
		.app = load_image_of(part, c->app),
		.is_idle = part->idle[i],
		.comm = part->comms[i],
		.host = part->host,
		.service = load_service_of(p, part, i),
		.cgroup = part->cgroups ? part->cgroups[i] : NO_INDEX,
		.waker = extra->waker,
		.parallelism = extra->parallelism,
		.context = context,
	};

	for (size_t k = 0; k < p->class_keys.n; k++)
		values[k] = index_class_value(p, p->class_keys.key[k], &facts);
}

/* The profile's id of a class's comm, of which a segment has far fewer than classes. */
static uint32_t load_comm_of(struct profile *p, const struct segment *s, uint32_t *known,
			     string_id comm)
{
	uint32_t *id = &known[comm.n < s->n_strings ? comm.n : 0];

	if (!*id)
		*id = strings_add(&p->comms, segment_string(s, comm)).n + 1;
	return *id - 1;
}

void load_add_classes(struct profile *p, struct load_part *part)
{
	const struct segment *s = part->segment;
	cleanup(free_at_exit) uint32_t *comms = load_column(s->n_strings, sizeof(*comms));

	part->host = strings_add(&p->comms, s->host ? s->host : p->session->info.hostname).n;
	if (index_wants_cgroups(p))
		part->cgroups = load_column(s->n_classes, sizeof(uint32_t));
	for (uint32_t i = 0; i < s->n_classes; i++) {
		const struct profile_class *c = &s->classes[i];
		bool is_taken;

		part->comms[i] = load_comm_of(p, s, comms, c->comm);
		part->idle[i] = c->pid == 0;
		if (part->cgroups)
			part->cgroups[i] = index_cgroup(p, segment_string(s, c->cgroup));
		is_taken = takes_class(p, part, i);
		for (int context = 0; context < N_CONTEXTS; context++)
			part->groups[i * N_CONTEXTS + context] = is_taken ? NO_GROUP : NO_INDEX;
		if (is_taken)
			part->lanes[i] = p->index->lane_of[c->counter]; /* or one of find_lanes() */
	}
}

/* ---- sums of rows, where single blocks do not matter ---- */

/* Of so many kinds of classes a node has few; of more, rows would be searched for. */
#define ALIKE_MAX 512

/* The facts of a class that the request needs. Classes with the same facts are one. */
struct class_traits {
	uint32_t app, lane, comm, cgroup, cpu, is_idle, is_leader, thread_kind;
	int32_t pid, tid;
};

bool load_wants_key(const struct profile *p, enum profile_key key)
{
	return key_list_has(&p->class_keys, key) || key_list_has(&p->lane_keys, key);
}

static struct class_traits traits_of(const struct profile *p, const struct load_part *part,
				     uint32_t i)
{
	const struct profile_class *c = &part->segment->classes[i];
	struct class_traits t = { .app = load_image_of(part, c->app),
				  .lane = c->counter,
				  .is_idle = part->idle[i] };
	bool has_thread = load_wants_key(p, PROFILE_THREAD),
	     has_process = has_thread || load_wants_key(p, PROFILE_PROCESS);

	t.tid = has_thread ? c->tid : 0;
	t.pid = has_process ? c->pid : 0;
	t.is_leader = has_process && (c->tid == c->pid || c->tid < 0); /* for names */
	t.comm = has_process || load_wants_key(p, PROFILE_COMM) ? part->comms[i] : 0;
	t.cpu = load_wants_key(p, PROFILE_CPU) ? c->cpu : 0;
	t.cgroup = part->cgroups ? part->cgroups[i] : 0;
	t.thread_kind = part->thread_kinds ? part->thread_kinds[i] : 0;
	return t;
}

bool load_find_alike(const struct profile *p, struct load_part *part)
{
	uint32_t n = part->segment->n_classes, first[ALIKE_MAX + 1];
	struct strings traits;

	part->alike = load_column(n, sizeof(uint32_t));
	strings_init(&traits);
	for (uint32_t i = 0; i < n && traits.n <= ALIKE_MAX; i++) {
		struct class_traits t = traits_of(p, part, i);
		uint32_t n_before = traits.n, id;

		part->alike[i] = SUMS_NO_CLASS;
		if (part->groups[(size_t)i * N_CONTEXTS] == NO_INDEX)
			continue;
		id = strings_add_n(&traits, (const char *)&t, sizeof(t)).n - 1;
		if (traits.n > n_before)
			first[id] = i;
		part->alike[i] = first[id];
	}
	n = traits.n;
	strings_fini(&traits);
	return n <= ALIKE_MAX;
}

/* ---- lanes ---- */

uint32_t load_both_apps(uint32_t a, uint32_t b)
{
	return !a || a == b ? b : !b ? a : SEVERAL_APPS;
}

void load_find_lanes(struct profile *p, struct load_part *parts)
{
	for (uint32_t i = 0; i < p->session->n_segments; i++) {
		struct load_part *part = &parts[i];

		for (uint32_t c = 0; c < part->segment->n_classes; c++)
			if (part->has_samples[c])
				part->lanes[c] = lanes_add(p, &part->segment->classes[c]);
	}
	lanes_done(p);
}

void load_describe_lanes(struct profile *p, const struct load_part *parts)
{
	uint32_t *apps = xcalloc(p->n_lanes, sizeof(*apps));

	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		p->lanes[lane].masks = 0;
	for (uint32_t i = 0; i < p->session->n_segments; i++)
		for (uint32_t c = 0; parts[i].apps && c < parts[i].segment->n_classes; c++) {
			uint32_t lane = parts[i].lanes[c];

			if (!parts[i].has_samples[c])
				continue;
			apps[lane] = load_both_apps(apps[lane], parts[i].apps[c]);
			p->has_many_apps |= apps[lane] == SEVERAL_APPS;
			p->lanes[lane].masks |=
				p->session->info.counters[parts[i].segment->classes[c].counter]
					.unit_mask;
		}
	free(apps);
}

bool load_takes_any_row(const struct query *q)
{
	static const enum filter_tag of_both[] = { FILTER_CONTEXT, FILTER_IMAGE, FILTER_LIB_IMAGE,
						   FILTER_BINARY };

	for (size_t i = 0; i < ARRAY_SIZE(of_both); i++)
		if (query_has(q, of_both[i]))
			return false;
	return !q->without_dependents;
}

/* ---- names of processes ---- */

/*
 * A process has the name of its first thread. If that has no samples, the process has the name of
 * the program, because another thread's name says nothing about it.
 */
static void name_process(struct profile *p, const struct load_part *part, uint32_t i)
{
	const struct profile_class *c = &part->segment->classes[i];
	const struct image *app = p->images.data[load_image_of(part, c->app)].image;
	const char *slash = app->kind == IMAGE_FILE ? strrchr(app->path, '/') : NULL;
	uint32_t process = index_process(p, c->pid), comm = part->comms[i];
	uint64_t samples = part->class_samples[i];

	if (*strings_get(&p->comms, (string_id){ comm }))
		index_comm(c->tid == c->pid || c->tid < 0 ? &p->index->process_comms
							  : &p->index->other_comms,
			   process, comm, samples);
	if (slash)
		index_comm(&p->index->process_apps, process, strings_add(&p->comms, slash + 1).n,
			   samples);
}

void load_add_names(struct profile *p, const struct load_part *part)
{
	for (uint32_t i = 0; i < part->segment->n_classes; i++) {
		const struct profile_class *c = &part->segment->classes[i];

		if (!part->class_samples[i])
			continue;
		if (load_wants_key(p, PROFILE_PROCESS))
			name_process(p, part, i);
		if (load_wants_key(p, PROFILE_THREAD) || p->index->has_moments)
			index_comm(&p->index->thread_comms, index_thread(p, c->pid, c->tid),
				   part->comms[i], part->class_samples[i]);
	}
}
