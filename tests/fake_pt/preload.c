/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The fake kernel in the recorder: perf_event_open(2) and the operations on its descriptors.
 *
 *   FAKE_PT_DEVICE   the device's program; FAKE_PT_…: its settings (device.c)
 *   FAKE_PT_LOCK     KiB that may be mapped in all; more is EPERM, as for an ordinary user
 *   FAKE_PT_REFUSE   an errno by number, with which opening the trace fails
 *   FAKE_PT_OLD      if set: a kernel before 4.3, without records of context switches
 *
 * Events can't be opened on CPUs that are not online in its sysfs. The kernel's messages about CPUs
 * come through the socket "uevents" in FAKE_PT_DIR; the test sends them.
 *
 * Descriptors are eventfds, so poll(2) works. Nothing happens before the first perf_event_open(2).
 * Programs that the recorder starts do not load this library.
 */
#include "shared.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static struct fake_shared *shared;
static uint8_t *areas;
static int areas_fd;

#define NEXT(name) ((__typeof__(&(name)))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void leave_children_alone(void)
{
	unsetenv("LD_PRELOAD");
}

static long raw(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

static void start_device(int shared_fd, int alive)
{
	char numbers[3][16];
	pid_t pid = fork();

	if (pid) {
		waitpid(pid, NULL, 0);
		return;
	}
	if (fork())
		_exit(0); /* it is nobody's child: the recorder waits for its own alone */
	snprintf(numbers[0], sizeof(numbers[0]), "%d", shared_fd);
	snprintf(numbers[1], sizeof(numbers[1]), "%d", areas_fd);
	snprintf(numbers[2], sizeof(numbers[2]), "%d", alive);
	for (int i = 0; i < FAKE_EVENTS; i++)
		fcntl(FAKE_FD + i, F_SETFD, 0);
	fcntl(shared_fd, F_SETFD, 0);
	fcntl(areas_fd, F_SETFD, 0);
	fcntl(alive, F_SETFD, 0);
	execl(getenv("FAKE_PT_DEVICE"), "device", numbers[0], numbers[1], numbers[2], (char *)NULL);
	perror("fake_pt: FAKE_PT_DEVICE");
	_exit(1);
}

static void begin(void)
{
	int fd = memfd_create("fake-shared", MFD_CLOEXEC), alive[2];
	const char *limit = getenv("FAKE_PT_LOCK");
	pthread_mutexattr_t attr;

	areas_fd = memfd_create("fake-areas", MFD_CLOEXEC);
	if (ftruncate(fd, sizeof(*shared)) < 0 ||
	    ftruncate(areas_fd, (off_t)(FAKE_EVENTS * FAKE_ROOM)) < 0 ||
	    pipe2(alive, O_CLOEXEC) < 0)
		abort();
	shared = NEXT(mmap)(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	areas = NEXT(mmap)(NULL, FAKE_EVENTS * FAKE_ROOM, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_NORESERVE, areas_fd, 0);
	if (shared == MAP_FAILED || areas == MAP_FAILED)
		abort();
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	/* The recorder may have a higher priority than the device: so has a kernel. */
	pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&shared->lock, &attr);
	for (int i = 0; i < FAKE_EVENTS; i++)
		pthread_mutex_init(&shared->ring_locks[i], &attr);
	shared->recorder = getpid();
	shared->lock_limit = limit ? strtoull(limit, NULL, 0) << 10 : UINT64_MAX;
	for (int i = 0; i < FAKE_EVENTS; i++) {
		int one = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);

		if (dup3(one, FAKE_FD + i, O_CLOEXEC) < 0)
			abort();
		(NEXT(close))(one);
	}
	start_device(fd, alive[0]);
	(NEXT(close))(alive[0]); /* the other end closes when we end */
}

static int event_of(int fd)
{
	int i = fd - FAKE_FD;

	return shared && i >= 0 && i < (int)shared->n_events && shared->events[i].is_open ? i : -1;
}

/* From the first to the last that is online, in its sysfs: "0", or "0-3". */
static bool is_online(int cpu)
{
	char path[4096];
	int first, last, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/online", getenv("SYSFS_PATH"));
	f = fopen(path, "re");
	if (f) {
		n = fscanf(f, "%d-%d", &first, &last);
		fclose(f);
	}
	return n < 1 || cpu <= (n == 1 ? first : last);
}

static int check_open(const struct perf_event_attr *a, int cpu, int leader)
{
	const char *refuse = getenv("FAKE_PT_REFUSE");

	if (!is_online(cpu))
		return -ENODEV;

	if (getenv("FAKE_PT_OLD") && (a->context_switch || a->ksymbol || a->bpf_event ||
				      a->build_id || a->read_format & (1 << 4)))
		return -EINVAL;
	if (a->type == FAKE_PMU && refuse)
		return -atoi(refuse);
	if (a->type == FAKE_PMU && a->use_clockid)
		return -EINVAL; /* the kernel takes it, and the trace then has no time */
	if ((a->aux_sample_size || a->aux_output) &&
	    (leader < 0 || shared->events[leader].attr.type != FAKE_PMU))
		return -EINVAL;
	return 0;
}

static int open_event(const struct perf_event_attr *a, int pid, int cpu, int group_fd)
{
	struct fake_event *e;
	int leader, r, i;

	if (!shared)
		begin();
	leader = event_of(group_fd);
	r = check_open(a, cpu, leader);
	if (r < 0)
		return r;
	fake_lock(&shared->lock);
	i = (int)shared->n_events;
	if (i < FAKE_EVENTS) {
		e = &shared->events[i];
		*e = (struct fake_event){ .pid = pid,
					  .cpu = cpu,
					  .leader = leader,
					  .output = i,
					  .is_open = true,
					  .is_on = !a->disabled,
					  .waits_for_exec = a->enable_on_exec };
		memcpy(&e->attr, a, a->size < sizeof(e->attr) ? a->size : sizeof(e->attr));
		shared->n_events++;
	}
	fake_unlock(&shared->lock);
	return i < FAKE_EVENTS ? FAKE_FD + i : -EMFILE;
}

long syscall(long n, ...)
{
	long a[6], r;
	va_list ap;

	va_start(ap, n);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (n == SYS_perf_event_open)
		r = open_event((const struct perf_event_attr *)a[0], (int)a[1], (int)a[2],
			       (int)a[3]);
	else
		r = raw(n, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (r >= 0 || r < -4095)
		return r;
	errno = (int)-r;
	return -1;
}

/* Members of a group run with their leader. */
static void switch_event(int i, bool is_on)
{
	struct fake_event *e = &shared->events[i];
	bool traces = e->attr.type == FAKE_PMU && e->output >= 0;

	e->is_on = is_on;
	if (!is_on && traces) /* the driver stops and reports the new bytes */
		fake_tell_aux(shared, areas, e->output, e->pid > 0 ? e->pid : 0);
}

static int control(int i, unsigned long request, void *arg)
{
	int other;

	switch (request) {
	case PERF_EVENT_IOC_ID:
		*(uint64_t *)arg = fake_id(i);
		return 0;
	case PERF_EVENT_IOC_ENABLE:
	case PERF_EVENT_IOC_DISABLE:
		switch_event(i, request == PERF_EVENT_IOC_ENABLE);
		return 0;
	case PERF_EVENT_IOC_SET_OUTPUT:
		other = event_of((int)(intptr_t)arg);
		if (other < 0 || shared->events[other].cpu != shared->events[i].cpu ||
		    shared->events[i].data_bytes ||
		    shared->events[other].attr.use_clockid != shared->events[i].attr.use_clockid)
			return -EINVAL;
		shared->events[i].output = shared->events[other].output;
		return 0;
	case PERF_EVENT_IOC_SET_FILTER:
		return *(const char *)arg ? 0 : -EINVAL;
	case PERF_EVENT_IOC_PERIOD:
		return 0;
	default:
		return -ENOTTY;
	}
}

int ioctl(int fd, unsigned long request, ...)
{
	int i = event_of(fd), r;
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (i < 0) {
		r = (int)raw(SYS_ioctl, fd, (long)request, (long)arg, 0, 0, 0);
	} else {
		pthread_mutex_t *lock = request == PERF_EVENT_IOC_SET_OUTPUT
						? &shared->lock
						: &shared->ring_locks[shared->events[i].output];

		fake_lock(lock);
		r = control(i, request, arg);
		fake_unlock(lock);
	}
	if (r >= 0)
		return r;
	errno = -r;
	return -1;
}

static bool is_power_of_two(uint64_t n)
{
	return n && !(n & (n - 1));
}

static void *refuse_map(int code)
{
	errno = code;
	return MAP_FAILED;
}

/* perf_mmap() */
static int check_map(int i, size_t size, int access, uint64_t offset, int *ring)
{
	struct fake_event *e = &shared->events[i], *r = &shared->events[e->output];
	struct perf_event_mmap_page *page = fake_page(areas, e->output);

	*ring = e->output;
	if (shared->locked_bytes + size > shared->lock_limit)
		return EPERM;
	if (!offset) {
		if (e->output != i || size <= FAKE_PAGE || !is_power_of_two(size - FAKE_PAGE) ||
		    size > FAKE_ROOM / 4 || (e->attr.inherit && e->cpu < 0))
			return EINVAL;
		e->data_bytes = size - FAKE_PAGE;
		page->data_offset = FAKE_PAGE;
		page->data_size = e->data_bytes;
		page->cap_user_time_zero = page->cap_user_time = !e->attr.use_clockid;
		page->time_mult = 1;
		return 0;
	}
	if (!r->data_bytes || e->attr.type != FAKE_PMU || page->aux_offset != offset ||
	    page->aux_size != size || offset < FAKE_PAGE + r->data_bytes || offset % FAKE_PAGE ||
	    size % FAKE_PAGE || !is_power_of_two(size) || offset + size > FAKE_ROOM)
		return EINVAL;
	if (r->aux_bytes && r->aux_bytes != size)
		return EINVAL;
	r->aux_bytes = size;
	r->aux_is_writable = access & PROT_WRITE;
	r->tracer = i;
	return 0;
}

void *mmap(void *at, size_t size, int access, int flags, int fd, off_t offset)
{
	int i = fd >= FAKE_FD ? event_of(fd) : -1, ring, e;
	long r;

	if (i < 0) {
		r = raw(SYS_mmap, (long)at, (long)size, access, flags, fd, offset);
		if (r >= -4095 && r < 0)
			return refuse_map((int)-r);
		return (void *)r;
	}
	fake_lock(&shared->lock);
	e = check_map(i, size, access, (uint64_t)offset, &ring);
	shared->locked_bytes += e ? 0 : size;
	fake_unlock(&shared->lock);
	if (e)
		return refuse_map(e);
	return mmap(at, size, access, flags, areas_fd, (off_t)(ring * FAKE_ROOM) + offset);
}

void *mmap64(void *at, size_t size, int access, int flags, int fd, off64_t offset)
	__attribute__((alias("mmap")));

/* The kernel's messages: a socket that the test can send to. */
static int uevent_fd = -1;

int socket(int domain, int type, int protocol)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	bool is_ours = domain == AF_NETLINK && protocol == NETLINK_KOBJECT_UEVENT;
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s/uevents",
			 getenv("FAKE_PT_DIR"));
	long fd =
		raw(SYS_socket, is_ours ? AF_UNIX : domain, type, is_ours ? 0 : protocol, 0, 0, 0);

	if (fd < 0) {
		errno = (int)-fd;
		return -1;
	}
	if (is_ours && n < (int)sizeof(address.sun_path)) {
		unlink(address.sun_path);
		raw(SYS_bind, fd, (long)&address, sizeof(address), 0, 0, 0);
		uevent_fd = (int)fd;
	}
	return (int)fd;
}

int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	long r = fd == uevent_fd ? 0 : raw(SYS_bind, fd, (long)address, size, 0, 0, 0);

	if (r >= 0)
		return 0;
	errno = (int)-r;
	return -1;
}

ssize_t read(int fd, void *out, size_t size)
{
	int i = event_of(fd);
	uint64_t values[3] = { 0 };

	if (i < 0) {
		ssize_t n = raw(SYS_read, fd, (long)out, (long)size, 0, 0, 0);

		if (n >= 0)
			return n;
		errno = (int)-n;
		return -1;
	}
	values[0] = shared->events[i].counted;
	values[1] = fake_id(i);
	values[2] = shared->events[i].lost;
	if (size > sizeof(values))
		size = sizeof(values);
	memcpy(out, values, size);
	return (ssize_t)size;
}

int close(int fd)
{
	int i = event_of(fd);
	long r;

	if (i >= 0) {
		pthread_mutex_t *lock = &shared->ring_locks[shared->events[i].output];

		fake_lock(lock);
		switch_event(i, false);
		shared->events[i].is_open = false;
		fake_unlock(lock);
		return 0;
	}
	r = raw(SYS_close, fd, 0, 0, 0, 0, 0);
	if (r >= 0)
		return 0;
	errno = (int)-r;
	return -1;
}

/* A ring that was read about is quiet until the next wake-up: perf_poll() does so. */
int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	long r = raw(SYS_poll, (long)fds, (long)n, timeout, 0, 0, 0);

	for (nfds_t i = 0; r > 0 && shared && i < n; i++) {
		uint64_t count;

		if (fds[i].revents & POLLIN && event_of(fds[i].fd) >= 0)
			raw(SYS_read, fds[i].fd, (long)&count, sizeof(count), 0, 0, 0);
	}
	if (r >= 0)
		return (int)r;
	errno = (int)-r;
	return -1;
}
