/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jitdumps in the pipeline, and files whose look takes long. */
#include "folder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/files/file.h"
#include "foreign/jitdump.h"
#include "guard/open.h"
#include "pipeline/jit_names.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_state.h"

#include "jitdump_file.h"
#include "pipeline_world.h"

#define DUMP "/tmp/jit-41.dump"

/* Which thread opens and parses dumps; while the gate is shut, no dump is opened. */
static struct {
	pthread_t loop;
	atomic_bool is_shut;
	atomic_uint opened, parsed, by_loop;
	guard_openat2 before;
} gate;

size_t __real_jitdump_feed(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t off);
size_t __wrap_jitdump_feed(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t off);

size_t __wrap_jitdump_feed(struct jitdump *d, const uint8_t *bytes, size_t size, uint64_t off)
{
	gate.parsed++;
	gate.by_loop += pthread_equal(pthread_self(), gate.loop) != 0;
	return __real_jitdump_feed(d, bytes, size, off);
}

static int open_at_gate(int dir, const char *path, const struct open_how *how)
{
	if (strstr(path, ".dump")) {
		gate.opened++;
		gate.by_loop += pthread_equal(pthread_self(), gate.loop) != 0;
		while (gate.is_shut)
			usleep(100);
	}
	return gate.before(dir, path, how);
}

static int setup_gate(void **state)
{
	gate.loop = pthread_self();
	gate.is_shut = false;
	gate.opened = gate.parsed = gate.by_loop = 0;
	gate.before = guard_set_openat2(open_at_gate);
	return setup(state);
}

static int teardown_gate(void **state)
{
	int r;

	gate.is_shut = false;
	r = teardown(state);
	guard_set_openat2(gate.before);
	return r;
}

/* Adds records to the dump of process 41; `append` is a function of jitdump_file.h. */
static void put_dump(struct dump *d)
{
	char path[256];
	FILE *f;

	put("proc/41/root" DUMP ".new", "", 0);
	snprintf(path, sizeof(path), "%s/proc/41/root" DUMP, fx.root);
	f = fopen(path, "a");
	assert_non_null(f);
	assert_int_equal(fwrite(d->b.data, 1, d->b.len, f), d->b.len);
	fclose(f);
	buf_fini(&d->b);
}

/* At 0x8000: "old", and "new" from 0.8 on. */
static void put_two_functions(void)
{
	struct dump d = { 0 };

	dump_header(&d);
	load(&d, 600000000, 0x8000, 1, "old");
	load(&d, 800000000, 0x8000, 2, "new");
	put_dump(&d);
}

#define JIT APP "0.6 cpu0 41/41 mmap start=0x3000 size=0x1000 off=0 path=\"" DUMP "\"\n"

/* Offsets of the code: a record's 56 bytes and its name are before it. */
#define OLD_AT "64"
#define NEW_AT "b0"

static void assert_kept(const char *text)
{
	if (!strstr(buf_cstr(&kept.text), text))
		fail_msg("no \"%s\" in:\n%s", text, buf_cstr(&kept.text));
}

static void code_of_a_jitdump_is_that_of_the_samples_time(void **state)
{
	(void)state;
	put_two_functions();
	given(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n"
		  "0.9 cpu0 41/41 sample mode=user ip=0x8002 user=0x1020,0x8100\n"
		  "0.9 cpu0 41/41 exit\n");
	assert_kept("app /app " DUMP "+65\n");
	assert_kept("app /app " DUMP "+b2 /app+20 [anon]+8100\n");
	pipeline_advance(fx.pipeline, 5000000000);
	assert_kept("code " DUMP "+" OLD_AT " old\n");
	assert_kept("code " DUMP "+" NEW_AT " new\n");
	assert_null(strstr(buf_cstr(&kept.text), "[jitdump"));
	assert_int_equal(fx.pipeline->pending.n, 0); /* nothing can be late any more */
	assert_int_equal(kept.losses[LOSS_JIT_DUMP_LATE], 0);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
}

/* Records that are written while it is recorded: a second reading. */
static void the_threads_of_jobs_alone_open_and_parse_jitdumps(void **state)
{
	struct dump d = { 0 };
	char line[96];
	uint64_t now_ns;

	(void)state;
	put_two_functions();
	given(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n");
	now_ns = clock_monotonic_ns();
	load(&d, now_ns, 0x8000, 3, "newest");
	put_dump(&d);
	snprintf(line, sizeof(line), "%lu.%09lu cpu0 41/41 sample mode=user ip=0x8001\n",
		 now_ns / NS_PER_SECOND, now_ns % NS_PER_SECOND);
	push(line);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 1); /* it waits */
	wait_for_looks();
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_kept(" newest\n");
	assert_int_equal(gate.opened, 1);
	assert_in_range(gate.parsed, 2, 100);
	assert_int_equal(gate.by_loop, 0);
}

static void a_flush_does_not_wait_for_a_jitdump(void **state)
{
	(void)state;
	put_two_functions();
	gate.is_shut = true;
	push(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001 user=0x8100\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 0);
	pipeline_flush(fx.pipeline, NULL);
	assert_kept("app /app [anon]+8001 [anon]+8100\n");
	gate.is_shut = false;
	given("0.75 cpu0 41/41 sample mode=user ip=0x8001\n");
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_kept("app /app " DUMP "+65\n");
	assert_int_equal(kept.losses[LOSS_JIT_DUMP_LATE], 2);
}

/* Nothing waits for it any more; when it comes, it is used again. */
static void a_jitdump_that_takes_two_seconds_is_late(void **state)
{
	(void)state;
	put_two_functions();
	gate.is_shut = true;
	push(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n");
	while (!pipeline_counts(fx.pipeline).samples) {
		pipeline_take_looks(fx.pipeline);
		usleep(1000);
	}
	push("0.7 cpu0 41/41 sample mode=user ip=0x8003\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	assert_kept("app /app [anon]+8001\napp /app [anon]+8003\n");
	gate.is_shut = false;
	wait_for_looks();
	given("0.75 cpu0 41/41 sample mode=user ip=0x8001\n");
	assert_kept("app /app " DUMP "+65\n");
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_int_equal(kept.losses[LOSS_JIT_DUMP_LATE], 2);
}

static image_id image_named(const char *path)
{
	struct image_table *images = machine_images(fx.machine);
	image_id id = { 0 };

	while (id.n < image_count(images) && strcmp(image_get(images, id)->path, path) != 0)
		id.n++;
	return id;
}

/* No sample waits for it any more. But only the look tells which runtime it is. */
static void a_file_that_takes_two_seconds_is_late_until_it_was_looked_at(void **state)
{
	struct file_mapping exe;
	image_id id;

	(void)state;
	assert_int_equal(file_map("/proc/self/exe", &exe, NULL), 0);
	put("proc/41/root/slow.dump", exe.base, exe.size);
	file_unmap(&exe);
	gate.is_shut = true;
	push(APP "0.6 cpu0 41/41 mmap start=0x3000 size=0x1000 off=0 path=\"/slow.dump\"\n"
		 "0.7 cpu0 41/41 sample mode=user ip=0x3010\n");
	id = image_named("/slow.dump");
	assert_false(pipeline_is_file_late(fx.pipeline, id));
	while (!pipeline_counts(fx.pipeline).samples) {
		pipeline_take_looks(fx.pipeline);
		usleep(1000);
	}
	assert_true(pipeline_is_file_late(fx.pipeline, id));
	gate.is_shut = false;
	wait_for_looks();
	assert_false(pipeline_is_file_late(fx.pipeline, id));
	assert_true(pipeline_look_at_image(fx.pipeline, 41, &id));
	assert_true(image_get(machine_images(fx.machine), id)->build_id.len > 0);
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_int_equal(kept.losses[LOSS_FILE_LATE], 1);
}

/* A dump of the daemon waits for a look no longer than a moment. */
static void samples_that_do_not_wait_for_a_look_count_once(void **state)
{
	(void)state;
	put("proc/41/root/slow.dump", "slow", 4);
	/* A busy machine may look at the program after the first flush: that is late, too. */
	push(APP "0.6 cpu0 41/41 sample mode=user ip=0x1010\n");
	wait_for_looks();
	gate.is_shut = true;
	push("0.6 cpu0 41/41 mmap start=0x3000 size=0x1000 off=0 path=\"/slow.dump\"\n"
	     "0.7 cpu0 41/41 sample mode=user ip=0x3010\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 1);
	pipeline_flush(fx.pipeline, NULL);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	push("0.8 cpu0 41/41 sample mode=user ip=0x3010\n");
	pipeline_flush(fx.pipeline, NULL);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 3);
	gate.is_shut = false;
	wait_for_looks();
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_int_equal(kept.losses[LOSS_FILE_LATE], 1);
}

/* The process is kept, too, as its names are not known before. */
static void the_jitdump_of_an_ended_process_is_awaited(void **state)
{
	(void)state;
	put_two_functions();
	gate.is_shut = true;
	push(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n"
		 "0.8 cpu0 41/41 exit\n");
	pipeline_advance(fx.pipeline, 5000000000);
	assert_int_equal(machine_process_count(fx.machine), 1);
	gate.is_shut = false;
	wait_for_looks();
	pipeline_advance(fx.pipeline, 6000000000);
	assert_kept("app /app " DUMP "+65\n");
	assert_kept("code " DUMP "+" OLD_AT " old\n");
	assert_int_equal(machine_process_count(fx.machine), 0);
}

/* Another program runs in the process, and has the same addresses. */
static void the_jitdump_of_a_former_program_is_awaited(void **state)
{
	(void)state;
	put_two_functions();
	gate.is_shut = true;
	push(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n"
		 "0.72 cpu0 41/41 comm exec name=\"next\"\n"
		 "0.72 cpu0 41/41 mmap start=0x8000 size=0x1000 off=0 path=\"//anon\"\n"
		 "0.73 cpu0 41/41 sample mode=user ip=0x8002\n");
	pipeline_advance(fx.pipeline, 2000000000); /* its names are visited */
	gate.is_shut = false;
	wait_for_looks();
	assert_kept("app /app " DUMP "+65\n");
	assert_kept("next [anon] [anon]+8002\n");
	pipeline_advance(fx.pipeline, 5000000000);
	assert_kept("code " DUMP "+" OLD_AT " old\n");
}

/* The first sample ends a second; the dump of the next one has no process any more. */
static void a_second_that_ends_among_waiting_samples_forgets_no_jitdump(void **state)
{
	(void)state;
	put_two_functions();
	gate.is_shut = true;
	push(JIT "1.1 cpu0 41/41 sample mode=user ip=0x1010\n"
		 "1.2 cpu0 41/41 sample mode=user ip=0x8001\n"
		 "1.3 cpu0 41/41 comm exec name=\"next\"\n");
	gate.is_shut = false;
	wait_for_looks();
	assert_kept("app /app /app+10\napp /app " DUMP "+b1\n");
}

static void a_child_has_the_jitdump_of_its_parent(void **state)
{
	(void)state;
	put_two_functions();
	given(JIT "0.7 cpu0 42/42 fork parent=41/41\n"
		  "0.7 cpu0 41/41 exit\n");
	pipeline_advance(fx.pipeline, 5000000000);
	given("0.9 cpu0 42/42 sample mode=user ip=0x8002\n");
	assert_kept("app /app " DUMP "+b2\n");
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_kept("code " DUMP "+" NEW_AT " new\n");
}

static void a_jitdump_beyond_the_time_of_its_user_gives_no_names(void **state)
{
	(void)state;
	put_two_functions();
	file_jobs_charge(fx.pipeline->jobs, file_jobs_user(fx.pipeline->proc, 41),
			 FILE_JOBS_BURST_NS * 1000);
	given(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n"
		  "0.8 cpu0 41/41 sample mode=user ip=0x8001\n");
	assert_kept("app /app [anon]+8001\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	assert_in_range(kept.losses[LOSS_FILE_BUDGET], 1, 2); /* with /app */
	assert_int_equal(gate.opened, 0);
}

static void a_process_that_names_no_readable_jitdump_has_unknown_code(void **state)
{
	(void)state;
	given(JIT "0.7 cpu0 41/41 sample mode=user ip=0x8001\n"
		  "0.8 cpu0 41/41 sample mode=user ip=0x8001\n");
	assert_kept("app /app [anon]+8001\napp /app [anon]+8001\n");
	assert_int_equal(kept.losses[LOSS_JIT_DUMP_LATE], 0);
}

#define GATED(f) cmocka_unit_test_setup_teardown(f, setup_gate, teardown_gate)

int main(void)
{
	const struct CMUnitTest tests[] = {
		GATED(code_of_a_jitdump_is_that_of_the_samples_time),
		GATED(the_threads_of_jobs_alone_open_and_parse_jitdumps),
		GATED(a_flush_does_not_wait_for_a_jitdump),
		GATED(a_jitdump_that_takes_two_seconds_is_late),
		GATED(a_file_that_takes_two_seconds_is_late_until_it_was_looked_at),
		GATED(samples_that_do_not_wait_for_a_look_count_once),
		GATED(the_jitdump_of_an_ended_process_is_awaited),
		GATED(the_jitdump_of_a_former_program_is_awaited),
		GATED(a_second_that_ends_among_waiting_samples_forgets_no_jitdump),
		GATED(a_child_has_the_jitdump_of_its_parent),
		GATED(a_jitdump_beyond_the_time_of_its_user_gives_no_names),
		GATED(a_process_that_names_no_readable_jitdump_has_unknown_code),
	};

	setenv("XDG_CACHE_HOME", "/nonexistent", 1); /* no index of a test's file is kept */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
