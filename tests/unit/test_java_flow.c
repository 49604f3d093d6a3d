/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Methods of HotSpot's compiled code between calls: code of a few instructions. */
#include "unit.h"

#include <string.h>

#include "base/mem.h"
#include "lang/hotspot.h"

#define HEAP     0x7f0000000000u
#define CODE     (HEAP + 0x1000)
#define TRAP     (HEAP + 0x2010) /* a blob, behind the 16 bytes of its block */
#define TABLES   0x500000u
#define SCOPES   (TABLES + 0x1000)
#define METADATA (TABLES + 0x2000)
#define NAME     (TABLES + 0x3000)
#define SEGMENTS (TABLES + 0x4000)

#define OUTER 0x1111u /* methods */
#define INNER 0x2222u

static struct {
	uint8_t heap[0x3000], tables[0x5000];
	uint32_t n_code, n_pcs, n_scopes;
} vm;

static bool read_vm(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (addr >= HEAP && addr - HEAP <= sizeof(vm.heap) - size)
		memcpy(out, vm.heap + (addr - HEAP), size);
	else if (addr >= TABLES && addr - TABLES <= sizeof(vm.tables) - size)
		memcpy(out, vm.tables + (addr - TABLES), size);
	else
		return false;
	return true;
}

static const struct hotspot hotspot = {
	.memory = { read_vm, NULL, NULL },
	.version = 17 << 8,
	.heaps = { { HEAP, HEAP + sizeof(vm.heap), SEGMENTS, 7 } },
	.n_heaps = 1,
	.fields = {
		[BLOCK_SIZE] = 16, [BLOCK_USED] = 8, [BLOB_NAME] = 96, [BLOB_FRAME_SIZE] = 28,
		[BLOB_COMPLETE] = 20, [BLOB_CODE] = 32, [BLOB_CODE_END] = 40, [PC_SIZE] = 16,
		[PC_SCOPE] = 4,
	},
};

static void put_word(uint64_t addr, uint64_t value)
{
	if (addr >= HEAP)
		memcpy(vm.heap + (addr - HEAP), &value, sizeof(value));
	else
		memcpy(vm.tables + (addr - TABLES), &value, sizeof(value));
}

/* A virtual machine with a blob for traps, and no code. */
static int make_vm(void **state)
{
	(void)state;
	memset(&vm, 0, sizeof(vm));
	vm.n_scopes = 1; /* scope 0 is none */
	put_word(METADATA, OUTER);
	put_word(METADATA + 8, INNER);
	put_word(TRAP - 16, 4); /* segments */
	put_word(TRAP - 8, 1);  /* used */
	put_word(TRAP + 96, NAME);
	put_word(TRAP + 32, TRAP + 0x80);
	put_word(TRAP + 40, TRAP + 0x90);
	memcpy(vm.tables + (NAME - TABLES), "UncommonTrapBlob", 17);
	for (uint32_t i = 1; i < 4; i++)
		vm.tables[SEGMENTS - TABLES + 0x2000 / 128 + i] = (uint8_t)i;
	return 0;
}

/* A scope of the outer method at a bytecode index, or of the inner one that is called there. */
static uint32_t add_scope(uint32_t outer, int inner)
{
	uint8_t *at = vm.tables + (SCOPES - TABLES);
	uint32_t scope = vm.n_scopes;

	at[vm.n_scopes++] = 0; /* no sender */
	at[vm.n_scopes++] = 1; /* method */
	at[vm.n_scopes++] = (uint8_t)(outer + 1);
	if (inner < 0)
		return scope;
	at[vm.n_scopes++] = (uint8_t)scope;
	at[vm.n_scopes++] = 2;
	at[vm.n_scopes++] = (uint8_t)(inner + 1);
	return vm.n_scopes - 3;
}

/* ---- code ---- */

static void add_code(const void *bytes, size_t n)
{
	memcpy(vm.heap + (CODE - HEAP) + vm.n_code, bytes, n);
	vm.n_code += (uint32_t)n;
}

static void add_nops(uint32_t n)
{
	while (n--)
		add_code("\x90", 1);
}

static void add_distance(uint64_t target)
{
	int32_t distance = (int32_t)(target - (CODE + vm.n_code + 4));

	add_code(&distance, sizeof(distance));
}

static void place_here(uint32_t scope)
{
	put_word(TABLES + 16 * (uint64_t)vm.n_pcs++, (uint64_t)scope << 32 | vm.n_code);
}

static void add_call(uint64_t target, uint32_t outer, int inner)
{
	add_code("\xe8", 1);
	add_distance(target);
	place_here(add_scope(outer, inner));
}

/* A jump to a trap that is there already. */
static void add_check(uint32_t trap)
{
	add_code("\x0f\x83", 2); /* jae */
	add_distance(CODE + trap);
}

static void add_jump(uint32_t to)
{
	add_code("\xe9", 1);
	add_distance(CODE + to);
}

/* A trap's code. Returns where it is. */
static uint32_t add_trap(uint64_t callee, uint32_t outer, int inner)
{
	uint32_t at = vm.n_code;

	add_code("\xbe\xf5\xff\xff\xff", 5); /* mov $-11,%esi */
	add_call(callee, outer, inner);
	add_code("\xf4", 1); /* hlt */
	return at;
}

/* Traps of the inner method at two bytecode indexes, behind a jump to what comes next. */
static void add_traps(uint32_t traps[2], uint64_t callee)
{
	add_jump(vm.n_code + 5 + 2 * 11);
	traps[0] = add_trap(callee, 7, 3);
	traps[1] = add_trap(callee, 7, 9);
}

static struct hotspot_flow *flow_with_steps(uint32_t *work)
{
	const struct hotspot_blob blob = {
		.start = HEAP,
		.end = HEAP + sizeof(vm.heap),
		.code = CODE,
		.code_end = CODE + vm.n_code,
		.method = OUTER,
		.pcs = TABLES,
		.pcs_end = TABLES + 16 * (uint64_t)vm.n_pcs,
		.scopes = SCOPES,
		.scopes_end = SCOPES + vm.n_scopes,
		.metadata = METADATA,
		.metadata_end = METADATA + 16,
	};

	return hotspot_flow_new(&hotspot, &blob, work);
}

static struct hotspot_flow *flow_of_code(void)
{
	uint32_t work = HOTSPOT_FLOW_WORK;

	return flow_with_steps(&work);
}

/* Whether the inner method is at an offset. The outer one must be. */
static bool is_inner(const struct hotspot_flow *flow, uint32_t off)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	uint32_t n = hotspot_flow_scopes(flow, off, scopes);

	assert_in_range(n, 1, 2);
	assert_int_equal(scopes[n - 1].method, OUTER);
	if (n == 1)
		return false;
	assert_int_equal(scopes[0].method, INNER);
	assert_int_equal(scopes[1].bci, 7); /* the call */
	return true;
}

/* ---- tests ---- */

static void code_between_two_checks_of_a_method_is_its_own(void **state)
{
	uint32_t traps[2], first, second;
	struct hotspot_flow *flow;

	(void)state;
	add_traps(traps, TRAP + 0x80);
	first = vm.n_code + 2;
	add_nops(2);
	add_check(traps[0]);
	add_nops(3);
	second = vm.n_code;
	add_check(traps[1]);
	add_nops(2);
	add_call(HEAP, 20, -1);
	add_code("\xc3", 1);
	flow = flow_of_code();
	assert_non_null(flow);
	assert_false(is_inner(flow, first - 1));
	assert_true(is_inner(flow, first)); /* the check */
	assert_true(is_inner(flow, second - 2));
	assert_false(is_inner(flow, second + 6));
	assert_false(is_inner(flow, vm.n_code - 1));
	hotspot_flow_free(flow);
}

static void a_jump_to_other_calls_is_no_check(void **state)
{
	uint32_t traps[2], between;
	struct hotspot_flow *flow;

	(void)state;
	add_traps(traps, HEAP + 0x100); /* no blob is there */
	add_check(traps[0]);
	between = vm.n_code;
	add_nops(3);
	add_check(traps[1]);
	add_code("\xc3", 1);
	flow = flow_of_code();
	assert_non_null(flow);
	assert_false(is_inner(flow, between));
	hotspot_flow_free(flow);
}

/* The second round of a loop that was unrolled begins with the check that the first one began. */
static void a_method_that_begins_again_may_have_ended(void **state)
{
	uint32_t traps[2], between, again;
	struct hotspot_flow *flow;

	(void)state;
	add_traps(traps, TRAP + 0x80);
	for (int i = 0; i < 2; i++) {
		add_check(traps[0]);
		between = vm.n_code;
		add_nops(3);
		add_check(traps[1]);
		again = vm.n_code;
		add_nops(3);
	}
	again -= 2 * 6 + 6;
	add_code("\xc3", 1);
	flow = flow_of_code();
	assert_non_null(flow);
	assert_true(is_inner(flow, between));
	assert_false(is_inner(flow, again + 1));
	hotspot_flow_free(flow);
}

static void code_that_lies_between_two_checks_by_chance_is_not_theirs(void **state)
{
	uint32_t traps[2], between, jump;
	struct hotspot_flow *flow;

	(void)state;
	add_traps(traps, TRAP + 0x80);
	add_check(traps[0]);
	jump = vm.n_code;
	add_jump(jump + 5 + 3 + 1);
	between = vm.n_code;
	add_nops(3);
	add_code("\xc3", 1);
	assert_int_equal(vm.n_code, jump + 5 + 3 + 1);
	add_check(traps[1]);
	add_code("\xc3", 1);
	flow = flow_of_code();
	assert_non_null(flow);
	assert_true(is_inner(flow, jump));
	assert_false(is_inner(flow, between));
	hotspot_flow_free(flow);
}

/* Both ways that lead to an address count. */
static void code_that_is_reached_from_elsewhere_has_what_all_ways_have(void **state)
{
	uint32_t traps[2], skip, joined;
	struct hotspot_flow *flow;

	(void)state;
	add_traps(traps, TRAP + 0x80);
	skip = vm.n_code;
	add_code("\x74\x07", 2); /* je: over the check and a nop */
	add_check(traps[0]);
	add_nops(1);
	joined = vm.n_code;
	add_nops(2);
	add_check(traps[1]);
	add_code("\xc3", 1);
	flow = flow_of_code();
	assert_non_null(flow);
	assert_false(is_inner(flow, skip));
	assert_true(is_inner(flow, joined - 1));
	assert_false(is_inner(flow, joined));
	hotspot_flow_free(flow);
}

/* As code_between_two_checks_of_a_method_is_its_own(). Returns an offset between the checks. */
static uint32_t add_code_between_checks(uint32_t n_others)
{
	uint32_t traps[2], other[2];

	for (uint32_t i = 0; i < n_others; i++)
		add_traps(other, TRAP + 0x1000 + 16 * i);
	add_traps(traps, TRAP + 0x80);
	for (uint32_t i = 0; i < n_others; i++)
		add_check(other[0] - 27 * i); /* asks for the others first */
	add_check(traps[0]);
	add_nops(2);
	add_check(traps[1]);
	add_code("\xc3", 1);
	return vm.n_code - 8;
}

static void a_trap_is_known_behind_many_other_callees(void **state)
{
	uint32_t between = add_code_between_checks(9);
	struct hotspot_flow *flow = flow_of_code();

	(void)state;
	assert_non_null(flow);
	assert_true(is_inner(flow, between));
	hotspot_flow_free(flow);
}

static void without_steps_left_there_are_fewer_methods(void **state)
{
	uint32_t between = add_code_between_checks(0), work = HOTSPOT_FLOW_WORK, n_steps;
	struct hotspot_flow *all = flow_with_steps(&work);

	(void)state;
	assert_non_null(all);
	assert_true(is_inner(all, between));
	n_steps = HOTSPOT_FLOW_WORK - work;
	assert_in_range(n_steps, vm.n_code / 6, 4096);
	for (uint32_t n = 0; n <= n_steps; n++) {
		struct hotspot_flow *flow;

		work = n;
		flow = flow_with_steps(&work);
		assert_true(work <= n);
		assert_true(flow || n < n_steps);
		for (uint32_t off = 0; flow && off < vm.n_code; off++)
			assert_true(!is_inner(flow, off) || is_inner(all, off));
		hotspot_flow_free(flow);
	}
	hotspot_flow_free(all);
}

static void tables_that_are_not_sound_are_refused(void **state)
{
	uint32_t traps[2];

	(void)state;
	add_traps(traps, TRAP + 0x80);
	add_code("\xc3", 1);
	put_word(METADATA, INNER); /* the outermost method is another one */
	assert_null(flow_of_code());
	put_word(METADATA, OUTER);
	vm.tables[SCOPES - TABLES + 2 + 3] = 3; /* beyond the list of methods */
	assert_null(flow_of_code());
}

static void code_that_cannot_be_read_has_no_ways(void **state)
{
	(void)state;
	add_code("\x0f\xff\x06\x06", 4);
	assert_null(flow_of_code());
	vm.n_code = 0;
	assert_null(flow_of_code());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(code_between_two_checks_of_a_method_is_its_own, make_vm),
		cmocka_unit_test_setup(a_jump_to_other_calls_is_no_check, make_vm),
		cmocka_unit_test_setup(a_method_that_begins_again_may_have_ended, make_vm),
		cmocka_unit_test_setup(code_that_lies_between_two_checks_by_chance_is_not_theirs,
				       make_vm),
		cmocka_unit_test_setup(code_that_is_reached_from_elsewhere_has_what_all_ways_have,
				       make_vm),
		cmocka_unit_test_setup(a_trap_is_known_behind_many_other_callees, make_vm),
		cmocka_unit_test_setup(without_steps_left_there_are_fewer_methods, make_vm),
		cmocka_unit_test_setup(tables_that_are_not_sound_are_refused, make_vm),
		cmocka_unit_test_setup(code_that_cannot_be_read_has_no_ways, make_vm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
