/* SPDX-License-Identifier: GPL-2.0-or-later */
/* CPython's perf trampolines: their code, and the walks that meet it. */
#include <string.h>

#include "unit.h"

#include "base/mem.h"
#include "guard/memory_reads.h"
#include "lang/place.h"
#include "pipeline/trampolines.h"
#include "unwind/trampoline.h"

static const uint8_t with_sub[] = {
	0x48, 0x83, 0xec, 0x08, 0xff, 0xd1, 0x48, 0x83, 0xc4, 0x08, 0xc3
};
static const uint8_t with_push[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 };
static const uint8_t of_arm[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0x60, 0x00,
				  0x3f, 0xd6, 0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };

/* Memory with some code in the middle of other bytes. */
#define CODE_AT 64

struct memory {
	uint8_t bytes[160];
	uint64_t start; /* its address */
	uint32_t n_reads;
	bool is_gone;
};

static void put_code(struct memory *m, const uint8_t *code, size_t size)
{
	*m = (struct memory){ .start = 0x7f0000001000 };
	memset(m->bytes, 0xcc, sizeof(m->bytes));
	memcpy(m->bytes + CODE_AT, code, size);
}

static struct unwind_rule rule_at(const struct memory *m, uint64_t at, bool is_arm)
{
	return unwind_rule_of_trampoline(m->bytes + trampoline_start(CODE_AT + at, is_arm), is_arm);
}

static void check_rule(struct unwind_rule rule, uint32_t words, enum unwind_fp fp)
{
	assert_int_equal(unwind_rule_cfa(rule), UNWIND_CFA_SP);
	assert_int_equal(unwind_rule_words(rule), words);
	assert_int_equal(unwind_rule_fp(rule), fp);
	if (fp == UNWIND_FP_AT_CFA)
		assert_int_equal(rule.fp, -2);
}

static void each_instruction_has_its_rule(void **state)
{
	struct memory m;

	(void)state;
	put_code(&m, with_sub, sizeof(with_sub));
	check_rule(rule_at(&m, 0, false), 1, UNWIND_FP_SAME);
	check_rule(rule_at(&m, 4, false), 2, UNWIND_FP_SAME);
	check_rule(rule_at(&m, 5, false), 2, UNWIND_FP_SAME); /* of a caller */
	check_rule(rule_at(&m, 6, false), 2, UNWIND_FP_SAME);
	check_rule(rule_at(&m, 10, false), 1, UNWIND_FP_SAME);
	put_code(&m, with_push, sizeof(with_push));
	check_rule(rule_at(&m, 0, false), 1, UNWIND_FP_SAME);
	check_rule(rule_at(&m, 1, false), 2, UNWIND_FP_AT_CFA);
	check_rule(rule_at(&m, 4, false), 2, UNWIND_FP_AT_CFA);
	check_rule(rule_at(&m, 5, false), 2, UNWIND_FP_AT_CFA);
	check_rule(rule_at(&m, 6, false), 2, UNWIND_FP_AT_CFA);
	check_rule(rule_at(&m, 7, false), 1, UNWIND_FP_SAME);
	put_code(&m, of_arm, sizeof(of_arm));
	check_rule(rule_at(&m, 11, true), 2, UNWIND_FP_AT_CFA);
	assert_int_equal(unwind_rule_ra(rule_at(&m, 11, true)), UNWIND_RA_AT_CFA);
}

static void a_caller_is_told_by_its_part_alone(void **state)
{
	const struct {
		const uint8_t *code;
		size_t size;
		bool is_arm;
	} rows[] = { { with_sub, sizeof(with_sub), false },
		     { with_push, sizeof(with_push), false },
		     { of_arm, sizeof(of_arm), true } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		bool is_arm = rows[i].is_arm;
		uint64_t start = trampoline_start(CODE_AT + (is_arm ? 11 : 5), is_arm);
		uint8_t bytes[TRAMPOLINE_BYTES] = { 0 };
		struct memory m;

		put_code(&m, rows[i].code, rows[i].size);
		memcpy(bytes + TRAMPOLINE_CALLER_AT(is_arm),
		       m.bytes + start + TRAMPOLINE_CALLER_AT(is_arm),
		       TRAMPOLINE_CALLER_BYTES(is_arm));
		assert_int_equal(unwind_rule_cfa(unwind_rule_of_trampoline(bytes, is_arm)),
				 UNWIND_CFA_SP);
	}
}

static void other_code_has_no_rule(void **state)
{
	struct memory m;

	(void)state;
	for (size_t i = 0; i < sizeof(with_sub); i++) {
		put_code(&m, with_sub, sizeof(with_sub));
		m.bytes[CODE_AT + i] ^= 1;
		for (uint32_t at = 0; at <= 10; at++)
			assert_int_equal(unwind_rule_cfa(rule_at(&m, at, false)), UNWIND_CFA_NONE);
	}
	put_code(&m, of_arm, sizeof(of_arm));
	m.bytes[CODE_AT + 19] ^= 1;
	assert_int_equal(unwind_rule_cfa(rule_at(&m, 11, true)), UNWIND_CFA_NONE);
	put_code(&m, with_sub, sizeof(with_sub));
	assert_int_equal(unwind_rule_cfa(rule_at(&m, 11, false)), UNWIND_CFA_NONE);
	assert_int_equal(unwind_rule_cfa(rule_at(&m, 11, true)), UNWIND_CFA_NONE);
}

/* ---- of processes ---- */

#if defined(__aarch64__)
#define HOST_CODE of_arm
#define CALLER    11
#else
#define HOST_CODE with_sub
#define CALLER    5
#endif

static bool read_memory(void *context, int32_t pid, uint64_t addr, void *out, size_t size)
{
	struct memory *m = context;

	(void)pid;
	m->n_reads++;
	if (m->is_gone || addr < m->start || addr - m->start > sizeof(m->bytes) - size)
		return false;
	memcpy(out, m->bytes + (addr - m->start), size);
	return true;
}

#define SPACE 100

/* In a walk of a process. */
static bool has_rule_in(struct trampolines *t, int32_t pid, uint64_t space, uint64_t pc)
{
	trampolines_begin(t, pid, space);
	return unwind_rule_cfa(trampolines_rule(t, pc)) != UNWIND_CFA_NONE;
}

static bool has_rule(struct trampolines *t, int32_t pid, uint64_t pc)
{
	return has_rule_in(t, pid, SPACE, pc);
}

/* A process with a trampoline, whose memory is read. */
struct world {
	struct memory m;
	struct trampolines *t;
	struct memory_reads *reads;
};

static int make_world(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));

	put_code(&w->m, HOST_CODE, sizeof(HOST_CODE));
	w->t = trampolines_new(read_memory, &w->m);
	w->reads = memory_reads_new(MEMORY_READ_NS);
	*state = w;
	return 0;
}

static int free_world(void **state)
{
	struct world *w = *state;

	trampolines_free(w->t);
	memory_reads_free(w->reads);
	free(w);
	return 0;
}

static void the_code_of_an_address_is_read_once(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->m.start + CODE_AT + CALLER;

	assert_false(has_rule(w->t, 7, pc));
	assert_true(trampolines_learn(w->t, w->reads));
	assert_false(trampolines_learn(w->t, w->reads));
	for (int i = 0; i < 3; i++)
		assert_true(has_rule(w->t, 7, pc));
	assert_int_equal(w->m.n_reads, 1);
	/* of another process, or of a new one with the same number: not known */
	assert_false(has_rule(w->t, 8, pc));
	trampolines_forget(w->t, 7);
	assert_false(has_rule(w->t, 7, pc));
}

static void the_first_code_of_a_mapping_is_known(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->m.start + CALLER;

	memmove(w->m.bytes, w->m.bytes + CODE_AT, sizeof(w->m.bytes) - CODE_AT);
	assert_false(has_rule(w->t, 7, pc));
	assert_true(trampolines_learn(w->t, w->reads));
	assert_true(has_rule(w->t, 7, pc));
}

static void code_is_read_anew_after_an_exec(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->m.start + CODE_AT + CALLER;

	assert_false(has_rule(w->t, 7, pc));
	assert_true(trampolines_learn(w->t, w->reads));
	assert_true(has_rule(w->t, 7, pc));
	w->m.bytes[CODE_AT] ^= 1;
	assert_false(has_rule_in(w->t, 7, SPACE + 1, pc));
	assert_true(trampolines_learn(w->t, w->reads));
	assert_false(has_rule_in(w->t, 7, SPACE + 1, pc));
	assert_int_equal(w->m.n_reads, 2);
}

/* Another walk is of another process: what this one wanted is forgotten. */
static void a_walk_learns_its_own_addresses_alone(void **state)
{
	struct world *w = *state;

	assert_false(has_rule(w->t, 7, w->m.start + CODE_AT + CALLER));
	trampolines_begin(w->t, 8, SPACE);
	assert_false(trampolines_learn(w->t, w->reads));
	assert_int_equal(w->m.n_reads, 0);
}

static void a_process_that_cannot_be_read_is_left_alone(void **state)
{
	struct world *w = *state;
	uint64_t pc = w->m.start + CODE_AT + CALLER;

	w->m.is_gone = true;
	assert_false(has_rule(w->t, 7, pc));
	assert_false(trampolines_learn(w->t, w->reads));
	/* once is no proof */
	w->m.is_gone = false;
	assert_false(has_rule(w->t, 7, pc));
	assert_true(trampolines_learn(w->t, w->reads));
	assert_true(has_rule(w->t, 7, pc));
	w->m.is_gone = true;
	w->m.n_reads = 0;
	for (uint32_t i = 0; i < 100; i++) {
		assert_false(has_rule(w->t, 8, pc));
		assert_false(trampolines_learn(w->t, w->reads));
	}
	assert_in_range(w->m.n_reads, 2, 64);
	/* nothing may be read: for ever */
	w->m.is_gone = false;
	assert_false(has_rule(w->t, 9, pc));
	assert_false(trampolines_learn(w->t, NULL));
	w->m.n_reads = 0;
	assert_false(has_rule_in(w->t, 9, SPACE + 1, pc));
	assert_false(trampolines_learn(w->t, w->reads));
	assert_int_equal(w->m.n_reads, 0);
}

static void a_process_with_other_code_is_left_alone(void **state)
{
	struct world *w = *state;
	uint32_t n = 0;

	w->m.bytes[CODE_AT] ^= 1;
	for (uint32_t i = 0; i < 100; i++) {
		assert_false(has_rule(w->t, 7, w->m.start + 32 + i));
		n += trampolines_learn(w->t, w->reads);
	}
	assert_in_range(n, 1, 32);
}

/* ---- names ---- */

static void names_of_trampolines_have_a_function_and_a_file(void **state)
{
	(void)state;
	assert_int_equal(lang_trampoline_name("py::hot:/srv/app.py"), 3);
	assert_int_equal(lang_trampoline_name("py::K.f.<locals>.<lambda>:/a:b.py"), 21);
	assert_int_equal(lang_trampoline_name("py::hot:"), 0);
	assert_int_equal(lang_trampoline_name("py::hot"), 0);
	assert_int_equal(lang_trampoline_name("py::"), 0);
	assert_int_equal(lang_trampoline_name("py::::"), 0);
	assert_int_equal(lang_trampoline_name("py:"), 0);
	assert_int_equal(lang_trampoline_name(""), 0);
	assert_int_equal(lang_trampoline_name("jit_hot"), 0);
}

#define IN_WORLD(test) cmocka_unit_test_setup_teardown(test, make_world, free_world)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_instruction_has_its_rule),
		cmocka_unit_test(a_caller_is_told_by_its_part_alone),
		cmocka_unit_test(other_code_has_no_rule),
		IN_WORLD(the_code_of_an_address_is_read_once),
		IN_WORLD(the_first_code_of_a_mapping_is_known),
		IN_WORLD(code_is_read_anew_after_an_exec),
		IN_WORLD(a_walk_learns_its_own_addresses_alone),
		IN_WORLD(a_process_that_cannot_be_read_is_left_alone),
		IN_WORLD(a_process_with_other_code_is_left_alone),
		cmocka_unit_test(names_of_trampolines_have_a_function_and_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
