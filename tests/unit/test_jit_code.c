/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code was at an address at a time, from a dump that grows. */
#include "machine/jit_code.h"
#include "machine/jit_index.h"
#include "machine/jit_piece.h"

#include <fcntl.h>

#include "jitdump_file.h"
#include "scratch.h"

#include <sys/stat.h>

#define DUMP "./jit-41.dump"

static void append(struct dump *d)
{
	int fd = open(DUMP, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, d->b.data, d->b.len), 0);
	close(fd);
	d->b.len = 0;
}

static struct jit_code *open_dump(const char *proc, bool has_other_clock)
{
	struct jit_code_config config = {
		.reader = { .proc = proc, .pid = 41, .path = DUMP },
		.has_other_clock = has_other_clock,
	};

	return jit_code_open(&config);
}

struct names {
	char text[256];
};

static void add_name(void *context, uint64_t file_off, uint64_t size, const char *name)
{
	struct names *n = context;
	size_t at = strlen(n->text);

	(void)file_off;
	snprintf(n->text + at, sizeof(n->text) - at, "%s/%d ", name, (int)size);
}

/* The names that an address has at a time, and those told since. */
static void check(struct jit_code *j, uint64_t addr, uint64_t time_ns, const char *told)
{
	struct names names = { "" };
	uint64_t off;

	assert_true(jit_code_find(j, addr, time_ns, &off));
	jit_code_names(j, add_name, &names);
	assert_string_equal(names.text, told);
}

static void paths_of_dumps_are_known(void **state)
{
	(void)state;
	assert_true(jit_code_is_dump("/tmp/jit-41.dump"));
	assert_true(jit_code_is_dump("./jit-0.dump"));
	assert_false(jit_code_is_dump("/tmp/jit-.dump"));
	assert_false(jit_code_is_dump("/tmp/jit-41.dump.old"));
	assert_false(jit_code_is_dump("/tmp/jit-4x.dump"));
	assert_false(jit_code_is_dump("jit-41.dump"));
}

static void an_address_belongs_to_the_mapping_of_its_time(void **state)
{
	struct dump d = { 0 };
	struct jit_code *j;
	uint64_t first, later;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	load(&d, 2000, 0x7ff8, 1, "old");
	load(&d, 3000, 0x7000, 2, "new_below");
	load(&d, 4000, 0x7ff8, 3, "new");
	append(&d);
	j = open_dump(NULL, false);
	assert_non_null(j);
	check(j, 0x7ff8, 2500, "old/16 ");
	check(j, 0x8007, 2500, ""); /* on the next page, and told already */
	check(j, 0x7ff9, 4000, "new/16 ");
	check(j, 0x7ff9, 1, ""); /* before all: the oldest */
	assert_true(jit_code_find(j, 0x7ff9, 3999, &first));
	assert_true(jit_code_find(j, 0x7ff9, 4001, &later));
	assert_true(first < later);
	assert_false(jit_code_find(j, 0x8008, 5000, &first));
	assert_false(jit_code_find(j, 0x6fff, 5000, &first));
	jit_code_free(j);
	buf_fini(&d.b);
}

static void without_a_clock_the_newest_code_counts(void **state)
{
	struct dump d = { 0 };
	struct jit_code *j;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	load(&d, 2000, 0x7000, 1, "old");
	load(&d, 4000, 0x7000, 2, "new");
	append(&d);
	j = open_dump(NULL, true);
	check(j, 0x7000, 2500, "new/16 ");
	jit_code_free(j);
	buf_fini(&d.b);
}

static void a_dump_is_read_on_while_it_grows(void **state)
{
	struct dump d = { 0 };
	struct jit_code *j;
	uint64_t off;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	append(&d);
	j = open_dump("/nowhere", false);
	assert_non_null(j);
	/* Far in the future, so that every look-up may find something new. */
	assert_false(jit_code_find(j, 0x7000, UINT64_MAX - 1, &off));
	load(&d, 2000, 0x7000, 1, "first");
	load(&d, 2001, 0x7100, 2, "second");
	d.b.len -= 5;
	append(&d);
	check(j, 0x7000, UINT64_MAX - 1, "first/16 ");
	assert_false(jit_code_find(j, 0x7100, UINT64_MAX - 1, &off));
	buf_str(&d.b, "bcdef");
	append(&d);
	check(j, 0x7100, UINT64_MAX - 1, "second/16 ");
	jit_code_free(j);
	buf_fini(&d.b);
}

/* CODE_MOVE: the code with this number is at another address from now on. */
static void move(struct dump *d, uint64_t time_ns, uint64_t addr, uint64_t index)
{
	begin(d, 1, time_ns);
	u32(d, 41);
	u32(d, 41);
	u64(d, addr);
	u64(d, 0);
	u64(d, addr);
	u64(d, 0);
	u64(d, index);
	end(d);
}

#define GIANT_AT    ((uint64_t)0x7f0000000000)
#define GIANT_BYTES ((uint64_t)4 << 20)
#define GIANT_MOVES 20000

static void load_giant(struct dump *d, uint64_t size)
{
	begin(d, 0, 2000);
	u32(d, 41);
	u32(d, 41);
	u64(d, GIANT_AT);
	u64(d, GIANT_AT);
	u64(d, size);
	u64(d, 1);
	buf_cstr0(&d->b, "giant");
	buf_reserve(&d->b, size);
	memset(d->b.data + d->b.len, 0xc3, size);
	d->b.len += size;
	end(d);
}

/* An index by page would have 1,024 entries for each move. All codes of all times are found. */
static void a_giant_function_that_moves_often_costs_little(void **state)
{
	struct guard_pool *pool = guard_pool_new(8 << 20, 8 << 20);
	struct jit_code_config config = { .reader = { .pid = 41, .path = DUMP, .pool = pool } };
	uint64_t last = GIANT_AT + (uint64_t)GIANT_MOVES * 16, first, off;
	struct dump d = { 0 };
	struct jit_code *j;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	load_giant(&d, GIANT_BYTES);
	for (uint64_t i = 1; i <= GIANT_MOVES; i++)
		move(&d, 2000 + i, GIANT_AT + i * 16, 1);
	append(&d);
	j = jit_code_open(&config);
	assert_true(jit_code_find(j, GIANT_AT, 2000, &first));
	assert_true(jit_code_find(j, last + 5, 2000 + GIANT_MOVES, &off));
	assert_false(jit_code_find(j, last + GIANT_BYTES, 2000 + GIANT_MOVES, &off));
	assert_false(jit_code_find(j, GIANT_AT - 1, 2000 + GIANT_MOVES, &off));
	for (uint64_t i = 0; i <= GIANT_MOVES; i++) {
		assert_true(jit_code_find(j, last + 5, 2000 + i, &off));
		assert_int_equal(off - first, last + 5 - (GIANT_AT + i * 16));
	}
	assert_int_equal(jit_code_take_loss(j), N_LOSS_REASONS);
	assert_in_range(guard_pool_used(pool), 1, 8 << 10);
	jit_code_free(j);
	assert_int_equal(guard_pool_used(pool), 0);
	guard_pool_unref(pool);
	buf_fini(&d.b);
}

/* The same as jit_index_find(), in the plainest way. */
static const struct jitdump_code *search_all(const struct jitdump *d, uint64_t addr,
					     uint64_t time_ns)
{
	const struct jitdump_code *newest = NULL, *oldest = NULL;

	vec_foreach (&d->codes, c) {
		if (addr < c->addr || addr - c->addr >= c->size)
			continue;
		if (c->from_ns <= time_ns && (!newest || c->from_ns >= newest->from_ns))
			newest = c;
		if (!oldest || c->from_ns < oldest->from_ns)
			oldest = c;
	}
	return newest ? newest : oldest;
}

static uint64_t next_random(uint64_t *state)
{
	*state += 0x9e3779b97f4a7c15ULL;
	return hash_u64(*state);
}

/* Overlaps, equal starts, size 0, equal and unordered times, both ends of the address space. */
static struct jitdump_code random_code(uint64_t *state, uint64_t span, uint64_t n_times)
{
	uint64_t from = next_random(state) % 3 ? GIANT_AT - span / 2 : 0;
	unsigned bits = (unsigned)(next_random(state) % 24);
	struct jitdump_code c = { .addr = from + next_random(state) % span,
				  .size = next_random(state) & ((1ull << bits) - 1),
				  .from_ns = 1000 + next_random(state) % n_times };

	if (next_random(state) % 8 == 0)
		c.addr = UINT64_MAX - c.size - next_random(state) % span;
	if (next_random(state) % 64 == 0)
		c.size = UINT64_MAX - c.addr; /* up to the last byte but one */
	return c;
}

static void compare_at(const struct jit_index *x, const struct jitdump *d, uint64_t addr,
		       uint64_t time_ns)
{
	assert_ptr_equal(jit_index_find(x, d, addr, time_ns), search_all(d, addr, time_ns));
}

static void compare_around(const struct jit_index *x, const struct jitdump *d,
			   const struct jitdump_code *c, uint64_t time_ns)
{
	compare_at(x, d, c->addr - 1, time_ns);
	compare_at(x, d, c->addr, time_ns);
	compare_at(x, d, c->addr + c->size / 2, c->from_ns);
	compare_at(x, d, c->addr + c->size - 1, c->from_ns - 1);
	compare_at(x, d, c->addr + c->size, time_ns);
}

/* Adds codes in parts, and compares after each part. */
static void compare_random_codes(uint64_t seed, uint64_t span, uint64_t n_times, uint32_t n_codes)
{
	struct jit_index x = { 0 };
	struct jitdump d;

	jitdump_init(&d);
	for (int part = 0; part < 3; part++) {
		for (uint32_t i = 0; i < n_codes; i++)
			vec_push(&d.codes, random_code(&seed, span, n_times));
		jit_index_add(&x, &d);
		for (uint32_t i = 0; i < n_codes / 2; i++)
			compare_around(&x, &d, &d.codes.data[next_random(&seed) % d.codes.n],
				       999 + next_random(&seed) % (n_times + 2));
		compare_at(&x, &d, UINT64_MAX, 2000);
		compare_at(&x, &d, 0, 2000);
	}
	/* A node for each code, and at most four slots of the map. */
	assert_in_range(jit_index_memory(&x), 1, d.codes.n * 128 + 4096);
	jit_index_fini(&x);
	jitdump_fini(&d);
}

static void the_index_agrees_with_a_plain_search(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < 4; seed++) {
		compare_random_codes(seed, 16, 4, 40);
		compare_random_codes(seed + 10, 4096, 100, 400);
		compare_random_codes(seed + 20, 1 << 24, 1, 400);
		compare_random_codes(seed + 30, 1 << 30, 1 << 20, 800);
	}
}

/*
 * Codes whose times fall, rise or are equal: a tree without balance would be a list. A search that
 * compared all codes, or a recursion for each code, would take this test minutes or its stack.
 */
static void no_order_of_times_makes_the_index_deep(void **state)
{
	static const int64_t steps[] = { -1, 0, 1 };
	const uint64_t n = 100000;

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct jit_index x = { 0 };
		struct jitdump d;
		uint64_t now = 1000000;

		jitdump_init(&d);
		for (uint64_t i = 0; i < n; i++, now += (uint64_t)steps[k])
			vec_push(&d.codes, (struct jitdump_code){ .addr = GIANT_AT - 2 * n + i,
								  .size = 4 * n,
								  .from_ns = now });
		jit_index_add(&x, &d);
		for (uint64_t i = 0; i < n; i++) {
			const struct jitdump_code *c = jit_index_find(&x, &d, GIANT_AT - 2 * n + i,
								      k ? UINT64_MAX : 1000000 - i);

			assert_ptr_equal(c, &d.codes.data[i]);
		}
		jit_index_fini(&x);
		jitdump_fini(&d);
	}
}

static void a_dump_over_the_budget_gives_no_names(void **state)
{
	struct guard_pool *pool = guard_pool_new(64 << 10, 1 << 20);
	struct jit_code_config config = { .reader = { .pid = 41, .path = DUMP, .pool = pool } };
	struct names names = { "" };
	struct dump d = { 0 };
	struct jit_code *j;
	uint64_t off;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	for (uint64_t i = 0; i < 2000; i++)
		load(&d, 2000, 0x7000 + 16 * i, i, "one");
	append(&d);
	j = jit_code_open(&config);
	assert_false(jit_code_find(j, 0x7000, 2000, &off));
	assert_int_equal(jit_code_take_loss(j), LOSS_JIT_DUMP_LARGE);
	assert_int_equal(jit_code_take_loss(j), N_LOSS_REASONS);
	assert_false(jit_code_find(j, 0x7000, 3000, &off));
	jit_code_names(j, add_name, &names);
	assert_string_equal(names.text, "");
	assert_int_equal(guard_pool_used(pool), 0);
	jit_code_free(j);
	guard_pool_unref(pool);
	buf_fini(&d.b);
}

static void a_record_of_too_many_bytes_is_refused(void **state)
{
	struct jit_code_config config = { .reader = { .pid = 41, .path = DUMP } };
	struct dump d = { 0 };
	struct jit_code *j;
	uint64_t off;

	(void)state;
	unlink(DUMP);
	dump_header(&d);
	load_giant(&d, (uint64_t)48 << 20);
	append(&d);
	j = jit_code_open(&config);
	assert_false(jit_code_find(j, GIANT_AT, 3000, &off));
	assert_int_equal(jit_code_take_loss(j), LOSS_JIT_DUMP_LARGE);
	jit_code_free(j);
	buf_fini(&d.b);
}

/* The child maps the file later than the one who asks, and the dump grows meanwhile. */
static void a_piece_ends_where_the_file_ended_for_the_one_who_asks(void **state)
{
	struct dump d = { 0 };
	struct buf request = { 0 }, answer = { 0 };
	struct file_mapping file = { 0 };
	struct parser_job job = { .file = &file, .answer = &answer };
	struct jit_piece piece;
	size_t size;

	(void)state;
	dump_header(&d);
	load(&d, 2000, 0x7000, 1, "first");
	size = d.b.len;
	load(&d, 3000, 0x8000, 2, "second");
	file.base = d.b.data;
	file.size = d.b.len;
	buf_u64(&request, 0);
	buf_u64(&request, size + 8);
	buf_u8(&request, 0);
	job.request = reader_over(request.data, request.len);
	jit_piece_row.run(&job);
	assert_true(jit_piece_row.check(answer.data, answer.len));
	assert_true(jit_piece_read(&piece, answer.data, answer.len));
	assert_int_equal(piece.head.end, size);
	assert_int_equal(piece.head.n, 1);
	buf_fini(&request);
	buf_fini(&answer);
	buf_fini(&d.b);
}

static void what_is_no_dump_is_harmless(void **state)
{
	uint64_t off;
	struct jit_code *j;

	(void)state;
	unlink(DUMP);
	assert_null(open_dump(NULL, false));
	assert_int_equal(mkdir(DUMP, 0700), 0);
	assert_null(open_dump(NULL, false));
	assert_int_equal(rmdir(DUMP), 0);
	assert_int_equal(symlink("/etc/passwd", DUMP), 0);
	assert_null(open_dump(NULL, false));
	unlink(DUMP);
	assert_int_equal(mkfifo(DUMP, 0600), 0);
	assert_null(open_dump(NULL, false));
	unlink(DUMP);
	write_file(DUMP,
		   "this is a text, and a rather long one so that there is room for a header");
	j = open_dump(NULL, false);
	assert_false(jit_code_find(j, 0x7000, 1, &off));
	jit_code_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_dumps_are_known),
		cmocka_unit_test(an_address_belongs_to_the_mapping_of_its_time),
		cmocka_unit_test(without_a_clock_the_newest_code_counts),
		cmocka_unit_test(a_dump_is_read_on_while_it_grows),
		cmocka_unit_test(a_giant_function_that_moves_often_costs_little),
		cmocka_unit_test(the_index_agrees_with_a_plain_search),
		cmocka_unit_test(no_order_of_times_makes_the_index_deep),
		cmocka_unit_test(a_record_of_too_many_bytes_is_refused),
		cmocka_unit_test(a_dump_over_the_budget_gives_no_names),
		cmocka_unit_test(a_piece_ends_where_the_file_ended_for_the_one_who_asks),
		cmocka_unit_test(what_is_no_dump_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
