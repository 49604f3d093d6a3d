/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which code was at an address at a time, from a dump that grows. */
#include "machine/jit_code.h"

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
		.proc = proc, .pid = 41, .path = DUMP, .has_other_clock = has_other_clock
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
	jit_code_unref(jit_code_ref(j));
	jit_code_unref(j);
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
	jit_code_unref(j);
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
	jit_code_unref(j);
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

/* An index by page would have 1,024 entries for each move. */
static void a_giant_function_that_moves_often_costs_little(void **state)
{
	struct guard_budget budget = { .user_bytes = 8 << 20, .total_bytes = 8 << 20 };
	struct jit_code_config config = { .pid = 41, .path = DUMP, .budget = &budget };
	uint64_t last = GIANT_AT + (uint64_t)GIANT_MOVES * 16, off;
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
	assert_true(jit_code_find(j, last + 5, 2000 + GIANT_MOVES, &off));
	assert_false(jit_code_find(j, last + GIANT_BYTES, 2000 + GIANT_MOVES, &off));
	assert_false(jit_code_find(j, GIANT_AT - 1, 2000 + GIANT_MOVES, &off));
	/* Too many newer codes stand before those of so long ago. */
	assert_false(jit_code_find(j, GIANT_AT + 5, 2000, &off));
	assert_false(jit_code_take_refusal(j));
	assert_in_range(budget.used, 1, 8 << 10);
	jit_code_unref(j);
	assert_int_equal(budget.used, 0);
	guard_budget_fini(&budget);
	buf_fini(&d.b);
}

static void a_dump_over_the_budget_gives_no_names(void **state)
{
	struct guard_budget budget = { .user_bytes = 64 << 10, .total_bytes = 1 << 20 };
	struct jit_code_config config = { .pid = 41, .path = DUMP, .budget = &budget };
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
	assert_true(jit_code_take_refusal(j));
	assert_false(jit_code_take_refusal(j));
	assert_false(jit_code_find(j, 0x7000, 3000, &off));
	jit_code_names(j, add_name, &names);
	assert_string_equal(names.text, "");
	assert_int_equal(budget.used, 0);
	jit_code_unref(j);
	guard_budget_fini(&budget);
	buf_fini(&d.b);
}

static void a_record_of_too_many_bytes_is_refused(void **state)
{
	struct jit_code_config config = { .pid = 41, .path = DUMP };
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
	assert_true(jit_code_take_refusal(j));
	jit_code_unref(j);
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
	jit_code_unref(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_of_dumps_are_known),
		cmocka_unit_test(an_address_belongs_to_the_mapping_of_its_time),
		cmocka_unit_test(without_a_clock_the_newest_code_counts),
		cmocka_unit_test(a_dump_is_read_on_while_it_grows),
		cmocka_unit_test(a_giant_function_that_moves_often_costs_little),
		cmocka_unit_test(a_record_of_too_many_bytes_is_refused),
		cmocka_unit_test(a_dump_over_the_budget_gives_no_names),
		cmocka_unit_test(what_is_no_dump_is_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
