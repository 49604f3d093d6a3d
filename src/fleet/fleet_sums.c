/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_sums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/files/file.h"
#include "base/strings.h"
#include "fleet/fleet_store.h"
#include "store/session.h"

#define HEAD       "assay-fleet-sums 1"
#define TEXT_MOST  ((size_t)64 << 20)
#define RATES_MOST 1024

void fleet_sums_fini(struct fleet_sums *s)
{
	vec_foreach (&s->sources, source) {
		free(source->host);
		free(source->rates);
	}
	vec_fini(&s->sources);
	free(s->name);
	*s = (struct fleet_sums){ 0 };
}

char *fleet_sums_path(const char *fleet, const char *name)
{
	return xasprintf("%s/" FLEET_SUMS_DIR "/%s", fleet, name);
}

/* ---- the file of sources ---- */

int sums_source_compare(const void *a, const void *b)
{
	const struct sums_source *x = a, *y = b;
	const char *p = x->part, *q = y->part;
	int order = strcmp(x->host, y->host);

	return order ? order : history_by_name(&p, &q);
}

void fleet_sums_print(struct fleet_sums *s, struct buf *out)
{
	size_t from = out->len;

	if (s->sources.n)
		qsort(s->sources.data, s->sources.n, sizeof(*s->sources.data), sums_source_compare);
	buf_printf(out, HEAD "\n%016" PRIx64 " %" PRIu64 " %" PRIu64 "\n", s->id,
		   s->unit_ns / NS_PER_SECOND, s->first_unit);
	vec_foreach (&s->sources, x)
		buf_printf(out,
			   "%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIx64
			   " %" PRIu64 " %" PRIu64 " %s\n",
			   x->host, x->part, x->bytes, x->changed_ns, x->first_ns, x->last_ns,
			   x->units, x->samples, x->block_ns / NS_PER_SECOND, x->rates);
	buf_printf(out, "%016" PRIx64 "\n",
		   (uint64_t)XXH3_64bits(out->data + from, out->len - from));
}

void fleet_sums_id_text(uint64_t id, char out[static FLEET_SUMS_ID_SIZE])
{
	snprintf(out, FLEET_SUMS_ID_SIZE, "%016" PRIx64, id);
}

size_t fleet_sums_first_of(const struct fleet_sums *s, const char *host)
{
	size_t low = 0, high = s->sources.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(s->sources.data[middle].host, host) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* "49,0" */
static bool rates_are_valid(const char *rates)
{
	size_t n = strlen(rates);

	return n && n < RATES_MOST && strspn(rates, "0123456789,") == n;
}

static bool sums_parse_number(const char *text, int base, uint64_t *out)
{
	const char *digits = base == 16 ? "0123456789abcdef" : "0123456789";
	size_t n = strlen(text);

	if (!n || n > (base == 16 ? 16 : 19) || strspn(text, digits) != n)
		return false;
	*out = strtoull(text, NULL, base);
	return true;
}

enum { SUMS_WORDS = 10 };

/* Splits a line at its blanks. False: it has not `n` words. */
static bool sums_split(char *line, char **words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		words[i] = strsep(&line, " ");
		if (!words[i])
			return false;
	}
	return !line;
}

static bool source_parse(char *line, struct sums_source *x)
{
	uint64_t *const numbers[] = { &x->bytes, &x->changed_ns, &x->first_ns, &x->last_ns,
				      &x->units, &x->samples,    &x->block_ns };
	char *words[SUMS_WORDS];
	uint64_t start_ns;

	if (!sums_split(line, words, SUMS_WORDS) || !fleet_host_is_valid(words[0]) ||
	    strlen(words[1]) >= sizeof(x->part) || !history_part_time(words[1], &start_ns) ||
	    !rates_are_valid(words[SUMS_WORDS - 1]))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (!sums_parse_number(words[2 + i], numbers[i] == &x->units ? 16 : 10, numbers[i]))
			return false;
	if (x->block_ns > UINT32_MAX || x->first_ns > x->last_ns)
		return false;
	x->block_ns *= NS_PER_SECOND;
	snprintf(x->part, sizeof(x->part), "%s", words[1]);
	x->host = xstrdup(words[0]);
	x->rates = xstrdup(words[SUMS_WORDS - 1]);
	return true;
}

static bool sums_parse_head(char *line, struct fleet_sums *s)
{
	char *words[3];

	if (!line || !sums_split(line, words, 3) || !sums_parse_number(words[0], 16, &s->id) ||
	    !sums_parse_number(words[1], 10, &s->unit_ns) ||
	    !sums_parse_number(words[2], 10, &s->first_unit) || !s->unit_ns ||
	    s->unit_ns > UINT32_MAX || s->first_unit > UINT32_MAX)
		return false;
	s->unit_ns *= NS_PER_SECOND;
	return true;
}

/* Checks the hash in the last line, and returns the bytes before it; 0: it is wrong. */
static size_t sums_check(const char *text, size_t size)
{
	char last[18];
	size_t before = size > 17 ? size - 17 : 0;

	if (!before || text[before - 1] != '\n' || memchr(text, '\0', size))
		return 0;
	snprintf(last, sizeof(last), "%016" PRIx64 "\n", (uint64_t)XXH3_64bits(text, before));
	return memcmp(text + before, last, 17) ? 0 : before;
}

static bool sums_parse_lines(char *text, struct fleet_sums *s)
{
	char *line = strsep(&text, "\n");

	if (!line || strcmp(line, HEAD) != 0 || !sums_parse_head(strsep(&text, "\n"), s))
		return false;
	while ((line = strsep(&text, "\n")) && text) {
		struct sums_source source = { 0 };

		if (!source_parse(line, &source))
			return false;
		vec_push(&s->sources, source);
		if (s->sources.n > 1 &&
		    sums_source_compare(&s->sources.data[s->sources.n - 2],
					&s->sources.data[s->sources.n - 1]) >= 0)
			return false;
	}
	return s->sources.n;
}

bool fleet_sums_parse(const char *text, size_t size, struct fleet_sums *out)
{
	cleanup(free_at_exit) char *copy = NULL;
	size_t before = sums_check(text, size);

	*out = (struct fleet_sums){ 0 };
	copy = xstrndup(text, before);
	if (before && sums_parse_lines(copy, out))
		return true;
	fleet_sums_fini(out);
	return false;
}

bool fleet_sums_read(const char *fleet, const char *name, struct fleet_sums *out)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/" FLEET_SUMS_DIR "/%s/" FLEET_SUMS_SOURCES, fleet, name);
	cleanup(free_at_exit) char *text = NULL;
	size_t size = 0;

	*out = (struct fleet_sums){ 0 };
	if (file_read_all(path, TEXT_MOST, &text, &size) < 0 || !fleet_sums_parse(text, size, out))
		return false;
	out->name = xstrdup(name);
	return true;
}

/* ---- which sums count ---- */

bool fleet_sums_look(const char *fleet, const char *host, const char *part, uint64_t *bytes,
		     uint64_t *changed_ns)
{
	cleanup(free_at_exit) char *path =
		xasprintf("%s/%s/%s/samples/current/0000.segment", fleet, host, part);
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	*bytes = (uint64_t)st.st_size;
	*changed_ns = timespec_ns(st.st_mtim);
	return true;
}

bool fleet_sums_are_current(const char *fleet, const struct fleet_sums *s)
{
	vec_foreach (&s->sources, x) {
		uint64_t bytes, changed_ns;

		if (!fleet_sums_look(fleet, x->host, x->part, &bytes, &changed_ns) ||
		    bytes != x->bytes || changed_ns != x->changed_ns)
			return false;
	}
	return true;
}

/* Adds the sources to the set of all. False: one of them was in it, and nothing is added. */
static bool sums_claim(struct strings *all, const struct fleet_sums *s)
{
	char key[FLEET_HOST_MAX + HISTORY_NAME_SIZE + 2];
	string_id id;

	vec_foreach (&s->sources, x) {
		snprintf(key, sizeof(key), "%s/%s", x->host, x->part);
		if (strings_find(all, key, &id))
			return false;
	}
	vec_foreach (&s->sources, x) {
		snprintf(key, sizeof(key), "%s/%s", x->host, x->part);
		strings_add(all, key);
	}
	return true;
}

static bool sums_are_near(const struct fleet_sums *s, const struct time_window *w)
{
	return s->first_unit * s->unit_ns < w->to_ns &&
	       (s->first_unit + FLEET_SUMS_UNITS) * s->unit_ns > w->from_ns;
}

void fleet_sums_find(const char *fleet, const struct time_window *window,
		     struct fleet_sums_list *out)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/" FLEET_SUMS_DIR, fleet);
	struct history_names names = { 0 };
	struct strings all;

	strings_init(&all);
	if (history_list(dir, &names) < 0)
		names.n = 0;
	for (size_t i = names.n; i-- > 0;) {
		struct fleet_sums s;

		if (!fleet_sums_read(fleet, names.data[i], &s))
			continue;
		if (sums_are_near(&s, window) && fleet_sums_are_current(fleet, &s) &&
		    sums_claim(&all, &s))
			vec_push(out, s);
		else
			fleet_sums_fini(&s);
	}
	history_names_fini(&names);
	strings_fini(&all);
}

void fleet_sums_list_fini(struct fleet_sums_list *list)
{
	vec_foreach (list, s)
		fleet_sums_fini(s);
	vec_fini(list);
}

/* ---- reading ---- */

struct sums_choice {
	const struct fleet_sums *sums;
	const struct history_request *request;
	uint64_t of_overview,
		of_units; /* units that were taken from an overview, and single ones */
	bool is_wrong;
};

static bool choice_contains(const struct sums_choice *c, uint64_t first_ns, uint64_t last_ns)
{
	const struct time_window *w = &c->request->window;

	return first_ns >= w->from_ns && last_ns < w->to_ns;
}

/* A block of several units, or of all. */
static bool sums_take_overview(void *context, uint64_t level_ns, uint64_t first_ns,
			       uint64_t last_ns)
{
	struct sums_choice *c = context;
	const struct fleet_sums *s = c->sums;

	if (level_ns <= s->unit_ns || level_ns > c->request->overview_ns ||
	    !choice_contains(c, first_ns, last_ns))
		return false;
	for (uint64_t i = 0; i < FLEET_SUMS_UNITS; i++)
		if ((s->first_unit + i) * s->unit_ns / level_ns == first_ns / level_ns)
			c->of_overview |= UINT64_C(1) << i;
	return true;
}

static bool sums_take_unit(void *context, const struct block_span *span)
{
	struct sums_choice *c = context;
	uint64_t unit = span->first_ns / c->sums->unit_ns - c->sums->first_unit;

	if (unit >= FLEET_SUMS_UNITS) {
		c->is_wrong = true;
		return false;
	}
	if (c->of_overview >> unit & 1 || c->sums->unit_ns > c->request->overview_ns ||
	    !choice_contains(c, span->first_ns, span->last_ns))
		return false;
	c->of_units |= UINT64_C(1) << unit;
	return true;
}

bool fleet_sums_session_is_whole(const struct fleet_sums *s, const struct session *session)
{
	char id[FLEET_SUMS_ID_SIZE];

	fleet_sums_id_text(s->id, id);
	return session->has_end && !session->warnings.n && session->info.replaces &&
	       !strcmp(session->info.replaces, id);
}

/* Gives the session the time that the parts in the window would have (history_open()). */
static void sums_cut(struct session *session, const struct fleet_sums *s,
		     const struct time_window *w)
{
	struct session_info *info = &session->info;
	uint64_t first_ns = UINT64_MAX, last_ns = 0;

	vec_foreach (&s->sources, x) {
		if (x->last_ns < w->from_ns || x->first_ns >= w->to_ns)
			continue;
		first_ns = MIN(first_ns, x->first_ns);
		last_ns = MAX(last_ns, x->last_ns);
	}
	first_ns = MAX(first_ns, w->from_ns);
	last_ns = MAX(MIN(last_ns, w->to_ns), first_ns);
	info->start_ns += first_ns - info->start_wall_ns;
	info->start_wall_ns = first_ns;
	session->end.end_ns = info->start_ns + (last_ns - first_ns);
}

bool fleet_sums_open(const char *fleet, const struct fleet_sums *s,
		     const struct history_request *request, struct sums_taken *out)
{
	cleanup(free_at_exit) char *path = fleet_sums_path(fleet, s->name);
	cleanup(session_close_at_exit) struct session *session = NULL;
	struct sums_choice choice = { .sums = s, .request = request };
	const struct block_filter filter = { .takes = sums_take_unit,
					     .takes_overview = sums_take_overview,
					     .context = &choice,
					     .until_ns = UINT64_MAX };

	*out = (struct sums_taken){ 0 };
	if (session_open_blocks(path, &filter, &session, NULL) < 0 ||
	    !fleet_sums_session_is_whole(s, session) || choice.is_wrong)
		return false;
	*out = (struct sums_taken){ choice.of_overview | choice.of_units, NULL };
	if (!out->units)
		return false;
	sums_cut(session, s, &request->window);
	session->block_ns = 0;
	vec_foreach (&s->sources, x)
		session->block_ns = MAX(session->block_ns, x->block_ns);
	out->session = take_ptr(session);
	return true;
}
