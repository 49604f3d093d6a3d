/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads of memory that never end: of pages whose faults nobody handles (userfaultfd(2)). */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "guard/memory_reads.h"

#define LIMIT_NS ((uint64_t)20 * 1000 * 1000)
#define PAGE     4096

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
	assert_int_equal(memory_reads_run(reads, do_read, &w), 0);
	assert_true(w.is_here && w.n == sizeof(text) && !strcmp(w.out, text));
	w = (struct read_work){ .fd = -1, .addr = w.addr };
	assert_int_equal(memory_reads_run(reads, do_read, &w), 0);
	memory_reads_free(reads);
	if (w.n < 0 && w.error == ENOSYS) /* qemu-user */
		skip_because("process_vm_readv(2) is not there");
	assert_true(w.n == sizeof(text) && !strcmp(w.out, text));
}

static void nobody_else_reads(void **state)
{
	struct read_work w = work_at(state);

	assert_int_equal(memory_reads_run(NULL, do_read, &w), 0);
	assert_true(!w.is_here && w.n == -1 && w.error == EPERM);
	assert_int_equal(memory_read(w.fd, w.addr, w.out, MEMORY_READ_MAX + 1), -1);
	close(w.fd);
}

/* A page whose faults nobody handles; NULL: that is not permitted here. */
static char *stuck_page(int *uffd)
{
	struct uffdio_api api = { .api = UFFD_API };
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct uffdio_register range = { .range = { (uintptr_t)page, PAGE },
					 .mode = UFFDIO_REGISTER_MODE_MISSING };

	*uffd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (*uffd < 0)
		return NULL;
	assert_int_equal(ioctl(*uffd, UFFDIO_API, &api), 0);
	assert_int_equal(ioctl(*uffd, UFFDIO_REGISTER, &range), 0);
	return page;
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
		print_message("userfaultfd is not permitted here\n");
		skip();
	}
	(void)state;
	stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page };
	memset(stuck.out, 'x', sizeof(stuck.out));
	assert_int_equal(memory_reads_run(reads, do_read, &stuck), -ETIME);
	next = work_at(&uffd);
	assert_int_equal(memory_reads_run(reads, do_read, &next), 0);
	assert_int_equal(next.n, sizeof(next.out));
	end_fault(uffd, page);
	usleep(20000);
	assert_int_equal(memory_reads_run(reads, do_read, &next), 0);
	assert_false(stuck.has_ended);       /* the thread does not come back … */
	assert_int_equal(stuck.out[0], 'x'); /* … and has changed nothing */
	memory_reads_free(reads);
}

static void threads_that_were_given_up_have_a_limit(void **state)
{
	struct memory_reads *reads = memory_reads_new(LIMIT_NS);
	static struct read_work stuck;
	int uffd;
	char *page = stuck_page(&uffd);

	if (!page) {
		memory_reads_free(reads);
		skip();
	}
	(void)state;
	stuck = (struct read_work){ .fd = -1, .addr = (uintptr_t)page };
	for (int i = 0; i < MEMORY_READS_STUCK_MAX; i++)
		assert_int_equal(memory_reads_run(reads, do_read, &stuck), -ETIME);
	assert_int_equal(memory_reads_run(reads, do_read, &stuck), -EAGAIN);
	assert_false(stuck.has_ended);
	memory_reads_free(reads);
	end_fault(uffd, page); /* on some kernels, the process could not end before */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_read_in_a_thread_of_its_own),
		cmocka_unit_test(nobody_else_reads),
		cmocka_unit_test(a_read_that_never_ends_is_given_up),
		cmocka_unit_test(threads_that_were_given_up_have_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
