/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From bytecode to its function when the collector has moved the closure: over a few objects. */
#include "unit.h"

#include <string.h>

#include "base/clock.h"
#include "pipeline/v8_process.h"

#define HEAP 0x10000
#define MAPS 0x14000 /* of type n: 16 n bytes further */

enum { STRING = 8, TYPE_SHARED = 200, TYPE_SCRIPT, TYPE_BYTECODE, TYPE_CODE, TYPE_FUNCTION };

/* Objects, 128 bytes each. */
enum { NAME, SCRIPT, LIST, OUTER, INNER, OF_OUTER, OF_INNER, OF_NONE, CONSTANTS, GONE };

static uint8_t heap[0x8000];

static bool read_heap(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (addr < HEAP || addr - HEAP > sizeof(heap) - size)
		return false;
	memcpy(out, heap + (addr - HEAP), size);
	return true;
}

static uint64_t pointer_to(int object)
{
	return HEAP + 128 * (uint64_t)object + 1;
}

static void set_field(int object, uint32_t off, uint64_t word)
{
	memcpy(heap + (pointer_to(object) - 1 - HEAP) + off, &word, sizeof(word));
}

static void set_type(int object, uint16_t type)
{
	uint64_t map = MAPS + 16 * (uint64_t)type;

	memcpy(heap + (map - HEAP) + V8_MAP_TYPE, &type, sizeof(type));
	set_field(object, 0, map + 1);
}

static void make_function(int shared, int bytecode)
{
	set_type(shared, TYPE_SHARED);
	set_type(bytecode, TYPE_BYTECODE);
	set_field(shared, 8, pointer_to(bytecode));
	set_field(shared, 16, pointer_to(NAME));
	set_field(shared, 24, pointer_to(SCRIPT));
}

/* A script with the functions OUTER and INNER; and bytecode of neither. */
static struct v8_process *make_world(void)
{
	static const struct lang_memory memory = { read_heap, NULL };
	static const struct lang_runtime runtime = { .version = 11 << 8 | 3,
						     .v8 = { .type_nonstring = 128,
							     .type_shared = TYPE_SHARED,
							     .type_script = TYPE_SCRIPT,
							     .type_bytecode = TYPE_BYTECODE,
							     .type_code = TYPE_CODE,
							     .type_function = TYPE_FUNCTION,
							     .type_functions = 1,
							     .type_scope = 250,
							     .type_bytes = 251,
							     .shared_data = 8,
							     .shared_name = 16,
							     .shared_script = 24,
							     .script_name = 16,
							     .script_functions = 40,
							     .code_data = 8,
							     .function_shared = 24,
							     .function_code = 48 } };
	struct v8_process *p = v8_process_new(1, &memory);

	memset(heap, 0, sizeof(heap));
	set_type(NAME, STRING);
	set_field(NAME, V8_ARRAY_COUNT, (uint64_t)1 << 32);
	set_field(NAME, V8_ARRAY_DATA, 'f');
	set_type(SCRIPT, TYPE_SCRIPT);
	set_field(SCRIPT, 16, pointer_to(NAME));
	set_field(SCRIPT, 40, pointer_to(LIST));
	set_field(LIST, V8_ARRAY_COUNT, (uint64_t)2 << 32);
	set_field(LIST, V8_ARRAY_DATA, pointer_to(OUTER) + 2); /* weak */
	set_field(LIST, V8_ARRAY_DATA + 8, pointer_to(INNER) + 2);
	make_function(OUTER, OF_OUTER);
	make_function(INNER, OF_INNER);
	set_type(OF_NONE, TYPE_BYTECODE);
	p->alive_at = HEAP;
	v8_process_open(p, "/proc", &runtime);
	p->n_reads = 8000;
	return p;
}

static bool learn_nothing(void *context, int32_t pid, const struct lang_code *code)
{
	(void)context, (void)pid, (void)code;
	return true;
}

static uint64_t function_of(struct v8_process *p, int bytecode, uint64_t time_ns)
{
	return v8_process_function(p, pointer_to(bytecode), pointer_to(GONE), time_ns);
}

static void a_script_that_becomes_known_names_bytecode_of_earlier_samples(void **state)
{
	struct v8_process *p = make_world();
	uint64_t time_ns = clock_monotonic_ns();

	(void)state;
	assert_int_equal(function_of(p, OF_INNER, time_ns), 0);
	assert_int_equal(function_of(p, OF_NONE, time_ns), 0);
	assert_non_null(
		v8_process_known(p, pointer_to(OUTER), clock_monotonic_ns(), learn_nothing, NULL));
	assert_int_equal(function_of(p, OF_INNER, time_ns), pointer_to(INNER));
	assert_int_equal(function_of(p, OF_NONE, time_ns), 0);
	v8_process_free(p);
}

static void bytecode_that_makes_functions_leads_to_their_script(void **state)
{
	struct v8_process *p = make_world();

	(void)state;
	set_field(OF_OUTER, 16, pointer_to(CONSTANTS));
	set_field(OF_NONE, 16, pointer_to(CONSTANTS));
	set_field(CONSTANTS, V8_ARRAY_COUNT, (uint64_t)2 << 32);
	set_field(CONSTANTS, V8_ARRAY_DATA, pointer_to(NAME));
	set_field(CONSTANTS, V8_ARRAY_DATA + 8, pointer_to(INNER));
	assert_int_equal(function_of(p, OF_OUTER, clock_monotonic_ns()), pointer_to(OUTER));
	/* That has the same functions, but is of no function of the script. */
	assert_int_equal(function_of(p, OF_NONE, clock_monotonic_ns()), 0);
	v8_process_free(p);
}

static void constants_of_any_number_do_no_harm(void **state)
{
	struct v8_process *p = make_world();

	(void)state;
	set_field(OF_NONE, 16, pointer_to(CONSTANTS));
	set_field(CONSTANTS, V8_ARRAY_COUNT, UINT64_MAX);
	assert_int_equal(function_of(p, OF_NONE, clock_monotonic_ns()), 0);
	set_field(OF_INNER, 16, MAPS + sizeof(heap) + 1);
	assert_int_equal(function_of(p, OF_INNER, clock_monotonic_ns()), 0);
	v8_process_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_script_that_becomes_known_names_bytecode_of_earlier_samples),
		cmocka_unit_test(bytecode_that_makes_functions_leads_to_their_script),
		cmocka_unit_test(constants_of_any_number_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
