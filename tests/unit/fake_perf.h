/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fake perf_event_open(2). The rings are ordinary memory in the kernel's layout, and the test
 * writes into them instead of the kernel.
 */
#pragma once

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "collect/rings.h"

#define FAKE_MAX 64

struct fake_event {
	struct perf_event_attr attr;
	int pid, cpu, group_fd, output_fd; /* output_fd: whose ring; -1 its own */
	bool is_enabled, is_open;
	struct perf_event_mmap_page *page;
	size_t map_size;
	uint64_t lost, counted;
};

struct fake_perf {
	struct fake_event events[FAKE_MAX]; /* a descriptor is 100 + index */
	int n;
	/* What it refuses: */
	size_t max_ring_bytes;    /* larger maps give EPERM; 0: any */
	bool is_old;              /* EINVAL for features after Linux 5.0 */
	bool is_kernel_forbidden; /* EACCES without exclude_kernel */
	int fail_open;            /* this errno for counters */
	int fail_dummy;           /* and this for the side band */
	int n_online;             /* ENODEV for this CPU and those behind it; 0: all are */
	int max_group;            /* EINVAL for a group of more events; 0: any */
};

static struct fake_event *fake_event(struct fake_perf *f, int fd)
{
	return &f->events[fd - 100];
}

static int fake_open(void *context, struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		     unsigned long flags)
{
	struct fake_perf *f = context;
	bool is_dummy = attr->type == PERF_TYPE_SOFTWARE && attr->config == PERF_COUNT_SW_DUMMY;
	int n_group;

	(void)flags;
	n_group = group_fd >= 0 ? 2 : 1;
	for (int i = 0; i < f->n; i++)
		n_group += group_fd >= 0 && f->events[i].group_fd == group_fd;
	if (f->is_old &&
	    (attr->build_id || attr->bpf_event || attr->ksymbol || attr->cgroup ||
	     (attr->sample_type & PERF_SAMPLE_CGROUP) || (attr->read_format & (1 << 4))))
		return -EINVAL;
	if (f->is_kernel_forbidden && !attr->exclude_kernel)
		return -EACCES;
	if (f->fail_dummy && is_dummy)
		return -f->fail_dummy;
	if (f->fail_open && !is_dummy)
		return -f->fail_open;
	if (f->n_online && cpu >= f->n_online)
		return -ENODEV;
	if (f->max_group && n_group > f->max_group)
		return -EINVAL;
	if (f->n == FAKE_MAX)
		return -EMFILE;
	f->events[f->n] = (struct fake_event){
		.attr = *attr,
		.pid = pid,
		.cpu = cpu,
		.group_fd = group_fd,
		.output_fd = -1,
		.is_open = true,
	};
	return 100 + f->n++;
}

static int fake_control(void *context, int fd, unsigned long request, void *arg)
{
	struct fake_event *e = fake_event(context, fd);

	if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)arg = (uint64_t)fd * 1000;
	else if (request == PERF_EVENT_IOC_SET_OUTPUT)
		e->output_fd = (int)(intptr_t)arg;
	else if (request == PERF_EVENT_IOC_ENABLE || request == PERF_EVENT_IOC_DISABLE)
		e->is_enabled = request == PERF_EVENT_IOC_ENABLE;
	else
		return -ENOTTY;
	return 0;
}

static void *fake_map(void *context, int fd, size_t size)
{
	struct fake_perf *f = context;
	struct fake_event *e = fake_event(f, fd);

	if (f->max_ring_bytes && size > f->max_ring_bytes + 4096) {
		errno = EPERM;
		return NULL;
	}
	e->page = calloc(1, size);
	e->map_size = size;
	return e->page;
}

static void fake_unmap(void *context, void *base, size_t size)
{
	(void)context, (void)size;
	free(base);
}

static int fake_read(void *context, int fd, uint64_t values[3])
{
	values[0] = fake_event(context, fd)->counted;
	values[1] = (uint64_t)fd * 1000;
	values[2] = fake_event(context, fd)->lost;
	return 0;
}

static void fake_close(void *context, int fd)
{
	fake_event(context, fd)->is_open = false;
}

static struct perf_backend fake_backend(struct fake_perf *f)
{
	return (struct perf_backend){ fake_open, fake_control, fake_map, fake_unmap,
				      fake_read, fake_close,   f };
}

/* The event that owns the ring of a CPU. */
static struct fake_event *fake_ring(struct fake_perf *f, int cpu)
{
	for (int i = 0; i < f->n; i++)
		if (f->events[i].cpu == cpu && f->events[i].page && f->events[i].is_open)
			return &f->events[i];
	return NULL;
}

/* Writes bytes as the kernel does: wrapping, then moving data_head. False: no room. */
static inline bool fake_write(struct fake_event *e, const void *bytes, size_t size)
{
	uint8_t *data = (uint8_t *)e->page + 4096;
	uint64_t ring = e->map_size - 4096, head = e->page->data_head;

	if (head - e->page->data_tail + size > ring)
		return false;
	for (size_t i = 0; i < size; i++)
		data[(head + i) & (ring - 1)] = ((const uint8_t *)bytes)[i];
	e->page->data_head = head + size;
	return true;
}
