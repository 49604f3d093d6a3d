/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of memory that never end: of pages whose faults nobody handles (userfaultfd(2)). */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/memory_reads.h"

/* On a busy machine, a thread may lose its CPU for tenths of a second in the middle of a read. */
/* Process numbers, by which reads are barred. */
#define STUCK 7
#define OTHER 8

#define LIMIT_NS       ((uint64_t)1000 * 1000 * 1000)
#define SHORT_LIMIT_NS ((uint64_t)20 * 1000 * 1000) /* of reads that never end */
#define PAGE           4096

struct read_work {
	int fd; /* -1: by the number of the process */
	uint64_t addr;
	char out[8];
	ssize_t n;
	int error;
	bool is_here, has_ended;
};

static void do_read(void *arg)
{
	struct read_work *w = arg;

	w->is_here = memory_reads_here();
	w->n = w->fd >= 0 ? memory_read(w->fd, w->addr, w->out, sizeof(w->out))
			  : memory_read_of(getpid(), w->addr, w->out, sizeof(w->out));
	w->error = errno;
	w->has_ended = true;
}

static struct read_work work_at(const void *addr)
{
	return (struct read_work){ .fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
				   .addr = (uint64_t)(uintptr_t)addr };
}

static void memory_is_read_in_a_thread_of_its_own(void **state)
{
	static const char text[8] = "abcdefg";
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	struct read_work w = work_at(text);

	(void)state;
	assert_int_equal(memory_reads_run(reads, OTHER, do_read, &w), 0);
	assert_true(w.is_here && w.n == sizeof(text) && !strcmp(w.out, text));
	w = (struct read_work){ .fd = -1, .addr = w.addr };
	assert_int_equal(memory_reads_run(reads, OTHER, do_read, &w), 0);
	memory_reads_free(reads);
	if (w.n < 0 && w.error == ENOSYS) /* qemu-user */
		skip_because("process_vm_readv(2) is not there");
	assert_true(w.n == sizeof(text) && !strcmp(w.out, text));
}

struct many_work {
	int32_t pid;
	int fd;
	struct lang_range ranges[3];
	uint8_t out[16];
	uint32_t n_read, n_too_large;
};

static void do_read_many(void *arg)
{
	static const struct lang_range too_large[] = { { 0, MEMORY_READ_MAX }, { 0, 1 } };
	struct many_work *w = arg;

	w->n_read = memory_read_many(w->pid, w->fd, w->ranges, 3, w->out);
	w->n_too_large = memory_read_many(w->pid, w->fd, too_large, 2, w->out);
}

static void ranges_are_read_up_to_the_first_that_is_not_there(void **state)
{
	static const char first[4] = "abc", second[8] = "defghij";
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	struct many_work w = { .pid = getpid(),
			       .fd = -1,
			       .ranges = { { (uintptr_t)first, sizeof(first) },
					   { (uintptr_t)second, sizeof(second) },
					   { 8, 4 } } };

	(void)state;
	assert_int_equal(memory_reads_run(reads, OTHER, do_read_many, &w), 0);
	memory_reads_free(reads);
	assert_int_equal(w.n_too_large, 0);
	if (!w.n_read)
		skip_because("process_vm_readv(2) is missing (an emulator)");
	assert_int_equal(w.n_read, 2);
	assert_memory_equal(w.out, "abc\0defghij", 12);
	assert_int_equal(memory_read_many(getpid(), -1, w.ranges, 2, w.out), 0);
}

/* Of another user's process, as the daemon does: the kernel permits its memory file alone. */
static void ranges_are_read_from_a_file_where_the_process_is_refused(void **state)
{
	static const char first[4] = "abc", second[8] = "defghij";
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	struct many_work w = { .pid = 1,
			       .fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC),
			       .ranges = { { (uintptr_t)first, sizeof(first) },
					   { (uintptr_t)second, sizeof(second) },
					   { 8, 4 } } };
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0 || access("/proc/1/mem", R_OK) < 0)
		skip_because("not root: process 1 may be of the same user");
	assert_true(w.fd >= 0);
	child = fork();
	if (child == 0) {
		if (setuid(54321) < 0)
			_exit(1);
		_exit(memory_reads_run(reads, OTHER, do_read_many, &w) == 0 && w.n_read == 2 &&
				      !w.n_too_large && !memcmp(w.out, "abc\0defghij", 12)
			      ? 0
			      : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(w.fd);
	memory_reads_free(reads);
}

static void nobody_else_reads(void **state)
{
	struct read_work w = work_at(state);

	assert_int_equal(memory_reads_run(NULL, OTHER, do_read, &w), 0);
	assert_true(!w.is_here && w.n == -1 && w.error == EPERM);
	assert_int_equal(memory_read(w.fd, w.addr, w.out, MEMORY_READ_MAX + 1), -1);
	close(w.fd);
}

/* Pages whose faults nobody handles; NULL: that is not permitted here. */
static char *stuck_pages(int *uffd, size_t n)
{
	struct uffdio_api api = { .api = UFFD_API };
	char *page =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)page, n * PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	*uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*uffd < 0)
		return NULL;
	assert_int_equal(ioctl(*uffd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(*uffd, UFFDIO_REGISTER, &range), 0);
	return page;
}

static char *stuck_page(int *uffd)
{
	return stuck_pages(uffd, 1);
}

static void end_fault(int uffd, const char *page)
{
	struct uffdio_zeropage zero = { .range = { (uintptr_t)page, PAGE } };

	assert_int_equal(ioctl(uffd, UFFDIO_ZEROPAGE, &zero), 0);
}

static void a_read_that_never_ends_is_given_up(void **state)
{
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	static struct read_work stuck, next; /* one thread stays with it */
	int uffd;
	char *page = stuck_page(&uffd);

	if (!page) {
		memory_reads_free(reads);
		skip_because("userfaultfd(2) is not permitted here");
	}
	(void)state;
	stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page };
	memset(stuck.out, 'x', sizeof(stuck.out));
	assert_int_equal(memory_reads_run(reads, STUCK, do_read, &stuck), -ETIME);
	next = work_at(&uffd);
	assert_int_equal(memory_reads_run(reads, OTHER, do_read, &next), 0);
	assert_int_equal(next.n, sizeof(next.out));
	/* Such a process costs one thread, until its number is another one's. */
	next.n = 0;
	assert_int_equal(memory_reads_run(reads, STUCK, do_read, &next), -EACCES);
	assert_int_equal(next.n, 0);
	memory_reads_forget(reads, STUCK);
	assert_int_equal(memory_reads_run(reads, STUCK, do_read, &next), 0);
	end_fault(uffd, page);
	usleep(20000);
	assert_int_equal(memory_reads_run(reads, OTHER, do_read, &next), 0);
	assert_false(stuck.has_ended);       /* the thread does not come back … */
	assert_int_equal(stuck.out[0], 'x'); /* … and has changed nothing */
	memory_reads_free(reads);
}

struct parts {
	struct memory_reads *reads;
	struct read_work *first, *second;
	int results[2];
};

static void do_parts(void *arg)
{
	struct parts *p = arg;

	p->results[0] = memory_reads_run(p->reads, OTHER, do_read, p->first);
	p->results[1] = memory_reads_run(p->reads, STUCK, do_read, p->second);
}

static void works_that_are_parts_of_one_are_given_up_with_it(void **state)
{
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	static struct read_work stuck, next; /* one thread stays with it */
	static struct parts parts;
	int uffd;
	char *page = stuck_page(&uffd);

	(void)state;
	next = work_at(&uffd);
	parts = (struct parts){ reads, &next, &next, { 1, 1 } };
	assert_int_equal(memory_reads_run(reads, 0, do_parts, &parts), 0);
	assert_true(!parts.results[0] && !parts.results[1] && next.is_here && next.n > 0);
	if (!page) {
		memory_reads_free(reads);
		skip_because("userfaultfd(2) is not permitted here");
	}
	stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page };
	parts = (struct parts){ reads, &next, &stuck, { 1, 1 } };
	assert_int_equal(memory_reads_run(reads, 0, do_parts, &parts), -ETIME);
	assert_true(!parts.results[0] && parts.results[1] == 1 && !stuck.has_ended);
	/* It is the part's process that is not read any more. */
	parts = (struct parts){ reads, &next, &stuck, { 1, 1 } };
	assert_int_equal(memory_reads_run(reads, 0, do_parts, &parts), 0);
	assert_true(!parts.results[0] && parts.results[1] == -EACCES);
	assert_int_equal(memory_reads_run(reads, STUCK, do_read, &stuck), -EACCES);
	end_fault(uffd, page);
	memory_reads_free(reads);
}

static int result_of(struct memory_reads *reads, int32_t pid)
{
	static const char text[8] = "abcdefg";
	struct read_work w = { .fd = -1, .addr = (uintptr_t)text };

	return memory_reads_run(reads, pid, do_read, &w);
}

static void a_process_is_read_again_when_its_read_has_ended(void **state)
{
	struct memory_reads *reads = memory_reads_new(SHORT_LIMIT_NS);
	static struct read_work stuck;
	int uffd;
	char *page = stuck_pages(&uffd, MEMORY_READS_STUCK_MAX);

	if (!page) {
		memory_reads_free(reads);
		skip_because("userfaultfd(2) is not permitted here");
	}
	(void)state;
	for (int i = 0; i < MEMORY_READS_STUCK_MAX; i++) {
		stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page + (size_t)i * PAGE };
		assert_int_equal(memory_reads_run(reads, i + 1, do_read, &stuck), -ETIME);
	}
	assert_int_equal(result_of(reads, 1), -EACCES);
	assert_int_equal(result_of(reads, STUCK + MEMORY_READS_STUCK_MAX), -EAGAIN);
	for (int i = 0; i < MEMORY_READS_STUCK_MAX; i++)
		end_fault(uffd, page + (size_t)i * PAGE);
	for (int i = 0; i < MEMORY_READS_STUCK_MAX; i++)
		wait_until(result_of(reads, i + 1) == 0);
	assert_false(stuck.has_ended);
	memory_reads_free(reads);
}

static void read_long(void *arg)
{
	static char bytes[MEMORY_READ_MAX];
	struct read_work *w = arg;

	memory_read(w->fd, w->addr, bytes, sizeof(bytes));
}

/* The kernel makes this text while it is read: that takes milliseconds of CPU time. */
static void a_read_that_goes_on_is_not_given_up(void **state)
{
	struct memory_reads *reads = memory_reads_new(1); /* each read takes longer */
	struct read_work w = { .fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC),
			       .addr = 1 << 20 };

	(void)state;
	if (w.fd < 0) {
		memory_reads_free(reads);
		skip_because("/proc/kallsyms is not there");
	}
	for (int i = 0; i < 20; i++)
		assert_int_not_equal(memory_reads_run(reads, OTHER, read_long, &w), -ETIME);
	memory_reads_free(reads);
	close(w.fd);
}

static void threads_that_were_given_up_have_a_limit(void **state)
{
	struct memory_reads *reads = memory_reads_new(SHORT_LIMIT_NS);
	static struct read_work stuck;
	int uffd;
	char *page = stuck_page(&uffd);

	if (!page) {
		memory_reads_free(reads);
		skip_because("userfaultfd(2) is not permitted here");
	}
	(void)state;
	stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page };
	for (int i = 0; i < MEMORY_READS_STUCK_MAX; i++)
		assert_int_equal(memory_reads_run(reads, i + 1, do_read, &stuck), -ETIME);
	memory_reads_forget(reads, 1);
	assert_int_equal(memory_reads_run(reads, 1, do_read, &stuck), -EAGAIN);
	assert_false(stuck.has_ended);
	memory_reads_free(reads);
	end_fault(uffd, page); /* on some kernels, the process could not end before */
}

/* A page more is there every STEP_US. */
#define STEPS         24
#define STEP_US       250000
#define STEP_LIMIT_NS ((uint64_t)1250 * 1000 * 1000)

struct slow_pages {
	int uffd;
	char *first;
};

static void *bring_pages(void *arg)
{
	const struct slow_pages *pages = arg;

	for (int i = 0; i < STEPS; i++) {
		usleep(STEP_US);
		end_fault(pages->uffd, pages->first + i * PAGE);
	}
	return NULL;
}

struct slow_work {
	const char *first;
	int n_read, error;
};

static void read_all_pages(void *arg)
{
	struct slow_work *w = arg;
	char byte;

	while (w->n_read < STEPS &&
	       memory_read_of(getpid(), (uintptr_t)w->first + (size_t)w->n_read * PAGE, &byte, 1) ==
		       1)
		w->n_read++;
	w->error = errno;
}

/* None of the reads takes too long, but all of them do. */
static void the_reads_of_a_work_have_a_limit_together(void **state)
{
	struct memory_reads *reads = memory_reads_new(STEP_LIMIT_NS);
	struct slow_pages pages;
	struct slow_work w;
	pthread_t thread;

	(void)state;
	pages.first = stuck_pages(&pages.uffd, STEPS);
	if (!pages.first) {
		memory_reads_free(reads);
		skip_because("userfaultfd(2) is not permitted here");
	}
	w = (struct slow_work){ .first = pages.first };
	assert_int_equal(pthread_create(&thread, NULL, bring_pages, &pages), 0);
	assert_int_equal(memory_reads_run(reads, OTHER, read_all_pages, &w), -ETIMEDOUT);
	assert_true(w.n_read > 0 && w.n_read < STEPS);
	assert_int_equal(w.error, ETIME);
	pthread_join(thread, NULL);
	/* The thread is there for the next work, whose budget is its own. */
	w.n_read = 0;
	assert_int_equal(memory_reads_run(reads, OTHER, read_all_pages, &w), 0);
	assert_int_equal(w.n_read, STEPS);
	memory_reads_free(reads);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read_in_a_thread_of_its_own),
		cmocka_unit_test(ranges_are_read_up_to_the_first_that_is_not_there),
		cmocka_unit_test(ranges_are_read_from_a_file_where_the_process_is_refused),
		cmocka_unit_test(nobody_else_reads),
		cmocka_unit_test(a_read_that_never_ends_is_given_up),
		cmocka_unit_test(works_that_are_parts_of_one_are_given_up_with_it),
		cmocka_unit_test(a_process_is_read_again_when_its_read_has_ended),
		cmocka_unit_test(a_read_that_goes_on_is_not_given_up),
		cmocka_unit_test(threads_that_were_given_up_have_a_limit),
		cmocka_unit_test(the_reads_of_a_work_have_a_limit_together),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
