/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that are words between colons:
 *
 *   NAME[:MODIFIERS]                         perf
 *   SYSTEM:TRACEPOINT[:MODIFIERS]            perf; either may be a pattern, as "sched:*"
 *   NAME[:UNITMASK][:MODIFIERS]              event files
 *   NAME[:UNITMASK…][:MODIFIERS]             libpfm4
 *   NAME:COUNT[:UNITMASK[:KERNEL[:USER]]]    OProfile, for any NAME
 *
 * A word of digits is OProfile's count and begins the tail; nothing else is
 * digits alone.
 */
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "counter/catalog/catalog.h"
#include "counter/catalog/event_files.h"
#include "counter/spec/parse.h"
#include "counter/pmu.h"
#include "counter/sources.h"

#define MAX_WORDS 8

struct words {
	const struct parse *p;
	char *word[MAX_WORDS];
	size_t n;      /* all */
	size_t n_name; /* those before OProfile's tail */
	/* OProfile's tail */
	bool has_tail;
	uint64_t count;
	const char *mask; /* a number or a name; NULL for none */
	bool kernel, user;
};

static bool is_digits(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

static int words_parse_number(const struct parse *p, const char *word, const char *what,
			      uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(word, &end, 0);
	if (!isdigit((unsigned char)*word) || *end || errno)
		return error_set(p->err, -EINVAL, "event '%s': the %s '%s' is not a number%s",
				 p->spec, what, word, errno == ERANGE ? " of 64 bits" : "");
	return 0;
}

static int words_parse_flag(const struct parse *p, const char *word, const char *what, bool *out)
{
	if (strcmp(word, "0") && strcmp(word, "1"))
		return error_set(p->err, -EINVAL, "event '%s': %s is 0 or 1, not '%s'", p->spec,
				 what, word);
	*out = *word == '1';
	return 0;
}

static int cut(struct words *w, char *text)
{
	char *rest = text;

	for (char *word; (word = strsep(&rest, ":"));) {
		if (w->n == MAX_WORDS)
			return error_set(w->p->err, -EINVAL, "event '%s': too many ':'",
					 w->p->spec);
		w->word[w->n++] = word;
	}
	if (!*w->word[0])
		return error_set(w->p->err, -EINVAL, "event '%s': no name", w->p->spec);
	if (w->n > 1 && !*w->word[w->n - 1])
		return error_set(w->p->err, -EINVAL, "event '%s': nothing follows the last ':'",
				 w->p->spec);
	return 0;
}

/* Finds and reads COUNT[:UNITMASK[:KERNEL[:USER]]]. */
static int read_tail(struct words *w)
{
	char **tail;
	size_t n;
	int r;

	w->kernel = w->user = true;
	for (w->n_name = 1; w->n_name < w->n && !is_digits(w->word[w->n_name]);)
		w->n_name++;
	tail = w->word + w->n_name;
	n = w->n - w->n_name;
	if (n == 0)
		return 0;
	if (n > 4)
		return error_set(w->p->err, -EINVAL,
				 "event '%s': '%s' is too much; the form is "
				 "EVENT:COUNT:UNITMASK:KERNEL:USER",
				 w->p->spec, tail[4]);
	w->has_tail = true;
	errno = 0;
	w->count = strtoull(tail[0], NULL, 10); /* OProfile's counts are decimal, 0100 too */
	if (errno)
		return error_set(w->p->err, -EINVAL,
				 "event '%s': the count '%s' is not a number of "
				 "64 bits",
				 w->p->spec, tail[0]);
	if (n > 1 && *tail[1])
		w->mask = tail[1];
	r = n > 2 ? words_parse_flag(w->p, tail[2], "KERNEL", &w->kernel) : 0;
	if (r == 0 && n > 3)
		r = words_parse_flag(w->p, tail[3], "USER", &w->user);
	return r;
}

/* words[0..n) with their colons again. */
static void words_join(const struct words *w, size_t n, char *text, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < size; i++)
		len += (size_t)snprintf(text + len, size - len, "%s%s", i ? ":" : "", w->word[i]);
}

/* sched:sched_swich, as opposed to cycels:u. */
static bool looks_like_tracepoint(const struct words *w)
{
	return w->n_name > 1 && !modifiers_only(w->word[1]) && !isdigit((unsigned char)*w->word[1]);
}

/* Whether the word is the first of a list with commas. */
static bool is_first_of(const char *word, const char *list)
{
	size_t n = strcspn(list, ",");

	return strlen(word) == n && !strncmp(word, list, n);
}

static int unknown(const struct words *w)
{
	char tracefs[PATH_MAX], near[256], word[256];
	bool is_tracepoint = looks_like_tracepoint(w);

	words_join(w, is_tracepoint ? 2 : 1, word, sizeof(word));
	catalog_nearest(w->p->sources, word, near, sizeof(near));
	/* libpfm4 4.13 of Debian 13 does so on processors of Arm. */
	if (is_first_of(word, near))
		return error_set(w->p->err, -ENOENT,
				 "libpfm4 lists event '%s' but has no code for it on this machine; "
				 "use the event's raw number, as in r11",
				 word);
	if (is_tracepoint && !*near && !sources_tracefs(w->p->sources, tracefs))
		return error_set(
			w->p->err, -ENOENT,
			"unknown event '%s'; if it is a tracepoint: there is no tracefs at %s; "
			"as root, %s'mount -t tracefs nodev %s'",
			word, tracefs,
			sources_has_sysfs(w->p->sources)
				? ""
				: "'mount -t sysfs sysfs /sys', as /sys is not there, and then ",
			tracefs);
	return error_set(w->p->err, -ENOENT, "unknown event '%s'; %s%s", word,
			 *near ? "nearest: " : "'assay events' lists those of this machine", near);
}

/* Parses the words after the name: perf's letters from word `at` on, or OProfile's numbers. */
static int words_finish(const struct words *w, struct draft *d, const char *name, size_t at)
{
	const char *letters = "";
	int r;

	if (at < w->n_name) {
		letters = w->word[at];
		if (isdigit((unsigned char)*letters))
			return error_set(w->p->err, -EINVAL,
					 "event '%s': the count '%s' is not a number", w->p->spec,
					 letters);
		if (at + 1 < w->n_name)
			return error_set(w->p->err, -EINVAL,
					 "event '%s': '%s' is too much after the modifiers",
					 w->p->spec, w->word[at + 1]);
	}
	r = modifiers_apply(letters, w->p->spec, d, w->p->err);
	if (r < 0)
		return r;
	if (w->has_tail) {
		d->has_count = true;
		d->count = w->count;
	}
	if (!w->kernel || !w->user) {
		d->has_mode = true;
		d->attr.exclude_kernel = !w->kernel;
		d->attr.exclude_user = !w->user;
		d->attr.exclude_hv = 1;
		letters = w->user ? "u" : "k";
	}
	return parse_finish(w->p, d, name, letters);
}

/* A unit mask of 0 says nothing; another is for events that have some. */
static int check_no_mask(const struct words *w)
{
	uint64_t mask = 0;

	if (w->mask && (words_parse_number(w->p, w->mask, "unit mask", &mask) < 0 || mask))
		return error_set(w->p->err, -EINVAL,
				 "event '%s': '%s' has no unit mask except 0, and '%s' is given",
				 w->p->spec, w->word[0], w->mask);
	return 0;
}

/* Names that the kernel knows. 1: it was one, and is done. */
static int try_kernel(const struct words *w)
{
	char name[256];
	struct draft d;
	size_t used = 2;
	int r = 0;

	if (looks_like_tracepoint(w))
		r = tracepoint_find(w->p->sources, w->word[0], w->word[1], &d, w->p->err);
	/* Check modifiers also for users who may not read the tracepoints. */
	if (r == 0 || (r < 0 && generic_find(w->word[0], &d))) {
		used = 1;
		r = generic_find(w->word[0], &d);
	}
	if (r == 0)
		r = raw_find(w->word[0], &d);
	if (r <= 0)
		return r;
	r = check_no_mask(w);
	if (r < 0)
		return r;
	words_join(w, used, name, sizeof(name));
	r = words_finish(w, &d, name, used);
	return r < 0 ? r : 1;
}

/* The tracepoints that a pattern such as "sched:*" or "syscalls:sys_enter_*" stands for. */
struct matches {
	const char *pattern;
	VEC(char *) names;
};

static void keep_match(void *ctx, const struct event_name *event)
{
	struct matches *m = ctx;

	if (fnmatch(m->pattern, event->name, 0) == 0)
		vec_push(&m->names, xstrdup(event->name));
}

static int words_by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static int add_match(const struct words *w, char *name)
{
	char *colon = strchr(name, ':');
	struct draft d;
	int r;

	*colon = '\0';
	r = tracepoint_find(w->p->sources, name, colon + 1, &d, w->p->err);
	*colon = ':';
	/* Some, as those of ftrace, have no id that could be opened. */
	return r > 0 ? words_finish(w, &d, name, 2) : r;
}

/* Each takes a file on each CPU, and the events of a CPU share a ring. */
#define MAX_MATCHES 128

static int try_pattern(const struct words *w)
{
	struct matches m = { 0 };
	char pattern[256];
	int r = 0;

	if (!looks_like_tracepoint(w) ||
	    (!strpbrk(w->word[0], "*?[") && !strpbrk(w->word[1], "*?[")))
		return 0;
	words_join(w, 2, pattern, sizeof(pattern));
	m.pattern = pattern;
	tracepoint_each(w->p->sources, keep_match, &m);
	if (m.names.n)
		qsort(m.names.data, m.names.n, sizeof(*m.names.data), words_by_name);
	if (m.names.n > MAX_MATCHES)
		r = error_set(
			w->p->err, -E2BIG,
			"event '%s': the pattern matches %zu tracepoints; at most %d are taken",
			w->p->spec, m.names.n, MAX_MATCHES);
	for (size_t i = 0; i < m.names.n && r == 0; i++)
		r = add_match(w, m.names.data[i]);
	r = r < 0 ? r : m.names.n > 0;
	vec_foreach (&m.names, name)
		free(*name);
	vec_fini(&m.names);
	return r;
}

/* A driver's alias without its PMU: on every PMU that has it. */
static int try_alias(const struct words *w)
{
	struct pmu_names pmus = { 0 };
	int r = 0;

	pmu_list_with_alias(w->p->sources, w->word[0], &pmus);
	for (size_t i = 0; i < pmus.n && r >= 0; i++) {
		char *name = xasprintf("%s/%s/", pmus.data[i], w->word[0]);
		struct draft d;

		r = pmu_parse(w->p->sources, pmus.data[i], w->word[0], w->p->spec, &d, w->p->err);
		if (r >= 0)
			r = check_no_mask(w);
		if (r >= 0)
			r = words_finish(w, &d, name, 1);
		free(name);
	}
	r = r < 0 ? r : pmus.n > 0;
	pmu_names_fini(&pmus);
	return r;
}

/* A name of the event files, which may be the user's own: they come before libpfm4. */
static int try_files(const struct words *w)
{
	const char *mask = w->mask;
	struct draft d;
	size_t at = 1;
	int r;

	if (!mask && w->n_name > 1 && !modifiers_only(w->word[1]))
		mask = w->word[at++];
	r = event_files_find(w->p->sources, w->word[0], mask, &d, w->p->err);
	if (r < 1)
		return r;
	r = words_finish(w, &d, d.name, at);
	return r < 0 ? r : 1;
}

/* OProfile's unit mask is a word of libpfm4's name, by number or by name. */
static int find_masked(const struct words *w, struct draft *d, struct error *err)
{
	char name[256], masked[320];
	uint64_t mask = 0;
	bool is_number = w->mask && isdigit((unsigned char)*w->mask);

	words_join(w, w->n_name, name, sizeof(name));
	if (is_number && words_parse_number(w->p, w->mask, "unit mask", &mask) < 0)
		return error_set(err, -EINVAL, "event '%s': the unit mask '%s' is not a number",
				 w->p->spec, w->mask);
	/* 0 is also what OProfile gives an event that has no masks. */
	if (mask == 0 && (!w->mask || is_number) && pfm_find(name, w->p->spec, d, NULL) == 1)
		return 1;
	if (is_number)
		snprintf(masked, sizeof(masked), "%s:0x%" PRIx64, name, mask);
	else
		snprintf(masked, sizeof(masked), "%s%s%s", name, w->mask ? ":" : "",
			 w->mask ? w->mask : "");
	if (pfm_find(masked, w->p->spec, d, err) != 1)
		return err->code;
	d->unit_mask = mask;
	return 1;
}

/*
 * A name of libpfm4's; *at is the word behind it. The last word is perf's letters if it
 * can be ("ukpp", which libpfm4 would not take), unless the name is only known with it.
 */
static int find_pfm(const struct words *w, struct draft *d, size_t *at, struct error *err)
{
	char name[256];
	int r;

	*at = w->n_name;
	if (w->has_tail)
		return find_masked(w, d, err);
	if (w->n_name > 1 && modifiers_only(w->word[w->n_name - 1])) {
		words_join(w, w->n_name - 1, name, sizeof(name));
		r = pfm_find(name, w->p->spec, d, err);
		if (r >= 0) {
			*at = w->n_name - 1;
			return r;
		}
		err = NULL; /* that message is the better one */
	}
	words_join(w, w->n_name, name, sizeof(name));
	return pfm_find(name, w->p->spec, d, err);
}

/*
 * OProfile's names of events that the kernel counts on every processor. They have the unit mask 0
 * or none.
 */
static int try_classic(const struct words *w)
{
	static const char *const classics[][2] = {
		{ "CPU_CLK_UNHALTED", "cycles" },
		{ "CPU_CYCLES", "cycles" },
		{ "CYCLES_NOT_IN_HALT", "cycles" },
		{ "INST_RETIRED", "instructions" },
		{ "INST_RETIRED_ANY_P", "instructions" },
		{ "RETIRED_INSTRUCTIONS", "instructions" },
		{ "LLC_MISSES", "cache-misses" },
		{ "LLC_REFS", "cache-references" },
		{ "BR_INST_RETIRED", "branches" },
		{ "RETIRED_BRANCH_INSTRUCTIONS", "branches" },
		{ "BR_MISS_PRED_RETIRED", "branch-misses" },
		{ "BR_MISP_EXEC", "branch-misses" },
		{ "TIMER_INT", "cpu-clock" },
	};
	struct draft d;
	int r;

	for (size_t i = 0; i < ARRAY_SIZE(classics); i++) {
		if (strcasecmp(classics[i][0], w->word[0]))
			continue;
		generic_find(classics[i][1], &d);
		r = check_no_mask(w);
		if (r == 0)
			r = words_finish(w, &d, w->word[0], 1);
		return r < 0 ? r : 1;
	}
	return 0;
}

/*
 * Names of processor manuals. libpfm4 requires a unit mask for some events that had none in
 * OProfile. Then the kernel's own event is used.
 */
static int try_tables(const struct words *w)
{
	struct error refused = { 0 };
	struct draft d;
	size_t at;
	int r = find_pfm(w, &d, &at, &refused);

	if (r < 1) {
		int classic = try_classic(w);

		if (classic || r == 0)
			return classic;
		return error_set(w->p->err, r, "%s", refused.text);
	}
	r = words_finish(w, &d, d.name, at);
	return r < 0 ? r : 1;
}

int parse_words(const struct parse *p, char *text)
{
	struct words w = { .p = p };
	int r = cut(&w, text);

	if (r == 0)
		r = read_tail(&w);
	if (r == 0)
		r = try_kernel(&w);
	if (r == 0)
		r = try_pattern(&w);
	if (r == 0)
		r = try_alias(&w);
	if (r == 0)
		r = try_files(&w);
	if (r == 0)
		r = try_tables(&w);
	if (r == 0)
		r = unknown(&w);
	return r < 0 ? r : 0;
}
