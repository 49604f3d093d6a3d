/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/history.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/intmap.h"
#include "base/reserve.h"
#include "base/thread.h"
#include "store/session_join.h"

/* If a history changes with each listing, the reader gives up after 2 s. */
#define TRIES_MAX    400
#define TRY_AFTER_US 5000

/* Opening mostly unpacks; more threads would only wait for memory. */
#define THREADS_MAX 8

/* Whether the window takes a block: the rule in struct history_request. */
static bool window_takes(const struct time_window *w, uint64_t first_ns, uint64_t last_ns)
{
	uint64_t middle = first_ns + (last_ns - first_ns) / 2;

	return (middle >= w->from_ns && middle < w->to_ns) ||
	       (first_ns <= w->from_ns && last_ns >= w->to_ns);
}

static bool overlaps(const struct time_window *w, uint64_t first_ns, uint64_t last_ns)
{
	return last_ns >= w->from_ns && first_ns < w->to_ns;
}

/* A block with exact times is cut to the window later. */
static bool window_takes_part(const struct time_window *w, const struct block_span *span)
{
	return span->timed_ns ? overlaps(w, MIN(span->first_ns, span->timed_ns), span->last_ns)
			      : window_takes(w, span->first_ns, span->last_ns);
}

static bool window_contains(const struct time_window *w, uint64_t first_ns, uint64_t last_ns)
{
	return first_ns >= w->from_ns && last_ns < w->to_ns;
}

static bool is_all(const struct time_window *w)
{
	return w->from_ns == 0 && w->to_ns == UINT64_MAX;
}

static bool read_extent(const char *part, struct part_extent *out, char **replaces)
{
	struct session_info info;
	struct session_end end;

	if (session_extent(part, &info, &end, replaces) < 0)
		return false;
	*out = (struct part_extent){ .first_ns = info.start_wall_ns,
				     .last_ns = session_wall_ns(&info, end.end_ns),
				     .block_ns = info.block_ns };
	return out->last_ns >= out->first_ns;
}

bool history_extent(const char *part, struct part_extent *out)
{
	return read_extent(part, out, NULL);
}

/* ---- which blocks of a part ---- */

/*
 * Chooses blocks from the coarsest overview down, in the order of a part's blocks. It takes blocks
 * that are wholly in the window, and then skips the finer blocks below them. A finer block belongs
 * to the coarser one that holds its first sample, as store/history/merge.c sums them up.
 */
enum { NO_LEVEL = N_HISTORY_LEVELS, BASE_LEVEL = -1 };

struct choice {
	struct block_filter filter;
	struct time_window window;
	uint64_t overview_ns; /* the length of the coarsest level that may be taken */
	const struct history_covered_part *covered; /* NULL: nothing of the part is elsewhere */
	struct intmap taken[N_HISTORY_LEVELS]; /* numbers of the taken blocks, counted from 1970 */
	bool takes_overviews;                  /* at least one overview was taken */
	/* The present level; NO_LEVEL: none yet; BASE_LEVEL: the part's own blocks */
	int level;
	bool is_cut;         /* some blocks of this level are partly in the window … */
	uint64_t cut_end_ns; /* … and the last of them ends here */
};

static bool is_taken(const struct choice *c, int above, uint64_t first_ns)
{
	for (int l = above; l < N_HISTORY_LEVELS; l++)
		if (intmap_find(&c->taken[l], first_ns / history_levels[l].block_ns))
			return true;
	return false;
}

/* When a level is done, the finer ones only need to cover its cut blocks. */
static void enter_level(struct choice *c, int level)
{
	if (c->level == level)
		return;
	if (c->level != NO_LEVEL)
		c->filter.until_ns = MIN(c->filter.until_ns, c->is_cut ? c->cut_end_ns : 0);
	c->level = level;
	c->is_cut = false;
	c->cut_end_ns = 0;
}

static bool takes_overview(void *context, uint64_t level_ns, uint64_t first_ns, uint64_t last_ns)
{
	struct choice *c = context;
	int level = 0;

	while (level < N_HISTORY_LEVELS && history_levels[level].block_ns != level_ns)
		level++;
	if (level == N_HISTORY_LEVELS || level_ns > c->overview_ns)
		return false;
	enter_level(c, level);
	if (is_taken(c, level + 1, first_ns))
		return false;
	if (!window_contains(&c->window, first_ns, last_ns)) {
		if (overlaps(&c->window, first_ns, last_ns)) {
			c->is_cut = true;
			c->cut_end_ns = MAX(c->cut_end_ns, last_ns + 1);
		}
		return false;
	}
	intmap_put(&c->taken[level], first_ns / level_ns, NULL);
	c->takes_overviews = true;
	return true;
}

static bool is_read(const struct history_covered_part *part, uint64_t first_ns)
{
	uint64_t unit = first_ns / part->unit_ns - part->first_unit; /* wraps before the first */

	return unit < 64 && part->read >> unit & 1;
}

static bool takes_block(void *context, const struct block_span *span)
{
	struct choice *c = context;

	enter_level(c, BASE_LEVEL);
	return !is_taken(c, 0, span->first_ns) && window_takes_part(&c->window, span) &&
	       (!c->covered || is_read(c->covered, span->first_ns));
}

static void choice_init(struct choice *c, const struct time_window *window, uint64_t overview_ns)
{
	*c = (struct choice){ .filter = { .takes = takes_block,
					  .takes_overview = overview_ns ? takes_overview : NULL,
					  .context = c,
					  .cut = window,
					  .until_ns = window->to_ns },
			      .window = *window,
			      .overview_ns = overview_ns,
			      .level = NO_LEVEL };
}

static void choice_fini(struct choice *c)
{
	for (size_t i = 0; i < N_HISTORY_LEVELS; i++)
		intmap_fini(&c->taken[i]);
}

/* ---- opening parts ---- */

struct opening {
	const char *dir;
	const struct history_request *request;
	struct history_names names;
	struct opened {
		struct session *session; /* or NULL */
		bool is_touched;
		const struct history_covered_part *covered; /* or NULL */
		uint64_t block_ns;                          /* of the part itself */
		char *replaces;                             /* the part's list; NULL: none */
		int code; /* negative: unreadable, and err says why */
		struct error err;
	} * parts; /* as names */
	atomic_size_t next;
	uint64_t listed_ns; /* when, CLOCK_REALTIME */
};

static void forget(struct opened *o)
{
	session_close(o->session);
	o->session = NULL;
	free(o->replaces);
	o->replaces = NULL;
}

/* True: try again without overviews, because something is damaged. */
static bool open_part_once(const char *part, const struct time_window *w, uint64_t overview_ns,
			   struct opened *o)
{
	bool takes_all = is_all(w) && !overview_ns && !o->covered;
	struct choice c;
	bool again = false;

	choice_init(&c, w, overview_ns);
	c.covered = o->covered;
	o->code = session_open_blocks(part, takes_all ? NULL : &c.filter, &o->session, &o->err);
	if (o->code >= 0 && c.takes_overviews && o->session->warnings.n) {
		session_close(o->session);
		o->session = NULL;
		again = true;
	}
	choice_fini(&c);
	return again;
}

static void open_part(const struct opening *h, const char *part, struct opened *o)
{
	/* A longer block could have units that are elsewhere. */
	uint64_t overview_ns = o->covered ? 0 : h->request->overview_ns;

	if (open_part_once(part, &h->request->window, overview_ns, o))
		open_part_once(part, &h->request->window, 0, o);
}

/* Whether the part may have samples in the window. */
static bool choose_part(const char *part, uint64_t name_ns, const struct time_window *w,
			struct opened *o)
{
	struct part_extent extent;

	/* The name of a part is its start, in milliseconds. */
	if (w->to_ns != UINT64_MAX && name_ns > w->to_ns)
		return false;
	if (!read_extent(part, &extent, &o->replaces))
		return true;
	o->block_ns = extent.block_ns;
	return overlaps(w, extent.first_ns, extent.last_ns);
}

static void *open_parts(void *arg)
{
	struct opening *h = arg;
	size_t i;

	while ((i = atomic_fetch_add(&h->next, 1)) < h->names.n) {
		cleanup(free_at_exit) char *part = xasprintf("%s/%s", h->dir, h->names.data[i]);
		struct opened *o = &h->parts[i];
		struct stat before, after;
		uint64_t name_ns = 0;

		if (reserve_check() < 0) {
			o->code = reserve_error(&o->err);
			continue;
		}
		if (stat(part, &before) < 0) {
			o->code = error_errno(&o->err, -errno, "%s", part);
			continue;
		}
		history_part_time(h->names.data[i], &name_ns);
		o->is_touched = (!o->covered || o->covered->read) &&
				choose_part(part, name_ns, &h->request->window, o);
		if (o->is_touched)
			open_part(h, part, o);
		/* Removing renames a part first: while it has its name, it is complete. */
		if (stat(part, &after) < 0 || after.st_ino != before.st_ino)
			o->code = -ENOENT;
	}
	return NULL;
}

/* Opens all parts that touch the window, with one thread for each processor. */
static void open_touched_parts(struct opening *h)
{
	pthread_t threads[THREADS_MAX];
	size_t n = MIN(MIN((size_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1), h->names.n),
		       (size_t)THREADS_MAX);
	size_t n_started = 0;

	while (n_started + 1 < n && thread_start(&threads[n_started], open_parts, h))
		n_started++;
	open_parts(h);
	while (n_started > 0)
		pthread_join(threads[--n_started], NULL);
}

/* ---- parts whose samples are elsewhere ---- */

/* False: one of them is gone. */
static bool mark_covered(struct opening *h)
{
	const struct history_covered *covered = h->request->covered;
	size_t at = 0;

	for (size_t i = 0; covered && i < covered->n; i++) {
		const char *name = covered->data[i].name;

		while (at < h->names.n && history_by_name(&h->names.data[at], &name) < 0)
			at++;
		if (at == h->names.n || strcmp(h->names.data[at], name) != 0)
			return false;
		h->parts[at].covered = &covered->data[i];
	}
	return true;
}

static bool is_covered(const struct history_covered *covered, const char *name)
{
	return bsearch(&name, covered->data, covered->n, sizeof(*covered->data), history_by_name);
}

/* Whether a part that was opened has samples that are elsewhere. */
static bool replaces_covered(const struct opening *h)
{
	const struct history_covered *covered = h->request->covered;

	for (size_t i = 0; covered && covered->n && i < h->names.n; i++) {
		cleanup(free_at_exit) char *names = h->parts[i].session && h->parts[i].replaces
							    ? xstrdup(h->parts[i].replaces)
							    : NULL;
		char *rest = names, *name;

		while (rest && (name = strsep(&rest, " ")))
			if (is_covered(covered, name))
				return true;
	}
	return false;
}

/* ---- parts that others replace ---- */

static bool names_part(const char *replaces, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = replaces; (at = strstr(at, name)); at += len)
		if ((at == replaces || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

static bool is_replaced(const struct opening *h, const char *name)
{
	for (size_t i = 0; i < h->names.n; i++) {
		const struct opened *o = &h->parts[i];

		if (o->session && o->replaces && strcmp(h->names.data[i], name) != 0 &&
		    names_part(o->replaces, name))
			return true;
	}
	return false;
}

static void skip_replaced(struct opening *h)
{
	bool *replaced = xcalloc(h->names.n + 1, sizeof(*replaced));

	for (size_t i = 0; i < h->names.n; i++)
		replaced[i] = h->parts[i].is_touched && is_replaced(h, h->names.data[i]);
	for (size_t i = 0; i < h->names.n; i++)
		if (replaced[i]) {
			forget(&h->parts[i]);
			h->parts[i].code = 0;
		}
	free(replaced);
}

/* ---- from parts to one session ---- */

/* Reports that the window has no samples, and which times have some. */
static int refuse_window(const struct opening *h, const char *path, struct error *err)
{
	struct buf text = { 0 };
	uint64_t first_ns = 0, last_ns = 0;
	int r = -ENODATA;

	for (size_t i = 0; i < h->names.n; i++) {
		cleanup(free_at_exit) char *part = xasprintf("%s/%s", h->dir, h->names.data[i]);
		struct part_extent extent;
		uint64_t start;

		history_part_time(h->names.data[i], &start);
		first_ns = first_ns ? MIN(first_ns, start) : start;
		last_ns = MAX(last_ns, history_extent(part, &extent) ? extent.last_ns : start);
	}
	buf_printf(&text, "%s: no samples in the requested time; ", path);
	if (h->names.n) {
		buf_str(&text, "there are some from ");
		time_point_print(&text, first_ns);
		buf_str(&text, " to ");
		time_point_print(&text, last_ns);
	} else {
		buf_str(&text, "it has no parts (any longer)");
	}
	r = error_set(err, r, "%s", buf_cstr(&text));
	buf_fini(&text);
	return r;
}

/* Whether a part can't be read. The recorder may have begun the last one just now. */
static bool is_left_out(const struct opening *h, size_t i)
{
	return h->parts[i].code < 0 && (i + 1 < h->names.n || h->parts[i].code != -EINVAL);
}

static void warn_of(struct session *s, const struct opening *h)
{
	for (size_t i = 0; i < h->names.n; i++) {
		const struct opened *o = &h->parts[i];

		if (is_left_out(h, i))
			vec_push(&s->warnings, xasprintf("a part is left out: %s", o->err.text));
	}
}

char *history_rates_text(const char *event, const struct rate_range *rates)
{
	return xasprintf("%s" HISTORY_RATES_WARNING
			 "%llu to %llu Hz: shares of events compare them rightly, those of samples "
			 "(--weight samples) do not",
			 event, (unsigned long long)rates->low_hz,
			 (unsigned long long)rates->high_hz);
}

/* Warns if rates differ: then samples of one part stand for more time than those of another. */
static void warn_of_rates(struct session *s)
{
	for (uint32_t c = 0; c < s->info.n_counters; c++) {
		const struct counter_info *mine = &s->info.counters[c];
		struct rate_range rates = session_rates(s, mine);

		if (rates.low_hz != rates.high_hz)
			vec_push(&s->warnings, history_rates_text(mine->name, &rates));
	}
}

/* Cuts the session's start and end to the window. */
static void cut_to_window(struct session *s, const struct time_window *w)
{
	struct session_info *info = &s->info;
	uint64_t end_ns = session_wall_ns(info, s->end.end_ns);

	s->has_window = !is_all(w);
	s->window = *w;
	if (s->has_end && end_ns > w->to_ns)
		s->end.end_ns -= end_ns - w->to_ns;
	if (info->start_wall_ns < w->from_ns) {
		info->start_ns += w->from_ns - info->start_wall_ns;
		info->start_wall_ns = w->from_ns;
	}
}

static int join_parts(struct opening *h, const char *path, struct session **out, struct error *err)
{
	VEC(struct session *) sessions = { 0 };
	uint64_t block_ns = 0;
	struct session *s;
	int r;

	for (size_t i = 0; i < h->names.n; i++)
		if (h->parts[i].code == -ENOMEM) {
			*err = h->parts[i].err; /* it is no damage of the part */
			return -ENOMEM;
		}
	for (size_t i = 0; i < h->names.n; i++) {
		struct opened *o = &h->parts[i];

		if (!o->session)
			continue;
		vec_push(&sessions, take_ptr(o->session));
		block_ns = MAX(block_ns, o->block_ns);
	}
	for (size_t i = 0; i < h->names.n && !sessions.n; i++)
		if (is_left_out(h, i)) /* it may have had the samples */
			return error_set(err, -EBADMSG, "%s", h->parts[i].err.text);
	if (!sessions.n)
		return refuse_window(h, path, err);
	r = session_join_to_read(sessions.data, (uint32_t)sessions.n, true, &s, err);
	vec_fini(&sessions);
	if (r < 0)
		return r;
	free(s->path);
	free(s->dir);
	s->path = xstrdup(path);
	s->dir = xstrdup(h->dir);
	s->block_ns = block_ns;
	warn_of(s, h);
	warn_of_rates(s);
	cut_to_window(s, &h->request->window);
	*out = s;
	return 0;
}

/* A listed part is gone, so the list is outdated. */
static bool has_vanished(const struct opening *h)
{
	for (size_t i = 0; i < h->names.n; i++)
		if (h->parts[i].code == -ENOENT)
			return true;
	return false;
}

static bool has_name(const struct history_names *sorted, char *const *name)
{
	return sorted->n && bsearch(name, sorted->data, sorted->n, sizeof(*name), history_by_name);
}

/* Whether the part may replace others: it does, or it does not tell yet. */
static bool may_replace(const char *dir, const char *name)
{
	cleanup(free_at_exit) char *part = xasprintf("%s/%s", dir, name);
	cleanup(free_at_exit) char *replaces = NULL;
	struct part_extent extent;

	return !read_extent(part, &extent, &replaces) || (replaces && *replaces);
}

/*
 * A directory that changes during the listing may show neither the merged parts nor their result.
 * Parts that began after the listing do not matter, and neither do those that replace none.
 */
static bool has_missed(const struct opening *h)
{
	struct history_names now = { 0 };
	bool missed = false;

	if (history_list(h->dir, &now) < 0)
		return false;
	vec_foreach (&now, name) {
		uint64_t start_ns;

		missed |= history_part_time(*name, &start_ns) && start_ns < h->listed_ns &&
			  !has_name(&h->names, name) && may_replace(h->dir, *name);
	}
	history_names_fini(&now);
	return missed;
}

static void opening_clear(struct opening *h)
{
	for (size_t i = 0; i < h->names.n; i++)
		forget(&h->parts[i]);
	free(h->parts);
	h->parts = NULL;
	history_names_fini(&h->names);
	h->next = 0;
}

static int open_history(struct opening *h, const char *path, struct session **out,
			struct error *err)
{
	int r;

	for (unsigned int try = 0; !try || has_vanished(h) || has_missed(h); try++) {
		opening_clear(h);
		if (try == TRIES_MAX)
			return error_set(err, -EAGAIN, "%s: parts come and go all the time", path);
		if (try)
			usleep(TRY_AFTER_US);
		h->listed_ns = clock_wall_ns();
		r = history_list(h->dir, &h->names);
		if (r < 0)
			return error_errno(err, r, "cannot read %s", h->dir);
		h->parts = xcalloc(h->names.n + 1, sizeof(*h->parts));
		if (!mark_covered(h))
			return error_set(err, -ESTALE, "%s: a part is gone", path);
		open_touched_parts(h);
	}
	if (replaces_covered(h))
		return error_set(err, -ESTALE, "%s: parts were merged", path);
	skip_replaced(h);
	return join_parts(h, path, out, err);
}

static bool takes_window(void *context, const struct block_span *span)
{
	return window_takes_part(context, span);
}

static int open_single_session(const char *path, const struct time_window *window,
			       struct session **out, struct error *err)
{
	struct time_window w = *window;
	const struct block_filter filter = {
		.takes = takes_window, .context = &w, .cut = &w, .until_ns = w.to_ns
	};
	int r = session_open_blocks(path, is_all(window) ? NULL : &filter, out, err);

	if (r >= 0)
		cut_to_window(*out, window);
	return r;
}

int history_open(const char *path, const struct history_request *request, struct session **out,
		 struct error *err)
{
	cleanup(free_at_exit) char *dir = history_dir(path);
	struct opening h = { .dir = dir, .request = request };
	int r;

	if (!dir)
		return open_single_session(path, &request->window, out, err);
	r = open_history(&h, path, out, err);
	opening_clear(&h);
	return r;
}
