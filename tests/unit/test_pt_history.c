/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kernel's code, which changes while a trace goes on. */
#include "unit.h"

#include <string.h>

#include "trace/pt_history.h"

/* By time: "aa" at 0x1000 becomes "bb", "cc" at 0x1004 becomes "dd", "bb" becomes "ee". */
static const struct pt_poke pokes[] = {
	{ .time_ns = 1, .addr = 0x1000, .bytes = (const uint8_t *)"aabb", .n_old = 2, .n_new = 2 },
	{ .time_ns = 2, .addr = 0x1004, .bytes = (const uint8_t *)"ccdd", .n_old = 2, .n_new = 2 },
	{ .time_ns = 3, .addr = 0x1000, .bytes = (const uint8_t *)"bbee", .n_old = 2, .n_new = 2 },
};

static void history_of_pokes(struct pt_history *h)
{
	*h = (struct pt_history){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(pokes); i++)
		vec_push(&h->pokes, pokes[i]);
	vec_push(&h->by_addr, 0U);
	vec_push(&h->by_addr, 2U);
	vec_push(&h->by_addr, 1U);
}

static void code_is_as_after_so_many_changes(void **state)
{
	static const struct {
		size_t n;
		uint64_t addr;
		const char *code;
	} wanted[] = {
		{ 0, 0x1000, "aa..cc" }, { 1, 0x1000, "bb..cc" }, { 2, 0x1000, "bb..dd" },
		{ 3, 0x1000, "ee..dd" }, { 0, 0x1001, "a..cc." }, { 3, 0x1001, "e..dd." },
		{ 1, 0x0fff, ".bb..c" }, { 3, 0x0ffb, ".....e" }, { 3, 0x1005, "d....." },
		{ 3, 0x1006, "......" }, { 3, 0x0ffa, "......" },
	};
	struct pt_history h;

	(void)state;
	history_of_pokes(&h);
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		char code[] = "......";

		assert_int_equal(pt_history_poke(&h, wanted[i].n, wanted[i].addr, (uint8_t *)code,
						 6, 6),
				 6);
		assert_string_equal(code, wanted[i].code);
	}
	vec_fini(&h.pokes);
	vec_fini(&h.by_addr);
}

/* Nothing else is known of the code: what a change says of it is, up to a gap. */
static void code_that_only_changes_tell(void **state)
{
	char code[] = "......";
	struct pt_history h;

	(void)state;
	history_of_pokes(&h);
	assert_int_equal(pt_history_poke(&h, 1, 0x1000, (uint8_t *)code, 0, 6), 2);
	assert_memory_equal(code, "bb", 2);
	vec_fini(&h.pokes);
	vec_fini(&h.by_addr);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_as_after_so_many_changes),
		cmocka_unit_test(code_that_only_changes_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
