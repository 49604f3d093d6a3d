/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "base/proc_modules.h"
#include "base/reader.h"
#include "base/reserve.h"
#include "base/strings.h"
#include "commands/end_signals.h"

/* ---- the reserve of memory ---- */

/* A limit below what the process has: the kernel refuses every mapping. */
static struct rlimit refuse_mappings(void)
{
	struct rlimit before, none = { 0 };

	assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_AS, &none), 0);
	return before;
}

/* qemu-user, which runs the AArch64 build of this test, ignores the limit. */
static bool can_refuse_mappings(void)
{
	struct rlimit limit = refuse_mappings();
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	setrlimit(RLIMIT_AS, &limit);
	if (page != MAP_FAILED)
		munmap(page, 4096);
	return page == MAP_FAILED;
}

static void the_reserve_is_spent_and_filled_again(void **state)
{
	uint32_t n_failures = reserve_failures();
	struct reserve room = { 0 };
	struct error err = { 0 };
	struct rlimit limit;

	(void)state;
	if (!can_refuse_mappings())
		skip_because("RLIMIT_AS refuses no mapping here (an emulator, or a sanitizer)");
	assert_int_equal(reserve_begin(), 0);
	assert_int_equal(reserve_take(&room, 1000, 1000), 0);
	assert_int_equal(room.bytes, 1000000);
	assert_true(reserve_spend());
	reserve_spent();
	limit = refuse_mappings();
	assert_int_equal(reserve_check(), -ENOMEM);
	assert_int_equal(reserve_take(&room, 1, 1), -ENOMEM);
	assert_int_equal(reserve_begin(), -ENOMEM);
	assert_int_equal(reserve_error(&err), -ENOMEM);
	setrlimit(RLIMIT_AS, &limit);
	assert_non_null(strstr(err.text, "the limit of this process is 0 MB"));
	assert_int_equal(room.bytes, 1000000);
	assert_int_equal(reserve_failures(), n_failures + 3);
	assert_int_equal(reserve_check(), 0);
	assert_int_equal(reserve_take(&room, SIZE_MAX / 2, 3), -ENOMEM);
	reserve_drop(&room);
	assert_int_equal(room.bytes, 0);
	reserve_end();
	assert_false(reserve_spend());
}

static void a_child_has_no_reserve(void **state)
{
	int status = -1;
	pid_t pid;

	(void)state;
	assert_int_equal(reserve_begin(), 0);
	assert_true(reserve_spend());
	reserve_spent();
	pid = fork();
	if (!pid) {
		reserve_forget();
		refuse_mappings();
		_exit(reserve_check() == 0 && !reserve_spend() ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(reserve_check(), 0);
	reserve_end();
}

static void without_users_nothing_is_reserved(void **state)
{
	struct reserve room = { 0 };

	(void)state;
	assert_int_equal(reserve_take(&room, SIZE_MAX, 1), 0);
	assert_int_equal(room.bytes, 0);
	assert_false(reserve_spend());
	assert_int_equal(reserve_check(), 0);
}

/* With the sanitizer, too, an allocation that is too large is NULL. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* calloc() refuses a size that no machine has; the reserve is spent for it. */
static void a_table_without_memory_goes_on_until_it_is_nearly_full(void **state)
{
	size_t huge = (size_t)1 << 50;

	(void)state;
	assert_int_equal(reserve_begin(), 0);
	assert_null(mem_table(huge, 8, 512, 1024));
	assert_int_equal(reserve_check(), 0);
	assert_null(mem_table(huge, 8, 894, 1024));
	reserve_end();
	assert_null(mem_try(huge, 8));
}

static void an_error_reads_from_the_outside_in(void **state)
{
	struct error err = { 0 };

	(void)state;
	assert_int_equal(error_errno(&err, -ENOENT, "segment '%s'", "0003"), -ENOENT);
	error_wrap(&err, -ENOENT, "session '%s'", "a.assay");
	assert_string_equal(err.text,
			    "session 'a.assay': segment '0003': No such file or directory");
	assert_int_equal(error_set(NULL, -EINVAL, "nobody reads this"), -EINVAL);
}

static void numbers_come_back_from_leb128(void **state)
{
	static const uint64_t numbers[] = { 0, 1, 127, 128, 300, 1ULL << 32, UINT64_MAX };
	struct buf b = { 0 };
	struct reader r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		buf_uleb(&b, numbers[i]);
		buf_sleb(&b, (int64_t)numbers[i]);
		buf_sleb(&b, -(int64_t)(numbers[i] >> 1));
	}
	r = reader_over(b.data, b.len);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		assert_true(reader_uleb(&r) == numbers[i]);
		assert_true(reader_sleb(&r) == (int64_t)numbers[i]);
		assert_true(reader_sleb(&r) == -(int64_t)(numbers[i] >> 1));
	}
	assert_false(r.bad);
	assert_int_equal(reader_left(&r), 0);
	buf_fini(&b);
}

static void a_reader_stays_bad_after_the_end(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	static const uint8_t endless[] = { 0xff, 0xff };
	struct reader r = reader_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(reader_u16(&r), 0x0201);
	assert_int_equal(reader_u32(&r), 0);
	assert_true(r.bad);
	assert_int_equal(reader_u8(&r), 0);
	assert_null(reader_cstr(&r));

	r = reader_over(endless, sizeof(endless));
	assert_int_equal(reader_uleb(&r), 0);
	assert_true(r.bad);
}

static void equal_strings_have_one_id(void **state)
{
	struct strings s;
	string_id found;

	(void)state;
	strings_init(&s);
	for (int i = 0; i < 1000; i++) {
		char text[16];

		snprintf(text, sizeof(text), "s%d", i);
		assert_int_equal(strings_add(&s, text).n, i + 1);
		assert_int_equal(strings_add(&s, text).n, i + 1);
	}
	assert_int_equal(strings_add(&s, "").n, 0);
	assert_string_equal(strings_get(&s, (string_id){ 500 }), "s499");
	assert_string_equal(strings_get(&s, (string_id){ 5000 }), "");
	assert_true(strings_find(&s, "s7", &found));
	assert_int_equal(found.n, 8);
	assert_false(strings_find(&s, "absent", &found));
	strings_fini(&s);
}

static void a_map_survives_growth_and_removal(void **state)
{
	struct intmap m = { 0 };
	bool is_new;

	(void)state;
	assert_null(intmap_find(&m, 7));
	for (uint64_t k = 0; k < 5000; k++) {
		*intmap_put(&m, k * k, &is_new) = (uint32_t)k;
		assert_true(is_new);
	}
	for (uint64_t k = 0; k < 5000; k += 2)
		assert_true(intmap_remove(&m, k * k));
	assert_false(intmap_remove(&m, 4));
	for (uint64_t k = 0; k < 5000; k++) {
		uint32_t *v = intmap_find(&m, k * k);

		if (k % 2 == 0)
			assert_null(v);
		else
			assert_int_equal(*v, k);
	}
	intmap_clear(&m);
	assert_null(intmap_find(&m, 1));
	intmap_fini(&m);
}

/* hash_u64() backwards. */
static uint64_t key_of_hash(uint64_t x)
{
	x ^= x >> 33;
	x *= 0x9cb4b2f8129337dbULL; /* times the factor: 1 */
	x ^= x >> 33;
	x *= 0x4f74430c22a54005ULL;
	return x ^ (x >> 33);
}

/* The most used slots in a row: at least as many steps as the longest search takes. */
static uint32_t longest_run(const struct intmap *m)
{
	uint32_t run = 0, longest = 0;

	for (uint32_t i = 0; i < m->n_slots; i++) {
		run = m->slots[i].used ? run + 1 : 0;
		longest = MAX(longest, run);
	}
	return longest;
}

static void keys_that_collide_for_everybody_do_not_collide_in_a_map(void **state)
{
	enum { N = 20000 };
	struct intmap m = { 0 };

	(void)state;
	for (uint64_t k = 0; k < N; k++) {
		uint64_t key = key_of_hash(k << 32);

		assert_int_equal((uint32_t)hash_u64(key), 0);
		*intmap_put(&m, key, NULL) = (uint32_t)k;
	}
	assert_int_equal(m.n, N);
	assert_true(longest_run(&m) < 1000);
	for (uint64_t k = 0; k < N; k++)
		assert_int_equal(*intmap_find(&m, key_of_hash(k << 32)), k);
	intmap_fini(&m);
}

static void a_build_id_comes_back_from_hex(void **state)
{
	char hex[BUILD_ID_HEX_SIZE];
	struct build_id id, other;

	(void)state;
	assert_true(build_id_parse("00ff10", &id));
	assert_int_equal(id.len, 3);
	build_id_hex(&id, hex);
	assert_string_equal(hex, "00ff10");
	assert_false(build_id_parse("00f", &other));
	assert_false(build_id_parse("zz", &other));
	assert_true(build_id_parse("00ff1000", &other));
	assert_false(build_id_equal(&id, &other));
}

/* ---- /proc/modules ---- */

static void modules_are_read_line_by_line(void **state)
{
	static const char text[] = "nf_tables 303104 1 nft_compat, Live 0xffffffffc0a01000 (E)\n"
				   "half 4096 1 -\n"
				   "hidden 4096 0 - Live 0x0000000000000000\n"
				   "minus -1 0 - Live 0xffffffffc0000000\n"
				   "\n"
				   "last\t8192 0 - Live 0xffffffffc0100000";
	const char *at = text;
	struct proc_module m;
	char longer[400];

	(void)state;
	assert_true(proc_modules_next(&at, &m));
	assert_string_equal(m.name, "nf_tables");
	assert_int_equal(m.size, 303104);
	assert_int_equal(m.addr, 0xffffffffc0a01000);
	assert_true(proc_modules_next(&at, &m));
	assert_string_equal(m.name, "last");
	assert_int_equal(m.addr, 0xffffffffc0100000);
	assert_false(proc_modules_next(&at, &m));
	assert_false(proc_modules_next(&at, &m));
	snprintf(longer, sizeof(longer), "%0200d 1 0 - Live 0x1", 7);
	at = longer;
	assert_true(proc_modules_next(&at, &m));
	assert_int_equal(strlen(m.name), PROC_MODULE_NAME - 1);
}

/* A signal that came before the wait is let through by the wait. */
static void a_wait_ends_by_a_signal_at_any_moment(void **state)
{
	sigset_t mask, after;

	(void)state;
	end_signals_catch();
	end_signals_wait(0.001);
	assert_false(end_signals_came());
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	assert_int_equal(pthread_sigmask(SIG_BLOCK, &mask, NULL), 0);
	raise(SIGTERM);
	assert_false(end_signals_came());
	end_signals_wait(100000);
	assert_true(end_signals_came());
	end_signals_wait(100000);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	assert_true(sigismember(&after, SIGTERM));
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	pthread_sigmask(SIG_UNBLOCK, &mask, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_reserve_is_spent_and_filled_again),
		cmocka_unit_test(a_child_has_no_reserve),
		cmocka_unit_test(without_users_nothing_is_reserved),
		cmocka_unit_test(a_table_without_memory_goes_on_until_it_is_nearly_full),
		cmocka_unit_test(an_error_reads_from_the_outside_in),
		cmocka_unit_test(numbers_come_back_from_leb128),
		cmocka_unit_test(a_reader_stays_bad_after_the_end),
		cmocka_unit_test(equal_strings_have_one_id),
		cmocka_unit_test(a_map_survives_growth_and_removal),
		cmocka_unit_test(keys_that_collide_for_everybody_do_not_collide_in_a_map),
		cmocka_unit_test(a_build_id_comes_back_from_hex),
		cmocka_unit_test(modules_are_read_line_by_line),
		cmocka_unit_test(a_wait_ends_by_a_signal_at_any_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
