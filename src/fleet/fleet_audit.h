/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the blocks of a host of a fleet with its keys (fleet/fleet_store.h): whether each sample
 * that came is there once.
 *
 * A block that nobody merged has a key of its own. It must have the samples, the losses and the
 * hash of its key. Blocks that were merged (`assay retain`) are compared by their sum with the keys
 * that have no block of their own. Retention removes the oldest blocks first. So keys that are
 * older than all that is there count as removed, and not as a difference.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/mem.h"

struct error;

struct audit_sums {
	uint64_t samples, lost;
};

enum audit_kind {
	AUDIT_MISSING, /* a key without a block: its samples are gone */
	AUDIT_DIFFERS, /* a block has other sums than its key, or other bytes */
	AUDIT_EXTRA,   /* a block without a key */
	AUDIT_DAMAGED, /* a block that can't be read whole */
	AUDIT_MERGED,  /* the sum of merged blocks is not that of their keys */
	N_AUDIT_KINDS
};
extern const char *const audit_kind_names[N_AUDIT_KINDS];

/* A difference. */
struct audit_finding {
	enum audit_kind kind;
	uint64_t bucket; /* CLOCK_REALTIME in ns; 0: not of one bucket */
	struct audit_sums sent, stored;
	char *text; /* the block's name, and the reason if it is damaged; for people */
};

struct audit_result {
	uint64_t n_blocks; /* with keys of their own */
	uint64_t n_merged; /* that stand for several blocks */
	uint64_t n_removed, removed_samples;
	uint64_t expired; /* keys without a hash: their samples expired, or came with others */
	struct audit_sums sent, stored;     /* without the removed ones */
	VEC(struct audit_finding) findings; /* by bucket */
};

/*
 * Audits a host. The caller holds no lock of it; -EBUSY: somebody writes it all the time. Frees
 * with audit_result_fini(), also after a failure.
 */
int fleet_audit(const char *dir, const char *host, struct audit_result *out, struct error *err);
void audit_result_fini(struct audit_result *r);
