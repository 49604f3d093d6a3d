/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/merge_state.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "store/format.h"
#include "store/history/history.h"
#include "store/history/merge_names.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/separation_words.h"
#include "store/tables.h"

/* A tree that is cut is in each of its segments. */
#define TABLE_BYTES (48u << 20)

static void merge_fini(struct merge *m)
{
	for (uint32_t i = 0; i < m->n_sources; i++) {
		merge_source_close(m, &m->sources[i]);
		free(m->sources[i].classes);
		free(m->sources[i].taken);
		free(m->sources[i].forgotten);
	}
	free(m->sources);
	vec_fini(&m->blocks);
	vec_fini(&m->rows);
	vec_fini(&m->times);
	merge_names_fini(&m->names);
}

static int by_key(const void *a, const void *b)
{
	const struct block_ref *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	return (x->block > y->block) - (x->block < y->block);
}

/*
 * Blocks of a second follow the recorder's clock, as its blocks do. Longer blocks follow the wall
 * clock.
 */
static uint64_t key_of(const struct merge *m, const struct block *block)
{
	uint64_t at = m->block_ns > NS_PER_SECOND ? session_wall_ns(&m->from->info, block->first_ns)
						  : block->first_ns;

	return at / m->block_ns;
}

void merge_list_blocks(struct merge *m, uint64_t block_ns)
{
	m->block_ns = block_ns;
	m->blocks.n = 0;
	for (uint32_t i = 0; i < m->n_sources; i++) {
		const struct segment *segment = m->sources[i].segment;

		for (uint32_t b = 0; b < segment->n_blocks; b++) {
			uint64_t key = key_of(m, &segment->blocks[b]);

			vec_push(&m->blocks, (struct block_ref){ key, i, b });
			m->end_ns = MAX(m->end_ns, segment->blocks[b].last_ns);
		}
	}
	if (m->blocks.n)
		qsort(m->blocks.data, m->blocks.n, sizeof(*m->blocks.data), by_key);
}

/*
 * The innermost code of a stack: inside it are frames that stand for facts of a sample, such as the
 * address of its memory access.
 */
static struct code_addr leaf_code(const struct merge *m, const struct source *s, uint32_t node)
{
	const image_id *ids = m->names.image_ids[s->number];
	const struct tree_node *nodes = s->segment->nodes;
	struct code_addr code;

	while (merge_parent_of(s->segment, node) &&
	       image_get(m->names.images, ids[nodes[node].code.image.n])->kind == IMAGE_NAMED)
		node = merge_parent_of(s->segment, node);
	code = merge_code(&m->names, s->number, &nodes[node], CODE_LEAF);
	if (image_is_of_process(image_get(m->names.images, code.image)))
		code.offset = 0;
	return code;
}

/* Asks about a class once. */
static bool ask_class(const struct merge *m, const struct source *s, uint32_t class,
		      bool (*question)(void *context, const char *program, const char *cgroup),
		      uint8_t *answer)
{
	const struct segment *segment = s->segment;
	const struct profile_class *c = &segment->classes[class];
	image_id app = m->names.image_ids[s->number][c->app.n < segment->n_images ? c->app.n : 0];
	const char *cgroup = c->cgroup.n < segment->n_strings ? segment->strings[c->cgroup.n] : "";

	if (!*answer)
		*answer = question(m->config->takes_context, image_get(m->names.images, app)->path,
				   cgroup)
				  ? TAKEN
				  : LEFT_OUT;
	return *answer == TAKEN;
}

static bool takes_class(const struct merge *m, struct source *s, uint32_t class)
{
	return !m->config->takes || ask_class(m, s, class, m->config->takes, &s->taken[class]);
}

static bool forgets_class(const struct merge *m, struct source *s, uint32_t class)
{
	return m->config->forgets &&
	       ask_class(m, s, class, m->config->forgets, &s->forgotten[class]);
}

/* ---- rare stacks ---- */

/* Where a node's samples count, too. With leaves, there are no callers. */
static uint32_t caller_of(const struct merge *m, const struct source *s, uint32_t node)
{
	return m->config->leaves ? 0 : merge_parent_of(s->segment, node);
}

/* The path of each node of a source, as an index into `shares`. */
uint32_t *merge_source_paths(struct shares *x, const struct merge *m, const struct source *s)
{
	uint32_t n = s->segment->n_nodes;
	uint32_t *paths = xcalloc(n + 1, sizeof(*paths));
	cleanup(free_at_exit) uint64_t *hashes = xcalloc(n + 1, sizeof(*hashes));

	for (uint32_t i = 0; i < n; i++) {
		const struct tree_node *node = &s->segment->nodes[i];
		struct code_addr code =
			m->config->leaves ? leaf_code(m, s, i)
					  : merge_code(&m->names, s->number, node, CODE_CALLER);
		uint64_t caller = hashes[caller_of(m, s, i)];
		uint32_t *index;
		bool is_new;

		if (i)
			hashes[i] = hash_step(caller, code.image.n, code.offset);
		index = intmap_put(&x->index, hashes[i], &is_new);
		if (is_new) {
			*index = (uint32_t)x->samples.n;
			vec_push(&x->samples, 0);
		}
		paths[i] = *index;
	}
	return paths;
}

static void add_shares(struct shares *x, struct merge *m, struct source *s, const uint32_t *paths)
{
	const struct segment *segment = s->segment;
	cleanup(free_at_exit) uint64_t *sums = xcalloc(segment->n_nodes + 1, sizeof(*sums));

	for (uint32_t b = 0; b < segment->n_blocks; b++) {
		m->rows.n = 0;
		segment_read_rows(segment, b, &m->rows, NULL);
		vec_foreach (&m->rows, row)
			sums[row->node] += takes_class(m, s, row->class) ? row->samples : 0;
	}
	for (uint32_t i = segment->n_nodes; i-- > 0;) {
		x->samples.data[paths[i]] += sums[i];
		if (i)
			sums[caller_of(m, s, i)] += sums[i];
	}
}

static void find_rare(struct merge *m)
{
	struct shares x = { 0 };
	uint32_t **paths = xcalloc(m->n_sources + 1, sizeof(*paths));
	double least;

	for (uint32_t i = 0; i < m->n_sources; i++) {
		paths[i] = merge_source_paths(&x, m, &m->sources[i]);
		add_shares(&x, m, &m->sources[i], paths[i]);
	}
	least = x.samples.n ? m->config->min_share * (double)x.samples.data[0] : 0;
	for (uint32_t i = 0; i < m->n_sources; i++) {
		struct source *s = &m->sources[i];

		s->is_cut = xcalloc(s->segment->n_nodes + 1, sizeof(bool));
		for (uint32_t n = 1; n < s->segment->n_nodes; n++)
			s->is_cut[n] = (double)x.samples.data[paths[i][n]] < least;
		free(paths[i]);
	}
	free(paths);
	intmap_fini(&x.index);
	vec_fini(&x.samples);
}

/* ---- adding up ---- */

static void forget_places(struct merge *m)
{
	for (uint32_t i = 0; i < m->n_sources; i++) {
		struct source *s = &m->sources[i];

		for (int use = 0; use < N_CODE_USES && s->has_place[use]; use++)
			memset(s->has_place[use], 0,
			       s->segment->n_nodes * sizeof(*s->has_place[use]));
		memset(s->classes, 0, s->segment->n_classes * sizeof(*s->classes));
	}
}

static struct native_place place_of(struct merge *m, struct source *s, uint32_t node,
				    enum code_use use)
{
	struct code_addr other = { m->names.other, 0 };
	uint32_t up = node, depth = 0;
	struct {
		uint32_t node;
		enum code_use use;
	} chain[512];
	struct native_place at = { 0 };

	/* Go up to a known node, or until `chain` is full; recursion does the rest. */
	while (up && !s->has_place[use][up] && depth < ARRAY_SIZE(chain)) {
		uint32_t parent = merge_parent_of(s->segment, up);

		chain[depth].node = up;
		chain[depth++].use = use;
		use = merge_use_of_parent(m, s, parent, up);
		up = parent;
	}
	if (up)
		at = s->has_place[use][up] ? s->places[use][up] : place_of(m, s, up, use);
	if (s->is_cut && m->names.functions)
		other = functions_place(m->names.functions, other, CODE_LEAF);
	while (depth-- > 0) {
		uint32_t n = chain[depth].node, parent = merge_parent_of(s->segment, n);
		struct code_addr code;

		use = chain[depth].use;
		code = merge_source_code(m, s, n, use);
		/* A node below a cut node has the same place. */
		if (!s->is_cut || !s->is_cut[n])
			at = native_store_step(m->store, at, &code);
		else if (!s->is_cut[parent])
			at = native_store_step(m->store, at, &other);
		s->places[use][n] = at;
		s->has_place[use][n] = true;
	}
	return at;
}

static struct native_place leaf_of(struct merge *m, struct source *s, uint32_t node)
{
	struct code_addr code = { m->names.other, 0 };

	if (!node || s->has_place[CODE_LEAF][node])
		return s->places[CODE_LEAF][node];
	if (!s->is_cut || !s->is_cut[node])
		code = leaf_code(m, s, node);
	s->places[CODE_LEAF][node] = native_store_step(m->store, (struct native_place){ 0 }, &code);
	s->has_place[CODE_LEAF][node] = true;
	return s->places[CODE_LEAF][node];
}

static uint32_t class_of(struct merge *m, struct source *s, uint32_t class, uint32_t node)
{
	struct profile_class c;
	string_id comm;
	image_id leaf;

	/* If libraries or the kernel are not kept apart, the class depends on the code. */
	if (s->classes[class])
		return s->classes[class] - 1;
	c = merge_class(&m->names, s->segment, s->number, class);
	leaf = m->names.image_ids[s->number][s->segment->nodes[node].code.image.n];
	comm = c.comm;
	class_merge(&c, image_get(m->names.images, leaf), leaf, m->config->merged);
	/* Thread names are few: they stay apart even without processes. */
	c.comm = m->config->without_comm ? (string_id){ 0 } : comm;
	s->classes[class] = native_store_class(m->store, &c) + 1;
	return s->classes[class] - 1;
}

static uint32_t forgotten_class(struct merge *m, const struct source *s, uint32_t class)
{
	const struct profile_class *of = &s->segment->classes[class];
	const struct profile_class c = { .counter = of->counter,
					 .app = m->names.forgotten,
					 .pid = of->pid ? CLASS_ALL : 0, /* 0: idle */
					 .tid = CLASS_ALL,
					 .cpu = of->cpu };

	return native_store_class(m->store, &c);
}

static struct native_place forgotten_place(struct merge *m)
{
	const struct code_addr code = { m->names.forgotten, 0 };

	return native_store_step(m->store, (struct native_place){ 0 }, &code);
}

static bool has_exact_times(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			if (s->segments[i]->blocks[b].timed_ns)
				return true;
	return false;
}

static int by_row(const void *a, const void *b)
{
	const struct timed_sample *x = a, *y = b;

	return (x->row > y->row) - (x->row < y->row);
}

/* Of damaged times, the session has warned: the samples keep their second. */
static void read_exact_times(struct merge *m, const struct source *s, uint32_t number)
{
	m->times.n = 0;
	if (!m->keeps_times || m->block_ns > NS_PER_SECOND || !s->segment->blocks[number].timed_ns)
		return;
	segment_read_times(s->segment, number, &m->rows, &m->times);
	if (m->times.n)
		qsort(m->times.data, m->times.n, sizeof(*m->times.data), by_row);
}

/* Adds the exact times of a source's row. Returns the place of the next row's times. */
static size_t add_exact_times(struct merge *m, size_t at, uint32_t source_row, uint32_t row)
{
	for (; at < m->times.n && m->times.data[at].row == source_row; at++)
		native_store_add_time(m->store, row, &m->times.data[at]);
	return at;
}

static int add_block(struct merge *m, struct source *s, const struct block *block, uint32_t number,
		     struct error *err)
{
	size_t at_time = 0;
	int r = 0;

	m->rows.n = 0;
	if (segment_read_rows(s->segment, number, &m->rows, NULL) < 0)
		native_store.lose(m->store, LOSS_DAMAGED, UINT32_MAX, block->samples);
	else
		read_exact_times(m, s, number);
	for (uint32_t i = 0; i < block->n_losses; i++)
		native_store.lose(m->store, block->losses[i].reason, block->losses[i].counter,
				  block->losses[i].n);
	vec_foreach (&m->rows, row) {
		bool is_forgotten = forgets_class(m, s, row->class);
		struct native_place at;
		uint32_t added;

		if (!takes_class(m, s, row->class))
			continue;
		if (native_store_begin_row(m->store, &r, err))
			forget_places(m);
		if (r < 0)
			return r;
		at = is_forgotten        ? forgotten_place(m)
		     : m->config->leaves ? leaf_of(m, s, row->node)
					 : place_of(m, s, row->node, CODE_LEAF);
		m->result.forgotten += is_forgotten ? row->samples : 0;
		if (s->is_cut && s->is_cut[row->node])
			m->result.cut += row->samples;
		m->result.samples += row->samples;
		added = native_store_add_row(m->store,
					     is_forgotten ? forgotten_class(m, s, row->class)
							  : class_of(m, s, row->class, row->node),
					     at.node, row->samples, row->period, m->first_ns,
					     m->last_ns);
		at_time = add_exact_times(m, at_time, (uint32_t)(row - m->rows.data), added);
	}
	return 0;
}

/*
 * All blocks of one key have the time of all its samples, even if the rows fill several blocks. So
 * readers take all of them or none.
 */
static void begin_merged(struct merge *m, size_t first)
{
	m->first_ns = UINT64_MAX;
	m->last_ns = 0;
	for (size_t i = first;
	     i < m->blocks.n && m->blocks.data[i].key == m->blocks.data[first].key; i++) {
		const struct block_ref *ref = &m->blocks.data[i];
		const struct block *b = &m->sources[ref->source].segment->blocks[ref->block];

		m->first_ns = MIN(m->first_ns, b->first_ns);
		m->last_ns = MAX(m->last_ns, b->last_ns);
	}
}

/* Adds the nodes of a source while the segment has room. */
static bool learn_source(struct merge *m, struct source *s, int *r, struct error *err)
{
	for (uint32_t node = 1; node < s->segment->n_nodes; node++) {
		if (s->has_rows && !s->has_rows[node])
			continue;
		if (native_store_begin_row(m->store, r, err))
			return false;
		if (m->config->leaves)
			leaf_of(m, s, node);
		else
			place_of(m, s, node, CODE_LEAF);
	}
	return true;
}

/* The nodes with samples in the chosen blocks: the others of the part are of other times. */
static void find_source_rows(struct merge *m, struct source *s)
{
	s->has_rows = xcalloc(s->segment->n_nodes + 1, sizeof(*s->has_rows));
	for (uint32_t b = s->first_block; b < s->end_block; b++) {
		m->rows.n = 0;
		segment_read_rows(s->segment, b, &m->rows, NULL);
		vec_foreach (&m->rows, row)
			s->has_rows[row->node] |=
				takes_class(m, s, row->class) && !forgets_class(m, s, row->class);
	}
	if (m->names.functions)
		merge_find_functions(m, s);
}

static void find_rows(struct merge *m)
{
	for (uint32_t i = 0; i < m->n_sources; i++)
		find_source_rows(m, &m->sources[i]);
}

/*
 * Writes all nodes in one block before the samples. That takes less than half of the bytes that
 * they take second by second.
 */
static int learn_trees(struct merge *m, struct error *err)
{
	bool is_whole = true;
	int r = 0;

	for (uint32_t i = 0; i < m->n_sources && is_whole; i++)
		is_whole = learn_source(m, &m->sources[i], &r, err);
	if (m->names.functions)
		functions_name(m->names.functions, m->store);
	if (!is_whole || native_store_end_block(m->store, &r, err))
		forget_places(m);
	return r;
}

static int add_blocks(struct merge *m, struct error *err)
{
	int r = 0;

	m->result = (struct merge_result){ 0 };
	for (size_t i = 0; i < m->blocks.n && r >= 0; i++) {
		const struct block_ref *ref = &m->blocks.data[i];
		struct source *s = &m->sources[ref->source];

		if (i && ref->key != ref[-1].key && native_store_end_block(m->store, &r, err))
			forget_places(m);
		if (!i || ref->key != ref[-1].key)
			begin_merged(m, i);
		if (r >= 0)
			r = add_block(m, s, &s->segment->blocks[ref->block], ref->block, err);
	}
	return r;
}

/* ---- one source after the other ---- */

/*
 * A block of functions is one merged block. So a source's nodes and places are needed only while
 * its rows are added, and those of all sources need not be in memory at once, nor those of all rows
 * of a source.
 */
static bool goes_by_source(const struct merge *m)
{
	return m->names.functions && m->config->min_share <= 0 && m->blocks.n &&
	       m->blocks.data[0].key == m->blocks.data[m->blocks.n - 1].key;
}

/* Rows whose nodes are in memory at once. Fewer rows would need more time: nodes are read again. */
#define ROWS_AT_ONCE 32768u

static uint32_t end_at_once(const struct segment *segment, uint32_t block)
{
	uint64_t n_rows = 0;

	while (block < segment->n_blocks && n_rows < ROWS_AT_ONCE)
		n_rows += segment->blocks[block++].n_rows;
	return block;
}

/* Adds the blocks s->first_block to s->end_block. */
static int add_some(struct merge *m, struct source *s, struct error *err)
{
	int r = merge_source_open(m, s, err);

	if (!r) {
		find_source_rows(m, s);
		if (!learn_source(m, s, &r, err))
			forget_places(m);
	}
	for (uint32_t b = s->first_block; b < s->end_block && r >= 0; b++)
		r = add_block(m, s, &s->segment->blocks[b], b, err);
	merge_source_close(m, s);
	return r;
}

static int add_source(struct merge *m, struct source *s, struct error *err)
{
	int r = 0;

	for (s->end_block = 0; s->end_block < s->segment->n_blocks && r >= 0;) {
		s->first_block = s->end_block;
		s->end_block = end_at_once(s->segment, s->first_block);
		r = add_some(m, s, err);
	}
	return r;
}

static int add_by_source(struct merge *m, struct error *err)
{
	int r = 0;

	m->result = (struct merge_result){ 0 };
	begin_merged(m, 0);
	for (uint32_t i = 0; i < m->n_sources && r >= 0; i++)
		r = add_source(m, &m->sources[i], err);
	functions_name(m->names.functions, m->store);
	merge_names_end_functions(&m->names);
	native_store_end_rows(m->store);
	return r;
}

/* ---- all ---- */

/* Adds blocks of this length; 0: the session's own length. */
static int add_level(struct merge *m, uint64_t level_ns, struct error *err)
{
	int r;

	merge_list_blocks(m, level_ns ? level_ns : m->config->block_ns);
	if (native_store_begin_level(m->store, level_ns, &r, err))
		forget_places(m);
	return r < 0 ? r : add_blocks(m, err);
}

/* Writes all trees, then the blocks, the longest first, as readers want them. */
static int add_levels(struct merge *m, const bool *pays, struct error *err)
{
	int r;

	if (goes_by_source(m))
		return add_by_source(m, err);
	r = learn_trees(m, err);
	for (size_t l = N_HISTORY_LEVELS; l-- > 0 && r >= 0;)
		r = pays[l] ? add_level(m, history_levels[l].block_ns, err) : 0;
	return r < 0 ? r : add_level(m, 0, err);
}

/* All places stay, so their names do. */
static bool is_whole_code(const struct merge *m)
{
	return !m->names.functions && !m->config->leaves;
}

static int write_merged(struct merge *m, const char *to, struct error *err)
{
	const struct session *from = m->from;
	struct session_info info = from->info;
	struct session_end end = from->end;
	bool pays[N_HISTORY_LEVELS] = { false };
	uint64_t n_unwritten = 0;
	int r, closed;

	if (is_whole_code(m))
		merge_choose_overviews(m, pays);
	info.table_bytes = m->config->table_bytes ? m->config->table_bytes : TABLE_BYTES;
	info.block_ns = m->config->block_ns;
	info.replaces = m->config->replaces;
	info.exact_times = m->keeps_times;
	info.merged |= m->config->merged;
	end.end_ns = MAX(end.end_ns, m->end_ns);
	r = native_store.open(to, &info, m->names.images, &m->names.strings, &m->store, err);
	if (r < 0)
		return r;
	if (!is_whole_code(m))
		native_store_pack_tight(m->store);
	r = native_store_group(m->store, err);
	for (uint32_t i = 0; i < m->n_sources && is_whole_code(m); i++)
		merge_symbols(&m->names, m->sources[i].segment, i, m->sources[i].has_rows,
			      m->store);
	r = r < 0 ? r : add_levels(m, pays, err);
	closed =
		native_store.close(m->store, r < 0 ? NULL : &end, &n_unwritten, r < 0 ? NULL : err);
	r = r < 0 ? r : closed;
	if (r >= 0 && n_unwritten)
		r = error_set(err, -ENOSPC, "%s: not all of it could be written", to);
	return r;
}

int session_merge(const struct session *from, const struct merge_config *config, const char *to,
		  struct merge_result *out, struct error *err)
{
	struct merge m = { .from = from, .config = config };
	int r;

	if (from->info.n_counters > SESSION_COUNTERS_MAX) /* of session_join_to_read() */
		return error_set(err, -E2BIG, "%s: a session has %d different events at most", to,
				 SESSION_COUNTERS_MAX);
	m.keeps_times =
		config->keeps_times && config->block_ns <= NS_PER_SECOND && has_exact_times(from);
	merge_names_init(&m.names, from);
	if (config->symbols)
		merge_names_to_functions(&m.names, from, config->symbols);
	merge_sources_init(&m);
	merge_list_blocks(&m, config->block_ns);
	r = goes_by_source(&m) ? 0 : merge_open_sources(&m, err);
	if (r < 0) {
		merge_fini(&m);
		return r;
	}
	if (config->min_share > 0)
		find_rare(&m);
	if (config->forgets)
		m.names.forgotten = image_intern(m.names.images,
						 &(struct image){ .kind = IMAGE_NAMED,
								  .path = IMAGE_FORGOTTEN_PATH });
	if (!goes_by_source(&m) && (m.names.functions || config->leaves || config->forgets))
		find_rows(&m);
	r = write_merged(&m, to, err);
	if (r < 0)
		file_remove_tree(to, NULL);
	else
		*out = m.result;
	merge_fini(&m);
	return r;
}
