/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time ranges as people write them: "-2h", "yesterday 14:00", "2026-11-20 14:05".
 *
 * Times are nanoseconds of CLOCK_REALTIME. A time without a zone is local time ($TZ).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;
struct buf;

struct time_window {
	uint64_t from_ns, to_ns; /* `to` is not included; 0 and UINT64_MAX are open ends */
};

#define TIME_WINDOW_ALL ((struct time_window){ 0, UINT64_MAX })

/* The forms that time_point_parse() takes, for messages and help. */
#define TIME_POINT_FORMS                                                      \
	"-2h (ago; also -90s, -5m, -1h30m, -3d, -1w), now, today, "           \
	"yesterday 14:00, 14:05, 2026-11-20, '2026-11-20 14:05:30' (local), " \
	"2026-11-20T14:05:30Z or …+01:00, @1795183530 (seconds since 1970)"

/* One point of time; -EINVAL with the forms that there are. */
int time_point_parse(const char *text, uint64_t now_ns, uint64_t *out_ns, struct error *err);

/* "FROM..TO", either of which may be left out. -EINVAL also where it has no length. */
int time_range_parse(const char *text, uint64_t now_ns, struct time_window *out, struct error *err);

/* "2026-11-20 14:05:30", local, with milliseconds where there are any; "" for an open end. */
void time_point_print(struct buf *out, uint64_t ns);

/* "2026-11-20 14:00:00 to 2026-11-20 15:00:00", "until …", "since …". */
void time_window_print(struct buf *out, const struct time_window *w);
