/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "perfdata_read.h"

#include <errno.h>

#include "event/text.h"

static void check_plain(bool is_foreign)
{
	struct writer w = { .is_foreign = is_foreign };
	struct reading_result r;

	begin_file(&w, &plain, 1);
	put_comm(&w, 41, "worker", 0);
	put_mmap(&w, 41, 0x1000, 0x500, "/bin/worker", 0);
	put_sample(&w, 41, 0x1234, 5000);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 3);
	assert_string_equal(r.l.seen.data[0].text, "worker");
	assert_string_equal(r.l.seen.data[1].text, "/bin/worker");
	assert_int_equal(r.l.seen.data[2].ip, 0x1234);
	assert_int_equal(r.l.seen.data[2].pid, 41);
	assert_int_equal(r.l.seen.data[2].cpu, 1);
	assert_int_equal(r.l.seen.data[2].time_ns, 5000);
	assert_int_equal(r.l.seen.data[2].period, 7);
	assert_string_equal(perfdata_info(r.p)->counters.data[0].name, "cpu-clock:HG");
	assert_string_equal(perfdata_info(r.p)->counters.data[0].unit, "ns");
	done(&r, &w);
}

static void the_oldest_attr_of_64_bytes_is_read(void **state)
{
	(void)state;
	check_plain(false);
}

static void the_other_byte_order_gives_the_same_events(void **state)
{
	(void)state;
	check_plain(true);
}

static void an_attr_longer_than_ours_is_read(void **state)
{
	struct test_attr attr = plain;
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	attr.size = 400;
	begin_file(&w, &attr, 1);
	put_sample(&w, 1, 2, 3);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void records_of_a_round_come_in_the_order_of_time(void **state)
{
	static const uint64_t times[] = { 30, 50, 10, 40, 20 };
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, &plain, 1);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		put_sample(&w, 1, times[i], times[i]);
	put_round(&w);
	put_sample(&w, 1, 45, 45); /* may be as old as the round before ended */
	put_round(&w);
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 6);
	for (size_t i = 1; i < 6; i++)
		assert_true(r.l.seen.data[i - 1].time_ns <= r.l.seen.data[i].time_ns);
	assert_int_equal(perfdata_stats(r.p)->late, 0);
	done(&r, &w);
}

static void what_is_older_than_its_round_may_be_is_counted_as_late(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, &plain, 1);
	for (uint64_t t = 1; t < 4; t++) {
		put_sample(&w, 1, t, t * 1000);
		put_round(&w);
	}
	put_sample(&w, 1, 9, 5); /* the clock went back */
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 4);
	assert_int_equal(perfdata_stats(r.p)->late, 1);
	done(&r, &w);
}

static void many_runs_are_merged_in_a_stable_order(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, &plain, 1);
	for (uint64_t i = 0; i < 1000; i++)
		put_sample(&w, 1, i, 1 + i * 7919 % 101);
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 1000);
	for (size_t i = 1; i < 1000; i++) {
		const struct seen *a = &r.l.seen.data[i - 1], *b = &r.l.seen.data[i];

		assert_true(a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->ip < b->ip));
	}
	done(&r, &w);
}

/* Everything that a sample can have, in the order of perf_event_open(2). */
static void put_full_sample(struct writer *w)
{
	begin_record(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(w, 100);    /* IDENTIFIER */
	put64(w, 0x4000); /* IP */
	put32(w, 41);
	put32(w, 42);
	put64(w, 900);    /* TIME */
	put64(w, 0xadd7); /* ADDR */
	put64(w, 77);     /* PERIOD */
	put64(w, 3);      /* CALLCHAIN */
	put64(w, (uint64_t)PERF_CONTEXT_USER);
	put64(w, 0x4000);
	put64(w, 0x5000);
	put32(w, 12); /* RAW */
	buf_bytes(&w->b, "tracepoint!", 12);
	put64(w, 1); /* BRANCH_STACK */
	put64(w, 0x111);
	put64(w, 0x222);
	/* mispredicted, 5 cycles, type 3: bits 0, 4-19, 20-23 of a bit field */
	put64(w, w->is_foreign ? (uint64_t)1 << 63 | (uint64_t)5 << 44 | (uint64_t)3 << 40
			       : 1 | 5 << 4 | 3 << 20);
	put64(w, 2); /* REGS_USER: 64-bit */
	put64(w, 0xabc);
	put64(w, 0xdef);
	put64(w, 16); /* STACK_USER */
	buf_bytes(&w->b, "0123456789abcdef", 16);
	put64(w, 8);     /* of which the kernel could copy so much */
	put64(w, 55);    /* WEIGHT */
	put64(w, 66);    /* DATA_SRC */
	put64(w, 88);    /* PHYS_ADDR */
	put64(w, 99);    /* CGROUP */
	put64(w, 4096);  /* DATA_PAGE_SIZE */
	put64(w, 65536); /* CODE_PAGE_SIZE */
	end_record(w);
}

static void check_full(bool is_foreign)
{
	const struct test_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = 120,
		.config = 0x3c,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | PERF_SAMPLE_PERIOD |
			       PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_WEIGHT |
			       PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_PHYS_ADDR | PERF_SAMPLE_CGROUP |
			       PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE,
		.regs_user = 0x9,
	};
	struct writer w = { .is_foreign = is_foreign };
	struct reading_result r;
	const struct sample_extra *x;

	begin_file(&w, &attr, 1);
	put_full_sample(&w);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(perfdata_stats(r.p)->bad_records, 0);
	assert_int_equal(r.l.seen.n, 1);
	assert_int_equal(r.l.seen.data[0].tid, 42);
	assert_int_equal(r.l.seen.data[0].period, 77);
	assert_int_equal(r.l.seen.data[0].n_callers, 1);
	x = &r.l.seen.data[0].extra;
	assert_int_equal(x->addr, 0xadd7);
	assert_int_equal(x->raw_size, 12);
	assert_int_equal(x->n_branches, 1);
	assert_int_equal(x->user.n_values, 2);
	assert_int_equal(x->user.mask, 9);
	assert_int_equal(r.l.seen.data[0].first_register, 0xabc);
	assert_int_equal(x->stack_size, 8);
	assert_true(x->is_stack_whole);
	assert_int_equal(x->weight, 55);
	assert_int_equal(x->data_src, 66);
	assert_int_equal(x->phys_addr, 88);
	assert_int_equal(x->cgroup, 99);
	assert_int_equal(x->data_page_size, 4096);
	assert_int_equal(x->code_page_size, 65536);
	done(&r, &w);
}

static void a_sample_with_everything_is_kept_whole(void **state)
{
	(void)state;
	check_full(false);
	check_full(true);
}

static int check_branch(struct event_sink *sink, const struct event *e)
{
	const struct branch *b = e->sample.extra->branches;

	(void)sink;
	assert_int_equal(b[0].from, 0x111);
	assert_int_equal(b[0].to, 0x222);
	assert_int_equal(b[0].flags, 1 | 5 << 4 | 3 << 20);
	assert_memory_equal(e->sample.extra->raw, "tracepoint!", 12);
	assert_memory_equal(e->sample.extra->stack, "01234567", 8);
	return 0;
}

static void branch_flags_are_the_same_in_either_byte_order(void **state)
{
	const struct test_attr attr = {
		.type = PERF_TYPE_RAW,
		.size = 64,
		.sample_type = PERF_SAMPLE_RAW | PERF_SAMPLE_BRANCH_STACK | PERF_SAMPLE_STACK_USER,
	};

	(void)state;
	for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
		struct writer w = { .is_foreign = is_foreign };
		struct event_sink sink = { check_branch };
		struct perfdata_bytes file;
		struct perfdata *p;

		begin_file(&w, &attr, 1);
		begin_record(&w, PERF_RECORD_SAMPLE, 0);
		put32(&w, 12);
		buf_bytes(&w.b, "tracepoint!", 12);
		put64(&w, 1);
		put64(&w, 0x111);
		put64(&w, 0x222);
		put64(&w, is_foreign ? (uint64_t)1 << 63 | (uint64_t)5 << 44 | (uint64_t)3 << 40
				     : 1 | 5 << 4 | 3 << 20);
		put64(&w, 8);
		buf_bytes(&w.b, "01234567", 8);
		put64(&w, 8);
		end_record(&w);
		end_file(&w);
		file = (struct perfdata_bytes){ w.b.data, w.b.len, "t" };
		assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
		assert_int_equal(perfdata_read(p, &sink, NULL), 0);
		assert_int_equal(perfdata_stats(p)->samples, 1);
		perfdata_free(p);
		buf_fini(&w.b);
	}
}

static void a_groups_leader_counts_for_each_member_that_counted(void **state)
{
	struct test_attr attrs[2] = {
		{ .type = PERF_TYPE_HARDWARE,
		  .size = 64,
		  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TIME | PERF_SAMPLE_READ,
		  .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID },
	};
	static const uint64_t values[][2] = { { 10, 100 }, { 15, 100 }, { 22, 130 } };
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	attrs[1] = attrs[0];
	attrs[1].config = 1;
	begin_file(&w, attrs, 2);
	for (uint64_t i = 0; i < 3; i++) {
		begin_record(&w, PERF_RECORD_SAMPLE, 0);
		put64(&w, 100);
		put64(&w, 10 + i);
		put64(&w, 2);
		put64(&w, values[i][0]);
		put64(&w, 100);
		put64(&w, values[i][1]);
		put64(&w, 101);
		end_record(&w);
	}
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 5); /* the second member did not count before the second */
	assert_int_equal(r.l.seen.data[0].period, 10);
	assert_int_equal(r.l.seen.data[1].counter, 1);
	assert_int_equal(r.l.seen.data[1].period, 100);
	assert_int_equal(r.l.seen.data[2].period, 5);
	assert_int_equal(r.l.seen.data[4].period, 30);
	done(&r, &w);
}

/* Since Linux 6.12 the values of an inherited counter are those of the sample's thread. */
static void inherited_values_are_those_of_each_thread(void **state)
{
	struct test_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = 64,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_READ,
		.read_format = PERF_FORMAT_ID,
	};
	static const struct {
		uint32_t tid;
		uint64_t value, of_thread, of_all;
	} samples[] = { { 7, 10, 10, 10 }, { 8, 30, 30, 20 }, { 7, 45, 35, 15 }, { 8, 46, 16, 1 } };
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	for (int inherited = 0; inherited < 2; inherited++) {
		attr.is_inherited = inherited;
		begin_file(&w, &attr, 1);
		for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
			begin_record(&w, PERF_RECORD_SAMPLE, 0);
			put64(&w, 100);
			put32(&w, 7);
			put32(&w, samples[i].tid);
			put64(&w, samples[i].value);
			put64(&w, 100);
			end_record(&w);
		}
		read_written(&r, &w);
		assert_int_equal(r.l.seen.n, ARRAY_SIZE(samples));
		for (size_t i = 0; i < ARRAY_SIZE(samples); i++)
			assert_int_equal(r.l.seen.data[i].period,
					 inherited ? samples[i].of_thread : samples[i].of_all);
		done(&r, &w);
	}
}

static void samples_of_an_id_that_no_event_has_are_counted(void **state)
{
	struct test_attr attrs[2] = {
		{ .size = 64, .sample_type = PERF_SAMPLE_ID | PERF_SAMPLE_IP },
		{ .size = 64, .sample_type = PERF_SAMPLE_ID | PERF_SAMPLE_IP, .config = 1 },
	};
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, attrs, 2);
	for (uint64_t id = 100; id < 103; id++) {
		begin_record(&w, PERF_RECORD_SAMPLE, 0);
		put64(&w, 0x10);
		put64(&w, id);
		end_record(&w);
	}
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 2);
	assert_int_equal(r.l.seen.data[0].counter, 0);
	assert_int_equal(r.l.seen.data[1].counter, 1);
	assert_int_equal(perfdata_stats(r.p)->unknown_ids, 1);
	done(&r, &w);
}

/* Numbers of a record's body: `size` bytes each. */
struct number {
	uint64_t value;
	int size;
};

static void put_numbers(struct writer *w, uint32_t type, uint16_t misc, const struct number *n)
{
	begin_record(w, type, misc);
	for (; n->size; n++) {
		if (n->size == 8)
			put64(w, n->value);
		else if (n->size == 4)
			put32(w, (uint32_t)n->value);
		else
			put16(w, (uint16_t)n->value);
	}
}

static void end_numbers(struct writer *w, uint64_t time_ns)
{
	put_trailer(w, 41, time_ns);
	end_record(w);
}

static void put_every_rare_record(struct writer *w)
{
	put_numbers(w, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT, (struct number[]){ { 0 } });
	end_numbers(w, 1);
	put_numbers(w, PERF_RECORD_SWITCH_CPU_WIDE, 0,
		    (struct number[]){ { 7, 4 }, { 8, 4 }, { 0 } });
	end_numbers(w, 2);
	put_numbers(w, PERF_RECORD_AUX, 0,
		    (struct number[]){ { 0x1000, 8 }, { 0x80, 8 }, { 1, 8 }, { 0 } });
	end_numbers(w, 3);
	put_numbers(w, PERF_RECORD_ITRACE_START, 0, (struct number[]){ { 5, 4 }, { 6, 4 }, { 0 } });
	end_numbers(w, 4);
	put_numbers(w, PERF_RECORD_NAMESPACES, 0,
		    (struct number[]){ { 5, 4 }, { 6, 4 }, { 1, 8 }, { 4, 8 }, { 9, 8 }, { 0 } });
	end_numbers(w, 5);
	put_numbers(w, PERF_RECORD_CGROUP, 0, (struct number[]){ { 17, 8 }, { 0 } });
	put_text(w, "/slice");
	end_numbers(w, 6);
	put_numbers(w, PERF_RECORD_BPF_EVENT, 0,
		    (struct number[]){ { 2, 2 }, { 0, 2 }, { 9, 4 }, { 0 } });
	buf_bytes(&w->b, "\1\2\3\4\5\6\7\10", 8);
	end_numbers(w, 7);
	put_numbers(w, PERF_RECORD_TEXT_POKE, 0,
		    (struct number[]){ { 0xff00, 8 }, { 2, 2 }, { 2, 2 }, { 0 } });
	buf_bytes(&w->b, "\17\37\350\1", 4);
	end_numbers(w, 8);
	put_numbers(w, PERF_RECORD_AUX_OUTPUT_HW_ID, 0, (struct number[]){ { 7, 8 }, { 0 } });
	end_numbers(w, 9);
}

static const char every_rare_record[] =
	"SWITCH 0.000000001 cpu1 41/41 switch other=-1/-1 out\n"
	"SWITCH_CPU_WIDE 0.000000002 cpu1 41/41 switch other=7/8\n"
	"AUX 0.000000003 cpu1 41/41 aux counter=0 off=0x1000 size=0x80 flags=0x1\n"
	"ITRACE_START 0.000000004 cpu1 5/6 itrace-start\n"
	"NAMESPACES 0.000000005 cpu1 5/6 namespaces links=0x4,0x9\n"
	"CGROUP 0.000000006 cpu1 41/41 cgroup n=17 path=\"/slice\"\n"
	"BPF_EVENT 0.000000007 cpu1 41/41 bpf-program n=9 gone tag=0102030405060708\n"
	"TEXT_POKE 0.000000008 cpu1 41/41 text-poke start=0xff00 old=0f1f new=e801\n"
	"AUX_OUTPUT_HW_ID 0.000000009 cpu1 41/41 aux-id counter=0 off=0x7 size=0x0 flags=0x0\n";

static int print_record(void *context, const struct perfdata_record *r)
{
	struct buf *out = context;

	buf_printf(out, "%s ", perfdata_record_name(r->type));
	if (r->has_event)
		event_format(out, &r->event);
	return 0;
}

static void records_are_visited_as_they_stand_in_either_byte_order(void **state)
{
	(void)state;
	for (int is_foreign = 0; is_foreign < 2; is_foreign++) {
		struct writer w = { .is_foreign = is_foreign };
		struct buf text = { 0 };
		struct perfdata_bytes file;
		struct perfdata *p;

		begin_file(&w, &plain, 1);
		put_every_rare_record(&w);
		end_file(&w);
		file = (struct perfdata_bytes){ w.b.data, w.b.len, "t" };
		assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
		assert_int_equal(perfdata_each_record(p, print_record, &text, NULL), 0);
		assert_string_equal(buf_cstr(&text), every_rare_record);
		perfdata_free(p);
		buf_fini(&text);
		buf_fini(&w.b);
	}
	assert_null(perfdata_record_name(0));
	assert_null(perfdata_record_name(63));
	assert_null(perfdata_record_name(UINT32_MAX));
}

static void a_pipe_tells_names_and_build_ids_after_the_samples(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_pipe(&w, &plain, 5);
	put_mmap(&w, 1, 0x1000, 0x1000, "/bin/x", 0);
	put_sample(&w, 1, 0x1001, 3);
	begin_record(&w, 78, 0); /* EVENT_UPDATE */
	put64(&w, 2);
	put64(&w, 5);
	put_text(&w, "my-event");
	end_record(&w);
	begin_record(&w, 80, 0); /* FEATURE */
	put64(&w, 3);
	put32(&w, 8);
	put_text(&w, "thehost");
	end_record(&w);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_true(perfdata_info(r.p)->is_pipe);
	assert_string_equal(perfdata_info(r.p)->counters.data[0].name, "my-event");
	assert_string_equal(perfdata_info(r.p)->hostname, "thehost");
	done(&r, &w);
}

static void an_event_without_a_name_has_its_pmus(void **state)
{
	struct test_attr attr = plain;
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	attr.type = 11;
	attr.config = 0x1234;
	begin_pipe(&w, &attr, 5);
	begin_record(&w, 80, 0); /* FEATURE: PMU_MAPPINGS */
	put64(&w, 16);
	put32(&w, 1);
	put32(&w, 11);
	put32(&w, 8);
	put_text(&w, "uncore");
	end_record(&w);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_string_equal(perfdata_info(r.p)->counters.data[0].name, "uncore/config=0x1234/");
	done(&r, &w);
}

static void what_a_guest_maps_is_not_its_hosts(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, &plain, 1);
	put_mmap(&w, 41, 0x1000, 0x1000, "[guest.kernel.kallsyms.41]", 0);
	put_at(&w, w.record + 4, PERF_RECORD_MISC_GUEST_KERNEL, 2);
	put_mmap(&w, 41, 0x1000, 0x1000, "/bin/qemu", 0);
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 1);
	assert_string_equal(r.l.seen.data[0].text, "/bin/qemu");
	done(&r, &w);
}

static void a_deferred_user_part_is_no_address(void **state)
{
	struct test_attr attr = plain;
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN;
	begin_file(&w, &attr, 1);
	begin_record(&w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	put64(&w, 0xffffffff81000010);
	put64(&w, 5);
	put64(&w, (uint64_t)PERF_CONTEXT_KERNEL);
	put64(&w, 0xffffffff81000010);
	put64(&w, 0xffffffff81000020);
	put64(&w, (uint64_t)-640);
	put64(&w, 77);
	end_record(&w);
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 1);
	assert_int_equal(r.l.seen.data[0].n_callers, 1);
	assert_int_equal(r.l.seen.data[0].n_kernel, 1);
	done(&r, &w);
}

static void put_deferred_sample(struct writer *w, uint32_t pid, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	put64(w, 0xffffffff81000010);
	put_trailer(w, pid, time_ns);
	put64(w, 4);
	put64(w, (uint64_t)PERF_CONTEXT_KERNEL);
	put64(w, 0xffffffff81000010);
	put64(w, (uint64_t)-640);
	put64(w, 77);
	end_record(w);
}

static void a_sample_that_waits_for_its_user_part_comes_before_the_threads_end(void **state)
{
	struct test_attr attr = plain;
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
	begin_file(&w, &attr, 1);
	put_deferred_sample(&w, 41, 100);
	put_deferred_sample(&w, 42, 101);
	begin_record(&w, PERF_RECORD_EXIT, 0);
	for (int i = 0; i < 4; i++)
		put32(&w, i < 2 ? 41 : 42); /* of 42 in 41 */
	put64(&w, 102);
	put_trailer(&w, 41, 102);
	end_record(&w);
	read_written(&r, &w);
	assert_int_equal(r.l.seen.n, 3);
	assert_int_equal(r.l.seen.data[0].time_ns, 101);
	assert_int_equal(r.l.seen.data[1].type, EVENT_EXIT);
	assert_int_equal(r.l.seen.data[2].time_ns, 100);
	done(&r, &w);
}

static void tracepoint_formats_name_their_events(void **state)
{
	static const char format[] = "name: sched_switch\nID: 314\nformat:\n\tfield:int x;\n";
	struct test_attr attr = plain;
	struct writer w = { 0 };
	struct reading_result r;
	size_t start;

	(void)state;
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.config = 314;
	begin_pipe(&w, &attr, 5);
	begin_record(&w, 66, 0);
	start = w.b.len;
	put32(&w, 0);
	end_record(&w);
	buf_bytes(&w.b, "\x17\x08\x44tracing0.6\0\0\x08", 16);
	put32(&w, 4096);
	buf_bytes(&w.b, "header_page", 12);
	put64(&w, 3);
	buf_bytes(&w.b, "abc", 3);
	buf_bytes(&w.b, "header_event", 13);
	put64(&w, 0);
	put32(&w, 0); /* ftrace's own */
	put32(&w, 1);
	buf_bytes(&w.b, "sched", 6);
	put32(&w, 1);
	put64(&w, sizeof(format) - 1);
	buf_bytes(&w.b, format, sizeof(format) - 1);
	put_at(&w, start, w.b.len - start - 4, 4);
	while ((w.b.len - start - 4) % 8)
		buf_u8(&w.b, 0);
	put_sample(&w, 1, 2, 3);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 1);
	assert_string_equal(perfdata_info(r.p)->counters.data[0].name, "sched:sched_switch");
	assert_int_equal(perfdata_info(r.p)->tracepoints.data[0].format_size, sizeof(format) - 1);
	done(&r, &w);
}

static void files_of_a_directory_are_merged_by_time(void **state)
{
	struct writer head = { 0 }, a = { 0 }, b = { 0 };
	struct listener l = { .sink = { listen } };
	struct perfdata_bytes files[3];
	struct perfdata *p;

	(void)state;
	begin_file(&head, &plain, 1);
	put_comm(&head, 1, "x", 0);
	end_file(&head);
	for (uint64_t t = 1; t < 40; t++)
		put_sample(t % 3 ? &a : &b, 1, t, t);
	files[0] = (struct perfdata_bytes){ head.b.data, head.b.len, "data" };
	files[1] = (struct perfdata_bytes){ a.b.data, a.b.len, "data.0" };
	files[2] = (struct perfdata_bytes){ b.b.data, b.b.len - 4, "data.1" };
	assert_int_equal(perfdata_open(files, 3, &p, NULL), 0);
	struct error err = { 0 };

	assert_int_equal(perfdata_read(p, &l.sink, &err), -EBADMSG);
	assert_non_null(strstr(err.text, "data.1: at offset 480"));
	assert_int_equal(l.seen.n, 39);
	for (size_t i = 1; i < 39; i++)
		assert_int_equal(l.seen.data[i].time_ns, i);
	perfdata_free(p);
	vec_fini(&l.seen);
	buf_fini(&head.b);
	buf_fini(&a.b);
	buf_fini(&b.b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_attr_of_64_bytes_is_read),
		cmocka_unit_test(the_other_byte_order_gives_the_same_events),
		cmocka_unit_test(an_attr_longer_than_ours_is_read),
		cmocka_unit_test(records_of_a_round_come_in_the_order_of_time),
		cmocka_unit_test(what_is_older_than_its_round_may_be_is_counted_as_late),
		cmocka_unit_test(many_runs_are_merged_in_a_stable_order),
		cmocka_unit_test(a_sample_with_everything_is_kept_whole),
		cmocka_unit_test(branch_flags_are_the_same_in_either_byte_order),
		cmocka_unit_test(a_groups_leader_counts_for_each_member_that_counted),
		cmocka_unit_test(inherited_values_are_those_of_each_thread),
		cmocka_unit_test(samples_of_an_id_that_no_event_has_are_counted),
		cmocka_unit_test(records_are_visited_as_they_stand_in_either_byte_order),
		cmocka_unit_test(a_pipe_tells_names_and_build_ids_after_the_samples),
		cmocka_unit_test(tracepoint_formats_name_their_events),
		cmocka_unit_test(an_event_without_a_name_has_its_pmus),
		cmocka_unit_test(what_a_guest_maps_is_not_its_hosts),
		cmocka_unit_test(a_deferred_user_part_is_no_address),
		cmocka_unit_test(
			a_sample_that_waits_for_its_user_part_comes_before_the_threads_end),
		cmocka_unit_test(files_of_a_directory_are_merged_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
