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

struct regressions_page {
	struct input *in;
	const char *place;
	struct query query;
	struct session *session;
	struct symbolizer *symbols;
	struct profile *profile;
	struct report_options options;
	struct profile_request request;
	bool is_damaged;
	uint32_t lane;
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

static int page_load(struct regressions_page *page, struct error *err)
{
	int r;

	key_list_add(&page->options.by, PROFILE_HOST);
	key_list_add(&page->options.by, PROFILE_SERVICE);
	page->options.for_program = true;
	page->request.query = &page->query;
	r = report_request(&nest_view, &page->options, &page->request, err);
	page->request.with_functions = true;
	page->request.with_chains = false;
	page->request.with_slices = true;
	page->request.merges_jit = true;
	input_want_of_fleet(page->in, &(struct fleet_wish){ true, true, true, true, false });
	r = r < 0 ? r
		  : input_open_query(page->in, page->place, &page->query, &page->session,
				     &page->is_damaged, err);
	if (r < 0)
		return r;
	page->symbols = input_symbolizer(page->in, page->place, NULL);
	page->request.session = page->session;
	page->request.symbols = page->symbols;
	r = input_profile(&page->request, page->is_damaged, &page->profile, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < page->profile->n_lanes; i++)
		if (page->profile->lanes[i].total.samples >
		    page->profile->lanes[page->lane].total.samples)
			page->lane = i;
	vec_foreach (&page->session->warnings, warning)
		log_warning("%s: %s", page->place, *warning);
	return 0;
}

/* ---- printing ---- */

struct regression_texts {
	const char *service, *symbol, *image, *file;
	char old[KEY_TEXT_SIZE], new[KEY_TEXT_SIZE];
};

static void copy_key(const struct profile *p, uint32_t image, char out[static KEY_TEXT_SIZE])
{
	char scratch[KEY_TEXT_SIZE];

	snprintf(out, KEY_TEXT_SIZE, "%s", profile_key_text(p, PROFILE_BUILD, image, scratch));
}

/* `scratch` holds the texts that the profile does not. */
static void find_texts(const struct profile *p, const struct regression *r,
		       char scratch[static 2 * KEY_TEXT_SIZE], struct regression_texts *out)
{
	out->service = profile_key_text(p, PROFILE_SERVICE,
					profile_class_value(p, PROFILE_SERVICE, r->group), scratch);
	out->symbol = profile_key_text(p, PROFILE_SYMBOL, r->function, scratch + KEY_TEXT_SIZE);
	out->image = p->images.data[p->functions.data[r->function].image].image->path;
	out->file = p->images.data[r->new].image->path;
	copy_key(p, r->old, out->old);
	copy_key(p, r->new, out->new);
}

/* The bucket of the change. */
static uint64_t since_ns(const struct profile *p, const struct regression *r)
{
	uint64_t wall_ns = session_wall_ns(&p->session->info, r->since_ns);

	return wall_ns - wall_ns % BLOCK_BUCKET_NS;
}

static void put_regression_json(const struct profile *p, const struct regression *r,
				struct buf *out)
{
	char scratch[2 * KEY_TEXT_SIZE];
	struct regression_texts t;

	find_texts(p, r, scratch, &t);
	buf_u8(out, '{');
	json_put_text(out, "service", t.service);
	json_put_text(out, "symbol", t.symbol);
	json_put_text(out, "image", t.image);
	json_put_text(out, "file", t.file);
	json_put_text(out, "old_build", t.old);
	json_put_text(out, "new_build", t.new);
	json_put_number(out, "since_seconds", since_ns(p, r) / NS_PER_SECOND);
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
		report_new(&nest_view, &page->options, &page->query, page->profile);
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
		put_regression_json(page->profile, &page->found.list.data[i], out);
	}
	buf_str(out, "]}\n");
}

static void put_regression_text(const struct profile *p, const struct regression *r,
				struct buf *out)
{
	char scratch[2 * KEY_TEXT_SIZE], when[FLEET_TIME_SIZE];
	struct regression_texts t;

	find_texts(p, r, scratch, &t);
	fleet_time_text(since_ns(p, r), when);
	buf_printf(out, "%+7.2f %7.2f %7.2f %5" PRIu32 "/%-5" PRIu32 " %-20s %-12.12s ",
		   100 * (r->new_share - r->old_share), 100 * r->old_share, 100 * r->new_share,
		   r->n_grew, r->n_hosts, when, t.new);
	utf8_append_visible(out, path_file_name(t.file));
	buf_str(out, "  ");
	utf8_append_visible(out, t.service);
	buf_str(out, "  ");
	utf8_append_visible(out, t.symbol);
	buf_u8(out, '\n');
}

static void put_text(const struct regressions_page *page, size_t n, struct buf *out)
{
	const struct session *s = page->session;

	buf_printf(out,
		   "%" PRIu64 " samples; %" PRIu32 " of %" PRIu32
		   " hosts have samples here; %" PRIu32 " changes of builds\n",
		   page->profile->n_selected, s->n_hosts, s->n_hosts_asked, page->found.n_changes);
	if (page->found.n_left_out)
		buf_printf(out, "%" PRIu32 " services of hosts are left out: too many changes\n",
			   page->found.n_left_out);
	if (n)
		buf_printf(out, "%7s %7s %7s %-11s %-20s %-12s %s\n", "change", "before %", "now %",
			   "hosts grew", "since", "new build", "file  service  function");
	else
		buf_str(out, "No function grew significantly after a new build.\n");
	for (size_t i = 0; i < n; i++)
		put_regression_text(page->profile, &page->found.list.data[i], out);
}

static int page_print(struct regressions_page *page, const struct fleet_args *args,
		      struct error *err)
{
	struct buf out = { 0 };
	size_t n;
	int r;

	regressions_find(page->profile, page->lane, &page->found);
	n = (size_t)MIN(page->found.list.n, args->limit);
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
		r = r < 0 ? r : page_print(&page, args, err);
		status = opening_status(MIN(r, 0), page.is_damaged);
	}
	regressions_fini(&page.found);
	profile_free(page.profile);
	symbolizer_free(page.symbols);
	session_close(page.session);
	query_fini(&page.query);
	input_free(page.in);
	return r < 0 ? r : status;
}
