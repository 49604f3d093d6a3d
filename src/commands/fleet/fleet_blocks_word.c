/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet blocks: the blocks of hosts, which lead to the samples of a host in ten minutes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/strings.h"
#include "base/time_window.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_lists.h"
#include "fleet/fleet_store.h"
#include "open/input.h"
#include "profile/query.h"
#include "store/history/blocks.h"

struct listed_block {
	const char *host; /* of the list */
	struct fleet_key key;
};

struct block_list {
	struct strings hosts;
	struct query query;
	struct time_window window;
	VEC(struct listed_block) blocks;
	uint64_t n; /* of all blocks, also of those that are not in `blocks` */
	bool is_incomplete;
};

/* A key without a block stands for samples that came with other blocks, or expired. */
static int list_host(struct block_list *list, const char *fleet, const char *host,
		     struct error *err)
{
	const char *name = strings_get(&list->hosts, strings_add(&list->hosts, host));
	struct fleet_keys keys;
	int r = fleet_keys_read(fleet, host, &keys, err);

	vec_foreach (&keys, key)
		if (key->hash && key->bucket + BLOCK_BUCKET_NS > list->window.from_ns &&
		    key->bucket < list->window.to_ns)
			vec_push(&list->blocks, (struct listed_block){ name, *key });
	list->n = list->blocks.n;
	vec_fini(&keys);
	return r;
}

static int list_directory(struct block_list *list, const char *fleet, struct error *err)
{
	struct history_names hosts = { 0 };
	int r = fleet_hosts(fleet, &hosts, err);

	for (size_t i = 0; i < hosts.n && r >= 0; i++)
		if (query_takes_name(&list->query, FILTER_HOST, hosts.data[i]))
			r = list_host(list, fleet, hosts.data[i], err);
	history_names_fini(&hosts);
	return r;
}

static void list_block(void *context, const struct listed_coverage *row)
{
	struct block_list *list = context;
	struct listed_block b = { .key = { .bucket = row->start_s * NS_PER_SECOND,
					   .samples = row->samples,
					   .lost = row->lost } };

	b.host = strings_get(&list->hosts, strings_add(&list->hosts, row->host));
	snprintf(b.key.part, sizeof(b.key.part), "%" PRIu64, row->part);
	vec_push(&list->blocks, b);
}

/* Hosts that the filters take. */
struct chosen_hosts {
	const struct query *query;
	VEC(char *) names;
};

static void choose_host(void *context, const struct listed_coverage *row)
{
	struct chosen_hosts *chosen = context;

	if (query_takes_name(chosen->query, FILTER_HOST, row->host))
		vec_push(&chosen->names, xstrdup(row->host));
}

/* ClickHouse has the numbers of parts, and not their names. */
static int list_servers(struct block_list *list, const struct fleet_args *args, const char *place,
			struct error *err)
{
	static const char *const none[1];
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct chosen_hosts chosen = { .query = &list->query };
	struct listed_blocks wish = { .from_s = list->window.from_ns / NS_PER_SECOND,
				      .to_s = list->window.to_ns / NS_PER_SECOND,
				      .limit = args->limit };
	int r = fleet_open_servers(args, place, &ch, err);

	if (r >= 0 && query_has(&list->query, FILTER_HOST)) {
		r = clickhouse_list_hosts(ch, choose_host, &chosen, &list->is_incomplete, err);
		wish.hosts = chosen.names.n ? (const char *const *)chosen.names.data : none;
		wish.n_hosts = chosen.names.n;
	}
	if (r >= 0)
		r = clickhouse_list_blocks(ch, &wish, list_block, list, &list->n,
					   &list->is_incomplete, err);
	vec_foreach (&chosen.names, name)
		free(*name);
	vec_fini(&chosen.names);
	return r;
}

static int by_time_and_host(const void *a, const void *b)
{
	const struct listed_block *x = a, *y = b;
	int r = strcmp(x->host, y->host);

	if (x->key.bucket != y->key.bucket)
		return x->key.bucket < y->key.bucket ? 1 : -1;
	return r ? r : strcmp(x->key.part, y->key.part);
}

static void put_block_text(const struct listed_block *b, struct buf *out)
{
	char when[FLEET_TIME_SIZE];

	fleet_time_text(b->key.bucket, when);
	buf_printf(out, "%-20s %-24s %12" PRIu64 " %10" PRIu64 "  %s\n", when, b->host,
		   b->key.samples, b->key.lost, b->key.part);
}

static void put_block_json(const struct listed_block *b, struct buf *out)
{
	buf_u8(out, '{');
	json_put_text(out, "host", b->host);
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
		(as_json ? put_block_json : put_block_text)(&list->blocks.data[i], out);
	}
	if (as_json)
		buf_printf(out, "],\"other\":%" PRIu64 "}\n", list->n - MIN(list->n, n));
	else if (n < list->n)
		buf_printf(out, "(%" PRIu64 " older block%s)\n", list->n - n,
			   plural_s(list->n - n));
}

int fleet_blocks_run(const struct fleet_args *args, const struct option_list *operands,
		     struct error *err)
{
	struct block_list list = { 0 };
	struct buf out = { 0 };
	const char *fleet;
	int r = fleet_place(operands, &fleet, err);

	strings_init(&list.hosts);
	r = r < 0 ? r : fleet_host_filters(operands, &list.query, err);
	r = r < 0 ? r : fleet_args_window(args, &list.window, err);
	if (r >= 0)
		r = input_is_clickhouse(fleet) ? list_servers(&list, args, fleet, err)
					       : list_directory(&list, fleet, err);
	if (list.blocks.n)
		qsort(list.blocks.data, list.blocks.n, sizeof(*list.blocks.data), by_time_and_host);
	if (r >= 0)
		put_blocks(&list, args->limit, fleet_args_want_json(args), &out);
	r = r < 0 ? r : output_whole("-", out.data, out.len, err);
	query_fini(&list.query);
	strings_fini(&list.hosts);
	vec_fini(&list.blocks);
	buf_fini(&out);
	return r < 0 ? r : list.is_incomplete ? EXIT_FAILED : EXIT_OK;
}
