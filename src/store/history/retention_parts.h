/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of a history as retention sees them, and the steps that it takes with them:
 * each leaves the directory in a state that readers read rightly.
 */
#pragma once

#include "base/mem.h"
#include "store/history/retention.h"

struct retained_part {
	char *name;
	uint64_t first_ns, last_ns; /* wall clock */
	uint64_t block_ns;          /* a second at least */
	uint64_t bytes;
	bool is_active, is_damaged, is_gone;
};

struct retained_parts {
	const char *dir;
	const struct retention_policy *policy;
	uint64_t now_ns;
	VEC(struct retained_part) parts; /* by name */
};

/* Removes what a crash left, and lists what there is. */
int retained_parts_init(struct retained_parts *p, struct error *err);
void retained_parts_fini(struct retained_parts *p);
uint64_t retained_bytes(const struct retained_parts *p);

/* Away with it, at once for readers. */
int retained_remove(struct retained_parts *p, struct retained_part *part, struct error *err);

/* In the form that takes the least (store/pack.h). 1: it was not in it before. */
int retained_pack(const struct retained_parts *p, struct retained_part *part, struct error *err);

/* `n` parts, with the numbers `which`, become one of this level's blocks. */
int retained_merge(struct retained_parts *p, const uint32_t *which, uint32_t n, size_t level,
		   struct retention_result *result, struct error *err);
