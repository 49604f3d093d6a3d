/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * --time: "START,STOP" in seconds of the recording's clock, either may be left out; "10%/2", the
 * second tenth; "10%-30%". Several with a comma (percentages) or a blank between them.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "script/script.h"

enum { AROUND_NS = 10000 /* --around: on both sides */ };

/* "12.5": nanoseconds, exactly. NULL if it is none. */
static const char *read_seconds(const char *at, uint64_t *ns)
{
	uint64_t seconds = 0, scale = NS_PER_SECOND / 10, rest = 0;
	const char *start = at;

	for (; isdigit((unsigned char)*at); at++) {
		if (seconds > UINT64_MAX / NS_PER_SECOND / 10 - 1)
			return NULL;
		seconds = seconds * 10 + (uint64_t)(*at - '0');
	}
	if (at == start)
		return NULL;
	if (*at == '.')
		for (at++; isdigit((unsigned char)*at); at++, scale /= 10)
			rest += (uint64_t)(*at - '0') * scale;
	*ns = seconds * NS_PER_SECOND + rest;
	return at;
}

/* "START,STOP", "START," or ",STOP", up to a blank or the end. */
static const char *read_span(const char *at, struct time_span *span)
{
	*span = (struct time_span){ 0, UINT64_MAX };
	if (*at == ',' && !isdigit((unsigned char)at[1]))
		return NULL;
	if (*at != ',' && !(at = read_seconds(at, &span->first_ns)))
		return NULL;
	if (*at++ != ',')
		return NULL;
	if (*at && !isspace((unsigned char)*at) && !(at = read_seconds(at, &span->last_ns)))
		return NULL;
	return span->first_ns <= span->last_ns ? at : NULL;
}

static const char *read_percent(const char *at, double *out)
{
	char *end;

	if (!isdigit((unsigned char)*at))
		return NULL;
	*out = strtod(at, &end) / 100;
	return *end == '%' && *out <= 1 ? end + 1 : NULL;
}

/* "10%/2" or "10%-30%", up to a comma, a blank or the end. */
static const char *read_share(const char *at, const struct time_span *whole, struct time_span *span)
{
	double total = (double)(whole->last_ns - whole->first_ns), from, to;
	char *end;

	at = read_percent(at, &from);
	if (!at)
		return NULL;
	if (*at == '/') {
		unsigned long n = isdigit((unsigned char)at[1]) ? strtoul(at + 1, &end, 10) : 0;

		if (!n || (double)(n - 1) * from >= 1 || from <= 0)
			return NULL;
		to = fmin((double)n * from, 1);
		from *= (double)(n - 1);
		at = end;
	} else if (*at++ != '-' || !(at = read_percent(at, &to)) || to < from) {
		return NULL;
	}
	span->first_ns = whole->first_ns + (uint64_t)llround(from * total);
	span->last_ns = whole->first_ns + (uint64_t)llround(to * total);
	return at;
}

bool script_time_is_share(const char *text)
{
	return strchr(text, '%');
}

int script_time_parse(struct script_filter *f, const char *text, const struct time_span *whole,
		      struct error *err)
{
	bool is_share = script_time_is_share(text);
	const char *at = text;
	struct time_span span;

	while (*at) {
		at = is_share ? read_share(at, whole, &span) : read_span(at, &span);
		if (!at || (*at && !isspace((unsigned char)*at) && *at != ','))
			break;
		/* What ends where the next one begins: a moment belongs to one. */
		if (f->spans.n)
			f->spans.data[f->spans.n - 1].last_ns -=
				f->spans.data[f->spans.n - 1].last_ns != 0;
		vec_push(&f->spans, span);
		while (isspace((unsigned char)*at) || (is_share && *at == ','))
			at++;
	}
	if (at && !*at && f->spans.n)
		return 0;
	return error_set(err, -EINVAL,
			 "--time '%s' is not START,STOP in seconds, nor shares such as 10%%/2 or "
			 "10%%-30%%",
			 text);
}

/* "10us", "1.5ms", "2": nanoseconds. NULL if it is none. */
static const char *read_duration(const char *at, uint64_t *ns)
{
	static const struct {
		const char *suffix;
		uint64_t a_second;
	} units[] = { { "ns", NS_PER_SECOND }, { "us", 1000000 }, { "ms", 1000 }, { "s", 1 } };

	at = read_seconds(at, ns);
	for (size_t i = 0; at && i < ARRAY_SIZE(units); i++) {
		if (strncmp(at, units[i].suffix, strlen(units[i].suffix)) != 0)
			continue;
		*ns /= units[i].a_second;
		return at + strlen(units[i].suffix);
	}
	return at;
}

int script_time_parse_around(struct script_filter *f, const char *text, struct error *err)
{
	uint64_t moment, reach = AROUND_NS;
	const char *at = read_seconds(text, &moment);

	if (at && *at == ',')
		at = read_duration(at + 1, &reach);
	if (!at || *at)
		return error_set(err, -EINVAL,
				 "--around '%s' is not TIME in seconds, nor TIME,SPAN with a span "
				 "such as 50us",
				 text);
	vec_push(&f->spans, ((struct time_span){ moment - MIN(reach, moment),
						 moment + MIN(reach, UINT64_MAX - moment) }));
	return 0;
}
