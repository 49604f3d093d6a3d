/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of the kernels of guests, from copies of the guests' files.
 *
 * The user gives the files of a guest (struct symbolizer_config): for all guests, or below a folder
 * for each guest. The first of these has the code:
 *   - a copy of kcore beside the copy of /proc/kallsyms. It is memory, also that of modules.
 *   - the vmlinux that was named, or one of the guest's release below its folder. It has code as it
 *     was built, and lies where kallsyms has _text, or else the guest's mapping in the recording.
 *
 * One thread at a time may call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct pt_guests;
struct perfdata_guest_text;
struct symbolizer;

/* The arguments stay the caller's. `texts`: where recorded mappings have the kernels of guests. */
struct pt_guests *pt_guests_new(const struct symbolizer *places,
				const struct perfdata_guest_text *texts, size_t n_texts);
void pt_guests_free(struct pt_guests *g); /* NULL is fine */

/*
 * Copies up to `size` bytes of the kernel of the guest that a process runs, from an address on.
 * Returns their number.
 */
size_t pt_guests_read(struct pt_guests *g, int32_t pid, uint64_t addr, uint8_t *out, size_t size);

/* Sentences: which guest's code could not be had, and why. */
void pt_guests_notes(const struct pt_guests *g, void (*note)(void *context, const char *sentence),
		     void *context);
