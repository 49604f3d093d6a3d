/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The processes of a session that had JIT code, and the places of their TGID.jo files. OProfile's
 * tools look for such files.
 */
#pragma once

#include <stdint.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "oprofile/store/facts.h"

struct error;
struct jit_folder;

/* All zeros at first. */
struct jit_folders {
	VEC(struct jit_folder) list;
	VEC(struct facts_symbol) earlier; /* names of a session that is gone on with */
	struct intmap owners; /* (process, process of the names): the parent's after a fork */
};

void jit_folders_fini(struct jit_folders *f);

/* The folder of a region of a process's anonymous memory. Its parent folder is the process's. */
void jit_folders_note(struct jit_folders *f, int32_t pid, const char *folder);

/* The process runs code that has the names of `image_pid`. */
void jit_folders_own(struct jit_folders *f, int32_t pid, int32_t image_pid);

/*
 * Writes the files of processes of which something new is known, with the names of earlier
 * recordings into them, and calls back with their paths.
 */
int jit_folders_write(struct jit_folders *f, const struct session_facts *facts,
		      void (*written)(void *context, const char *path), void *context,
		      struct error *err);
