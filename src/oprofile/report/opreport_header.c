/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "counter/catalog/event_text.h"
#include "oprofile/report/opreport.h"
#include "oprofile/report/opreport_rows.h"
#include "store/session.h"

void opreport_percent(char *text, size_t size, double percent)
{
	if (percent == 0)
		snprintf(text, size, "%7s", "0");
	else if (fabs(percent) <= 0.001)
		snprintf(text, size, "%7.1e", percent);
	else
		snprintf(text, size, "%7.4f", percent);
	if (!strncmp(text, "100.", 4))
		text[strlen(text) - 1] = '\0';
}

/* ---- classes ---- */

static const struct {
	enum profile_key key;
	const char *title, *sentence;
} axes[] = {
	{ PROFILE_PROCESS, "tgid", "Processes with a thread group ID of" },
	{ PROFILE_THREAD, "tid", "Processes with a thread ID of" },
	{ PROFILE_CPU, "cpu", "Samples on CPU" },
};

/* The number that a lane has of it; -1: all. */
static int64_t axis_number(const struct profile *p, const struct profile_lane *lane,
			   enum profile_key key)
{
	uint32_t value = profile_lane_value(lane, key);

	if (value == NO_INDEX || (key == PROFILE_CPU && value == PROFILE_CPU_ALL))
		return -1;
	if (key == PROFILE_PROCESS)
		return p->processes.data[value].pid;
	return key == PROFILE_THREAD ? p->threads.data[value].tid : (int64_t)value;
}

static bool is_of_thread(const struct profile *p, const struct profile_lane *lane)
{
	return axis_number(p, lane, PROFILE_PROCESS) == axis_number(p, lane, PROFILE_THREAD);
}

/* Do the lanes differ in it? A process whose only thread has its number says nothing more. */
static bool is_axis(const struct profile *p, enum profile_key key)
{
	bool differs = false, are_threads = true;

	for (uint32_t i = 0; i < p->n_lanes; i++) {
		differs |= axis_number(p, &p->lanes[i], key) != axis_number(p, &p->lanes[0], key);
		are_threads &= is_of_thread(p, &p->lanes[i]);
	}
	return differs && (key != PROFILE_PROCESS || !are_threads);
}

static bool has_other_axis(const struct profile *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(axes); i++)
		if (is_axis(p, axes[i].key))
			return true;
	return false;
}

/* What samples that are not kept apart by it have. */
static void put_axis_value(const struct profile *p, enum profile_key key,
			   const struct profile_lane *lane, struct buf *out)
{
	int64_t n = axis_number(p, lane, key);

	if (n < 0)
		buf_str(out, "all");
	else
		buf_printf(out, "%" PRId64, n);
}

static void put_event_title(const struct profile *p, uint32_t lane, struct buf *out)
{
	const struct counter_info *c = &p->session->info.counters[p->lanes[lane].counter];

	buf_printf(out, "%s:%" PRIu64, c->name, c->count ? c->count : c->freq_hz);
	if (!c->count)
		buf_str(out, "Hz");
}

void opreport_lane_title(const struct profile *p, uint32_t lane, struct buf *out)
{
	size_t before = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(axes); i++) {
		if (!is_axis(p, axes[i].key))
			continue;
		buf_printf(out, "%s%s:", out->len > before ? "," : "", axes[i].title);
		put_axis_value(p, axes[i].key, &p->lanes[lane], out);
	}
	if (out->len > before && !is_axis(p, PROFILE_EVENT))
		return;
	buf_str(out, out->len > before ? "," : "");
	put_event_title(p, lane, out);
}

/* ---- the lines ---- */

static bool is_timer(const struct counter_info *c)
{
	return !strcmp(c->unit, "ns");
}

static void opreport_header_print_event(const struct profile *p, uint32_t lane, FILE *out)
{
	const struct session_info *info = &p->session->info;
	const struct counter_info *c = &info->counters[p->lanes[lane].counter];
	struct event_text text;

	if (is_timer(c)) {
		fputs("Profiling through timer interrupt\n", out);
		return;
	}
	event_text_find(NULL, info->cpu_model, c->name, p->lanes[lane].masks, &text);
	fprintf(out, "Counted %s events (%s) with a unit mask of 0x%02" PRIx64 " (%s)", c->name,
		text.help, p->lanes[lane].masks, text.mask);
	if (c->count)
		fprintf(out, " count %" PRIu64 "\n", c->count);
	else
		fprintf(out, " at %" PRIu64 " Hz\n", c->freq_hz);
}

static void print_classes(const struct profile *p, FILE *out)
{
	struct buf line = { 0 };

	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		line.len = 0;
		for (size_t i = 0; i < ARRAY_SIZE(axes); i++) {
			if (!is_axis(p, axes[i].key))
				continue;
			buf_printf(&line, "%s%s ", line.len ? ", " : "", axes[i].sentence);
			put_axis_value(p, axes[i].key, &p->lanes[lane], &line);
		}
		fprintf(out, "%s\n", buf_cstr(&line));
	}
	buf_fini(&line);
}

void opreport_print_header(const struct profile *p, FILE *out)
{
	const char *cpu = p->session->info.cpu_model;

	fprintf(out, "CPU: %s\n", *cpu ? cpu : "unknown");
	for (uint32_t lane = 0; lane < p->n_lanes; lane++) {
		bool is_told = false;

		for (uint32_t i = 0; i < lane; i++)
			is_told |= p->lanes[i].counter == p->lanes[lane].counter ||
				   (is_timer(&p->session->info.counters[p->lanes[i].counter]) &&
				    is_timer(&p->session->info.counters[p->lanes[lane].counter]));
		if (!is_told)
			opreport_header_print_event(p, lane, out);
	}
	if (has_other_axis(p))
		print_classes(p, out);
}
