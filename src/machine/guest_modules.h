/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel modules of a guest, from a copy of the guest's /proc/modules (base/proc_modules.h).
 *
 * The user gives copies of the guests' files: for all guests, or below a folder for each guest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct guest_files {
	const char *kallsyms, *modules; /* for all guests; NULL: not given */
	const char *mount;              /* MOUNT/PID has a guest's own files; NULL: not given */
};

/*
 * The copy of the guest's /proc/NAME ("kallsyms" or "modules"). A guest that has no kallsyms of its
 * own has the lists for all guests. The caller frees. NULL: none was given.
 */
char *guest_files_list(const struct guest_files *f, int32_t pid, const char *name);

enum { GUEST_COPY_NAME = 240 }; /* bytes of a copy's name; Linux has a limit */

/*
 * The name of a list in messages: of a copy in memory (memfd), the name of that copy, or else the
 * path. The caller frees.
 */
char *guest_files_name(const char *path);

struct guest_module {
	uint64_t start, end;
	char *name; /* "nf_tables" */
};

struct guest_modules; /* never changes, so any thread may read it */

/* No file, an unreadable one, and one without addresses are the same as an empty list. */
struct guest_modules *guest_modules_read(const char *path); /* NULL is fine */
void guest_modules_free(struct guest_modules *t);           /* NULL is fine */
size_t guest_modules_bytes(const struct guest_modules *t);  /* of memory */

/* In the order of addresses. Where two modules overlap, the second one is left out. */
const struct guest_module *guest_modules_all(const struct guest_modules *t, size_t *n);

/* The module at an address, or else the next one behind it. NULL: there is none. */
const struct guest_module *guest_modules_next(const struct guest_modules *t, uint64_t addr);
