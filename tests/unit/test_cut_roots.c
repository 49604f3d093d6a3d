/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where stacks that were cut hang in a profile's tree. */
#include <inttypes.h>

#include "store_world.h"

#include "profile/profile.h"
#include "profile/query.h"
#include "symbol/symbols.h"

enum { START, MAIN, REC, OTHER_START, OTHER_REC, LOADER, CLONE, RUN, ENTRY, N_CODES };

static const struct {
	const char *name, *image;
	enum image_kind kind;
} codes[N_CODES] = {
	[START] = { "_start", "/bin/deep", IMAGE_FILE },
	[MAIN] = { "main", "/bin/deep", IMAGE_FILE },
	[REC] = { "rec", "/bin/deep", IMAGE_FILE },
	[OTHER_START] = { "_start", "/bin/other", IMAGE_FILE },
	[OTHER_REC] = { "rec", "/bin/other", IMAGE_FILE },
	[LOADER] = { "_dl_start_user", "/lib/ld-linux-x86-64.so.2", IMAGE_FILE },
	[CLONE] = { "clone3", "/lib/libc.so.6", IMAGE_FILE },
	[RUN] = { "run", "/bin/deep", IMAGE_FILE },
	[ENTRY] = { "ret_from_fork", "[kernel]", IMAGE_KERNEL },
};

struct cut_world {
	struct world w;
	struct code_addr code[N_CODES], cut;
	struct session *session;
	uint64_t time_s;    /* of the last stack: each has its own, … */
	bool is_one_second; /* … or all have the same */
};

static void cut_world_init(struct cut_world *x)
{
	*x = (struct cut_world){ 0 };
	world_init(&x->w);
	for (uint32_t i = 0; i < N_CODES; i++) {
		const struct image of = { .kind = codes[i].kind, .path = codes[i].image };
		struct code_addr code = { image_intern(x->w.images, &of), 0x1000 * (i + 1) };
		const struct code_symbol symbol = { .image = code.image,
						    .offset = code.offset,
						    .size = 0x100,
						    .name = codes[i].name };

		native_store.name_code(x->w.store, &symbol);
		x->code[i] = (struct code_addr){ code.image, code.offset + 8 };
	}
	x->cut.image = image_intern(x->w.images,
				    &(struct image){ .kind = IMAGE_NAMED, .path = IMAGE_CUT_PATH });
}

static void finish_cut_world(struct cut_world *x)
{
	const struct session_end end = { .end_ns = 110 * SECOND };
	uint64_t n_unwritten;

	assert_int_equal(native_store.close(x->w.store, &end, &n_unwritten, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, &x->session, &x->w.err), 0);
}

static void cut_world_fini(struct cut_world *x)
{
	session_close(x->session);
	world_fini(&x->w);
}

struct thread {
	image_id app;
	int32_t pid, tid;
};

static void add_stack_of(struct cut_world *x, struct thread t, uint64_t n,
			 const struct code_addr *frames, size_t n_frames)
{
	const struct sample sample = {
		.class = { .app = t.app, .pid = t.pid, .tid = t.tid, .comm = x->w.comm },
		.time_ns = (100 + x->time_s) * SECOND,
		.is_timed = true,
		.frames = frames,
		.n_frames = (uint32_t)n_frames,
		.samples = n,
		.period = n * 1000,
	};

	assert_int_equal(native_store.add(x->w.store, &sample, &x->w.err), 0);
	x->time_s += !x->is_one_second;
}

#define add_stack(x, thread, n, ...)                                    \
	add_stack_of(x, thread, n, (struct code_addr[]){ __VA_ARGS__ }, \
		     sizeof((struct code_addr[]){ __VA_ARGS__ }) / sizeof(struct code_addr))

#define C(i) x.code[i]

static void put_stack(const struct profile *p, uint32_t node, struct buf *out)
{
	char scratch[KEY_TEXT_SIZE];

	if (p->nodes.data[node].parent)
		put_stack(p, p->nodes.data[node].parent, out);
	buf_printf(out, "%s%s", p->nodes.data[node].parent ? ";" : "",
		   profile_key_text(p, PROFILE_SYMBOL, p->nodes.data[node].function, scratch));
}

struct told {
	const struct profile *p;
	struct buf text;
};

static int tell_sample(void *context, const struct profile_sample *sample)
{
	struct told *told = context;

	put_stack(told->p, sample->node, &told->text);
	buf_printf(&told->text, "=%" PRIu64 " ", sample->weight.samples);
	return 0;
}

static void tell_all(struct profile *p, const struct profile_request *request, struct told *told)
{
	if (request->with_samples)
		assert_int_equal(profile_each_sample(p, tell_sample, told), 0);
	vec_foreach (&p->entries, e)
		tell_sample(told,
			    &(struct profile_sample){
				    .node = e->node,
				    .weight =
					    profile_weights(p, (size_t)(e - p->entries.data))[0] });
	vec_foreach (&p->moments, m)
		tell_sample(told, &(struct profile_sample){ .node = m->node, .weight = m->weight });
}

/* All nodes have a function, and a parent before them. */
static void check_nodes(const struct profile *p, bool with_places)
{
	for (uint32_t i = 1; i < p->nodes.n; i++) {
		assert_true(p->nodes.data[i].function < p->functions.n);
		assert_true(p->nodes.data[i].parent < i);
		assert_int_equal(p->nodes.data[i].depth,
				 p->nodes.data[p->nodes.data[i].parent].depth + 1);
		if (with_places)
			assert_true(p->node_places.data[i] < p->places.n);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The words of a text in another order: rows have none. */
static void sort_words(const char *text, struct buf *out)
{
	cleanup(free_at_exit) char *copy = xstrdup(text);
	char *words[16], *rest = NULL;
	size_t n = 0;

	for (char *w = strtok_r(copy, " ", &rest); w; w = strtok_r(NULL, " ", &rest)) {
		assert_true(n < ARRAY_SIZE(words));
		words[n++] = w;
	}
	qsort(words, n, sizeof(*words), by_text);
	for (size_t i = 0; i < n; i++)
		buf_printf(out, "%s ", words[i]);
}

static void check_request(const struct cut_world *x, struct profile_request request,
			  const char *wanted)
{
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ 0 });
	struct query q = { 0 };
	struct told told = { 0 };
	struct buf got = { 0 }, expected = { 0 };
	struct profile *p;

	request.session = x->session;
	request.symbols = symbols;
	request.query = &q;
	request.with_functions = true;
	told.p = p = profile_load(&request);
	check_nodes(p, request.with_places);
	tell_all(p, &request, &told);
	sort_words(buf_cstr(&told.text), &got);
	sort_words(wanted, &expected);
	assert_string_equal(buf_cstr(&got), buf_cstr(&expected));
	buf_fini(&told.text);
	buf_fini(&got);
	buf_fini(&expected);
	profile_free(p);
	query_fini(&q);
	symbolizer_free(symbols);
}

/* In each way to load a profile. */
static void check_stacks(const struct cut_world *x, const char *wanted)
{
	struct profile_request columns = { .with_chains = true };
	struct profile_request samples = { .with_chains = true, .with_samples = true };

	key_list_add(&columns.columns, PROFILE_CPU);
	key_list_add(&samples.keys, PROFILE_EVENT);
	check_request(x, (struct profile_request){ .with_chains = true }, wanted);
	check_request(x, (struct profile_request){ .with_chains = true, .with_places = true },
		      wanted);
	check_request(x, (struct profile_request){ .with_chains = true, .with_slices = true },
		      wanted);
	check_request(x, (struct profile_request){ .with_chains = true, .most_moments = 1000 },
		      wanted);
	check_request(x, columns, wanted);
	check_request(x, samples, wanted);
}

static void a_cut_stack_hangs_below_the_root_of_whole_ones(void **state)
{
	struct cut_world x;
	struct thread first, other;

	(void)state;
	cut_world_init(&x);
	first = (struct thread){ C(MAIN).image, 7, 7 };
	other = (struct thread){ C(MAIN).image, 7, 8 };
	add_stack(&x, first, 4, C(REC), C(REC), x.cut);
	add_stack(&x, other, 8, C(REC), x.cut);
	add_stack(&x, first, 2, C(REC), C(MAIN), C(START));
	add_stack(&x, other, 1, C(RUN), C(CLONE));
	finish_cut_world(&x);
	check_stacks(&x, "_start;[cut];rec;rec=4 clone3;[cut];rec=8 _start;main;rec=2 "
			 "clone3;run=1 ");
	cut_world_fini(&x);
}

/* Of the same nodes, and of one program with several processes. */
static void each_program_has_its_own_root(void **state)
{
	struct cut_world x;
	struct thread first, other, nobody;

	(void)state;
	cut_world_init(&x);
	first = (struct thread){ C(MAIN).image, 7, 7 };
	other = (struct thread){ C(OTHER_REC).image, 9, 9 };
	nobody = (struct thread){ C(CLONE).image, 11, 11 };
	add_stack(&x, first, 1, C(REC), C(MAIN), C(START));
	add_stack(&x, other, 2, C(OTHER_REC), C(OTHER_START));
	add_stack(&x, nobody, 16, C(REC), x.cut);
	first.pid = first.tid = 8;
	add_stack(&x, first, 4, C(REC), x.cut);
	add_stack(&x, other, 8, C(REC), x.cut);
	finish_cut_world(&x);
	check_request(&x, (struct profile_request){ .with_chains = true },
		      "_start;main;rec=1 _start;rec=2 [cut];rec=16 _start;[cut];rec=4 "
		      "_start;[cut];rec=8 ");
	cut_world_fini(&x);
}

/* Cut stacks of two kinds of threads become one if their roots are one. */
static void stacks_below_one_root_come_together(void **state)
{
	struct cut_world x;
	struct thread first, other;

	(void)state;
	cut_world_init(&x);
	x.is_one_second = true;
	first = (struct thread){ C(MAIN).image, 7, 7 };
	other = (struct thread){ C(MAIN).image, 7, 8 };
	add_stack(&x, first, 1, C(REC), x.cut);
	add_stack(&x, other, 2, C(REC), x.cut);
	add_stack(&x, first, 4, C(REC), C(MAIN), C(START));
	add_stack(&x, other, 8, C(REC), C(MAIN), C(START));
	finish_cut_world(&x);
	check_request(&x, (struct profile_request){ .with_chains = true },
		      "_start;[cut];rec=3 _start;main;rec=12 ");
	check_request(&x, (struct profile_request){ .with_chains = true, .with_slices = true },
		      "_start;[cut];rec=3 _start;main;rec=12 ");
	cut_world_fini(&x);
}

static void a_root_needs_more_than_half_of_the_whole_stacks(void **state)
{
	struct cut_world x;
	struct thread t;

	(void)state;
	cut_world_init(&x);
	t = (struct thread){ C(MAIN).image, 7, 8 };
	add_stack(&x, t, 1, C(REC), x.cut);
	add_stack(&x, t, 2, C(REC), C(RUN));
	add_stack(&x, t, 2, C(RUN), C(CLONE));
	add_stack(&x, t, 9, C(ENTRY), C(ENTRY)); /* a kernel thread's */
	add_stack(&x, t, 9, C(MAIN));            /* without callers */
	finish_cut_world(&x);
	check_stacks(&x, "[cut];rec=1 run;rec=2 clone3;run=2 ret_from_fork;ret_from_fork=9 "
			 "main=9 ");
	cut_world_fini(&x);
}

static void the_loader_is_no_root(void **state)
{
	struct cut_world x;
	struct thread first, other;

	(void)state;
	cut_world_init(&x);
	first = (struct thread){ C(MAIN).image, 7, 7 };
	other = (struct thread){ C(OTHER_REC).image, 9, 9 };
	add_stack(&x, first, 1, C(REC), x.cut);
	add_stack(&x, first, 9, C(LOADER), C(LOADER));
	add_stack(&x, first, 2, C(MAIN), C(START));
	add_stack(&x, other, 3, C(OTHER_REC), x.cut);
	add_stack(&x, other, 9, C(CLONE), C(LOADER));
	finish_cut_world(&x);
	check_stacks(&x, "_start;[cut];rec=1 _dl_start_user;_dl_start_user=9 _start;main=2 "
			 "[cut];rec=3 _dl_start_user;clone3=9 ");
	cut_world_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cut_stack_hangs_below_the_root_of_whole_ones),
		cmocka_unit_test(each_program_has_its_own_root),
		cmocka_unit_test(stacks_below_one_root_come_together),
		cmocka_unit_test(a_root_needs_more_than_half_of_the_whole_stacks),
		cmocka_unit_test(the_loader_is_no_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
