/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sessions.h"

#include <fcntl.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/csv.h"
#include "base/json.h"
#include "base/utf8.h"
#include "export/calls.h"
#include "export/mappings.h"
#include "export/sink.h"
#include "export/text.h"
#include "export/tracks.h"

#define N_SEEDS 6

static struct profile *load(const struct fake *f, const char *keys, bool with_samples)
{
	static const struct query everything;
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = &everything,
					   .with_functions = true,
					   .with_chains = true,
					   .with_places = true,
					   .with_samples = with_samples };

	if (keys)
		assert_int_equal(key_list_parse(&request.keys, keys, NULL), 0);
	return profile_load(&request);
}

static const char *text(struct buf *b, void (*put)(struct buf *out, const char *s), const char *s)
{
	b->len = 0;
	put(b, s);
	return buf_cstr(b);
}

static void json_strings_are_safe_in_a_page(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(text(&b, json_put_string, "plain"), "\"plain\"");
	assert_string_equal(text(&b, json_put_string, "a\"b\\c"), "\"a\\\"b\\\\c\"");
	assert_string_equal(text(&b, json_put_string, "\n\t\x7f"), "\"\\u000a\\u0009\\u007f\"");
	assert_string_equal(text(&b, json_put_string, "</script>"), "\"\\u003c/script>\"");
	assert_string_equal(text(&b, json_put_string, "\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7"),
			    "\"\\u2028\\u2029\xe2\x80\xa7\"");
	assert_string_equal(text(&b, json_put_string, "\xff\xe2\x80"),
			    "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"");
	assert_string_equal(text(&b, json_put_string, "\xf0\x9f\x94\xa5"), "\"\xf0\x9f\x94\xa5\"");
	buf_fini(&b);
}

static void csv_raw(struct buf *out, const char *name)
{
	csv_put_text(out, name, true);
}

static void csv_guarded(struct buf *out, const char *name)
{
	csv_put_text(out, name, false);
}

static void csv_cells_are_quoted_where_they_must(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(text(&b, csv_guarded, "plain text"), "plain text");
	assert_string_equal(text(&b, csv_guarded, "a,b"), "\"a,b\"");
	assert_string_equal(text(&b, csv_guarded, "\"a\" \"\""), "\"\"\"a\"\" \"\"\"\"\"");
	assert_string_equal(text(&b, csv_guarded, "two\nlines\xff"), "\"two\nlines\xef\xbf\xbd\"");
	buf_fini(&b);
}

static void csv_cells_that_begin_like_a_formula_are_text(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(text(&b, csv_guarded, "=1+1"), "'=1+1");
	assert_string_equal(text(&b, csv_guarded, "+1"), "'+1");
	assert_string_equal(text(&b, csv_guarded, "-1"), "'-1");
	assert_string_equal(text(&b, csv_guarded, "@SUM(A1)"), "'@SUM(A1)");
	assert_string_equal(text(&b, csv_guarded, "\t=1"), "'\t=1");
	assert_string_equal(text(&b, csv_guarded, "\r=1"), "\"'\r=1\"");
	assert_string_equal(text(&b, csv_guarded, "=a,b"), "\"'=a,b\"");
	assert_string_equal(text(&b, csv_guarded, "a=1"), "a=1");
	assert_string_equal(text(&b, csv_guarded, ""), "");
	assert_string_equal(text(&b, csv_raw, "=1+1"), "=1+1");
	buf_fini(&b);
}

static void control_characters_are_visible_for_people(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_string_equal(text(&b, utf8_append_visible, "a\033[2J\n\t\x7f"),
			    "a\\x1b[2J\\x0a\\x09\\x7f");
	assert_string_equal(text(&b, utf8_append_visible, "\xc2\x9b\xe2\x80\xae\xd8\x9c"),
			    "\\u{009b}\\u{202e}\\u{061c}");
	assert_string_equal(text(&b, utf8_append_visible, "\xe2\x81\xa6\xe2\x81\xa9\xe2\x80\xa8"),
			    "\\u{2066}\\u{2069}\\u{2028}");
	assert_string_equal(text(&b, utf8_append_visible, "\xff\xe2\x80"), "\\xff\\xe2\\x80");
	assert_string_equal(text(&b, utf8_append_visible,
				 "stra\xc3\x9f"
				 "e \xf0\x9f\x94\xa5 \xe2\x80\xa6 \\"),
			    "stra\xc3\x9f"
			    "e \xf0\x9f\x94\xa5 \xe2\x80\xa6 \\");
	assert_string_equal(text(&b, utf8_append, "a\033\xff"), "a\033\xef\xbf\xbd");
	buf_fini(&b);
}

static void numbers_are_exact(void **state)
{
	static const struct {
		uint64_t ns, unit;
		const char *want;
	} cases[] = {
		{ 0, 1000, "0" },
		{ 1234567, 1000, "1234.567" },
		{ 1000, 1000000, "0.001" },
		{ 1500000000, 1000000000, "1.5" },
		{ 18446744073709551615U, 1000000, "18446744073709.551615" },
	};
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		b.len = 0;
		text_scaled(&b, cases[i].ns, cases[i].unit);
		assert_string_equal(buf_cstr(&b), cases[i].want);
	}
	b.len = 0;
	text_u64(&b, UINT64_MAX);
	assert_string_equal(buf_cstr(&b), "18446744073709551615");
	buf_fini(&b);
}

/* Slices have every entry once, in the order of time, and add up to the samples. */
struct second_sums {
	uint64_t samples[8], last_ns;
};

static int add_to_second(void *context, const struct profile_sample *sample)
{
	struct second_sums *sums = context;

	assert_true(sums->last_ns <= sample->time_ns);
	sums->last_ns = sample->time_ns;
	sums->samples[(sample->time_ns - fake_info.start_ns) / SECOND] += sample->weight.samples;
	return 0;
}

static void each_second_has_its_samples(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct second_sums sums = { 0 };
		struct fake f;
		struct profile *p;

		fake_init(&f, seed);
		p = load(&f, "event", true);
		assert_int_equal(profile_each_sample(p, add_to_second, &sums), 0);
		vec_foreach (&f.samples, sample)
			if (sample->pid)
				sums.samples[sample->second] -= sample->samples;
		for (size_t i = 0; i < ARRAY_SIZE(sums.samples); i++)
			assert_int_equal(sums.samples[i], 0);
		profile_free(p);
		fake_fini(&f);
	}
}

static void places_are_of_their_nodes_functions(void **state)
{
	struct fake f;
	struct profile *p;

	(void)state;
	fake_init(&f, 3);
	p = load(&f, NULL, false);
	assert_int_equal(p->node_places.n, p->nodes.n);
	assert_int_equal(p->node_places.data[0], NO_INDEX);
	for (size_t i = 1; i < p->nodes.n; i++)
		assert_int_equal(p->places.data[p->node_places.data[i]].function,
				 p->nodes.data[i].function);
	/* Two places of a function below the same node are two nodes: more than functions alone
	 * make. */
	assert_true(p->places.n > p->functions.n);
	profile_free(p);
	fake_fini(&f);
}

static void tracks_are_in_the_order_of_time(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;
		struct profile *p;
		struct tracks t;
		uint64_t total = 0;

		fake_init(&f, seed);
		p = load(&f, "thread,cpu,event", true);
		assert_int_equal(tracks_init(&t, p, NULL), 0);
		vec_foreach (&t.list, track) {
			struct pile_reader r;
			uint64_t samples = 0, last_ns = 0;

			track_open(&t, track, &r);
			while (pile_next(&r)) {
				assert_true(last_ns <= r.sample.time_ns);
				assert_int_equal(profile_class_value(p, PROFILE_THREAD,
								     r.sample.group),
						 track->thread);
				assert_int_equal(profile_class_value(p, PROFILE_EVENT,
								     r.sample.group),
						 track->counter);
				assert_true(p->leaf_rows.data[r.sample.node] > 0);
				last_ns = r.sample.time_ns;
				samples += r.sample.weight.samples;
			}
			assert_int_equal(pile_close(&r, NULL), 0);
			assert_int_equal(samples, track->total.samples);
			total += samples;
		}
		assert_int_equal(total, p->n_selected);
		assert_int_equal(p->entries.n, 0);
		tracks_fini(&t);
		profile_free(p);
		fake_fini(&f);
	}
}

/* Whether a node above this one is a call from the same place to the same function. */
static bool is_repeated(const struct profile *p, uint32_t node, uint32_t caller, uint32_t callee)
{
	for (node = p->nodes.data[node].parent; node; node = p->nodes.data[node].parent)
		if (p->nodes.data[node].function == callee &&
		    p->node_places.data[p->nodes.data[node].parent] == caller)
			return true;
	return false;
}

static void calls_count_a_sample_once(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;
		struct profile *p;
		struct calls c;
		uint64_t self = 0;

		fake_init(&f, seed);
		p = load(&f, NULL, false);
		calls_init(&c, p);
		for (size_t i = 0; i < p->entries.n; i++)
			for (uint32_t n = p->entries.data[i].node; n; n = p->nodes.data[n].parent) {
				uint32_t parent = p->nodes.data[n].parent;
				const struct call *call = NULL;

				vec_foreach (&c.list, it)
					if (it->caller == p->node_places.data[parent] &&
					    it->callee == p->nodes.data[n].function)
						call = it;
				assert_true(!parent == !call);
				if (!call || is_repeated(p, n, call->caller, call->callee))
					continue;
				for (uint32_t lane = 0; lane < p->n_lanes; lane++)
					c.weights[(size_t)(call - c.list.data) * p->n_lanes + lane]
						.samples -= profile_weights(p, i)[lane].samples;
			}
		for (size_t i = 0; i < c.list.n * p->n_lanes; i++)
			assert_int_equal(c.weights[i].samples, 0);
		for (size_t i = 0; i < p->places.n * p->n_lanes; i++)
			self += c.self[i].samples;
		assert_int_equal(self, p->n_selected);
		calls_fini(&c);
		profile_free(p);
		fake_fini(&f);
	}
}

static void every_address_is_in_its_mapping_alone(void **state)
{
	struct fake f;
	struct profile *p;
	struct mappings m;

	(void)state;
	fake_init(&f, 1);
	p = load(&f, "app", false);
	mappings_init(&m, p);
	vec_foreach (&p->places, place) {
		uint32_t image = p->functions.data[place->function].image;
		const struct mapping *mapping = mapping_of(&m, image);
		uint64_t address = mapping_address(&m, p, place);

		assert_true((p->images.data[image].image->kind == IMAGE_UNKNOWN) == !mapping);
		assert_true(!mapping || (address >= mapping->start && address < mapping->end));
	}
	mappings_fini(&m);
	profile_free(p);
	fake_fini(&f);
}

static void what_is_gzipped_comes_back(void **state)
{
	char path[] = "sink-XXXXXX";
	int fd = mkstemp(path);
	struct sink s;
	uint32_t v;
	gzFile in;

	(void)state;
	sink_init(&s, fd);
	sink_gzip(&s);
	for (uint32_t i = 0; i < 300000; i++) {
		buf_u32(&s.buf, i * 2654435761U);
		sink_step(&s);
	}
	assert_int_equal(sink_finish(&s), 0);
	close(fd);
	in = gzopen(path, "rb");
	for (uint32_t i = 0; i < 300000; i++) {
		assert_int_equal(gzread(in, &v, sizeof(v)), sizeof(v));
		assert_int_equal(v, i * 2654435761U);
	}
	assert_int_equal(gzread(in, &v, sizeof(v)), 0);
	gzclose(in);
	unlink(path);
}

static void the_first_failed_write_is_reported(void **state)
{
	int fd = open("/dev/full", O_WRONLY);
	struct sink s;

	(void)state;
	if (fd < 0)
		skip_because("no /dev/full");
	for (int zipped = 0; zipped < 2; zipped++) {
		sink_init(&s, fd);
		if (zipped)
			sink_gzip(&s);
		buf_str(&s.buf, "text");
		assert_false(sink_failed(&s));
		assert_int_equal(sink_finish(&s), -ENOSPC);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_strings_are_safe_in_a_page),
		cmocka_unit_test(csv_cells_are_quoted_where_they_must),
		cmocka_unit_test(csv_cells_that_begin_like_a_formula_are_text),
		cmocka_unit_test(control_characters_are_visible_for_people),
		cmocka_unit_test(numbers_are_exact),
		cmocka_unit_test(each_second_has_its_samples),
		cmocka_unit_test(places_are_of_their_nodes_functions),
		cmocka_unit_test(tracks_are_in_the_order_of_time),
		cmocka_unit_test(calls_count_a_sample_once),
		cmocka_unit_test(every_address_is_in_its_mapping_alone),
		cmocka_unit_test(what_is_gzipped_comes_back),
		cmocka_unit_test(the_first_failed_write_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
