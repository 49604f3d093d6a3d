/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * pprof's profile.proto, gzipped. Every sample has two values for each event: the number of
 * samples, and the number of events they stand for. Labels are process, thread, comm, CPU
 * and cgroup, and then the sample's own.
 */
#include <inttypes.h>
#include <string.h>

#include "base/build_id.h"
#include "event/loss.h"
#include "export/cgroup_texts.h"
#include "export/code_lines.h"
#include "export/export.h"
#include "export/label_texts.h"
#include "export/mappings.h"
#include "export/names.h"
#include "export/protobuf.h"
#include "foreign/pprof.pb-c.h"
#include "store/session.h"
#include "symbol/lines/lines.h"

enum { FIELD_SAMPLE = 2, FIELD_MAPPING, FIELD_LOCATION, FIELD_FUNCTION, FIELD_STRING };

#define N_FIXED_LABELS 4
#define N_LABELS       (N_FIXED_LABELS + N_CGROUP_TEXTS)

struct pprof {
	const struct export *x;
	struct sink *out;
	struct strings strings;
	struct mappings mappings;
	VEC(uint64_t) locations;       /* of the current sample */
	bool *has_lines, *has_inlines; /* by image */
	int64_t *values;
	int64_t label_keys[N_LABELS];
	struct cgroup_texts *cgroups; /* by value of the key */
	struct label_texts own_labels;
	VEC(Pprof__Label) labels; /* of the current group */
	VEC(Pprof__Label *) label_pointers;
};

static int64_t pprof_intern(struct pprof *w, const char *text)
{
	return strings_add(&w->strings, text).n;
}

/* Text that may not be UTF-8, in protobuf's form. */
static int64_t intern_raw(struct pprof *w, const char *text)
{
	return pprof_intern(w, frame_text(w->x->frames, text));
}

static const struct counter_info *pprof_counter_of(const struct pprof *w, uint32_t lane)
{
	const struct profile *p = w->x->profile;
	uint32_t counter = p->lanes[lane].counter;

	return counter == NO_INDEX ? NULL : &p->session->info.counters[counter];
}

/* Allocations have the names that Go and its tools gave them. */
static const char *pprof_type_name(const struct counter_info *c)
{
	static const char *const names[][2] = {
		{ "alloc-bytes", "alloc_space" },
		{ "alloc-blocks", "alloc_objects" },
		{ "held-bytes", "inuse_space" },
		{ "held-blocks", "inuse_objects" },
	};

	for (size_t i = 0; c && i < ARRAY_SIZE(names); i++)
		if (!strcmp(c->name, names[i][0]))
			return names[i][1];
	return c ? c->name : "events";
}

static void put_types(struct pprof *w, Pprof__Profile *head)
{
	uint32_t n = w->x->profile->n_lanes;
	Pprof__ValueType *types = xcalloc((size_t)n * 2, sizeof(*types)),
			 period = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType **pointers = xcalloc((size_t)n * 2, sizeof(Pprof__ValueType *));

	for (uint32_t lane = 0; lane < n; lane++) {
		const struct counter_info *c = pprof_counter_of(w, lane);
		const char *event = pprof_type_name(c);
		cleanup(free_at_exit) char *samples = xasprintf("%s samples", event);
		Pprof__ValueType *type = &types[lane * 2];

		pprof__value_type__init(&type[0]);
		pprof__value_type__init(&type[1]);
		type[0].type = intern_raw(w, n > 1 ? samples : "samples");
		type[0].unit = pprof_intern(w, "count");
		type[1].type = intern_raw(w, event);
		type[1].unit = pprof_intern(w, counter_unit(c));
		pointers[lane * 2] = &type[0];
		pointers[lane * 2 + 1] = &type[1];
	}
	period.type = types[1].type;
	period.unit = types[1].unit;
	head->sample_type = pointers;
	head->n_sample_type = (size_t)n * 2;
	head->period_type = &period;
	head->period = (int64_t)counter_period(pprof_counter_of(w, 0));
	head->default_sample_type = types[1].type;
	protobuf_fields(&w->out->buf, &head->base);
	free(pointers);
	free(types);
}

static void pprof_put_head(struct pprof *w)
{
	const struct profile *p = w->x->profile;
	const struct session *s = p->session;
	Pprof__Profile head = PPROF__PROFILE__INIT;
	uint64_t end = s->has_end ? s->end.end_ns : p->last_ns;
	VEC(int64_t) comments = { 0 };

	vec_push(&comments, intern_raw(w, s->info.command[0] ? s->info.command : s->info.target));
	for (uint32_t i = 0; i < N_LOSS_REASONS; i++) {
		cleanup(free_at_exit) char *text =
			xasprintf("%" PRIu64 ": %s", p->losses[i], loss_texts[i].text);

		if (p->losses[i])
			vec_push(&comments, intern_raw(w, text));
	}
	head.time_nanos = (int64_t)s->info.start_wall_ns;
	head.duration_nanos = end > s->info.start_ns ? (int64_t)(end - s->info.start_ns) : 0;
	head.comment = comments.data;
	head.n_comment = comments.n;
	put_types(w, &head);
	vec_fini(&comments);
}

static void pprof_put_mappings(struct pprof *w)
{
	const struct profile *p = w->x->profile;

	vec_foreach (&w->mappings.list, it) {
		const struct profile_image *image = &p->images.data[it->image];
		Pprof__Mapping m = PPROF__MAPPING__INIT;
		char build_id[BUILD_ID_HEX_SIZE];

		build_id_hex(&image->image->build_id, build_id);
		m.id = (uint64_t)(it - w->mappings.list.data) + 1;
		m.memory_start = it->start;
		m.memory_limit = it->end;
		m.file_offset = it->file_off;
		m.filename = pprof_intern(w, frame_image_path(w->x->frames, it->image));
		m.build_id = pprof_intern(w, build_id);
		m.has_functions = image->table && symbol_count(image->table) > 0;
		m.has_filenames = m.has_line_numbers = w->has_lines[it->image];
		m.has_inline_frames = w->has_inlines[it->image];
		protobuf_message(&w->out->buf, FIELD_MAPPING, &m.base);
	}
}

static void pprof_find_lines(struct pprof *w)
{
	const struct code_lines *c = w->x->lines;

	w->has_lines = xcalloc(w->x->profile->images.n + 1, sizeof(bool));
	w->has_inlines = xcalloc(w->x->profile->images.n + 1, sizeof(bool));
	vec_foreach (&c->lines, line) {
		const struct code_function *f = &c->functions.data[line->function];

		w->has_lines[f->image] |= line->line != 0;
		w->has_inlines[f->image] |= f->symbol == NO_INDEX;
	}
}

static void put_location(struct pprof *w, uint32_t i)
{
	const struct profile *p = w->x->profile;
	const struct profile_place *place = &p->places.data[i];
	const struct mapping *mapping =
		mapping_of(&w->mappings, p->functions.data[place->function].image);
	uint32_t first = w->x->lines->first[i], n = w->x->lines->first[i + 1] - first;
	Pprof__Line lines[LINES_MAX_FRAMES], *pointers[LINES_MAX_FRAMES];
	Pprof__Location location = PPROF__LOCATION__INIT;

	for (uint32_t k = 0; k < n; k++) {
		const struct code_line *line = &w->x->lines->lines.data[first + k];

		pprof__line__init(&lines[k]);
		lines[k].function_id = line->function + 1;
		lines[k].line = line->line;
		pointers[k] = &lines[k];
	}
	location.id = i + 1;
	location.mapping_id = mapping ? (uint64_t)(mapping - w->mappings.list.data) + 1 : 0;
	location.address = mapping_address(&w->mappings, p, place);
	location.line = pointers;
	location.n_line = n;
	protobuf_message(&w->out->buf, FIELD_LOCATION, &location.base);
	sink_step(w->out);
}

static void pprof_put_functions(struct pprof *w)
{
	const struct code_lines *c = w->x->lines;

	for (uint32_t i = 0; i < c->functions.n; i++) {
		Pprof__Function f = PPROF__FUNCTION__INIT;

		f.id = i + 1;
		f.name = pprof_intern(w, c->functions.data[i].name);
		f.system_name = pprof_intern(w, c->functions.data[i].system_name);
		f.filename = pprof_intern(w, c->functions.data[i].file);
		protobuf_message(&w->out->buf, FIELD_FUNCTION, &f.base);
		sink_step(w->out);
	}
}

static Pprof__Label *pprof_add_label(struct pprof *w, int64_t key)
{
	Pprof__Label *label = vec_add(&w->labels);

	pprof__label__init(label);
	label->key = key;
	return label;
}

/* Only the known labels of a cgroup count. */
static void set_labels(struct pprof *w, uint32_t group)
{
	const struct profile *p = w->x->profile;
	const struct profile_process *thread =
		&p->threads.data[profile_class_value(p, PROFILE_THREAD, group)];
	const string_id comm = { profile_class_value(p, PROFILE_COMM, group) };
	const struct cgroup_texts *cgroup =
		&w->cgroups[profile_class_value(p, PROFILE_CGROUP, group)];
	uint32_t own = profile_class_value(p, PROFILE_LABEL, group);

	w->labels.n = w->label_pointers.n = 0;
	pprof_add_label(w, w->label_keys[0])->num = thread->pid;
	pprof_add_label(w, w->label_keys[1])->num = thread->tid;
	pprof_add_label(w, w->label_keys[2])->str = intern_raw(w, strings_get(&p->comms, comm));
	pprof_add_label(w, w->label_keys[3])->num = profile_cpu(p, group);
	for (int i = 0; i < N_CGROUP_TEXTS; i++)
		if (*cgroup->text[i])
			pprof_add_label(w, w->label_keys[N_FIXED_LABELS + i])->str =
				intern_raw(w, cgroup->text[i]);
	for (uint32_t i = w->own_labels.first[own]; i < w->own_labels.first[own + 1]; i++)
		pprof_add_label(w, pprof_intern(w, w->own_labels.list.data[i].name))->str =
			pprof_intern(w, w->own_labels.list.data[i].value);
	vec_foreach (&w->labels, label)
		vec_push(&w->label_pointers, label);
}

static void pprof_put_sample(struct pprof *w, size_t entry)
{
	const struct profile *p = w->x->profile;
	const struct weight *weights = profile_weights(p, entry);
	uint32_t node = p->entries.data[entry].node;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;

	w->locations.n = 0;
	for (; node; node = p->nodes.data[node].parent)
		vec_push(&w->locations, (uint64_t)p->node_places.data[node] + 1);
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		w->values[lane * 2] = (int64_t)weights[lane].samples;
		w->values[lane * 2 + 1] = (int64_t)weights[lane].period;
	}
	sample.location_id = w->locations.data;
	sample.n_location_id = w->locations.n;
	sample.value = w->values;
	sample.n_value = (size_t)p->n_lanes * 2;
	sample.label = w->label_pointers.data;
	sample.n_label = w->label_pointers.n;
	protobuf_message(&w->out->buf, FIELD_SAMPLE, &sample.base);
	sink_step(w->out);
}

/* Entries of a group often follow each other, so the labels are made once. */
static void pprof_put_samples(struct pprof *w)
{
	const struct profile *p = w->x->profile;
	uint32_t group = NO_INDEX;

	for (size_t i = 0; i < p->entries.n && !sink_failed(w->out); i++) {
		if (p->entries.data[i].group != group) {
			group = p->entries.data[i].group;
			set_labels(w, group);
		}
		pprof_put_sample(w, i);
	}
}

static int write_pprof(const struct export *x, struct sink *out, struct error *err)
{
	static const char *const label_names[N_LABELS] = { "pid", "tid", "comm", "cpu",
#define X(id, label, attribute, column, help) label,
							   CGROUP_TEXTS(X)
#undef X
	};
	struct pprof w = { .x = x, .out = out, .cgroups = cgroup_texts_new(x->profile, x->frames) };

	(void)err;
	strings_init(&w.strings);
	mappings_init(&w.mappings, x->profile);
	label_texts_init(&w.own_labels, x->profile, x->frames);
	w.values = xcalloc((size_t)x->profile->n_lanes * 2, sizeof(*w.values));
	for (int i = 0; i < N_LABELS; i++)
		w.label_keys[i] = pprof_intern(&w, label_names[i]);
	pprof_find_lines(&w);
	pprof_put_head(&w);
	pprof_put_mappings(&w);
	for (uint32_t i = 0; i < x->profile->places.n; i++)
		put_location(&w, i);
	pprof_put_functions(&w);
	pprof_put_samples(&w);
	for (uint32_t i = 0; i < w.strings.n; i++) {
		protobuf_bytes(&out->buf, FIELD_STRING, w.strings.text[i], w.strings.len[i]);
		sink_step(out);
	}
	free(w.values);
	free(w.has_lines);
	free(w.has_inlines);
	free(w.cgroups);
	vec_fini(&w.locations);
	vec_fini(&w.labels);
	vec_fini(&w.label_pointers);
	label_texts_fini(&w.own_labels);
	mappings_fini(&w.mappings);
	strings_fini(&w.strings);
	return 0;
}

const struct export_ops export_pprof = {
	.target = EXPORT_STREAM,
	.is_binary = true,
	.is_gzip = true,
	.keys = { .key = { PROFILE_APP, PROFILE_THREAD, PROFILE_COMM, PROFILE_CPU, PROFILE_CGROUP,
			   PROFILE_LABEL },
		  .n = 6,
		  .by_label_pairs = true },
	.with_chains = true,
	.with_places = true,
	.with_source = true,
	.write = write_pprof,
};
