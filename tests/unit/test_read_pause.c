/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes whose memory took too long to read are read again, after pauses. */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "frozen_stacks.h"
#include "pipeline/read_pause.h"

static const uint64_t pauses_s[] = { 1, 4, 16, 60, 60, 60 };

static void pauses_grow_to_a_minute(void **state)
{
	struct read_pause p = { 0 };
	uint64_t now_ns = 5;

	(void)state;
	assert_false(read_pause_is_over(&p, UINT64_MAX));
	for (size_t i = 0; i < ARRAY_SIZE(pauses_s); i++) {
		read_pause_begin(&p, now_ns);
		assert_false(read_pause_is_over(&p, now_ns));
		now_ns += pauses_s[i] * NS_PER_SECOND;
		assert_false(read_pause_is_over(&p, now_ns - 1));
		assert_true(read_pause_is_over(&p, now_ns));
	}
	now_ns += READ_PAUSE_MAX_NS;
	read_pause_begin(&p, now_ns);
	assert_true(read_pause_is_over(&p, now_ns + READ_PAUSE_NS));
}

static void bar_process(struct walker *w)
{
	struct thread_view thread = machine_thread(w->machine, FROZEN_PID, FROZEN_PID);

	if (frozen.runtime.language == LANGUAGE_JAVASCRIPT) {
		v8_stacks_begin(w->v8, FROZEN_PID, &thread, frozen.time_ns, frozen.registers);
		v8_stacks_bar(w->v8, FROZEN_PID);
	} else {
		java_stacks_begin(w->java, FROZEN_PID, &thread, frozen.time_ns, frozen.registers,
				  false);
		java_stacks_bar(w->java, FROZEN_PID);
	}
}

static bool walk_has(struct walker *w, const struct buf *wanted)
{
	struct buf got = { 0 };
	bool has;

	walk_thread(w->machine, w->stacks, &got);
	has = got.len == wanted->len && !memcmp(got.data, wanted->data, got.len);
	buf_fini(&got);
	return has;
}

static void check_pauses(const char *path, const struct buf *expected)
{
	struct walker w = walker_new(NULL);
	enum loss_reason reason = frozen.runtime.language == LANGUAGE_JAVASCRIPT
					  ? LOSS_JAVASCRIPT_STATE
					  : LOSS_JAVA_STATE;

	(void)path;
	frozen.time_ns = NS_PER_SECOND;
	walk_has(&w, expected); /* it may only meet the runtime */
	assert_true(walk_has(&w, expected));
	for (uint32_t i = 0; i < 3; i++) {
		uint64_t pause_ns = pauses_s[i] * NS_PER_SECOND;

		bar_process(&w);
		frozen.losses[reason] = 0;
		assert_false(walk_has(&w, expected));
		frozen.time_ns += pause_ns - 1;
		assert_false(walk_has(&w, expected));
		assert_int_equal(frozen.losses[reason], 2);
		frozen.time_ns += 1;
		assert_true(walk_has(&w, expected));
		assert_int_equal(frozen.losses[reason], 2);
	}
	walker_free(&w);
}

static void barred_processes_have_frames_again(void **state)
{
	(void)state;
	each_frozen_file("java-17*.stack", check_pauses);
	each_frozen_file("javascript-*.stack", check_pauses);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pauses_grow_to_a_minute),
		cmocka_unit_test(barred_processes_have_frames_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
