/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/time_window.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

/* Times beyond are no time of any session: room enough for sums without overflow. */
#define SECONDS_MAX 9000000000ULL

static const struct {
	const char *name;
	uint64_t ns;
} units[] = {
	{ "ms", NS_PER_MS },
	{ "s", NS_PER_SECOND },
	{ "m", 60 * NS_PER_SECOND },
	{ "h", 3600 * NS_PER_SECOND },
	{ "d", 86400 * NS_PER_SECOND },
	{ "w", 7 * 86400 * NS_PER_SECOND },
};

static int window_refuse(const char *text, struct error *err)
{
	return error_set(err, -EINVAL, "'%s' is not a time; write " TIME_POINT_FORMS, text);
}

/* At least one digit, and a value of at most `max`. */
static bool window_take_number(const char **at, uint64_t max, uint64_t *out)
{
	uint64_t n = 0;

	if (!isdigit((unsigned char)**at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++) {
		n = n * 10 + (uint64_t)(**at - '0');
		if (n > max)
			return false;
	}
	*out = n;
	return true;
}

/* ".25" as nanoseconds of a unit; nothing there is 0. */
static bool take_fraction(const char **at, uint64_t unit_ns, uint64_t *out)
{
	double digit = 0.1, sum = 0;

	*out = 0;
	if (**at != '.')
		return true;
	if (!isdigit((unsigned char)*++*at))
		return false;
	for (; isdigit((unsigned char)**at); (*at)++, digit /= 10)
		sum += digit * (**at - '0');
	*out = (uint64_t)(sum * (double)unit_ns + 0.5);
	return true;
}

static bool take_char(const char **at, char c)
{
	bool is = **at == c;

	*at += is;
	return is;
}

static bool window_take_word(const char **at, const char *word)
{
	size_t len = strlen(word);
	bool is = !strncasecmp(*at, word, len) && !isalnum((unsigned char)(*at)[len]);

	*at += is ? len : 0;
	return is;
}

static uint64_t window_take_unit(const char **at)
{
	size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (len == strlen(units[i].name) && !strncmp(*at, units[i].name, len)) {
			*at += len;
			return units[i].ns;
		}
	return 0;
}

/* "2h", "1h30m", "1.5h", behind the minus. */
static bool parse_ago(const char *at, uint64_t now_ns, uint64_t *out)
{
	uint64_t ago = 0;

	do {
		const char *number = at;
		uint64_t n, part, unit;

		if (!window_take_number(&at, SECONDS_MAX, &n) || !take_fraction(&at, 1, &part))
			return false;
		unit = window_take_unit(&at);
		if (!unit || n > SECONDS_MAX * NS_PER_SECOND / unit)
			return false;
		number += strspn(number, "0123456789");
		take_fraction(&number, unit, &part);
		ago += n * unit + part;
		if (ago > SECONDS_MAX * NS_PER_SECOND)
			return false;
	} while (*at);
	*out = ago < now_ns ? now_ns - ago : 0;
	return true;
}

/* "14:05", "14:05:30.5"; "24:00" is the day's end. */
static bool take_clock(const char **at, struct tm *tm, uint64_t *fraction_ns)
{
	uint64_t hour, minute, second = 0;

	*fraction_ns = 0;
	if (!window_take_number(at, 24, &hour) || !take_char(at, ':') ||
	    !window_take_number(at, 59, &minute))
		return false;
	if (take_char(at, ':') && (!window_take_number(at, 60, &second) ||
				   !take_fraction(at, NS_PER_SECOND, fraction_ns)))
		return false;
	if (hour == 24 && (minute || second || *fraction_ns))
		return false;
	tm->tm_hour = (int)hour;
	tm->tm_min = (int)minute;
	tm->tm_sec = (int)second;
	return true;
}

static bool take_date(const char **at, struct tm *tm)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	uint64_t year, month, day;

	if (!window_take_number(at, 2200, &year) || !take_char(at, '-') ||
	    !window_take_number(at, 12, &month) || !take_char(at, '-') ||
	    !window_take_number(at, 31, &day))
		return false;
	if (year < 1970 || !month || !day || (int)day > days[month - 1])
		return false;
	if (month == 2 && day == 29 && (year % 4 || (year % 100 == 0 && year % 400)))
		return false;
	tm->tm_year = (int)year - 1900;
	tm->tm_mon = (int)month - 1;
	tm->tm_mday = (int)day;
	return true;
}

/* "Z", "+01:00", "-0330", "+01": seconds east of Greenwich. */
static bool take_zone(const char **at, bool *has_zone, int64_t *east)
{
	bool is_west = **at == '-';
	uint64_t hours, minutes = 0;

	*east = 0;
	*has_zone = **at == 'Z' || **at == 'z' || **at == '+' || **at == '-';
	if (!*has_zone)
		return true;
	if (isalpha((unsigned char)*(*at)++))
		return true;
	if (!isdigit((unsigned char)(*at)[0]) || !isdigit((unsigned char)(*at)[1]))
		return false;
	hours = (uint64_t)((*at)[0] - '0') * 10 + (uint64_t)((*at)[1] - '0');
	*at += 2;
	take_char(at, ':');
	if (isdigit((unsigned char)**at) && !window_take_number(at, 59, &minutes))
		return false;
	*east = (int64_t)(hours * 3600 + minutes * 60) * (is_west ? -1 : 1);
	return hours <= 14;
}

static bool to_ns(struct tm *tm, bool has_zone, int64_t east, uint64_t fraction_ns, uint64_t *out)
{
	int64_t seconds;

	tm->tm_isdst = -1;
	seconds = has_zone ? (int64_t)timegm(tm) - east : (int64_t)mktime(tm);
	if (seconds < 0)
		return false;
	*out = (uint64_t)seconds * NS_PER_SECOND + fraction_ns;
	return true;
}

/* The day that a word or a date names, or the one that it is now; at its first moment. */
static bool take_day(const char **at, uint64_t now_ns, struct tm *tm)
{
	time_t now = (time_t)(now_ns / NS_PER_SECOND);
	struct tm today;

	if (!localtime_r(&now, &today))
		return false;
	*tm = (struct tm){ .tm_year = today.tm_year,
			   .tm_mon = today.tm_mon,
			   .tm_mday = today.tm_mday };
	if (window_take_word(at, "yesterday"))
		tm->tm_mday--;
	else if (!window_take_word(at, "today") && isdigit((unsigned char)**at) &&
		 (*at)[strspn(*at, "0123456789")] == '-')
		return take_date(at, tm);
	return true;
}

static bool parse_day(const char *text, uint64_t now_ns, uint64_t *out)
{
	const char *at = text;
	uint64_t fraction_ns = 0;
	bool has_zone;
	int64_t east;
	struct tm tm;

	if (!take_day(&at, now_ns, &tm))
		return false;
	if (at > text && *at) {
		if (*at != 'T' && *at != 't' && *at != ' ')
			return false;
		at++;
		at += strspn(at, " ");
		if (!*at)
			return false;
	}
	if (*at && !take_clock(&at, &tm, &fraction_ns))
		return false;
	at += strspn(at, " ");
	return take_zone(&at, &has_zone, &east) && !*at &&
	       to_ns(&tm, has_zone, east, fraction_ns, out);
}

static bool parse_epoch(const char *at, uint64_t *out)
{
	uint64_t seconds, fraction_ns;

	if (!window_take_number(&at, SECONDS_MAX, &seconds) ||
	    !take_fraction(&at, NS_PER_SECOND, &fraction_ns) || *at)
		return false;
	*out = seconds * NS_PER_SECOND + fraction_ns;
	return true;
}

int time_point_parse(const char *text, uint64_t now_ns, uint64_t *out_ns, struct error *err)
{
	uint64_t ns = now_ns;
	bool is_good;

	if (*text == '-')
		is_good = parse_ago(text + 1, now_ns, &ns);
	else if (*text == '@')
		is_good = parse_epoch(text + 1, &ns);
	else if (!strcasecmp(text, "now"))
		is_good = true;
	else
		is_good = *text && parse_day(text, now_ns, &ns);
	if (!is_good)
		return window_refuse(text, err);
	*out_ns = ns;
	return 0;
}

int time_range_parse(const char *text, uint64_t now_ns, struct time_window *out, struct error *err)
{
	const char *dots = strstr(text, "..");
	cleanup(free_at_exit) char *from = dots ? xstrndup(text, (size_t)(dots - text)) : NULL;
	struct time_window w = TIME_WINDOW_ALL;
	int r = 0;

	if (!dots || !strcmp(text, ".."))
		return error_set(err, -EINVAL, "'%s' is not a range of times; write FROM..TO",
				 text);
	if (*from)
		r = time_point_parse(from, now_ns, &w.from_ns, err);
	if (r >= 0 && dots[2])
		r = time_point_parse(dots + 2, now_ns, &w.to_ns, err);
	if (r < 0)
		return r;
	if (w.from_ns >= w.to_ns)
		return error_set(err, -EINVAL, "'%s' ends before it begins", text);
	*out = w;
	return 0;
}

void time_point_print(struct buf *out, uint64_t ns)
{
	time_t seconds = (time_t)(ns / NS_PER_SECOND);
	unsigned int ms = (unsigned int)(ns % NS_PER_SECOND / NS_PER_MS);
	char text[64];
	struct tm tm;

	if (!ns || ns == UINT64_MAX || !localtime_r(&seconds, &tm))
		return;
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	buf_str(out, text);
	if (ms)
		buf_printf(out, ".%03u", ms);
}

void time_window_print(struct buf *out, const struct time_window *w)
{
	if (w->to_ns == UINT64_MAX)
		buf_str(out, "since ");
	else if (!w->from_ns)
		buf_str(out, "until ");
	time_point_print(out, w->from_ns);
	if (w->from_ns && w->to_ns != UINT64_MAX)
		buf_str(out, " to ");
	time_point_print(out, w->to_ns);
}
