/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet blocks: the blocks of hosts, which lead to the samples of a host in ten minutes. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/time_window.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_store.h"
#include "profile/query.h"
#include "store/history/blocks.h"

struct listed_block {
	uint32_t host; /* index of the list of hosts */
	struct fleet_key key;
};

struct block_list {
	struct history_names hosts;
	struct query query;
	struct time_window window;
	VEC(struct listed_block) blocks;
};

/* A key without a block stands for samples that came with other blocks, or expired. */
static int list_host(struct block_list *list, const char *fleet, uint32_t host, struct error *err)
{
	struct fleet_keys keys;
	int r = fleet_keys_read(fleet, list->hosts.data[host], &keys, err);

	vec_foreach (&keys, key)
		if (key->hash && key->bucket + BLOCK_BUCKET_NS > list->window.from_ns &&
		    key->bucket < list->window.to_ns)
			vec_push(&list->blocks, (struct listed_block){ host, *key });
	vec_fini(&keys);
	return r;
}

static int by_time_and_host(const void *a, const void *b)
{
	const struct listed_block *x = a, *y = b;

	if (x->key.bucket != y->key.bucket)
		return x->key.bucket < y->key.bucket ? 1 : -1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	return strcmp(x->key.part, y->key.part);
}

static void put_block_text(const struct block_list *list, const struct listed_block *b,
			   struct buf *out)
{
	char when[FLEET_TIME_SIZE];

	fleet_time_text(b->key.bucket, when);
	buf_printf(out, "%-20s %-24s %12" PRIu64 " %10" PRIu64 "  %s\n", when,
		   list->hosts.data[b->host], b->key.samples, b->key.lost, b->key.part);
}

static void put_block_json(const struct block_list *list, const struct listed_block *b,
			   struct buf *out)
{
	buf_u8(out, '{');
	json_put_text(out, "host", list->hosts.data[b->host]);
	json_put_number(out, "start_seconds", b->key.bucket / NS_PER_SECOND);
	json_put_number(out, "end_seconds", (b->key.bucket + BLOCK_BUCKET_NS) / NS_PER_SECOND);
	json_put_number(out, "samples", b->key.samples);
	json_put_number(out, "lost", b->key.lost);
	json_put_text(out, "part", b->key.part);
	buf_u8(out, '}');
}

/* `other`: so many older blocks are not shown. */
static void put_blocks(const struct block_list *list, uint64_t limit, bool as_json, struct buf *out)
{
	size_t n = (size_t)MIN(list->blocks.n, limit);

	if (as_json)
		buf_str(out, "{\"schema\":1,\"blocks\":[");
	else
		buf_printf(out, "%-20s %-24s %12s %10s  %s\n", "begins", "host", "samples", "lost",
			   "part of its history");
	for (size_t i = 0; i < n; i++) {
		buf_str(out, !as_json ? "" : i ? ",\n" : "\n");
		(as_json ? put_block_json : put_block_text)(list, &list->blocks.data[i], out);
	}
	if (as_json)
		buf_printf(out, "],\"other\":%zu}\n", list->blocks.n - n);
	else if (n < list->blocks.n)
		buf_printf(out, "(%zu older blocks)\n", list->blocks.n - n);
}

int fleet_blocks_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	struct block_list list = { 0 };
	struct buf out = { 0 };
	const char *fleet;
	int r = fleet_operand(operands, &fleet, err);

	r = r < 0 ? r : fleet_host_filters(operands, &list.query, err);
	r = r < 0 ? r : fleet_args_window(args, &list.window, err);
	r = r < 0 ? r : fleet_hosts(fleet, &list.hosts, err);
	for (uint32_t i = 0; i < list.hosts.n && r >= 0; i++)
		if (query_takes_name(&list.query, FILTER_HOST, list.hosts.data[i]))
			r = list_host(&list, fleet, i, err);
	if (list.blocks.n)
		qsort(list.blocks.data, list.blocks.n, sizeof(*list.blocks.data), by_time_and_host);
	if (r >= 0)
		put_blocks(&list, args->limit, fleet_args_want_json(args), &out);
	r = r < 0 ? r : output_whole("-", out.data, out.len, err);
	query_fini(&list.query);
	history_names_fini(&list.hosts);
	vec_fini(&list.blocks);
	buf_fini(&out);
	return r < 0 ? r : EXIT_OK;
}
