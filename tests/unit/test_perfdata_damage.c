/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of perf that are damaged, cut, compressed or unknown. */
#include "perfdata_read.h"

#include <errno.h>

/* Compression. */

/* The bytes of `plain` as records of `piece` compressed bytes each, in one zstd stream. */
static void put_compressed(struct writer *w, const struct buf *records, size_t piece, bool is_2)
{
	size_t room = ZSTD_compressBound(records->len), size;
	uint8_t *packed = xmalloc(room);

	size = ZSTD_compress(packed, room, records->data, records->len, 1);
	assert_false(ZSTD_isError(size));
	for (size_t at = 0; at < size; at += piece) {
		size_t n = MIN(piece, size - at);

		begin_record(w, is_2 ? 83 : 81, 0);
		if (is_2)
			put64(w, n);
		buf_bytes(&w->b, packed + at, n);
		while (is_2 && w->b.len % 8)
			buf_u8(&w->b, 0xee);
		end_record(w);
	}
	free(packed);
}

static void records_straddle_compressed_records(void **state)
{
	(void)state;
	for (int is_2 = 0; is_2 < 2; is_2++) {
		struct writer w = { 0 }, inner = { 0 };
		struct reading_result r;

		for (uint64_t i = 0; i < 20000; i++)
			put_sample(&inner, 1, i * 2654435761u, 1 + i);
		begin_pipe(&w, &plain, 5);
		put_compressed(&w, &inner.b, 1001, is_2);
		read_written(&r, &w);
		assert_int_equal(r.r, 0);
		assert_int_equal(r.l.seen.n, 20000);
		for (uint64_t i = 0; i < 20000; i++)
			assert_int_equal(r.l.seen.data[i].ip, i * 2654435761u);
		buf_fini(&inner.b);
		done(&r, &w);
	}
}

static void damaged_compressed_data_is_reported_with_its_place(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_pipe(&w, &plain, 5);
	put_sample(&w, 1, 2, 3);
	begin_record(&w, 81, 0);
	put64(&w, 0x1234567812345678);
	end_record(&w);
	read_written(&r, &w);
	assert_int_equal(r.r, -EBADMSG);
	assert_non_null(strstr(r.err.text, "compressed data is damaged"));
	assert_non_null(strstr(r.err.text, "at offset 136"));
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void nothing_is_read_behind_a_bad_first_compressed_record(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_pipe(&w, &plain, 5);
	put_sample(&w, 1, 2, 3);
	begin_record(&w, 83, 0); /* COMPRESSED2, of more bytes than it has */
	put64(&w, 100);
	end_record(&w);
	put_sample(&w, 1, 2, 4);
	read_written(&r, &w);
	assert_int_equal(r.r, -EBADMSG);
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void a_compressed_bomb_ends_at_its_first_record(void **state)
{
	struct buf zeros = { 0 };
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	buf_reserve(&zeros, 64 << 20);
	memset(zeros.data, 0, 64 << 20);
	zeros.len = 64 << 20;
	begin_pipe(&w, &plain, 5);
	put_compressed(&w, &zeros, 60000, true);
	read_written(&r, &w);
	assert_int_equal(r.r, -EBADMSG);
	assert_non_null(strstr(r.err.text, "a size of 0"));
	buf_fini(&zeros);
	done(&r, &w);
}

static void a_bomb_of_valid_records_is_refused(void **state)
{
	struct writer w = { 0 }, rounds = { 0 };
	struct reading_result r;

	(void)state;
	for (int i = 0; i < 4 << 20; i++)
		put_round(&rounds);
	begin_pipe(&w, &plain, 5);
	put_compressed(&w, &rounds.b, 60000, false);
	assert_true(w.b.len < 10000);
	read_written(&r, &w);
	assert_int_equal(r.r, -EBADMSG);
	assert_non_null(strstr(r.err.text, "more than 1000 times its size"));
	buf_fini(&rounds.b);
	done(&r, &w);
}

/* Damage. */

static void write_small(struct writer *w)
{
	begin_file(w, &plain, 1);
	put_comm(w, 41, "worker", 0);
	put_mmap(w, 41, 0x1000, 0x500, "/bin/worker", 1);
	put_sample(w, 41, 0x1234, 5000);
	put_round(w);
	put_sample(w, 41, 0x1238, 5001);
	end_file(w);
}

static void a_file_cut_at_any_byte_gives_its_whole_records(void **state)
{
	struct writer w = { 0 };
	size_t most = 0;

	(void)state;
	write_small(&w);
	for (size_t size = 0; size < w.b.len; size++) {
		uint8_t *copy = xmalloc(size + 1); /* so that a read beyond it is seen */
		struct reading_result r;

		memcpy(copy, w.b.data, size);
		read_bytes(&r, copy, size);
		assert_true(r.r < 0);
		assert_true(r.err.text[0]);
		assert_true(r.l.seen.n >= most); /* never less than with fewer bytes */
		most = r.l.seen.n;
		done(&r, NULL);
		free(copy);
	}
	assert_int_equal(most, 3);
	buf_fini(&w.b);
}

static void any_bit_flipped_anywhere_is_survived(void **state)
{
	struct writer w = { 0 };

	(void)state;
	write_small(&w);
	for (size_t bit = 0; bit < 8 * w.b.len; bit++) {
		uint8_t *copy = xmalloc(w.b.len);
		struct reading_result r;

		memcpy(copy, w.b.data, w.b.len);
		copy[bit / 8] ^= (uint8_t)(1 << bit % 8);
		read_bytes(&r, copy, w.b.len);
		assert_true(r.r >= 0 || r.err.text[0]);
		done(&r, NULL);
		free(copy);
	}
	buf_fini(&w.b);
}

static void a_record_of_size_zero_is_reported_with_its_offset(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;
	char want[80];

	(void)state;
	begin_file(&w, &plain, 1);
	put_sample(&w, 1, 2, 3);
	snprintf(want, sizeof(want), "at offset %zu: a record claims a size of 0", w.b.len);
	put64(&w, 9);
	read_written(&r, &w);
	assert_int_equal(r.r, -EBADMSG);
	assert_string_equal(r.err.text, want);
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void a_feature_outside_of_the_file_is_reported_and_samples_are_read(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	write_small(&w);
	put_at(&w, 72, 1 << 3, 8); /* HOSTNAME */
	put64(&w, 1 << 30);
	put64(&w, 40);
	read_bytes(&r, w.b.data, w.b.len);
	assert_int_equal(r.r, -EBADMSG);
	assert_non_null(strstr(r.err.text, "a feature section"));
	assert_int_equal(r.l.seen.n, 4);
	done(&r, &w);
}

static void an_unknown_feature_is_kept_without_a_name(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	write_small(&w);
	put_at(&w, 72 + 8, 1, 8); /* bit 64 */
	put64(&w, w.b.len + 16);
	put64(&w, 8);
	put64(&w, 4711);
	read_bytes(&r, w.b.data, w.b.len);
	assert_int_equal(r.r, 0);
	assert_int_equal(perfdata_info(r.p)->sections.n, 1);
	assert_int_equal(perfdata_info(r.p)->sections.data[0].feature, 64);
	assert_null(perfdata_info(r.p)->sections.data[0].name);
	done(&r, &w);
}

static void a_killed_recorder_leaves_its_written_samples(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	write_small(&w);
	put_at(&w, 48, 0, 8);
	read_bytes(&r, w.b.data, w.b.len);
	assert_int_equal(r.r, -EBADMSG);
	assert_non_null(strstr(r.err.text, "the recorder was killed"));
	assert_int_equal(r.l.seen.n, 4);
	done(&r, &w);
}

static void other_files_are_refused_by_their_kind(void **state)
{
	static const char v1[] = "PERFFILE00000000", elf[] = "\177ELF000000000000";
	struct reading_result r;

	(void)state;
	read_bytes(&r, v1, 16);
	assert_int_equal(r.r, -ENOTSUP);
	assert_non_null(strstr(r.err.text, "PERFFILE"));
	read_bytes(&r, elf, 16);
	assert_int_equal(r.r, -EINVAL);
	assert_non_null(strstr(r.err.text, "no format that assay reads"));
	assert_false(perfdata_has_magic(elf, 16));
	assert_true(perfdata_has_magic("PERFILE2", 8));
	assert_true(perfdata_has_magic("2ELIFREP", 8));
}

static void unknown_records_are_stepped_over_and_counted(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;

	(void)state;
	begin_file(&w, &plain, 1);
	begin_record(&w, 4000, 0);
	put64(&w, 1);
	end_record(&w);
	begin_record(&w, 60, 0);
	end_record(&w);
	put_sample(&w, 1, 2, 3);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(perfdata_stats(r.p)->unknown_types, 2);
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void aux_data_is_stepped_over_and_its_place_kept(void **state)
{
	struct writer w = { 0 };
	struct reading_result r;
	size_t at;

	(void)state;
	begin_file(&w, &plain, 1);
	begin_record(&w, 71, 0);
	put64(&w, 16); /* size */
	put64(&w, 4096);
	put64(&w, 7);
	put32(&w, 3); /* index */
	put32(&w, 99);
	put32(&w, 2); /* CPU */
	put32(&w, 0);
	end_record(&w);
	at = w.b.len;
	put64(&w, UINT64_MAX);
	put64(&w, 0);
	put_sample(&w, 1, 2, 3);
	read_written(&r, &w);
	assert_int_equal(r.r, 0);
	assert_int_equal(r.l.seen.n, 1);
	assert_int_equal(perfdata_stats(r.p)->aux.n, 1);
	assert_int_equal(perfdata_stats(r.p)->aux.data[0].file_off, at);
	assert_int_equal(perfdata_stats(r.p)->aux.data[0].size_bytes, 16);
	assert_int_equal(perfdata_stats(r.p)->aux.data[0].cpu, 2);
	done(&r, &w);
}

static void aux_data_is_found_before_the_reading_and_not_twice(void **state)
{
	struct perfdata_aux aux;
	struct reading_result r = { .l = { .sink = { listen } } };
	struct perfdata_bytes file;
	struct writer w = { 0 };

	(void)state;
	begin_file(&w, &plain, 1);
	begin_record(&w, 71, 0);
	put64(&w, 8);
	for (int i = 0; i < 4; i++)
		put64(&w, 0);
	end_record(&w);
	put64(&w, 0x1122334455667788);
	put_sample(&w, 1, 2, 3);
	end_file(&w);
	file = (struct perfdata_bytes){ w.b.data, w.b.len, "t" };
	assert_int_equal(perfdata_open(&file, 1, &r.p, NULL), 0);
	perfdata_find_aux(r.p);
	assert_int_equal(perfdata_stats(r.p)->aux.n, 1);
	aux = perfdata_stats(r.p)->aux.data[0];
	assert_non_null(perfdata_aux_bytes(r.p, &aux));
	assert_int_equal(perfdata_aux_bytes(r.p, &aux)[0], 0x88);
	aux.size_bytes = UINT64_MAX;
	assert_null(perfdata_aux_bytes(r.p, &aux));
	aux.file = 1;
	assert_null(perfdata_aux_bytes(r.p, &aux));
	assert_int_equal(perfdata_read(r.p, &r.l.sink, NULL), 0);
	assert_int_equal(perfdata_stats(r.p)->aux.n, 1);
	assert_int_equal(r.l.seen.n, 1);
	done(&r, &w);
}

static void a_sink_that_refuses_ends_the_reading(void **state)
{
	struct writer w = { 0 };
	struct perfdata_bytes file;
	struct listener l = { .sink = { listen }, .refusal = -ENOSPC };
	struct perfdata *p;

	(void)state;
	write_small(&w);
	file = (struct perfdata_bytes){ w.b.data, w.b.len, "t" };
	assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
	assert_int_equal(perfdata_read(p, &l.sink, NULL), -ENOSPC);
	assert_int_equal(l.seen.n, 1);
	perfdata_free(p);
	vec_fini(&l.seen);
	buf_fini(&w.b);
}

/* As the kernel gives them to the second of two profilers: too long, and garbage at the end. */
static void surplus_behind_a_trailer_is_left_alone(void **state)
{
	const struct record_format format = {
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME,
		.sample_id_all = true,
	};
	struct {
		struct perf_event_header header;
		uint64_t addr;
		uint32_t len;
		uint16_t type, flags;
		char name[16];
		uint32_t pid, tid;
		uint64_t time_ns, garbage[2];
	} symbol = {
		.header = { .type = PERF_RECORD_KSYMBOL, .size = sizeof(symbol) },
		.addr = 0xffffffffc0000000,
		.len = 64,
		.type = PERF_RECORD_KSYMBOL_TYPE_BPF,
		.name = "bpf_prog_12",
		.pid = 7,
		.tid = 8,
		.time_ns = 1234567,
		.garbage = { 0x4ba000004ba0, 0x600002000000000a },
	};
	struct {
		struct perf_event_header header;
		uint16_t type, flags;
		uint32_t id;
		uint8_t tag[8];
		uint32_t pid, tid;
		uint64_t time_ns, garbage[2];
	} program = {
		.header = { .type = PERF_RECORD_BPF_EVENT, .size = sizeof(program) },
		.type = PERF_BPF_EVENT_PROG_LOAD,
		.id = 12,
		.pid = 7,
		.tid = 8,
		.time_ns = 7654321,
		.garbage = { UINT64_MAX, UINT64_MAX },
	};
	struct record_scratch scratch;
	struct event e;

	(void)state;
	assert_int_equal(record_time(&format, &symbol, sizeof(symbol)), 1234567);
	assert_int_equal(record_decode(&format, &symbol, sizeof(symbol), 0, &scratch, &e),
			 RECORD_OK);
	assert_int_equal(e.time_ns, 1234567);
	assert_int_equal(e.pid, 7);
	assert_string_equal(e.ksymbol.name, "bpf_prog_12");
	assert_int_equal(record_time(&format, &program, sizeof(program)), 7654321);
	assert_int_equal(record_decode(&format, &program, sizeof(program), 0, &scratch, &e),
			 RECORD_OK);
	assert_int_equal(e.time_ns, 7654321);
	/* A name without an end is cut at the record's. */
	memset((char *)&symbol + 24, 'x', sizeof(symbol) - 24);
	record_time(&format, &symbol, sizeof(symbol));
	record_decode(&format, &symbol, sizeof(symbol), 0, &scratch, &e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(surplus_behind_a_trailer_is_left_alone),
		cmocka_unit_test(records_straddle_compressed_records),
		cmocka_unit_test(damaged_compressed_data_is_reported_with_its_place),
		cmocka_unit_test(nothing_is_read_behind_a_bad_first_compressed_record),
		cmocka_unit_test(a_compressed_bomb_ends_at_its_first_record),
		cmocka_unit_test(a_bomb_of_valid_records_is_refused),
		cmocka_unit_test(a_file_cut_at_any_byte_gives_its_whole_records),
		cmocka_unit_test(any_bit_flipped_anywhere_is_survived),
		cmocka_unit_test(a_record_of_size_zero_is_reported_with_its_offset),
		cmocka_unit_test(a_feature_outside_of_the_file_is_reported_and_samples_are_read),
		cmocka_unit_test(an_unknown_feature_is_kept_without_a_name),
		cmocka_unit_test(a_killed_recorder_leaves_its_written_samples),
		cmocka_unit_test(other_files_are_refused_by_their_kind),
		cmocka_unit_test(unknown_records_are_stepped_over_and_counted),
		cmocka_unit_test(aux_data_is_stepped_over_and_its_place_kept),
		cmocka_unit_test(aux_data_is_found_before_the_reading_and_not_twice),
		cmocka_unit_test(a_sink_that_refuses_ends_the_reading),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
