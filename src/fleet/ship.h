/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the blocks of a host's history to a fleet. The history on disk is the queue: what was sent
 * is in the keys of the fleet (fleet/fleet_store.h), so it can stop at any moment.
 *
 * A block whose key is known may have other samples, as after a resumed recording or by another
 * history under the same name. Then it is sent, so that the place refuses it and says so.
 *
 * The newest block goes first, and every fourth one is the oldest. So the blocks of today do not
 * wait for those of an outage.
 *
 * If parts were merged before all of their blocks were sent, the merged part has the rest. Blocks
 * of which no part was sent are sent from there. Of a block that was sent in part, the rest can't
 * be told from what was sent: its samples are counted as expired. So are those of a part that was
 * removed before its blocks were sent.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/fleet_store.h"
#include "store/history/blocks.h"

struct buf;
struct error;
struct ship;

/* A result of ship_config.send. */
#define SHIP_FAILS_AT_IT 2

/* Bytes of names of containers that are sent at once. */
#define SHIP_CONTAINERS_MAX ((size_t)60 << 10)

struct ship_config {
	const char *history; /* a daemon's directory, or a history */
	const char *fleet;   /* the directory of the fleet, which exists */
	const char *host;
	bool without_comm, without_cgroup;
	/* Without `send`: lines NAME=VALUE of the host, and the fleet that has the facts of the
	 * host. NULL: the labels stay; `fleet`. */
	const char *labels, *facts_fleet;
	/*
	 * Instead of blocks of functions: hourly blocks with the addresses of these services, globs
	 * of a line each (LEAVES_BUCKET_NS). NULL: not. `fleet` is then fleet_leaves() of the
	 * fleet. A bucket without such samples has a key alone. A bucket that has a key stays as it
	 * is, also if the globs are others later.
	 */
	const char *leaves;
	bool dry_run;     /* blocks are made and reported, and not stored */
	bool merged_only; /* parts wait until they are merged (store/history/retention.h) */
	/*
	 * Sends the block in the folder `block` to another place, which then has it once, however
	 * often it comes: 0. 1: this block is refused, with *err. SHIP_FAILS_AT_IT: the server
	 * failed at this block, with *err, and may take others. Negative: a failure, which ends the
	 * round. `fleet` is then a folder with the keys of the blocks that were sent. NULL: `fleet`
	 * is the place.
	 */
	int (*send)(void *context, const struct fleet_key *key, const char *block,
		    struct error *err);
	/* The same for names of containers and pods, lines "ID NAME" of SHIP_CONTAINERS_MAX at
	 * most.
	 */
	int (*send_containers)(void *context, const struct buf *lines, struct error *err);
	void *send_context;
	/*
	 * Appends lines "ID NAME" of containers and pods that the history does not have, once for
	 * each round. NULL: none.
	 */
	void (*more_containers)(void *context, struct buf *lines);
	void *more_context;
	uint64_t (*now)(void); /* for tests; NULL: clock_monotonic_ns() */
	bool (*stops)(void);   /* asked before each block: whether to end the round. May be NULL */
	/* Called for each block that would be stored, with its folder: dry_run. May be NULL. */
	void (*report)(void *context, const struct fleet_key *key, const struct block_sums *sums,
		       const char *block);
	/* The same for names of containers and pods, lines "ID NAME". May be NULL. */
	void (*report_containers)(void *context, const char *lines);
	void *context;
};

/* What has no block yet: the last buckets of parts that may grow. */
struct ship_growing {
	uint32_t n_parts; /* that may grow; 0: the other members have nothing */
	uint64_t samples;
	uint64_t ready_ns;   /* the end of the last of the buckets, CLOCK_REALTIME */
	uint64_t written_ns; /* when a part of them was written last … */
	uint64_t over_ns; /* … and when it counts as over if nobody writes to it from then on */
};

struct ship_result {
	/*
	 * Blocks that the place does not take: they come again in an hour. Or that it failed at: in
	 * ten minutes, and after twice the time at each further failure, up to a day.
	 */
	uint32_t n_refused;
	uint64_t n_left; /* other blocks that wait, with those of earlier rounds that it refused */
	uint32_t n_sent, n_damaged; /* damaged: parts and blocks that can't be read */
	/* Blocks of parts in the history: sent before; or their samples came with others or
	 * expired. */
	uint32_t n_known, n_covered;
	struct ship_growing growing;
	uint32_t n_containers; /* names of containers and pods that were sent, or would be */
	uint64_t samples, lost, bytes;
	/* Samples a second on each processor, of the newest block that was sent; 0: none was. */
	uint64_t rate_hz, rate_bucket;
	/*
	 * Samples that can't be sent any more: they were merged with others that had been sent. Or
	 * retention removed their part since an earlier round. A part counts if it was away in two
	 * rounds.
	 */
	uint64_t expired;
};

/* The texts of *config are copied. */
struct ship *ship_new(const struct ship_config *config);
void ship_free(struct ship *s); /* NULL is fine */

/* Whether an error is one of the disk or the memory here; others are of a part or a block. */
bool ship_is_of_disk(int r);

/*
 * Only looks at what waits, as while the place is away: the members n_left, n_damaged and expired.
 * Negative: it could not look, so they are not known.
 */
int ship_look(struct ship *s, struct ship_result *out, struct error *err);

/*
 * Sends all blocks that are final and were not sent. -EAGAIN: the history changed meanwhile; call
 * it again. -EINTR: config.stops. Other errors: the fleet can't be written, or is not there. What
 * was sent is in *out, also then.
 */
int ship_round(struct ship *s, struct ship_result *out, struct error *err);
