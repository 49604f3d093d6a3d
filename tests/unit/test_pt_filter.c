/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The address filters that a recording of Intel PT names in AUXTRACE_INFO. */
#include "unit.h"

#include <string.h>

#include "base/buf.h"
#include "perfdata/perfdata.h"
#include "trace/pt_trace_state.h"

enum { WORDS = 16 }; /* before the size of the text */

struct world {
	struct buf bytes; /* of AUXTRACE_INFO */
	struct image_table *images;
	struct address_space maps;
	struct pt_trace trace;
};

static void setup(struct world *w, const char *text, uint64_t size)
{
	struct image app = { .path = "/bin/app" };
	struct perfdata_info info = { 0 };

	*w = (struct world){ 0 };
	for (int i = 0; i < WORDS; i++)
		buf_u64(&w->bytes, 0);
	buf_u64(&w->bytes, size);
	buf_str(&w->bytes, text);
	info.aux_private = w->bytes.data;
	info.aux_private_size = w->bytes.len;
	pt_filters_read(&w->trace.filters, &info);
	w->images = w->trace.history.images = image_table_new();
	address_space_map(&w->maps, &(struct mapping){ .start = 0x400000,
						       .end = 0x410000,
						       .file_off = 0x1000,
						       .image = image_intern(w->images, &app) });
}

static void teardown(struct world *w)
{
	address_filters_fini(&w->trace.filters);
	address_space_fini(&w->maps);
	image_table_free(w->images);
	buf_fini(&w->bytes);
}

static bool excludes(struct world *w, uint64_t ip)
{
	return pt_filters_exclude(&w->trace, &w->maps, ip);
}

static void a_region_of_a_file(void **state)
{
	const char *text = "filter 0x1130/0x40@/bin/app";
	struct world w;

	(void)state;
	setup(&w, text, strlen(text));
	assert_true(excludes(&w, 0x40012f));
	assert_false(excludes(&w, 0x400130));
	assert_false(excludes(&w, 0x40016f));
	assert_true(excludes(&w, 0x400170));
	assert_true(excludes(&w, 0xffffffff81000000));
	assert_false(excludes(&w, 0x500000)); /* nothing is known of it */
	teardown(&w);
}

static void a_region_of_another_file_or_of_the_kernel(void **state)
{
	const char *text = "filter 0x1130/0x40@/bin/other,filter 0xffffffff81000000/0x100";
	struct world w;

	(void)state;
	setup(&w, text, strlen(text));
	assert_true(excludes(&w, 0x400130));
	assert_false(excludes(&w, 0xffffffff81000010));
	assert_true(excludes(&w, 0xffffffff81000100));
	teardown(&w);
}

static void filters_that_exclude_nothing(void **state)
{
	static const char *const texts[] = { "", "start 0x1130@/bin/app", "filter 0x1130", "\xff" };
	const char *text = "filter 0x1130/0x40@/bin/app";
	struct world w;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		setup(&w, texts[i], strlen(texts[i]));
		assert_false(excludes(&w, 0x400000));
		teardown(&w);
	}
	/* The text is longer than the record. */
	setup(&w, text, strlen(text) + 1);
	assert_int_equal(w.trace.filters.n, 0);
	teardown(&w);
	setup(&w, text, UINT64_MAX);
	assert_int_equal(w.trace.filters.n, 0);
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_region_of_a_file),
		cmocka_unit_test(a_region_of_another_file_or_of_the_kernel),
		cmocka_unit_test(filters_that_exclude_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
