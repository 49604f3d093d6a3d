/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "report/formats.h"
#include "sessions.h"

#include <jansson.h>

#include "base/utf8.h"
#include "report/names.h"
#include "report/report.h"

#define N_SEEDS 6

struct choice {
	const struct view *view;
	const char *by;
};
static const struct choice choices[] = {
	{ &summary_view, NULL },
	{ &list_view, NULL },
	{ &list_view, "process,cpu" },
	{ &nest_view, "process" },
	{ &nest_view, "app,mode,symbol" },
	{ &nest_view, "event,image" },
	{ &tree_view, NULL },
	{ &tree_view, "comm" },
	{ &inverted_view, NULL },
	{ &inverted_view, "thread" },
	{ &callgraph_view, NULL },
};

/* A loaded report with all that it stands on. */
struct shown {
	struct query query;
	struct report_options options;
	struct profile *profile;
	struct report *report;
};

static int try_show(struct shown *s, const struct fake *f, const struct choice *c,
		    struct error *err)
{
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = &s->query };
	int r;

	if (c->by)
		assert_int_equal(key_list_parse(&s->options.by, c->by, NULL), 0);
	r = report_request(c->view, &s->options, &request, err);
	if (r < 0)
		return r;
	s->profile = profile_load(&request);
	s->report = report_new(c->view, &s->options, &s->query, s->profile);
	return 0;
}

static void show(struct shown *s, const struct fake *f, const struct choice *c)
{
	assert_int_equal(try_show(s, f, c, NULL), 0);
}

static void shown_fini(struct shown *s)
{
	report_free(s->report);
	profile_free(s->profile);
	query_fini(&s->query);
}

/* Not inlined: gcc 12 would take the stream's text for a dangling pointer. */
__attribute__((noinline)) static char *print(const struct shown *s, const char *format,
					     const struct text_style *style)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	report_format_find(format)->print(s->report, style, out);
	fclose(out);
	return text;
}

static const struct report_options many_options[] = {
	{ .min_percent = -1 },
	{ .min_percent = 0 },
	{ .min_percent = 7, .of_parent = true },
	{ .min_percent = 40, .by_period = true },
	{ .min_percent = 0, .max_rows = 2 },
};

static uint64_t json_count(const json_t *row, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(row, key));
}

/* Rows of the JSON form by event, against its own "total". */
static void check_json(const struct shown *s)
{
	cleanup(free_at_exit) char *text = print(s, "json", NULL);
	json_error_t error;
	json_t *whole = json_loads(text, 0, &error), *row, *total;
	size_t i, k;

	assert_non_null(whole);
	json_array_foreach(json_object_get(whole, "total"), k, total)
	{
		const char *event = json_string_value(json_object_get(total, "event"));
		uint64_t samples = 0, events = 0;

		json_array_foreach(json_object_get(whole, "rows"), i, row)
		{
			const char *role = json_string_value(json_object_get(row, "role"));
			const char *of = json_string_value(json_object_get(row, "event"));

			if ((role && strcmp(role, "self") != 0) ||
			    (event && strcmp(event, of) != 0))
				continue;
			samples += json_count(row, "samples");
			events += json_count(row, "events");
		}
		assert_int_equal(samples, json_count(total, "samples"));
		assert_int_equal(events, json_count(total, "events"));
	}
	json_decref(whole);
}

/* Behind the next comma that is not in quotes. */
static const char *next_field(const char *at)
{
	bool is_quoted = false;

	for (; is_quoted || *at != ','; at++) {
		assert_int_not_equal(*at, '\0');
		is_quoted ^= *at == '"';
	}
	return at + 1;
}

/* The number of a named column in a line of CSV. */
static uint64_t csv_number(const char *head, const char *line, const char *key)
{
	size_t len = strlen(key);

	for (;;) {
		if (!strncmp(head, key, len) && (head[len] == ',' || head[len] == '\n'))
			return strtoull(line, NULL, 10);
		head = next_field(head);
		line = next_field(line);
	}
}

static void check_csv(const struct shown *s)
{
	const struct text_style style = { 0 };
	cleanup(free_at_exit) char *text = print(s, "csv", &style);
	bool has_roles = s->report->view->layout == LAYOUT_BLOCKS;
	uint64_t samples = 0;

	for (const char *line = strchr(text, '\n') + 1; *line; line = strchr(line, '\n') + 1)
		if (!has_roles || strstr(line, ",self,"))
			samples += csv_number(text, line, "samples");
	assert_int_equal(samples, s->profile->n_selected);
}

static void rows_and_other_add_up_in_data_formats(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t c = 0; c < ARRAY_SIZE(choices); c++)
			for (size_t o = 0; o < ARRAY_SIZE(many_options); o++) {
				struct shown s = { .options = many_options[o] };

				s.options.for_program = true;
				s.query.with_idle = c % 2;
				show(&s, &f, &choices[c]);
				check_json(&s);
				check_csv(&s);
				shown_fini(&s);
			}
		fake_fini(&f);
	}
}

static size_t leading_spaces(const char *line)
{
	return strspn(line, " ");
}

/* Where the name stands in a nest's line: the row's depth shows there. */
static size_t name_at(const char *line, size_t title_at)
{
	return title_at + leading_spaces(line + title_at);
}

/*
 * The first column of a text table of one event. In nests, lines that have
 * deeper ones below them are sums of those.
 */
static uint64_t sum_text(const char *text, bool is_nest, const char *title)
{
	const char *line = strstr(text, "\n\n") + 2;
	size_t title_at = (size_t)(strstr(line, title) - line);
	uint64_t sum = 0;

	for (line = strchr(line, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
		const char *next = strchr(line, '\n') + 1;

		if (is_nest && *next && name_at(next, title_at) > name_at(line, title_at))
			continue;
		sum += strtoull(line, NULL, 10);
	}
	return sum;
}

static void rows_and_other_add_up_in_text(void **state)
{
	static const struct {
		struct choice choice;
		const char *title;
	} tables[] = {
		{ { &summary_view, NULL }, "app / image" },
		{ { &nest_view, "process,mode,cpu" }, "process / mode / cpu" },
		{ { &list_view, NULL }, "symbol" },
		{ { &tree_view, NULL }, "symbol" },
	};
	const struct text_style style = { .width = 100 };

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
			for (size_t o = 0; o < ARRAY_SIZE(many_options); o++) {
				struct shown s = { .options = many_options[o] };
				char *text;

				s.options.columns = "samples,percent";
				if (tables[t].choice.view == &list_view)
					s.options.columns = "samples,image,symbol";
				assert_int_equal(query_add(&s.query, "event:cycles", NULL), 0);
				show(&s, &f, &tables[t].choice);
				text = print(&s, "text", &style);
				assert_int_equal(sum_text(text,
							  tables[t].choice.view->layout ==
								  LAYOUT_NEST,
							  tables[t].title),
						 s.profile->n_selected);
				free(text);
				shown_fini(&s);
			}
		fake_fini(&f);
	}
}

static void text_fits_the_width_and_is_safe_to_print(void **state)
{
	const struct text_style style = { .width = 90 };
	struct fake f;

	(void)state;
	fake_init(&f, 1);
	for (size_t c = 0; c < ARRAY_SIZE(choices); c++) {
		struct shown s = { .options = { .min_percent = -1 } };
		char *text, *table;

		assert_int_equal(query_add(&s.query, "event:cycles", NULL), 0);
		show(&s, &f, &choices[c]);
		text = print(&s, "text", &style);
		assert_null(strchr(text, '\x1b'));
		assert_non_null(strstr(text, "make \\x1b[31m all"));
		table = strstr(text, "\n\n") + 2;
		for (char *line = strtok(table, "\n"); line; line = strtok(NULL, "\n"))
			assert_in_range(name_width(line), 0, 90);
		free(text);
		shown_fini(&s);
	}
	fake_fini(&f);
}

static void colour_only_adds_escapes(void **state)
{
	const struct text_style plain = { .width = 100 };
	const struct text_style coloured = { .width = 100, .with_colour = true };
	struct shown s = { .options = { .min_percent = -1 } };
	char *a, *b, *to;
	struct fake f;

	(void)state;
	fake_init(&f, 2);
	show(&s, &f, &choices[ARRAY_SIZE(choices) - 1]);
	a = print(&s, "text", &plain);
	b = to = print(&s, "text", &coloured);
	assert_non_null(strchr(b, '\x1b'));
	for (const char *from = b; *from;) {
		if (*from == '\x1b')
			from = strchr(from, 'm') + 1;
		else
			*to++ = *from++;
	}
	*to = '\0';
	assert_string_equal(a, b);
	free(a);
	free(b);
	shown_fini(&s);
	fake_fini(&f);
}

static void the_header_states_losses_idle_time_and_filters(void **state)
{
	const struct text_style style = { .width = 100 };
	struct shown s = { .options = { .min_percent = -1 } };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 0);
	assert_int_equal(query_add(&s.query, "comm:a\\,b,make", NULL), 0);
	show(&s, &f, &choices[0]);
	text = print(&s, "text", &style);
	assert_non_null(strstr(text, "the ring was full (PERF_RECORD_LOST)"));
	assert_non_null(strstr(text, " idle, not shown (--idle); "));
	assert_non_null(strstr(text, " left out by comm:a\\,b,make\n"));
	assert_non_null(strstr(text, "note      a \"note\"\n"));
	assert_non_null(strstr(text, "cycles, 997 samples a second, user and kernel\n"));
	assert_non_null(strstr(text, "faults:u, a sample every 100 events, user only\n"));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

static void many_rare_notes_share_a_line(void **state)
{
	static const int rare[] = { LOSS_PYTHON_EARLY, LOSS_PYTHON_MEMORY, LOSS_PERL_EARLY,
				    LOSS_STACK_BAD };
	struct shown s = { .options = { .min_percent = -1 } };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 0);
	show(&s, &f, &choices[0]);
	s.profile->n_stored = 1000;
	memset(s.profile->losses, 0, sizeof(s.profile->losses));
	s.profile->losses[LOSS_RING_FULL] = 1;
	s.profile->losses[LOSS_JAVA_VERSION] = 1; /* a process, however many samples it has */
	s.profile->losses[LOSS_RUBY_EARLY] = 5;   /* 0.5 % */
	for (size_t i = 0; i < ARRAY_SIZE(rare); i++)
		s.profile->losses[rare[i]] = 1 + (uint64_t)i;
	text = print(&s, "text", &(struct text_style){ 0 });
	assert_non_null(strstr(text, "note      10: stacks that are cut or lack frames, by 4 rarer "
				     "reasons (assay info lists them)\n"));
	assert_non_null(strstr(text, "lost      1 (0.10 %): "));
	assert_non_null(strstr(text, "note      1: processes with a Java"));
	assert_non_null(strstr(text, "note      5: stacks without Ruby"));
	assert_null(strstr(text, "Python"));
	free(text);
	s.profile->losses[rare[0]] = 0;
	text = print(&s, "text", &(struct text_style){ 0 });
	assert_null(strstr(text, "rarer"));
	assert_non_null(strstr(text, "note      2: stacks with missing Python"));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

static void a_session_without_end_says_so(void **state)
{
	struct shown s = { .options = { .min_percent = -1 } };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 0);
	f.joined.has_end = false;
	show(&s, &f, &choices[0]);
	text = print(&s, "text", &(struct text_style){ 0 });
	assert_non_null(strstr(text, "no end: the recorder was killed, or still runs"));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

static void a_session_without_description_is_reported_all_the_same(void **state)
{
	struct counter_info unknown[N_COUNTERS] = {
		{ .name = "[counter 0]", .spec = "", .unit = "events" },
		{ .name = "[counter 1]", .spec = "", .unit = "events" },
	};
	struct shown s = { .options = { .min_percent = -1 } };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 0);
	f.joined.info = (struct session_info){ .version = "",
					       .command = "",
					       .target = "",
					       .hostname = "",
					       .os_release = "",
					       .arch = "",
					       .cpu_model = "",
					       .collector = "",
					       .stacks = "",
					       .note = "the description of the session is damaged",
					       .counters = unknown,
					       .n_counters = N_COUNTERS };
	show(&s, &f, &choices[0]);
	text = print(&s, "text", &(struct text_style){ 0 });
	assert_ptr_equal(text, strstr(text, "event     [counter 0]\n          [counter 1]\n"
					    "time      not known"));
	assert_non_null(strstr(text, "note      the description of the session is damaged\n"));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

static void sorting_by_a_column_orders_the_rows(void **state)
{
	static const char *const sorts[] = { "samples",      "-samples",     "total",
					     "symbol,image", "image,-total", "-events" };
	struct fake f;

	(void)state;
	fake_init(&f, 3);
	for (size_t i = 0; i < ARRAY_SIZE(sorts); i++) {
		struct shown s = { .options = { .min_percent = 0, .sort = sorts[i] } };
		struct column_list list = { .n = 0 };

		show(&s, &f, &choices[1]);
		assert_int_equal(column_list_parse(&list, sorts[i], NULL), 0);
		assert_true(s.report->rows.list.n > 3);
		for (uint32_t row = 1; row < s.report->rows.list.n; row++) {
			int order = column_compare(s.report, list.column[0], row - 1, row);

			assert_true(list.is_reversed[0] ? order >= 0 : order <= 0);
		}
		shown_fini(&s);
	}
	fake_fini(&f);
}

static void totals_are_shown_where_a_key_is_code(void **state)
{
	static const struct {
		struct choice choice;
		bool has_total;
	} cases[] = {
		{ { &list_view, NULL }, true },     { { &nest_view, "process,symbol" }, true },
		{ { &nest_view, "mode" }, true },   { { &nest_view, "process,cpu" }, false },
		{ { &summary_view, NULL }, false },
	};
	struct fake f;

	(void)state;
	fake_init(&f, 2);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct shown s = { .options = { .min_percent = -1, .for_program = true } };
		bool has_total = false;

		show(&s, &f, &cases[i].choice);
		for (size_t c = 0; c < s.report->columns.n; c++)
			has_total |= !strcmp(s.report->columns.column[c]->key, "total");
		assert_true(has_total == cases[i].has_total);
		shown_fini(&s);
	}
	fake_fini(&f);
}

static void what_does_not_go_together_is_refused(void **state)
{
	static const struct {
		struct choice choice;
		const char *sort, *columns, *says;
	} cases[] = {
		{ { &tree_view, "symbol" }, NULL, NULL, "--by: trees can be split by app" },
		{ { &callgraph_view, NULL }, "samples", NULL, "--sort: a callgraph is sorted" },
		{ { &callgraph_view, "cpu" }, NULL, NULL, "--by: does not go with callgraph" },
		{ { &list_view, NULL },
		  "size",
		  NULL,
		  "--sort: no column 'size'; there are samples" },
		{ { &list_view, NULL }, NULL, "a,b", "--columns: no column 'a'; there are" },
		{ { &list_view, NULL }, NULL, "", "--columns: no column ''" },
	};
	struct fake f;

	(void)state;
	fake_init(&f, 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct shown s = { .options = { .min_percent = -1,
						.sort = cases[i].sort,
						.columns = cases[i].columns } };
		struct error err = { 0 };

		assert_int_equal(try_show(&s, &f, &cases[i].choice, &err), -EINVAL);
		assert_non_null(strstr(err.text, cases[i].says));
		shown_fini(&s);
	}
	fake_fini(&f);
}

static void csv_quotes_only_where_needed(void **state)
{
	struct shown s = { .options = { .min_percent = 0, .for_program = true } };
	const struct choice by_comm = { &nest_view, "comm" };
	struct fake f;
	char *text;

	(void)state;
	fake_init(&f, 0);
	show(&s, &f, &by_comm);
	text = print(&s, "csv", &(struct text_style){ 0 });
	assert_int_equal(strncmp(text, "event,comm,samples,percent,events,other\n", 40), 0);
	assert_non_null(strstr(text, "\ncycles,\"a,b\","));
	free(text);
	shown_fini(&s);
	fake_fini(&f);
}

static void names_are_shortened_at_their_least_important_part(void **state)
{
	static const struct {
		const char *name;
		size_t width;
		const char *want;
	} cases[] = {
		{ "main", 10, "main" },
		{ "main", 0, "main" },
		{ "f(int, char const*)", 10, "f(...)" },
		{ "a::f() const", 8, "a::f()" },
		{ "std::vector<std::pair<int, long> >::push_back(std::pair<int, long>&&)", 45,
		  "std::vector<std::pair<...> >::push_back(...)" },
		{ "std::vector<std::pair<int, long> >::push_back(std::pair<int, long>&&)", 38,
		  "std::vector<...>::push_back(...)" },
		{ "operator<< <char, int>(A, B)", 22, "operator<< <...>(...)" },
		{ "bsearch->qsort", 20, "bsearch->qsort" },
		{ "abcdefghijklmnop", 9, "abc...nop" },
		{ "abcdefghijklmnop", 2, "ab" },
		{ "\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6\xc3\xbc\xc3\xa4\xc3\xb6", 5,
		  "\xc3\xa4...\xc3\xb6" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf out = { 0 };

		name_append_short(&out, cases[i].name, cases[i].width, "...");
		if (cases[i].width)
			assert_in_range(name_width(buf_cstr(&out)), 0, cases[i].width);
		assert_string_equal(buf_cstr(&out), cases[i].want);
		buf_fini(&out);
	}
}

static void any_bytes_become_valid_utf8_of_the_width_asked_for(void **state)
{
	static const char alphabet[] =
		"a<>(),:- \x1b\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\xff\xed\xa0";
	uint32_t random = 1;

	(void)state;
	for (int round = 0; round < 5000; round++) {
		struct buf clean = { 0 }, out = { 0 };
		char bytes[48];
		size_t n = (size_t)round % sizeof(bytes);
		json_t *string;

		for (size_t i = 0; i < n; i++) {
			random = random * 1664525 + 1013904223;
			bytes[i] = alphabet[(random >> 8) % (sizeof(alphabet) - 1)];
		}
		bytes[n] = '\0';
		utf8_append_visible(&clean, bytes);
		name_append_short(&out, buf_cstr(&clean), 12, "\xe2\x80\xa6");
		string = json_string(buf_cstr(&out)); /* NULL if it is not UTF-8 */
		assert_non_null(string);
		assert_in_range(name_width(buf_cstr(&out)), 0, 12);
		assert_null(strchr(buf_cstr(&out), '\x1b'));
		json_decref(string);
		buf_fini(&clean);
		buf_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_and_other_add_up_in_data_formats),
		cmocka_unit_test(rows_and_other_add_up_in_text),
		cmocka_unit_test(text_fits_the_width_and_is_safe_to_print),
		cmocka_unit_test(colour_only_adds_escapes),
		cmocka_unit_test(the_header_states_losses_idle_time_and_filters),
		cmocka_unit_test(many_rare_notes_share_a_line),
		cmocka_unit_test(a_session_without_end_says_so),
		cmocka_unit_test(a_session_without_description_is_reported_all_the_same),
		cmocka_unit_test(sorting_by_a_column_orders_the_rows),
		cmocka_unit_test(totals_are_shown_where_a_key_is_code),
		cmocka_unit_test(what_does_not_go_together_is_refused),
		cmocka_unit_test(csv_quotes_only_where_needed),
		cmocka_unit_test(names_are_shortened_at_their_least_important_part),
		cmocka_unit_test(any_bytes_become_valid_utf8_of_the_width_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
