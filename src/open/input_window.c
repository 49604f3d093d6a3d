/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --since, --until, --at and --window. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/error.h"
#include "open/input.h"

#define AT_LENGTH_S 60

const char input_times_help[] =
	"*--since*, *--until* and *--at* take\n\n*-2h*, *-90s*, *-1h30m*, *-3d*, *-1w*\n\tthis "
	"long ago\n\n*now*, *today*, *yesterday*, *today 9:30*, *yesterday 14:00*, *14:05*\n\tof "
	"the calendar here; a day without a time begins at midnight\n\n*2026-11-20*, *2026-11-20 "
	"14:05:30*\n\tlocal time\n\n*2026-11-20T14:05:30Z*, *2026-11-20T14:05+01:00*\n\ttime of "
	"a zone\n\n*@1795183530*\n\tseconds since 1970\n\nThey work on every session that tells "
	"when it began. Samples whose time is known count if they are in the window, to the "
	"microsecond. Others are kept in blocks of a second. In parts that a daemon has "
	"merged, blocks last a minute, an hour or a day. A block counts as a whole if its middle "
	"is in the window, or if the window is in the block. The header shows how long blocks "
	"can be, and the time of the shown samples. *time:* counts from the window's start.";

static int parse_bound(const char *option, const char *text, uint64_t now_ns, uint64_t *out,
		       struct error *err)
{
	int r = text ? time_point_parse(text, now_ns, out, err) : 0;

	return r < 0 ? error_wrap(err, r, "%s", option) : 0;
}

static int around(const struct window_args *args, uint64_t now_ns, struct time_window *w,
		  struct error *err)
{
	double length_s = args->length_s > 0 ? args->length_s : AT_LENGTH_S;
	uint64_t half_ns = (uint64_t)(length_s / 2 * (double)NS_PER_SECOND), at_ns = 0;
	int r = parse_bound("--at", args->at, now_ns, &at_ns, err);

	if (r < 0)
		return r;
	if (args->since || args->until)
		return error_set(err, -EINVAL, "--at does not go with --since and --until");
	w->from_ns = at_ns > half_ns ? at_ns - half_ns : 0;
	w->to_ns = at_ns + MAX(half_ns, (uint64_t)1);
	return 0;
}

int input_window(const struct window_args *args, struct query *q, struct error *err)
{
	struct time_window w = TIME_WINDOW_ALL;
	uint64_t now_ns = clock_wall_ns();
	int r;

	if (!args->since && !args->until && !args->at)
		return args->length_s > 0 ? error_set(err, -EINVAL,
						      "--window needs --at, the time in its "
						      "middle")
					  : 0;
	if (args->at) {
		r = around(args, now_ns, &w, err);
	} else {
		r = parse_bound("--since", args->since, now_ns, &w.from_ns, err);
		if (r >= 0)
			r = parse_bound("--until", args->until, now_ns, &w.to_ns, err);
		if (r >= 0 && args->length_s > 0)
			r = error_set(err, -EINVAL, "--window goes with --at");
	}
	if (r >= 0 && w.from_ns >= w.to_ns)
		r = error_set(err, -EINVAL, "--since %s --until %s: ends before it begins",
			      args->since, args->until);
	if (r < 0)
		return r;
	q->window = w;
	q->has_window = true;
	return 0;
}

/* From TIME on, or around it, for as long as w is. */
static int move_window(const char *text, bool is_around, uint64_t now_ns,
		       const struct time_window *w, struct time_window *out, struct error *err)
{
	uint64_t length_ns = w->to_ns - w->from_ns, at_ns = 0;
	int r = time_point_parse(text, now_ns, &at_ns, err);

	if (r < 0)
		return r;
	if (!w->from_ns)
		return error_set(err, -EINVAL,
				 "'%s' is a time, but the window to compare with has no beginning: "
				 "add --since, or write FROM..TO",
				 text);
	if (is_around)
		at_ns -= MIN(at_ns, length_ns / 2);
	*out = (struct time_window){ at_ns, at_ns + length_ns };
	return 0;
}

int input_window_against(const char *text, const char *at, struct query *like, struct query *out,
			 struct error *err)
{
	uint64_t now_ns = clock_wall_ns();
	struct time_window w;
	int r;

	if (strstr(text, "..")) {
		r = time_range_parse(text, now_ns, &w, err);
	} else {
		if (!like->has_window)
			return error_set(
				err, -EINVAL,
				"--against %s: the length of time is missing; add --since, "
				"--until or --at",
				text);
		like->window.to_ns = MIN(like->window.to_ns, MAX(now_ns, like->window.from_ns + 1));
		r = move_window(text, at != NULL, now_ns, &like->window, &w, err);
	}
	if (r < 0)
		return error_wrap(err, r, "--against");
	out->window = w;
	out->has_window = true;
	return 0;
}
