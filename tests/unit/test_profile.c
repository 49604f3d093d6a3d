/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "profile_tally.h"

#include "store/native.h"

/* What the slow reference adds up under a name, or a pair of names. */
struct tally_row {
	char key[96];
	struct cell cells[N_COUNTERS];
};
struct tally {
	VEC(struct tally_row) rows;
};

static struct cell *tally_at(struct tally *t, const char *key)
{
	struct tally_row *row;

	vec_foreach (&t->rows, r)
		if (!strcmp(r->key, key))
			return r->cells;
	row = vec_add(&t->rows);
	snprintf(row->key, sizeof(row->key), "%s", key);
	return row->cells;
}

static void add_self(struct tally *t, const char *key, const struct fake_sample *s)
{
	weight_add(&tally_at(t, key)[s->counter].self, &(struct weight){ s->samples, s->period });
}

static void add_total(struct tally *t, const char *key, const struct fake_sample *s)
{
	weight_add(&tally_at(t, key)[s->counter].total, &(struct weight){ s->samples, s->period });
}

/* "alpha:alpha_f1" */
static void function_name(const struct profile *p, uint32_t function, char name[static 96])
{
	char scratch[KEY_TEXT_SIZE];
	uint32_t image = p->functions.data[function].image;

	snprintf(name, 96, "%s:%s", p->images.data[image].image->path,
		 profile_key_text(p, PROFILE_SYMBOL, function, scratch));
}

static void check_equal(const struct cell *got, const struct cell *want, bool with_total)
{
	for (int lane = 0; lane < N_COUNTERS; lane++) {
		assert_int_equal(got[lane].self.samples, want[lane].self.samples);
		assert_int_equal(got[lane].self.period, want[lane].self.period);
		if (!with_total)
			continue;
		assert_int_equal(got[lane].total.samples, want[lane].total.samples);
		assert_int_equal(got[lane].total.period, want[lane].total.period);
	}
}

static void totals_count_a_sample_once_for_each_function(void **state)
{
	const struct query q = { .with_idle = true };
	struct key_list keys = { .n = 0 };

	(void)state;
	key_list_add(&keys, PROFILE_SYMBOL);
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct tally t = { 0 };
		struct rows rows = { 0 };
		struct profile *p;
		struct fake f;

		fake_init(&f, seed);
		vec_foreach (&f.samples, s)
			for (uint32_t i = 0; i < s->n_frames; i++) {
				char name[40], earlier[40];
				uint32_t k = 0;

				fake_name(s, i, name);
				if (i == 0)
					add_self(&t, name, s);
				for (; k < i; k++) {
					fake_name(s, k, earlier);
					if (!strcmp(earlier, name))
						break;
				}
				if (k == i)
					add_total(&t, name, s);
			}
		p = load(&f, &q, NULL);
		profile_collate(p, &keys, true, &rows);
		assert_int_equal(rows.list.n, t.rows.n);
		for (uint32_t i = 0; i < rows.list.n; i++) {
			char name[96];

			function_name(p, rows.list.data[i].value[PROFILE_SYMBOL], name);
			check_equal(rows_cells(&rows, i), tally_at(&t, name), true);
		}
		assert_int_equal(rows.list.n, t.rows.n);
		rows_fini(&rows);
		vec_fini(&t.rows);
		profile_free(p);
		fake_fini(&f);
	}
}

static void several_keys_make_a_row_for_each_tuple(void **state)
{
	const struct query q = { .with_idle = true };
	struct key_list keys = { .n = 0 };

	(void)state;
	assert_int_equal(key_list_parse(&keys, "thread,cpu,symbol", NULL), 0);
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct tally t = { 0 };
		struct rows rows = { 0 };
		char key[96], name[96];
		struct profile *p;
		struct fake f;

		fake_init(&f, seed);
		vec_foreach (&f.samples, s) {
			fake_name(s, 0, name);
			snprintf(key, sizeof(key), "%d %" PRIu32 " %.40s", s->tid, s->cpu, name);
			add_self(&t, key, s);
		}
		p = load(&f, &q, "thread,cpu,symbol");
		profile_collate(p, &keys, false, &rows);
		assert_int_equal(rows.list.n, t.rows.n);
		for (uint32_t i = 0; i < rows.list.n; i++) {
			const uint32_t *value = rows.list.data[i].value;

			function_name(p, value[PROFILE_SYMBOL], name);
			snprintf(key, sizeof(key), "%d %" PRIu32 " %.40s",
				 p->threads.data[value[PROFILE_THREAD]].tid, value[PROFILE_CPU],
				 name);
			check_equal(rows_cells(&rows, i), tally_at(&t, key), false);
		}
		rows_fini(&rows);
		vec_fini(&t.rows);
		profile_free(p);
		fake_fini(&f);
	}
}

/*
 * Rows' own weights add up to the total. A row is its own weight and the rows below it,
 * less what is hidden in the last row of the tree.
 */
static void check_tree(const struct profile *p, const struct rows *rows, bool hides)
{
	uint64_t *below = xcalloc(rows->list.n + 1, sizeof(*below));
	struct weight sum[N_COUNTERS] = { 0 };

	for (uint32_t i = (uint32_t)rows->list.n; i-- > 0;) {
		const struct row *row = &rows->list.data[i];
		const struct cell *cells = rows_cells(rows, i);

		for (uint32_t lane = 0; lane < p->n_lanes; lane++)
			weight_add(&sum[lane], &cells[lane].self);
		if (hides)
			assert_true(cells[0].total.samples >= cells[0].self.samples + below[i]);
		else
			assert_int_equal(cells[0].total.samples, cells[0].self.samples + below[i]);
		if (row->parent != NO_INDEX) {
			assert_true(row->parent < i);
			below[row->parent] += cells[0].total.samples;
		}
	}
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		assert_int_equal(sum[lane].samples, p->lanes[lane].total.samples);
		assert_int_equal(sum[lane].period, p->lanes[lane].total.period);
	}
	free(below);
}

static const struct row_limits all_limits[] = {
	{ .min_percent = 0 },
	{ .min_percent = 2 },
	{ .min_percent = 30, .by_period = true },
	{ .max_rows = 1 },
	{ .min_percent = 1, .max_rows = 2 },
};

static void trees_add_up_at_every_node_and_limit(void **state)
{
	static const char *const keys[] = { NULL, "process", "cpu,event" };
	const struct query q = { 0 };

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;

		fake_init(&f, seed);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
			struct profile *p = load(&f, &q, keys[k]);

			for (size_t i = 0; i < ARRAY_SIZE(all_limits); i++) {
				struct rows down = { 0 }, up = { 0 };

				profile_tree(p, &all_limits[i], &down);
				check_tree(p, &down, i > 0);
				profile_inverted(p, &all_limits[i], &up);
				check_tree(p, &up, i > 0);
				rows_fini(&down);
				rows_fini(&up);
			}
			profile_free(p);
		}
		fake_fini(&f);
	}
}

/* Callers of the outermost, callees of the innermost frame of each function in a sample. */
static void tally_arcs(struct tally *t, const struct fake_sample *s)
{
	for (uint32_t i = 0; i < s->n_frames; i++) {
		bool is_innermost = true, is_outermost = true;
		char name[40], other[40], key[96];

		fake_name(s, i, name);
		for (uint32_t k = 0; k < s->n_frames; k++) {
			fake_name(s, k, other);
			is_innermost &= k >= i || strcmp(name, other) != 0;
			is_outermost &= k <= i || strcmp(name, other) != 0;
		}
		snprintf(other, sizeof(other), "-");
		if (is_outermost) {
			if (i + 1 < s->n_frames)
				fake_name(s, i + 1, other);
			snprintf(key, sizeof(key), "%s < %s", name, other);
			add_total(t, key, s);
		}
		if (is_innermost && i > 0) {
			fake_name(s, i - 1, other);
			snprintf(key, sizeof(key), "%s > %s", name, other);
			add_total(t, key, s);
		}
	}
}

static void callers_and_callees_are_those_of_the_reference(void **state)
{
	static const struct row_limits no_limits = { 0 };
	const struct query q = { .with_idle = true };

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct tally t = { 0 };
		struct rows rows = { 0 };
		char self[96] = "", name[96], key[256];
		size_t n_arcs = 0;
		struct profile *p;
		struct fake f;

		fake_init(&f, seed);
		vec_foreach (&f.samples, s)
			tally_arcs(&t, s);
		p = load(&f, &q, NULL);
		profile_callgraph(p, &no_limits, &rows);
		for (uint32_t i = 0; i < rows.list.n; i++) {
			const struct row *row = &rows.list.data[i];
			uint32_t of = i;

			while (rows.list.data[of].role == ROLE_CALLER)
				of++;
			while (rows.list.data[of].role == ROLE_CALLEE)
				of--;
			if (row->role == ROLE_SELF)
				continue;
			function_name(p, rows.list.data[of].value[PROFILE_SYMBOL], self);
			snprintf(name, sizeof(name), "-");
			if (row->value[PROFILE_SYMBOL] != NO_INDEX)
				function_name(p, row->value[PROFILE_SYMBOL], name);
			snprintf(key, sizeof(key), "%s %c %s", self,
				 row->role == ROLE_CALLER ? '<' : '>', name);
			check_equal(rows_cells(&rows, i), tally_at(&t, key), true);
			n_arcs++;
		}
		assert_int_equal(n_arcs, t.rows.n);
		rows_fini(&rows);
		vec_fini(&t.rows);
		profile_free(p);
		fake_fini(&f);
	}
}

static void both_sides_of_a_block_add_up_at_every_limit(void **state)
{
	const struct query q = { 0 };

	(void)state;
	for (uint32_t seed = 0; seed < N_SEEDS; seed++) {
		struct fake f;
		struct profile *p;

		fake_init(&f, seed);
		p = load(&f, &q, NULL);
		for (size_t i = 0; i < ARRAY_SIZE(all_limits); i++) {
			uint64_t callers = 0, callees = 0, selves = 0, total = 0;
			struct rows rows = { 0 };

			profile_callgraph(p, &all_limits[i], &rows);
			for (uint32_t r = 0; r < rows.list.n; r++) {
				const struct row *row = &rows.list.data[r];
				const struct cell *cell = rows_cells(&rows, r);
				bool is_end = r + 1 == rows.list.n ||
					      rows.list.data[r + 1].block != row->block;

				callers += row->role == ROLE_CALLER ? cell->total.samples : 0;
				callees += row->role == ROLE_CALLEE ? cell->total.samples : 0;
				selves += row->role == ROLE_SELF ? cell->self.samples : 0;
				if (row->role == ROLE_SELF) {
					total = cell->total.samples;
					callees = cell->self.samples;
				}
				if (!is_end || row->block == NO_INDEX)
					continue;
				assert_int_equal(callers, total);
				assert_int_equal(callees, total);
				callers = callees = 0;
			}
			assert_int_equal(selves, p->lanes[0].total.samples);
			rows_fini(&rows);
		}
		profile_free(p);
		fake_fini(&f);
	}
}

/* One chain of `n` frames, outermost last, as a damaged or hostile session may have. */
static void deep_part(struct fake *f, uint32_t n)
{
	struct code_addr *frames = xcalloc(n, sizeof(*frames));
	const struct session_end end = { .exit_status = -1 };
	struct fake_writer w;
	uint64_t n_unwritten;
	char path[96];

	fake_tables(&w);
	snprintf(path, sizeof(path), "%s/deep", f->dir);
	assert_int_equal(native_store.open(path, &fake_info, w.images, &w.strings, &w.store, NULL),
			 0);
	fake_name_code(&w);
	for (uint32_t i = 0; i < n; i++)
		frames[i] = (struct code_addr){ w.code[i % 2], FIRST_CODE + 1 + i % 7 * CODE_STEP };
	assert_int_equal(native_store.add(w.store,
					  &(struct sample){ .class = { .app = w.apps[0], .pid = 1 },
							    .time_ns = fake_info.start_ns,
							    .frames = frames,
							    .n_frames = n,
							    .samples = 3,
							    .period = 5 },
					  NULL),
			 0);
	assert_int_equal(native_store.close(w.store, &end, &n_unwritten, NULL), 0);
	assert_int_equal(session_open(path, &f->parts[f->n_parts++], NULL), 0);
	image_table_free(w.images);
	strings_fini(&w.strings);
	free(frames);
}

static void a_chain_of_absurd_depth_is_cut_and_still_adds_up(void **state)
{
	static const struct row_limits no_limits = { 0 };
	const struct query q = { 0 };
	struct rows down = { 0 }, up = { 0 }, arcs = { 0 };
	struct profile *p;
	struct fake f;

	(void)state;
	fake_init(&f, 0);
	deep_part(&f, 20000);
	f.joined.segments = f.parts[1]->segments;
	f.joined.n_segments = f.parts[1]->n_segments;
	p = load(&f, &q, NULL);
	assert_int_equal(p->n_selected, 3);
	vec_foreach (&p->nodes, node)
		assert_in_range(node->depth, 0, PROFILE_MAX_DEPTH);
	profile_tree(p, &no_limits, &down);
	check_tree(p, &down, false);
	profile_inverted(p, &no_limits, &up);
	check_tree(p, &up, false);
	profile_callgraph(p, &no_limits, &arcs);
	assert_true(arcs.list.n > 0);
	rows_fini(&down);
	rows_fini(&up);
	rows_fini(&arcs);
	profile_free(p);
	fake_fini(&f);
}

/* Two paths of one binary, the same once without its build id, and another binary. */
static void paths_of_one_binary_are_one_image(void **state)
{
	static const struct image images[] = {
		{ .kind = IMAGE_FILE, .build_id = { 3, { 1, 2, 3 } }, .path = "/usr/lib/libc.so" },
		{ .kind = IMAGE_FILE, .build_id = { 3, { 1, 2, 3 } }, .path = "/lib/libc.so" },
		{ .kind = IMAGE_FILE, .dev = 1, .ino = 2, .path = "/lib/libc.so" },
		{ .kind = IMAGE_FILE, .build_id = { 3, { 9, 9, 9 } }, .path = "/opt/libc.so" },
	};
	static const char *const names[] = { "lib/libc.so", "opt/libc.so" };
	const struct session_end end = { .exit_status = -1 };
	struct key_list keys = { .n = 0 };
	struct query q = { 0 };
	struct rows rows = { 0 };
	struct fake_writer w;
	uint64_t n_unwritten;
	char path[96], scratch[KEY_TEXT_SIZE];
	struct profile *p;
	struct fake f;

	(void)state;
	fake_init(&f, 0);
	fake_tables(&w);
	snprintf(path, sizeof(path), "%s/paths", f.dir);
	assert_int_equal(native_store.open(path, &fake_info, w.images, &w.strings, &w.store, NULL),
			 0);
	for (size_t i = 0; i < ARRAY_SIZE(images); i++) {
		struct code_addr frame = { image_intern(w.images, &images[i]), 0x1000 };
		struct sample sample = { .class = { .app = w.apps[0], .pid = 1 },
					 .time_ns = fake_info.start_ns,
					 .frames = &frame,
					 .n_frames = 1,
					 .samples = 1 };

		assert_int_equal(native_store.add(w.store, &sample, NULL), 0);
	}
	assert_int_equal(native_store.close(w.store, &end, &n_unwritten, NULL), 0);
	assert_int_equal(session_open(path, &f.parts[f.n_parts++], NULL), 0);
	f.joined.segments = f.parts[1]->segments;
	f.joined.n_segments = f.parts[1]->n_segments;
	assert_int_equal(query_add(&q, "image:/lib/*,/opt/*", NULL), 0);
	p = load(&f, &q, NULL);
	key_list_add(&keys, PROFILE_IMAGE);
	profile_collate(p, &keys, false, &rows);
	assert_int_equal(rows.list.n, 2);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(rows_cells(&rows, i)[0].self.samples, i ? 1 : 3);
		assert_string_equal(profile_key_text(p, PROFILE_IMAGE,
						     rows.list.data[i].value[PROFILE_IMAGE],
						     scratch),
				    names[i]);
	}
	rows_fini(&rows);
	profile_free(p);
	query_fini(&q);
	image_table_free(w.images);
	strings_fini(&w.strings);
	fake_fini(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(totals_count_a_sample_once_for_each_function),
		cmocka_unit_test(several_keys_make_a_row_for_each_tuple),
		cmocka_unit_test(trees_add_up_at_every_node_and_limit),
		cmocka_unit_test(callers_and_callees_are_those_of_the_reference),
		cmocka_unit_test(both_sides_of_a_block_add_up_at_every_limit),
		cmocka_unit_test(a_chain_of_absurd_depth_is_cut_and_still_adds_up),
		cmocka_unit_test(paths_of_one_binary_are_one_image),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
