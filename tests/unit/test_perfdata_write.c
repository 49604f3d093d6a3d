/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writer writes, read again; and recordings written anew. */
#include "replay/perfdata_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "event/text.h"
#include "perfdata/format.h"
#include "perfdata/perfdata.h"
#include "perfdata/record.h"
#include "perfdata_file.h"
#include "replay/perfdata_pipe.h"
#include "scratch.h"

struct text_sink {
	struct event_sink sink;
	struct buf text;
};

static int take_text(struct event_sink *sink, const struct event *e)
{
	event_format(&((struct text_sink *)sink)->text, e);
	return 0;
}

/* All events of the bytes as text. The caller's to free. */
static char *read_all(const void *bytes, size_t size, struct error *err)
{
	struct perfdata_bytes file = { bytes, size, "t" };
	struct text_sink sink = { .sink = { take_text } };
	struct perfdata *p;
	char *text;

	assert_int_equal(perfdata_open(&file, 1, &p, err), 0);
	perfdata_read(p, &sink.sink, err);
	perfdata_free(p);
	text = xstrdup(buf_cstr(&sink.text));
	buf_fini(&sink.text);
	return text;
}

static char *read_file(const char *path, struct error *err)
{
	char *bytes, *text;
	size_t size;

	assert_int_equal(file_read_all(path, 1 << 20, &bytes, &size), 0);
	text = read_all(bytes, size, err);
	free(bytes);
	return text;
}

static int copy_file(const char *path, const char *output, uint64_t *n_samples,
		     struct error *damage, struct error *err)
{
	struct perfdata_copy config = { .path = path, .output = output };
	struct perfdata_copied copied = { 0 };
	int r = perfdata_file_copy(&config, &copied, damage, err);

	*n_samples = copied.samples;
	return r;
}

static const uint64_t ids[] = { 100, 101 };

static struct writer_event test_event(void)
{
	return (struct writer_event){
		.attr = { .type = PERF_TYPE_SOFTWARE,
			  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_CPU,
			  .sample_period = 7,
			  .sample_id_all = 1 },
		.name = "a name",
		.ids = ids,
		.n_ids = 2,
	};
}

static const struct event what_ran[] = {
	{ .type = EVENT_COMM, .pid = 41, .tid = 42, .comm = { "na\"me", false } },
	{ .type = EVENT_MAPPING,
	  .pid = 41,
	  .tid = 41,
	  .mapping = { .start = 0x1000,
		       .size = 0x2000,
		       .file_off = 0x3000,
		       .dev = (uint64_t)8 << 32 | 1,
		       .ino = 77,
		       .path = "/bin/x",
		       .is_executable = true } },
	{ .type = EVENT_MAPPING,
	  .pid = 41,
	  .tid = 41,
	  .mapping = { .start = 0x8000,
		       .size = 0x1000,
		       .build_id = { .len = 4, .bytes = { 1, 2, 3, 4 } },
		       .path = "/lib/y",
		       .is_executable = true } },
	{ .type = EVENT_MAPPING,
	  .pid = -1,
	  .tid = 0,
	  .mapping = { .start = 0xffffffff81000000,
		       .size = 0x1000,
		       .path = "[kernel.kallsyms]_text",
		       .is_executable = true,
		       .is_kernel = true } },
	{ .type = EVENT_FORK, .pid = 43, .tid = 43, .fork = { 41, 42 }, .time_ns = 5, .cpu = 1 },
};

static char *what_ran_as_text(void)
{
	struct buf text = { 0 };
	char *out;

	for (size_t i = 0; i < ARRAY_SIZE(what_ran); i++)
		event_format(&text, &what_ran[i]);
	out = xstrdup(buf_cstr(&text));
	buf_fini(&text);
	return out;
}

static struct perfdata_file *open_file(const char *path)
{
	struct writer_event event = test_event();
	struct perfdata_file *f = NULL;

	assert_int_equal(perfdata_file_open(path, &event, 1, &f, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(what_ran); i++)
		perfdata_file_event(f, &what_ran[i]);
	return f;
}

static void what_is_written_is_read_again(void **state)
{
	struct error err = { 0 };
	cleanup(free_at_exit) char *expected = what_ran_as_text(), *text = NULL;
	uint64_t size;
	struct stat st;

	(void)state;
	assert_int_equal(perfdata_file_close(open_file("out.data"), &size, &err), 0);
	assert_int_equal(stat("out.data", &st), 0);
	assert_int_equal(size, st.st_size);
	text = read_file("out.data", &err);
	assert_string_equal(text, expected);
	assert_int_equal(err.code, 0);
}

static void header_and_sections_return_the_written_values(void **state)
{
	struct perfdata_file *f = open_file("info.data");
	struct writer_sections *s = perfdata_file_sections(f);
	const struct build_id id = { .len = 20, .bytes = { 9, 8, 7 } };
	const struct perfdata_info *info;
	struct perfdata_bytes file = { .name = "t" };
	struct perfdata *p;
	char *bytes;

	(void)state;
	writer_text_section(s, FEATURE_HOSTNAME, "first");
	writer_text_section(s, FEATURE_HOSTNAME, "host");
	writer_text_section(s, FEATURE_ARCH, "x86_64");
	writer_build_id(writer_section(s, FEATURE_BUILD_ID), "/bin/x", &id, false);
	assert_int_equal(perfdata_file_close(f, NULL, NULL), 0);
	assert_int_equal(file_read_all("info.data", 1 << 20, &bytes, &file.size), 0);
	file.base = (const uint8_t *)bytes;
	assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
	info = perfdata_info(p);
	assert_string_equal(info->hostname, "host");
	assert_string_equal(info->arch, "x86_64");
	assert_int_equal(info->counters.n, 1);
	assert_string_equal(info->counters.data[0].name, "a name");
	assert_int_equal(info->counters.data[0].n_ids, 2);
	assert_int_equal(info->counters.data[0].ids[1], 101);
	assert_int_equal(info->counters.data[0].attr.sample_period, 7);
	assert_int_equal(info->sections.n, 4); /* and EVENT_DESC */
	perfdata_free(p);
	free(bytes);
}

static void a_killed_writer_leaves_its_flushed_blocks(void **state)
{
	struct error err = { 0 };
	cleanup(free_at_exit) char *expected = what_ran_as_text(), *text = NULL;
	struct perfdata_file *f = open_file("killed.data");

	(void)state;
	assert_int_equal(perfdata_file_flush(f), 0);
	text = read_file("killed.data", &err);
	assert_string_equal(text, expected);
	assert_int_equal(err.code, -EBADMSG);
	assert_non_null(strstr(err.text, "the recorder was killed"));
	perfdata_file_abandon(f);
	assert_int_equal(access("killed.data", F_OK), -1);
}

static void what_is_in_the_way_is_kept_or_refused(void **state)
{
	struct writer_event event = test_event();
	struct perfdata_file *f = NULL;
	struct error err = { 0 };

	(void)state;
	write_file("other", "no recording");
	assert_int_equal(perfdata_file_open("other", &event, 1, &f, &err), -EEXIST);
	assert_non_null(strstr(err.text, "other is in the way"));
	assert_int_equal(perfdata_file_close(open_file("twice.data"), NULL, NULL), 0);
	perfdata_file_abandon(open_file("twice.data"));
	assert_int_equal(access("twice.data", F_OK), 0);
	assert_int_equal(access("twice.data.old", F_OK), -1);
	assert_int_equal(perfdata_file_close(open_file("twice.data"), NULL, NULL), 0);
	assert_int_equal(access("twice.data.old", F_OK), 0);
}

/* A file by hand, in either byte order, with two samples of a process. */
static void write_by_hand(const char *path, bool is_foreign)
{
	static const struct test_attr plain = {
		.type = PERF_TYPE_SOFTWARE, .size = 64, .period = 7, .sample_type = PLAIN_TYPE
	};
	struct writer w = { .is_foreign = is_foreign };
	FILE *out = fopen(path, "we");

	begin_file(&w, &plain, 1);
	put_comm(&w, 41, "hand", 1);
	put_mmap(&w, 41, 0x1000, 0x1000, "/bin/x", 2);
	put_sample(&w, 41, 0x1010, 4);
	put_sample(&w, 41, 0x1020, 3);
	put_round(&w);
	end_file(&w);
	assert_int_equal(fwrite(w.b.data, 1, w.b.len, out), w.b.len);
	fclose(out);
	buf_fini(&w.b);
}

static void a_recording_of_either_byte_order_is_written_again(void **state)
{
	(void)state;
	for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
		struct error damage = { 0 }, err = { 0 };
		cleanup(free_at_exit) char *before = NULL, *after = NULL;
		uint64_t n = 0;

		write_by_hand("hand.data", is_foreign);
		assert_int_equal(copy_file("hand.data", "copy.data", &n, &damage, &err), 0);
		assert_int_equal(n, 2);
		assert_int_equal(damage.code, 0);
		before = read_file("hand.data", &err);
		after = read_file("copy.data", &err);
		assert_string_equal(before, after);
		assert_non_null(strstr(after, "ip=0x1010"));
	}
}

static void a_damaged_recording_is_written_up_to_the_damage(void **state)
{
	struct error damage = { 0 }, err = { 0 };
	cleanup(free_at_exit) char *after = NULL;
	uint64_t n = 0;
	struct stat st;

	(void)state;
	write_by_hand("cut.data", false);
	assert_int_equal(stat("cut.data", &st), 0);
	assert_int_equal(truncate("cut.data", st.st_size - 12), 0);
	assert_int_equal(copy_file("cut.data", "rest.data", &n, &damage, &err), 0);
	assert_int_equal(damage.code, -EBADMSG);
	assert_int_equal(n, 1);
	after = read_file("rest.data", &err);
	assert_int_equal(err.code, 0);
	assert_non_null(strstr(after, "ip=0x1010"));
}

/* Everything that a sample can have, written and decoded, is there again. */
static void a_sample_that_is_written_is_read_as_it_was(void **state)
{
	const uint64_t callers[] = { 0xffffffff81000010, 0x2000, 0x3000 }, registers[] = { 5, 6 };
	const struct branch branches[] = { { 0x10, 0x20, 1 }, { 0x30, 0x40, 2 } };
	const struct sample_extra extra = {
		.addr = 0x77,
		.transaction = 9,
		.weight = 3,
		.raw = (const uint8_t *)"bytes",
		.raw_size = 5,
		.branches = branches,
		.n_branches = 2,
		.interrupted = { .abi = 2, .mask = 0x101, .values = registers, .n_values = 2 },
	};
	const struct event e = {
		.type = EVENT_SAMPLE,
		.cpu = 3,
		.pid = 41,
		.tid = 42,
		.time_ns = 1000,
		.sample = { .mode = MODE_KERNEL,
			    .ip = 0xffffffff81000000,
			    .period = 12,
			    .callers = callers,
			    .n_callers = 3,
			    .n_kernel = 1,
			    .extra = &extra },
	};
	struct perf_event_attr attr = {
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_CPU |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW |
			       PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_WEIGHT |
			       PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = 0x111,
	};
	struct record_format format = { .sample_type = attr.sample_type, .regs_intr = 0x111 };
	struct record_scratch *scratch = xcalloc(1, sizeof(*scratch));
	struct buf bytes = { 0 };
	struct event got;
	const struct sample_extra *x;

	(void)state;
	assert_true(writer_sample(&attr, 100, &e, &bytes));
	assert_int_equal(bytes.len % 8, 0);
	assert_int_equal(record_decode(&format, bytes.data, bytes.len, 0, scratch, &got),
			 RECORD_OK);
	x = got.sample.extra;
	assert_true(got.pid == 41 && got.tid == 42 && got.cpu == 3 && got.time_ns == 1000);
	assert_true(got.sample.mode == MODE_KERNEL && got.sample.ip == e.sample.ip &&
		    got.sample.period == 12);
	assert_true(got.sample.n_callers == 3 && got.sample.n_kernel == 1);
	assert_memory_equal(got.sample.callers, callers, sizeof(callers));
	assert_true(x->addr == 0x77 && x->transaction == 9 && x->weight == 3);
	assert_memory_equal(x->raw, "bytes", 6);
	assert_int_equal(x->n_branches, 2);
	assert_memory_equal(x->branches, branches, sizeof(branches));
	assert_true(x->interrupted.n_values == 3 && x->interrupted.values[0] == 5 &&
		    x->interrupted.values[1] == 0 && x->interrupted.values[2] == 6);
	/* Fields that the writer does not support are refused, and nothing is written. */
	bytes.len = 0;
	attr.sample_type |= PERF_SAMPLE_STACK_USER;
	assert_false(writer_sample(&attr, 100, &e, &bytes));
	assert_int_equal(bytes.len, 0);
	buf_fini(&bytes);
	free(scratch);
}

/* The reader, which shares the pipe with other programs, may have made it so. */
static void a_pipe_that_does_not_block_gets_everything(void **state)
{
	static uint8_t bytes[1 << 20], got[1 << 16];
	struct perfdata_pipe *p;
	size_t n_read = 0;
	ssize_t n;
	int fds[2], status;
	pid_t reader;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	reader = fork();
	if (!reader) {
		close(fds[1]);
		while ((n = read(fds[0], got, sizeof(got))) > 0) {
			n_read += (size_t)n;
			usleep(1000);
		}
		_exit(n_read != sizeof(bytes));
	}
	close(fds[0]);
	assert_int_equal(fcntl(fds[1], F_SETFL, O_NONBLOCK), 0);
	p = perfdata_pipe_new(fds[1]);
	perfdata_pipe_write(p, &(struct iovec){ bytes, sizeof(bytes) }, 1);
	assert_int_equal(perfdata_pipe_failure(p), 0);
	assert_int_equal(perfdata_pipe_size(p), sizeof(bytes));
	perfdata_pipe_free(p);
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_that_is_written_is_read_as_it_was),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(header_and_sections_return_the_written_values),
		cmocka_unit_test(a_killed_writer_leaves_its_flushed_blocks),
		cmocka_unit_test(what_is_in_the_way_is_kept_or_refused),
		cmocka_unit_test(a_recording_of_either_byte_order_is_written_again),
		cmocka_unit_test(a_damaged_recording_is_written_up_to_the_damage),
		cmocka_unit_test(a_pipe_that_does_not_block_gets_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
