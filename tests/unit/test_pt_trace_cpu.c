/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recordings of whole CPUs: whose code it is, what was lost, what a snapshot has twice. */
#include "unit.h"

#include <inttypes.h>
#include <string.h>

#include "perfdata_file.h"
#include "scratch.h"

#include "base/error.h"
#include "pt/packet_text.h"
#include "trace/pt_trace.h"

enum { PT_TYPE = 8, TSC_BIT = 1 << 10, AUXTRACE_INFO = 70, AUXTRACE = 71, CPU = 1 };

/* The same addresses have other code: 1000 jmp 1010, 1010 jmp *%rax; or call 1010 and that. */
#define NOPS "\x90\x90\x90\x90\x90\x90\x90"
static const char code_a[] = "\xeb\x0e" NOPS NOPS "\xff\xe0";
static const uint8_t code_b[0x12] = { 0xe8, 0x0b, 0, 0, 0, [0x10] = 0xff, 0xe0 };

struct world {
	struct writer w;
	struct pt_trace_sink sink;
	struct pt_trace *trace;
	struct buf said;
};

static void put_info(struct writer *w, bool is_snapshot)
{
	const uint64_t words[17] = { PT_TYPE, 0, 1, 0, 1, TSC_BIT, 0, 3, is_snapshot, 1 };

	begin_record(w, AUXTRACE_INFO, 0);
	put32(w, 1);
	put32(w, 0);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		put64(w, words[i]);
	end_record(w);
}

static void put_switch(struct writer *w, uint32_t pid, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_SWITCH, 0);
	put_trailer(w, pid, time_ns);
	end_record(w);
}

static void put_aux(struct writer *w, uint64_t flags, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_AUX, 0);
	put64(w, 0);
	put64(w, 64);
	put64(w, flags);
	put_trailer(w, 10, time_ns);
	end_record(w);
}

static void put_trace(struct writer *w, const char *packets)
{
	struct buf bytes = { 0 };

	assert_int_equal(pt_text_write(&bytes, packets, NULL), 0);
	while (bytes.len % 8)
		buf_u8(&bytes, 0);
	begin_record(w, AUXTRACE, 0);
	put64(w, bytes.len);
	put64(w, 0);
	put64(w, 0);
	put32(w, 0);
	put32(w, UINT32_MAX);
	put32(w, CPU);
	put32(w, 0);
	end_record(w);
	buf_bytes(&w->b, bytes.data, bytes.len);
	buf_fini(&bytes);
}

/* A sample of a process with the newest bytes of the CPU's trace (PERF_SAMPLE_AUX). */
static void put_sampled_trace(struct writer *w, uint32_t pid, const char *packets, uint64_t time_ns)
{
	struct buf bytes = { 0 };

	assert_int_equal(pt_text_write(&bytes, packets, NULL), 0);
	while (bytes.len % 8)
		buf_u8(&bytes, 0);
	begin_record(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(w, 0x1000);
	put_trailer(w, pid, time_ns);
	put64(w, bytes.len);
	buf_bytes(&w->b, bytes.data, bytes.len);
	end_record(w);
	buf_fini(&bytes);
}

static void begin_with(struct world *t, bool is_snapshot, uint64_t sample_type)
{
	const struct test_attr attr = { .type = PT_TYPE,
					.size = 112,
					.config = TSC_BIT,
					.period = 1,
					.sample_type = sample_type };

	*t = (struct world){ 0 };
	write_file("a", code_a);
	assert_int_equal(file_replace("b", code_b, sizeof(code_b), NULL), 0);
	begin_file(&t->w, &attr, 1);
	put_info(&t->w, is_snapshot);
	for (int i = 0; i < 2; i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", scratch_dir, i ? "b" : "a");

		put_mmap(&t->w, i ? 20 : 10, 0x1000, 0x1000, path, 100);
	}
}

static void begin(struct world *t, bool is_snapshot)
{
	begin_with(t, is_snapshot, PLAIN_TYPE);
}

static int say(struct pt_trace_sink *sink, const struct pt_span *s)
{
	struct world *t = (struct world *)((char *)sink - offsetof(struct world, sink));

	for (const struct pt_event *e = s->events; e < s->events + s->n; e++) {
		if (e->kind == PT_EV_BRANCH)
			buf_printf(&t->said, "%d@%u %" PRIx64 "-%" PRIx64 "\n", s->tid, s->cpu,
				   e->branch.from, e->branch.to);
		else if (e->kind == PT_EV_ERROR)
			buf_printf(&t->said, "%d@%u %s at %" PRIu64 "\n", s->tid, s->cpu,
				   pt_error_texts[e->error.reason], pt_trace_ns(t->trace, e->tsc));
	}
	return 0;
}

static struct perfdata *open_data(const struct world *t)
{
	struct perfdata_bytes bytes = { t->w.b.data, t->w.b.len, "test" };
	struct perfdata *data = NULL;
	struct error err = { 0 };

	if (perfdata_open(&bytes, 1, &data, &err) < 0)
		fail_msg("%s", err.text);
	return data;
}

static const char *decode(struct world *t, const uint32_t *cpus, size_t n_cpus)
{
	cleanup(perfdata_free_at_exit) struct perfdata *side_band = NULL, *data = NULL;
	struct pt_trace_config config = { .detail = PT_ALL_BRANCHES,
					  .cpus = cpus,
					  .n_cpus = n_cpus };

	end_file(&t->w);
	config.data = data = open_data(t);
	config.side_band = side_band = open_data(t);
	assert_int_equal(pt_trace_open(&config, &t->trace, NULL), 0);
	t->sink.span = say;
	/* In two halves, as when samples of other events stand between. */
	assert_int_equal(pt_trace_run(t->trace, 1600, &t->sink), 0);
	assert_int_equal(pt_trace_run(t->trace, UINT64_MAX, &t->sink), 0);
	pt_trace_close(t->trace);
	return buf_cstr(&t->said);
}

static void end(struct world *t)
{
	buf_fini(&t->said);
	buf_fini(&t->w.b);
}

#define PSB(tsc) "PSB\nTSC " #tsc "\nPSBEND\n"

static void code_is_that_of_the_thread_that_the_cpu_ran(void **state)
{
	struct world t;

	(void)state;
	begin(&t, false);
	put_switch(&t.w, 10, 500);
	put_switch(&t.w, 20, 1500);
	put_trace(&t.w, PSB(0x3e8) "TIP.PGE 0x1000\nTIP 0x1000\nTIP.PGD no ip\n" /* 1000 */
		  PSB(0x7d0) "TIP.PGE 0x1000\nTIP 0x1000\nTIP.PGD no ip\n");     /* 2000 */
	assert_string_equal(decode(&t, NULL, 0), "10@1 0-1000\n10@1 1000-1010\n10@1 1010-1000\n"
						 "10@1 1000-1010\n10@1 1010-0\n"
						 "20@1 0-1000\n20@1 1000-1010\n20@1 1010-1000\n"
						 "20@1 1000-1010\n20@1 1010-0\n");
	end(&t);
}

static void data_that_the_kernel_lost_is_an_error_at_its_time(void **state)
{
	struct world t;

	(void)state;
	begin(&t, false);
	put_switch(&t.w, 10, 500);
	put_aux(&t.w, PERF_AUX_FLAG_TRUNCATED, 1200);
	put_trace(&t.w, PSB(0x3e8) "TIP.PGE 0x1010\nTIP.PGD no ip\n" PSB(0x7d0));
	assert_string_equal(decode(&t, NULL, 0),
			    "10@1 0-1010\n10@1 1010-0\n"
			    "10@1 trace data was lost before it was stored at 1200\n");
	end(&t);
}

static void the_overlap_of_two_snapshots_comes_once(void **state)
{
	static const char first[] =
		PSB(0x3e8) "TIP.PGE 0x1010\nTIP 0x1010\nTIP 0x1010\nTIP 0x1010\nTIP 0x1010\n";
	cleanup(free_at_exit) char *both = xasprintf("%sPAD\nTIP.PGD no ip\n", first);
	struct world t;
	const char *said;
	int n = 0;

	(void)state;
	begin(&t, true);
	put_switch(&t.w, 10, 500);
	put_trace(&t.w, first);
	put_trace(&t.w, both);
	said = decode(&t, NULL, 0);
	for (const char *at = said; (at = strstr(at, "1010-1010")); at++)
		n++;
	assert_int_equal(n, 4);
	assert_null(strstr(said, "may not be"));
	assert_non_null(strstr(said, "1010-0\n"));
	end(&t);
}

static void a_packet_may_go_on_in_the_next_record(void **state)
{
	struct world t;
	struct buf whole = { 0 };

	(void)state;
	begin(&t, false);
	put_switch(&t.w, 10, 500);
	assert_int_equal(pt_text_write(&whole,
				       PSB(0x3e8) "TIP.PGE 0x1010/6\nTIP 0x1010/6\nTIP.PGD no ip\n",
				       NULL),
			 0);
	/* In the middle of the TIP, that is the last but one. */
	for (int half = 0; half < 2; half++) {
		size_t cut = whole.len - 6, from = half ? cut : 0, to = half ? whole.len : cut;

		begin_record(&t.w, AUXTRACE, 0);
		put64(&t.w, to - from);
		put64(&t.w, from);
		put64(&t.w, 0);
		put32(&t.w, 0);
		put32(&t.w, UINT32_MAX);
		put32(&t.w, CPU);
		put32(&t.w, 0);
		end_record(&t.w);
		buf_bytes(&t.w.b, whole.data + from, to - from);
	}
	assert_string_equal(decode(&t, NULL, 0), "10@1 0-1010\n10@1 1010-1010\n10@1 1010-0\n");
	buf_fini(&whole);
	end(&t);
}

/*
 * A sample's piece continues the one before, of another process, or of other code at the same
 * addresses. Execution goes on at the same address in the new code.
 */
static void a_sampled_piece_goes_on_in_the_code_of_its_own_process(void **state)
{
	/* 1000 jmp 1008, 1008 jmp *%rax */
	static const char code_c[] = "\xeb\x06\x90\x90\x90\x90\x90\x90\xff\xe0";
	cleanup(free_at_exit) char *path = xasprintf("%s/c", scratch_dir);
	struct world t;

	(void)state;
	write_file("c", code_c);
	begin_with(&t, false, PLAIN_TYPE | PERF_SAMPLE_AUX);
	put_sampled_trace(&t.w, 10, PSB(0x3e8) "TIP.PGE 0x1000\n", 1200);
	put_sampled_trace(&t.w, 20, PSB(0x3e8) "TIP.PGE 0x1000\nTIP 0x1000\n", 1300);
	put_mmap(&t.w, 20, 0x1000, 0x1000, path, 1400);
	put_sampled_trace(&t.w, 20,
			  PSB(0x3e8) "TIP.PGE 0x1000\nTIP 0x1000\nTIP 0x1000\nTIP.PGD no ip\n",
			  1500);
	assert_string_equal(decode(&t, NULL, 0), "10@1 0-1000\n20@1 1000-1010\n20@1 1010-1000\n"
						 "20@1 1000-1008\n20@1 1008-1000\n"
						 "20@1 1000-1008\n20@1 1008-0\n");
	end(&t);
}

static void cpus_that_are_not_asked_for_are_not_decoded(void **state)
{
	const uint32_t other = 7;
	struct world t;

	(void)state;
	begin(&t, false);
	put_switch(&t.w, 10, 500);
	put_trace(&t.w, PSB(0x3e8) "TIP.PGE 0x1010\nTIP.PGD no ip\n");
	assert_string_equal(decode(&t, &other, 1), "");
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_that_of_the_thread_that_the_cpu_ran),
		cmocka_unit_test(data_that_the_kernel_lost_is_an_error_at_its_time),
		cmocka_unit_test(the_overlap_of_two_snapshots_comes_once),
		cmocka_unit_test(a_packet_may_go_on_in_the_next_record),
		cmocka_unit_test(a_sampled_piece_goes_on_in_the_code_of_its_own_process),
		cmocka_unit_test(cpus_that_are_not_asked_for_are_not_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
