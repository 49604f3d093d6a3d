/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The code of the kernels of guests, from copies of the guests' files.
 *
 * The user gives the files of a guest (struct symbolizer_config): for all guests, or below a folder
 * for each guest. The first of these has the code:
 *   - a copy of kcore beside the copy of /proc/kallsyms. It is memory, also that of modules.
 *   - the vmlinux that was named, or one of the guest's release below its folder. It has code as it
 *     was built, and lies where kallsyms has _text, or else the guest's mapping in the recording.
 *   - of a module that the copy of /proc/modules has, and kcore has not: its file in the
 *     guest's /lib/modules/RELEASE below its folder, or else by its name in image_dirs. The copy of
 *     kallsyms must have the module's functions where the file puts them.
 *
 * One thread at a time may call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pt_guests;
struct perfdata_guest_text;
struct symbolizer;

/* The arguments stay the caller's. `texts`: where recorded mappings have the kernels of guests. */
struct pt_guests *pt_guests_new(struct symbolizer *places, const struct perfdata_guest_text *texts,
				size_t n_texts);
void pt_guests_free(struct pt_guests *g); /* NULL is fine */

/*
 * Copies up to `size` bytes of the kernel of the guest that a process runs, from an address on.
 * Returns their number. `is_way`: as for pt_modules_read().
 */
size_t pt_guests_read(struct pt_guests *g, int32_t pid, uint64_t addr, bool is_way, uint8_t *out,
		      size_t size);

/* Sentences about code that could not be had, and about modules that came from files. */
void pt_guests_notes(const struct pt_guests *g, void (*note)(void *context, const char *sentence),
		     void *context);
