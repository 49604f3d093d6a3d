/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branch stacks of a recording by hand, as AutoFDO and BOLT read them. */
#include "export/branches.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "elf/elf_file.h"
#include "export/export.h"
#include "perfdata_file.h"
#include "replay/replay.h"
#include "scratch.h"

static char self[4096]; /* this program: an ELF file that is there */

static const struct test_attr with_branches = {
	.type = PERF_TYPE_HARDWARE,
	.size = 88,
	.period = 7,
	.sample_type = PLAIN_TYPE | PERF_SAMPLE_BRANCH_STACK,
};
static const struct test_attr without = {
	.type = PERF_TYPE_HARDWARE, .size = 64, .period = 7, .sample_type = PLAIN_TYPE
};

/* The newest first: back in a loop, mispredicted; within; in from a library; and an empty entry. */
static const uint64_t stack[][3] = {
	{ 0x1050, 0x1010, 1 },
	{ 0x1020, 0x1040, 2 },
	{ 0x900010, 0x1000, 2 },
	{ 0, 0, 0 },
};

static void put_branch_sample(struct writer *w, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	put64(w, 0x1010);
	put_trailer(w, 41, time_ns);
	put64(w, ARRAY_SIZE(stack));
	for (size_t i = 0; i < ARRAY_SIZE(stack); i++)
		for (int k = 0; k < 3; k++)
			put64(w, stack[i][k]);
	end_record(w);
}

static void write_recording(const char *path, const char *image, bool is_cut)
{
	struct writer w = { 0 };
	FILE *out = fopen(path, "we");

	begin_file(&w, &with_branches, 1);
	put_mmap(&w, 41, 0x1000, 0x1000, image, 1);
	put_mmap(&w, 41, 0x900000, 0x1000, "/lib/y", 1);
	put_branch_sample(&w, 2);
	put_branch_sample(&w, 3);
	end_file(&w);
	assert_int_equal(fwrite(w.b.data, 1, w.b.len - (is_cut ? 8 : 0), out),
			 w.b.len - (is_cut ? 8 : 0));
	fclose(out);
	buf_fini(&w.b);
}

static int export_as(const char *format, const char *recording, const char *image, char **text,
		     struct error *damage, struct error *err)
{
	const struct export_options options = { .image = image };
	struct replay *replay;
	uint64_t n;
	int r;

	assert_int_equal(replay_open(recording, &replay, err), 0);
	r = export_recording(export_find(format), &options, replay, "out", &n, damage, err);
	replay_close(replay);
	if (r >= 0) {
		size_t size;

		assert_int_equal(file_read_all("out", 1 << 20, text, &size), 0);
		assert_int_equal(size, n);
	}
	return r;
}

static void autofdo_has_ranges_samples_and_branches_of_the_image(void **state)
{
	struct error damage = { 0 }, err = { 0 };
	char *text = NULL;

	(void)state;
	write_recording("b.data", "/bin/x", false);
	assert_int_equal(export_as("autofdo", "b.data", NULL, &text, &damage, &err), 0);
	assert_string_equal(text, "2\n0-20:2\n40-50:2\n"
				  "1\n10:2\n"
				  "2\n20->40:2\n50->10:2\n");
	free(text);
	assert_int_equal(export_as("autofdo", "b.data", "no*", &text, &damage, &err), -ENODATA);
	assert_non_null(strstr(err.text, "no branch goes to an image 'no*'"));
}

/* The link address of the file's beginning: 0, or the base of a program without PIE. */
static uint64_t link_base(void)
{
	struct file_mapping file;
	struct elf_file elf;
	struct elf_segment s;
	uint32_t i = 0;

	assert_int_equal(file_map(self, &file, NULL), 0);
	assert_int_equal(elf_file_open(&elf, file.base, file.size, NULL), 0);
	while (elf_segment(&elf, i, &s) && (s.type != 1 || s.file_off))
		i++;
	file_unmap(&file);
	return s.link_addr;
}

static void bolt_has_branches_with_their_ends_elsewhere(void **state)
{
	struct error damage = { 0 }, err = { 0 };
	uint64_t at = link_base();
	char *text = NULL, expected[512];

	(void)state;
	write_recording("b.data", self, false);
	assert_int_equal(export_as("bolt", "b.data", NULL, &text, &damage, &err), 0);
	snprintf(expected, sizeof(expected),
		 "B %lx %lx 2 0\nB %lx %lx 2 2\nB X:0 %lx 2 0\nf %lx %lx 2\nF %lx %lx 2\n",
		 at + 0x20, at + 0x40, at + 0x50, at + 0x10, at, at, at + 0x20, at + 0x40,
		 at + 0x50);
	assert_string_equal(text, expected);
	free(text);
	write_recording("gone.data", "/bin/not/there", false);
	assert_int_equal(export_as("bolt", "gone.data", NULL, &text, &damage, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/bin/not/there"));
}

static void a_damaged_recording_is_exported_up_to_the_damage(void **state)
{
	struct error damage = { 0 }, err = { 0 };
	char *text = NULL;

	(void)state;
	write_recording("cut.data", "/bin/x", true);
	assert_int_equal(export_as("autofdo", "cut.data", NULL, &text, &damage, &err), 0);
	assert_int_equal(damage.code, -EBADMSG);
	assert_non_null(strstr(text, "50->10:1\n"));
	free(text);
}

static void a_recording_without_branch_stacks_says_so(void **state)
{
	struct error damage = { 0 }, err = { 0 };
	struct writer w = { 0 };
	char *text = NULL;
	size_t size;

	(void)state;
	begin_file(&w, &without, 1);
	put_sample(&w, 41, 0x1010, 4);
	end_file(&w);
	assert_int_equal(file_replace("plain.data", w.b.data, w.b.len, NULL), 0);
	buf_fini(&w.b);
	write_file("out", "kept");
	assert_int_equal(export_as("bolt", "plain.data", NULL, &text, &damage, &err), -ENODATA);
	assert_non_null(strstr(err.text, "the recording has no branch stacks"));
	assert_int_equal(file_read_all("out", 100, &text, &size), 0);
	assert_string_equal(text, "kept");
	free(text);
}

static int enter(void **state)
{
	assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
	(void)state;
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(autofdo_has_ranges_samples_and_branches_of_the_image),
		cmocka_unit_test(bolt_has_branches_with_their_ends_elsewhere),
		cmocka_unit_test(a_damaged_recording_is_exported_up_to_the_damage),
		cmocka_unit_test(a_recording_without_branch_stacks_says_so),
	};

	return cmocka_run_group_tests(tests, enter, NULL);
}
