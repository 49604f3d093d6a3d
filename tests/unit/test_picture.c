/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sessions.h"

#include <jansson.h>
#include <zlib.h>

#include "base/clock.h"
#include "picture/picture.h"
#include "report/markup.h"

#define N_SEEDS 8

/* A picture with all that it stands on. */
struct drawn {
	struct query query;
	struct report_options options;
	struct profile *profile, *baseline;
	struct report *report;
	struct picture *pic;
};

static void draw(struct drawn *d, const struct fake *f, const char *by, bool with_base,
		 uint32_t max_boxes, uint32_t max_cells)
{
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = &d->query,
					   .with_slices = true };

	*d = (struct drawn){ .options = { .min_percent = 0 } };
	if (by)
		assert_int_equal(key_list_parse(&d->options.by, by, NULL), 0);
	assert_int_equal(report_request(&picture_view, &d->options, &request, NULL), 0);
	d->profile = profile_load(&request);
	d->baseline = with_base ? profile_load(&request) : NULL;
	d->report = report_new(&picture_view, &d->options, &d->query, d->profile);
	d->pic = picture_new(&(struct picture_source){ .report = d->report,
						       .baseline = d->baseline,
						       .max_boxes = max_boxes,
						       .max_cells = max_cells });
}

static void drawn_fini(struct drawn *d)
{
	picture_free(d->pic);
	report_free(d->report);
	profile_free(d->profile);
	profile_free(d->baseline);
	query_fini(&d->query);
}

/* Preorder, and siblings heaviest first: what the page and the SVG rely on. */
static void check_nodes(const struct picture *pic)
{
	double *last = xcalloc(pic->nodes.n, sizeof(*last));

	assert_int_equal(pic->nodes.data[0].depth, 0);
	for (size_t i = 1; i < pic->nodes.n; i++) {
		const struct picture_node *n = &pic->nodes.data[i];

		assert_true(n->parent < i);
		assert_true(n->frame < pic->frames.n);
		assert_int_equal(n->depth, pic->nodes.data[n->parent].depth + 1);
		assert_true(n->depth <= pic->nodes.data[i - 1].depth + 1);
		assert_true(last[n->parent] == 0 || n->share <= last[n->parent]);
		last[n->parent] = n->share;
	}
	free(last);
}

static void check_cells(const struct picture *pic)
{
	const struct profile *p = pic->report->profile;

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		struct weight sum = { 0 };
		const struct picture_cell *before = NULL;

		vec_foreach (&pic->lanes[lane].cells, c) {
			assert_true(c->node > 0 && c->node < pic->nodes.n);
			assert_true(!before || before->bucket < c->bucket ||
				    (before->bucket == c->bucket && before->node < c->node));
			weight_add(&sum, &c->weight);
			before = c;
		}
		assert_int_equal(sum.samples, p->lanes[lane].total.samples);
		assert_int_equal(sum.period, p->lanes[lane].total.period);
	}
}

static void check_lost(const struct picture *pic, const struct fake *f)
{
	uint64_t n = 0;

	vec_foreach (&pic->lost, l)
		n += l->n;
	assert_int_equal(n, f->lost);
}

static void every_sum_holds_however_little_room_there_is(void **state)
{
	static const uint32_t limits[][2] = { { 0, 0 }, { 30, 0 }, { 0, 10 }, { 1, 1 } };

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
			struct drawn d;
			uint32_t max = limits[i][0];

			draw(&d, &f, seed % 2 ? "comm" : "app,cpu", false, max, limits[i][1]);
			check_nodes(d.pic);
			check_cells(d.pic);
			check_lost(d.pic, &f);
			assert_int_equal(d.pic->n_hidden > 0, max > 0);
			assert_true(!max || d.pic->nodes.n <= 2 * (size_t)max + 2);
			assert_int_equal(d.pic->bucket_s > 1, limits[i][1] > 0);
			drawn_fini(&d);
		}
		fake_fini(&f);
	}
}

/* The samples of each node, from all entries. The caller frees them. */
static uint64_t *samples_by_node(const struct profile *p)
{
	uint64_t *samples = xcalloc(p->nodes.n + 1, sizeof(*samples));

	assert_int_equal(p->weights.n, p->entries.n * p->n_lanes);
	for (size_t i = 0; i < p->entries.n; i++)
		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			samples[p->entries.data[i].node] += profile_weights(p, i)[lane].samples;
	return samples;
}

static void check_long_slices(struct fake *f, uint32_t slice_s, size_t max)
{
	struct query query = { 0 };
	struct profile_request request = { .session = &f->joined,
					   .symbols = f->symbols,
					   .query = &query };
	struct profile *whole = profile_load(&request), *sliced;
	uint64_t *expected = samples_by_node(whole), *found;

	request.with_slices = true;
	request.slice_s = slice_s;
	request.max_entries = max;
	sliced = profile_load(&request);
	found = samples_by_node(sliced);
	assert_int_equal(sliced->nodes.n, whole->nodes.n);
	for (size_t i = 0; i < whole->nodes.n; i++)
		assert_int_equal(found[i], expected[i]);
	free(expected);
	free(found);
	profile_free(whole);
	profile_free(sliced);
}

/* Slices of several seconds go on with their entries, which get other numbers when they are joined.
 */
static void longer_slices_have_the_samples_of_each_node(void **state)
{
	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (uint32_t slice_s = 2; slice_s < 20; slice_s *= 2)
			for (size_t max = 4; max < 1000; max *= 2)
				check_long_slices(&f, slice_s, max);
		fake_fini(&f);
	}
}

/* A page keeps nodes that have no box, but for the very lightest. Below a light node, all are. */
static void a_page_keeps_light_nodes(void **state)
{
	size_t n_kept = 0;

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct picture_source source = { .max_boxes = 30, .max_nodes = 60 };
		struct fake f;
		struct drawn d;
		size_t n_light = 0, n_joined = 0;

		fake_init(&f, seed);
		draw(&d, &f, "comm", false, 0, 0);
		picture_free(d.pic);
		source.report = d.report;
		source.keeps_light = true;
		d.pic = picture_new(&source);
		check_cells(d.pic);
		for (size_t i = 1; i < d.pic->nodes.n; i++) {
			const struct picture_node *n = &d.pic->nodes.data[i];

			n_light += n->is_light;
			n_joined += n->frame == d.pic->other_frame;
			assert_true(n->is_light || !d.pic->nodes.data[n->parent].is_light);
			assert_true(n->is_light || n->frame != d.pic->other_frame);
		}
		assert_true(d.pic->nodes.n - n_light <= 31);
		n_kept += n_light - n_joined;
		assert_int_equal(n_joined > 0, d.pic->n_joined > 0);
		assert_int_equal(n_light - n_joined, d.pic->n_hidden - d.pic->n_joined);
		drawn_fini(&d);
		fake_fini(&f);
	}
	assert_true(n_kept > 0);
}

/* Slices of several seconds have all samples of these, and the page's buckets are as long. */
static void slices_become_longer_where_memory_is_short(void **state)
{
	struct query query = { 0 };
	struct report_options options = { .min_percent = 0 };
	struct fake f;

	(void)state;
	fake_init(&f, 3);
	for (size_t max = 4; max < 4096; max *= 4) {
		struct profile_request request = { .session = &f.joined,
						   .symbols = f.symbols,
						   .query = &query,
						   .with_slices = true,
						   .max_entries = max };
		struct drawn d = { .options = options };
		uint64_t start = f.joined.info.start_ns, samples = 0;

		assert_int_equal(report_request(&picture_view, &options, &request, NULL), 0);
		d.profile = profile_load(&request);
		d.report = report_new(&picture_view, &options, &query, d.profile);
		d.pic = picture_new(&(struct picture_source){ .report = d.report });
		assert_true(d.profile->entries.n <= max || d.profile->slices.n == 1);
		assert_true(max > 16 || d.profile->slice_s > 1);
		assert_true(d.pic->bucket_s >= d.profile->slice_s);
		vec_foreach (&d.profile->slices, s) {
			uint64_t length = d.profile->slice_s * (uint64_t)NS_PER_SECOND;

			assert_int_equal((s->first_ns - start) / length,
					 (s->last_ns - start) / length);
			assert_true(s == d.profile->slices.data ||
				    s[-1].first + s[-1].n == s->first);
			for (size_t i = s->first; i < s->first + s->n; i++)
				for (uint32_t lane = 0; lane < d.profile->n_lanes; lane++)
					samples += profile_weights(d.profile, i)[lane].samples;
		}
		assert_int_equal(samples, d.profile->n_selected);
		check_cells(d.pic);
		drawn_fini(&d);
	}
	fake_fini(&f);
}

static void a_bucket_has_the_samples_of_its_second(void **state)
{
	struct fake f;
	struct drawn d;

	(void)state;
	fake_init(&f, 3);
	draw(&d, &f, NULL, false, 0, 0);
	for (uint32_t lane = 0; lane < N_COUNTERS; lane++)
		for (uint64_t second = 0; second < 8; second++) {
			uint64_t got = 0, want = 0;

			vec_foreach (&d.pic->lanes[lane].cells, c)
				got += c->bucket == second ? c->weight.samples : 0;
			vec_foreach (&f.samples, s)
				want += s->second == second && s->counter == lane && s->pid
						? s->samples
						: 0;
			assert_int_equal(got, want);
		}
	drawn_fini(&d);
	fake_fini(&f);
}

static void a_session_against_itself_has_no_difference(void **state)
{
	struct fake f;
	struct drawn d;

	(void)state;
	fake_init(&f, 5);
	draw(&d, &f, "comm", true, 40, 0);
	for (uint32_t lane = 0; lane < d.profile->n_lanes; lane++) {
		struct weight *sums = xcalloc(d.pic->nodes.n, sizeof(*sums));

		vec_foreach (&d.pic->lanes[lane].cells, c)
			weight_add(&sums[c->node], &c->weight);
		vec_foreach (&d.pic->lanes[lane].base, c) {
			assert_int_equal(sums[c->node].samples, c->weight.samples);
			assert_int_equal(sums[c->node].period, c->weight.period);
			sums[c->node] = (struct weight){ 0 };
		}
		for (size_t i = 0; i < d.pic->nodes.n; i++)
			assert_int_equal(sums[i].samples, 0);
		free(sums);
	}
	drawn_fini(&d);
	fake_fini(&f);
}

/* ---- the page ---- */

static uint8_t *from_base64(const char *text, size_t n, size_t *size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint8_t *bytes = xmalloc(n);
	uint32_t bits = 0, n_bits = 0;

	*size = 0;
	for (size_t i = 0; i < n && text[i] != '='; i++) {
		const char *digit = strchr(digits, text[i]);

		assert_non_null(digit);
		bits = bits << 6 | (uint32_t)(digit - digits);
		n_bits += 6;
		if (n_bits >= 8)
			bytes[(*size)++] = (uint8_t)(bits >> (n_bits -= 8));
	}
	return bytes;
}

/* The payload of a page, unpacked. */
static uint8_t *payload_of(const char *page, uLongf *size)
{
	static const char before[] = "id=\"data\">";
	const char *text = strstr(page, before);
	size_t packed_size;
	uint8_t *packed, *plain = xmalloc(*size);

	assert_non_null(text);
	text += strlen(before);
	packed = from_base64(text, strcspn(text, "<"), &packed_size);
	assert_int_equal(uncompress(plain, size, packed, packed_size), Z_OK);
	free(packed);
	return plain;
}

__attribute__((noinline)) static char *print(const struct picture *pic,
					     void (*format)(const struct picture *, FILE *))
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	format(pic, out);
	fclose(out);
	return text;
}

static void the_payload_is_as_its_description_says(void **state)
{
	struct fake f;
	struct drawn d;
	uLongf size = 4 << 20;
	char *page;
	uint8_t *plain;
	uint64_t json_size = 0, up;
	size_t at = 0, n_bytes;
	json_t *about;

	(void)state;
	fake_init(&f, 1);
	draw(&d, &f, "comm", false, 0, 0);
	page = print(d.pic, picture_print_html);
	plain = payload_of(page, &size);
	for (uint32_t shift = 0;; shift += 7) {
		json_size |= (uint64_t)(plain[at] & 127) << shift;
		if (!(plain[at++] & 128))
			break;
	}
	about = json_loadb((const char *)plain + at, json_size, 0, NULL);
	assert_non_null(about);
	assert_int_equal(json_integer_value(json_object_get(about, "nodes")), d.pic->nodes.n);
	assert_int_equal(json_array_size(json_object_get(about, "names")), d.pic->frames.n);
	assert_int_equal(json_array_size(json_object_get(about, "lanes")), d.profile->n_lanes);
	/* the first node is a child of the root */
	up = plain[at + json_size];
	assert_int_equal(up, 0);
	/* each node and each frame has at least one byte */
	n_bytes = size - at - json_size;
	assert_true(n_bytes >= 2 * (d.pic->nodes.n - 1) + d.pic->frames.n);
	assert_non_null(strstr(page, "</html>"));
	json_decref(about);
	free(plain);
	free(page);
	drawn_fini(&d);
	fake_fini(&f);
}

static void the_svg_says_the_total(void **state)
{
	struct fake f;
	struct drawn d;
	char *image, want[64];

	(void)state;
	fake_init(&f, 2);
	draw(&d, &f, "comm", true, 0, 0);
	image = print(d.pic, picture_print_svg);
	snprintf(want, sizeof(want), "%" PRIu64 " samples", d.profile->lanes[0].total.samples);
	assert_non_null(strstr(image, want));
	assert_non_null(strstr(image, "</svg>"));
	assert_null(strchr(image, '\x1b'));
	free(image);
	drawn_fini(&d);
	fake_fini(&f);
}

static void text_is_escaped(void **state)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	markup_print_text("</script>\"'&\n\x01\xff", out);
	fclose(out);
	assert_string_equal(text, "&lt;/script&gt;&quot;&#39;&amp;\\x0a\\x01\\xff");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sum_holds_however_little_room_there_is),
		cmocka_unit_test(longer_slices_have_the_samples_of_each_node),
		cmocka_unit_test(a_page_keeps_light_nodes),
		cmocka_unit_test(slices_become_longer_where_memory_is_short),
		cmocka_unit_test(a_bucket_has_the_samples_of_its_second),
		cmocka_unit_test(a_session_against_itself_has_no_difference),
		cmocka_unit_test(the_payload_is_as_its_description_says),
		cmocka_unit_test(the_svg_says_the_total),
		cmocka_unit_test(text_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
