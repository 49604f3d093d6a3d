/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the bytes of a perf.data to a session, and the results of an offline machine. */
#include "import/import.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/files/cut_guard.h"
#include "base/files/file.h"
#include "machine/machine.h"
#include "perfdata_file.h"
#include "replay/replay.h"
#include "scratch.h"
#include "store/native.h"
#include "store/session.h"

/* The machine alone. */

static void feed_mapping_of(struct machine *m, int32_t pid, uint64_t start, uint64_t size,
			    uint64_t file_off, const char *path, const struct build_id *id,
			    bool is_executable)
{
	struct event e = {
		.type = EVENT_MAPPING,
		.pid = pid,
		.tid = pid,
		.mapping = { .start = start,
			     .size = size,
			     .file_off = file_off,
			     .path = path,
			     .is_kernel = pid < 0,
			     .is_executable = is_executable },
	};

	if (id)
		e.mapping.build_id = *id;
	machine_event(m, &e);
}

static void feed_mapping(struct machine *m, int32_t pid, uint64_t start, uint64_t size,
			 uint64_t file_off, const char *path, const struct build_id *id)
{
	feed_mapping_of(m, pid, start, size, file_off, path, id, true);
}

static void feed_data(struct machine *m, uint64_t start, uint64_t size, uint64_t file_off,
		      const char *path)
{
	feed_mapping_of(m, 41, start, size, file_off, path, NULL, false);
}

static struct machine *offline_machine(const char *release)
{
	struct machine_config config = { .is_offline = true, .release = release };

	return machine_new(&config);
}

static const struct image *kernel_image_at(struct machine *m, uint64_t addr, uint64_t *offset)
{
	struct thread_view thread = machine_thread(m, 0, 0);
	struct code_addr code;

	if (machine_resolve(m, &thread, MODE_KERNEL, addr, 1, &code) >= 0)
		return NULL;
	*offset = code.offset;
	return image_get(machine_images(m), code.image);
}

static void kernel_and_modules_come_from_mappings(void **state)
{
	const struct build_id id = { .len = 4, .bytes = { 1, 2, 3, 4 } };
	struct machine *m = offline_machine("4.14.18");
	const struct image *image;
	uint64_t offset;

	(void)state;
	assert_null(kernel_image_at(m, 0xffffffff81001000, &offset));
	feed_mapping(m, -1, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
		     "[kernel.kallsyms]_text", &id);
	feed_mapping(m, -1, 0xffffffffc0000000, 0x4000, 0,
		     "/lib/modules/4.14.18/kernel/net/ip-tables.ko.xz", NULL);
	feed_mapping(m, -1, 0xffffffffc0100000, 0x4000, 0, "[e1000]", &id);
	feed_mapping(m, -1, 0xffffffffc0200000, 0x400, 0, "bpf_prog_6deef7357e7b4530", NULL);
	image = kernel_image_at(m, 0xffffffff81001234, &offset);
	assert_int_equal(image->kind, IMAGE_KERNEL);
	assert_string_equal(image->path, "[kernel]");
	assert_int_equal(offset, 0x1234);
	image = kernel_image_at(m, 0xffffffffc0000010, &offset);
	assert_int_equal(image->kind, IMAGE_MODULE);
	assert_string_equal(image->path, "[ip_tables 4.14.18]");
	assert_int_equal(offset, 0x10);
	assert_string_equal(kernel_image_at(m, 0xffffffffc0100000, &offset)->path, "[e1000]");
	image = kernel_image_at(m, 0xffffffffc0200000, &offset);
	assert_int_equal(image->kind, IMAGE_BPF);
	assert_null(kernel_image_at(m, 0xffffffff83000000, &offset));
	machine_free(m);
}

static void a_kernel_without_a_build_id_is_not_taken_for_this_one(void **state)
{
	static const char *const releases[] = { "2.6.39-other", "" };
	uint64_t offset;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(releases); i++) {
		struct machine *m = offline_machine(releases[i]);
		const struct image *image;

		/* No kernel has its _text at 4096. */
		feed_mapping(m, -1, 4096, UINT64_MAX - 4096, 4096, "[kernel.kallsyms]_text", NULL);
		image = kernel_image_at(m, 0xffffffff81000000, &offset);
		assert_string_equal(image->path, i ? "[kernel (other)]" : "[kernel 2.6.39-other]");
		machine_free(m);
	}
}

static void processes_are_not_looked_up_here(void **state)
{
	struct machine *m = offline_machine("");
	struct thread_view self = machine_thread(m, getpid(), getpid());

	(void)state;
	assert_false(self.is_known);
	assert_string_equal(strings_get(machine_strings(m), self.comm), "");
	assert_string_equal(strings_get(machine_strings(m), machine_thread(m, 0, 0).comm),
			    "swapper");
	machine_free(m);
}

/* "PATH+OFFSET" */
static const char *data_at(struct machine *m, int32_t pid, uint64_t addr)
{
	static char text[256];
	struct thread_view thread = machine_thread(m, pid, pid);
	struct code_addr data = machine_resolve_data(m, &thread, addr);

	snprintf(text, sizeof(text), "%s+0x%lx", image_get(machine_images(m), data.image)->path,
		 data.offset);
	return text;
}

static void feed_fork(struct machine *m, int32_t pid, int32_t parent)
{
	struct event e = { .type = EVENT_FORK,
			   .pid = pid,
			   .tid = pid,
			   .fork = { .ppid = parent, .ptid = parent } };

	machine_event(m, &e);
}

static void data_has_its_place_and_code_is_as_without_it(void **state)
{
	struct machine *m = offline_machine("");
	struct thread_view thread;
	struct build_id kernel = { .len = 4, .bytes = "ABCD" };
	struct code_addr code;
	uint64_t space;

	(void)state;
	feed_mapping(m, 41, 0x401000, 0x1000, 0x1000, "/bin/app", NULL);
	thread = machine_thread(m, 41, 41);
	space = machine_space(m, &thread);
	assert_string_equal(data_at(m, 41, 0x401010), "/bin/app+0x1010");
	feed_data(m, 0x403000, 0x1000, 0x2000, "/bin/app");
	feed_data(m, 0x404000, 0x8000, 0x404000, "//anon"); /* .bss */
	feed_data(m, 0x600000, 0x8000, 0, "[heap]");
	feed_data(m, 0x700000, 0x8000, 0, "//anon");
	feed_data(m, 0x800000, 0x8000, 0, "/SYSV00000000");
	feed_data(m, 0x7f0000, 0x8000, 0, "[stack]");
	assert_string_equal(data_at(m, 41, 0x403008), "/bin/app+0x2008");
	assert_string_equal(data_at(m, 41, 0x404010), "/bin/app+0x3010");
	assert_string_equal(data_at(m, 41, 0x600010), "[heap]+0x0");
	assert_string_equal(data_at(m, 41, 0x700010), "[anon]+0x0");
	assert_string_equal(data_at(m, 41, 0x800010), "/SYSV00000000+0x0");
	assert_string_equal(data_at(m, 41, 0x7f0010), "[stack]+0x0");
	assert_string_equal(data_at(m, 41, 0x900000), "[unknown]+0x0");
	assert_string_equal(data_at(m, 41, 0xffff888000000000), "[kernel]+0x0");
	feed_mapping(m, -1, 0xffffffff81000000, 0x1000000, 0xffffffff81000000,
		     "[kernel.kallsyms]_text", &kernel);
	assert_string_equal(data_at(m, 41, 0xffffffff82000040), "[kernel]+0x1000040");
	assert_string_equal(data_at(m, 41, 0xffffffffc1000000), "[kernel]+0x0");
	assert_string_equal(data_at(m, 41, 0xffff888000000000), "[kernel]+0x0");
	/* code that came over data, and a child's data */
	feed_mapping(m, 41, 0x700000, 0x1000, 0x5000, "/lib/late.so", NULL);
	assert_string_equal(data_at(m, 41, 0x700010), "/lib/late.so+0x5010");
	feed_fork(m, 42, 41);
	assert_string_equal(data_at(m, 42, 0x403008), "/bin/app+0x2008");
	assert_int_equal(machine_resolve(m, &thread, MODE_USER, 0x403008, 1, &code), LOSS_UNMAPPED);
	assert_string_equal(image_get(machine_images(m), thread.app)->path, "/bin/app");
	assert_int_equal(space + 1, machine_space(m, &thread)); /* of late.so alone */
	machine_free(m);
}

/* Files. */

static const struct test_attr plain = {
	.type = PERF_TYPE_SOFTWARE, .size = 64, .period = 1000, .sample_type = PLAIN_TYPE
};

static int import(const char *path, struct import_result *result, struct error *err)
{
	struct import_config config = {
		.path = path, .dir = "session", .version = "test", .ops = &native_store
	};

	file_remove_tree("session", NULL);
	return import_file(&config, result, err);
}

static void save(struct writer *w, const char *path)
{
	if (w->data)
		end_file(w);
	assert_int_equal(file_replace(path, w->b.data, w->b.len, NULL), 0);
	buf_fini(&w->b);
}

static uint64_t samples_in_session(void)
{
	struct session *s;
	uint64_t n = 0;

	assert_int_equal(session_open("session", &s, NULL), 0);
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			n += s->segments[i]->blocks[b].samples;
	session_close(s);
	return n;
}

static void every_sample_is_in_the_session(void **state)
{
	struct writer w = { 0 };
	struct import_result result;

	(void)state;
	begin_file(&w, &plain, 1);
	put_comm(&w, 41, "worker", 0);
	put_mmap(&w, 41, 0x1000, 0x1000, "/bin/worker", 0);
	for (uint64_t i = 0; i < 5000; i++)
		put_sample(&w, 41, 0x1000 + i, 1000000000 + i * 1000000);
	save(&w, "perf.data");
	assert_int_equal(import("perf.data", &result, NULL), 0);
	assert_int_equal(result.damage.code, 0);
	assert_int_equal(result.counts.samples, 5000);
	assert_int_equal(result.counts.unattributed, 904); /* behind the mapping's end */
	assert_int_equal(samples_in_session(), 5000);
	import_result_fini(&result);
}

static void clocks_that_jump_lose_no_sample(void **state)
{
	static const uint64_t times[] = { 5000000000,     1,          1ULL << 63, 7000000000,
					  UINT64_MAX - 1, 2000000000, 3,          1ULL << 40 };
	struct writer w = { 0 };
	struct import_result result;

	(void)state;
	begin_file(&w, &plain, 1);
	for (size_t i = 0; i < 800; i++) {
		put_sample(&w, 41, 0x1000, times[i % ARRAY_SIZE(times)]);
		put_round(&w);
		put_round(&w);
	}
	save(&w, "perf.data");
	assert_int_equal(import("perf.data", &result, NULL), 0);
	assert_int_equal(result.counts.samples, 800);
	assert_int_equal(samples_in_session(), 800);
	import_result_fini(&result);
}

static void a_file_without_samples_is_a_session_without_samples(void **state)
{
	struct writer w = { 0 };
	struct import_result result;

	(void)state;
	begin_file(&w, &plain, 1);
	put_comm(&w, 41, "worker", 0);
	save(&w, "perf.data");
	assert_int_equal(import("perf.data", &result, NULL), 0);
	assert_int_equal(samples_in_session(), 0);
	import_result_fini(&result);
}

static void a_cut_file_keeps_its_whole_records(void **state)
{
	struct writer w = { 0 };
	struct import_result result;

	(void)state;
	begin_file(&w, &plain, 1);
	put_sample(&w, 41, 0x1000, 5);
	put_sample(&w, 41, 0x1000, 6);
	end_file(&w);
	w.data = 0;
	w.b.len -= 3;
	save(&w, "perf.data");
	assert_int_equal(import("perf.data", &result, NULL), 0);
	assert_int_equal(result.damage.code, -EBADMSG);
	assert_int_equal(samples_in_session(), 1);
	import_result_fini(&result);
}

/* A store that cuts the file which is being read, at the first sample that it gets. */
static int cut_and_add(struct store *s, const struct sample *sample, struct error *err)
{
	assert_int_equal(truncate("perf.data", 4096), 0);
	return native_store.add(s, sample, err);
}

static void a_file_that_is_cut_while_it_is_read_says_so(void **state)
{
	struct writer w = { 0 };
	struct store_ops ops = native_store;
	struct import_config config = {
		.path = "perf.data", .dir = "session", .version = "test", .ops = &ops
	};
	struct import_result result;

	(void)state;
	cut_guard_enable();
	ops.add = cut_and_add;
	begin_file(&w, &plain, 1);
	for (uint64_t i = 0; i < 100000; i++)
		put_sample(&w, 41, 0x1000, 5 + i);
	save(&w, "perf.data");
	file_remove_tree("session", NULL);
	assert_int_equal(import_file(&config, &result, NULL), 0);
	assert_int_equal(result.damage.code, -EBADMSG);
	assert_non_null(strstr(result.damage.text, "was cut short while it was read"));
	assert_in_range(samples_in_session(), 1, 99999);
	import_result_fini(&result);
}

static void a_directory_is_read_as_one_recording(void **state)
{
	struct writer head = { 0 }, thread = { 0 };
	struct import_result result;

	(void)state;
	assert_int_equal(mkdir("perf.data.dir", 0700), 0);
	begin_file(&head, &plain, 1);
	put_comm(&head, 41, "worker", 0);
	save(&head, "perf.data.dir/data");
	put_sample(&thread, 41, 0x1000, 5);
	save(&thread, "perf.data.dir/data.0");
	put_sample(&thread, 41, 0x1000, 6);
	save(&thread, "perf.data.dir/data.1");
	assert_true(replay_is_perfdata("perf.data.dir"));
	assert_false(replay_is_perfdata("."));
	assert_int_equal(import("perf.data.dir", &result, NULL), 0);
	assert_int_equal(samples_in_session(), 2);
	import_result_fini(&result);
}

static void what_is_no_perf_data_is_an_error_that_names_it(void **state)
{
	struct import_result result;
	struct error err = { 0 };

	(void)state;
	write_file("text", "#!/bin/sh\necho hello\n");
	assert_false(replay_is_perfdata("text"));
	assert_int_equal(import("text", &result, &err), -EINVAL);
	assert_string_equal(err.text,
			    "text: it is in no format that assay reads: perf.data begins with "
			    "PERFILE2; assay-import(1) lists the others");
	assert_int_equal(access("session", F_OK), -1);
	assert_int_equal(import("absent", &result, &err), -ENOENT);
	import_result_fini(&result);
}

/* The first byte of each mapping's build id; '-': it has none. */
struct id_listener {
	struct event_sink sink;
	char ids[8];
};

static int listen_to_ids(struct event_sink *sink, const struct event *e)
{
	struct id_listener *l = (struct id_listener *)sink;
	size_t n = strlen(l->ids);

	if (e->type == EVENT_MAPPING && n + 1 < sizeof(l->ids))
		l->ids[n] = e->mapping.build_id.len ? (char)e->mapping.build_id.bytes[0] : '-';
	return 0;
}

static void put_build_id(struct writer *w, char first, const char *path)
{
	begin_record(w, 67, 1 << 15); /* BUILD_ID, with a size */
	put32(w, UINT32_MAX);
	put64(w, (uint64_t)first);
	put64(w, 0);
	put32(w, 0);
	put32(w, 20);
	put_text(w, path);
	end_record(w);
}

static void expect_vdso_ids(bool has_32_bit, const char *ids)
{
	struct id_listener l = { .sink = { listen_to_ids } };
	struct perfdata_bytes file = { .name = "t" };
	struct writer w = { 0 };
	struct perfdata *p;

	begin_pipe(&w, &plain, 5);
	put_build_id(&w, 'L', "[vdso]");
	if (has_32_bit)
		put_build_id(&w, 'S', "[vdso32]");
	put_mmap(&w, 1, 0x7fff00000000, 0x1000, "[vdso]", 0);
	put_mmap(&w, 2, 0xf7f00000, 0x1000, "[vdso]", 0);
	file.base = w.b.data;
	file.size = w.b.len;
	assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
	assert_int_equal(perfdata_read(p, &l.sink, NULL), 0);
	assert_string_equal(l.ids, ids);
	perfdata_free(p);
	buf_fini(&w.b);
}

static void the_vdso_of_32_bit_programs_has_its_own_build_id(void **state)
{
	(void)state;
	expect_vdso_ids(false, "L-");
	expect_vdso_ids(true, "LS");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_and_modules_come_from_mappings),
		cmocka_unit_test(a_kernel_without_a_build_id_is_not_taken_for_this_one),
		cmocka_unit_test(processes_are_not_looked_up_here),
		cmocka_unit_test(data_has_its_place_and_code_is_as_without_it),
		cmocka_unit_test(every_sample_is_in_the_session),
		cmocka_unit_test(clocks_that_jump_lose_no_sample),
		cmocka_unit_test(a_file_without_samples_is_a_session_without_samples),
		cmocka_unit_test(a_cut_file_keeps_its_whole_records),
		cmocka_unit_test(a_file_that_is_cut_while_it_is_read_says_so),
		cmocka_unit_test(a_directory_is_read_as_one_recording),
		cmocka_unit_test(what_is_no_perf_data_is_an_error_that_names_it),
		cmocka_unit_test(the_vdso_of_32_bit_programs_has_its_own_build_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
