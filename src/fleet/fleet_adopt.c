/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_adopt.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "fleet/fleet_store.h"
#include "fleet/ship.h"
#include "store/history/blocks.h"
#include "store/history/pushed_names.h"
#include "store/history/retention.h"

/* The history may change while it is read. */
#define TRIES_MOST 10

#define BUCKET_S (BLOCK_BUCKET_NS / NS_PER_SECOND)

/* Whoever makes blocks of pushed profiles has the lock: one round at a time. */
#define LOCK ".adopting"

struct fleet_adopt {
	struct fleet_adopt_config config;
	struct ship *ship;
	struct intmap whole; /* parts that were sent whole, by the hash of the name */
};

struct fleet_adopt *fleet_adopt_new(const struct fleet_adopt_config *config)
{
	struct fleet_adopt *a = xcalloc(1, sizeof(*a));
	const struct ship_config ship = { .history = config->history,
					  .fleet = config->fleet,
					  .host = FLEET_PUSHED_HOST,
					  .merged_only = true,
					  .stops = config->stops };

	a->config = *config;
	a->ship = ship_new(&ship);
	return a;
}

void fleet_adopt_free(struct fleet_adopt *a)
{
	if (!a)
		return;
	ship_free(a->ship);
	intmap_fini(&a->whole);
	free(a);
}

static int lock_adopting(const char *fleet, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" LOCK, fleet);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640), r;

	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", path);
	if (flock(fd, LOCK_EX | LOCK_NB) == 0)
		return fd;
	r = errno == EWOULDBLOCK
		    ? error_set(err, -EBUSY,
				"another process makes blocks of pushed profiles in %s", fleet)
		    : error_errno(err, -errno, "cannot lock %s", path);
	close(fd);
	return r;
}

/* ---- which parts were sent ---- */

struct adopt_parts {
	struct history_names waiting; /* no block of them was sent */
	struct history_names sent;    /* all blocks were: others are in neither list */
};

static void adopt_parts_fini(struct adopt_parts *p)
{
	history_names_fini(&p->waiting);
	history_names_fini(&p->sent);
}

static uint64_t adopt_key(const char *part, uint64_t bucket)
{
	return XXH3_64bits_withSeed(part, strlen(part), bucket);
}

/* Whether each bucket of the part has a key. */
static bool was_sent_whole(struct fleet_adopt *a, const char *dir, const char *part,
			   const struct intmap *keys)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, part);
	struct block_buckets buckets = { 0 };
	bool whole;

	if (a->whole.n && intmap_find(&a->whole, adopt_key(part, 0)))
		return true;
	whole = part_buckets(path, BLOCK_BUCKET_NS, &buckets, NULL) >= 0;
	vec_foreach (&buckets, bucket)
		whole = whole && intmap_find(keys, adopt_key(part, bucket->start_ns));
	vec_fini(&buckets);
	if (whole)
		intmap_put(&a->whole, adopt_key(part, 0), NULL);
	return whole;
}

/* Lists the parts of the history by the keys that the fleet has of them. */
static int list_parts(struct fleet_adopt *a, const char *dir, struct adopt_parts *out,
		      struct error *err)
{
	struct history_names all = { 0 };
	struct fleet_keys keys = { 0 };
	struct intmap blocks = { 0 }, parts = { 0 };
	int r = history_list(dir, &all);

	if (r < 0)
		error_errno(err, r, "cannot read %s", dir);
	r = r < 0 ? r : fleet_keys_read(a->config.fleet, FLEET_PUSHED_HOST, &keys, err);
	vec_foreach (&keys, key) {
		intmap_put(&blocks, adopt_key(key->part, key->bucket), NULL);
		intmap_put(&parts, adopt_key(key->part, 0), NULL);
	}
	for (size_t i = 0; i < all.n && r >= 0; i++) {
		const char *name = all.data[i];

		if (!parts.n || !intmap_find(&parts, adopt_key(name, 0)))
			vec_push(&out->waiting, take_ptr(all.data[i]));
		else if (was_sent_whole(a, dir, name, &blocks))
			vec_push(&out->sent, take_ptr(all.data[i]));
	}
	intmap_fini(&blocks);
	intmap_fini(&parts);
	vec_fini(&keys);
	history_names_fini(&all);
	return r;
}

/* ---- the steps ---- */

/* Step 1. */
static int join_pushes(struct fleet_adopt *a, const char *dir, struct fleet_adopt_result *out,
		       struct error *err)
{
	struct retention_policy policy = {
		.tiers = { [LEVEL_MINUTES] = { BUCKET_S, BUCKET_S, 0, 0 } },
		.overviews = OVERVIEWS_THAT_PAY,
		.now_ns = a->config.now_ns,
	};
	struct retention_result result = { 0 };
	struct adopt_parts parts = { 0 };
	int r = list_parts(a, dir, &parts, err);

	policy.over = &parts.waiting;
	r = r < 0 ? r : history_retain(dir, &policy, &result, err);
	out->n_unread += result.n_damaged + result.n_newer;
	adopt_parts_fini(&parts);
	return r;
}

/* Step 2. */
static int send_joined(struct fleet_adopt *a, struct fleet_adopt_result *out, struct error *err)
{
	struct ship_result result = { 0 };
	int r = -EAGAIN;

	for (int i = 0; i < TRIES_MOST && r == -EAGAIN; i++) {
		r = ship_round(a->ship, &result, err);
		out->n_sent += result.n_sent;
		out->samples += result.samples;
		out->expired += result.expired;
	}
	out->n_unread += result.n_damaged + result.n_refused;
	return r;
}

/* Step 3, of the parts that were sent. */
static int shrink_sent(struct fleet_adopt *a, const char *dir, struct error *err)
{
	struct retention_policy policy = RETENTION_DEFAULT;
	struct retention_result result = { 0 };
	struct adopt_parts parts = { 0 };
	int r = list_parts(a, dir, &parts, err);

	policy.tiers[LEVEL_MINUTES].after_s = 0; /* they are minutes */
	policy.max_bytes = a->config.max_bytes;
	policy.now_ns = a->config.now_ns;
	policy.over = &parts.sent;
	r = r < 0 ? r : history_retain(dir, &policy, &result, err);
	adopt_parts_fini(&parts);
	return r;
}

/* The disk comes first. */
static int shrink_all(const struct fleet_adopt *a, const char *dir, struct error *err)
{
	const struct retention_policy policy = { .max_bytes = a->config.max_bytes,
						 .now_ns = a->config.now_ns };
	struct retention_result result = { 0 };
	int r = 0;

	if (policy.max_bytes && file_tree_bytes(dir) > policy.max_bytes)
		r = history_retain(dir, &policy, &result, err);
	if (r >= 0 && result.n_removed)
		log_warning("%s: %" PRIu32 " part%s that the fleet may not have %s removed: the "
			    "history is larger than %" PRIu64 " bytes",
			    a->config.history, result.n_removed, plural_s(result.n_removed),
			    plural(result.n_removed, "was", "were"), policy.max_bytes);
	return r;
}

static int adopt_locked(struct fleet_adopt *a, const char *dir, struct fleet_adopt_result *out,
			struct error *err)
{
	struct error why = { 0 };
	int r = join_pushes(a, dir, out, err), limited;

	r = r < 0 ? r : send_joined(a, out, err);
	r = r < 0 ? r : shrink_sent(a, dir, err);
	limited = shrink_all(a, dir, &why);
	return r < 0 || limited >= 0 ? r : error_set(err, limited, "%s", why.text);
}

int fleet_adopt_round(struct fleet_adopt *a, struct fleet_adopt_result *out, struct error *err)
{
	cleanup(free_at_exit) char *dir = history_dir(a->config.history);
	cleanup(close_at_exit) int lock = -1;

	*out = (struct fleet_adopt_result){ .n_refused =
						    pushed_names_refused(a->config.history, NULL) };
	if (!dir) /* nobody has pushed yet */
		return 0;
	lock = lock_adopting(a->config.fleet, err);
	return lock < 0 ? lock : adopt_locked(a, dir, out, err);
}
