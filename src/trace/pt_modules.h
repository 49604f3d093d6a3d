/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of the kernel's modules from their files, where no copy of memory has it.
 *
 * A file is taken for two reasons: it has the build id of the recording, or it puts its functions
 * at the places that the copy of /proc/kallsyms has. symbol/kernel/module_code.h lists the changes
 * that loading makes. Any number of threads may read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_history;
struct pt_images;
struct pt_modules;

/* Both stay the caller's. */
struct pt_modules *pt_modules_new(const struct pt_history *history, struct pt_images *images);
void pt_modules_free(struct pt_modules *t); /* NULL is fine */

/*
 * Copies up to `size` bytes from an address on. Returns their number. To follow execution, bytes
 * suffice that lead the same way as those in memory (`is_way`).
 */
size_t pt_modules_read(struct pt_modules *t, uint64_t addr, bool is_way, uint8_t *out, size_t size);

/* For people: what is not known of the i-th module of the history. The caller frees. */
char *pt_modules_note(const struct pt_modules *t, size_t i);
