/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/pushed_names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"

#define FILE_MOST ((size_t)1 << 20)
#define DAY_S     86400
/* The next one of these holds a name when the first one pushes it no longer. */
#define HOLDERS_MOST 4

enum name_kind { NAME_SERVICE, NAME_EVENT, N_NAME_KINDS };

static const struct {
	const char *word;
	uint32_t most;
} name_kinds[N_NAME_KINDS] = {
	[NAME_SERVICE] = { "service", PUSHED_SERVICES_MAX },
	[NAME_EVENT] = { "event", PUSHED_EVENTS_MAX },
};

/* A name that a pusher has pushed. The first of a name's pushers holds its place. */
struct registered {
	uint64_t hash, day; /* the last one on which it was pushed */
	uint64_t pusher;
	enum name_kind kind;
};

struct refused {
	uint64_t pusher, n, day; /* the last one */
	char label[PUSHER_LABEL_SIZE];
};

struct registry {
	VEC(struct registered) names;
	VEC(struct refused) refused_of;
	uint64_t refused;
	bool changed;
};

static void registry_fini(struct registry *g)
{
	vec_fini(&g->names);
	vec_fini(&g->refused_of);
}

static char *registry_path(const char *history)
{
	return xasprintf("%s/.pushed", history);
}

static void registry_read_refused(struct registry *g, const char *line)
{
	struct refused refused = { 0 };
	int label = 0;

	if (sscanf(line, "pusher %" SCNu64 " %" SCNx64 " %" SCNu64 " %n", &refused.day,
		   &refused.pusher, &refused.n, &label) < 3 ||
	    !label)
		return;
	snprintf(refused.label, sizeof(refused.label), "%s", line + label);
	vec_push(&g->refused_of, refused);
}

/* Lines that are not known are passed over. Names of before there were shares have no pusher. */
static void registry_read_line(struct registry *g, const char *line)
{
	struct registered name = { 0 };
	char word[16];

	registry_read_refused(g, line);
	if (sscanf(line, "refused %" SCNu64, &g->refused) == 1 ||
	    sscanf(line, "%15s %" SCNu64 " %" SCNx64 " %" SCNx64, word, &name.day, &name.hash,
		   &name.pusher) < 3)
		return;
	for (int kind = 0; kind < N_NAME_KINDS; kind++)
		if (!strcmp(word, name_kinds[kind].word)) {
			name.kind = (enum name_kind)kind;
			vec_push(&g->names, name);
		}
}

static int registry_read(const char *history, struct registry *g, struct error *err)
{
	cleanup(free_at_exit) char *path = registry_path(history);
	cleanup(free_at_exit) char *text = NULL;
	char *rest, *line;
	size_t size;
	int r = file_read_all(path, FILE_MOST, &text, &size);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	for (rest = text; (line = strsep(&rest, "\n"));)
		registry_read_line(g, line);
	return 0;
}

static int registry_write(const char *history, const struct registry *g, struct error *err)
{
	cleanup(free_at_exit) char *path = registry_path(history);
	struct buf text = { 0 };
	int r;

	buf_printf(&text, "refused %" PRIu64 "\n", g->refused);
	vec_foreach (&g->refused_of, refused)
		buf_printf(&text, "pusher %" PRIu64 " %016" PRIx64 " %" PRIu64 " %s\n",
			   refused->day, refused->pusher, refused->n, refused->label);
	vec_foreach (&g->names, name)
		buf_printf(&text, "%s %" PRIu64 " %016" PRIx64 " %016" PRIx64 "\n",
			   name_kinds[name->kind].word, name->day, name->hash, name->pusher);
	r = file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

static void registry_drop_old(struct registry *g, uint64_t day)
{
	size_t n = 0, n_refused = 0;

	vec_foreach (&g->names, name)
		if (name->day + PUSHED_DAYS >= day)
			g->names.data[n++] = *name;
	vec_foreach (&g->refused_of, refused)
		if (refused->day + PUSHED_DAYS >= day)
			g->refused_of.data[n_refused++] = *refused;
	g->changed |= n < g->names.n || n_refused < g->refused_of.n;
	g->names.n = n;
	g->refused_of.n = n_refused;
}

/* ---- shares ---- */

struct pusher_use {
	uint64_t pusher;
	uint32_t n[N_NAME_KINDS]; /* places that it holds */
};

struct place_use {
	VEC(struct pusher_use) pushers;
	uint32_t n[N_NAME_KINDS]; /* places that are taken */
};

static struct pusher_use *use_of_pusher(struct place_use *use, uint64_t pusher)
{
	struct pusher_use *new;

	vec_foreach (&use->pushers, each)
		if (each->pusher == pusher)
			return each;
	new = vec_add(&use->pushers);
	*new = (struct pusher_use){ .pusher = pusher };
	return new;
}

/* Counts the places that are taken, also those of `pusher`, which may be new. */
static struct place_use registry_count(const struct registry *g, uint64_t pusher)
{
	struct intmap held[N_NAME_KINDS] = { 0 };
	struct place_use use = { 0 };

	use_of_pusher(&use, pusher);
	vec_foreach (&g->names, name) {
		struct pusher_use *holder = use_of_pusher(&use, name->pusher);
		uint32_t *is_held = intmap_put(&held[name->kind], name->hash, NULL);

		if (*is_held)
			continue;
		*is_held = 1;
		holder->n[name->kind]++;
		use.n[name->kind]++;
	}
	for (int kind = 0; kind < N_NAME_KINDS; kind++)
		intmap_fini(&held[kind]);
	return use;
}

/*
 * Whether a pusher may take one more place. Beyond its share, it must leave the shares of the
 * others, and of those who have not come yet.
 */
static bool use_has_place(struct place_use *use, enum name_kind kind, uint64_t pusher)
{
	uint32_t most = name_kinds[kind].most, own = use_of_pusher(use, pusher)->n[kind];
	uint32_t n_shares = MAX((uint32_t)use->pushers.n, (uint32_t)PUSHED_SHARES);
	uint32_t share = most / 2 / n_shares;
	uint64_t reserved = (uint64_t)(n_shares - use->pushers.n) * share;

	if (own < share)
		return use->n[kind] < most;
	vec_foreach (&use->pushers, each)
		reserved += MAX(each->n[kind], share);
	return reserved < most;
}

/* Adds a name, or its day. False: there is no place for it. */
static bool registry_add(struct registry *g, struct place_use *use, struct registered new)
{
	uint32_t n_holders = 0;

	vec_foreach (&g->names, name) {
		if (name->kind != new.kind || name->hash != new.hash)
			continue;
		n_holders++;
		if (name->pusher != new.pusher)
			continue;
		g->changed |= name->day != new.day;
		name->day = new.day;
		return true;
	}
	if (n_holders == HOLDERS_MOST)
		return true;
	if (!n_holders) {
		if (!use_has_place(use, new.kind, new.pusher))
			return false;
		use_of_pusher(use, new.pusher)->n[new.kind]++;
		use->n[new.kind]++;
	}
	vec_push(&g->names, new);
	g->changed = true;
	return true;
}

static bool registry_add_all(struct registry *g, struct place_use *use,
			     const struct registered *like, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct registered name = *like;

		name.hash = XXH3_64bits(texts[i], strlen(texts[i]));
		if (!registry_add(g, use, name))
			return false;
	}
	return true;
}

/* ---- pushers ---- */

/* "ID LABEL", or an id alone. Nobody is 0. */
static uint64_t pusher_id(const char *pusher)
{
	return pusher ? XXH3_64bits(pusher, strcspn(pusher, " ")) : 0;
}

static void pusher_label(const char *pusher, char out[static PUSHER_LABEL_SIZE])
{
	const char *space = pusher ? strchr(pusher, ' ') : NULL;

	snprintf(out, PUSHER_LABEL_SIZE, "%s", space ? space + 1 : pusher ? pusher : "no token");
	for (char *c = out; *c; c++)
		if ((unsigned char)*c < ' ')
			*c = '?';
}

static void registry_count_refusal(struct registry *g, const char *pusher, uint64_t day)
{
	uint64_t id = pusher_id(pusher);
	struct refused *found = NULL;

	g->refused++;
	vec_foreach (&g->refused_of, refused)
		if (refused->pusher == id)
			found = refused;
	if (!found) {
		found = vec_add(&g->refused_of);
		*found = (struct refused){ .pusher = id };
	}
	found->n++;
	found->day = day;
	pusher_label(pusher, found->label); /* the line of a token may have changed */
}

/* Nothing of the push is kept but its number. */
static int registry_refuse(const char *history, enum name_kind kind, const char *pusher,
			   uint64_t day, struct error *err)
{
	struct registry g = { 0 };
	struct error why = { 0 };
	char label[PUSHER_LABEL_SIZE];
	int r = registry_read(history, &g, &why);

	if (r >= 0) {
		registry_count_refusal(&g, pusher, day);
		registry_write(history, &g, NULL);
	}
	registry_fini(&g);
	pusher_label(pusher, label);
	return error_set(err, -EDQUOT,
			 "'%s' takes no more %ss of this pusher (%s): all pushers together may "
			 "name %" PRIu32 " in %d days, and each has its share",
			 history, name_kinds[kind].word, label, name_kinds[kind].most, PUSHED_DAYS);
}

static int pushed_names_add_locked(const char *history, const struct pushed_names *names,
				   uint64_t day, struct error *err)
{
	struct registry g = { 0 };
	struct registered like = { .day = day, .pusher = pusher_id(names->pusher) };
	struct place_use use;
	int r = registry_read(history, &g, err);

	registry_drop_old(&g, day);
	use = registry_count(&g, like.pusher);
	like.kind = NAME_SERVICE;
	if (r >= 0 && !registry_add_all(&g, &use, &like, names->services, names->n_services))
		r = registry_refuse(history, like.kind, names->pusher, day, err);
	like.kind = NAME_EVENT;
	if (r >= 0 && !registry_add_all(&g, &use, &like, names->events, names->n_events))
		r = registry_refuse(history, like.kind, names->pusher, day, err);
	if (r >= 0 && g.changed)
		r = registry_write(history, &g, err);
	vec_fini(&use.pushers);
	registry_fini(&g);
	return r;
}

int pushed_names_add(const char *history, const struct pushed_names *names, uint64_t now_s,
		     struct error *err)
{
	/* The lock is the folder's. */
	cleanup(close_at_exit) int dir = open(history, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0 || flock(dir, LOCK_EX) < 0)
		return error_errno(err, -errno, "cannot lock %s", history);
	return pushed_names_add_locked(history, names, now_s / DAY_S, err);
}

uint64_t pushed_names_refused(const char *history, struct buf *of_pushers)
{
	struct registry g = { 0 };

	registry_read(history, &g, NULL);
	if (of_pushers)
		vec_foreach (&g.refused_of, refused)
			buf_printf(of_pushers, "%s%s: %" PRIu64, of_pushers->len ? ", " : "",
				   refused->label, refused->n);
	registry_fini(&g);
	return g.refused;
}
