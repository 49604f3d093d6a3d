/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come online or go: the kernel sends "online@/devices/system/cpu/cpu1" by netlink
 * (NETLINK_KOBJECT_UEVENT; the kernel's lib/kobject_uevent.c).
 *
 * Two "online" messages of one CPU may wait in the queue. At the first one, events are opened on a
 * CPU that is already back for the second time. They still count when the second message comes, at
 * which events are opened once more. So the former events have to be disabled then.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor for poll(2), the caller's. Negative errno: a container with its own network. */
int cpu_watch_open(void);

/* The next change; false when there is none. Never waits. */
bool cpu_watch_next(int fd, uint32_t *cpu, bool *is_online);

/* The change in a message of `size` bytes. False: the message is about something else. */
bool cpu_watch_parse(const char *message, size_t size, uint32_t *cpu, bool *is_online);
