/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "folder.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
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
#include "foreign/jitdump.h"
#include "guard/open.h"
#include "pipeline/ext.h"
#include "pipeline/jit_names.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_state.h"

#include "jitdump_file.h"

/* A store that writes down its calls. */
struct store {
	const struct image_table *images;
	const struct strings *strings;
	struct buf text;
	uint64_t losses[N_LOSS_REASONS];
	bool is_disk_full;
};

static struct store kept;

static int noting_open(const char *dir, const struct session_info *info,
		       const struct image_table *images, const struct strings *strings,
		       struct store **out, struct error *err)
{
	(void)dir, (void)info, (void)err;
	kept.images = images;
	kept.strings = strings;
	*out = &kept;
	return 0;
}

static int noting_add(struct store *s, const struct sample *sample, struct error *err)
{
	(void)err;
	buf_printf(&s->text, "%s %s", strings_get(s->strings, sample->class.comm),
		   image_get(s->images, sample->class.app)->path);
	for (uint32_t i = 0; i < sample->n_frames; i++)
		buf_printf(&s->text, " %s+%lx", image_get(s->images, sample->frames[i].image)->path,
			   sample->frames[i].offset);
	buf_str(&s->text, "\n");
	return 0;
}

static void noting_lose(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	(void)counter;
	s->losses[reason] += n;
}

static void noting_name_code(struct store *s, const struct code_symbol *symbol)
{
	buf_printf(&s->text, "code %s+%lx %s\n", image_get(s->images, symbol->image)->path,
		   symbol->offset, symbol->name);
}

static int noting_flush(struct store *s, uint64_t until_ns, struct error *err)
{
	buf_printf(&s->text, "flush %lu\n", until_ns / 1000000000);
	return s->is_disk_full ? error_set(err, -ENOSPC, "no space") : 0;
}

static int noting_close(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			struct error *err)
{
	(void)end, (void)err;
	*n_unwritten = s->is_disk_full;
	return 0;
}

static const struct store_ops noting_store = {
	.name = "noting",
	.open = noting_open,
	.add = noting_add,
	.lose = noting_lose,
	.name_code = noting_name_code,
	.flush = noting_flush,
	.close = noting_close,
};

struct fixture {
	struct machine *machine;
	struct pipeline *pipeline;
	char root[64];
};

static struct fixture fx;

static int setup(void **state)
{
	static const struct session_info info = { .start_ns = 500000000 };
	struct pipeline_config c = { .ops = &noting_store, .info = &info, .dir = "" };
	struct machine_config m;
	char proc[80];

	(void)state;
	strcpy(fx.root, "pipeline-XXXXXX");
	if (!mkdtemp(fx.root))
		return -1;
	snprintf(proc, sizeof(proc), "%s/proc", fx.root);
	m = (struct machine_config){ proc, fx.root };
	kept = (struct store){ 0 };
	fx.machine = machine_new(&m);
	c.machine = fx.machine;
	c.proc = proc;
	fx.pipeline = pipeline_open(&c, NULL);
	return fx.pipeline ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	if (fx.pipeline)
		pipeline_close(fx.pipeline, NULL, NULL, NULL);
	machine_free(fx.machine);
	buf_fini(&kept.text);
	return file_remove_tree(fx.root, NULL);
}

/* Until no sample waits for the look at a file. */
static void wait_for_looks(void)
{
	for (; pipeline_is_looking(fx.pipeline); usleep(100))
		pipeline_take_looks(fx.pipeline);
}

static void push(const char *text)
{
	struct error err = { 0 };

	if (event_parse_text(text, pipeline_sink(fx.pipeline), &err) < 0)
		fail_msg("%s", err.text);
}

static void given(const char *text)
{
	push(text);
	wait_for_looks();
}

static void put(const char *name, const void *bytes, size_t size)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", fx.root, name);
	*strrchr(path, '/') = '\0';
	assert_int_equal(file_mkdirs(path, 0777, NULL), 0);
	path[strlen(path)] = '/';
	f = fopen(path, "w");
	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	fclose(f);
}

#define APP                                                                  \
	"0.6 cpu0 41/41 comm exec name=\"app\"\n"                            \
	"0.6 cpu0 41/41 mmap start=0x1000 size=0x1000 off=0 path=\"/app\"\n" \
	"0.6 cpu0 41/41 mmap start=0x8000 size=0x1000 off=0 path=\"//anon\"\n"

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

/* ---- jitdumps ---- */

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

#define TEST(f)  cmocka_unit_test_setup_teardown(f, setup, teardown)
#define GATED(f) cmocka_unit_test_setup_teardown(f, setup_gate, teardown_gate)

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
		GATED(code_of_a_jitdump_is_that_of_the_samples_time),
		GATED(the_threads_of_jobs_alone_open_and_parse_jitdumps),
		GATED(a_flush_does_not_wait_for_a_jitdump),
		GATED(a_jitdump_that_takes_two_seconds_is_late),
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
