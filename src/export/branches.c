/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/branches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/glob.h"
#include "base/strings.h"
#include "perfdata/perfdata.h"
#include "replay/replay.h"

/* Two branches taken are not further apart; if they are, the stack is damaged. */
#define MAX_RANGE ((uint64_t)1 << 20)

#define MISPREDICTED 1 /* of perf_branch_entry's flags */

enum what { BRANCH, RANGE, RANGE_FROM_ELSEWHERE, ADDRESS };

/* The counted branch or range; the key of a table. */
struct place_pair {
	uint32_t what, from_image, to_image, zero;
	uint64_t from, to;
};

struct pair_count {
	uint64_t count, mispredicted;
};

struct counting {
	struct replay_sink sink; /* first: the sink is also this */
	struct replay *replay;
	struct strings pairs;          /* the bytes of place_pairs */
	VEC(struct pair_count) counts; /* by pair; [0] is unused */
	VEC(uint64_t) per_image;       /* branches into it */
	uint64_t n_samples;
};

static void branches_count(struct counting *c, enum what what, struct code_addr from,
			   struct code_addr to, bool is_mispredicted)
{
	struct place_pair pair = { what, from.image.n, to.image.n, 0, from.offset, to.offset };
	uint32_t id = strings_add_n(&c->pairs, (const char *)&pair, sizeof(pair)).n;

	while (c->counts.n <= id)
		vec_add(&c->counts);
	c->counts.data[id].count++;
	c->counts.data[id].mispredicted += is_mispredicted;
	if (what != BRANCH)
		return;
	while (c->per_image.n <= to.image.n)
		vec_push(&c->per_image, 0);
	c->per_image.data[to.image.n]++;
}

/* From the older branch's target to the start of the newer branch. */
static void count_range(struct counting *c, struct code_addr older_from, struct code_addr older_to,
			struct code_addr newer_from)
{
	if (older_to.image.n != newer_from.image.n || newer_from.offset < older_to.offset ||
	    newer_from.offset - older_to.offset > MAX_RANGE)
		return;
	branches_count(c, older_from.image.n == older_to.image.n ? RANGE : RANGE_FROM_ELSEWHERE,
		       older_to, newer_from, false);
}

/* Entries of a call stack are calls that did not return yet: no code ran from one to the next. */
static bool branches_is_call_stack(const struct perfdata_counter *counter)
{
	return counter->attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       counter->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}

const char *branches_call_stack_event(struct replay *replay)
{
	vec_foreach (&perfdata_info(replay_data(replay))->counters, counter)
		if (branches_is_call_stack(counter))
			return counter->name;
	return NULL;
}

static int branches_add_sample(struct replay_sink *sink, const struct replay_sample *s)
{
	struct counting *c = (struct counting *)sink;
	const struct sample_extra *x = s->event->sample.extra;
	struct code_addr newer_from = { IMAGE_UNKNOWN_ID, 0 };

	if (!x || !x->n_branches || branches_is_call_stack(s->counter))
		return 0;
	c->n_samples++;
	branches_count(c, ADDRESS, s->frames->code[0], s->frames->code[0], false);
	for (uint32_t i = 0; i < x->n_branches; i++) {
		const struct branch *b = &x->branches[i];
		struct code_addr from, to;

		/* hardware that saw fewer branches leaves entries empty */
		if (!b->from && !b->to)
			break;
		replay_resolve(c->replay, s, b->from, &from);
		replay_resolve(c->replay, s, b->to, &to);
		branches_count(c, BRANCH, from, to, b->flags & MISPREDICTED);
		if (i)
			count_range(c, from, to, newer_from);
		newer_from = from;
	}
	return 0;
}

/* The image. */

static bool branches_choose_image(struct counting *c, const char *glob, uint32_t *out)
{
	struct image_table *images = machine_images(replay_machine(c->replay));
	uint64_t most = 0;

	for (uint32_t i = 0; i < c->per_image.n; i++) {
		const struct image *image = image_get(images, (image_id){ i });

		if (c->per_image.data[i] <= most ||
		    (glob ? !glob_names_file(glob, image->path) : image->kind != IMAGE_FILE))
			continue;
		most = c->per_image.data[i];
		*out = i;
	}
	return most;
}

/* The lists. */

static int branches_by_place(const void *a, const void *b)
{
	const struct branch_count *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	return x->is_from_elsewhere - y->is_from_elsewhere;
}

static void branches_sort(struct branch_list *list)
{
	if (list->n)
		qsort(list->data, list->n, sizeof(*list->data), branches_by_place);
}

static void pair_find_or_add(struct branches *out, const struct place_pair *p, uint32_t image,
			     const struct pair_count *n)
{
	struct branch_count b = {
		.from = p->from_image == image ? p->from : NOT_HERE,
		.to = p->to_image == image ? p->to : NOT_HERE,
		.count = n->count,
		.mispredicted = n->mispredicted,
		.is_from_elsewhere = p->what == RANGE_FROM_ELSEWHERE,
	};

	if (b.from == NOT_HERE && b.to == NOT_HERE)
		return;
	if (p->what == BRANCH)
		vec_push(&out->branches, b);
	else if (p->what == ADDRESS)
		vec_push(&out->addresses, b);
	else
		vec_push(&out->ranges, b);
}

/* Branches of all other images count as one: they come from elsewhere, or go there. */
static void merge_equal(struct branch_list *list)
{
	size_t n = 0;

	branches_sort(list);
	for (size_t i = 0; i < list->n; i++) {
		if (n && !branches_by_place(&list->data[n - 1], &list->data[i])) {
			list->data[n - 1].count += list->data[i].count;
			list->data[n - 1].mispredicted += list->data[i].mispredicted;
		} else {
			list->data[n++] = list->data[i];
		}
	}
	list->n = n;
}

static void branches_fill(struct counting *c, uint32_t image, struct branches *out)
{
	const struct image *i =
		image_get(machine_images(replay_machine(c->replay)), (image_id){ image });

	*out = (struct branches){ .path = xstrdup(i->path),
				  .build_id = i->build_id,
				  .n_samples = c->n_samples };
	for (uint32_t id = 1; id < c->counts.n; id++) {
		struct place_pair p;

		memcpy(&p, strings_get(&c->pairs, (string_id){ id }), sizeof(p));
		pair_find_or_add(out, &p, image, &c->counts.data[id]);
	}
	merge_equal(&out->branches);
	merge_equal(&out->ranges);
	merge_equal(&out->addresses);
}

static int explain_none(const struct counting *c, const char *image, struct error *err)
{
	if (!c->n_samples && branches_call_stack_event(c->replay))
		return error_set(err, -ENODATA,
				 "the branch records of this recording are call stacks, which do "
				 "not show the code between two branches: record with 'perf record "
				 "-b', without '--call-graph lbr'");
	if (!c->n_samples)
		return error_set(
			err, -ENODATA,
			"the recording has no branch stacks: 'assay record -b' makes them, "
			"where the processor can");
	if (image)
		return error_set(err, -ENODATA, "no branch goes to an image '%s'", image);
	return error_set(err, -ENODATA, "no branch goes to a file: name an image with --image");
}

int branches_load(struct replay *replay, const char *image, struct branches *out,
		  struct error *damage, struct error *err)
{
	struct counting c = { .sink = { branches_add_sample }, .replay = replay };
	uint32_t chosen;
	int r;

	strings_init(&c.pairs);
	r = replay_samples(replay, &c.sink, damage);
	r = r < 0 && !damage->code ? r : 0;
	if (!r && !branches_choose_image(&c, image, &chosen))
		r = explain_none(&c, image, err);
	else if (!r)
		branches_fill(&c, chosen, out);
	strings_fini(&c.pairs);
	vec_fini(&c.counts);
	vec_fini(&c.per_image);
	return r;
}

void branches_fini(struct branches *b)
{
	free(b->path);
	vec_fini(&b->branches);
	vec_fini(&b->ranges);
	vec_fini(&b->addresses);
}
