/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of the memory of processes with Java or JavaScript: their budget, and reads that fail. */
#include "unit.h"

#include <string.h>

#include "base/clock.h"
#include "lang/hotspot.h"
#include "lang/v8.h"
#include "pipeline/java_process.h"
#include "pipeline/v8_process.h"

static uint32_t n_reads;

static bool read_endless(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context, (void)addr;
	n_reads++;
	memset(out, 1, size);
	return true;
}

static const struct lang_memory endless = { read_endless, NULL };

static void reads_of_a_java_process_have_a_budget(void **state)
{
	struct java_process *p = java_process_new(1, &endless);
	struct hotspot_blob blob;

	(void)state;
	p->vm = (struct hotspot){ .memory = java_process_memory(p),
				  .heaps = { { 0x1000, 0x100000, 0x2000, 7 } },
				  .n_heaps = 1 };
	p->n_reads = 3;
	n_reads = 0;
	assert_false(hotspot_find_blob(&p->vm, 0x80000, &blob));
	assert_int_equal(n_reads, 3);
	assert_true(!java_process_blob(p, 0x80000, 1) && !p->is_gone);
	java_process_free(p);
}

static struct v8_process *v8_process(const struct lang_memory *memory)
{
	static const struct lang_runtime runtime;
	struct v8_process *p = v8_process_new(1, memory);

	v8_process_open(p, "/absent", &runtime);
	return p;
}

static void large_reads_cost_more_of_the_budget(void **state)
{
	static uint8_t bytes[64 << 10];
	struct v8_process *p = v8_process(&endless);

	(void)state;
	n_reads = 0;
	p->n_reads = 40;
	assert_true(lang_read(&p->v8.memory, 0, bytes, sizeof(bytes)));
	assert_int_equal(p->n_reads, 7);
	assert_false(lang_read(&p->v8.memory, 0, bytes, sizeof(bytes)));
	assert_false(lang_read(&p->v8.memory, 0, bytes, 1));
	assert_int_equal(n_reads, 1);
	v8_process_free(p);
}

static void a_version_of_v8_that_is_not_known_opens_no_process(void **state)
{
	const struct lang_runtime known = { .version = 13 << 8 | 6 },
				  unknown = { .version = 99 << 8 };
	struct v8_process *p = v8_process_new(1, &endless);

	(void)state;
	v8_process_open(p, "/absent", &unknown);
	assert_int_equal(p->state, V8_BARRED);
	v8_process_open(p, "/absent", &known);
	assert_int_equal(p->state, V8_READY);
	v8_process_free(p);
}

static void an_address_in_no_code_is_not_searched_again_at_once(void **state)
{
	struct v8_process *p = v8_process(&endless);
	uint64_t start_ns = clock_monotonic_ns();

	(void)state;
	p->n_reads = 8000;
	n_reads = 0;
	assert_null(v8_process_code(p, 0x7f0000080000, 0x7f0000000000, 1));
	assert_true(n_reads > 64);
	n_reads = 0;
	assert_null(v8_process_code(p, 0x7f0000080000, 0x7f0000000000, 1));
	if (clock_monotonic_ns() - start_ns < 200 * NS_PER_MS) /* this machine is in time */
		assert_int_equal(n_reads, 0);
	v8_process_free(p);
}

/* ---- code of Java that is known ---- */

#define HEAP     0x10000
#define SEGMENTS 0x20000
#define BLOB     (HEAP + 16)
#define BLOB_END (HEAP + 0x100)
#define NAME_AT  0x80
#define ID_AT    0x60

/* A heap with one compiled method. */
static uint8_t heap[0x100];

static bool read_heap(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (addr == SEGMENTS || addr == SEGMENTS + 1) { /* how far back the block begins */
		*(uint8_t *)out = (uint8_t)(addr - SEGMENTS);
		return size == 1;
	}
	if (addr < HEAP || addr - HEAP > sizeof(heap) - size)
		return false;
	memcpy(out, heap + (addr - HEAP), size);
	return true;
}

static void set_in_heap(uint64_t addr, uint64_t value, size_t size)
{
	memcpy(heap + (addr - HEAP), &value, size);
}

static struct hotspot heap_of_17(const struct lang_memory *memory)
{
	memset(heap, 0, sizeof(heap));
	set_in_heap(HEAP, 2, 4); /* segments */
	set_in_heap(HEAP + 8, 1, 1);
	set_in_heap(BLOB + 8, BLOB + NAME_AT, 8);
	set_in_heap(BLOB + 16, 4, 4);
	set_in_heap(BLOB + 24, BLOB + 0xa0, 8);
	set_in_heap(BLOB + 32, BLOB_END, 8);
	set_in_heap(BLOB + 40, 0x1234, 8);
	set_in_heap(BLOB + 48, BLOB + 0x10, 8);
	set_in_heap(BLOB + ID_AT, 7, 4);
	memcpy(heap + 16 + NAME_AT, "native nmethod", sizeof("native nmethod"));
	return (struct hotspot){ .memory = *memory,
				 .version = 17 << 8,
				 .heaps = { { HEAP, BLOB_END, SEGMENTS, 7 } },
				 .n_heaps = 1,
				 .fields = { [CODE_HEAPS] = HEAP,
					     [BLOCK_SIZE] = 16,
					     [BLOCK_USED] = 8,
					     [BLOB_NAME] = 8,
					     [BLOB_FRAME_SIZE] = 16,
					     [BLOB_COMPLETE] = 20,
					     [BLOB_CODE] = 24,
					     [BLOB_CODE_END] = 32,
					     [NMETHOD_METHOD] = 40,
					     [NMETHOD_SCOPES] = 48,
					     [NMETHOD_ID] = ID_AT } };
}

static const struct lang_memory heap_memory = { read_heap, NULL };

static bool is_still(const struct hotspot *h, const struct hotspot_blob *blob)
{
	struct lang_range range = hotspot_blob_range(h, blob);
	uint8_t bytes[HOTSPOT_BLOB_BYTES_MAX];

	assert_int_equal(lang_read_many(&h->memory, &range, 1, bytes), 1);
	return hotspot_is_blob(h, blob, bytes);
}

static void a_blob_is_the_same_as_long_as_its_identity_is(void **state)
{
	struct hotspot h = heap_of_17(&heap_memory);
	struct hotspot_blob blob;

	(void)state;
	assert_true(hotspot_find_blob(&h, BLOB + 0xa4, &blob) && blob.kind == HOTSPOT_NATIVE);
	assert_true(is_still(&h, &blob));
	set_in_heap(BLOB + 56, 99, 8); /* no field of its identity */
	assert_true(is_still(&h, &blob));
	set_in_heap(BLOB + ID_AT, 8, 4);
	assert_false(is_still(&h, &blob));
	set_in_heap(BLOB + ID_AT, 7, 4);
	set_in_heap(HEAP + 8, 0, 1); /* the block is free */
	assert_false(is_still(&h, &blob));
}

static void code_in_use_is_looked_at_once_for_all_samples_before(void **state)
{
	struct java_process *p = java_process_new(1, &heap_memory);
	struct lang_memory own = java_process_memory(p);
	struct java_blob *blob;
	uint64_t now_ns;

	(void)state;
	p->vm = heap_of_17(&own);
	p->state = JAVA_READY;
	p->n_reads = 100;
	blob = java_process_blob(p, BLOB + 0xa4, 1);
	assert_non_null(blob);
	now_ns = clock_monotonic_ns();
	p->n_reads = 0; /* a walk that is only a try */
	assert_true(java_process_blob(p, BLOB + 0xa4, now_ns) == NULL && p->lacks_reads);
	assert_false(blob->is_dead);
	p->n_reads = 1;
	java_process_look_at_code(p, now_ns);
	assert_int_equal(p->n_reads, 0);
	assert_ptr_equal(java_process_blob(p, BLOB + 0xa4, now_ns), blob);
	set_in_heap(BLOB + ID_AT, 8, 4);
	now_ns = clock_monotonic_ns();
	p->n_reads = 100;
	java_process_look_at_code(p, now_ns);
	assert_null(java_process_blob(p, BLOB + 0xa4, now_ns));
	assert_true(blob->is_dead);
	java_process_free(p);
}

/* The likeliest way out of code of a stub, at an offset. */
static enum hotspot_way way_of_stub(uint64_t off)
{
	static const uint8_t code[] = { 0x55, 0x48, 0x8b, 0xec, 0x48, 0x83, 0xec,
					0x20, 0x90, 0xc9, 0xc3, 0x90, 0x90 };
	struct hotspot h = heap_of_17(&heap_memory);
	const struct hotspot_blob blob = { .kind = HOTSPOT_STUBS,
					   .code = HEAP + 0x40,
					   .code_end = BLOB_END };
	struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX];

	memcpy(heap + 0x40, code, sizeof(code));
	assert_int_equal(hotspot_leaves(&h, &blob, blob.code + off, true, leaves), 3);
	return leaves[0].way;
}

static void a_stub_with_a_frame_is_left_by_its_frame_pointer_first(void **state)
{
	(void)state;
	assert_int_equal(way_of_stub(0), HOTSPOT_AT_TOP);
	assert_int_equal(way_of_stub(4), HOTSPOT_BY_FP);
	assert_int_equal(way_of_stub(8), HOTSPOT_BY_FP);
	assert_int_equal(way_of_stub(10), HOTSPOT_AT_TOP); /* ret */
	assert_int_equal(way_of_stub(11), HOTSPOT_AT_TOP); /* other code behind it */
}

/* ---- lines ---- */

#define SCRIPT   0x10000
#define STRING   0x10100
#define MAP      0x10200
#define ONE_BYTE 8 /* the type of a string with its characters behind it */

static struct {
	uint8_t bytes[0x300];
	bool has_source;
} script;

static bool read_script(void *context, uint64_t addr, void *out, size_t size)
{
	(void)context;
	if (addr < SCRIPT || addr - SCRIPT > sizeof(script.bytes) - size ||
	    (addr == STRING + V8_ARRAY_DATA && !script.has_source))
		return false;
	memcpy(out, script.bytes + (addr - SCRIPT), size);
	return true;
}

static void set_word(uint64_t addr, uint64_t word)
{
	memcpy(script.bytes + (addr - SCRIPT), &word, sizeof(word));
}

static void a_source_that_could_not_be_read_is_read_for_the_next_function(void **state)
{
	static const char source[] = "a;\nb;\nc;";
	const struct lang_memory memory = { read_script, NULL };
	struct lang_runtime runtime = { .v8 = { .type_nonstring = 128, .script_source = 8 } };
	struct v8 v8;

	(void)state;
	set_word(SCRIPT + 8, STRING + 1);
	set_word(STRING, MAP + 1);
	set_word(STRING + 8, (uint64_t)strlen(source) << 32);
	memcpy(script.bytes + (STRING + V8_ARRAY_DATA - SCRIPT), source, sizeof(source));
	set_word(MAP + V8_MAP_TYPE, ONE_BYTE);
	v8_init(&v8, &memory, &runtime);
	assert_int_equal(v8_line_in(&v8, SCRIPT + 1, 4), 0);
	script.has_source = true;
	assert_int_equal(v8_line_in(&v8, SCRIPT + 1, 4), 2);
	script.has_source = false; /* it is kept */
	assert_int_equal(v8_line_in(&v8, SCRIPT + 1, 7), 3);
	v8_fini(&v8);
}

static void an_object_that_was_moved_is_followed_to_its_new_place(void **state)
{
	const struct lang_memory memory = { read_script, NULL };
	const struct lang_runtime runtime = { 0 };
	struct v8 v8;

	(void)state;
	v8_init(&v8, &memory, &runtime);
	set_word(SCRIPT, STRING); /* the collector's mark: an address without a tag */
	set_word(STRING, MAP + 1);
	assert_int_equal(v8_moved(&v8, SCRIPT + 1), STRING + 1);
	assert_int_equal(v8_moved(&v8, STRING + 1), STRING + 1);
	set_word(SCRIPT, 3 * 8 + 4);
	assert_int_equal(v8_moved(&v8, SCRIPT + 1), SCRIPT + 1);
	v8_fini(&v8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_of_a_java_process_have_a_budget),
		cmocka_unit_test(large_reads_cost_more_of_the_budget),
		cmocka_unit_test(a_blob_is_the_same_as_long_as_its_identity_is),
		cmocka_unit_test(a_stub_with_a_frame_is_left_by_its_frame_pointer_first),
		cmocka_unit_test(code_in_use_is_looked_at_once_for_all_samples_before),
		cmocka_unit_test(a_version_of_v8_that_is_not_known_opens_no_process),
		cmocka_unit_test(an_address_in_no_code_is_not_searched_again_at_once),
		cmocka_unit_test(an_object_that_was_moved_is_followed_to_its_new_place),
		cmocka_unit_test(a_source_that_could_not_be_read_is_read_for_the_next_function),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
