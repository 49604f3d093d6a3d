/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_events.h"

#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "profile/profile.h"
#include "store/session.h"

const char *diff_event_name(const struct profile *p, uint32_t lane)
{
	return p->session->info.counters[p->lanes[lane].counter].name;
}

bool diff_event_counts_time(const struct profile *p, uint32_t lane)
{
	return !strcmp(p->session->info.counters[p->lanes[lane].counter].unit, "ns");
}

/* A tracepoint has a colon, too: "sched:sched_switch". */
static size_t length_without_modifiers(const char *name)
{
	const char *colon = strrchr(name, ':');

	return colon && !colon[1 + strspn(colon + 1, "ukhGHIpPSDeWb")] ? (size_t)(colon - name)
								       : strlen(name);
}

/* What waits took is no CPU time. */
static bool is_clock(const struct profile *p, uint32_t lane)
{
	return diff_event_counts_time(p, lane) && !strstr(diff_event_name(p, lane), "off");
}

static bool is_same_event(const struct profile *const p[2], const uint32_t lanes[2])
{
	return !strcmp(diff_event_name(p[0], lanes[0]), diff_event_name(p[1], lanes[1]));
}

static bool has_same_base(const struct profile *const p[2], const uint32_t lanes[2])
{
	const char *a = diff_event_name(p[0], lanes[0]), *b = diff_event_name(p[1], lanes[1]);
	size_t n = length_without_modifiers(a);

	return n == length_without_modifiers(b) && !strncmp(a, b, n);
}

static bool are_clocks(const struct profile *const p[2], const uint32_t lanes[2])
{
	return is_clock(p[0], lanes[0]) && is_clock(p[1], lanes[1]);
}

static void print_events(struct buf *out, const struct profile *p)
{
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (p->lanes[lane].total.samples)
			buf_printf(out, " %s", diff_event_name(p, lane));
}

static int refuse_events(const struct profile *const p[2], const char *const names[2],
			 struct error *err)
{
	struct buf text = { 0 };
	int r;

	buf_printf(&text, "no event of %s compares with one of %s: the one has", names[0],
		   names[1]);
	print_events(&text, p[0]);
	buf_str(&text, ", the other");
	print_events(&text, p[1]);
	r = error_set(err, -EINVAL, "%s", buf_cstr(&text));
	buf_fini(&text);
	return r;
}

int diff_events_match(const struct profile *const p[2], const char *const names[2],
		      uint32_t lanes[2], bool *is_same, struct error *err)
{
	static bool (*const pairs[])(const struct profile *const p[2],
				     const uint32_t lanes[2]) = { is_same_event, has_same_base,
								  are_clocks };

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		for (lanes[0] = 0; lanes[0] < p[0]->n_lanes; lanes[0]++)
			for (lanes[1] = 0; lanes[1] < p[1]->n_lanes; lanes[1]++) {
				*is_same = pairs[i] == is_same_event;
				if (pairs[i](p, lanes) && p[0]->lanes[lanes[0]].total.samples &&
				    p[1]->lanes[lanes[1]].total.samples)
					return 0;
			}
	return refuse_events(p, names, err);
}
