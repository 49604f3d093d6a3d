/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/blocks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "store/history/merge.h"
#include "store/history/retention_parts.h"
#include "store/session.h"

/* Numbers behind names have nine digits at most, and merging adds to them. */
#define NAME_NUMBERS 899999990u

/* The first share of samples below which stacks are cut, if a tree is too large, and its growth. */
#define FIRST_SHARE  1e-7
#define SHARE_GROWTH 8

void block_name(uint64_t bucket, const char *part_name, char out[static HISTORY_NAME_SIZE])
{
	uint64_t hash = XXH3_64bits(part_name, strlen(part_name));

	history_part_name(bucket, 2 + (unsigned int)(hash % NAME_NUMBERS), out);
}

char *block_segment(const char *block)
{
	return xasprintf("%s/samples/current/0000.segment", block);
}

/* ---- buckets ---- */

struct bucket_list {
	uint64_t bucket_ns;
	struct block_buckets *out;
};

static bool list_bucket(void *context, const struct block_span *span)
{
	struct bucket_list *list = context;
	uint64_t bucket = span->first_ns - span->first_ns % list->bucket_ns;

	for (size_t i = list->out->n; i-- > 0;)
		if (list->out->data[i].start_ns == bucket) {
			list->out->data[i].samples += span->samples;
			return false;
		}
	vec_push(list->out, (struct block_bucket){ bucket, span->samples });
	return false;
}

static int by_start(const void *a, const void *b)
{
	const struct block_bucket *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int part_buckets(const char *part, uint64_t bucket_ns, struct block_buckets *out, struct error *err)
{
	struct bucket_list list = { bucket_ns, out };
	const struct block_filter filter = {
		.takes = list_bucket, .context = &list, .until_ns = UINT64_MAX, .nodes_later = true
	};
	cleanup(session_close_at_exit) struct session *s = NULL;
	int r;

	out->written_ns = part_written_ns(part); /* before its end is looked for */
	r = session_open_blocks(part, &filter, &s, err);
	out->may_grow =
		r >= 0 && !s->has_end && out->written_ns + PART_ABANDONED_NS > clock_wall_ns();
	if (r >= 0 && out->n)
		qsort(out->data, out->n, sizeof(*out->data), by_start);
	if (out->n && out->may_grow)
		out->growing = out->data[--out->n];
	return r;
}

/* ---- a block ---- */

struct bucket_choice {
	uint64_t from_ns, to_ns;
};

static bool takes_bucket(void *context, const struct block_span *span)
{
	const struct bucket_choice *c = context;

	return span->first_ns >= c->from_ns && span->first_ns < c->to_ns;
}

static bool session_is_empty(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		if (s->segments[i]->n_blocks)
			return false;
	return true;
}

static uint64_t count_lost(const struct session *s)
{
	uint64_t lost = 0;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];

			for (uint32_t l = 0; l < block->n_losses; l++)
				if (loss_texts[block->losses[l].reason].kind == LOSS_LOST)
					lost += block->losses[l].n;
		}
	return lost;
}

/* The session as the block's INFO and END have it: without command lines, and of this time. */
static struct session of_bucket(const struct session *s, uint64_t from_ns, uint64_t to_ns)
{
	struct session of = *s;
	uint64_t start_ns = of.info.start_wall_ns, end_ns;

	of.info.command = "";
	of.info.target = "";
	of.info.note = "";
	if (start_ns < from_ns) {
		of.info.start_ns += from_ns - start_ns;
		of.info.start_wall_ns = from_ns;
	}
	end_ns = session_wall_ns(&of.info, of.end.end_ns);
	if (!of.has_end || end_ns > to_ns)
		of.end.end_ns = of.info.start_ns + (to_ns - of.info.start_wall_ns);
	of.end.own_cpu_ns = 0;
	of.end.own_peak_bytes = 0;
	of.end.exit_status = -1;
	return of;
}

static bool has_second_segment(const char *block)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/samples/current/0001.segment", block);

	return access(path, F_OK) == 0;
}

static uint64_t segment_bytes(const char *block)
{
	cleanup(free_at_exit) char *path = block_segment(block);
	struct stat st;

	return stat(path, &st) < 0 ? 0 : (uint64_t)st.st_size;
}

/* If the tree is too large for a segment, rare stacks are cut until it fits. */
static int write_block(const struct session *s, struct merge_config *config, const char *to,
		       struct merge_result *result, struct error *err)
{
	int r = session_merge(s, config, to, result, err);

	while (r >= 0 && has_second_segment(to)) {
		r = file_remove_tree(to, err);
		config->min_share =
			config->min_share > 0 ? config->min_share * SHARE_GROWTH : FIRST_SHARE;
		if (config->min_share > 1)
			return error_set(err, -E2BIG, "%s does not fit into a segment", to);
		r = r < 0 ? r : session_merge(s, config, to, result, err);
	}
	return r;
}

/* A clock that samples each so many ns has a rate, too. */
static uint64_t rate_of(const struct session_info *info)
{
	const struct counter_info *c = info->n_counters ? &info->counters[0] : NULL;

	if (!c || c->freq_hz)
		return c ? c->freq_hz : 0;
	return c->count && !strcmp(c->unit, "ns") ? NS_PER_SECOND / c->count : 0;
}

int part_block(const char *part, uint64_t bucket, const struct block_config *config, const char *to,
	       struct block_sums *sums, struct error *err)
{
	struct bucket_choice choice = { bucket, bucket + config->bucket_ns };
	const struct block_filter filter = { .takes = takes_bucket,
					     .context = &choice,
					     .until_ns = choice.to_ns,
					     .nodes_later = true };
	cleanup(session_close_at_exit) struct session *s = NULL;
	struct merge_config merge = { .symbols = config->symbols,
				      .without_comm = config->without_comm || config->leaves,
				      .leaves = config->leaves,
				      .takes = config->takes,
				      .takes_context = config->takes_context,
				      .table_bytes = config->table_bytes };
	struct merge_result result;
	struct session of;
	int r = session_open_blocks(part, &filter, &s, err);

	if (r < 0)
		return r;
	if (session_is_empty(s))
		return error_set(err, -ENODATA, "%s has nothing in this bucket", part);
	merge.block_ns = MAX(config->bucket_ns, s->info.block_ns);
	merge.merged = SEPARATE_PROCESS | SEPARATE_THREAD | SEPARATE_CPU |
		       (config->without_cgroup ? SEPARATE_CGROUP : 0);
	of = of_bucket(s, choice.from_ns, MAX(choice.to_ns, bucket + merge.block_ns));
	of.info.stacks = config->leaves ? LEAVES_STACKS : of.info.stacks;
	r = write_block(&of, &merge, to, &result, err);
	if (r >= 0 && sums)
		*sums = (struct block_sums){ .samples = result.samples,
					     .cut = result.cut,
					     .lost = count_lost(s),
					     .bytes = segment_bytes(to),
					     .rate_hz = rate_of(&s->info),
					     .length_ns = merge.block_ns };
	return r;
}
