/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The real backend: system calls, one line each. */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/files/open_helper.h"
#include "collect/perf_system.h"

static int system_open(void *context, struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		       unsigned long flags)
{
	long fd = syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);

	(void)context;
	if (fd < 0)
		return open_helper_counter(attr, pid, cpu, group_fd, flags, -errno);
	return (int)fd;
}

static int system_control(void *context, int fd, unsigned long request, void *arg)
{
	(void)context;
	return ioctl(fd, request, arg) < 0 ? -errno : 0;
}

static void *system_map(void *context, int fd, size_t size)
{
	void *base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)context;
	return base == MAP_FAILED ? NULL : base;
}

static void *system_map_aux(void *context, int fd, size_t size, uint64_t offset, bool is_writable)
{
	int access = PROT_READ | (is_writable ? PROT_WRITE : 0);
	void *base = mmap(NULL, size, access, MAP_SHARED, fd, (off_t)offset);

	(void)context;
	return base == MAP_FAILED ? NULL : base;
}

static void system_unmap(void *context, void *base, size_t size)
{
	(void)context;
	munmap(base, size);
}

/* Kernels without one of the fields (PERF_FORMAT_LOST before Linux 6.0) return fewer values. */
static int system_read(void *context, int fd, uint64_t values[3])
{
	uint64_t got[3] = { 0 };
	ssize_t n = read(fd, got, sizeof(got));

	(void)context;
	if (n < 0)
		return -errno;
	if (n == 0 || n % (ssize_t)sizeof(*got))
		return -EIO;
	memcpy(values, got, sizeof(got));
	return 0;
}

static void system_close(void *context, int fd)
{
	(void)context;
	close(fd);
}

const struct perf_backend perf_system = {
	.open = system_open,
	.control = system_control,
	.map = system_map,
	.unmap = system_unmap,
	.read = system_read,
	.close = system_close,
	.map_aux = system_map_aux,
};
