/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Java and JavaScript of threads that were frozen: tests/data/frozen/LANGUAGE-*.stack has
 * the memory that a walk of one stack reads, for a version of HotSpot or V8. So every machine tests
 * every version.
 *
 *   test_jit_stacks --freeze PID TID [BYTES]     stops a thread in such code and writes a file with
 *                                                so much of its stack; as root
 *
 * A file has lines of words. Numbers are hexadecimal. Of HotSpot's table of fields, it has those
 * of some types alone.
 *
 *   runtime BYTES             struct lang_runtime
 *   mapping START END OFF PATH
 *   register NUMBER VALUE     by perf's numbers
 *   stack ADDRESS BYTES
 *   memory ADDRESS BYTES
 *   frame NAME | FILE:LINE    what the walk must find, innermost first
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/mem.h"
#include "freeze_stack.h"
#include "frozen_stacks.h"
#include "lang/hotspot.h"
#include "lang/language.h"
#include "machine/address_space.h"

static void check_stack(const char *path, const struct buf *expected)
{
	struct buf got = { 0 }, wanted = { 0 };

	buf_bytes(&wanted, expected->data, expected->len);
	walk_frozen(&got);
	if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
		print_message("%s:\n", path);
	assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
	for (int i = LOSS_JAVA_STATE; i <= LOSS_JAVASCRIPT_COLLECTOR; i++) {
		if (frozen.losses[i])
			print_message("%s: %s\n", path, loss_texts[i].key);
		assert_int_equal(frozen.losses[i], 0);
	}
	buf_fini(&got);
	buf_fini(&wanted);
}

static void a_frozen_stack_has_its_frames(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_stack);
}

/* A walk ends, and reads within its bounds, whatever the memory has. */
static void check_damaged(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	uint32_t random = 1;

	(void)path, (void)expected;
	for (int round = 0; round < 50; round++) {
		vec_foreach (&frozen.memory, p)
			for (size_t i = 0; i < p->size; i++) {
				random = random * 1664525 + 1013904223;
				if (random >> 20 < 2)
					p->bytes[i] = (uint8_t)(random >> 8);
			}
		got.len = 0;
		frozen.codes.n = 0;
		walk_frozen(&got);
		assert_null(strstr(buf_cstr(&got), "frame ?"));
	}
	buf_fini(&got);
}

static void a_damaged_stack_does_no_harm(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_damaged);
}

#define READS_MAX 8000

/* Wherever the reads of a walk end, the next one has all frames. */
static void check_few_reads(const char *path, const struct buf *expected)
{
	struct buf got = { 0 }, wanted = { 0 };
	uint32_t n_short = 0;

	buf_bytes(&wanted, expected->data, expected->len);
	for (uint32_t few = 0; few < 250; few += 3) {
		uint32_t n_reads = few;
		struct walker w = walker_new(&n_reads);

		if (frozen.runtime.language == LANGUAGE_JAVASCRIPT)
			walk_thread(w.machine, w.stacks, &got);
		got.len = 0;
		walk_thread(w.machine, w.stacks, &got);
		n_short += strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0;
		got.len = 0;
		n_reads = READS_MAX;
		walk_thread(w.machine, w.stacks, &got);
		if (strcmp(buf_cstr(&got), buf_cstr(&wanted)) != 0)
			print_message("%s: after %u reads\n", path, few);
		assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
		walker_free(&w);
	}
	assert_true(n_short > 0);
	buf_fini(&got);
	buf_fini(&wanted);
}

#define SHORTER (8 * 37)
/* Copies that end before the stack does: each frame of Java that lacks words is one of these. */
static void check_short(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	bool was_short = false;

	(void)expected;
	while (frozen.stack.size > SHORTER) {
		frozen.stack.size -= SHORTER;
		got.len = 0;
		frozen.codes.n = 0;
		walk_frozen(&got);
		if (frozen.cut == LOSS_JAVA_FRAME)
			print_message("%s: %zu bytes\n", path, frozen.stack.size);
		assert_int_not_equal(frozen.cut, LOSS_JAVA_FRAME);
		was_short |= frozen.cut == LOSS_STACK_SHORT;
	}
	assert_true(was_short);
	buf_fini(&got);
}

static void a_frame_of_java_behind_the_copys_end_is_a_short_stack(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_short);
}

static void a_walk_without_reads_leaves_no_gap_in_the_next(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_few_reads);
}

/* The sampler sends a stack for a table first, and later those for their code. */
static void check_copies(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct buf got = { 0 };
	bool is_v8 = frozen.runtime.language == LANGUAGE_JAVASCRIPT;

	(void)path;
	walk_copy(&w, 0, &got);
	assert_int_equal(got.len, 0);
	walk_copy(&w, 1, &got);
	assert_int_equal(frozen.losses[LOSS_JAVASCRIPT_EARLY], is_v8);
	walk_copy(&w, 1, &got);
	assert_int_equal(got.len, expected->len);
	assert_memory_equal(got.data, expected->data, got.len);
	user_stacks_charge(w.stacks, 0, UINT64_MAX / 2);
	walk_copy(&w, UINT64_MAX, &got); /* what was known then may be other code now */
	assert_int_equal(frozen.losses[LOSS_JAVASCRIPT_STATE], is_v8);
	assert_true(is_v8 || frozen.cut == LOSS_JAVA_STATE);
	walker_free(&w);
	buf_fini(&got);
}

static void copies_have_a_limit_of_time(void **state)
{
	(void)state;
	each_frozen_file("*.stack", check_copies);
}

/* The first walk learns the code. A second one of the same time has nothing to learn. */
static void check_learning(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct buf got = { 0 };

	(void)path;
	for (int round = 0; round < 2; round++) {
		got.len = 0;
		walk_copy(&w, 1, &got);
		assert_int_equal(user_stacks_n_learnt(w.stacks), 1);
		assert_int_equal(got.len, expected->len);
	}
	walker_free(&w);
	buf_fini(&got);
}

static void known_code_of_java_is_not_learnt_again(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_learning);
}

/* A process that moves its library, or runs another program, does not get a second one at once. */
static void check_turns(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct buf got = { 0 };
	uint64_t start_ns = clock_monotonic_ns();

	(void)path, (void)expected;
	walk_thread(w.machine, w.stacks, &got);
	assert_true(got.len > 0);
	got.len = 0;
	java_stacks_forget(w.java, FROZEN_PID);
	walk_thread(w.machine, w.stacks, &got);
	if (clock_monotonic_ns() - start_ns < 200 * NS_PER_MS) { /* this machine is in time */
		assert_int_equal(got.len, 0);
		assert_int_equal(frozen.losses[LOSS_JAVA_EARLY], 1);
	}
	buf_fini(&got);
	walker_free(&w);
}

static void virtual_machines_are_opened_in_turn(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_turns);
}

static void check_forgotten(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct buf got = { 0 }, wanted = { 0 };

	(void)path;
	buf_bytes(&wanted, expected->data, expected->len);
	for (uint64_t round = 1; round <= 2; round++) {
		got.len = 0;
		walk_thread(w.machine, w.stacks, &got);
		assert_int_equal(frozen.losses[LOSS_JAVASCRIPT_EARLY], round);
		walk_thread(w.machine, w.stacks, &got);
		assert_string_equal(buf_cstr(&got), buf_cstr(&wanted));
		v8_stacks_forget_all(w.v8);
	}
	buf_fini(&got);
	buf_fini(&wanted);
	walker_free(&w);
}

static void javascript_that_was_forgotten_is_found_again(void **state)
{
	(void)state;
	each_frozen_file("javascript-*.stack", check_forgotten);
}

/* The unwinder keeps the place of an address, but not an unsettled one. */
static void check_unsettled(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct thread_view thread = machine_thread(w.machine, FROZEN_PID, FROZEN_PID);
	const struct mapping *m;
	uint64_t addr = 0;

	(void)path, (void)expected;
	while ((m = machine_next_mapping(w.machine, &thread, addr)) && m->is_absolute)
		addr = m->end;
	assert_non_null(m);
	assert_false(v8_stacks_begin(w.v8, FROZEN_PID, &thread, 1, frozen.registers));
	for (int i = 0; i < 2; i++) {
		uint64_t start = m->start, end = m->end;

		assert_int_equal(v8_stacks_place(w.v8, m, start, &start, &end), V8_UNSETTLED);
	}
	walker_free(&w);
}

static void the_walk_that_meets_v8_settles_no_place(void **state)
{
	(void)state;
	each_frozen_file("javascript-*.stack", check_unsettled);
}

static uint64_t base_of_library(void)
{
	const struct frozen_mapping *m = frozen.mappings.data;

	while (!strstr(m->path, "libjvm"))
		m++;
	return m->start - m->off;
}

/* The piece with the number of a version, by the address in the table of fields. */
static struct piece *version_of(void)
{
	struct hotspot h;

	assert_int_equal(hotspot_open(&h, &frozen_memory, &frozen.runtime, base_of_library()),
			 HOTSPOT_READY);
	vec_foreach (&frozen.memory, p)
		if (p->addr == h.fields[VM_MAJOR] && p->size == sizeof(uint32_t))
			return p;
	fail();
	return NULL;
}

static void check_other_version(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	(void)path, (void)expected;
	version_of()->bytes[0] = 99;
	walk_frozen(&got);
	assert_int_equal(got.len, 0);
	assert_int_equal(frozen.losses[LOSS_JAVA_VERSION], 1);
	buf_fini(&got);
}

static void a_version_that_is_not_known_is_refused_and_counted(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_other_version);
}

/* Changes the list of each class, so that it has none of the methods that the stack has. */
static void hide_methods(void)
{
	vec_foreach (&frozen.memory, p)
		if (p->size % 8 == 0 && p->size <= 256 * 8)
			for (size_t i = 0; i < p->size; i += 8)
				vec_foreach (&frozen.codes, c)
					if (!memcmp(p->bytes + i, &c->pointer, 8))
						p->bytes[i] ^= 8;
	frozen.codes.n = 0;
}

/* A method that its class does not list has no name. An interpreted one ends the stack. */
static void check_without_methods(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	(void)expected;
	hide_methods();
	walk_frozen(&got);
	assert_null(strstr(buf_cstr(&got), ".java"));
	vec_foreach (&frozen.codes, c)
		assert_int_equal(c->scope.size, 0); /* stubs alone */
	if (strstr(path, "-xint") || strstr(path, "-interpreted")) {
		assert_int_equal(frozen.cut, LOSS_JAVA_FRAME);
		assert_string_equal(buf_cstr(&got), "frame Interpreter | :0\n");
	} else {
		assert_int_equal(frozen.losses[LOSS_JAVA_NAME], 1);
	}
	buf_fini(&got);
}

static void walk_then_hide_methods(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };

	walk_frozen(&got);
	buf_fini(&got);
	check_without_methods(path, expected);
}

static void nothing_is_a_method_that_its_class_does_not_list(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", walk_then_hide_methods);
}

static uint32_t count_frames(const struct buf *frames)
{
	uint32_t n = 0;

	for (size_t i = 0; i < frames->len; i++)
		n += ((const char *)frames->data)[i] == '\n';
	return n;
}

static uint64_t losses_of_javascript(void)
{
	uint64_t n = 0;

	for (int i = LOSS_JAVASCRIPT_STATE; i <= LOSS_JAVASCRIPT_COLLECTOR; i++)
		n += frozen.losses[i];
	return n;
}

/* A part of memory that can't be read leaves no frame out without a count. */
static void check_holes(const char *path, const struct buf *expected)
{
	vec_foreach (&frozen.memory, p) {
		struct walker w = walker_new(NULL);
		struct buf got = { 0 };
		uint64_t addr = p->addr;

		p->addr = 1;
		walk_thread(w.machine, w.stacks, &got);
		memset(frozen.losses, 0, sizeof(frozen.losses));
		walk_thread(w.machine, w.stacks, &got);
		if (!losses_of_javascript() && count_frames(&got) != count_frames(expected))
			fail_msg("%s: without %llx", path, (unsigned long long)addr);
		p->addr = addr;
		buf_fini(&got);
		walker_free(&w);
	}
}

static void functions_that_cannot_be_read_are_counted(void **state)
{
	(void)state;
	each_frozen_file("javascript-*-inlined.stack", check_holes);
}

/* The word of the stack at an address. */
static uint64_t *stack_word(uint64_t addr)
{
	assert_true(addr >= frozen.stack.addr && addr - frozen.stack.addr < frozen.stack.size - 7);
	return (uint64_t *)(void *)(frozen.stack.bytes + (addr - frozen.stack.addr));
}

/* The method at the frame pointer has called another one, which is half made. */
static void check_half_made(const char *path, const struct buf *expected)
{
	uint64_t fp = frozen.registers[REGISTER_BP], last_sp = frozen.registers[REGISTER_SP] + 64;
	const char *name = strrchr(path, '/');
	bool is_relative = strstr(name, "-21") || strstr(name, "-25");
	uint64_t *word = stack_word(fp + (uint64_t)((int64_t)HOTSPOT_LAST_SP_AT * 8));
	struct buf got = { 0 }, wanted = { 0 };

	buf_bytes(&wanted, expected->data, expected->len);
	*word = is_relative ? (uint64_t)((int64_t)(last_sp - fp) / 8) : last_sp;
	frozen.registers[REGISTER_R13] = last_sp + 8; /* compiled code called it */
	walk_frozen(&got);
	assert_string_equal(buf_cstr(&got), "frame Interpreter | :0\n");
	assert_int_equal(frozen.cut, LOSS_JAVA_FRAME);
	got.len = 0;
	frozen.registers[REGISTER_R13] = last_sp; /* the method itself did */
	walk_frozen(&got);
	/* it is at the call, and not where the register of a running method says */
	assert_string_equal(strchr(buf_cstr(&got), '\n'), strchr(buf_cstr(&wanted), '\n'));
	buf_fini(&got);
	buf_fini(&wanted);
}

/* Leaves out the words of the stack below an address. */
static void raise_stack(uint64_t sp)
{
	uint64_t n = sp - frozen.stack.addr;

	assert_true(n < frozen.stack.size);
	frozen.stack.size -= n;
	memmove(frozen.stack.bytes, frozen.stack.bytes + n, frozen.stack.size);
	frozen.stack.addr = frozen.registers[REGISTER_SP] = sp;
}

/* The frame at the frame pointer has its first words alone. */
static void check_being_made(const char *path, const struct buf *expected)
{
	uint64_t fp = frozen.registers[REGISTER_BP];
	uint64_t method = *stack_word(fp + (uint64_t)((int64_t)HOTSPOT_METHOD_AT * 8));
	struct buf got = { 0 }, wanted = { 0 };
	size_t n_name;

	(void)path;
	buf_bytes(&wanted, expected->data, expected->len);
	n_name = strcspn(buf_cstr(&wanted), "|");
	for (uint64_t words = 7; words-- > 0;) {
		bool has_method = words >= (uint64_t)-HOTSPOT_METHOD_AT;

		raise_stack(fp - words * 8);
		frozen.registers[REGISTER_BX] = has_method ? 0 : method;
		got.len = 0;
		walk_frozen(&got);
		assert_memory_equal(buf_cstr(&got), wanted.data, n_name);
		assert_string_equal(strchr(buf_cstr(&got), '\n'), strchr(buf_cstr(&wanted), '\n'));
	}
	frozen.registers[REGISTER_BX] = method + 8;
	got.len = 0;
	walk_frozen(&got);
	assert_string_equal(buf_cstr(&got), "frame Interpreter | :0\n");
	assert_int_equal(frozen.cut, LOSS_JAVA_FRAME);
	buf_fini(&got);
	buf_fini(&wanted);
}

static void a_frame_that_is_being_made_has_its_method_and_its_callers(void **state)
{
	(void)state;
	each_frozen_file("java-*-xint.stack", check_being_made);
}

/* One of its frames returns to the handler. */
static void check_deoptimised(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	struct hotspot_blob blob;
	struct hotspot h;
	uint32_t n = 0;

	(void)path, (void)expected;
	walk_frozen(&got);
	assert_int_equal(hotspot_open(&h, &frozen_memory, &frozen.runtime, base_of_library()),
			 HOTSPOT_READY);
	for (uint32_t i = 0; i < frozen.n; i++)
		n += hotspot_find_blob(&h, frozen.pcs[i], &blob) &&
		     hotspot_is_deoptimised(&blob, frozen.pcs[i]);
	assert_int_equal(n, 1);
	buf_fini(&got);
}

static void a_deoptimised_frame_has_its_methods(void **state)
{
	(void)state;
	each_frozen_file("java-*-deoptimised.stack", check_deoptimised);
}

/* Where the code that an address is in begins. */
static uint64_t start_of_code(uint64_t pc)
{
	const struct frozen_mapping *m = frozen.mappings.data;
	struct v8_code code;
	struct v8 v8;

	while (pc < m->start || pc >= m->end)
		m++;
	assert_true(v8_init(&v8, &frozen_memory, &frozen.runtime));
	assert_true(v8_find_code(&v8, pc, m->start, &code));
	v8_fini(&v8);
	return code.start;
}

/* The innermost function is only begun: its caller's frame is at the frame pointer. */
static void check_begun(const char *path, const struct buf *expected)
{
	static const uint8_t code[32] = { 0x90, 0x90, 0x90, 0x90, 0x55, 0x48, 0x89, 0xe5 };
	uint64_t fp = frozen.registers[REGISTER_BP], begun = fp + 8 - frozen.stack.addr;
	uint64_t start = start_of_code(frozen.registers[REGISTER_IP]);
	struct piece piece = { start, sizeof(code), xmalloc(sizeof(code)), true };
	struct buf got = { 0 };
	uint64_t caller;
	uint32_t n;

	(void)path, (void)expected;
	memcpy(piece.bytes, code, sizeof(code));
	vec_push(&frozen.memory, piece);
	walk_frozen(&got);
	n = frozen.n;
	caller = frozen.pcs[1];
	frozen.registers[REGISTER_IP] = start;
	frozen.registers[REGISTER_BP] = *stack_word(fp);
	frozen.registers[REGISTER_SP] = fp + 8;
	frozen.stack.size -= begun;
	memmove(frozen.stack.bytes, frozen.stack.bytes + begun, frozen.stack.size);
	frozen.stack.addr += begun;
	got.len = 0;
	walk_frozen(&got);
	assert_int_equal(frozen.n, n);
	assert_int_equal(frozen.pcs[1], caller);
	buf_fini(&got);
}

static void the_caller_of_javascript_that_is_only_begun_is_not_passed_over(void **state)
{
	(void)state;
	each_frozen_file("javascript-*-optimised.stack", check_begun);
}

static void a_half_made_frame_is_not_passed_over_with_its_caller(void **state)
{
	(void)state;
	each_frozen_file("java-*-xint.stack", check_half_made);
}

/* Java code calls Java code: a return address in a file is none of it. */
static void check_strange_caller(const char *path, const struct buf *expected)
{
	const struct frozen_mapping *file = frozen.mappings.data;
	struct buf got = { 0 };
	uint32_t n = 1;

	(void)path, (void)expected;
	while (file->path[1] == '/')
		file++;
	walk_frozen(&got);
	assert_true(frozen.n > 3);
	while (frozen.pcs[n] != frozen.pcs[2]) /* interpreted frames have one address */
		n++;
	for (size_t i = 0; i + 8 <= frozen.stack.size; i += 8)
		if (*stack_word(frozen.stack.addr + i) == frozen.pcs[2])
			*stack_word(frozen.stack.addr + i) = file->start + 64;
	walk_frozen(&got);
	assert_int_equal(frozen.cut, LOSS_JAVA_FRAME);
	assert_int_equal(frozen.n, n);
	buf_fini(&got);
}

static void the_callers_of_java_code_are_in_the_code_cache(void **state)
{
	(void)state;
	each_frozen_file("java-*.stack", check_strange_caller);
}

/* The text of a class's name in its symbol. */
static struct piece *name_of_class(void)
{
	static const char name[] = "golden";

	vec_foreach (&frozen.memory, p)
		if (p->size == strlen(name) && !memcmp(p->bytes, name, p->size))
			return p;
	fail();
	return NULL;
}

/* Another class with the same shape is in the place of one that was unloaded. */
static void check_other_class(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	struct buf got = { 0 };
	uint64_t middle_ns;

	(void)path, (void)expected;
	walk_thread(w.machine, w.stacks, &got);
	assert_non_null(strstr(buf_cstr(&got), "frame golden."));
	middle_ns = clock_monotonic_ns();
	name_of_class()->bytes[0] = 'G';
	for (int i = 0; i < 2; i++) { /* a sample of before, and one of now */
		got.len = 0;
		frozen.time_ns = i ? clock_monotonic_ns() : middle_ns;
		walk_thread(w.machine, w.stacks, &got);
		assert_null(strstr(buf_cstr(&got), "frame golden."));
		assert_true(!strstr(buf_cstr(&got), "frame Golden.") == !i);
	}
	buf_fini(&got);
	walker_free(&w);
}

static void a_class_in_the_place_of_another_has_its_own_name(void **state)
{
	(void)state;
	each_frozen_file("java-*-xint.stack", check_other_class);
	each_frozen_file("java-*-interpreted.stack", check_other_class);
}

/* Return addresses of AArch64 may have a signature above their 48 bits. */
static void check_signed(const char *path, const struct buf *expected)
{
	struct buf got = { 0 };
	uint32_t n_signed = 0;

	walk_frozen(&got);
	for (size_t i = 0; i + 8 <= frozen.stack.size; i += 8)
		for (uint32_t k = 1; k < frozen.n; k++)
			if (*stack_word(frozen.stack.addr + i) == frozen.pcs[k]) {
				*stack_word(frozen.stack.addr + i) |= 0x2bull << 48;
				n_signed++;
			}
	assert_true(n_signed > 2);
	frozen.registers[REGISTER_LR] |= 0x2bull << 48;
	frozen.codes.n = 0;
	check_stack(path, expected);
	buf_fini(&got);
}

static void signed_return_addresses_lead_to_the_same_frames(void **state)
{
	(void)state;
	each_frozen_file("java-*-aarch64*.stack", check_signed);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frozen_stack_has_its_frames),
		cmocka_unit_test(a_damaged_stack_does_no_harm),
		cmocka_unit_test(a_frame_of_java_behind_the_copys_end_is_a_short_stack),
		cmocka_unit_test(a_walk_without_reads_leaves_no_gap_in_the_next),
		cmocka_unit_test(copies_have_a_limit_of_time),
		cmocka_unit_test(known_code_of_java_is_not_learnt_again),
		cmocka_unit_test(virtual_machines_are_opened_in_turn),
		cmocka_unit_test(javascript_that_was_forgotten_is_found_again),
		cmocka_unit_test(the_walk_that_meets_v8_settles_no_place),
		cmocka_unit_test(a_version_that_is_not_known_is_refused_and_counted),
		cmocka_unit_test(nothing_is_a_method_that_its_class_does_not_list),
		cmocka_unit_test(functions_that_cannot_be_read_are_counted),
		cmocka_unit_test(a_half_made_frame_is_not_passed_over_with_its_caller),
		cmocka_unit_test(a_frame_that_is_being_made_has_its_method_and_its_callers),
		cmocka_unit_test(a_deoptimised_frame_has_its_methods),
		cmocka_unit_test(the_caller_of_javascript_that_is_only_begun_is_not_passed_over),
		cmocka_unit_test(the_callers_of_java_code_are_in_the_code_cache),
		cmocka_unit_test(a_class_in_the_place_of_another_has_its_own_name),
		cmocka_unit_test(signed_return_addresses_lead_to_the_same_frames),
	};

	if (argc >= 4 && !strcmp(argv[1], "--freeze"))
		return freeze(atoi(argv[2]), atoi(argv[3]),
			      argc > 4 ? (size_t)atoi(argv[4]) : STACK_BYTES);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
