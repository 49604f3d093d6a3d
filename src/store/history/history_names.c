/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of a history's parts. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/reserve.h"
#include "store/history/history.h"

const struct history_level history_levels[N_HISTORY_LEVELS] = {
	[LEVEL_MINUTES] = { "minutes", 60 * NS_PER_SECOND },
	[LEVEL_TEN_MINUTES] = { "ten-minutes", 600 * NS_PER_SECOND },
	[LEVEL_HOURS] = { "hours", 3600 * NS_PER_SECOND },
	[LEVEL_DAYS] = { "days", 86400 * NS_PER_SECOND },
};

void history_part_name(uint64_t wall_ns, unsigned int number, char out[static HISTORY_NAME_SIZE])
{
	time_t seconds = (time_t)(wall_ns / NS_PER_SECOND);
	unsigned int ms = (unsigned int)(wall_ns % NS_PER_SECOND / NS_PER_MS);
	char day[24] = "";
	struct tm tm;

	if (gmtime_r(&seconds, &tm))
		strftime(day, sizeof(day), "%Y%m%dT%H%M%S", &tm);
	if (number > 1)
		snprintf(out, HISTORY_NAME_SIZE, "%s.%03uZ-%u", day, ms, number);
	else
		snprintf(out, HISTORY_NAME_SIZE, "%s.%03uZ", day, ms);
}

/* Whether the name looks like "20261121T210500.123Z". In the pattern, 0 stands for any digit. */
static bool has_form(const char *name)
{
	const char *form = "00000000T000000.000Z";

	for (; *form; form++, name++)
		if (*form == '0' ? !isdigit((unsigned char)*name) : *form != *name)
			return false;
	if (!*name)
		return true;
	if (*name++ != '-' || !isdigit((unsigned char)*name) || strlen(name) > 9)
		return false;
	return !name[strspn(name, "0123456789")];
}

static int digits(const char *at, int n)
{
	int value = 0;

	while (n-- > 0)
		value = value * 10 + (*at++ - '0');
	return value;
}

bool history_part_time(const char *name, uint64_t *wall_ns)
{
	struct tm tm;
	int64_t seconds;

	if (!has_form(name))
		return false;
	tm = (struct tm){ .tm_year = digits(name, 4) - 1900,
			  .tm_mon = digits(name + 4, 2) - 1,
			  .tm_mday = digits(name + 6, 2),
			  .tm_hour = digits(name + 9, 2),
			  .tm_min = digits(name + 11, 2),
			  .tm_sec = digits(name + 13, 2) };
	if (tm.tm_mon > 11 || tm.tm_mon < 0 || tm.tm_mday > 31 || tm.tm_mday < 1 ||
	    tm.tm_hour > 23 || tm.tm_min > 59 || tm.tm_sec > 60)
		return false;
	seconds = (int64_t)timegm(&tm);
	if (seconds < 0 || (uint64_t)seconds > UINT64_MAX / NS_PER_SECOND - 1)
		return false;
	*wall_ns = (uint64_t)seconds * NS_PER_SECOND + (uint64_t)digits(name + 16, 3) * NS_PER_MS;
	return true;
}

/* By time, then by the number at the end. */
int history_by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	int order = strncmp(x, y, 20);
	size_t n = strlen(x), m = strlen(y);

	return order ? order : n != m ? (n > m) - (n < m) : strcmp(x, y);
}

int history_list(const char *dir, struct history_names *out)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	uint64_t ns;

	if (!d)
		return -errno;
	while ((entry = readdir(d)))
		if (history_part_time(entry->d_name, &ns) && reserve_check() >= 0)
			vec_push(out, xstrdup(entry->d_name));
	closedir(d);
	if (reserve_check() < 0)
		return -ENOMEM;
	if (out->n)
		qsort(out->data, out->n, sizeof(*out->data), history_by_name);
	return 0;
}

void history_names_drop(struct history_names *names, const char *name)
{
	size_t kept = 0;

	vec_foreach (names, n)
		if (strcmp(*n, name) != 0)
			names->data[kept++] = *n;
		else
			free(*n);
	names->n = kept;
}

void history_names_fini(struct history_names *names)
{
	vec_foreach (names, name)
		free(*name);
	vec_fini(names);
}

static bool has_parts(const char *dir)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	uint64_t ns;
	bool found = false;

	while (d && !found && (entry = readdir(d)))
		found = history_part_time(entry->d_name, &ns);
	if (d)
		closedir(d);
	return found;
}

char *history_dir(const char *path)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", path);

	if (has_parts(current))
		return take_ptr(current);
	return has_parts(path) ? xstrdup(path) : NULL;
}

char *history_names_dir(const char *path)
{
	static const char *const places[] = { "samples", ".", "..", "../.." };
	struct stat st;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *dir = xasprintf("%s/%s/" HISTORY_NAMES_DIR, path, places[i]);

		if (lstat(dir, &st) == 0 && S_ISDIR(st.st_mode))
			return dir;
		free(dir);
	}
	return NULL;
}
