/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * perf_event_open(2) fails with an errno that has many causes. Here it becomes a sentence. The
 * causes are those of the man page and of kernel/events/core.c (Linux 6.1 to 6.18).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "counter/counter.h"
#include "counter/reason.h"
#include "counter/sources.h"

struct refusal {
	const struct counter_sources *sources;
	const struct counter *counter;
	int code;
	char *text; /* the reason and the remedy */
	size_t size;
};

static bool is_hardware(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE ||
	       attr->type == PERF_TYPE_RAW;
}

/* One set of reasons for all commands: counter/reason.h. */
static void explain_permission(const struct refusal *r)
{
	struct reason_text text;

	reason_tell(r->sources, reason_of_refusal(r->sources, &r->counter->attr, r->code), &text);
	snprintf(r->text, r->size, "%s%s%s", text.reason, *text.remedy ? "; " : "", text.remedy);
}

static void explain_missing(const struct refusal *r)
{
	if (is_hardware(&r->counter->attr))
		snprintf(r->text, r->size,
			 "this processor, or this virtual machine, has no such counter; -e "
			 "cpu-clock works without one, 'assay doctor' explains more");
	else
		snprintf(r->text, r->size, "this kernel has no such event (any more)");
}

static void explain_busy(const struct refusal *r)
{
	int64_t watchdog = 0;
	bool is_known = sources_number(r->sources, "sys/kernel/nmi_watchdog", &watchdog);

	snprintf(r->text, r->size, "something else holds the counter%s",
		 watchdog   ? "; the NMI watchdog has one: 'sysctl kernel.nmi_watchdog=0' as root "
			      "frees it"
		 : is_known ? " (another profiler, or an exclusive event)"
			    : " (another profiler, the NMI watchdog, or an exclusive event)");
}

static void explain_files(const struct refusal *r)
{
	char limit[200];

	error_files_limit(limit, sizeof(limit));
	snprintf(r->text, r->size, "each counter takes a file on each CPU: %s", limit);
}

static void explain_unsupported(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->counter->attr;

	if (attr->branch_sample_type)
		snprintf(r->text, r->size,
			 "this processor, or this virtual machine, keeps no branch stacks, or none "
			 "of these kinds%s; leave out -b and -j%s",
			 attr->precise_ip ? ", or can't sample the event precisely" : "",
			 attr->precise_ip ? ", or the modifier p" : "");
	else if (attr->precise_ip)
		snprintf(r->text, r->size,
			 "this processor can't sample it precisely; leave out the modifier p");
	else
		snprintf(r->text, r->size,
			 "the counter can't interrupt, so it can be counted but not sampled%s",
			 is_hardware(attr) ? "; use -e cpu-clock" : "");
}

static void explain_invalid_branches(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->counter->attr;
	bool is_any = attr->branch_sample_type == PERF_SAMPLE_BRANCH_ANY; /* as -b */

	snprintf(r->text, r->size, "the kernel refuses the settings, most likely the %s%s: %s%s",
		 is_any ? "branch stacks" : "kinds of branches",
		 attr->precise_ip ? ", or the modifier p" : "",
		 is_any ? "leave out -b and -j" : "try -b",
		 attr->precise_ip ? ", or leave out the modifier p" : "");
}

static void explain_invalid(const struct refusal *r)
{
	const struct perf_event_attr *attr = &r->counter->attr;
	uint64_t max = sources_max_rate(r->sources);

	if (attr->freq && max && attr->sample_freq > max)
		snprintf(r->text, r->size,
			 "%" PRIu64 " Hz is above kernel.perf_event_max_sample_rate, which is now "
			 "%" PRIu64,
			 (uint64_t)attr->sample_freq, max);
	else if (attr->branch_sample_type)
		explain_invalid_branches(r);
	else if (attr->precise_ip)
		snprintf(r->text, r->size,
			 "the kernel refuses the settings, most likely the modifier p, which this "
			 "event can't have here");
	else if (attr->type < PERF_TYPE_MAX && !is_hardware(attr))
		snprintf(r->text, r->size,
			 "the kernel refuses the settings: this event can't be sampled, or not "
			 "in the requested mode");
	else
		snprintf(r->text, r->size,
			 "the kernel refuses the settings: this PMU has no such event code, can't "
			 "sample it, or can't tell user from kernel mode");
}

#define SAYS(name, sentence)                                  \
	static void name(const struct refusal *r)             \
	{                                                     \
		snprintf(r->text, r->size, "%s", (sentence)); \
	}
SAYS(explain_gone, "there is no such process (any more)")
SAYS(explain_no_device, "this CPU does not have it, or is offline")
SAYS(explain_space, "all hardware breakpoints are in use")
SAYS(explain_old, "the kernel is older than this event's settings need")
SAYS(explain_overflow, "the call chain is longer than kernel.perf_event_max_stack allows")
SAYS(explain_memory, "the kernel has no memory for it")

struct cause {
	int code;
	void (*explain)(const struct refusal *r);
};
static const struct cause causes[] = {
	{ EACCES, explain_permission },
	{ EPERM, explain_permission },
	{ ENOENT, explain_missing },
	{ ENXIO, explain_missing },
	{ EBUSY, explain_busy },
	{ EMFILE, explain_files },
	{ ENFILE, explain_files },
	{ ENOSYS, explain_permission },
	{ EOPNOTSUPP, explain_unsupported },
	{ EINVAL, explain_invalid },
	{ ESRCH, explain_gone },
	{ ENODEV, explain_no_device },
	{ ENOSPC, explain_space },
	{ E2BIG, explain_old },
	{ EOVERFLOW, explain_overflow },
	{ ENOMEM, explain_memory },
};

int counter_explain(const struct counter_sources *sources, const struct counter *counter, int code,
		    struct error *err)
{
	char text[704] = "";
	struct refusal r = { sources, counter, code, text, sizeof(text) };

	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		if (causes[i].code == -code)
			causes[i].explain(&r);
	if (!*text)
		return error_errno(err, code, "event '%s' can't be opened", counter->name);
	/* ENOENT's "No such file or directory" would lead astray; its name is for searching. */
	return error_set(err, code, "event '%s' can't be opened (%s): %s", counter->name,
			 strerrorname_np(-code), text);
}

/* "{cycles:u,instructions:u}" */
static void print_group(const struct counters *counters, uint32_t group, struct buf *out)
{
	const char *before = "{";

	vec_foreach (counters, c) {
		if (c->group != group)
			continue;
		buf_printf(out, "%s%s", before, c->name);
		before = ",";
	}
	buf_str(out, "}");
}

int counter_explain_group(const struct counters *counters, size_t at, int code, struct error *err)
{
	const struct counter *c = &counters->data[at];
	struct buf group = { 0 };

	print_group(counters, c->group, &group);
	error_set(err, code,
		  "group '%s' can't be opened (%s): its events don't fit at once, because there "
		  "are too few counters, or because they belong to different PMUs. '%s' is the "
		  "first without a counter, although it has one alone. Put fewer events between "
		  "the braces",
		  buf_cstr(&group), strerrorname_np(-code), c->name);
	buf_fini(&group);
	return code;
}
