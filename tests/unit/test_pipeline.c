/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "event/text.h"
#include "pipeline/ext.h"
#include "pipeline/jit_names.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_state.h"

#include "pipeline_world.h"

static void a_sample_becomes_frames_of_images(void **state)
{
	(void)state;
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0x1010 user=0x1020,0x1030\n");
	assert_string_equal(buf_cstr(&kept.text), "app /app /app+10 /app+20 /app+30\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 1);
	assert_int_equal(pipeline_counts(fx.pipeline).unattributed, 0);
}

/* A load: one of all operations, one of the loads, and none of the stores. */
static void raw_samples_count_as_their_feature_says(void **state)
{
	struct counter ibs[] = { { .ext = "ibs_op", .event_code = 0xf100 },
				 { .ext = "ibs_op", .event_code = 0xf201, .carrier = 1 },
				 { .ext = "ibs_op", .event_code = 0xf202, .carrier = 1 } };
	const struct counters counters = { ibs, ARRAY_SIZE(ibs), ARRAY_SIZE(ibs) };
	struct {
		uint32_t caps;
		uint64_t reg[7];
	} __attribute__((packed)) raw = { 0x80, { 0, 0, 0, 0, 1 } };
	struct sample_extra extra = { .raw = (uint8_t *)&raw, .raw_size = sizeof(raw) };
	struct event e = { .type = EVENT_SAMPLE,
			   .pid = 41,
			   .tid = 41,
			   .time_ns = 700000000,
			   .sample = { .mode = MODE_USER, .ip = 0x1010, .extra = &extra } };
	struct session_info info = { .start_ns = 500000000 };
	struct pipeline_config c = { .ops = &noting_store, .info = &info, .dir = "" };
	struct event_sink *sink;

	(void)state;
	given(APP);
	pipeline_close(fx.pipeline, NULL, NULL, NULL);
	c.machine = fx.machine;
	assert_int_equal(ext_open(&counters, NULL, &c.ext, NULL), 0);
	fx.pipeline = pipeline_open(&c, NULL);
	sink = pipeline_sink(fx.pipeline);
	event_push(sink, &e);
	wait_for_looks();
	assert_string_equal(buf_cstr(&kept.text), "app /app /app+10\napp /app /app+10\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	raw.reg[2] = 1ULL << 38; /* no valid address */
	event_push(sink, &e);
	assert_int_equal(kept.losses[LOSS_EXT_ADDRESS], 1);
	assert_int_equal(pipeline_counts(fx.pipeline).lost, 1);
	extra.raw_size = 12;
	event_push(sink, &e);
	assert_int_equal(kept.losses[LOSS_BAD_RECORD], 1);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	pipeline_close(take_ptr(fx.pipeline), NULL, NULL, NULL);
	ext_close(c.ext);
}

static void count_seen(void *context, const struct sample *sample)
{
	uint64_t *sum = context;

	*sum += sample->frames[0].offset;
}

static void a_tap_sees_samples_while_it_is_there(void **state)
{
	uint64_t sum = 0;
	const struct sample_tap tap = { count_seen, &sum };

	(void)state;
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0x1001\n");
	pipeline_set_tap(fx.pipeline, &tap);
	given("0.7 cpu0 41/41 sample mode=user ip=0x1010\n"
	      "0.7 cpu0 41/41 sample mode=user ip=0x1020\n");
	pipeline_set_tap(fx.pipeline, NULL);
	given("0.7 cpu0 41/41 sample mode=user ip=0x1100\n");
	assert_int_equal(sum, 0x30);
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 4);
}

static void a_user_chain_ends_at_the_first_unmapped_caller(void **state)
{
	(void)state;
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0x1010 user=0x1020,0xdead,0x1030\n");
	assert_string_equal(buf_cstr(&kept.text), "app /app /app+10 /app+20\n");
	assert_int_equal(kept.losses[LOSS_FRAME_UNMAPPED], 1);
}

/* Its first user address is of the program that is gone; of any other it has a place. */
static void in_exec_a_stack_is_the_kernels_alone_and_whole(void **state)
{
	(void)state;
	given(APP "0.7 cpu0 41/41 sample mode=kernel ip=0xffffffff81000000 user=0xdead,0x1030\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 1);
	assert_null(strstr(buf_cstr(&kept.text), "/app+"));
	assert_int_equal(kept.losses[LOSS_FRAME_UNMAPPED], 0);
	given("0.8 cpu0 41/41 sample mode=kernel ip=0xffffffff81000000 user=0x1030,0xdead\n");
	assert_non_null(strstr(buf_cstr(&kept.text), "/app+30"));
	assert_int_equal(kept.losses[LOSS_FRAME_UNMAPPED], 1);
}

static void an_unmapped_sample_is_kept_and_counted(void **state)
{
	(void)state;
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0xdead\n"
		  "0.7 cpu0 99/99 sample mode=user ip=0x1010\n"
		  "0.7 cpu0 41/41 sample mode=kernel ip=0xffffffff81000000\n"
		  "0.7 cpu0 41/41 sample mode=hypervisor ip=0x1010\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 4);
	assert_int_equal(pipeline_counts(fx.pipeline).unattributed, 4);
	assert_int_equal(kept.losses[LOSS_UNMAPPED], 1);
	assert_int_equal(kept.losses[LOSS_NO_PROCESS], 1);
	assert_int_equal(kept.losses[LOSS_NO_KERNEL], 1);
	assert_int_equal(kept.losses[LOSS_GUEST], 1);
	assert_non_null(strstr(buf_cstr(&kept.text), "app /app [unknown]+dead\n"));
}

static void losses_of_the_source_are_passed_on(void **state)
{
	(void)state;
	given("0.7 cpu0 -1/-1 lost n=5\n0.7 cpu0 -1/-1 lost-samples n=6\n"
	      "0.7 cpu0 -1/-1 throttle\n0.7 cpu0 -1/-1 throttle end\n" APP
	      "0.7 cpu0 41/41 sample mode=user ip=0x1010 cut\n");
	assert_int_equal(kept.losses[LOSS_RING_FULL], 5);
	assert_int_equal(kept.losses[LOSS_PMU_BUFFER], 6);
	assert_int_equal(kept.losses[LOSS_THROTTLED], 1);
	assert_int_equal(kept.losses[LOSS_CHAIN_CUT], 1);
	assert_int_equal(pipeline_counts(fx.pipeline).lost, 11);
}

static void seconds_are_flushed_in_order_and_whole(void **state)
{
	(void)state;
	given(APP "0.9 cpu0 41/41 sample mode=user ip=0x1010\n"
		  "1.1 cpu0 41/41 sample mode=user ip=0x1020\n"
		  "3.5 cpu0 41/41 sample mode=user ip=0x1030\n");
	pipeline_advance(fx.pipeline, 3900000000);
	pipeline_advance(fx.pipeline, 4000000000);
	assert_string_equal(buf_cstr(&kept.text), "app /app /app+10\nflush 1\n"
						  "app /app /app+20\nflush 2\n"
						  "app /app /app+30\nflush 4\n");
}

static void a_process_that_ended_is_kept_while_a_sample_of_it_waits(void **state)
{
	(void)state;
	given(APP "0.9 cpu0 41/41 exit\n");
	pipeline_keep_ended(fx.pipeline, 800000000);
	pipeline_advance(fx.pipeline, 9000000000);
	given("9.1 cpu0 41/41 sample mode=user ip=0x1010\n");
	assert_int_equal(kept.losses[LOSS_NO_PROCESS], 0);
	pipeline_keep_ended(fx.pipeline, UINT64_MAX);
	pipeline_advance(fx.pipeline, 20000000000);
	given("20.1 cpu0 41/41 sample mode=user ip=0x1010\n");
	assert_int_equal(kept.losses[LOSS_NO_PROCESS], 1);
}

static void a_write_error_is_kept_and_recording_goes_on(void **state)
{
	struct pipeline_counts counts;
	struct error err = { 0 };

	(void)state;
	given(APP "0.9 cpu0 41/41 sample mode=user ip=0x1010\n");
	kept.is_disk_full = true;
	pipeline_advance(fx.pipeline, 1500000000);
	given("1.6 cpu0 41/41 sample mode=user ip=0x1010\n");
	assert_int_equal(pipeline_counts(fx.pipeline).samples, 2);
	assert_int_equal(pipeline_close(take_ptr(fx.pipeline), NULL, &counts, &err), -ENOSPC);
	assert_string_equal(err.text, "no space");
	assert_int_equal(counts.samples, 1);
	assert_int_equal(counts.lost, 1);
}

static void jit_code_is_named_from_the_processs_own_map(void **state)
{
	static const char status[] = "Name:\tapp\nNSpid:\t41\t7\nThreads:\t1\n";
	static const char map[] = "8000 100 hot loop\n8100 100 never sampled\nnonsense\n";

	(void)state;
	put("proc/41/status", status, sizeof(status) - 1);
	put("proc/41/root/tmp/perf-7.map", map, sizeof(map) - 1);
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0x8010\n"
		  "0.7 cpu0 41/41 sample mode=user ip=0x8020\n"
		  "0.8 cpu0 41/41 exit\n");
	pipeline_advance(fx.pipeline, 5000000000);
	wait_for_looks();
	assert_non_null(strstr(buf_cstr(&kept.text), "code [anon]+8000 hot loop\n"));
	assert_null(strstr(buf_cstr(&kept.text), "never sampled"));
}

static void too_many_addresses_of_jit_code_cost_the_names_of_their_process(void **state)
{
	static const char map[] = "8000 ffffff hot loop\n";
	const uint32_t most = JIT_HITS_USER_BYTES / sizeof(struct intmap_slot) / 2;
	char line[96];

	(void)state;
	put("proc/41/root/tmp/perf-41.map", map, sizeof(map) - 1);
	given(APP "0.6 cpu0 41/41 mmap start=0x9000 size=0x1000000 off=0 path=\"//anon\"\n");
	for (uint32_t i = 0; i <= most; i++) {
		snprintf(line, sizeof(line), "0.7 cpu0 41/41 sample mode=user ip=0x%x\n",
			 0x9000 + i);
		if (i == most)
			assert_int_equal(kept.losses[LOSS_JIT_HITS], 0);
		given(line);
	}
	assert_int_equal(kept.losses[LOSS_JIT_HITS], 1);
	given("0.8 cpu0 41/41 exit\n");
	pipeline_advance(fx.pipeline, 5000000000);
	wait_for_looks();
	assert_null(strstr(buf_cstr(&kept.text), "hot loop"));
}

/* The same file told with a build id and, before, without one is one image. */
static void a_file_has_one_image_once_its_build_id_is_read(void **state)
{
	struct file_mapping exe;
	const struct image *image;

	(void)state;
	assert_int_equal(file_map("/proc/self/exe", &exe, NULL), 0);
	put("proc/41/root/app", exe.base, exe.size);
	file_unmap(&exe);
	given(APP "0.7 cpu0 41/41 sample mode=user ip=0x1010\n");
	image = image_get(kept.images, (image_id){ image_count(kept.images) - 1 });
	assert_string_equal(image->path, "/app");
	assert_true(image->build_id.len > 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sample_becomes_frames_of_images),
		TEST(raw_samples_count_as_their_feature_says),
		TEST(a_tap_sees_samples_while_it_is_there),
		TEST(a_user_chain_ends_at_the_first_unmapped_caller),
		TEST(in_exec_a_stack_is_the_kernels_alone_and_whole),
		TEST(an_unmapped_sample_is_kept_and_counted),
		TEST(losses_of_the_source_are_passed_on),
		TEST(seconds_are_flushed_in_order_and_whole),
		TEST(a_process_that_ended_is_kept_while_a_sample_of_it_waits),
		TEST(a_write_error_is_kept_and_recording_goes_on),
		TEST(jit_code_is_named_from_the_processs_own_map),
		TEST(too_many_addresses_of_jit_code_cost_the_names_of_their_process),
		TEST(a_file_has_one_image_once_its_build_id_is_read),
	};

	setenv("XDG_CACHE_HOME", "/nonexistent", 1); /* no index of a test's file is kept */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
