/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the sampled mappings of programs are, so that the end of a part of one is known. A part in
 * the middle makes two ranges of one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

/* Each end of a mapping looks through all of them. */
#define MAPPED_MAX 4096

struct mapped_range {
	uint64_t start, end, id;
	int32_t pid;
};

/* {0} is valid and empty. */
struct mapped {
	struct mapped_range *data;
	size_t n, cap;
};
void mapped_fini(struct mapped *m);

/* Whole pages of 4 KB: the kernel rounds, too. */
uint64_t mapped_size(uint64_t bytes);

/* False: there is no room, or the range is empty. */
bool mapped_add(struct mapped *m, int32_t pid, uint64_t start, uint64_t bytes, uint64_t id);

/*
 * Of mappings up to an id: a later one may have the address by now. `ended`: so many bytes of the
 * mapping are gone.
 */
void mapped_remove(struct mapped *m, int32_t pid, uint64_t start, uint64_t bytes, uint64_t last_id,
		   void (*ended)(void *context, uint64_t id, uint64_t bytes), void *context);

bool mapped_has(const struct mapped *m, int32_t pid);

/* The process has ended, or executes another program: its mappings end unseen. */
void mapped_forget(struct mapped *m, int32_t pid);
