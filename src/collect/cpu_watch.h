/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * CPUs that come online or go, as the kernel tells of them: "online@/devices/system/cpu/cpu1" by
 * netlink (NETLINK_KOBJECT_UEVENT; the kernel's lib/kobject_uevent.c).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A descriptor that can be polled, closed by the caller; or a negative errno, as in a container
 * with a network of its own. */
int cpu_watch_open(void);

/* The next change that was told; false when there is none. Never waits. */
bool cpu_watch_next(int fd, uint32_t *cpu, bool *is_online);

/* What a message of `size` bytes says. False: not that a CPU came or went. */
bool cpu_watch_parse(const char *message, size_t size, uint32_t *cpu, bool *is_online);
