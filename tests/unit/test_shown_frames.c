/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which frames of a stack are shown: of native code, of languages, or both without the loop. */
#include <inttypes.h>

#include "store_world.h"

#include "lang/language.h"
#include "profile/profile.h"
#include "profile/query.h"
#include "symbol/symbols.h"

enum { MAIN, LOOP, MODULE, OUTER, SORT, KEY, READ, METHOD, WAKE, HOT, COLD, N_CODES };

static const struct {
	const char *name, *image;
	enum image_kind kind;
	int32_t language;
} codes[N_CODES] = {
	[MAIN] = { "main", "/bin/python", IMAGE_FILE, 0 },
	[LOOP] = { "loop", "/bin/python", IMAGE_FILE, 0 },
	[MODULE] = { "module", "app.py", IMAGE_LANGUAGE, LANGUAGE_PYTHON },
	[OUTER] = { "outer", "app.py", IMAGE_LANGUAGE, LANGUAGE_PYTHON },
	[SORT] = { "sort", "/bin/python", IMAGE_FILE, 0 },
	[KEY] = { "key", "app.py", IMAGE_LANGUAGE, LANGUAGE_PYTHON },
	[READ] = { "read", "sys_read", IMAGE_BPF, 0 },
	[METHOD] = { "method", "App.java", IMAGE_LANGUAGE, LANGUAGE_JAVA },
	[WAKE] = { "wake", "/bin/python", IMAGE_FILE, 0 },
	[HOT] = { "py::hot:app.py", "[anon]", IMAGE_JIT, 0 },
	[COLD] = { "py::K.cold:app.py", "[anon]", IMAGE_JIT, 0 },
};

struct frames_world {
	struct world w;
	struct code_addr code[N_CODES], cut, woken;
	struct session *session;
};

static void frames_world_init(struct frames_world *x)
{
	world_init(&x->w);
	for (uint32_t i = 0; i < N_CODES; i++) {
		const struct image of = { .kind = codes[i].kind,
					  .path = codes[i].image,
					  .language = codes[i].language };
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
	x->woken.image = image_intern(x->w.images, &(struct image){ .kind = IMAGE_NAMED,
								    .path = "[woken by] a" });
}

static void finish_world(struct frames_world *x)
{
	const struct session_end end = { .end_ns = 101 * SECOND };
	uint64_t n_unwritten;

	assert_int_equal(native_store.close(x->w.store, &end, &n_unwritten, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, &x->session, &x->w.err), 0);
}

static void frames_world_fini(struct frames_world *x)
{
	session_close(x->session);
	world_fini(&x->w);
}

#define add_stack(x, n, ...)                                                                    \
	add_weighted(&(x)->w, 100 * SECOND, 7, 0, (struct code_addr[]){ __VA_ARGS__ },          \
		     sizeof((struct code_addr[]){ __VA_ARGS__ }) / sizeof(struct code_addr), n, \
		     (n)*1000)

static void put_stack(const struct profile *p, uint32_t node, struct buf *out)
{
	char scratch[KEY_TEXT_SIZE];

	if (p->nodes.data[node].parent)
		put_stack(p, p->nodes.data[node].parent, out);
	buf_printf(out, "%s%s", p->nodes.data[node].parent ? ";" : "",
		   profile_key_text(p, PROFILE_SYMBOL, p->nodes.data[node].function, scratch));
}

/* How a profile is made: all ways have the same stacks. */
struct way {
	bool without_chains, with_lanes, with_wakers;
	const char *filter;
};

static void check_stacks(const struct frames_world *x, const char *frames, struct way way,
			 const char *wanted)
{
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ 0 });
	struct query q = { .frames = shown_frames_find(frames) };
	struct profile_request request = { .session = x->session,
					   .symbols = symbols,
					   .query = &q,
					   .with_functions = true,
					   .with_chains = !way.without_chains,
					   .with_wakers = way.with_wakers };
	struct profile *p;
	struct buf text = { 0 };

	if (way.with_lanes)
		key_list_add(&request.columns, PROFILE_PROCESS);
	if (way.filter)
		assert_int_equal(query_add(&q, way.filter, NULL), 0);
	p = profile_load(&request);
	vec_foreach (&p->entries, e) {
		put_stack(p, e->node, &text);
		buf_printf(&text, "=%" PRIu64 " ",
			   profile_weights(p, (size_t)(e - p->entries.data))->samples);
	}
	assert_string_equal(buf_cstr(&text), wanted);
	buf_fini(&text);
	profile_free(p);
	query_fini(&q);
	symbolizer_free(symbols);
}

static void check_all_ways(const struct frames_world *x, const char *frames, const char *wanted)
{
	check_stacks(x, frames, (struct way){ .with_lanes = false }, wanted);
	check_stacks(x, frames, (struct way){ .with_lanes = true }, wanted);
}

#define C(x, i) (x)->code[i]

/* The kernel reads for a key function, which a C function calls, below a function of a module. */
static void add_mixed(struct frames_world *x)
{
	add_stack(x, 4, x->code[READ], x->code[KEY], x->code[LOOP], x->code[SORT], x->code[OUTER],
		  x->code[MODULE], x->code[LOOP], x->code[MAIN]);
	add_stack(x, 2, x->code[KEY], x->code[LOOP], x->code[SORT], x->code[OUTER], x->code[MODULE],
		  x->code[LOOP], x->code[MAIN]);
	add_stack(x, 1, x->code[SORT], x->code[OUTER], x->code[MODULE], x->code[LOOP],
		  x->code[MAIN]);
}

static void both_has_all_frames_but_the_loop(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	finish_world(&x);
	check_all_ways(&x, "both",
		       "main;module;outer;sort=1 main;module;outer;sort;key=2 "
		       "main;module;outer;sort;key;read=4 ");
	frames_world_fini(&x);
}

static void native_counts_functions_of_a_language_at_their_loop(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	finish_world(&x);
	check_all_ways(&x, "native",
		       "main;loop;sort=1 main;loop;sort;loop=2 main;loop;sort;loop;read=4 ");
	check_stacks(&x, "native", (struct way){ .without_chains = true }, "sort=1 loop=2 read=4 ");
	frames_world_fini(&x);
}

static void language_counts_native_code_at_the_function_that_called_it(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	finish_world(&x);
	check_all_ways(&x, "language", "module;outer=1 module;outer;key=6 ");
	check_stacks(&x, "language", (struct way){ .without_chains = true }, "outer=1 key=6 ");
	frames_world_fini(&x);
}

static void filters_look_at_frames_that_are_not_shown(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	finish_world(&x);
	check_stacks(&x, "language", (struct way){ .filter = "symbol:sort" }, "module;outer=1 ");
	check_stacks(&x, "native", (struct way){ .filter = "via:key" },
		     "main;loop;sort;loop=2 main;loop;sort;loop;read=4 ");
	check_stacks(&x, "both", (struct way){ .filter = "via:loop", .with_lanes = true },
		     "main;module;outer;sort=1 main;module;outer;sort;key=2 "
		     "main;module;outer;sort;key;read=4 ");
	frames_world_fini(&x);
}

/* Also where it shares its outer frames with stacks of the language. */
static void a_stack_without_such_frames_stays_whole(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	add_stack(&x, 8, C(&x, SORT), C(&x, LOOP), C(&x, MAIN));
	add_stack(&x, 16, C(&x, OUTER), C(&x, MODULE));
	finish_world(&x);
	check_all_ways(&x, "language", "module;outer=17 main;loop;sort=8 module;outer;key=6 ");
	check_all_ways(&x, "native",
		       "main;loop;sort=9 module;outer=16 main;loop;sort;loop=2 "
		       "main;loop;sort;loop;read=4 ");
	frames_world_fini(&x);
}

/* Java's frames lie on the native stack: the native frame around them called them. */
static void only_interpreters_with_frames_in_the_heap_have_a_loop(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_stack(&x, 1, C(&x, METHOD), C(&x, LOOP), C(&x, MAIN));
	add_stack(&x, 2, C(&x, SORT), C(&x, LOOP), C(&x, MAIN));
	finish_world(&x);
	check_all_ways(&x, "both", "main;loop;method=1 main;loop;sort=2 ");
	frames_world_fini(&x);
}

/* The return address behind a call that is the last instruction of a function. */
static void native_code_around_frames_on_the_stack_is_a_call(void **state)
{
	struct code_addr behind_main;
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	behind_main = (struct code_addr){ C(&x, MAIN).image, C(&x, MAIN).offset - 8 + 0x100 };
	add_stack(&x, 1, C(&x, METHOD), C(&x, METHOD), behind_main);
	add_stack(&x, 2, C(&x, METHOD), behind_main, C(&x, LOOP));
	finish_world(&x);
	check_all_ways(&x, "native", "main=1 loop;main=2 ");
	check_stacks(&x, "native", (struct way){ .without_chains = true }, "main=3 ");
	frames_world_fini(&x);
}

static void marks_of_cut_stacks_stay(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_stack(&x, 1, C(&x, KEY), C(&x, LOOP), C(&x, SORT), x.cut);
	add_stack(&x, 2, C(&x, SORT), x.cut);
	finish_world(&x);
	check_all_ways(&x, "language", "[cut];key=1 [cut];sort=2 ");
	check_all_ways(&x, "native", "[cut];sort;loop=1 [cut];sort=2 ");
	frames_world_fini(&x);
}

/* CPython's perf trampolines: the evaluator calls one, and it calls the loop. */
static void add_trampolines(struct frames_world *x)
{
	add_stack(x, 1, C(x, SORT), C(x, LOOP), C(x, COLD), C(x, WAKE), C(x, LOOP), C(x, HOT),
		  C(x, WAKE), C(x, MAIN));
	add_stack(x, 2, C(x, LOOP), C(x, COLD), C(x, WAKE), C(x, LOOP), C(x, HOT), C(x, WAKE),
		  C(x, MAIN));
	add_stack(x, 4, C(x, COLD), C(x, WAKE), C(x, LOOP), C(x, HOT), C(x, WAKE), C(x, MAIN));
	finish_world(x);
}

static void trampolines_are_frames_of_python(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_trampolines(&x);
	check_all_ways(&x, "both", "main;hot;K.cold;sort=1 main;hot;K.cold=6 ");
	check_stacks(&x, "both", (struct way){ .without_chains = true }, "sort=1 K.cold=6 ");
	check_all_ways(&x, "native",
		       "main;wake;loop;wake;loop;sort=1 main;wake;loop;wake=4 "
		       "main;wake;loop;wake;loop=2 ");
	check_all_ways(&x, "language", "hot;K.cold=7 ");
	for (int i = 0; i < 2; i++) {
		const struct way way = { .filter = "language:python", .with_lanes = i };

		check_stacks(&x, "both", way, "main;hot;K.cold=6 ");
		check_stacks(&x, "language", way, "hot;K.cold=6 ");
	}
	check_stacks(&x, "both", (struct way){ .filter = "symbol:K.cold", .without_chains = true },
		     "K.cold=6 ");
	check_stacks(&x, "both", (struct way){ .filter = "language:native" },
		     "main;hot;K.cold;sort=1 ");
	check_stacks(&x, "both", (struct way){ .filter = "via:loop" },
		     "main;hot;K.cold;sort=1 main;hot;K.cold=6 ");
	frames_world_fini(&x);
}

/* Their order is turned round: a native frame before a frame of Python is its callee. */
static void frames_of_a_waker_all_stay(void **state)
{
	struct frames_world x;
	const struct way way = { .with_wakers = true };

	(void)state;
	frames_world_init(&x);
	add_stack(&x, 1, C(&x, MAIN), C(&x, LOOP), C(&x, OUTER), C(&x, WAKE), x.woken, C(&x, KEY),
		  C(&x, LOOP), C(&x, MAIN));
	add_stack(&x, 2, C(&x, MAIN), C(&x, OUTER), C(&x, WAKE), x.woken, C(&x, SORT), C(&x, MAIN));
	finish_world(&x);
	check_stacks(&x, "both", way,
		     "main;key;[woken by] a;wake;outer;loop;main=1 "
		     "main;sort;[woken by] a;wake;outer;main=2 ");
	check_stacks(&x, "language", way,
		     "key;[woken by] a;wake;outer;loop;main=1 "
		     "main;sort;[woken by] a;wake;outer;main=2 ");
	check_stacks(&x, "language", (struct way){ .with_wakers = false }, "key=1 main;sort=2 ");
	frames_world_fini(&x);
}

/* By the innermost frame of the stack, also if it is not shown. */
static void languages_and_modes_are_filters(void **state)
{
	struct frames_world x;

	(void)state;
	frames_world_init(&x);
	add_mixed(&x);
	add_stack(&x, 8, C(&x, METHOD), C(&x, MAIN));
	finish_world(&x);
	check_stacks(&x, "both", (struct way){ .filter = "language:python" },
		     "main;module;outer;sort;key=2 ");
	check_stacks(&x, "both", (struct way){ .filter = "language:java,p*" },
		     "main;method=8 main;module;outer;sort;key=2 ");
	check_stacks(&x, "language", (struct way){ .filter = "language=\"native\"" },
		     "module;outer=1 module;outer;key=4 ");
	check_stacks(&x, "both", (struct way){ .filter = "language!=\"native\"" },
		     "main;method=8 main;module;outer;sort;key=2 ");
	check_stacks(&x, "language", (struct way){ .filter = "mode:kernel", .with_lanes = true },
		     "module;outer;key=4 ");
	check_stacks(&x, "both", (struct way){ .filter = "mode=\"user\"" },
		     "main;module;outer;sort=1 main;method=8 main;module;outer;sort;key=2 ");
	frames_world_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_has_all_frames_but_the_loop),
		cmocka_unit_test(native_counts_functions_of_a_language_at_their_loop),
		cmocka_unit_test(language_counts_native_code_at_the_function_that_called_it),
		cmocka_unit_test(filters_look_at_frames_that_are_not_shown),
		cmocka_unit_test(a_stack_without_such_frames_stays_whole),
		cmocka_unit_test(only_interpreters_with_frames_in_the_heap_have_a_loop),
		cmocka_unit_test(native_code_around_frames_on_the_stack_is_a_call),
		cmocka_unit_test(marks_of_cut_stacks_stay),
		cmocka_unit_test(trampolines_are_frames_of_python),
		cmocka_unit_test(frames_of_a_waker_all_stay),
		cmocka_unit_test(languages_and_modes_are_filters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
