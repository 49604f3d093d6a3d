/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/diff_events.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/log.h"
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

/* From this share on, a side is said to lack samples. */
#define MISSING_SHARE 0.01

static double missing_share(const struct profile *p)
{
	uint64_t missing = losses_of_kind(p->losses, LOSS_LOST) +
			   p->losses[LOSS_THROTTLED_SAMPLES] + p->losses[LOSS_UNSAMPLED];

	return missing ? (double)missing / (double)(p->n_stored + missing) : 0;
}

static bool has_rate(const struct counter_info *c)
{
	return c->freq_hz || c->count;
}

static void print_rate(struct buf *out, const struct counter_info *c)
{
	if (c->freq_hz)
		buf_printf(out, "%" PRIu64 " samples a second", c->freq_hz);
	else
		buf_printf(out, "a sample every %" PRIu64 " %s", c->count, c->unit);
}

void diff_events_compare(const struct profile *const profiles[2], const char *const names[2],
			 const uint32_t lanes[2])
{
	const struct counter_info *c[2];
	struct buf text = { 0 };

	for (int i = 0; i < 2; i++) {
		c[i] = &profiles[i]->session->info.counters[profiles[i]->lanes[lanes[i]].counter];
		if (missing_share(profiles[i]) >= MISSING_SHARE)
			log_warning("diff: %s: %.1f %% of its samples are missing, so it took more "
				    "time than the rules see",
				    names[i], missing_share(profiles[i]) * 100);
	}
	if ((c[0]->freq_hz == c[1]->freq_hz && c[0]->count == c[1]->count) || !has_rate(c[0]) ||
	    !has_rate(c[1]))
		return;
	buf_printf(&text, "%s has ", names[0]);
	print_rate(&text, c[0]);
	buf_printf(&text, ", and %s has ", names[1]);
	print_rate(&text, c[1]);
	log_warning("diff: %s. Sampling takes time, too: compare times of one rate",
		    buf_cstr(&text));
	buf_fini(&text);
}
