/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process report over random sessions: every level adds up, whatever is gathered as "other". */
#include "sessions.h"

#include <jansson.h>

#include "processes/process_report.h"

#define N_SEEDS 12

static const struct process_report_options option_sets[] = {
	{ .with_details = true, .only_pid = -1, .with_kernel = true },
	{ .min_percent = 10, .with_details = true, .only_pid = -1, .with_kernel = true },
	{ .max_rows = 1, .with_details = true, .only_pid = -1, .with_kernel = true },
	{ .min_user_s = 0.1, .min_system_s = 1e9, .with_details = true, .only_pid = -1 },
	{ .with_details = true, .only_pid = 2 },
	{ .only_pid = -1, .with_kernel = true },
	{ .with_details = true, .only_pid = -1, .with_kernel = true, .with_instructions = true },
};

struct shown {
	struct query query;
	struct report_options view;
	struct profile *profile;
	struct process_report *report;
};

static void show(struct shown *s, const struct fake *f, const struct process_report_options *o)
{
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = &s->query };

	s->query.with_idle = true;
	process_report_request(o, &request);
	s->profile = profile_load(&request);
	s->report = process_report_new(o, &s->view, &s->query, s->profile);
}

static void shown_fini(struct shown *s)
{
	process_report_free(s->report);
	profile_free(s->profile);
	query_fini(&s->query);
}

static uint64_t region_sum(const struct process_report *r, const struct hit_region *region)
{
	uint64_t sum = region->hidden.weight.samples;

	for (uint32_t i = 0; i < region->n; i++) {
		const struct hit_row *hit = &r->hits.data[region->first + i];
		uint64_t by = 0, places = 0;

		for (int c = 0; c < N_CONTEXTS; c++)
			by += hit->by[c].samples;
		for (uint32_t k = 0; k < hit->n; k++)
			places += r->places.data[hit->first + k].weight.samples;
		assert_int_equal(by, hit->all.samples);
		if (r->options.with_instructions)
			assert_int_equal(places, hit->all.samples);
		if (i)
			assert_true(hit[-1].all.samples >= hit->all.samples);
		sum += hit->all.samples;
	}
	return sum;
}

static uint64_t part_sum(const struct process_report *r, const struct hit_part *part)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < part->n; i++) {
		const struct hit_region *region = &r->regions.data[part->first + i];

		assert_int_equal(region_sum(r, region), region->weight.samples);
		sum += region->weight.samples;
	}
	assert_int_equal(sum, part->weight.samples);
	return sum;
}

static uint64_t contexts_sum(const struct process_row *row, uint32_t contexts)
{
	uint64_t sum = 0;

	for (int c = 0; c < N_CONTEXTS; c++)
		sum += contexts & 1u << c ? row->by[c].samples : 0;
	return sum;
}

static void check_details(const struct process_report *r)
{
	vec_foreach (&r->details, d) {
		const struct process_row *row = &r->processes.rows.data[d->row];

		assert_true(r->is_shown[d->row]);
		for (int part = 0; part < N_PROCESS_PARTS; part++)
			assert_int_equal(part_sum(r, &d->parts[part]),
					 contexts_sum(row, process_parts[part].contexts));
	}
}

static void check_sums(const struct process_report *r, const struct fake *f)
{
	const struct run_statistics *s = &r->statistics;
	struct process_row sum = r->hidden;
	uint32_t n_shown = 0;

	for (uint32_t i = 0; i < r->processes.rows.n; i++) {
		if (!r->is_shown[i])
			continue;
		n_shown++;
		for (int c = 0; c < N_CONTEXTS; c++)
			weight_add(&sum.by[c], &r->processes.rows.data[i].by[c]);
	}
	assert_int_equal(n_shown, r->n_shown);
	assert_int_equal(n_shown + r->n_hidden, r->processes.rows.n);
	for (int c = 0; c < N_CONTEXTS; c++)
		assert_int_equal(sum.by[c].samples, r->processes.total.by[c].samples);
	assert_int_equal(contexts_sum(&r->processes.total, ~0u), s->total.samples);
	assert_int_equal(s->total.samples + s->other_events + s->filtered + s->lost, s->delivered);
	assert_int_equal(s->lost, f->lost);
	assert_int_equal(s->delivered, r->head.profile->n_stored + f->lost);
}

static void every_level_adds_up(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++) {
			struct shown s = { 0 };
			struct fake f;

			fake_init(&f, seed);
			show(&s, &f, &option_sets[i]);
			check_sums(s.report, &f);
			check_details(s.report);
			if (option_sets[i].with_kernel)
				assert_int_equal(part_sum(s.report, &s.report->kernel),
						 contexts_sum(&s.report->processes.total,
							      PROCESS_KERNEL_CONTEXTS));
			else
				assert_int_equal(s.report->kernel.n, 0);
			shown_fini(&s);
			fake_fini(&f);
		}
}

static void details_of_one_process_are_its_alone(void **state)
{
	struct shown s = { 0 };
	struct fake f;

	(void)state;
	fake_init(&f, 3);
	show(&s, &f, &option_sets[4]);
	assert_int_equal(s.report->details.n, 1);
	assert_int_equal(process_pid(&s.report->processes,
				     &s.report->processes.rows.data[s.report->details.data[0].row]),
			 2);
	shown_fini(&s);
	fake_fini(&f);
}

/* Not inlined: gcc 12 would take the stream's text for a dangling pointer. */
__attribute__((noinline)) static char *print(struct process_report *r, int format, uint32_t width)
{
	const struct text_style style = { .width = width, .is_ascii = true };
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (format == 0)
		process_report_print_text(r, &style, out);
	else if (format == 1)
		process_report_print_json(r, out);
	else
		process_report_print_html(r, out);
	fclose(out);
	return text;
}

/* Samples of all symbols and "other" in a list of regions. */
static json_int_t json_sum(const json_t *regions)
{
	json_int_t sum = 0;
	const json_t *region, *symbol;
	size_t i, k;

	json_array_foreach(regions, i, region)
	{
		sum += json_integer_value(
			json_object_get(json_object_get(region, "other"), "samples"));
		json_array_foreach(json_object_get(region, "symbols"), k, symbol) sum +=
			json_integer_value(json_object_get(symbol, "samples"));
	}
	return sum;
}

static void json_is_valid_and_adds_up(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++)
		for (size_t i = 0; i < ARRAY_SIZE(option_sets); i++) {
			struct shown s = { 0 };
			const json_t *process, *all;
			json_error_t err;
			struct fake f;
			json_t *root;
			char *text;
			size_t k;

			fake_init(&f, seed);
			show(&s, &f, &option_sets[i]);
			text = print(s.report, 1, 0);
			root = json_loads(text, 0, &err);
			if (!root)
				print_message("%s at %d: %s\n", err.text, err.position, text);
			assert_non_null(root);
			json_array_foreach(json_object_get(root, "processes"), k, process)
			{
				json_int_t sum = 0;

				all = json_object_get(process, "all");
				for (int part = 0; part < N_PROCESS_PARTS; part++)
					sum += json_sum(
						json_object_get(process, process_parts[part].key));
				if (json_object_get(process, process_parts[0].key))
					assert_int_equal(sum,
							 json_integer_value(
								 json_object_get(all, "samples")));
			}
			json_decref(root);
			free(text);
			shown_fini(&s);
			fake_fini(&f);
		}
}

static void text_and_page_print_at_any_width(void **state)
{
	static const uint32_t widths[] = { 0, 1, 8, 20, 40, 80, 200 };
	struct shown s = { 0 };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 5);
	show(&s, &f, &option_sets[6]);
	for (size_t i = 0; i < ARRAY_SIZE(widths); i++) {
		text = print(s.report, 0, widths[i]);
		assert_non_null(strstr(text, "Statistics of the run"));
		assert_null(strchr(text, '\x1b'));
		free(text);
	}
	text = print(s.report, 2, 0);
	assert_non_null(strstr(text, "</html>"));
	assert_null(strchr(text, '\x1b'));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_level_adds_up),
		cmocka_unit_test(details_of_one_process_are_its_alone),
		cmocka_unit_test(json_is_valid_and_adds_up),
		cmocka_unit_test(text_and_page_print_at_any_width),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
