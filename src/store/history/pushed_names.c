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
#include "base/mem.h"

#define FILE_MOST ((size_t)1 << 20)
#define DAY_S     86400

enum name_kind { NAME_SERVICE, NAME_EVENT, N_NAME_KINDS };

static const struct {
	const char *word;
	uint32_t most;
} name_kinds[N_NAME_KINDS] = {
	[NAME_SERVICE] = { "service", PUSHED_SERVICES_MAX },
	[NAME_EVENT] = { "event", PUSHED_EVENTS_MAX },
};

struct registered {
	uint64_t hash, day; /* the last one on which it was pushed */
	enum name_kind kind;
};

struct registry {
	VEC(struct registered) names;
	uint64_t refused;
	bool changed;
};

static char *registry_path(const char *history)
{
	return xasprintf("%s/.pushed", history);
}

/* Lines that are not known are passed over. */
static void registry_read_line(struct registry *g, const char *line)
{
	struct registered name;
	char word[16];

	if (sscanf(line, "refused %" SCNu64, &g->refused) == 1 ||
	    sscanf(line, "%15s %" SCNu64 " %" SCNx64, word, &name.day, &name.hash) != 3)
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
	vec_foreach (&g->names, name)
		buf_printf(&text, "%s %" PRIu64 " %016" PRIx64 "\n", name_kinds[name->kind].word,
			   name->day, name->hash);
	r = file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

static void registry_drop_old(struct registry *g, uint64_t day)
{
	size_t n = 0;

	vec_foreach (&g->names, name)
		if (name->day + PUSHED_DAYS >= day)
			g->names.data[n++] = *name;
	g->changed |= n < g->names.n;
	g->names.n = n;
}

/* Adds a name, or its day. False: there are too many of its kind. */
static bool registry_add(struct registry *g, enum name_kind kind, const char *text, uint64_t day)
{
	const struct registered new = { XXH3_64bits(text, strlen(text)), day, kind };
	uint32_t n = 0;

	vec_foreach (&g->names, name) {
		n += name->kind == kind;
		if (name->kind != kind || name->hash != new.hash)
			continue;
		g->changed |= name->day != day;
		name->day = day;
		return true;
	}
	if (n >= name_kinds[kind].most)
		return false;
	vec_push(&g->names, new);
	g->changed = true;
	return true;
}

static bool registry_add_all(struct registry *g, enum name_kind kind, const char *const *texts,
			     size_t n, uint64_t day)
{
	for (size_t i = 0; i < n; i++)
		if (!registry_add(g, kind, texts[i], day))
			return false;
	return true;
}

/* Nothing of the push is kept but its number. */
static int registry_refuse(const char *history, enum name_kind kind, struct error *err)
{
	struct registry g = { 0 };
	struct error why = { 0 };
	int r = registry_read(history, &g, &why);

	g.refused++;
	if (r >= 0)
		registry_write(history, &g, NULL);
	vec_fini(&g.names);
	return error_set(err, -EDQUOT,
			 "programs have pushed %" PRIu32
			 " different %ss into '%s', and no more are "
			 "taken",
			 name_kinds[kind].most, name_kinds[kind].word, history);
}

static int pushed_names_add_locked(const char *history, const struct pushed_names *names,
				   uint64_t day, struct error *err)
{
	struct registry g = { 0 };
	int r = registry_read(history, &g, err);

	registry_drop_old(&g, day);
	if (r >= 0 && !registry_add_all(&g, NAME_SERVICE, names->services, names->n_services, day))
		r = registry_refuse(history, NAME_SERVICE, err);
	if (r >= 0 && !registry_add_all(&g, NAME_EVENT, names->events, names->n_events, day))
		r = registry_refuse(history, NAME_EVENT, err);
	if (r >= 0 && g.changed)
		r = registry_write(history, &g, err);
	vec_fini(&g.names);
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

uint64_t pushed_names_refused(const char *history)
{
	struct registry g = { 0 };

	registry_read(history, &g, NULL);
	vec_fini(&g.names);
	return g.refused;
}
