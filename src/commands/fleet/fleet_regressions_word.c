/* SPDX-License-Identifier: GPL-2.0-or-later */
/* assay fleet regressions: functions whose share grew after a new build (profile/regressions.h). */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/plural.h"
#include "base/strings.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "commands/fleet/fleet_words.h"
#include "commands/opening.h"
#include "fleet/fleet_store.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "profile/regressions.h"
#include "report/header.h"
#include "report/report.h"
#include "store/history/blocks.h"
#include "store/session.h"
#include "store/session_join.h"

struct regressions_input {
	struct session *session;
	struct symbolizer *symbols;
	struct profile *profile;
};

struct regressions_page {
	struct input *in;
	const char *place;
	struct query query;
	struct regressions_input all;
	struct report_options options;
	struct profile_request request;
	bool is_damaged;
	uint32_t lane; /* of all.profile: the event */
	struct regression_sums *sums;
	struct regressions found;
};

static int page_parse(struct regressions_page *page, const struct fleet_args *args,
		      const struct option_list *operands, struct error *err)
{
	const struct window_args window = { .since = args->since ? args->since : "-1w",
					    .until = args->until };
	int r = fleet_place(operands, &page->place, err);

	if (r < 0)
		return r;
	for (size_t i = 1; i < operands->n && r >= 0; i++)
		r = query_add(&page->query, operands->data[i], err);
	r = r < 0 ? r : query_check(&page->query, err);
	r = r < 0 ? r : input_window(&window, &page->query, err);
	return r < 0 ? -EINVAL : 0;
}

/* Opens what the query chooses, and loads it. With `apart`, functions are kept apart by time. */
static int page_read(struct regressions_page *page, bool apart, struct regressions_input *out,
		     struct error *err)
{
	struct profile_request request = page->request;
	bool is_damaged = false;
	int r = input_open_query(page->in, page->place, &page->query, &out->session, &is_damaged,
				 err);

	if (r < 0)
		return r;
	page->is_damaged = page->is_damaged || is_damaged;
	request.session = out->session;
	request.with_slices = apart;
	request.with_functions = request.with_functions || apart; /* a filter may want them */
	if (request.with_functions)
		out->symbols = input_symbolizer(page->in, page->place, NULL);
	request.symbols = out->symbols;
	return input_profile(&request, page->is_damaged, &out->profile, err);
}

static void regressions_input_fini(struct regressions_input *input)
{
	profile_free(input->profile);
	symbolizer_free(input->symbols);
	session_close(input->session);
}

/*
 * All hosts, for the header and the names of hosts. ClickHouse answers for all of them at once;
 * functions of a directory are read later.
 */
static int page_load(struct regressions_page *page, struct error *err)
{
	int r;

	key_list_add(&page->options.by, PROFILE_HOST);
	key_list_add(&page->options.by, PROFILE_SERVICE);
	page->options.for_program = true;
	page->request.query = &page->query;
	r = report_request(&nest_view, &page->options, &page->request, err);
	page->request.with_chains = false;
	page->request.merges_jit = true;
	input_want_of_fleet(page->in, &(struct fleet_wish){ .functions_alone = true,
							    .hosts_apart = true,
							    .times_apart = true,
							    .builds_apart = true });
	r = r < 0 ? r : page_read(page, input_is_clickhouse(page->place), &page->all, err);
	if (r < 0)
		return r;
	vec_foreach (&page->all.session->warnings, warning)
		log_warning("%s: %s", page->place, *warning);
	return 0;
}

static uint32_t busiest_lane(const struct profile *p)
{
	uint32_t lane = 0;

	for (uint32_t i = 1; i < p->n_lanes; i++)
		if (p->lanes[i].total.samples > p->lanes[lane].total.samples)
			lane = i;
	return lane;
}

/* The event of the page in a host's profile; n_lanes: the host does not have it. */
static uint32_t lane_of_host(const struct regressions_page *page, const struct profile *p)
{
	const struct counter_info *counters = p->session->info.counters;
	uint32_t event = page->all.profile->lanes[page->lane].counter, lane = 0;

	for (; lane < p->n_lanes; lane++) {
		uint32_t own = p->lanes[lane].counter;

		if (own != NO_INDEX)
			own = session_event_of_part(page->all.session, &counters[own]);
		if (own == event)
			break;
	}
	return lane;
}

/* Adds a host's changes. Hosts are read one after the other: each has its functions by time. */
static int page_add_host(struct regressions_page *page, const char *host, struct error *err)
{
	struct regressions_input input = { 0 };
	uint32_t lane;
	int r;

	vec_push(&page->query.matchers,
		 (struct matcher){ .tag = FILTER_HOST, .text = xstrdup(host) });
	r = page_read(page, true, &input, err);
	free(page->query.matchers.data[--page->query.matchers.n].text);
	if (r >= 0 && input.profile->slice_s > REGRESSIONS_LONGEST_SLICE_S)
		r = error_set(err, -E2BIG,
			      "%s: host %s has too many samples to keep them apart by day: choose "
			      "a service (service:NAME) or a shorter time (--since)",
			      page->place, host);
	if (r >= 0 && (lane = lane_of_host(page, input.profile)) < input.profile->n_lanes)
		regression_sums_add(page->sums, input.profile, lane);
	regressions_input_fini(&input);
	return r == -ENODATA ? 0 : r; /* forgotten or expired meanwhile */
}

static int page_find(struct regressions_page *page, struct error *err)
{
	const struct profile *p = page->all.profile;
	struct strings hosts;
	int r = 0;

	page->sums = regression_sums_new();
	page->lane = busiest_lane(p);
	if (input_is_clickhouse(page->place)) {
		regression_sums_add(page->sums, p, page->lane);
		regression_sums_find(page->sums, &page->found);
		return 0;
	}
	strings_init(&hosts);
	for (uint32_t g = 0; g < p->n_groups && r >= 0; g++) {
		char scratch[KEY_TEXT_SIZE];
		const char *host =
			profile_key_text(p, PROFILE_HOST, profile_class_value(p, PROFILE_HOST, g),
					 scratch);
		string_id known;

		if (strings_find(&hosts, host, &known))
			continue;
		strings_add(&hosts, host);
		r = page_add_host(page, host, err);
	}
	strings_fini(&hosts);
	regression_sums_find(page->sums, &page->found);
	return r;
}

/* ---- printing ---- */

/* The bucket of the change. */
static uint64_t since_ns(const struct regression *r)
{
	return r->since_ns - r->since_ns % BLOCK_BUCKET_NS;
}

static void put_regression_json(const struct regression *r, struct buf *out)
{
	buf_u8(out, '{');
	json_put_text(out, "service", r->service);
	json_put_text(out, "symbol", r->symbol);
	json_put_text(out, "image", r->image);
	json_put_text(out, "file", r->file);
	json_put_text(out, "old_build", r->old_build);
	json_put_text(out, "new_build", r->new_build);
	json_put_number(out, "since_seconds", since_ns(r) / NS_PER_SECOND);
	buf_printf(out, ",\"old_percent\":%.4f,\"new_percent\":%.4f,\"change\":%.4f,\"z\":%.2f",
		   100 * r->old_share, 100 * r->new_share, 100 * (r->new_share - r->old_share),
		   r->z);
	json_put_number(out, "samples", r->samples);
	json_put_number(out, "hosts", r->n_hosts);
	json_put_number(out, "hosts_grew", r->n_grew);
	buf_u8(out, '}');
}

static void put_json(const struct regressions_page *page, size_t n, struct buf *out)
{
	cleanup(report_free_at_exit) struct report *report =
		report_new(&nest_view, &page->options, &page->query, page->all.profile);
	json_t *header = header_json(report);
	char *text = json_dumps(header, JSON_COMPACT | JSON_REAL_PRECISION(6));

	buf_printf(out, "{\"header\":%s", text ? text : "{}");
	free(text);
	json_decref(header);
	json_put_number(out, "changes", page->found.n_changes);
	json_put_number(out, "left_out", page->found.n_left_out);
	json_put_number(out, "tests", page->found.n_tests);
	json_put_number(out, "other", page->found.list.n - n);
	json_put_key(out, "regressions");
	buf_u8(out, '[');
	for (size_t i = 0; i < n; i++) {
		buf_str(out, i ? ",\n" : "\n");
		put_regression_json(&page->found.list.data[i], out);
	}
	buf_str(out, "]}\n");
}

static void put_regression_text(const struct regression *r, struct buf *out)
{
	char when[FLEET_TIME_SIZE];

	fleet_time_text(since_ns(r), when);
	buf_printf(out, "%+7.2f %7.2f %7.2f %5" PRIu32 "/%-5" PRIu32 " %-20s %-12.12s ",
		   100 * (r->new_share - r->old_share), 100 * r->old_share, 100 * r->new_share,
		   r->n_grew, r->n_hosts, when, r->new_build);
	utf8_append_visible(out, path_file_name(r->file));
	buf_str(out, "  ");
	utf8_append_visible(out, r->service);
	buf_str(out, "  ");
	utf8_append_visible(out, r->symbol);
	buf_u8(out, '\n');
}

static void put_text(const struct regressions_page *page, size_t n, struct buf *out)
{
	const struct session *s = page->all.session;

	buf_printf(out,
		   "%" PRIu64 " sample%s, %" PRIu64 " lost; %" PRIu32 " of %" PRIu32
		   " host%s %s samples here; %" PRIu32 " change%s of builds\n",
		   page->all.profile->n_selected, plural_s(page->all.profile->n_selected),
		   losses_of_kind(page->all.profile->losses, LOSS_LOST), s->n_hosts,
		   s->n_hosts_asked, plural_s(s->n_hosts_asked), plural(s->n_hosts, "has", "have"),
		   page->found.n_changes, plural_s(page->found.n_changes));
	if (*s->info.note) {
		utf8_append_visible(out, s->info.note);
		buf_u8(out, '\n');
	}
	if (page->found.n_left_out)
		buf_printf(out, "%" PRIu32 " service%s of hosts %s left out: too many changes\n",
			   page->found.n_left_out, plural_s(page->found.n_left_out),
			   plural(page->found.n_left_out, "is", "are"));
	if (n)
		buf_printf(out, "%7s %7s %7s %-11s %-20s %-12s %s\n", "change", "before %", "now %",
			   "hosts grew", "since", "new build", "file  service  function");
	else
		buf_str(out, "No function grew significantly after a new build.\n");
	for (size_t i = 0; i < n; i++)
		put_regression_text(&page->found.list.data[i], out);
}

static int page_print(struct regressions_page *page, const struct fleet_args *args,
		      struct error *err)
{
	struct buf out = { 0 };
	size_t n = (size_t)MIN(page->found.list.n, args->limit);
	int r;

	(fleet_args_want_json(args) ? put_json : put_text)(page, n, &out);
	r = output_whole("-", out.data, out.len, err);
	buf_fini(&out);
	return r;
}

int fleet_regressions_run(const struct fleet_args *args, const struct option_list *operands,
			  struct error *err)
{
	const struct open_config config = { 0 };
	struct regressions_page page = { .options = { .min_percent = -1 } };
	int r = page_parse(&page, args, operands, err);
	int status = r < 0 ? EXIT_OK : opening_begin("fleet", &config, &page.in);

	if (r >= 0 && status < 0) {
		r = page_load(&page, err);
		r = r < 0 ? r : page_find(&page, err);
		r = r < 0 ? r : page_print(&page, args, err);
		status = opening_status(MIN(r, 0), page.is_damaged);
	}
	regressions_fini(&page.found);
	regression_sums_free(page.sums);
	regressions_input_fini(&page.all);
	query_fini(&page.query);
	input_free(page.in);
	return r < 0 ? r : status;
}
