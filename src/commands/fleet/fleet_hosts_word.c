/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet hosts: the hosts of a fleet. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/clickhouse.h"
#include "fleet/clickhouse_lists.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "open/input.h"
#include "profile/query.h"
#include "store/history/blocks.h"

struct host_row {
	const char *name;
	uint64_t n_blocks, samples, lost, expired;
	uint64_t last_ns;        /* the end of the last bucket; 0: none came */
	char *labels;            /* lines */
	struct host_facts facts; /* zeros of a host of an older assay */
};

static void add_key(struct host_row *row, const struct fleet_key *key)
{
	if (!key->hash) {
		row->expired += key->samples;
		return;
	}
	row->n_blocks++;
	row->samples += key->samples;
	row->lost += key->lost;
	row->last_ns = MAX(row->last_ns, key->bucket + BLOCK_BUCKET_NS);
}

static int read_host(const char *fleet, const char *name, struct host_row *row, struct error *err)
{
	struct fleet_keys keys;
	int r = fleet_keys_read(fleet, name, &keys, err);

	*row = (struct host_row){ .name = name, .labels = fleet_labels_read(fleet, name) };
	vec_foreach (&keys, key)
		add_key(row, key);
	vec_fini(&keys);
	return r < 0 ? r : host_facts_read(fleet, name, &row->facts, err);
}

/* What the host said of itself, and what was refused. */
static void put_facts_text(struct buf *out, const struct host_facts *f)
{
	char when[FLEET_TIME_SIZE];

	if (!f->seen_s)
		return;
	fleet_time_text(f->seen_s * NS_PER_SECOND, when);
	buf_printf(out, "    seen %s, clock %+.1f s, %" PRIu64 " %s, assay ", when,
		   (double)f->skew_ms / 1000, f->backlog,
		   plural(f->backlog, "block waits", "blocks wait"));
	utf8_append_visible(out, f->version);
	buf_u8(out, '\n');
	if (f->refused || f->cloned_s || *f->refusal) {
		buf_printf(out, "    %" PRIu64 " block%s refused; the last reason: ", f->refused,
			   plural_s(f->refused));
		utf8_append_visible(out, f->refusal);
		buf_u8(out, '\n');
	}
}

static void put_text(struct buf *out, const struct host_row *row)
{
	char when[FLEET_TIME_SIZE];
	char *rest = row->labels, *label;

	fleet_time_text(row->last_ns, when);
	buf_printf(out, "%-24s %-20s %8" PRIu64 " %12" PRIu64 " %10" PRIu64 " %10" PRIu64 " ",
		   row->name, when, row->n_blocks, row->samples, row->lost, row->expired);
	for (bool is_first = true; (label = strsep(&rest, "\n"));) {
		if (!*label)
			continue;
		buf_str(out, is_first ? " " : ",");
		utf8_append_visible(out, label);
		is_first = false;
	}
	buf_u8(out, '\n');
	put_facts_text(out, &row->facts);
}

static void put_labels_json(struct buf *out, char *labels)
{
	char *label;

	json_put_key(out, "labels");
	buf_u8(out, '{');
	while ((label = strsep(&labels, "\n"))) {
		char *value = strchr(label, '=');

		if (!fleet_label_is_valid(label))
			continue;
		*value++ = '\0';
		json_put_text(out, label, value);
	}
	buf_u8(out, '}');
}

static void put_facts_json(struct buf *out, const struct host_facts *f)
{
	json_put_text(out, "version", f->version);
	json_put_number(out, "seen_seconds", f->seen_s);
	json_put_number(out, "cpus", f->cpus);
	json_put_number(out, "rate_hz", f->rate_hz);
	json_put_number(out, "backlog", f->backlog);
	json_put_number(out, "expired_on_host", f->expired);
	json_put_number(out, "refused", f->refused);
	json_put_text(out, "refusal", f->refusal);
	json_put_number(out, "cloned_seconds", f->cloned_s);
	json_put_key(out, "skew_ms");
	buf_printf(out, "%" PRId64, f->skew_ms);
}

static void put_json(struct buf *out, const struct host_row *row)
{
	buf_u8(out, '{');
	json_put_text(out, "host", row->name);
	json_put_number(out, "last_seconds", row->last_ns / NS_PER_SECOND);
	json_put_number(out, "blocks", row->n_blocks);
	json_put_number(out, "samples", row->samples);
	json_put_number(out, "lost", row->lost);
	json_put_number(out, "expired_samples", row->expired);
	put_labels_json(out, row->labels);
	put_facts_json(out, &row->facts);
	buf_u8(out, '}');
}

struct host_list {
	struct query query;
	struct buf out;
	bool as_json, has_rows, is_incomplete;
};

/* Takes the labels of the row. */
static void list_add(struct host_list *list, struct host_row *row)
{
	if (list->as_json)
		buf_str(&list->out, list->has_rows ? ",\n" : "\n");
	(list->as_json ? put_json : put_text)(&list->out, row);
	list->has_rows = true;
	free(row->labels);
}

static int list_directory(struct host_list *list, const char *fleet, struct error *err)
{
	struct history_names hosts = { 0 };
	int r = fleet_hosts(fleet, &hosts, err);

	for (size_t i = 0; i < hosts.n && r >= 0; i++) {
		struct host_row row;

		if (!query_takes_name(&list->query, FILTER_HOST, hosts.data[i]))
			continue;
		r = read_host(fleet, hosts.data[i], &row, err);
		list_add(list, &row);
	}
	history_names_fini(&hosts);
	return r;
}

static void list_row(void *context, const struct listed_coverage *host)
{
	struct host_list *list = context;
	struct host_row row = { .name = host->host,
				.n_blocks = host->n_blocks,
				.samples = host->samples,
				.lost = host->lost,
				.last_ns = host->start_s * NS_PER_SECOND + BLOCK_BUCKET_NS,
				.labels = xstrdup("") };

	if (query_takes_name(&list->query, FILTER_HOST, host->host))
		list_add(list, &row);
	else
		free(row.labels);
}

/* ClickHouse has nothing of the facts that a gateway knows. */
static int list_servers(struct host_list *list, const struct fleet_args *args, const char *place,
			struct error *err)
{
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	int r = fleet_open_servers(args, place, &ch, err);

	return r < 0 ? r : clickhouse_list_hosts(ch, list_row, list, &list->is_incomplete, err);
}

int fleet_hosts_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	struct host_list list = { .as_json = fleet_args_want_json(args) };
	const char *fleet;
	int r = fleet_place(operands, &fleet, err);

	r = r < 0 ? r : fleet_host_filters(operands, &list.query, err);
	if (list.as_json)
		buf_str(&list.out, "{\"schema\":1,\"hosts\":[");
	else
		buf_printf(&list.out, "%-24s %-20s %8s %12s %10s %10s  %s\n", "host",
			   "last block ends", "blocks", "samples", "lost", "expired", "labels");
	if (r >= 0)
		r = input_is_clickhouse(fleet) ? list_servers(&list, args, fleet, err)
					       : list_directory(&list, fleet, err);
	buf_str(&list.out, list.as_json ? "]}\n" : "");
	r = r < 0 ? r : output_whole("-", list.out.data, list.out.len, err);
	query_fini(&list.query);
	buf_fini(&list.out);
	return r < 0 ? r : list.is_incomplete ? EXIT_FAILED : EXIT_OK;
}
