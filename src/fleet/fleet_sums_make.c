/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_sums_make.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/strings.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_sums.h"
#include "store/format.h"
#include "store/history/merge.h"
#include "store/session_join.h"

#define LOCK_PAUSE_MS 100

/* Parts that are added up at once: their trees are in memory. */
#define ROUND_PARTS 600
#define ROUND_BYTES (UINT64_C(48) << 20)

/* A block may end a little after the unit that it begins in. */
#define LATE_NS (2 * NS_PER_SECOND)

/* A part that is in no sums yet. */
struct new_part {
	char *host;
	struct sums_source source; /* its host is NULL; without units and samples */
	uint64_t unit_ns, first_unit;
};

struct maker {
	const char *fleet;
	struct fleet_sums_list sums;
	VEC(struct new_part) parts; /* by span, then by time */
	struct sums_made *made;
};

/* ---- the folder ---- */

static void pause_ms(uint32_t ms)
{
	usleep(ms * 1000);
}

int fleet_sums_lock(const char *fleet, uint32_t wait_ms, struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/" FLEET_SUMS_DIR, fleet);
	cleanup(close_at_exit) int fd = -1;
	int lock = fleet_lock(fleet, err); /* it must be the fleet's own user */

	if (lock < 0)
		return lock;
	close(lock);
	if (mkdir(dir, 0750) < 0 && errno != EEXIST)
		return error_errno(err, -errno, "cannot make %s", dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return error_errno(err, -errno, "cannot open %s", dir);
	for (uint32_t ms = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; ms += LOCK_PAUSE_MS) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return error_errno(err, -errno, "cannot lock %s", dir);
		if (ms >= wait_ms)
			return error_set(err, -EBUSY, "%s: another process works on it", dir);
		pause_ms(LOCK_PAUSE_MS);
	}
	lock = fd;
	fd = -1; /* the caller's */
	return lock;
}

static bool takes_every_overview(void *context, uint64_t level_ns, uint64_t first_ns,
				 uint64_t last_ns)
{
	(void)context;
	(void)level_ns;
	(void)first_ns;
	(void)last_ns;
	return true;
}

static bool takes_every_block(void *context, const struct block_span *span)
{
	(void)context;
	(void)span;
	return true;
}

/* Reads all of it, which a question does not. */
static bool sums_are_whole(const char *fleet, const struct fleet_sums *s)
{
	static const struct block_filter all = { .takes = takes_every_block,
						 .takes_overview = takes_every_overview,
						 .until_ns = UINT64_MAX };
	cleanup(free_at_exit) char *path = fleet_sums_path(fleet, s->name);
	cleanup(session_close_at_exit) struct session *session = NULL;

	return session_open_blocks(path, &all, &session, NULL) >= 0 &&
	       fleet_sums_session_is_whole(s, session);
}

static bool maker_has(const struct maker *m, const char *name)
{
	vec_foreach (&m->sums, s)
		if (!strcmp(s->name, name))
			return true;
	return false;
}

/* Keeps the sums that count, and removes all else. */
static int maker_clean(struct maker *m, struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/" FLEET_SUMS_DIR, m->fleet);
	struct fleet_sums_list found = { 0 };
	const struct dirent *entry;
	DIR *d;
	int r = 0;

	fleet_sums_find(m->fleet, &TIME_WINDOW_ALL, &found);
	vec_foreach (&found, s)
		if (sums_are_whole(m->fleet, s))
			vec_push(&m->sums, *s);
		else
			fleet_sums_fini(s);
	vec_fini(&found);
	d = opendir(dir);
	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while ((entry = readdir(d)) && r >= 0) {
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..") ||
		    maker_has(m, entry->d_name))
			continue;
		m->made->n_removed += entry->d_name[0] != '.';
		r = fleet_sums_remove(m->fleet, entry->d_name, err);
	}
	closedir(d);
	return r;
}

/* ---- the parts of hosts ---- */

static const struct fleet_sums *sums_with(const struct maker *m, const char *host, const char *part)
{
	vec_foreach (&m->sums, s)
		for (size_t i = fleet_sums_first_of(s, host);
		     i < s->sources.n && !strcmp(s->sources.data[i].host, host); i++)
			if (!strcmp(s->sources.data[i].part, part))
				return s;
	return NULL;
}

static uint64_t units_of_span(uint64_t unit_ns)
{
	return unit_ns == history_levels[LEVEL_DAYS].block_ns ? 7 : 24;
}

/* False: it fits into no span, or it is not over. */
static bool look_at_part(const struct maker *m, const char *host, const char *name,
			 struct new_part *part)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", m->fleet, host, name);
	struct sums_source *x = &part->source;
	struct part_extent extent;
	uint64_t days_ns = history_levels[LEVEL_DAYS].block_ns, n;

	*part = (struct new_part){ 0 };
	if (!fleet_sums_look(m->fleet, host, name, &x->bytes, &x->changed_ns) ||
	    !history_extent(path, &extent) || extent.block_ns > days_ns)
		return false;
	part->unit_ns = extent.block_ns == days_ns ? days_ns : history_levels[LEVEL_HOURS].block_ns;
	if (extent.block_ns > part->unit_ns)
		return false;
	n = units_of_span(part->unit_ns);
	part->first_unit = extent.first_ns / part->unit_ns / n * n;
	if (extent.last_ns >= (part->first_unit + n) * part->unit_ns + LATE_NS)
		return false;
	snprintf(x->part, sizeof(x->part), "%s", name);
	x->first_ns = extent.first_ns;
	x->last_ns = extent.last_ns;
	x->block_ns = extent.block_ns;
	part->host = xstrdup(host);
	return true;
}

/*
 * Leaves out a part together with the parts that it replaces, while these are still there: readers
 * know which of them count.
 */
static void leave_out_replaced(const struct maker *m, const char *host, struct history_names *names)
{
	struct history_names out = { 0 };

	vec_foreach (names, name) {
		cleanup(free_at_exit) char *replaced = fleet_sums_replaced(m->fleet, host, *name);
		char *rest = replaced, *old;

		while (rest && (old = strsep(&rest, " "))) {
			if (!strcmp(old, *name) || !fleet_sums_names_have(names, &old))
				continue;
			vec_push(&out, xstrdup(old));
			vec_push(&out, xstrdup(*name));
		}
	}
	vec_foreach (&out, name)
		history_names_drop(names, *name);
	history_names_fini(&out);
}

static void list_parts_of(struct maker *m, const char *host)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", m->fleet, host);
	cleanup(free_at_exit) char *dir = history_dir(path);
	struct history_names names = { 0 };
	struct new_part part;

	if (dir && history_list(dir, &names) >= 0)
		leave_out_replaced(m, host, &names);
	if (dir)
		vec_foreach (&names, name)
			if (!sums_with(m, host, *name) && look_at_part(m, host, *name, &part))
				vec_push(&m->parts, part);
	history_names_fini(&names);
}

static int by_span(const void *a, const void *b)
{
	const struct new_part *x = a, *y = b;

	if (x->unit_ns != y->unit_ns)
		return x->unit_ns < y->unit_ns ? -1 : 1;
	if (x->first_unit != y->first_unit)
		return x->first_unit < y->first_unit ? -1 : 1;
	if (x->source.first_ns != y->source.first_ns)
		return x->source.first_ns < y->source.first_ns ? -1 : 1;
	return strcmp(x->host, y->host);
}

static int list_parts(struct maker *m, struct error *err)
{
	struct history_names hosts = { 0 };
	int r = fleet_hosts(m->fleet, &hosts, err);

	for (size_t i = 0; r >= 0 && i < hosts.n; i++)
		list_parts_of(m, hosts.data[i]);
	if (m->parts.n)
		qsort(m->parts.data, m->parts.n, sizeof(*m->parts.data), by_span);
	history_names_fini(&hosts);
	return r;
}

/* ---- sums of a span ---- */

/* Sums in the making. */
struct adding {
	const struct maker *m;
	struct fleet_sums sums;          /* the sources that are in it */
	VEC(struct session *) sessions;  /* of the parts, and of the sums before */
	VEC(struct session *) of_source; /* by source: its session; NULL: it is in sums before */
	VEC(struct fleet_sums *) before;
	VEC(struct session *) of_before;
};

/* Finds the units and samples of a part. False: it is not within the span. */
static bool count_units(const struct adding *a, const struct session *s, struct sums_source *x)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];
			uint64_t unit =
				session_wall_ns(&s->info, block->first_ns) / a->sums.unit_ns -
				a->sums.first_unit;

			if (unit >= units_of_span(a->sums.unit_ns))
				return false;
			x->units |= UINT64_C(1) << unit;
			x->samples += block->samples;
		}
	return x->units;
}

/* A part with more events stays apart, or the others could not be added up. */
#define PART_EVENTS_MAX 64

/* A part that is damaged has a warning when it is read itself. */
static void adding_part(struct adding *a, const struct new_part *part)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/%s/%s", a->m->fleet, part->host, part->source.part);
	cleanup(session_close_at_exit) struct session *s = NULL;
	struct sums_source x = part->source;

	if (session_open(path, &s, NULL) < 0 || s->warnings.n || !s->has_end ||
	    s->info.n_counters > PART_EVENTS_MAX || !count_units(a, s, &x))
		return;
	x.host = xstrdup(part->host);
	vec_push(&a->sums.sources, x);
	vec_push(&a->of_source, s);
	vec_push(&a->sessions, take_ptr(s));
}

static int adding_before(struct adding *a, struct fleet_sums *s, struct error *err)
{
	cleanup(free_at_exit) char *path = fleet_sums_path(a->m->fleet, s->name);
	cleanup(session_close_at_exit) struct session *session = NULL;
	int r = session_open(path, &session, err);

	if (r < 0)
		return r;
	if (!fleet_sums_session_is_whole(s, session))
		return error_set(err, -EBADMSG, "%s is damaged", path);
	vec_push(&a->before, s);
	vec_push(&a->of_before, session);
	vec_push(&a->sessions, take_ptr(session));
	return 0;
}

/* The rates of a part, by event of the joined session. */
static char *rates_of_part(const struct session *joined, const struct session *part)
{
	struct buf text = { 0 };
	char *out;

	for (uint32_t c = 0; c < joined->info.n_counters; c++) {
		uint64_t hz = 0;

		for (uint32_t i = 0; i < part->info.n_counters; i++)
			if (session_event_of_part(joined, &part->info.counters[i]) == c)
				hz = part->info.counters[i].freq_hz;
		buf_printf(&text, "%s%" PRIu64, c ? "," : "", hz);
	}
	out = xstrdup(text.len ? buf_cstr(&text) : "0");
	buf_fini(&text);
	return out;
}

/* The same of a source of sums before, whose text is by the events of these. */
static char *rates_of_source(const struct session *joined, const struct session *before,
			     const char *rates)
{
	uint64_t by_event[SESSION_COUNTERS_MAX] = { 0 };
	struct buf text = { 0 };
	const char *end = ",";
	char *out;

	for (uint32_t i = 0; i < before->info.n_counters && *end == ','; i++, rates = end + 1) {
		uint64_t hz = strtoull(rates, (char **)&end, 10);
		uint32_t event = session_event_of_part(joined, &before->info.counters[i]);

		if (event < joined->info.n_counters)
			by_event[event] = hz;
	}
	for (uint32_t c = 0; c < joined->info.n_counters; c++)
		buf_printf(&text, "%s%" PRIu64, c ? "," : "", by_event[c]);
	out = xstrdup(text.len ? buf_cstr(&text) : "0");
	buf_fini(&text);
	return out;
}

/* Lists all sources, with their rates. Returns their samples. */
static uint64_t list_sources(struct adding *a, const struct session *joined)
{
	uint64_t samples = 0;

	for (size_t i = 0; i < a->sums.sources.n; i++)
		a->sums.sources.data[i].rates = rates_of_part(joined, a->of_source.data[i]);
	for (size_t k = 0; k < a->before.n; k++)
		vec_foreach (&a->before.data[k]->sources, old) {
			struct sums_source x = *old;

			x.host = xstrdup(old->host);
			x.rates = rates_of_source(joined, a->of_before.data[k], old->rates);
			vec_push(&a->sums.sources, x);
		}
	vec_foreach (&a->sums.sources, x)
		samples += x->samples;
	return samples;
}

/* A name for sums of the span that none had before. */
static void sums_name(const struct adding *a, char name[static HISTORY_NAME_SIZE])
{
	uint64_t start_ns = a->sums.first_unit * a->sums.unit_ns;
	cleanup(free_at_exit) char *path = NULL;
	unsigned int number = 1;

	vec_foreach (&a->before, s) {
		const char *dash = strchr((*s)->name, '-');

		number = MAX(number, dash ? (unsigned int)strtoul(dash + 1, NULL, 10) + 1 : 2);
	}
	for (;; number++) {
		history_part_name(start_ns, number % 1000000, name);
		free(path);
		path = fleet_sums_path(a->m->fleet, name);
		if (access(path, F_OK) < 0)
			return;
	}
}

static int write_sums(struct adding *a, const struct session *joined, const char *to,
		      struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/" FLEET_SUMS_SOURCES, to);
	char id[FLEET_SUMS_ID_SIZE];
	struct merge_config config = { .block_ns = a->sums.unit_ns,
				       .replaces = id,
				       .overviews = OVERVIEWS_ALWAYS };
	struct merge_result merged = { 0 };
	uint64_t samples = list_sources(a, joined);
	struct buf text = { 0 };
	int r;

	fleet_sums_print(&a->sums, &text);
	a->sums.id = XXH3_64bits(text.data, text.len);
	fleet_sums_id_text(a->sums.id, id);
	text.len = 0;
	fleet_sums_print(&a->sums, &text);
	r = session_merge(joined, &config, to, &merged, err);
	if (r >= 0 && merged.samples != samples)
		r = error_set(err, -EBADMSG, "%s has %" PRIu64 " of %" PRIu64 " samples", to,
			      merged.samples, samples);
	r = r < 0 ? r : file_replace(path, text.data, text.len, err);
	buf_fini(&text);
	return r;
}

/*
 * Makes the sums and gives them their name, and then removes those before. Until then, readers take
 * the newer ones of both. Nothing is synced: sums that a crash tears are damaged, and made again.
 */
static int put_sums(struct adding *a, struct error *err)
{
	cleanup(session_close_at_exit) struct session *joined = NULL;
	cleanup(free_at_exit) char *made = NULL, *path = NULL;
	char name[HISTORY_NAME_SIZE];
	int r = session_join(a->sessions.data, (uint32_t)a->sessions.n, true, &joined, err);

	a->sessions.n = 0;
	if (r < 0)
		return r;
	sums_name(a, name);
	made = xasprintf("%s/" FLEET_SUMS_DIR "/" FLEET_SUMS_MAKE_PREFIX "%s", a->m->fleet, name);
	path = fleet_sums_path(a->m->fleet, name);
	r = write_sums(a, joined, made, err);
	if (r >= 0 && rename(made, path) < 0)
		r = error_errno(err, -errno, "cannot rename %s to %s", made, path);
	if (r < 0) {
		file_remove_tree(made, NULL);
		return r;
	}
	a->sums.name = xstrdup(name);
	vec_foreach (&a->before, s)
		fleet_sums_remove(a->m->fleet, (*s)->name, NULL);
	return 0;
}

static void adding_fini(struct adding *a)
{
	vec_foreach (&a->sessions, s)
		session_close(*s);
	vec_fini(&a->sessions);
	vec_fini(&a->of_source);
	vec_fini(&a->before);
	vec_fini(&a->of_before);
	fleet_sums_fini(&a->sums);
}

/* The new sums take the place of those before in the list. */
static void replace_sums(struct maker *m, struct adding *a)
{
	size_t n = 0;

	vec_foreach (&m->sums, s) {
		bool is_before = false;

		vec_foreach (&a->before, before)
			is_before |= *before == s;
		if (is_before)
			fleet_sums_fini(s);
		else
			m->sums.data[n++] = *s;
	}
	m->sums.n = n;
	vec_push(&m->sums, a->sums);
	a->sums = (struct fleet_sums){ 0 };
}

/* Adds some of the parts [from, to), which are of one span. Returns how many it has looked at. */
static int64_t make_round(struct maker *m, size_t from, size_t to, struct error *err)
{
	const struct new_part *first = &m->parts.data[from];
	struct adding a = {
		.m = m, .sums = { .unit_ns = first->unit_ns, .first_unit = first->first_unit }
	};
	uint64_t bytes = 0;
	size_t i = from;
	int r = 0;

	vec_foreach (&m->sums, s)
		if (r >= 0 && s->unit_ns == first->unit_ns && s->first_unit == first->first_unit)
			r = adding_before(&a, s, err);
	for (; r >= 0 && i < to && i - from < ROUND_PARTS && bytes < ROUND_BYTES; i++) {
		adding_part(&a, &m->parts.data[i]);
		bytes += m->parts.data[i].source.bytes;
	}
	/* One part alone is read as fast itself. */
	if (r >= 0 && a.sums.sources.n && (a.sums.sources.n > 1 || a.before.n)) {
		m->made->n_parts += (uint32_t)a.sums.sources.n;
		m->made->n_made++;
		r = put_sums(&a, err);
		if (r >= 0)
			replace_sums(m, &a);
	}
	adding_fini(&a);
	return r < 0 ? r : (int64_t)(i - from);
}

static void make_all(struct maker *m, bool (*stops)(void))
{
	struct error why = { 0 };
	int64_t n = 0;

	for (size_t from = 0; from < m->parts.n && !(stops && stops()); from += (size_t)n) {
		size_t to = from + 1;

		while (to < m->parts.n &&
		       m->parts.data[to].unit_ns == m->parts.data[from].unit_ns &&
		       m->parts.data[to].first_unit == m->parts.data[from].first_unit)
			to++;
		n = make_round(m, from, to, &why);
		if (n < 0) { /* the hosts are read for this span */
			log_warning("hosts are not added up: %s", why.text);
			n = (int64_t)(to - from);
		}
	}
}

int fleet_sums_make(const char *fleet, bool (*stops)(void), struct sums_made *out,
		    struct error *err)
{
	struct maker m = { .fleet = fleet, .made = out };
	int r;

	*out = (struct sums_made){ 0 };
	r = maker_clean(&m, err);
	r = r < 0 ? r : list_parts(&m, err);
	if (r >= 0)
		make_all(&m, stops);
	vec_foreach (&m.parts, part)
		free(part->host);
	vec_fini(&m.parts);
	fleet_sums_list_fini(&m.sums);
	return r;
}
