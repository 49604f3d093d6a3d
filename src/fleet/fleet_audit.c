/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "fleet/fleet_store.h"
#include "store/history/blocks.h"
#include "store/session.h"

/* A gateway holds a host's lock for some milliseconds at a time. */
#define LOCK_TRIES    100
#define LOCK_PAUSE_NS (100 * NS_PER_MS)

const char *const audit_kind_names[N_AUDIT_KINDS] = {
	[AUDIT_MISSING] = "missing", [AUDIT_DIFFERS] = "differs", [AUDIT_EXTRA] = "extra",
	[AUDIT_DAMAGED] = "damaged", [AUDIT_MERGED] = "merged",
};

struct audit {
	char *dir; /* of the host */
	const struct fleet_keys *keys;
	char (*names)[HISTORY_NAME_SIZE]; /* of the blocks, by key */
	bool *has_block;                  /* by key */
	struct audit_sums merged;         /* of blocks without a key of their own */
	uint64_t oldest_ns;               /* the begin of the oldest block */
	struct audit_result *out;
};

void audit_result_fini(struct audit_result *r)
{
	vec_foreach (&r->findings, f)
		free(f->text);
	vec_fini(&r->findings);
}

static void find(struct audit *a, enum audit_kind kind, uint64_t bucket, struct audit_sums sent,
		 struct audit_sums stored, const char *text)
{
	struct audit_finding f = { kind, bucket, sent, stored, xstrdup(text) };

	vec_push(&a->out->findings, f);
}

static struct audit_sums sums_of_key(const struct fleet_key *key)
{
	return (struct audit_sums){ key->samples, key->lost };
}

static struct audit_sums sums_of_session(const struct session *s)
{
	struct audit_sums sums = { 0 };

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];

			sums.samples += block->samples;
			for (uint32_t l = 0; l < block->n_losses; l++)
				if (loss_texts[block->losses[l].reason].kind == LOSS_LOST)
					sums.lost += block->losses[l].n;
		}
	return sums;
}

static void add_sums(struct audit_sums *to, struct audit_sums sums)
{
	to->samples += sums.samples;
	to->lost += sums.lost;
}

/* The key of a block that nobody merged; NULL: it has none. */
static const struct fleet_key *key_of_block(struct audit *a, const char *name)
{
	for (size_t i = 0; i < a->keys->n; i++)
		if (a->keys->data[i].hash && !strcmp(a->names[i], name)) {
			a->has_block[i] = true;
			return &a->keys->data[i];
		}
	return NULL;
}

static void audit_own(struct audit *a, const struct fleet_key *key, const char *name,
		      const char *path, struct audit_sums stored)
{
	struct audit_sums sent = sums_of_key(key);
	struct error err = { 0 };
	uint64_t hash;

	a->out->n_blocks++;
	if (stored.samples != sent.samples || stored.lost != sent.lost)
		find(a, AUDIT_DIFFERS, key->bucket, sent, stored, name);
	else if (fleet_block_hash(path, &hash, &err) < 0)
		find(a, AUDIT_DAMAGED, key->bucket, sent, stored, err.text);
	else if (hash != key->hash)
		find(a, AUDIT_DIFFERS, key->bucket, sent, stored, "other bytes");
}

/* A merged block has the names of those that it replaces. */
static bool is_merged(const struct session *s)
{
	return s->info.replaces && *s->info.replaces;
}

static void audit_block(struct audit *a, const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", a->dir, name);
	cleanup(session_close_at_exit) struct session *s = NULL;
	const struct fleet_key *key = key_of_block(a, name);
	struct error err = { 0 };
	struct audit_sums stored;
	uint64_t begin_ns;

	if (session_open(path, &s, &err) < 0) {
		find(a, AUDIT_DAMAGED, key ? key->bucket : 0,
		     key ? sums_of_key(key) : (struct audit_sums){ 0 }, (struct audit_sums){ 0 },
		     err.text);
		return;
	}
	stored = sums_of_session(s);
	begin_ns = key ? key->bucket : s->info.start_wall_ns;
	a->oldest_ns = MIN(a->oldest_ns, begin_ns);
	add_sums(&a->out->stored, stored);
	if (s->warnings.n) {
		find(a, AUDIT_DAMAGED, begin_ns, key ? sums_of_key(key) : (struct audit_sums){ 0 },
		     stored, s->warnings.data[0]);
	} else if (key) {
		audit_own(a, key, name, path, stored);
	} else if (is_merged(s)) {
		a->out->n_merged++;
		add_sums(&a->merged, stored);
	} else {
		find(a, AUDIT_EXTRA, begin_ns, (struct audit_sums){ 0 }, stored, name);
	}
}

/* Where no block is left at all, something else than retention took them. */
static bool is_removed(const struct audit *a, const struct fleet_key *key)
{
	return a->oldest_ns != UINT64_MAX && key->bucket + BLOCK_BUCKET_NS <= a->oldest_ns;
}

/* Keys without a block of their own. */
static void audit_rest(struct audit *a)
{
	struct audit_sums rest = { 0 };

	for (size_t i = 0; i < a->keys->n; i++) {
		const struct fleet_key *key = &a->keys->data[i];
		struct audit_sums sent = sums_of_key(key);

		if (!key->hash) {
			a->out->expired += key->samples;
		} else if (!a->has_block[i] && is_removed(a, key)) {
			a->out->n_removed++;
			a->out->removed_samples += key->samples;
		} else {
			add_sums(&a->out->sent, sent);
			if (!a->has_block[i] && a->out->n_merged)
				add_sums(&rest, sent);
			else if (!a->has_block[i])
				find(a, AUDIT_MISSING, key->bucket, sent, (struct audit_sums){ 0 },
				     a->names[i]);
		}
	}
	if (rest.samples != a->merged.samples || rest.lost != a->merged.lost)
		find(a, AUDIT_MERGED, 0, rest, a->merged, "blocks that were merged");
}

static int by_bucket(const void *x, const void *y)
{
	const struct audit_finding *a = x, *b = y;

	return (a->bucket > b->bucket) - (a->bucket < b->bucket);
}

static int audit_blocks(struct audit *a, struct error *err)
{
	struct history_names names = { 0 };
	int r = history_list(a->dir, &names);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", a->dir);
	vec_foreach (&names, name)
		audit_block(a, *name);
	audit_rest(a);
	if (a->out->findings.n)
		qsort(a->out->findings.data, a->out->findings.n, sizeof(*a->out->findings.data),
		      by_bucket);
	history_names_fini(&names);
	return 0;
}

/* Nobody adds or merges blocks meanwhile. */
static int lock_host(const char *dir, const char *host, struct fleet_host **out, struct error *err)
{
	const struct timespec pause = timespec_of_ns(LOCK_PAUSE_NS);
	int r = -EBUSY;

	for (int i = 0; i < LOCK_TRIES && r == -EBUSY; i++) {
		if (i)
			nanosleep(&pause, NULL);
		r = fleet_host_open(dir, host, out, err);
	}
	return r;
}

int fleet_audit(const char *dir, const char *host, struct audit_result *out, struct error *err)
{
	struct audit a = { .oldest_ns = UINT64_MAX, .out = out };
	struct fleet_host *h = NULL;
	int r;

	*out = (struct audit_result){ 0 };
	r = lock_host(dir, host, &h, err);
	if (r < 0)
		return r;
	a.dir = xasprintf("%s/%s", dir, host);
	a.keys = fleet_host_keys(h);
	a.names = xcalloc(a.keys->n + 1, sizeof(*a.names));
	a.has_block = xcalloc(a.keys->n + 1, sizeof(*a.has_block));
	for (size_t i = 0; i < a.keys->n; i++)
		block_name(a.keys->data[i].bucket, a.keys->data[i].part, a.names[i]);
	r = audit_blocks(&a, err);
	free(a.dir);
	free(a.names);
	free(a.has_block);
	fleet_host_close(h);
	return r;
}
