/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile/index.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/path.h"
#include "lang/language.h"
#include "machine/container_names.h"
#include "machine/image_file.h"
#include "symbol/lines/lines.h"

static uint64_t pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

void profile_index_init(struct profile *p, const struct profile_request *request)
{
	struct profile_index *x = xcalloc(1, sizeof(*x));

	x->own_request = *request;
	x->request = &x->own_request;
	x->query = request->query;
	x->takes_all_functions = !query_has(x->query, FILTER_SYMBOL) &&
				 !query_has(x->query, FILTER_SYMBOL_EXCLUDE) &&
				 !query_has(x->query, FILTER_LANGUAGE);
	x->idle_image = NO_INDEX;
	x->lookups = xcalloc(LOOKUP_SLOTS, sizeof(*x->lookups));
	strings_init(&x->image_keys);
	strings_init(&x->groups);
	strings_init(&x->places);
	strings_init(&x->functions);
	strings_init(&x->lines);
	strings_init(&x->jit_names);
	strings_init(&x->whole_keys);
	strings_init(&x->lane_tuples);
	strings_init(&x->arcs);
	p->index = x;
}

static void comm_weights_fini(struct comm_weights *w)
{
	intmap_fini(&w->index);
	vec_fini(&w->rows);
}

void profile_index_rest(struct profile *p)
{
	struct profile_index *x = p->index;

	strings_fini(&x->image_keys);
	strings_fini(&x->groups);
	strings_fini(&x->places);
	strings_fini(&x->functions);
	strings_fini(&x->lines);
	strings_fini(&x->jit_names);
	intmap_fini(&x->jit_functions);
	intmap_fini(&x->jit_twins);
	strings_fini(&x->whole_keys);
	strings_fini(&x->lane_tuples);
	strings_fini(&x->arcs);
	intmap_fini(&x->wholes);
	vec_fini(&x->frames);
	vec_fini(&x->given);
	free(x->expected);
	x->expected = NULL;
	free(x->lookups);
	x->lookups = NULL;
	node_set_fini(&x->nodes);
	intmap_fini(&x->entries);
	vec_fini(&x->entry_of_node);
	intmap_fini(&x->processes);
	intmap_fini(&x->threads);
	intmap_fini(&x->cgroups);
	comm_weights_fini(&x->process_comms);
	comm_weights_fini(&x->other_comms);
	comm_weights_fini(&x->process_apps);
	comm_weights_fini(&x->thread_comms);
}

void profile_index_free(struct profile *p)
{
	struct profile_index *x = p->index;

	if (!x)
		return;
	profile_index_rest(p);
	free(x->parts);
	free(x->lane_order);
	vec_fini(&x->image_takes);
	vec_fini(&x->function_takes);
	free(x->lane_of);
	container_names_free(x->containers);
	free(x);
	p->index = NULL;
}

/* What image.h calls the identity: build id, or device and inode, with kind, path and pid. */
static void image_key(const struct image *image, struct buf *key)
{
	buf_u8(key, (uint8_t)image->kind);
	buf_u32(key, (uint32_t)image->pid);
	buf_u8(key, image->build_id.len);
	if (image->build_id.len)
		buf_bytes(key, image->build_id.bytes, sizeof(image->build_id.bytes));
	buf_u8(key, image_has_identity(image));
	if (!image->build_id.len || image_has_identity(image)) {
		buf_u64(key, image->dev);
		buf_u64(key, image->ino);
	}
	buf_str(key, image->path);
}

/* By the text that the key "build" has. */
static bool takes_build(const struct query *q, const struct image *image)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(&image->build_id, hex);
	return query_takes_name(q, FILTER_BUILD, *hex ? hex : path_file_name(image->path));
}

/* The filters by which reports' keys image, build and mode are chosen. */
static bool takes_image_code(const struct query *q, const struct image *image)
{
	return takes_build(q, image) && query_takes_path(q, FILTER_LIB_IMAGE, image->path) &&
	       query_takes_name(q, FILTER_MODE, code_mode_names[image_code_mode(image)]);
}

uint32_t index_image(struct profile *p, const struct image *image)
{
	struct profile_index *x = p->index;
	struct buf key = { 0 };
	uint32_t id;

	image_key(image, &key);
	id = strings_add_n(&x->image_keys, (const char *)key.data, key.len).n - 1;
	buf_fini(&key);
	if (id < p->images.n)
		return id;
	vec_push(&p->images, (struct profile_image){ .image = image });
	vec_push(&x->image_takes,
		 (struct image_takes){
			 .app = query_takes_path(x->query, FILTER_APP, image->path),
			 .image = query_takes_path(x->query, FILTER_IMAGE, image->path),
			 .lib_image = takes_image_code(x->query, image),
			 .excluded = query_names_path(x->query, FILTER_IMAGE_EXCLUDE, image->path),
			 .binary = query_takes_path(x->query, FILTER_BINARY, image->path),
		 });
	return id;
}

uint32_t index_idle_image(struct profile *p)
{
	static const struct image idle = { .kind = IMAGE_KERNEL, .path = "[idle]" };

	if (p->index->idle_image == NO_INDEX) {
		p->index->idle_image = index_image(p, &idle);
		p->images.data[p->index->idle_image].is_idle = true;
	}
	return p->index->idle_image;
}

void index_given(struct profile *p, const struct segment *segment, const uint32_t *images)
{
	for (uint32_t i = 0; i < segment->n_symbols; i++) {
		const struct code_symbol *s = &segment->symbols[i];

		if (s->image.n < segment->n_images)
			vec_push(&p->index->given,
				 (struct given){
					 .image = images[s->image.n],
					 .order = (uint32_t)p->index->given.n,
					 .symbol = { s->offset, s->size, s->name, s->line } });
	}
}

static int by_image_and_order(const void *a, const void *b)
{
	const struct given *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

void index_given_done(struct profile *p)
{
	if (p->index->given.n)
		qsort(p->index->given.data, p->index->given.n, sizeof(struct given),
		      by_image_and_order);
}

static void open_table(struct profile *p, uint32_t image)
{
	struct profile_index *x = p->index;
	VEC(struct given_symbol) own = { 0 };
	size_t low = 0, high = x->given.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->given.data[middle].image < image)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < x->given.n && x->given.data[low].image == image; low++)
		vec_push(&own, x->given.data[low].symbol);
	index_make_expected(p, image);
	p->images.data[image].table =
		symbolizer_table(p->symbols, p->images.data[image].image, own.data, own.n);
	vec_fini(&own);
}

uint32_t index_symbol(struct profile *p, uint32_t image, uint64_t offset)
{
	if (!p->has_functions || p->images.data[image].image->kind == IMAGE_UNKNOWN)
		return NO_SYMBOL;
	if (!p->images.data[image].table)
		open_table(p, image);
	return symbol_find(p->images.data[image].table, offset);
}

/*
 * These functions are returned to, at their first instruction, though nothing called from them: by
 * signal handlers, and by the functions of makecontext(3). One byte back, where callers are looked
 * up, is the padding before them. Any other function there may follow a call that never returns.
 */
static bool is_trampoline(const struct profile *p, const struct symbol_table *table,
			  uint32_t symbol, uint64_t offset)
{
	static const char *const names[] = {
		"__restore_rt",          "__restore",          "__start_context",
		"__kernel_rt_sigreturn", "__kernel_sigreturn", "runtime.sigreturn__sigaction.abi0",
		"runtime.sigreturn.abi0"
	};

	if (symbol == NO_SYMBOL || symbol_get(table, symbol).offset != offset)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(symbol_name(p->symbols, table, symbol), names[i]))
			return true;
	return false;
}

/* Where a caller's offset, one byte back, is looked up. */
static uint64_t caller_offset(struct profile *p, uint32_t image, uint64_t offset)
{
	uint32_t symbol = index_symbol(p, image, offset);

	/* In a vdso, the padding between functions has a name, too. */
	if (symbol != NO_SYMBOL && p->images.data[image].image->kind != IMAGE_VDSO)
		return offset;
	symbol = index_symbol(p, image, offset + 1);
	return offset + is_trampoline(p, p->images.data[image].table, symbol, offset + 1);
}

static bool takes_function(struct profile *p, enum filter_tag tag, const struct profile_function *f)
{
	const struct symbol_table *table = p->images.data[f->image].table;

	if (!query_has(p->index->query, tag))
		return true;
	if (f->inlined)
		return query_takes_function(p->index->query, tag, f->inlined);
	if (f->symbol == NO_SYMBOL)
		return !p->index->query->filters[tag].n &&
		       query_matches(p->index->query, tag, profile_nameless_text(p, f->image),
				     NULL);
	return query_takes_function(p->index->query, tag,
				    symbol_name(p->symbols, table, f->symbol));
}

/* The filters of symbols and languages. */
static bool takes_symbol(struct profile *p, const struct profile_function *f)
{
	return query_takes_name(p->index->query, FILTER_LANGUAGE, language_key(f->language)) &&
	       takes_function(p, FILTER_SYMBOL, f) &&
	       !(query_has(p->index->query, FILTER_SYMBOL_EXCLUDE) &&
		 takes_function(p, FILTER_SYMBOL_EXCLUDE, f));
}

/*
 * The key by which functions are one function in rows. Lines and addresses do not count. Of a
 * fleet, builds do not count either: a named function is its name, and the base name of its image
 * (of a source file, the whole path).
 */
static string_id index_whole_key(struct profile *p, const struct function_key *key)
{
	const struct profile_image *of = &p->images.data[key->image];
	struct function_key any = *key;
	struct buf text = { 0 };
	string_id id;

	any.line = NO_INDEX;
	any.offset = NO_OFFSET;
	if (!p->session->n_hosts_asked || key->symbol == NO_SYMBOL)
		return strings_add_n(&p->index->whole_keys, (const char *)&any, sizeof(any));
	buf_cstr0(&text, of->image->kind == IMAGE_LANGUAGE ? of->image->path
							   : path_file_name(of->image->path));
	buf_str(&text, symbol_name(p->symbols, of->table, key->symbol));
	id = strings_add_n(&p->index->whole_keys, (const char *)text.data, text.len);
	buf_fini(&text);
	return id;
}

/* The first function of that key; `id` if there is none. */
static uint32_t whole_function(struct profile *p, const struct function_key *key, uint32_t id)
{
	struct function_key any = *key;
	uint32_t *whole;
	bool is_new;

	if (key->line == NO_INDEX && key->offset == NO_OFFSET && !p->session->n_hosts_asked)
		return id;
	any.line = NO_INDEX;
	any.offset = NO_OFFSET;
	whole = index_jit_function(p, &any, &is_new);
	if (whole && !is_new && *whole != id) /* that one is not added yet */
		index_share_jit_function(p, *whole, key->image);
	if (!whole)
		whole = intmap_put(&p->index->wholes, index_whole_key(p, key).n, &is_new);
	if (is_new)
		*whole = id;
	return *whole;
}

uint32_t index_language_of(struct profile *p, uint32_t image, uint32_t symbol)
{
	const struct symbol_table *table = p->images.data[image].table;

	return symbol != NO_SYMBOL && table && symbol_is_go(table, symbol)
		       ? LANGUAGE_GO
		       : image_language(p->images.data[image].image);
}

/* `symbol` covers the code, also where it is of a function that is inlined there. */
static uint32_t index_add_function(struct profile *p, const struct function_key *key,
				   const char *inlined, uint32_t symbol)
{
	struct profile_index *x = p->index;
	struct profile_function f = {
		.image = key->image,
		.symbol = key->symbol,
		.inlined = inlined,
		.line = key->line,
		.language = index_language_of(p, key->image, symbol),
		.offset = key->offset,
	};
	uint32_t id, *jit;
	bool is_new;

	jit = index_jit_function(p, key, &is_new);
	if (jit && !is_new) {
		index_share_jit_function(p, *jit, key->image);
		return *jit;
	}
	id = strings_add_n(&x->functions, (const char *)key, sizeof(*key)).n - 1;
	if (jit)
		*jit = id;
	if (id < p->functions.n)
		return id;
	f.whole = whole_function(p, key, id);
	vec_push(&p->functions, f);
	vec_push(&x->function_takes,
		 (struct function_takes){ .symbol = takes_symbol(p, &f),
					  .via = takes_function(p, FILTER_VIA, &f) });
	return id;
}

static const char *line_path(struct profile *p, const char *file, uint32_t line)
{
	struct buf text = { 0 };
	const char *path;

	if (!*file)
		return profile_no_line;
	buf_printf(&text, line ? "%s:%" PRIu32 : "%s", file, line);
	path = arena_strndup(p->arena, buf_cstr(&text), text.len);
	buf_fini(&text);
	return path;
}

static uint32_t index_line(struct profile *p, const char *file, uint32_t line)
{
	const struct {
		uint32_t file, line;
	} key = { strings_add(&p->files, file).n, line };
	uint32_t id = strings_add_n(&p->index->lines, (const char *)&key, sizeof(key)).n - 1;

	if (id == p->lines.n) {
		const char *path = line_path(p, file, line);

		vec_push(&p->lines,
			 (struct profile_line){ key.file, line, path, path_file_name(path) });
	}
	return id;
}

static uint64_t key_offset(const struct profile *p, uint64_t offset)
{
	return p->index->request->with_addresses ? offset : NO_OFFSET;
}

/* A function of a language has a file also where its line is not known. */
static size_t find_line_frames(struct profile *p, uint32_t image, uint64_t offset,
			       struct line_frame *frames)
{
	const struct profile_image *of = &p->images.data[image];
	size_t n =
		of->table ? lines_find(p->symbols, of->table, offset, frames, LINES_MAX_FRAMES) : 0;
	bool has_file = n && frames[0].file && *frames[0].file;

	if (has_file || of->image->kind != IMAGE_LANGUAGE || of->image->path[0] == '[' ||
	    of->image->language == LANGUAGE_GO)
		return n;
	frames[0].file = of->image->path;
	return 1;
}

/* Frames from the image's lines: all of them with_inlines, else the symbol at the innermost line.
 */
static void add_line_frames(struct profile *p, uint32_t image, uint64_t offset, uint32_t symbol)
{
	const struct profile_request *request = p->index->request;
	const struct symbol_table *table = p->images.data[image].table;
	struct line_frame frames[LINES_MAX_FRAMES] = { { .file = "" } };
	size_t n = find_line_frames(p, image, offset, frames);
	size_t outermost = n ? n - 1 : 0;

	if (request->with_inlines && request->with_chains)
		n = MAX(n, (size_t)1);
	else
		n = 1;
	while (n-- > 0) {
		struct function_key key = { .image = image,
					    .symbol = symbol,
					    .line = NO_INDEX,
					    .offset = key_offset(p, offset) };
		const char *inlined = NULL;

		if (request->with_lines)
			key.line =
				index_line(p, frames[n].file ? frames[n].file : "", frames[n].line);
		if (n != outermost && frames[n].is_inline && request->with_inlines &&
		    request->with_chains) {
			key.symbol = NO_SYMBOL;
			key.inlined = frames[n].function_id + 1;
			inlined = *frames[n].function ? lines_name(p->symbols, table, &frames[n])
						      : "(inlined)";
		}
		vec_push(&p->index->frames, index_add_function(p, &key, inlined, symbol));
	}
}

static bool takes_line_file(struct profile *p, uint32_t image, uint64_t offset)
{
	struct line_frame frames[LINES_MAX_FRAMES] = { { .file = "" } };
	size_t n;

	index_symbol(p, image, offset); /* opens the table */
	n = find_line_frames(p, image, offset, frames);
	return query_takes_path(p->index->query, FILTER_FILE,
				n && frames[0].file && *frames[0].file ? frames[0].file
								       : profile_no_line);
}

bool index_takes_file(struct profile *p, uint32_t image, uint64_t offset)
{
	return !query_has(p->index->query, FILTER_FILE) || takes_line_file(p, image, offset);
}

/* 0, which no slot is of: too large to be kept. */
static uint64_t lookup_key(uint32_t image, uint64_t offset)
{
	if (image >= (1u << LOOKUP_IMAGE_BITS) - 1 || offset >> (64 - LOOKUP_IMAGE_BITS))
		return 0;
	return (uint64_t)(image + 1) << (64 - LOOKUP_IMAGE_BITS) | offset;
}

static struct lookup *lookup_slot(const struct profile_index *x, uint64_t key)
{
	return &x->lookups[hash_u64(key) % LOOKUP_SLOTS];
}

void index_fetch_frames(const struct profile *p, uint32_t image, uint64_t offset)
{
	__builtin_prefetch(lookup_slot(p->index, lookup_key(image, offset)));
}

void index_reserve_nodes(struct profile *p, uint32_t n)
{
	node_set_reserve(&p->index->nodes, p, p->nodes.n + (uint64_t)n);
	vec_reserve(&p->nodes, p->nodes.n + n);
}

const uint32_t *index_frames(struct profile *p, uint32_t image, uint64_t offset, uint32_t *n)
{
	struct profile_index *x = p->index;
	uint64_t key = lookup_key(image, p->has_functions ? offset : 0);
	struct lookup *slot = lookup_slot(x, key);

	if (!p->has_functions) /* an image is all that is known of any offset */
		offset = 0;
	if (slot->key != key || !key) {
		uint64_t at = p->has_functions ? caller_offset(p, image, offset) : offset;
		struct function_key function = { .image = image,
						 .symbol = index_symbol(p, image, at),
						 .line = NO_INDEX,
						 .offset = key_offset(p, at) };
		uint32_t first = (uint32_t)x->frames.n;

		if (x->request->with_lines || (x->request->with_inlines && x->request->with_chains))
			add_line_frames(p, image, at, function.symbol);
		else
			vec_push(&x->frames,
				 index_add_function(p, &function, NULL, function.symbol));
		*slot = (struct lookup){ key, first, (uint32_t)x->frames.n - first };
	}
	*n = slot->n;
	return x->frames.data + slot->first;
}

static uint32_t index_place(struct profile *p, uint32_t function, uint64_t offset)
{
	const struct place_key {
		uint64_t offset, image;
	} key = { offset, p->functions.data[function].image };
	uint32_t id = strings_add_n(&p->index->places, (const char *)&key, sizeof(key)).n - 1;

	if (id == p->places.n)
		vec_push(&p->places, (struct profile_place){ function, offset });
	return id;
}

uint32_t index_node(struct profile *p, uint32_t parent, uint32_t function, uint64_t offset)
{
	bool with_places = p->index->request->with_places;
	uint32_t place = with_places ? index_place(p, function, offset) : NO_INDEX;
	uint32_t depth, id;

	assert(parent < p->nodes.n); /* parents come before children */
	while (p->nodes.data[parent].depth >= PROFILE_MAX_DEPTH)
		parent = p->nodes.data[parent].parent;
	id = node_set_get(&p->index->nodes, p, parent, with_places ? place : function);
	if (id)
		return id;
	depth = p->nodes.data[parent].depth + 1;
	vec_push(&p->nodes, (struct profile_node){ parent, function, depth });
	if (with_places)
		vec_push(&p->node_places, place);
	return (uint32_t)p->nodes.n - 1;
}

struct weight *index_arc(struct profile *p, uint32_t group, uint32_t caller, uint64_t offset,
			 uint32_t callee)
{
	const struct profile_arc arc = {
		.caller = caller,
		.callee = callee,
		.place = p->index->request->with_places ? index_place(p, caller, offset) : NO_INDEX,
		.group = group,
	};
	uint32_t id = strings_add_n(&p->index->arcs, (const char *)&arc, sizeof(arc)).n - 1;

	if (id == p->arcs.n) {
		vec_push(&p->arcs, arc);
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			vec_push(&p->arc_weights, (struct weight){ 0 });
	}
	return &p->arc_weights.data[(size_t)id * p->n_lanes];
}

uint32_t index_group(struct profile *p, const uint32_t *values)
{
	size_t n = p->class_keys.n;
	uint32_t id;

	if (!n) {
		p->n_groups = 1;
		return 0;
	}
	id = strings_add_n(&p->index->groups, (const char *)values, n * sizeof(*values)).n - 1;
	if (id == p->n_groups) {
		p->n_groups++;
		for (size_t i = 0; i < n; i++)
			vec_push(&p->group_values, values[i]);
	}
	return id;
}

uint32_t index_process(struct profile *p, int32_t pid)
{
	bool is_new;
	uint32_t *id = intmap_put(&p->index->processes, (uint32_t)pid, &is_new);

	if (is_new) {
		*id = (uint32_t)p->processes.n;
		vec_push(&p->processes, (struct profile_process){ .pid = pid, .tid = -1 });
	}
	return *id;
}

uint32_t index_thread(struct profile *p, int32_t pid, int32_t tid)
{
	bool is_new;
	uint32_t *id = intmap_put(&p->index->threads, pair((uint32_t)pid, (uint32_t)tid), &is_new);

	if (is_new) {
		*id = (uint32_t)p->threads.n;
		vec_push(&p->threads, (struct profile_process){ .pid = pid, .tid = tid });
	}
	return *id;
}

void index_comm(struct comm_weights *w, uint32_t holder, uint32_t comm, uint64_t samples)
{
	bool is_new;
	uint32_t *id = intmap_put(&w->index, pair(holder, comm), &is_new);

	if (is_new) {
		*id = (uint32_t)w->rows.n;
		vec_push(&w->rows, (struct comm_weight){ .holder = holder, .comm = comm });
	}
	w->rows.data[*id].samples += samples;
}

/* Without class keys there is one group, and an entry has its place by its node. */
static uint32_t *entry_place(struct profile *p, uint32_t group, uint32_t node)
{
	struct profile_index *x = p->index;

	if (p->class_keys.n)
		return intmap_put(&x->entries, pair(group, node), NULL);
	while (x->entry_of_node.n < p->nodes.n)
		vec_push(&x->entry_of_node, 0);
	return &x->entry_of_node.data[node];
}

uint32_t index_entry(struct profile *p, uint32_t group, uint32_t node)
{
	uint32_t none = 0, *entry = &none; /* + 1 */

	if (p->index->first_entry != UINT32_MAX)
		entry = entry_place(p, group, node);
	if (!*entry || !index_entry_is_current(p, *entry - 1, group, node)) {
		vec_push(&p->entries, (struct profile_entry){ group, node });
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			vec_push(&p->weights, (struct weight){ 0 });
		*entry = (uint32_t)p->entries.n;
	}
	return *entry - 1;
}
