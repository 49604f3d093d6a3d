/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet audit --clickhouse: whether each block that came is in ClickHouse once. */
#include <inttypes.h>

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
#include "fleet/clickhouse_audit.h"
#include "fleet/clickhouse_fleet.h"
#include "fleet/fleet_store.h"

struct audit_print {
	const struct clickhouse *ch;
	bool as_json;
	uint64_t n_differences;
	struct buf differences; /* as text, or as elements of an array */
};

static void put_difference_json(struct audit_print *p, const struct audit_difference *d)
{
	struct buf *out = &p->differences;

	buf_str(out, p->n_differences > 1 ? ",\n {" : "\n {");
	json_put_text(out, "host", d->host ? d->host : "");
	json_put_text(out, "url", d->host ? "" : clickhouse_address(p->ch, d->shard));
	json_put_text(out, "table", d->table);
	json_put_number(out, "time", d->time_s);
	json_put_number(out, "seconds", d->length_s);
	json_put_number(out, "sent_samples", d->sent);
	json_put_number(out, "sent_lost", d->sent_lost);
	json_put_number(out, "stored_samples", d->stored);
	json_put_number(out, "stored_lost", d->stored_lost);
	json_put_number(out, "blocks_stored_twice", d->doubled);
	buf_u8(out, '}');
}

static void put_difference_text(struct audit_print *p, const struct audit_difference *d)
{
	struct buf *out = &p->differences;
	char when[FLEET_TIME_SIZE];

	fleet_time_text(d->time_s * NS_PER_SECOND, when);
	buf_str(out, "  ");
	utf8_append_visible(out, d->host ? d->host : clickhouse_address(p->ch, d->shard));
	buf_printf(out, " %s +%" PRIu64 " s, table %s: ", when, d->length_s, d->table);
	if (d->doubled)
		buf_printf(out, "%" PRIu64 " block%s there more than once\n", d->doubled,
			   plural(d->doubled, " is", "s are"));
	else
		buf_printf(out,
			   "%" PRIu64 " sample%s and %" PRIu64 " lost sent, %" PRIu64
			   " sample%s and %" PRIu64 " lost stored\n",
			   d->sent, plural_s(d->sent), d->sent_lost, d->stored, plural_s(d->stored),
			   d->stored_lost);
}

static void print_difference(void *context, const struct audit_difference *d)
{
	struct audit_print *p = context;

	p->n_differences++;
	if (p->as_json)
		put_difference_json(p, d);
	else
		put_difference_text(p, d);
}

static void put_audit(const struct audit_print *p, const struct audit_host_sums *all,
		      const struct audit_host_sums *leaves, size_t n_hosts, struct buf *out)
{
	if (!p->as_json) {
		buf_printf(out,
			   "%zu host%s: %" PRIu64 " block%s, %" PRIu64 " sample%s and %" PRIu64
			   " lost in ClickHouse; %" PRIu64 " difference%s\n",
			   n_hosts, plural_s(n_hosts), all->n_blocks, plural_s(all->n_blocks),
			   all->samples, plural_s(all->samples), all->lost, p->n_differences,
			   plural_s(p->n_differences));
		if (leaves->n_blocks)
			buf_printf(out,
				   "of addresses: %" PRIu64 " block%s and %" PRIu64 " sample%s\n",
				   leaves->n_blocks, plural_s(leaves->n_blocks), leaves->samples,
				   plural_s(leaves->samples));
		buf_bytes(out, p->differences.data, p->differences.len);
		return;
	}
	buf_u8(out, '{');
	json_put_number(out, "schema", 1);
	json_put_number(out, "hosts", n_hosts);
	json_put_number(out, "blocks", all->n_blocks);
	json_put_number(out, "samples", all->samples);
	json_put_number(out, "lost", all->lost);
	json_put_number(out, "address_blocks", leaves->n_blocks);
	json_put_number(out, "address_samples", leaves->samples);
	json_put_key(out, "differences");
	buf_u8(out, '[');
	buf_bytes(out, p->differences.data, p->differences.len);
	buf_str(out, "]}\n");
}

static int audit_hosts(struct audit_print *print, struct clickhouse *ch, const char *fleet,
		       bool leaves, const struct history_names *hosts, struct audit_host_sums *all,
		       struct error *err)
{
	struct audit_host_sums one;
	int r = 0;

	for (size_t i = 0; i < hosts->n && r >= 0; i++) {
		if (leaves && !fleet_has_host(fleet, hosts->data[i]))
			continue; /* it sends no addresses */
		r = clickhouse_audit_host(ch, fleet, leaves, hosts->data[i], print_difference,
					  print, &one, err);
		all->n_blocks += one.n_blocks;
		all->samples += one.samples;
		all->lost += one.lost;
	}
	return r;
}

int fleet_audit_clickhouse(const struct fleet_args *args, const char *fleet,
			   const struct history_names *hosts, struct error *err)
{
	const struct clickhouse_options options = { .urls = args->clickhouse,
						    .login = args->login };
	cleanup(clickhouse_close_at_exit) struct clickhouse *ch = NULL;
	struct audit_print print = { .as_json = fleet_args_want_json(args) };
	cleanup(free_at_exit) char *leaves = fleet_leaves(fleet);
	struct audit_host_sums all = { 0 }, addresses = { 0 };
	struct buf out = { 0 };
	int r = clickhouse_open(&options, &ch, err);

	print.ch = ch;
	r = r < 0 ? r : clickhouse_check_fleets(ch, fleet, err);
	r = r < 0 ? r : audit_hosts(&print, ch, fleet, false, hosts, &all, err);
	if (r >= 0 && fleet_is_at(leaves))
		r = audit_hosts(&print, ch, leaves, true, hosts, &addresses, err);
	r = r < 0 ? r : clickhouse_audit_strangers(ch, fleet, false, print_difference, &print, err);
	r = r < 0 ? r : clickhouse_audit_strangers(ch, leaves, true, print_difference, &print, err);
	r = r < 0 ? r : clickhouse_audit_tables(ch, print_difference, &print, err);
	if (r >= 0) {
		put_audit(&print, &all, &addresses, hosts->n, &out);
		r = output_whole("-", out.data, out.len, err);
	}
	buf_fini(&out);
	buf_fini(&print.differences);
	return r < 0 ? r : print.n_differences ? EXIT_FAILED : EXIT_OK;
}
