/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The system calls of perf events. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kernel's side; tests replace it to fill real ring buffers. */
struct perf_backend {
	int (*open)(void *context, struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		    unsigned long flags); /* a descriptor or a negative errno */
	int (*control)(void *context, int fd, unsigned long request, void *arg); /* ioctl(2) */
	void *(*map)(void *context, int fd, size_t size); /* NULL and errno */
	void (*unmap)(void *context, void *base, size_t size);
	/* read(2) of an event with PERF_FORMAT_LOST | PERF_FORMAT_ID: value, id, lost. 0 or
	 * negative. */
	int (*read)(void *context, int fd, uint64_t values[3]);
	void (*close)(void *context, int fd);
	void *context;
	/*
	 * An AUX area, with the size and the offset in the ring's page; NULL and errno. If it is
	 * not writable, the kernel overwrites unread bytes.
	 */
	void *(*map_aux)(void *context, int fd, size_t size, uint64_t offset, bool is_writable);
};
extern const struct perf_backend perf_system;
