/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "cli/options.h"
#include "counter/attr_text.h"
#include "counter/intel_pt.h"
#include "counter/sources.h"

enum {
	USUAL_SAMPLE = 4096, /* of --aux-sample */
	PSB_NEAR = 256,      /* a PSB may come so much later than its period */
};

static const struct counter_sources sources;

/* Sizes. */

static int parse_size(char letter, const char *name, const char *text, double least, double most,
		      uint64_t *out, struct error *err)
{
	const struct option_spec row = { letter, name, "BYTES", OPT_SIZE, 0,
					 NULL,   "",   NULL,    least,    most };

	return option_set(&row, text, out, err);
}

/* Beside a comma, numbers without a unit are pages, as perf has it. */
static int parse_pages(const char *text, uint64_t *out, struct error *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	int e;

	if (!*text)
		return 0;
	if (text[strspn(text, "0123456789")])
		return parse_size('m', "ring-size", text, 1, 1099511627776.0, out, err);
	e = parse_size('m', "ring-size", text, 1, 268435456, out, err);
	*out *= page;
	return e;
}

/* Parses a size in bytes. perf's -m is in pages: refuses a small number, and names its bytes. */
static int parse_ring_bytes(const char *text, uint64_t *out, struct error *err)
{
	uint64_t n = strtoull(text, NULL, 10), page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (n && n < 4096 && !text[strspn(text, "0123456789")])
		return error_set(err, -EINVAL,
				 "-m %s: a ring of %s bytes is too small; %s pages are %" PRIu64
				 "k",
				 text, text, text, n * page / 1024);
	return parse_size('m', "ring-size", text, 4096, 1073741824, out, err);
}

static int parse_sizes(const char *text, struct trace_plan *plan, struct error *err)
{
	const char *comma = text ? strchr(text, ',') : NULL;
	cleanup(free_at_exit) char *first = NULL;
	int e;

	if (!text)
		return 0;
	if (!comma)
		return parse_ring_bytes(text, &plan->ring_bytes, err);
	first = xstrndup(text, (size_t)(comma - text));
	e = parse_pages(first, &plan->ring_bytes, err);
	return e < 0 ? e : parse_pages(comma + 1, &plan->aux_bytes, err);
}

/* -S[e][SIZE] */
static int parse_snapshot(const char *text, struct trace_plan *plan, struct error *err)
{
	char *end;

	plan->mode = AUX_SNAPSHOTS;
	plan->snapshot_at_end = *text == 'e';
	text += *text == 'e';
	if (!*text)
		return 0;
	if (strncmp(text, "0x", 2) != 0)
		return parse_size('S', "snapshot", text, 1, 1099511627776.0, &plan->snapshot_bytes,
				  err);
	plan->snapshot_bytes = strtoull(text, &end, 16);
	if (*end || !plan->snapshot_bytes || plan->snapshot_bytes >> 40)
		return error_set(err, -EINVAL, "-S '%s' is not a size in bytes", text);
	return 0;
}

/* Groups. */

static bool wants_trace(const struct counter *c)
{
	return c->attr.aux_sample_size || c->attr.aux_output;
}

static int find_trace(const struct counters *counters, size_t *at, struct error *err)
{
	size_t n = 0;

	for (size_t i = 0; i < counters->n; i++) {
		if (!counters->data[i].is_trace)
			continue;
		*at = i;
		n++;
	}
	return n > 1 ? error_set(err, -EINVAL, "There may be only one " INTEL_PT " event") : (int)n;
}

/* Which counters are of the trace's group: those in its braces, those that ask for its bytes. */
static void mark_members(const struct counters *counters, size_t trace, bool takes_all, bool *is_in)
{
	uint32_t group = counters->data[trace].group;

	for (size_t i = 0; i < counters->n; i++) {
		const struct counter *c = &counters->data[i];

		is_in[i] = i == trace || (group && c->group == group) ||
			   (!c->group && wants_trace(c)) || (!group && !c->group && takes_all);
	}
}

/* The trace first, as it leads its group; then that group, then the others as they stood. */
static void reorder(struct counters *counters, size_t trace, const bool *is_in)
{
	struct counter *old = xcalloc(counters->n, sizeof(*old));
	uint32_t *place = xcalloc(counters->n, sizeof(*place));
	size_t n = 0, n_group;

	memcpy(old, counters->data, counters->n * sizeof(*old));
	place[trace] = (uint32_t)n++;
	for (size_t i = 0; i < counters->n; i++)
		if (is_in[i] && i != trace)
			place[i] = (uint32_t)n++;
	n_group = n;
	for (size_t i = 0; i < counters->n; i++)
		if (!is_in[i])
			place[i] = (uint32_t)n++;
	for (size_t i = 0; i < counters->n; i++) {
		struct counter *c = &counters->data[place[i]];

		*c = old[i];
		if (is_in[i])
			c->group = n_group > 1;
		else if (c->group)
			c->group = place[c->group - 1] + 1;
	}
	free(old);
	free(place);
}

static int check_members(const struct counters *counters, const bool *is_in, struct error *err)
{
	for (size_t i = 0; i < counters->n; i++) {
		const struct counter *c = &counters->data[i];

		if (c->is_trace && wants_trace(c))
			return error_set(err, -EINVAL,
					 "event '%s' is the trace itself: aux-sample-size and "
					 "aux-output are for the events beside it",
					 c->name);
		if (wants_trace(c) && !is_in[i])
			return error_set(err, -EINVAL,
					 "event '%s' needs the trace's bytes, but its group has "
					 "no trace: write {" INTEL_PT "//u,%s}",
					 c->name, c->name);
		if (c->attr.aux_output && !c->attr.precise_ip)
			return error_set(
				err, -EINVAL,
				"event '%s': aux-output sends PEBS records into the trace: "
				"it needs a precise event (modifier p, pp or ppp)",
				c->name);
	}
	return 0;
}

/* Modes. */

static int plan_samples(struct counters *counters, const bool *is_in, uint64_t bytes,
			struct trace_plan *plan, struct error *err)
{
	uint32_t n = 0;

	for (size_t i = 0; i < counters->n; i++) {
		struct counter *c = &counters->data[i];

		if (bytes && is_in[i] && !c->is_trace && !wants_trace(c))
			c->attr.aux_sample_size = (uint32_t)bytes;
		n += c->attr.aux_sample_size > 0;
	}
	if (bytes && !n)
		return error_set(err, -EINVAL,
				 "--aux-sample puts pieces of the trace into the samples of other "
				 "events: give one, as -e '{" INTEL_PT "//u,branch-misses:u}'");
	if (!n)
		return 0;
	if (plan->mode == AUX_SNAPSHOTS)
		return error_set(err, -EINVAL,
				 "-S and --aux-sample (or aux-sample-size) exclude each other: a "
				 "trace is kept whole, in snapshots or in samples");
	plan->mode = AUX_SAMPLES;
	return 0;
}

/* Context switches. */

static bool has_switch_records(void)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_DUMMY,
					.exclude_kernel = 1,
					.context_switch = 1 };
	int fd = sources_open(&sources, &attr, 0, -1);

	if (fd >= 0)
		close(fd);
	return fd != -EINVAL;
}

/*
 * Kernels before 4.3 have no record of a context switch. There, the scheduler's tracepoint shows
 * which thread a CPU's trace belongs to. It needs time in the trace, and permission.
 */
static void add_switches(struct counters *counters)
{
	uint64_t tsc = intel_pt_bits(&sources, "tsc");
	struct counter_rate rate = { .count = 1 };
	struct error why = { 0 };
	size_t n = counters->n;

	if (!(counters->data[0].attr.config & tsc) || has_switch_records())
		return;
	if (!sources_perfmon(&sources) && sources_paranoid(&sources) >= 0)
		snprintf(why.text, sizeof(why.text),
			 "kernel.perf_event_paranoid is %d, and -1 would permit it",
			 sources_paranoid(&sources));
	else
		counter_parse(&sources, "sched:sched_switch", &rate, counters, &why);
	if (counters->n == n) {
		log_warning(
			"this kernel has no records of context switches, and sched:sched_switch "
			"can't "
			"be used in their place (%s): a trace of several processes will be mixed",
			why.text);
		return;
	}
	counters->data[n].of_all_threads = true;
	counters->data[n].attr.exclude_guest = 1;
}

static int refuse_without_trace(const struct trace_options *o, const struct counters *counters,
				struct error *err)
{
	const char *option = o->snapshot                         ? "-S"
			     : o->aux_sample                     ? "--aux-sample"
			     : o->per_thread                     ? "--per-thread"
			     : o->sizes && strchr(o->sizes, ',') ? "-m with a comma"
								 : NULL;

	for (size_t i = 0; i < counters->n && !option; i++)
		option = wants_trace(&counters->data[i]) ? counters->data[i].name : NULL;
	return option ? error_set(err, -EINVAL,
				  "%s is for a hardware trace: add -e " INTEL_PT "//u", option)
		      : 0;
}

int trace_prepare(const struct trace_options *o, struct counters *counters, struct trace_plan *out,
		  struct error *err)
{
	cleanup(free_at_exit) bool *is_in = xcalloc(counters->n + 1, sizeof(*is_in));
	uint64_t sample = 0;
	size_t at = 0;
	int e = parse_sizes(o->sizes, out, err);

	if (e < 0 || (e = find_trace(counters, &at, err)) < 0)
		return e;
	if (!e)
		return refuse_without_trace(o, counters, err);
	out->has_trace = true;
	if (o->aux_sample)
		sample = USUAL_SAMPLE;
	if ((o->snapshot && (e = parse_snapshot(o->snapshot, out, err)) < 0) ||
	    (o->aux_sample && *o->aux_sample &&
	     (e = parse_size(0, "aux-sample", o->aux_sample, 1, AUX_SAMPLE_MAX, &sample, err)) < 0))
		return e;
	mark_members(counters, at, o->aux_sample, is_in);
	if ((e = check_members(counters, is_in, err)) < 0 ||
	    (e = plan_samples(counters, is_in, sample, out, err)) < 0)
		return e;
	reorder(counters, at, is_in);
	if (out->mode == AUX_SAMPLES)
		intel_pt_for_samples(&sources, &counters->data[0]);
	if (!o->per_thread)
		add_switches(counters);
	return 0;
}

/* ---- warnings ---- */

static void warn_of_psb(const char *what, uint64_t size, const struct counters *counters)
{
	uint64_t psb = intel_pt_psb_bytes(&sources, &counters->data[0]);

	if (psb && size <= psb + PSB_NEAR)
		log_warning("Intel PT %s size (%" PRIu64
			    ") may be too small for PSB period (%" PRIu64 ")",
			    what, size, psb);
}

void trace_tell_sizes(const struct trace_plan *plan, const struct counters *counters,
		      bool is_very_verbose)
{
	struct aux_sizes sizes = { plan->ring_bytes, plan->aux_bytes, plan->snapshot_bytes };
	uint64_t smallest = UINT64_MAX, largest = 0;

	for (size_t i = 0; i < counters->n; i++) {
		uint64_t bytes = counters->data[i].attr.aux_sample_size;

		smallest = bytes ? MIN(smallest, bytes) : smallest;
		largest = MAX(largest, bytes);
	}
	if (aux_choose_sizes(plan->mode, aux_is_privileged(&sources), largest, &sizes, NULL) < 0)
		return; /* the recorder tells */
	if (is_very_verbose && plan->mode == AUX_SNAPSHOTS)
		fprintf(stderr, "Intel PT snapshot size: %" PRIu64 "\n", sizes.snapshot_bytes);
	if (is_very_verbose && plan->mode == AUX_SAMPLES)
		fprintf(stderr,
			"Intel PT min. sample size: %" PRIu64 " max. sample size: %" PRIu64 "\n",
			smallest, largest);
	if (plan->mode == AUX_SNAPSHOTS)
		warn_of_psb("snapshot", sizes.snapshot_bytes, counters);
	else if (plan->mode == AUX_SAMPLES)
		warn_of_psb("sample", smallest, counters);
}

/* -vv */

static int show_open(void *context, struct perf_event_attr *attr, int pid, int cpu, int group_fd,
		     unsigned long flags)
{
	static struct perf_event_attr last;
	struct buf text = { 0 };
	int fd;

	if (memcmp(&last, attr, sizeof(last)) != 0)
		attr_text(attr, &text);
	last = *attr;
	attr_text_open(pid, cpu, group_fd, flags, &text);
	fd = perf_system.open(context, attr, pid, cpu, group_fd, flags);
	fprintf(stderr, "%s", buf_cstr(&text));
	if (fd < 0)
		fprintf(stderr, ": %s\n", strerror(-fd));
	else
		fprintf(stderr, "\n");
	buf_fini(&text);
	return fd;
}

static int show_control(void *context, int fd, unsigned long request, void *arg)
{
	return perf_system.control(context, fd, request, arg);
}

static void *show_map(void *context, int fd, size_t size)
{
	static bool was_shown;

	if (!was_shown)
		fprintf(stderr, "mmap length %zu\n", size);
	was_shown = true;
	return perf_system.map(context, fd, size);
}

static void *show_map_aux(void *context, int fd, size_t size, uint64_t offset, bool is_writable)
{
	static bool was_shown;

	if (!was_shown)
		fprintf(stderr, "auxtrace mmap length %zu\n", size);
	was_shown = true;
	return perf_system.map_aux(context, fd, size, offset, is_writable);
}

static void show_unmap(void *context, void *base, size_t size)
{
	perf_system.unmap(context, base, size);
}

static int show_read(void *context, int fd, uint64_t values[3])
{
	return perf_system.read(context, fd, values);
}

static void show_close(void *context, int fd)
{
	perf_system.close(context, fd);
}

const struct perf_backend shown_backend = {
	.open = show_open,
	.control = show_control,
	.map = show_map,
	.unmap = show_unmap,
	.read = show_read,
	.close = show_close,
	.map_aux = show_map_aux,
};
