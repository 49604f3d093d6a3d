/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pprof's messages and the gzip around them. */
#include "foreign/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <zlib.h>

#include "base/buf.h"
#include "foreign/gunzip.h"
#include "foreign/pprof.pb-c.h"
#include "unit.h"

static const char *const texts[] = {
	"",     "samples", "count",    "cpu",    "nanoseconds",
	"main", "inner",   "/bin/app", "00aabb", "pid",
	"comm", "web",     "7",        "tid",    "[kernel.kallsyms]",
};
enum {
	T_NONE,
	SAMPLES,
	COUNT,
	CPU,
	NANOSECONDS,
	MAIN,
	INNER,
	APP,
	BUILD_ID,
	PID,
	COMM,
	WEB,
	SEVEN,
	TID,
	KERNEL
};

/* Go's two sample types; an inlined place, one without names, one of the kernel. */
static struct buf pack_profile(int64_t value)
{
	Pprof__ValueType types[2] = { PPROF__VALUE_TYPE__INIT, PPROF__VALUE_TYPE__INIT };
	Pprof__ValueType *type_at[2] = { &types[0], &types[1] };
	Pprof__Mapping mapping[2] = { PPROF__MAPPING__INIT, PPROF__MAPPING__INIT };
	Pprof__Mapping *mapping_at[2] = { &mapping[0], &mapping[1] };
	Pprof__Function functions[2] = { PPROF__FUNCTION__INIT, PPROF__FUNCTION__INIT };
	Pprof__Function *function_at[2] = { &functions[0], &functions[1] };
	Pprof__Line lines[2] = { PPROF__LINE__INIT, PPROF__LINE__INIT };
	Pprof__Line *line_at[2] = { &lines[0], &lines[1] };
	Pprof__Location places[3] = { PPROF__LOCATION__INIT, PPROF__LOCATION__INIT,
				      PPROF__LOCATION__INIT };
	Pprof__Location *place_at[3] = { &places[0], &places[1], &places[2] };
	Pprof__Label labels[3] = { PPROF__LABEL__INIT, PPROF__LABEL__INIT, PPROF__LABEL__INIT };
	Pprof__Label *label_at[3] = { &labels[0], &labels[1], &labels[2] };
	Pprof__Sample sample = PPROF__SAMPLE__INIT, *sample_at = &sample;
	Pprof__Profile profile = PPROF__PROFILE__INIT;
	uint64_t chain[] = { 30, 10, 20 };
	int64_t values[] = { 3, value };
	struct buf out = { 0 };

	types[0].type = SAMPLES;
	types[0].unit = COUNT;
	types[1].type = CPU;
	types[1].unit = NANOSECONDS;
	mapping[0].id = 5;
	mapping[0].memory_start = 0x1000;
	mapping[0].memory_limit = 0x9000;
	mapping[0].file_offset = 0x400;
	mapping[0].filename = APP;
	mapping[0].build_id = BUILD_ID;
	mapping[1].id = 6;
	mapping[1].filename = KERNEL;
	functions[0].id = 1;
	functions[0].name = MAIN;
	functions[1].id = 2;
	functions[1].system_name = INNER;
	lines[0].function_id = 2;
	lines[1].function_id = 1;
	lines[1].line = 12;
	places[0].id = 10;
	places[0].mapping_id = 5;
	places[0].address = 0x1100;
	places[0].line = line_at;
	places[0].n_line = 2;
	places[1].id = 20;
	places[1].mapping_id = 5;
	places[1].address = 0x1200;
	places[2].id = 30;
	places[2].mapping_id = 6;
	places[2].address = UINT64_MAX;
	places[2].line = line_at;
	places[2].n_line = 1;
	labels[0].key = PID;
	labels[0].str = SEVEN;
	labels[1].key = COMM;
	labels[1].str = WEB;
	labels[2].key = TID;
	labels[2].num = 8;
	sample.location_id = chain;
	sample.n_location_id = 3;
	sample.value = values;
	sample.n_value = 2;
	sample.label = label_at;
	sample.n_label = 3;
	profile.sample_type = type_at;
	profile.n_sample_type = 2;
	profile.sample = &sample_at;
	profile.n_sample = 1;
	profile.mapping = mapping_at;
	profile.n_mapping = 2;
	profile.location = place_at;
	profile.n_location = 3;
	profile.function = function_at;
	profile.n_function = 2;
	profile.string_table = (char **)texts;
	profile.n_string_table = ARRAY_SIZE(texts);
	profile.time_nanos = 1700000000000000000;
	profile.duration_nanos = 2000000000;
	buf_reserve(&out, pprof__profile__get_packed_size(&profile));
	out.len = pprof__profile__pack(&profile, out.data);
	return out;
}

struct keeping_sink {
	struct foreign_sink sink;
	struct foreign_sample sample;
	struct foreign_frame frames[8];
	unsigned int n;
};

static int keep(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct keeping_sink *k = (struct keeping_sink *)sink;

	k->n++;
	k->sample = *s;
	memcpy(k->frames, s->frames, MIN(s->n_frames, ARRAY_SIZE(k->frames)) * sizeof(*k->frames));
	return 0;
}

static void assert_slice(struct slice s, const char *want)
{
	assert_true(slice_equal(s, slice_of(want)));
}

static void a_profile_is_read(void **state)
{
	struct buf bytes = pack_profile(30000000);
	struct keeping_sink k = { { keep } };
	struct foreign_facts facts = { 0 };

	(void)state;
	assert_true(pprof_has_magic(bytes.data, bytes.len));
	assert_int_equal(pprof_read(bytes.data, bytes.len, &k.sink, &facts, NULL), 0);
	assert_int_equal(k.n, 1);
	assert_slice(k.sample.event, "cpu");
	assert_slice(k.sample.unit, "ns");
	assert_slice(k.sample.comm, "web");
	assert_int_equal(k.sample.pid, 7);
	assert_int_equal(k.sample.tid, 8);
	assert_int_equal(k.sample.samples, 3);
	assert_int_equal(k.sample.period, 30000000);
	assert_int_equal(k.sample.n_frames, 4);
	assert_slice(k.frames[0].symbol, "inner");
	assert_true(k.frames[0].is_kernel);
	assert_slice(k.frames[1].symbol, "inner");
	assert_slice(k.frames[2].symbol, "main");
	assert_slice(k.frames[2].image, "/bin/app");
	assert_int_equal(k.frames[2].build_id.len, 3);
	assert_slice(k.frames[3].symbol, "");
	assert_true(k.frames[3].has_file_off);
	assert_int_equal(k.frames[3].file_off, 0x600);
	assert_int_equal(facts.wall_ns, 1700000000000000000);
	assert_int_equal(facts.duration_ns, 2000000000);
	assert_int_equal(facts.n_bad, 0);
	foreign_facts_fini(&facts);
	buf_fini(&bytes);
}

static void a_value_below_zero_is_left_out_and_counted(void **state)
{
	struct buf bytes = pack_profile(-1);
	struct keeping_sink k = { { keep } };
	struct foreign_facts facts = { 0 };

	(void)state;
	assert_int_equal(pprof_read(bytes.data, bytes.len, &k.sink, &facts, NULL), 0);
	assert_int_equal(k.n, 0);
	assert_int_equal(facts.n_negative, 1);
	buf_fini(&bytes);
}

/* Each sample would have a value of each. */
static void types_beyond_the_most_are_bad_messages(void **state)
{
	static const uint8_t type[] = { 0x0a, 0x00 }, sample[] = { 0x12, 0x03, 0x12, 0x01, 0x05 };
	struct keeping_sink k = { { keep } };
	struct foreign_facts facts = { 0 };
	struct buf bytes = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		buf_bytes(&bytes, type, sizeof(type));
	buf_bytes(&bytes, sample, sizeof(sample));
	assert_int_equal(pprof_read(bytes.data, bytes.len, &k.sink, &facts, NULL), 0);
	assert_int_equal(facts.n_bad, 36);
	assert_int_equal(k.n, 1);
	assert_int_equal(k.sample.period, 5);
	foreign_facts_fini(&facts);
	buf_fini(&bytes);
}

static void a_profile_cut_anywhere_is_an_error_or_has_less(void **state)
{
	struct buf bytes = pack_profile(1);

	(void)state;
	for (size_t n = 0; n < bytes.len; n++) {
		uint8_t *copy = xmalloc(n + 1); /* so that a read beyond it is seen */
		struct keeping_sink k = { { keep } };
		struct foreign_facts facts = { 0 };

		memcpy(copy, bytes.data, n);
		pprof_read(copy, n, &k.sink, &facts, NULL);
		foreign_facts_fini(&facts);
		free(copy);
	}
	buf_fini(&bytes);
}

static void a_flipped_bit_anywhere_does_no_harm(void **state)
{
	struct buf bytes = pack_profile(1);

	(void)state;
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		struct keeping_sink k = { { keep } };
		struct foreign_facts facts = { 0 };

		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		pprof_read(bytes.data, bytes.len, &k.sink, &facts, NULL);
		bytes.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		foreign_facts_fini(&facts);
	}
	buf_fini(&bytes);
}

/* gzip. */

static struct buf zip(const void *bytes, size_t size)
{
	z_stream z = { 0 };
	struct buf out = { 0 };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY),
			 Z_OK);
	buf_reserve(&out, deflateBound(&z, size) + 64);
	z.next_in = (Bytef *)bytes;
	z.avail_in = (uInt)size;
	z.next_out = out.data;
	z.avail_out = (uInt)out.cap;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	out.len = out.cap - z.avail_out;
	deflateEnd(&z);
	return out;
}

static void members_are_joined_and_padding_is_not_read(void **state)
{
	struct buf a = zip("one ", 4), b = zip("two", 3), out = { 0 };

	(void)state;
	buf_bytes(&a, b.data, b.len);
	buf_bytes(&a, "\0\0\0", 3);
	assert_int_equal(gunzip(a.data, a.len, 1 << 20, &out, NULL), 0);
	assert_string_equal(buf_cstr(&out), "one two");
	buf_fini(&a);
	buf_fini(&b);
	buf_fini(&out);
}

static void a_cut_stream_gives_its_whole_items(void **state)
{
	struct buf zipped = zip("one two three four", 18);

	(void)state;
	for (size_t n = 2; n < zipped.len; n++) {
		struct buf out = { 0 };
		struct error err = { 0 };

		assert_int_equal(gunzip(zipped.data, n, 1 << 20, &out, &err), -EBADMSG);
		assert_non_null(strstr(err.text, "cut short"));
		assert_true(out.len <= 18);
		buf_fini(&out);
	}
	buf_fini(&zipped);
}

static void a_bomb_is_refused_early(void **state)
{
	size_t size = 80 << 20;
	char *zeros = xcalloc(1, size);
	struct buf zipped = zip(zeros, size), twice = zip(zipped.data, zipped.len), out = { 0 };
	struct error err = { 0 };

	(void)state;
	assert_int_equal(gunzip(zipped.data, zipped.len, 16 << 20, &out, &err), -EFBIG);
	assert_true(out.cap < size);
	assert_non_null(strstr(err.text, "16777216 bytes"));
	buf_fini(&out);
	assert_int_equal(gunzip(zipped.data, zipped.len, 1 << 30, &out, &err), -EFBIG);
	assert_non_null(strstr(err.text, "200 times its size"));
	buf_fini(&out);
	assert_int_equal(gunzip(twice.data, twice.len, 1 << 30, &out, NULL), 0);
	assert_int_equal(out.len, zipped.len);
	free(zeros);
	buf_fini(&zipped);
	buf_fini(&twice);
	buf_fini(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_profile_is_read),
		cmocka_unit_test(a_value_below_zero_is_left_out_and_counted),
		cmocka_unit_test(types_beyond_the_most_are_bad_messages),
		cmocka_unit_test(a_profile_cut_anywhere_is_an_error_or_has_less),
		cmocka_unit_test(a_flipped_bit_anywhere_does_no_harm),
		cmocka_unit_test(members_are_joined_and_padding_is_not_read),
		cmocka_unit_test(a_cut_stream_gives_its_whole_items),
		cmocka_unit_test(a_bomb_is_refused_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
