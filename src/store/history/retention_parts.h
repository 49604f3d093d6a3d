/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a history as retention sees them, and its single steps. After each step, readers get
 * right results from the directory.
 */
#pragma once

#include "base/clock.h"
#include "base/mem.h"
#include "store/history/retention.h"

struct retained_part {
	char *name;
	uint64_t first_ns, last_ns; /* wall clock */
	uint64_t block_ns;          /* at least a second */
	uint64_t bytes;
	bool is_active, is_gone;
	bool is_damaged; /* can't be read; is_newer: because a newer assay wrote it */
	bool is_newer;
};

struct retained_parts {
	const char *dir;
	const struct retention_policy *policy;
	uint64_t now_ns;
	VEC(struct retained_part) parts; /* by name */
};

/* A part without an end that was not written to for so long is abandoned. */
#define PART_ABANDONED_NS (3600 * NS_PER_SECOND)

/* The time of the last write to a part (CLOCK_REALTIME); 0: it has no files. */
uint64_t part_written_ns(const char *path);

/* Removes the remains of a crash and lists the parts. */
int retained_parts_init(struct retained_parts *p, struct error *err);
void retained_parts_fini(struct retained_parts *p);
uint64_t retained_bytes(const struct retained_parts *p);

/* Removes a part. Readers no longer see it, even before all files are gone. */
int retained_remove(struct retained_parts *p, struct retained_part *part, struct error *err);

/* Packs a part (store/history/pack.h). Returns 1 if it was not packed like that before. */
int retained_pack(const struct retained_parts *p, struct retained_part *part, bool keeps_times,
		  struct error *err);

/*
 * Opens a part alone. Returns false, and marks the part as damaged, if it can't be read or does not
 * say when it began.
 */
bool retained_try_to_open(const struct retained_parts *p, struct retained_part *part);

/* Merges `n` parts, with the indexes `which`, to one part of this level's blocks. */
int retained_merge(struct retained_parts *p, const uint32_t *which, uint32_t n, size_t level,
		   struct retention_result *result, struct error *err);
