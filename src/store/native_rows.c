/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The native store for callers whose rows are of a tree already. */
#include "store/native_state.h"

#include "base/reserve.h"

bool native_store_end_block(struct store *s, int *r, struct error *err)
{
	uint32_t number = s->number;

	*r = native_flush_block(s, err);
	return *r < 0 || s->number != number;
}

int native_store_group(struct store *s, struct error *err)
{
	/* The segment is still empty; its new header contains the version of groups. */
	s->is_grouping = true;
	s->size_bytes = 0;
	native_begin_out(s);
	return native_write_out(s, err);
}

bool native_store_begin_level(struct store *s, uint64_t level_ns, int *r, struct error *err)
{
	uint32_t number = s->number;

	*r = native_flush_block(s, err);
	if (*r >= 0)
		*r = native_write_group(s, err);
	s->group.level_ns = level_ns;
	s->group.next_class = 0;
	return *r < 0 || s->number != number;
}

bool native_store_begin_row(struct store *s, int *r, struct error *err)
{
	*r = 0;
	return (s->tally.n >= (s->is_grouping ? GROUPED_ROWS_MAX : TALLY_ROWS_MAX) ||
		s->times.n >= STORE_TIMES_MAX ||
		segment_tables_full(&s->tables, s->limits.table_bytes)) &&
	       native_store_end_block(s, r, err);
}

struct native_place native_store_step(struct store *s, struct native_place parent,
				      const struct code_addr *code)
{
	struct tree_step step = { .image = segment_tables_image(&s->tables, code->image),
				  .offset = code->offset };
	uint32_t node;

	if (s->lists_codes)
		return (struct native_place){
			listed_tree_child(&s->tables.listed, parent.node,
					  &(struct code_addr){ { step.image }, step.offset })
		};
	if (!s->hashes.n)
		vec_push(&s->hashes, 0); /* the root's */
	step.hash = hash_step(s->hashes.data[parent.node], step.image, step.offset);
	node = tree_child(&s->tables.tree, parent.node, &step);
	if (node == s->hashes.n)
		vec_push(&s->hashes, step.hash);
	return (struct native_place){ node };
}

/* Packed alone, the nodes need their memory before the rows are sorted and packed. */
static void pack_nodes(struct store *s)
{
	struct segment_tables *t = &s->tables;
	cleanup(reserve_drop) struct reserve room = { 0 };

	if (t->done[TABLE_NODES] == segment_tables_nodes(t) ||
	    segment_tables_reserve(t, s->tally.n, &room) < 0)
		return;
	native_number_nodes(s, &s->nodes);
	listed_tree_drop_nodes(&t->listed);
}

void native_store_end_rows(struct store *s)
{
	listed_tree_end(&s->tables.listed);
	tally_end(&s->tally);
	vec_fini(&s->hashes);
	if (s->lists_codes)
		pack_nodes(s);
}

uint32_t native_store_class(struct store *s, const struct profile_class *class)
{
	return segment_tables_class(&s->tables, class);
}

uint32_t native_store_add_row(struct store *s, uint32_t class, uint32_t node, uint64_t samples,
			      uint64_t period, uint64_t first_ns, uint64_t last_ns)
{
	s->first_ns = s->tally.n ? MIN(s->first_ns, first_ns) : first_ns;
	s->last_ns = s->tally.n ? MAX(s->last_ns, last_ns) : last_ns;
	s->samples += samples;
	s->period += period;
	return tally_add(&s->tally, class, node, samples, period);
}

void native_store_add_time(struct store *s, uint32_t row, const struct timed_sample *time)
{
	struct timed_sample own = *time;

	own.row = row;
	if (s->times.n < BLOCK_TIMES_MAX)
		vec_push(&s->times, own);
	else
		losses_add(&s->losses, LOSS_TIMES_FULL, UINT32_MAX, time->samples);
}
