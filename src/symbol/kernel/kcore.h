/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: the running kernel's memory, which root can read in /proc/kcore. It is an ELF
 * core file whose segments are the kernel's mappings. It is as large as the address space, so it is
 * read piece by piece. (fs/proc/kcore.c; System V gABI, chapter 5.)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

struct kcore {
	int fd;
	uint16_t machine; /* EM_* */
};

/* The message names the path and the reason. */
int kcore_open(const char *path, struct kcore *out, struct error *err);
void kcore_close(struct kcore *k);

/* Reads bytes from an address on, in one segment. Returns their number, <= `size`; or -EFAULT. */
int kcore_read(const struct kcore *k, uint64_t addr, void *bytes, size_t size);
