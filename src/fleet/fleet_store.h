/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The directory of a fleet: the blocks of many hosts (store/history/blocks.h), as files.
 *
 *     FLEET/
 *       .fleet                       the version of this layout
 *       .id                          16 hexadecimal digits (fleet_id_text())
 *       .log                         who invited, enrolled and forgot hosts, and when
 *       .rates                       samples a second that hosts are asked for (fleet_rates.h)
 *       .tokens                      tokens of hosts (fleet_tokens.h)
 *       .loading, .loading-*         the lock of loading, and lists of blocks (batch_list.h)
 *       .leaves/                     addresses of samples: a fleet of its own (fleet_leaves())
 *       .sums/                       the hosts of a day added up (fleet_sums.h)
 *       .names/                      names of functions, by build id (symbol/cache.h)
 *       HOST/                        a history: each part is a block, or blocks that were merged
 *         .keys                      a line for each block that came
 *         .labels                    NAME=VALUE, a line each
 *         containers                 names of containers and pods (store/history/containers.h)
 *         20261126T213000.000Z-758596107/
 *
 * Each block is stored exactly once, whenever a process or the machine stops. The key of a block is
 * (host, part, bucket). It is written in this order:
 *
 *   1. The block is written under a hidden name (".block-NAME") and synced.
 *   2. Its key is appended to .keys and synced. From here on the block counts as stored.
 *   3. The block gets its name.
 *
 * Whoever opens the host again gives a hidden block with a key its name, and removes one without a
 * key. Keys stay when the history is merged, so a block that is sent again later is known. It is
 * written as ".block-NAME.known" and compared alone, so it never gets a name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "store/history/history.h"

struct error;

#define FLEET_HOST_MAX 64

/* A block that came, or that another one stands for. */
struct fleet_key {
	char part[HISTORY_NAME_SIZE];
	uint64_t bucket; /* its start, CLOCK_REALTIME in ns */
	uint64_t hash; /* XXH3 of the segment; 0: its samples came with other blocks, or expired */
	uint64_t samples, lost;
};

struct fleet_keys {
	struct fleet_key *data;
	size_t n, cap;
};

/* Whether a text can be the name of a host: a folder's name of letters, digits, '-', '_' and '.'.
 */
bool fleet_host_is_valid(const char *name);

/* The host of the profiles that programs push (fleet/fleet_adopt.h). No other may have its name. */
#define FLEET_PUSHED_HOST "pushed"

/*
 * Makes the directory if it is missing. -ENOTEMPTY: there is one, and it is no fleet. An empty one
 * may be the place of a file system that is not mounted. -EPROTONOSUPPORT: see
 * fleet_check_version().
 */
int fleet_make(const char *dir, struct error *err);

/* Whether there is a fleet at `path`, also one of a newer assay. */
bool fleet_is_at(const char *path);

/* -EPROTONOSUPPORT: a newer assay made the fleet. 0 also if there is none. */
int fleet_check_version(const char *dir, struct error *err);

/* The same, but -ENODEV if there is no fleet. */
int fleet_require(const char *dir, struct error *err);

/*
 * The fleet in a fleet that has the addresses of chosen services, by the hour (assay ship
 * --leaves). Its blocks have samples that the blocks of `dir` have, too. The caller frees the path.
 */
char *fleet_leaves(const char *dir);

/* Tells a fleet from another one that is at its path later, as after a mount. */
struct fleet_id {
	uint64_t device, file;
	uint64_t changed_ns; /* a file system may give the number of a removed file to the next */
};
static inline bool fleet_id_equal(const struct fleet_id *a, const struct fleet_id *b)
{
	return a->device == b->device && a->file == b->file && a->changed_ns == b->changed_ns;
}

/* False: there is no fleet at `path`. */
bool fleet_identify(const char *path, struct fleet_id *out);

/* "2026-11-27T01:00:00Z"; "-" for 0. */
#define FLEET_TIME_SIZE 24
void fleet_time_text(uint64_t wall_ns, char out[static FLEET_TIME_SIZE]);

/*
 * Locks the files of a fleet that belong to no host: one process changes them at a time. The caller
 * closes the descriptor. -EPERM: root would write files that the user of the fleet could not read.
 */
int fleet_lock(const char *fleet, struct error *err);

/* Writes down in FLEET/.log, on the disk, that this user did something: "forget", of a host. */
int fleet_log(const char *fleet, const char *what, const char *host, struct error *err);

/* Whether FLEET/.log says that somebody did this. */
bool fleet_log_has(const char *fleet, const char *what, const char *host);

/* Waits until a file or a folder is on the disk. */
int fleet_sync(const char *path, struct error *err);

/*
 * The id of a fleet, 16 hexadecimal digits in FLEET/.id, which is made at the first call. A fleet
 * that is copied keeps it.
 */
#define FLEET_ID_SIZE 17
int fleet_id_text(const char *dir, char id[static FLEET_ID_SIZE], struct error *err);

/* Whether a text has the form of such an id. */
bool fleet_id_is_valid(const char *id);

/* The hosts of a fleet, sorted. history_names_fini() frees the names. */
int fleet_hosts(const char *dir, struct history_names *out, struct error *err);

/* Whether the fleet has a host of that name. */
bool fleet_has_host(const char *dir, const char *host);

/* A host has so many labels at most, of so many bytes each. */
#define FLEET_LABELS_MAX      64
#define FLEET_LABEL_BYTES_MAX 256

/*
 * Whether a text is NAME=VALUE on one line, with a name of letters, digits, '-', '_' and '.', and
 * is not too long.
 */
bool fleet_label_is_valid(const char *text);

/* The host's labels, a line NAME=VALUE each; "" for none. The caller frees. */
char *fleet_labels_read(const char *dir, const char *host);

/*
 * Reads the keys of a host as they are now, by bucket and part, without its lock. The caller frees
 * out->data. A host without blocks has none.
 */
int fleet_keys_read(const char *dir, const char *host, struct fleet_keys *out, struct error *err);

/* The hash of a block's segment, as keys have it. Never 0. */
int fleet_block_hash(const char *block, uint64_t *hash, struct error *err);

struct fleet_host;

/*
 * Opens a host of a fleet for writing, makes its folder if needed, and ends what a crash left.
 * -EBUSY: another process writes it or merges it. -ENODEV: there is no fleet.
 * -EPROTONOSUPPORT: see fleet_check_version().
 */
int fleet_host_open(const char *dir, const char *host, struct fleet_host **out, struct error *err);

/* The same, but waits for another process, for so many milliseconds. */
int fleet_host_await(const char *dir, const char *host, uint32_t ms, struct fleet_host **out,
		     struct error *err);
void fleet_host_close(struct fleet_host *h); /* NULL is fine */
/* Closes it, and removes its folder if there is nothing in it, as after a refused request. */
void fleet_host_drop(struct fleet_host *h); /* NULL is fine */

const struct fleet_keys *fleet_host_keys(const struct fleet_host *h);

/* NULL: no such block came. Valid until the next change. */
const struct fleet_key *fleet_host_find(const struct fleet_host *h, const char *part,
					uint64_t bucket);

enum fleet_step {
	FLEET_WRITTEN, /* the block is on disk under its hidden name */
	FLEET_KEYED,   /* its key is on disk */
	FLEET_NAMED,
};

/*
 * Where a block is to be written as a session, so that fleet_host_take() can take it over. Valid
 * until its key is added. The caller frees the path.
 */
char *fleet_host_place(const struct fleet_host *h, const char *part, uint64_t bucket);

/*
 * Takes over the block at fleet_host_place(). Returns 1 if it was stored, and 0 if its key was
 * known; then the block is removed. key->hash is set. After a failure it is not stored. -EEXIST:
 * a block of another part has its name, which is a part of the hash of the part's name.
 */
int fleet_host_take(struct fleet_host *h, struct fleet_key *key, struct error *err);

/*
 * Adds the key of a block that was sent to another place, with its hash. The block at
 * fleet_host_place() is removed.
 */
int fleet_host_mark(struct fleet_host *h, struct fleet_key *key, struct error *err);

/* Adds a key without a block: its samples came with others, or expired. key->hash is 0. */
int fleet_host_cover(struct fleet_host *h, const struct fleet_key *key, struct error *err);

/*
 * Gives the block of that name another hash, after its segment was written anew with the same
 * number of samples. fleet_host_write_keys() writes all of them. False: no key has this block.
 */
bool fleet_host_rehash(struct fleet_host *h, const char *name, uint64_t hash);
int fleet_host_write_keys(struct fleet_host *h, struct error *err);

/* Replaces the labels by lines NAME=VALUE. */
int fleet_host_label(struct fleet_host *h, const char *lines, struct error *err);

/* Adds names of containers and pods, as containers_merge() does. It overwrites `lines`. */
int fleet_host_name_containers(struct fleet_host *h, char *lines, struct error *err);

/* The file with the names of a host's containers and pods. The caller frees the path. */
char *fleet_containers_file(const char *dir, const char *host);

/* For tests: called after each step. NULL: not. */
extern void (*fleet_at_step)(enum fleet_step step);
