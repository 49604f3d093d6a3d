/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet audit: whether each sample that came is there once. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "fleet/fleet_audit.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"

static void put_sums_text(struct buf *out, const char *what, struct audit_sums s)
{
	buf_printf(out, "%" PRIu64 " sample%s and %" PRIu64 " lost %s", s.samples,
		   plural_s(s.samples), s.lost, what);
}

static void put_finding_text(struct buf *out, const struct audit_finding *f)
{
	char when[FLEET_TIME_SIZE];

	fleet_time_text(f->bucket, when);
	buf_printf(out, "  %-9s %s  ", audit_kind_names[f->kind], f->bucket ? when : "-");
	put_sums_text(out, "sent, ", f->sent);
	put_sums_text(out, "stored: ", f->stored);
	utf8_append_visible(out, f->text);
	buf_u8(out, '\n');
}

/* Blocks that the fleet did not take are no differences: they are still on the host. */
static void put_refusals_text(struct buf *out, const struct host_facts *f)
{
	if (!f->refused)
		return;
	buf_printf(out,
		   "  refused   %" PRIu64 " time%s a block, which is not in the fleet; the last: ",
		   f->refused, plural_s(f->refused));
	utf8_append_visible(out, f->refusal);
	buf_u8(out, '\n');
}

static void put_host_text(struct buf *out, const char *host, const struct audit_result *a,
			  const struct host_facts *facts)
{
	utf8_append_visible(out, host);
	buf_printf(out, ": %" PRIu64 " block%s and %" PRIu64 " merged one%s; ", a->n_blocks,
		   plural_s(a->n_blocks), a->n_merged, plural_s(a->n_merged));
	put_sums_text(out, "sent, ", a->sent);
	put_sums_text(out, "stored", a->stored);
	if (a->n_removed)
		buf_printf(out, "; %" PRIu64 " older block%s removed (%" PRIu64 " sample%s)",
			   a->n_removed, plural_s(a->n_removed), a->removed_samples,
			   plural_s(a->removed_samples));
	if (a->expired)
		buf_printf(out, "; %" PRIu64 " sample%s expired, or came with others", a->expired,
			   plural_s(a->expired));
	if (a->findings.n)
		buf_printf(out, "; %zu difference%s\n", a->findings.n, plural_s(a->findings.n));
	else
		buf_str(out, "; no difference\n");
	vec_foreach (&a->findings, f)
		put_finding_text(out, f);
	put_refusals_text(out, facts);
}

static void put_sums_json(struct buf *out, const char *key, struct audit_sums s)
{
	json_put_key(out, key);
	buf_u8(out, '{');
	json_put_number(out, "samples", s.samples);
	json_put_number(out, "lost", s.lost);
	buf_u8(out, '}');
}

static void put_host_json(struct buf *out, const char *host, const struct audit_result *a,
			  const struct host_facts *facts)
{
	buf_u8(out, '{');
	json_put_text(out, "host", host);
	json_put_number(out, "blocks", a->n_blocks);
	json_put_number(out, "merged_blocks", a->n_merged);
	json_put_number(out, "removed_blocks", a->n_removed);
	json_put_number(out, "removed_samples", a->removed_samples);
	json_put_number(out, "expired_samples", a->expired);
	json_put_number(out, "refused", facts->refused);
	json_put_text(out, "refusal", facts->refusal);
	put_sums_json(out, "sent", a->sent);
	put_sums_json(out, "stored", a->stored);
	json_put_key(out, "differences");
	buf_u8(out, '[');
	vec_foreach (&a->findings, f) {
		buf_str(out, f == a->findings.data ? "\n {" : ",\n {");
		json_put_text(out, "kind", audit_kind_names[f->kind]);
		json_put_number(out, "bucket_seconds", f->bucket / NS_PER_SECOND);
		put_sums_json(out, "sent", f->sent);
		put_sums_json(out, "stored", f->stored);
		json_put_text(out, "text", f->text);
		buf_u8(out, '}');
	}
	buf_str(out, "]}");
}

/* A host that can't be opened keeps nobody from auditing the others. */
static void put_failure(const char *host, bool as_json, const struct error *err, struct buf *out)
{
	if (as_json) {
		buf_u8(out, '{');
		json_put_text(out, "host", host);
		json_put_text(out, "error", err->text);
		buf_u8(out, '}');
		return;
	}
	utf8_append_visible(out, host);
	buf_str(out, ": not audited: ");
	utf8_append_visible(out, err->text);
	buf_u8(out, '\n');
}

/* Audits a host into *out. 1: there are differences, or it can't be opened. */
static int audit_host(const char *fleet, const char *host, bool as_json, struct buf *out,
		      struct error *err)
{
	struct audit_result result = { 0 };
	struct host_facts facts;
	int r = host_facts_read(fleet, host, &facts, err);

	r = r < 0 ? r : fleet_audit(fleet, host, &result, err);
	if (r < 0) {
		put_failure(host, as_json, err, out);
		*err = (struct error){ 0 };
		return 1;
	}
	if (as_json)
		put_host_json(out, host, &result, &facts);
	else
		put_host_text(out, host, &result, &facts);
	r = result.findings.n > 0;
	audit_result_fini(&result);
	return r;
}

/* The hosts that are named, or all. */
static int list_hosts(const char *fleet, const struct option_list *operands,
		      struct history_names *out, struct error *err)
{
	if (operands->n <= 1)
		return fleet_hosts(fleet, out, err);
	for (size_t i = 1; i < operands->n; i++) {
		if (!fleet_has_host(fleet, operands->data[i]))
			return error_set(err, -ENOENT, "%s has no host '%s'", fleet,
					 operands->data[i]);
		vec_push(out, xstrdup(operands->data[i]));
	}
	return 0;
}

int fleet_audit_run(const struct fleet_args *args, const struct option_list *operands,
		    struct error *err)
{
	bool as_json = fleet_args_want_json(args), differs = false;
	struct history_names hosts = { 0 };
	struct buf out = { 0 };
	const char *fleet;
	int r = fleet_operand(operands, &fleet, err);

	r = r < 0 ? r : list_hosts(fleet, operands, &hosts, err);
	if (r >= 0 && args->clickhouse) {
		r = fleet_audit_clickhouse(args, fleet, &hosts, err);
		history_names_fini(&hosts);
		return r;
	}
	buf_str(&out, as_json ? "{\"schema\":1,\"hosts\":[" : "");
	for (size_t i = 0; i < hosts.n && r >= 0; i++) {
		buf_str(&out, !as_json ? "" : i ? ",\n" : "\n");
		r = audit_host(fleet, hosts.data[i], as_json, &out, err);
		differs |= r > 0;
	}
	buf_str(&out, as_json ? "]}\n" : "");
	r = r < 0 ? r : output_whole("-", out.data, out.len, err);
	history_names_fini(&hosts);
	buf_fini(&out);
	return r < 0 ? r : differs ? EXIT_FAILED : EXIT_OK;
}
