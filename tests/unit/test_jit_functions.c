/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of JIT code in several processes, which each have an image of their own. */
#include <inttypes.h>

#include "store_world.h"

#include "profile/profile.h"
#include "profile/query.h"
#include "profile/rows.h"
#include "symbol/symbols.h"

enum { HOT_A, HOT_A_AGAIN, COLD_A, HOT_B, COLD_C, N_CODES };

/* The same name at other addresses, as each process has it. */
static const struct {
	const char *name, *path;
	int32_t pid;
} codes[N_CODES] = {
	[HOT_A] = { "hot", "[anon]", 10 },     [HOT_A_AGAIN] = { "hot", "[anon]", 10 },
	[COLD_A] = { "cold", "[anon]", 10 },   [HOT_B] = { "hot", "[anon]", 20 },
	[COLD_C] = { "cold_c", "[anon]", 30 },
};

struct jit_world {
	struct world w;
	struct code_addr code[N_CODES], unnamed[2];
	struct session *session;
};

static void jit_world_init(struct jit_world *x)
{
	const struct session_end end = { .end_ns = 101 * SECOND };
	uint64_t n_unwritten;

	world_init(&x->w);
	for (uint32_t i = 0; i < N_CODES; i++) {
		const struct image of = { .kind = IMAGE_JIT,
					  .path = codes[i].path,
					  .pid = codes[i].pid };
		const struct code_symbol symbol = { .image = image_intern(x->w.images, &of),
						    .offset = 0x1000 * (i + 1),
						    .size = 0x100,
						    .name = codes[i].name };

		native_store.name_code(x->w.store, &symbol);
		x->code[i] = (struct code_addr){ symbol.image, symbol.offset + 8 };
	}
	x->unnamed[0] = (struct code_addr){ x->code[HOT_A].image, 0x90000 };
	x->unnamed[1] = (struct code_addr){ x->code[HOT_B].image, 0x90000 };
	for (uint32_t i = 0; i < N_CODES; i++)
		add_weighted(&x->w, 100 * SECOND, codes[i].pid, 0,
			     (struct code_addr[]){ x->code[i], x->code[HOT_A] }, 2, 1U << i,
			     1000U << i);
	add_weighted(&x->w, 100 * SECOND, 10, 0, &x->unnamed[0], 1, 100, 100000);
	add_weighted(&x->w, 100 * SECOND, 20, 0, &x->unnamed[1], 1, 200, 200000);
	assert_int_equal(native_store.close(x->w.store, &end, &n_unwritten, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, &x->session, &x->w.err), 0);
}

static void jit_world_fini(struct jit_world *x)
{
	session_close(x->session);
	world_fini(&x->w);
}

static void put_row(const struct profile *p, const struct key_list *keys, const struct row *row,
		    struct buf *out)
{
	char scratch[KEY_TEXT_SIZE];

	for (size_t k = 0; k < keys->n; k++)
		buf_printf(out, "%s%s", k ? "," : "",
			   profile_key_text(p, keys->key[k], row->value[keys->key[k]], scratch));
}

static void check_rows(const struct jit_world *x, const char *keys, bool merges, const char *wanted)
{
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ 0 });
	const struct query q = { 0 };
	struct profile_request request = { .session = x->session,
					   .symbols = symbols,
					   .query = &q,
					   .with_functions = true,
					   .with_chains = true,
					   .with_lines = strstr(keys, "file") != NULL,
					   .merges_jit = merges };
	struct rows rows = { 0 };
	struct buf text = { 0 };
	struct profile *p;

	assert_int_equal(key_list_parse(&request.keys, keys, NULL), 0);
	p = profile_load(&request);
	profile_collate(p, &request.keys, false, &rows);
	for (uint32_t i = 0; i < rows.list.n; i++) {
		put_row(p, &request.keys, &rows.list.data[i], &text);
		buf_printf(&text, "=%" PRIu64 " ", rows_cells(&rows, i)->self.samples);
	}
	assert_string_equal(buf_cstr(&text), wanted);
	buf_fini(&text);
	rows_fini(&rows);
	profile_free(p);
	symbolizer_free(symbols);
}

static void a_function_of_several_processes_is_one_row(void **state)
{
	struct jit_world x;

	(void)state;
	jit_world_init(&x);
	/* 1 and 2 of one process, 8 of another; without a name, code is of its process */
	check_rows(&x, "symbol", true,
		   "hot=11 (no symbols)=100 (no symbols)=200 cold=4 cold_c=16 ");
	jit_world_fini(&x);
}

static void its_image_has_no_process_and_that_of_others_has(void **state)
{
	struct jit_world x;

	(void)state;
	jit_world_init(&x);
	check_rows(&x, "image,symbol", true,
		   "[anon],hot=11 [anon] (10),(no symbols)=100 [anon] (20),(no symbols)=200 "
		   "[anon] (10),cold=4 [anon] (30),cold_c=16 ");
	jit_world_fini(&x);
}

static void sums_by_image_are_those_of_processes_without_the_merge(void **state)
{
	struct jit_world x;

	(void)state;
	jit_world_init(&x);
	check_rows(&x, "image", false, "[anon] (10)=107 [anon] (20)=208 [anon] (30)=16 ");
	jit_world_fini(&x);
}

static void lines_of_a_merged_function_have_one_whole(void **state)
{
	struct jit_world x;

	(void)state;
	jit_world_init(&x);
	check_rows(&x, "symbol,file", true,
		   "hot,(no line)=11 (no symbols),(no line)=100 (no symbols),(no line)=200 "
		   "cold,(no line)=4 cold_c,(no line)=16 ");
	jit_world_fini(&x);
}

static void the_processes_of_a_merged_function_are_still_keys(void **state)
{
	struct jit_world x;

	(void)state;
	jit_world_init(&x);
	check_rows(&x, "process,symbol", true,
		   "cc1 (10),hot=3 cc1 (10),(no symbols)=100 cc1 (10),cold=4 "
		   "cc1 (20),(no symbols)=200 cc1 (20),hot=8 cc1 (30),cold_c=16 ");
	jit_world_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_of_several_processes_is_one_row),
		cmocka_unit_test(its_image_has_no_process_and_that_of_others_has),
		cmocka_unit_test(sums_by_image_are_those_of_processes_without_the_merge),
		cmocka_unit_test(lines_of_a_merged_function_have_one_whole),
		cmocka_unit_test(the_processes_of_a_merged_function_are_still_keys),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
