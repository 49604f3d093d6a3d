/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of --alloc, which processes can have probes on returns, and which programs the preloaded
 * library.
 */
#include "scratch.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"
#include "heap/heap_ring.h"
#include "heap/mapped.h"
#include "heap/returns.h"
#include "heap/shared.h"
#include "record/program_files.h"

/* A process with two threads; `modes` are the lines of their status. */
static void fake_process(const char *release, const char *const modes[2])
{
	cleanup(free_at_exit) char *line = xasprintf("%s\n", release);

	run_command("rm -rf proc; mkdir -p proc/sys/kernel proc/7/task/7 proc/7/task/8");
	write_file("proc/sys/kernel/osrelease", line);
	for (int i = 0; i < 2; i++) {
		cleanup(free_at_exit) char *path = xasprintf("proc/7/task/%d/status", 7 + i);
		cleanup(free_at_exit) char *text = xasprintf(
			"Name:\tapp\nNoNewPrivs:\t1\n%sSpeculation_Store_Bypass:\tvulnerable\n",
			modes[i]);

		write_file(path, text);
	}
}

static int check(const char *release, const char *first, const char *second)
{
	struct error err = { 0 };
	int r;

	fake_process(release, (const char *const[]){ first, second });
	r = returns_check("proc", 7, &err);
	assert_true(r == 0 || strstr(err.text, "seccomp") != NULL);
	return r;
}

#define NO_FILTER "Seccomp:\t0\nSeccomp_filters:\t0\n"
#define STRICT    "Seccomp:\t1\nSeccomp_filters:\t0\n"
#define FILTER    "Seccomp:\t2\nSeccomp_filters:\t1\n"

#if defined(__x86_64__)
#define REFUSED (-EPERM)
#else
#define REFUSED 0
#endif

static void a_filter_matters_where_returns_are_system_calls(void **state)
{
	(void)state;
	assert_int_equal(check("6.12.48+deb13-amd64", FILTER, FILTER), REFUSED);
	assert_int_equal(check("6.11.0", NO_FILTER, FILTER), REFUSED);
	assert_int_equal(check("6.13.12-arch1", STRICT, NO_FILTER), REFUSED);
	assert_int_equal(check("6.12.0", NO_FILTER, NO_FILTER), 0);
	assert_int_equal(check("6.10.14", FILTER, FILTER), 0);
	assert_int_equal(check("6.14.0", FILTER, FILTER), 0);
	assert_int_equal(check("5.12.0", FILTER, FILTER), 0);
	assert_int_equal(check("7.12.0", FILTER, FILTER), 0);
}

static void a_kernel_without_filters_has_no_such_line(void **state)
{
	(void)state;
	assert_int_equal(check("6.12.0", "", ""), 0);
	assert_int_equal(returns_check("proc", 9, NULL), 0);
	run_command("rm proc/sys/kernel/osrelease");
	assert_int_equal(returns_check("proc", 7, NULL), 0);
}

static void the_loader_tells_the_kind_of_a_program(void **state)
{
	(void)state;
	need_command("command -v cc");
	write_file("a.c", "void _start(void) { }\n");
	run_command("cc -nostdlib -static -no-pie -o plain a.c");
	assert_int_equal(program_kind("plain"), PROGRAM_STATIC);
	run_command("cc -nostdlib -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1 -pie -fPIE -o musl "
		    "a.c");
	assert_int_equal(program_kind("musl"), PROGRAM_OF_MUSL);
	run_command("cc -nostdlib -pie -fPIE -o usual a.c");
	assert_int_equal(program_kind("usual"), PROGRAM_LOADED);
	write_file("script", "#!/bin/sh\n");
	assert_int_equal(program_kind("script"), PROGRAM_LOADED);
}

/* A program that maps and unmaps one address, over and over. */
#define N_MAPPINGS 5000

static void await_place(_Atomic uint32_t *state)
{
	while (atomic_load(state) != HEAP_FREE)
		sched_yield();
}

static void *write_mappings(void *context)
{
	struct heap_shared *shared = context;

	for (uint32_t i = 0; i < N_MAPPINGS; i++) {
		struct heap_slot *slot = &shared->slots[i % HEAP_SLOTS];
		struct heap_note *note = &shared->notes[i % HEAP_NOTES];

		await_place(&slot->state);
		slot->pid = slot->tid = 1;
		slot->id = i + 1;
		slot->bytes = slot->mapping = 4096;
		slot->time_ns = clock_monotonic_ns();
		atomic_store(&slot->state, HEAP_READY);
		await_place(&note->state);
		note->pid = 1;
		note->kind = HEAP_NOTE_UNMAPPED;
		note->id = note->bytes = 4096;
		note->time_ns = clock_monotonic_ns();
		atomic_store(&note->state, HEAP_READY);
	}
	return NULL;
}

static void records_that_are_written_while_others_are_read_keep_their_order(void **state)
{
	struct heap_records records = { 0 };
	struct heap_ring *ring;
	pthread_t writer;
	void *shared;
	int fd;

	(void)state;
	assert_int_equal(heap_ring_open(1, &ring, NULL), 0);
	fd = open(heap_ring_path(ring), O_RDWR | O_CLOEXEC);
	shared = mmap(NULL, sizeof(struct heap_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(fd >= 0 && shared != MAP_FAILED);
	assert_int_equal(pthread_create(&writer, NULL, write_mappings, shared), 0);
	while (records.n < 2 * N_MAPPINGS)
		assert_int_equal(heap_ring_collect(ring, &records), 0);
	pthread_join(writer, NULL);
	for (size_t i = 0; i < records.n; i++) {
		assert_int_equal(records.data[i].kind, i % 2 ? HEAP_UNMAPPED : HEAP_ALLOCATED);
		assert_true(i % 2 || records.data[i].id == i / 2 + 1);
	}
	heap_records_fini(&records);
	munmap(shared, sizeof(struct heap_shared));
	close(fd);
	heap_ring_free(ring);
}

static void a_time_that_a_program_invents_is_between_the_beginning_and_now(void **state)
{
	struct heap_record invented[] = { { .time_ns = 3 }, { .time_ns = UINT64_MAX } };
	struct heap_records records = { invented, 2, 0 };

	(void)state;
	heap_records_sort(&records, 0, 7);
	assert_int_equal(invented[0].time_ns, 7);
	assert_in_range(invented[1].time_ns, 8, clock_monotonic_ns());
}

static void add_ended(void *context, uint64_t id, uint64_t bytes)
{
	*(uint64_t *)context += id * bytes;
}

/* The thread that unmaps may be late to say so: another one has memory at the address by then. */
static void a_mapping_that_was_made_later_stays(void **state)
{
	struct mapped m = { 0 };
	uint64_t ended = 0;

	(void)state;
	assert_true(mapped_add(&m, 1, 8192, 4096, 10));
	assert_true(mapped_add(&m, 1, 8192, 4096, 12));
	mapped_remove(&m, 1, 8192, 4096, 11, add_ended, &ended);
	assert_int_equal(ended, 10 * 4096);
	mapped_remove(&m, 1, 8192, 4096, 12, add_ended, &ended);
	assert_int_equal(ended, 22 * 4096);
	assert_int_equal(m.n, 0);
	mapped_fini(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_filter_matters_where_returns_are_system_calls),
		cmocka_unit_test(a_kernel_without_filters_has_no_such_line),
		cmocka_unit_test(the_loader_tells_the_kind_of_a_program),
		cmocka_unit_test(records_that_are_written_while_others_are_read_keep_their_order),
		cmocka_unit_test(a_time_that_a_program_invents_is_between_the_beginning_and_now),
		cmocka_unit_test(a_mapping_that_was_made_later_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
