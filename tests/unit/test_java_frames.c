/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers of Java's frames that the in-kernel sampler knows, and their quotas. */
#include "unit.h"

#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "record/java_frames.h"

#define PID_OF(process) ((int32_t)(process) + 100)

/* The sampler's side: the number of each living frame. */
static struct {
	struct intmap living; /* by the pc: the number's lower half */
	uint64_t n_set, n_dropped, last_number;
	bool has_no_names, is_refused;
	enum java_copy why; /* of the last call */
} told;

static uint64_t living_key(const struct java_key *key)
{
	return key->process << 40 | key->pc;
}

static bool set_frame(void *context, const struct java_key *key, const struct java_frame *frame)
{
	(void)context;
	assert_true(frame->number > 0 && frame->number < 1ULL << 62);
	if (!told.is_refused)
		*intmap_put(&told.living, living_key(key), NULL) = 1;
	told.last_number = frame->number;
	told.n_set += !told.is_refused;
	return !told.is_refused;
}

static void drop_frame(void *context, const struct java_key *key)
{
	(void)context;
	assert_true(intmap_remove(&told.living, living_key(key)));
	told.n_dropped++;
}

static bool place_frame(void *context, const struct lang_frame *frame, struct code_addr *code)
{
	(void)context;
	*code = (struct code_addr){ { 1 }, frame->pointer };
	return !told.has_no_names;
}

static struct java_frames *new_frames(void)
{
	const struct java_frames_config config = { set_frame, drop_frame, place_frame, NULL };

	intmap_fini(&told.living);
	memset(&told, 0, sizeof(told));
	return java_frames_new(&config);
}

/* Compiled code at `pc` with some inlined methods. Returns its number; 0: it got none. */
static uint64_t learn_of(struct java_frames *j, const struct java_life *life, uint64_t pc,
			 uint32_t n_methods)
{
	struct lang_frame methods[64];
	struct java_known known = { .key = { .pc = pc, .place = JAVA_BEHIND_CALL },
				    .frame = { .rule = { .cfa = UNWIND_CFA_SP, .off = 4 },
					       .flags = JAVA_IS_FRAME,
					       .n_proof = 1,
					       .proof = { { pc, KNOWN_ALL, 1 } } },
				    .methods = methods,
				    .n_methods = n_methods };
	uint64_t n_set;

	for (uint32_t i = 0; i < n_methods; i++)
		methods[i] = (struct lang_frame){ .pid = life->pid,
						  .pointer = life->process << 32 | pc | i };
	told.last_number = 0;
	n_set = told.n_set;
	told.why = java_frames_learn(j, life, &known, 0);
	assert_int_equal(told.why == JAVA_COPY_NEW, told.n_set > n_set);
	return told.last_number;
}

static uint64_t learn(struct java_frames *j, uint64_t process, uint64_t pc, uint32_t n_methods)
{
	return learn_of(j, &(struct java_life){ PID_OF(process), process, 0 }, pc, n_methods);
}

static bool is_found(struct java_frames *j, uint64_t process, uint64_t pc, uint64_t number)
{
	struct java_codes codes;

	if (!java_frames_find(j, PID_OF(process), pc, number, 0, &codes))
		return false;
	if (codes.n)
		assert_int_equal(codes.data[0].offset, process << 32 | pc);
	return true;
}

static void rounds(struct java_frames *j, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		java_frames_next_round(j);
}

static void a_frame_has_its_names_by_its_number(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t a = learn(j, 1, 0x1000, 2), b = learn(j, 1, 0x2000, 1), c = learn(j, 2, 0x1000, 1);

	(void)state;
	assert_true(a && b && c && a != b && a != c && b != c);
	assert_true(is_found(j, 1, 0x1000, a) && is_found(j, 1, 0x2000, b));
	assert_true(is_found(j, 2, 0x1000, c));
	/* of another process, at another address, and numbers that nobody has */
	assert_false(is_found(j, 2, 0x1000, a) || is_found(j, 1, 0x2000, a));
	assert_false(is_found(j, 1, 0x1000, 0) || is_found(j, 1, 0x1000, a + 100));
	assert_false(is_found(j, 1, 0x1000, UINT64_MAX));
	learn(j, 1, 0x1000, 2);
	assert_int_equal(told.why, JAVA_COPY_KNOWN);
	java_frames_free(j);
}

/* The sampler gets a frame once. Another content has another number. */
static void a_number_is_of_one_content(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t first, second;

	(void)state;
	told.is_refused = true;
	first = learn(j, 1, 0x1000, 2);
	told.is_refused = false;
	assert_int_equal(learn(j, 1, 0x1000, 2), first); /* once more, as it was refused */
	assert_int_equal(learn(j, 1, 0x1000, 2), 0);
	second = learn(j, 1, 0x1000, 3);
	assert_true(second && second != first);
	assert_int_equal(told.n_dropped, 1);
	assert_true(is_found(j, 1, 0x1000, first)); /* samples of before have it */
	java_frames_free(j);
}

static void names_that_are_gone_are_no_frames(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t number = learn(j, 1, 0x1000, 1);
	struct java_codes codes;

	(void)state;
	told.has_no_names = true;
	assert_true(is_found(j, 1, 0x1000, number)); /* it has its place in this session … */
	for (int i = 0; i < 2; i++) {                /* … and none in the next one */
		assert_false(java_frames_find(j, PID_OF(1), 0x1000, number, 1, &codes));
		assert_int_equal(told.n_dropped, 1);
	}
	assert_int_equal(learn(j, 1, 0x2000, 1), 0); /* the sampler does not get it */
	java_frames_free(j);
}

/* Names have a limit of their own. When they are forgotten, the sampler forgets its frames. */
static void frames_are_learnt_anew_when_names_were_forgotten(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t old = learn(j, 1, 0x1000, 2), new;

	(void)state;
	told.has_no_names = true;
	java_frames_forget_names(j);
	assert_int_equal(told.living.n, 0);
	assert_true(is_found(j, 1, 0x1000, old)); /* samples of before */
	told.has_no_names = false;
	new = learn(j, 1, 0x1000, 2);
	assert_true(new &&new != old);
	assert_true(is_found(j, 1, 0x1000, old) && is_found(j, 1, 0x1000, new));
	java_frames_free(j);
}

/* Returns how many numbers it got. */
static uint32_t flood(struct java_frames *j, uint64_t process, uint32_t n, uint32_t n_methods)
{
	uint32_t n_got = 0;

	for (uint32_t i = 0; i < n; i++)
		n_got += learn(j, process, 0x100000 + i * 64ULL, n_methods) != 0;
	return n_got;
}

static void a_process_does_not_take_the_numbers_of_another(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t quiet = learn(j, 1, 0x1000, 1), second;

	(void)state;
	assert_int_equal(flood(j, 2, 3 * JAVA_FRAMES_OF_PROCESS, 1), JAVA_FRAMES_OF_PROCESS);
	assert_int_equal(told.why, JAVA_COPY_FULL);
	assert_int_equal(told.n_dropped, 0);
	assert_true(is_found(j, 1, 0x1000, quiet));
	second = learn(j, 1, 0x2000, 1);
	assert_true(second && is_found(j, 1, 0x2000, second));
	assert_int_equal(flood(j, 2, 10, 1), 0);
	java_frames_free(j);
}

static void a_process_has_a_limit_of_bytes(void **state)
{
	struct java_frames *j = new_frames();
	uint32_t n = flood(j, 1, JAVA_FRAMES_OF_PROCESS, 64);

	(void)state;
	assert_true(n >= 500 && n < JAVA_FRAMES_OF_PROCESS);
	for (uint64_t process = 2; process < JAVA_OWNERS_MAX; process++)
		n += flood(j, process, JAVA_FRAMES_OF_PROCESS, 64);
	assert_true(n * 64 * sizeof(struct lang_frame) <= 2 * JAVA_NAMES_BYTES);
	java_frames_free(j);
}

static void all_processes_have_a_limit(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t number = learn(j, 1, 0x1000, 0), n = 1;

	(void)state;
	for (uint64_t process = 2; process < 12; process++)
		n += flood(j, process, JAVA_FRAMES_OF_PROCESS, 0);
	assert_int_equal(n, JAVA_FRAMES_MAX);
	assert_int_equal(told.living.n, JAVA_FRAMES_MAX);
	assert_int_equal(told.n_dropped, 0);
	/* all have samples: nobody gets more */
	for (int i = 0; i < JAVA_IDLE_ROUNDS; i++) {
		rounds(j, 1);
		for (uint64_t process = 1; process < 12; process++)
			learn(j, process, 0x100000, 0);
		assert_true(is_found(j, 1, 0x1000, number));
	}
	assert_int_equal(told.n_dropped, 0);
	java_frames_free(j);
}

/* The sampler forgets the frames of idle processes first, and the reader later. */
static void idle_processes_make_room(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t idle = learn(j, 9, 0x1000, 0), number;

	(void)state;
	for (uint64_t process = 2; process < 11; process++)
		flood(j, process, JAVA_FRAMES_OF_PROCESS, 0);
	assert_int_equal(learn(j, 1, 0x1000, 0), 0);
	rounds(j, JAVA_IDLE_ROUNDS + 1);
	assert_int_equal(learn(j, 1, 0x1000, 0), 0); /* only the sampler has forgotten them */
	assert_int_equal(told.n_dropped, JAVA_FRAMES_MAX);
	rounds(j, JAVA_KEPT_ROUNDS);
	assert_int_equal(learn(j, 1, 0x1000, 0), 0);
	assert_true(is_found(j, 9, 0x1000, idle));
	rounds(j, 1);
	number = learn(j, 1, 0x1000, 0);
	assert_true(number && is_found(j, 1, 0x1000, number));
	assert_false(is_found(j, 9, 0x1000, idle));
	java_frames_free(j);
}

/* At its quota, frames in use stay, with their names. */
static void a_process_at_its_quota_loses_idle_frames(void **state)
{
	struct java_frames *j = new_frames();
	uint64_t first = learn(j, 1, 0x1000, 1), used = learn(j, 1, 0x2000, 2), new;

	(void)state;
	flood(j, 1, JAVA_FRAMES_OF_PROCESS, 1);
	assert_int_equal(learn(j, 1, 0x3000, 1), 0);
	for (uint32_t i = 0; i < JAVA_IDLE_ROUNDS + JAVA_KEPT_ROUNDS + 2; i++) {
		rounds(j, 1);
		assert_true(is_found(j, 1, 0x2000, used));
		new = learn(j, 1, 0x3000, 3);
	}
	assert_true(new &&is_found(j, 1, 0x3000, new) && is_found(j, 1, 0x2000, used));
	assert_false(is_found(j, 1, 0x1000, first));
	assert_int_equal(told.living.n, 2);
	java_frames_free(j);
}

/* A process that executes one program after another has few lives at once. */
static void lives_of_one_process_do_not_crowd_out_others(void **state)
{
	struct java_frames *j = new_frames();
	uint32_t n = 0;

	(void)state;
	for (uint64_t life = 1; life < 2 * JAVA_OWNERS_MAX; life++) {
		const struct java_known known = { .key = { .pc = 0x1000 },
						  .frame = { .rule = { .cfa = UNWIND_CFA_SP },
							     .n_proof = 1 } };

		const struct java_life of_pid = { 77, life, life };

		told.last_number = 0;
		java_frames_learn(j, &of_pid, &known, 0);
		n += told.last_number != 0;
	}
	assert_int_equal(n, JAVA_OWNERS_OF_PID);
	for (uint64_t process = 1; process <= JAVA_OWNERS_MAX - JAVA_OWNERS_OF_PID; process++)
		assert_true(learn(j, process << 8, 0x1000, 1));
	assert_false(learn(j, 0xffff00, 0x1000, 1));
	java_frames_free(j);
}

/*
 * A copy of an earlier life may come late. Those of a process number are of one life after the
 * other, so the living one keeps its frames when room is made.
 */
static void a_late_copy_of_an_earlier_life_does_not_end_the_living_one(void **state)
{
	const struct java_life living = { 77, 100, 200 }, earlier = { 77, 101, 100 };
	const struct java_life next = { 77, 102, 300 };
	struct java_frames *j = new_frames();
	struct java_codes codes;
	uint64_t number;

	(void)state;
	number = learn_of(j, &living, 0x1000, 1);
	assert_true(number && learn_of(j, &earlier, 0x1000, 1));
	for (uint64_t process = 2; process < 11; process++)
		flood(j, process, JAVA_FRAMES_OF_PROCESS, 0);
	assert_int_equal(told.n_dropped, 1); /* of the earlier one, to make room */
	assert_true(java_frames_find(j, 77, 0x1000, number, 0, &codes));
	rounds(j, 1);
	assert_int_equal(learn_of(j, &next, 0x1000, 1), 0); /* the living one is over now */
	assert_int_equal(told.n_dropped, 2);
	java_frames_free(j);
}

/* Stacks have the number of the method. The interpreter's own code, which they need, is in use. */
static void the_code_of_interpreted_frames_stays_with_their_methods(void **state)
{
	const struct java_life life = { PID_OF(1), 1, 0 };
	const struct java_known method = { .key = { .pc = 0x9000, .place = 0x9100 },
					   .frame = { .flags = JAVA_IS_FRAME } };
	struct java_frames *j = new_frames();
	struct java_codes codes;
	uint64_t number;

	(void)state;
	learn(j, 1, 0x1000, 0);
	learn(j, 1, 0x2000, 0);
	told.last_number = 0;
	java_frames_learn(j, &life, &method, 0);
	number = told.last_number;
	flood(j, 1, JAVA_FRAMES_OF_PROCESS, 0);
	rounds(j, JAVA_IDLE_ROUNDS + 1);
	assert_true(java_frames_find(j, PID_OF(1), 0x1000, number, 0, &codes));
	learn(j, 1, 0x300000, 0);
	assert_int_equal(told.living.n, 2); /* the method, and the code that it was found at */
	assert_int_equal(learn(j, 1, 0x1000, 0), 0);
	assert_int_equal(told.why, JAVA_COPY_KNOWN);
	java_frames_free(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_frame_has_its_names_by_its_number),
		cmocka_unit_test(a_number_is_of_one_content),
		cmocka_unit_test(names_that_are_gone_are_no_frames),
		cmocka_unit_test(a_process_does_not_take_the_numbers_of_another),
		cmocka_unit_test(a_process_has_a_limit_of_bytes),
		cmocka_unit_test(all_processes_have_a_limit),
		cmocka_unit_test(idle_processes_make_room),
		cmocka_unit_test(a_process_at_its_quota_loses_idle_frames),
		cmocka_unit_test(frames_are_learnt_anew_when_names_were_forgotten),
		cmocka_unit_test(lives_of_one_process_do_not_crowd_out_others),
		cmocka_unit_test(a_late_copy_of_an_earlier_life_does_not_end_the_living_one),
		cmocka_unit_test(the_code_of_interpreted_frames_stays_with_their_methods),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	intmap_fini(&told.living);
	return failed;
}
