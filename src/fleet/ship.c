/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "fleet/kept_names.h"
#include "fleet/service_choice.h"
#include "fleet/ship_containers.h"
#include "fleet/ship_direct.h"
#include "fleet/ship_waiting.h"
#include "store/history/retention_parts.h"
#include "symbol/symbols.h"

/* Every fourth block is the oldest. */
#define OLDEST_EACH 4

/* A block that was refused is tried again after so long: a clock may be set right meanwhile. */
#define REFUSED_NS (3600 * NS_PER_SECOND)

/*
 * A server that fails at a block may take the others. After so many failures in a row, it takes
 * none, and the round ends. Such a block is tried again after FAILED_NS, which doubles with each
 * failure up to FAILED_MOST_NS: other blocks get their turn.
 */
#define FAILED_NS      (600 * NS_PER_SECOND)
#define FAILED_MOST_NS (86400 * NS_PER_SECOND)
#define FAILURES_MOST  3

struct queued {
	uint32_t part; /* index into names */
	uint64_t bucket;
};

/* A block that the place refused, or failed at. */
struct refused {
	char part[HISTORY_NAME_SIZE];
	uint64_t bucket, until_ns; /* CLOCK_MONOTONIC */
	uint64_t next_ns;          /* how long it waits after a further failure */
	bool is_there;             /* the place has it, after all */
};

struct part {
	char *replaces; /* names of the parts that it replaces, with blanks between; NULL */
	bool is_done;   /* it is in ship.done; the other members have nothing */
	bool is_over;   /* it has its end, so no further blocks */
	struct block_buckets buckets;
};

struct ship {
	struct ship_config config;    /* its texts are owned */
	struct fleet_id fleet;        /* the fleet of the last round */
	struct history_names done;    /* parts that are over, and wholly in that fleet */
	VEC(struct refused) refused;  /* they are not sent before their time */
	struct ship_direct direct;    /* without config.send */
	struct ship_waiting *waiting; /* NULL with blocks of addresses, which do not expire */
	/* Of a round: */
	char *dir; /* of the parts */
	struct fleet_host *host;
	struct history_names names;
	VEC(struct part) parts; /* by name */
	VEC(struct queued) queue;
	uint64_t n_held;   /* blocks that were refused or failed before this round */
	uint32_t n_failed; /* failures in a row */
	struct block_config block;
	struct service_choice *leaves; /* NULL: blocks of functions */
	struct ship_result *result;
};

struct ship *ship_new(const struct ship_config *config)
{
	struct ship *s = xcalloc(1, sizeof(*s));

	s->config = *config;
	s->config.history = xstrdup(config->history);
	s->config.fleet = xstrdup(config->fleet);
	s->config.host = xstrdup(config->host);
	s->config.leaves = config->leaves ? xstrdup(config->leaves) : NULL;
	s->config.labels = config->labels ? xstrdup(config->labels) : NULL;
	s->config.facts_fleet = xstrdup(config->facts_fleet ? config->facts_fleet : config->fleet);
	s->direct.fleet = s->config.facts_fleet;
	s->direct.host = s->config.host;
	s->direct.labels = s->config.labels;
	s->direct.is_leaves = s->config.leaves != NULL;
	s->waiting = config->leaves ? NULL : ship_waiting_new();
	return s;
}

void ship_free(struct ship *s)
{
	if (!s)
		return;
	history_names_fini(&s->done);
	vec_fini(&s->refused);
	ship_waiting_free(s->waiting);
	free((char *)s->config.history);
	free((char *)s->config.fleet);
	free((char *)s->config.host);
	free((char *)s->config.leaves);
	free((char *)s->config.labels);
	free((char *)s->config.facts_fleet);
	free(s);
}

static bool is_in(const struct history_names *sorted, char *const *name)
{
	return sorted->n && bsearch(name, sorted->data, sorted->n, sizeof(*name), history_by_name);
}

/* ---- the queue ---- */

static char *part_path(const struct ship *s, uint32_t part)
{
	return xasprintf("%s/%s", s->dir, s->names.data[part]);
}

static struct refused *find_refused(const struct ship *s, const char *part, uint64_t bucket)
{
	vec_foreach (&s->refused, r)
		if (r->bucket == bucket && !strcmp(r->part, part))
			return r;
	return NULL;
}

static uint64_t ship_now(const struct ship *s)
{
	return s->config.now ? s->config.now() : clock_monotonic_ns();
}

static bool is_held(const struct ship *s, const char *part, uint64_t bucket)
{
	const struct refused *r = find_refused(s, part, bucket);

	return r && ship_now(s) < r->until_ns;
}

/* Blocks of parts that are gone. */
static void forget_refused(struct ship *s)
{
	for (size_t i = s->refused.n; i-- > 0;) {
		char *name = s->refused.data[i].part;

		if (!is_in(&s->names, &name))
			s->refused.data[i] = s->refused.data[--s->refused.n];
	}
}

/*
 * Whether the block of a known key has other samples than this bucket. Samples that are damaged
 * count as lost. Blocks of addresses have a choice of the samples.
 */
static bool is_other(const struct ship *s, const struct fleet_key *known,
		     const struct block_bucket *bucket)
{
	return known->hash && !s->config.leaves && !s->config.dry_run &&
	       (bucket->samples < known->samples || bucket->samples > known->samples + known->lost);
}

static void queue_bucket(struct ship *s, uint32_t part, const struct block_bucket *bucket)
{
	const char *name = s->names.data[part];
	const struct fleet_key *known = fleet_host_find(s->host, name, bucket->start_ns);

	if (known && !is_other(s, known, bucket)) {
		*(known->hash ? &s->result->n_known : &s->result->n_covered) += 1;
		return;
	}
	if (s->waiting && !known)
		ship_waiting_put(s->waiting, name, bucket->start_ns, bucket->samples);
	if (is_held(s, name, bucket->start_ns))
		s->n_held++;
	else
		vec_push(&s->queue, (struct queued){ part, bucket->start_ns });
}

static void note_growing(struct ship *s, const struct block_buckets *buckets)
{
	struct ship_growing *g = &s->result->growing;
	uint64_t end_ns = buckets->growing.start_ns + s->block.bucket_ns;

	g->n_parts++;
	g->samples += buckets->growing.samples;
	if (buckets->growing.start_ns)
		g->ready_ns = MAX(g->ready_ns, end_ns);
	g->written_ns = MAX(g->written_ns, buckets->written_ns);
	g->over_ns = g->written_ns + PART_ABANDONED_NS;
}

static void read_part(struct ship *s, uint32_t part)
{
	cleanup(free_at_exit) char *path = part_path(s, part);
	struct part out = { .is_done = is_in(&s->done, &s->names.data[part]) };
	struct session_info info;
	struct session_end end;
	struct error err = { 0 };
	bool has_end = !out.is_done && session_extent(path, &info, &end, &out.replaces) == 0;
	bool is_merged = has_end && out.replaces && *out.replaces;
	bool waits = s->config.merged_only && !is_merged;
	int r = 0;

	if (!out.is_done && !waits)
		r = part_buckets(path, s->block.bucket_ns, &out.buckets, &err);
	if (out.buckets.may_grow)
		note_growing(s, &out.buckets);
	if (s->waiting && is_merged)
		ship_waiting_merged(s->waiting, out.replaces, info.start_wall_ns,
				    session_wall_ns(&info, end.end_ns));
	/* A recorder that was stopped for an hour may go on. */
	out.is_over = has_end && !waits && r >= 0;
	vec_push(&s->parts, out);
	/* The recorder may have begun the newest one just now, but not in a newer format. */
	if (r < 0 && access(path, F_OK) == 0 && (part + 1 < s->names.n || r == -EPROTONOSUPPORT)) {
		log_warning("a part is left out: %s", err.text);
		s->result->n_damaged++;
	}
}

/*
 * Between the two steps of a merge, or after a crash of the upkeep, parts are there beside the one
 * that replaces them.
 */
static bool is_replaced(const struct ship *s, uint32_t part)
{
	vec_foreach (&s->parts, other)
		if (other->replaces && replaces_part(other->replaces, s->names.data[part]))
			return true;
	return false;
}

/* The blocks of a part that is replaced come with the part that replaces it. */
static void queue_part(struct ship *s, uint32_t part)
{
	struct part *p = &s->parts.data[part];

	if (!p->is_done && is_replaced(s, part))
		p->is_over = true;
	else
		vec_foreach (&p->buckets, bucket)
			queue_bucket(s, part, bucket);
	vec_fini(&p->buckets);
}

static int by_bucket(const void *a, const void *b)
{
	const struct queued *x = a, *y = b;

	if (x->bucket != y->bucket)
		return x->bucket < y->bucket ? -1 : 1;
	return (x->part > y->part) - (x->part < y->part);
}

/* Blocks that waited, and whose part is gone. */
static int expire(struct ship *s, struct error *err)
{
	struct fleet_keys gone = { 0 };
	int r = 0;

	ship_waiting_take_gone(s->waiting, &s->names, s->host, &gone);
	vec_foreach (&gone, key) {
		s->result->expired += key->samples;
		if (r >= 0 && !s->config.dry_run)
			r = fleet_host_cover(s->host, key, err);
	}
	vec_fini(&gone);
	return r;
}

static int make_queue(struct ship *s, struct error *err)
{
	int r = history_list(s->dir, &s->names);

	if (r < 0)
		return error_errno(err, r, "cannot read %s", s->dir);
	forget_refused(s);
	for (uint32_t part = 0; part < s->names.n; part++)
		read_part(s, part);
	for (uint32_t part = 0; part < s->names.n; part++)
		queue_part(s, part);
	if (s->queue.n)
		qsort(s->queue.data, s->queue.n, sizeof(*s->queue.data), by_bucket);
	s->result->n_left = s->queue.n + s->n_held;
	return s->waiting ? expire(s, err) : 0;
}

/* ---- a block ---- */

/*
 * The samples of a merged block that came before, with blocks of the parts that it replaces; *any:
 * there are some. If the history was merged twice since, some of the parts that it names came and
 * went unseen. So the blocks of all parts that are gone count, too. They may be the ones that a key
 * without a block stands for.
 */
static uint64_t sent_before(const struct ship *s, const struct queued *q, uint64_t length_ns,
			    bool *any)
{
	const char *replaces = s->parts.data[q->part].replaces;
	uint64_t end = (q->bucket / length_ns + 1) * length_ns;
	uint64_t sent = 0, covered = 0, gone = 0;

	*any = false;
	for (size_t i = 0; replaces && *replaces && i < fleet_host_keys(s->host)->n; i++) {
		const struct fleet_key *key = &fleet_host_keys(s->host)->data[i];
		char *name = (char *)key->part;
		uint64_t *sums = NULL;

		if (key->bucket < q->bucket || key->bucket >= end)
			continue;
		if (replaces_part(replaces, key->part))
			sums = key->hash ? &sent : &covered;
		else if (key->hash && !is_in(&s->names, &name))
			sums = &gone;
		if (sums) {
			*any = true;
			*sums += key->samples;
		}
	}
	return sent + MAX(covered, gone);
}

static void count_sent(struct ship *s, const struct fleet_key *key, const struct block_sums *sums)
{
	s->result->n_sent++;
	s->result->samples += sums->samples;
	s->result->lost += sums->lost;
	s->result->bytes += sums->bytes;
	if (sums->rate_hz && key->bucket >= s->result->rate_bucket) {
		s->result->rate_hz = sums->rate_hz;
		s->result->rate_bucket = key->bucket;
		s->direct.facts.rate_hz = sums->rate_hz;
	}
}

/* The block is not sent again before its time. */
static void hold(struct ship *s, const struct fleet_key *key, bool has_failed, bool is_there)
{
	struct refused *refused = find_refused(s, key->part, key->bucket);

	if (!refused) {
		struct refused new = { .bucket = key->bucket, .next_ns = FAILED_NS };

		snprintf(new.part, sizeof(new.part), "%s", key->part);
		vec_push(&s->refused, new);
		refused = &s->refused.data[s->refused.n - 1];
	}
	refused->is_there = is_there;
	refused->until_ns = ship_now(s) + (has_failed ? refused->next_ns : REFUSED_NS);
	if (has_failed)
		refused->next_ns = MIN(2 * refused->next_ns, FAILED_MOST_NS);
}

/* Sends the block at `place`, or stores it here. 1: it was sent. */
static int send_away(struct ship *s, struct fleet_key *key, const char *place, struct error *err)
{
	bool is_known = fleet_host_find(s->host, key->part, key->bucket) != NULL;
	struct refused *refused;
	int r = s->config.send ? s->config.send(s->config.send_context, key, place, err)
			       : ship_direct_take(&s->direct, s->host, key, place, err);

	s->n_failed = r == SHIP_FAILS_AT_IT ? s->n_failed + 1 : 0;
	if (!r && s->config.send)
		r = fleet_host_mark(s->host, key, err);
	file_remove_tree(place, NULL);
	if (r < 0)
		return r;
	if (!r && is_known) /* the fleet has exactly this one */
		hold(s, key, false, true);
	else if (!r && (refused = find_refused(s, key->part, key->bucket)))
		refused->is_there = true;
	if (!r)
		return !is_known;
	log_warning("a block is refused: %s", err ? err->text : "");
	s->result->n_refused++;
	hold(s, key, r == SHIP_FAILS_AT_IT, false);
	return s->n_failed < FAILURES_MOST ? 0 : -EIO;
}

/* The block is at `place`. */
static int hand_over(struct ship *s, const struct queued *q, const char *place,
		     const struct block_sums *sums, struct error *err)
{
	struct fleet_key key = { .bucket = q->bucket,
				 .samples = sums->samples,
				 .lost = sums->lost };
	const char *name = s->names.data[q->part];
	uint64_t before;
	bool any;
	int r;

	snprintf(key.part, sizeof(key.part), "%s", name);
	if (s->config.leaves && !sums->samples) {
		file_remove_tree(place, NULL);
		return s->config.dry_run ? 0 : fleet_host_cover(s->host, &key, err);
	}
	if (fleet_host_find(s->host, key.part, key.bucket))
		return MIN(send_away(s, &key, place, err), 0);
	before = sent_before(s, q, sums->length_ns, &any);
	if (any || s->config.dry_run) {
		if (!any)
			count_sent(s, &key, sums);
		if (!any && s->config.report)
			s->config.report(s->config.context, &key, sums, place);
		file_remove_tree(place, NULL);
		r = any && !s->config.dry_run ? fleet_host_cover(s->host, &key, err) : 0;
		/* Without its key, the block comes again, and would count again. */
		if (r >= 0 && any && sums->samples > before)
			s->result->expired += sums->samples - before;
		return r;
	}
	r = send_away(s, &key, place, err);
	if (r > 0)
		count_sent(s, &key, sums);
	return r;
}

bool ship_is_of_disk(int r)
{
	return r == -ENOSPC || r == -EDQUOT || r == -EIO || r == -EROFS || r == -EACCES ||
	       r == -ENOMEM;
}

static int send_block(struct ship *s, const struct queued *q, struct error *err)
{
	cleanup(free_at_exit) char *path = part_path(s, q->part);
	cleanup(free_at_exit) char *place =
		fleet_host_place(s->host, s->names.data[q->part], q->bucket);
	struct block_sums sums;
	struct error why = { 0 };
	int r;

	file_remove_tree(place, NULL);
	r = part_block(path, q->bucket, &s->block, place, &sums, &why);
	if (r >= 0)
		return hand_over(s, q, place, &sums, err);
	s->parts.data[q->part].is_over = false;
	if (access(path, F_OK) < 0)
		return error_set(err, -EAGAIN, "%s is gone: it was merged or removed", path);
	if (ship_is_of_disk(r))
		return error_set(err, r, "%s", why.text);
	log_warning("a block is left out: %s", why.text);
	s->result->n_damaged++;
	return 0;
}

/*
 * The next block of the queue is at one of its ends. After a failure it is at the other end: blocks
 * at which the server fails often lie together.
 */
static bool take_oldest(const struct ship *s, size_t n, bool was_oldest)
{
	return s->n_failed ? !was_oldest : n % OLDEST_EACH == 0;
}

static bool has_refused(const struct ship *s, const char *part)
{
	vec_foreach (&s->refused, r)
		if (!r->is_there && !strcmp(r->part, part))
			return true;
	return false;
}

/* A round without an error has sent all, but for the blocks that were refused. */
static void note_done(struct ship *s)
{
	for (uint32_t part = 0; part < s->names.n; part++)
		if (s->parts.data[part].is_over && !has_refused(s, s->names.data[part]))
			vec_push(&s->done, xstrdup(s->names.data[part]));
	if (s->done.n)
		qsort(s->done.data, s->done.n, sizeof(*s->done.data), history_by_name);
}

static int send_all(struct ship *s, struct error *err)
{
	size_t first = 0, last = s->queue.n;
	bool is_oldest = false;
	int r = 0;

	for (size_t n = 1; first < last && r >= 0; n++) {
		is_oldest = take_oldest(s, n, is_oldest);
		r = s->config.stops && s->config.stops()
			    ? -EINTR
			    : send_block(s,
					 is_oldest ? &s->queue.data[first++]
						   : &s->queue.data[--last],
					 err);
	}
	s->result->n_left = last - first + s->n_held;
	if (r >= 0)
		note_done(s);
	return r;
}

/* ---- a round ---- */

static void prepare_functions(struct ship *s)
{
	cleanup(free_at_exit) char *kept = history_names_dir(s->config.history);
	cleanup(free_at_exit) char *names = xasprintf("%s/" HISTORY_NAMES_DIR, s->config.fleet);
	const struct symbolizer_config symbols = { .cache_dir = names,
						   .kept_dir = kept,
						   .is_small = true };

	if (kept && !s->config.dry_run)
		kept_names_copy(kept, names);
	s->block = (struct block_config){ .bucket_ns = BLOCK_BUCKET_NS,
					  .symbols = symbolizer_new(&symbols) };
}

static void prepare_leaves(struct ship *s)
{
	s->leaves = service_choice_new(s->config.leaves);
	s->block = (struct block_config){ .bucket_ns = LEAVES_BUCKET_NS,
					  .leaves = true,
					  .takes = service_choice_takes,
					  .takes_context = s->leaves };
}

static void prepare_blocks(struct ship *s)
{
	if (s->config.leaves)
		prepare_leaves(s);
	else
		prepare_functions(s);
	s->block.without_comm = s->config.without_comm;
	s->block.without_cgroup = s->config.without_cgroup;
}

static int no_history(const struct ship *s, struct error *err)
{
	const char *path = s->config.history;
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", path);

	if (access(path, F_OK) < 0)
		return error_set(err, -ENOENT, "%s is no history: %s", path,
				 errno == ENOENT ? "it does not exist (a daemon makes it)"
						 : strerror(errno));
	if (access(path, R_OK | X_OK) < 0 || (access(current, R_OK | X_OK) < 0 && errno == EACCES))
		return error_set(err, -ENOENT, "%s is no history that this user may read", path);
	return error_set(err, -ENOENT,
			 "%s is no history: there are no parts in it (a daemon makes the first one "
			 "when it starts)",
			 path);
}

static int open_round(struct ship *s, struct error *err)
{
	struct fleet_id id;
	bool is_there;

	is_there = fleet_identify(s->config.fleet, &id);
	if (!is_there || !fleet_id_equal(&id, &s->fleet)) { /* another fleet may come */
		history_names_fini(&s->done);
		s->refused.n = 0;
	}
	if (!is_there)
		return error_set(err, -ENODEV, "%s is no fleet (any longer)", s->config.fleet);
	s->fleet = id;
	s->dir = history_dir(s->config.history);
	if (!s->dir)
		return no_history(s, err);
	prepare_blocks(s);
	return fleet_host_open(s->config.fleet, s->config.host, &s->host, err);
}

static void close_round(struct ship *s)
{
	vec_foreach (&s->parts, part) {
		vec_fini(&part->buckets);
		free(part->replaces);
	}
	vec_fini(&s->parts);
	vec_fini(&s->queue);
	history_names_fini(&s->names);
	fleet_host_close(take_ptr(s->host));
	symbolizer_free(s->block.symbols);
	s->block.symbols = NULL;
	service_choice_free(take_ptr(s->leaves));
	free(s->dir);
	s->dir = NULL;
}

int ship_look(struct ship *s, struct ship_result *out, struct error *err)
{
	int r;

	*out = (struct ship_result){ 0 };
	s->result = out;
	s->n_held = 0;
	r = open_round(s, err);
	r = r < 0 ? r : make_queue(s, err);
	close_round(s);
	return r;
}

/*
 * Before each block that a directory gets, a second machine of this name must be seen. The ship of
 * functions introduces the host; that of addresses, which follows, finds the facts there.
 */
static int introduce_host(struct ship *s, bool now, struct error *err)
{
	if (s->config.send || s->config.dry_run)
		return 0;
	if (s->config.leaves)
		return host_facts_read(s->direct.fleet, s->direct.host, &s->direct.facts, err);
	s->direct.facts.backlog = s->result->n_left + s->result->n_refused;
	return ship_direct_introduce(&s->direct, s->host, now, err);
}

/*
 * At its end, a round knows how many blocks are left, the samples that expired, and the rate, which
 * was `rate_hz` before.
 */
static int note_changes(struct ship *s, uint64_t rate_hz, int r, struct error *err)
{
	struct host_facts *f = &s->direct.facts;
	bool has_changed = s->result->expired || f->rate_hz != rate_hz ||
			   f->backlog != s->result->n_left + s->result->n_refused;

	f->expired += s->result->expired;
	return r < 0 || !has_changed ? r : introduce_host(s, true, err);
}

/* Names go before the blocks: ClickHouse names a service when it gets a block. */
static int send_containers(struct ship *s, struct error *err)
{
	cleanup(free_at_exit) char *part = s->names.n ? part_path(s, 0) : NULL;

	return ship_containers_send(&s->config, s->host, part, s->leaves, &s->result->n_containers,
				    err);
}

/* Whether a round goes on without the names: blocks do not wait for them. */
static bool goes_on_without_names(int r)
{
	return r >= 0 || (r != -EBUSY && r != -EINTR);
}

int ship_round(struct ship *s, struct ship_result *out, struct error *err)
{
	struct error why = { 0 };
	uint64_t rate_hz;
	int r;

	*out = (struct ship_result){ 0 };
	s->result = out;
	s->n_held = s->n_failed = 0;
	r = open_round(s, err);
	r = r < 0 ? r : make_queue(s, err);
	r = r < 0 ? r : introduce_host(s, s->queue.n > 0, err);
	if (r >= 0) {
		r = send_containers(s, &why);
		if (r < 0)
			log_warning("names of containers are not sent: %s", why.text);
		r = goes_on_without_names(r) ? 0 : error_set(err, r, "%s", why.text);
	}
	rate_hz = s->direct.facts.rate_hz;
	r = r < 0 ? r : send_all(s, err);
	r = note_changes(s, rate_hz, r, err);
	close_round(s);
	return r < 0 ? r : 0;
}
