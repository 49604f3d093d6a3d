/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The export to sample files: every sample of a profile goes through the store that records them
 * (oprofile_store), so stacks become arcs there.
 *
 * A frame is the place where it was looked up: a caller's lies in the call, not behind it.
 * Functions that are known by name alone get addresses in anonymous memory of their process, and
 * their names go into its .jo file.
 */
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/intmap.h"
#include "export/export.h"
#include "oprofile/oprofile.h"
#include "store/session.h"
#include "store/store.h"

/* Where functions without an address are, and how far apart: no mapping of a process is there. */
#define NAMED_START (1ULL << 44)
#define NAMED_SIZE  16

struct file_export {
	const struct profile *p;
	struct image_table *images;
	VEC(image_id) of_image; /* of the profile's; IMAGE_UNKNOWN_ID: not asked for yet */
	struct store *store;
	VEC(struct code_addr) frames;
	struct intmap names; /* (process, function) that has its name in the store */
};

static bool has_name_alone(const struct image *image)
{
	return image->kind == IMAGE_NAMED || image->kind == IMAGE_LANGUAGE;
}

static const struct image *export_oprofile_image(const struct file_export *e, uint32_t function)
{
	return e->p->images.data[e->p->functions.data[function].image].image;
}

static image_id export_oprofile_image_id(struct file_export *e, uint32_t image)
{
	image_id *id = &e->of_image.data[image];

	if (id->n == IMAGE_UNKNOWN_ID.n)
		*id = image_intern(e->images, e->p->images.data[image].image);
	return *id;
}

static void name_function(struct file_export *e, int32_t pid, uint32_t function,
			  struct code_symbol *symbol)
{
	const struct profile_function *f = &e->p->functions.data[function];
	bool is_new;

	intmap_put(&e->names, (uint64_t)(uint32_t)pid << 32 | function, &is_new);
	if (!is_new)
		return;
	symbol->name = f->symbol == NO_SYMBOL
			       ? export_oprofile_image(e, function)->path
			       : symbol_get(e->p->images.data[f->image].table, f->symbol).name;
	oprofile_store.name_code(e->store, symbol);
}

/* Code of a process at a function, whose name the store gets if no file has it. */
static struct code_addr address_of(struct file_export *e, int32_t pid, uint32_t function,
				   uint64_t offset)
{
	const struct profile_function *f = &e->p->functions.data[function];
	const struct image *image = export_oprofile_image(e, function);
	struct image names = { .kind = IMAGE_JIT, .pid = MAX(pid, 0), .path = "[names]" };
	struct code_symbol symbol = { 0 };

	if (has_name_alone(image)) {
		symbol.image = image_intern(e->images, &names);
		symbol.offset = NAMED_START + (uint64_t)function * NAMED_SIZE;
		symbol.size = NAMED_SIZE;
		name_function(e, pid, function, &symbol);
		/* OProfile has no caller at the very start of a function */
		return (struct code_addr){ symbol.image, symbol.offset + NAMED_SIZE / 2 };
	}
	symbol.image = export_oprofile_image_id(e, f->image);
	if ((image->kind == IMAGE_JIT || image->kind == IMAGE_BPF) && f->symbol != NO_SYMBOL) {
		const struct symbol of = symbol_get(e->p->images.data[f->image].table, f->symbol);

		symbol.offset = of.offset;
		symbol.size = of.size;
		name_function(e, image->pid, function, &symbol);
	}
	return (struct code_addr){ symbol.image, offset };
}

static image_id export_oprofile_app(struct file_export *e, uint32_t group)
{
	uint32_t app = profile_class_value(e->p, PROFILE_APP, group);

	return app == NO_INDEX ? IMAGE_UNKNOWN_ID : export_oprofile_image_id(e, app);
}

static struct profile_class export_oprofile_class(struct file_export *e, uint32_t group)
{
	uint32_t process = profile_class_value(e->p, PROFILE_PROCESS, group);
	uint32_t thread = profile_class_value(e->p, PROFILE_THREAD, group);

	return (struct profile_class){
		.app = export_oprofile_app(e, group),
		.pid = process == NO_INDEX ? CLASS_ALL : e->p->processes.data[process].pid,
		.tid = thread == NO_INDEX ? CLASS_ALL : e->p->threads.data[thread].tid,
		.cpu = (uint32_t)profile_cpu(e->p, group),
	};
}

/* Frames from the innermost on. */
static void take_frames(struct file_export *e, int32_t pid, uint32_t node)
{
	const struct profile *p = e->p;

	e->frames.n = 0;
	for (; node; node = p->nodes.data[node].parent) {
		const struct profile_place *place = &p->places.data[p->node_places.data[node]];

		if (!image_is_cut_mark(export_oprofile_image(e, place->function)))
			vec_push(&e->frames, address_of(e, pid, place->function, place->offset));
	}
	if (!e->frames.n)
		vec_push(&e->frames, (struct code_addr){ IMAGE_UNKNOWN_ID, 0 });
}

/* Adds the frames for each lane: samples, or the counts of an arc. */
static int add_lanes(struct file_export *e, const struct weight *weights,
		     const struct profile_class *class, bool is_arc, struct error *err)
{
	int r = 0;

	for (uint32_t lane = 0; lane < e->p->n_lanes && r >= 0; lane++) {
		struct sample sample = { .class = *class,
					 .frames = e->frames.data,
					 .n_frames = (uint32_t)e->frames.n };

		sample.class.counter = e->p->lanes[lane].counter;
		*(is_arc ? &sample.period : &sample.samples) = weights[lane].samples;
		if (weights[lane].samples)
			r = oprofile_store.add(e->store, &sample, err);
	}
	return r;
}

static int export_oprofile_add_samples(struct file_export *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < e->p->entries.n && r >= 0; i++) {
		const struct profile_entry *entry = &e->p->entries.data[i];
		const struct profile_class class = export_oprofile_class(e, entry->group);

		take_frames(e, class.pid, entry->node);
		r = add_lanes(e, profile_weights(e->p, i), &class, false, err);
	}
	return r;
}

/* An arc that came without stacks has functions; a callee's place is its start. */
static struct code_addr start_of(struct file_export *e, int32_t pid, uint32_t function)
{
	const struct profile_function *f = &e->p->functions.data[function];
	uint64_t offset = f->symbol == NO_SYMBOL
				  ? 0
				  : symbol_get(e->p->images.data[f->image].table, f->symbol).offset;

	return address_of(e, pid, function, offset);
}

static int export_oprofile_add_arcs(struct file_export *e, struct error *err)
{
	static const struct image marker = { .kind = IMAGE_NAMED, .path = IMAGE_ARCS_PATH };
	int r = 0;

	for (size_t i = 0; i < e->p->arcs.n && r >= 0; i++) {
		const struct profile_arc *arc = &e->p->arcs.data[i];
		const struct profile_class class = export_oprofile_class(e, arc->group);
		const struct weight *weights = &e->p->arc_weights.data[i * e->p->n_lanes];
		struct code_addr caller = start_of(e, class.pid, arc->caller);

		if (arc->place != NO_INDEX)
			caller = address_of(e, class.pid, arc->caller,
					    e->p->places.data[arc->place].offset);
		e->frames.n = 0;
		vec_push(&e->frames, start_of(e, class.pid, arc->callee));
		vec_push(&e->frames, caller);
		vec_push(&e->frames, (struct code_addr){ image_intern(e->images, &marker), 0 });
		r = add_lanes(e, weights, &class, true, err);
	}
	return r;
}

static int export_oprofile_fill(struct file_export *e, struct error *err)
{
	const struct session *s = e->p->session;
	uint64_t n_unwritten = 0;
	int r, r_close;

	r = export_oprofile_add_samples(e, err);
	r = r < 0 ? r : export_oprofile_add_arcs(e, err);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		oprofile_store.lose(e->store, (enum loss_reason)i, UINT32_MAX, e->p->losses[i]);
	r_close = oprofile_store.close(e->store, s->has_end ? &s->end : NULL, &n_unwritten,
				       r < 0 ? NULL : err);
	return r < 0 ? r : r_close;
}

static int store_files(const struct export *x, const char *folder, struct error *err)
{
	struct session_info info = x->profile->session->info;
	struct file_export e = { .p = x->profile, .images = image_table_new() };
	struct strings strings;
	int r;

	strings_init(&strings);
	for (size_t i = 0; i < x->profile->images.n; i++)
		vec_push(&e.of_image, IMAGE_UNKNOWN_ID);
	info.merged = x->options->merged;
	r = oprofile_store.open(folder, &info, e.images, &strings, &e.store, err);
	if (r >= 0)
		r = export_oprofile_fill(&e, err);
	image_table_free(e.images);
	strings_fini(&strings);
	vec_fini(&e.frames);
	vec_fini(&e.of_image);
	intmap_fini(&e.names);
	return r;
}

const struct export_ops export_oprofile = {
	.target = EXPORT_FOLDER,
	.of_samples = true,
	.keys = { .key = { PROFILE_APP, PROFILE_PROCESS, PROFILE_THREAD, PROFILE_CPU }, .n = 4 },
	.with_chains = true,
	.with_places = true,
	.store = store_files,
};
