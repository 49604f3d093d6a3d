/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "counter/reason.h"
#include "counter/sources.h"
#include "record/recorder.h"

static void print_size(char *text, size_t size, uint64_t bytes)
{
	if (bytes < 10240)
		snprintf(text, size, "%" PRIu64 " bytes", bytes);
	else if (bytes < 10 << 20)
		snprintf(text, size, "%.1f KiB", (double)bytes / 1024);
	else
		snprintf(text, size, "%.1f MiB", (double)bytes / 1048576);
}

static void print_trace_summary(const struct record_summary *s, const struct recorder_result *r)
{
	char size[32], trace[32];

	print_size(size, sizeof(size), r->size_bytes);
	print_size(trace, sizeof(trace), r->aux_bytes);
	log_info("%s of trace in %.2f s, and %" PRIu64
		 " samples: %s, %s; assay itself used %.0f ms of CPU, %.1f MiB",
		 trace, (double)r->duration_ns / 1e9, r->counts.samples, s->output, size,
		 (double)r->own_cpu_ns / 1e6, (double)r->own_peak_bytes / 1048576);
	if (r->n_truncated)
		log_warning(
			"the trace was cut off %" PRIu64
			" time%s, because its buffer was full before assay could read it. A report "
			"shows the gaps. Larger buffers (-m,16M), user code alone (intel_pt//u) or "
			"an address filter (--filter) make gaps rarer",
			r->n_truncated, r->n_truncated == 1 ? "" : "s");
	if (r->disk_waited_ns)
		log_warning(
			"the disk was slower than the trace: for %.0f ms the memory for unwritten "
			"trace was full; write to a faster disk (-o), or trace less",
			(double)r->disk_waited_ns / 1e6);
}

static bool is_user_only(const struct counters *counters)
{
	bool is_user = true;

	vec_foreach (counters, c)
		is_user &= c->attr.exclude_kernel;
	return is_user;
}

/* The command ended before any event was worth a sample. */
static void tell_of_too_little(const struct counters *counters)
{
	bool is_time = true;

	vec_foreach (counters, c)
		is_time &= !strcmp(c->unit, "ns");
	if (is_time)
		log_info("the command used too little time for a sample; use a higher rate (-F) or "
			 "a longer run");
	else
		log_info(
			"the command had too few events of '%s' for a sample; use a smaller period "
			"(-c), a higher rate (-F) or a longer run",
			counters->data[0].name);
}

/* No recording ends without samples and without a reason. */
static void warn_of_none(const struct counters *counters)
{
	char setting[96];

	reason_put_setting(NULL, "perf_event_paranoid", setting, sizeof(setting));
	if (is_user_only(counters) && !sources_may_kernel(NULL))
		log_warning("there is no sample: only user mode was sampled (%s), and the profiled "
			    "processes did not run in it",
			    setting);
	else if (is_user_only(counters))
		log_warning("there is no sample: only user mode was sampled, and the profiled "
			    "processes did not run in it");
	else
		log_warning("there is no sample: the profiled processes had no events of '%s', or "
			    "too few for the rate (-F)",
			    counters->n ? counters->data[0].name : "the event");
}

static void print_summary(const struct record_summary *s, const struct recorder_result *r)
{
	char size[32];

	print_size(size, sizeof(size), r->size_bytes);
	log_info("%" PRIu64 " samples, %" PRIu64
		 " lost, in %.2f s: %s, %s; assay itself used %.0f ms "
		 "of CPU, %.1f MiB",
		 r->counts.samples, r->counts.lost, (double)r->duration_ns / 1e9, s->output, size,
		 (double)r->own_cpu_ns / 1e6, (double)r->own_peak_bytes / 1048576);
	if (r->unsampled_ns)
		log_warning(
			"the command used %.2f s of CPU time, but its samples stand for %.2f s. "
			"Threads that live shorter than a sampling period get no sample. Sample "
			"the whole machine (-a), or use a higher rate (-F)",
			(double)r->command_cpu_ns / 1e9,
			(double)(r->command_cpu_ns - r->unsampled_ns) / 1e9);
	else if (r->counts.lost || r->n_protected)
		return; /* that is the reason */
	else if (!r->counts.samples && !r->silent && !r->n_unsampled && r->end == END_COMMAND)
		tell_of_too_little(s->counters);
	else if (!r->counts.samples && !r->silent)
		warn_of_none(s->counters);
}

static void warn_of_silent(const struct counters *counters, uint64_t silent)
{
	for (size_t i = 0; i < counters->n && i < 64; i++)
		if (silent >> i & 1)
			log_warning("event '%s' counted nothing: the kernel accepts it, but this "
				    "processor, or this virtual machine, may not have it",
				    counters->data[i].name);
}

/* Where what is missing is a good part of all. */
static void warn_of_unsampled(const struct counters *counters, const struct recorder_result *r)
{
	if (r->n_unsampled > r->counts.samples / 3)
		log_warning(
			"'%s' counted events for %" PRIu64
			" more samples than there are. Threads that live shorter than a sampling "
			"period get no sample. Sample the whole machine (-a), or use a higher rate "
			"(-F)",
			counters->data[r->unsampled_counter].name, r->n_unsampled);
}

/* A few are late on every machine. */
static void warn_of_late(const struct counters *counters, const struct recorder_result *r)
{
	if (r->n_late <= r->counts.samples / 20 + 50)
		return;
	log_warning("%" PRIu64 " samples of '%s' were never taken, beside the %" PRIu64
		    " that were: the timer's interrupts came too late, as on a busy machine, or in "
		    "a virtual machine that waits for its host. Shares of functions remain good, "
		    "but the samples stand for too little CPU time",
		    r->n_late, counters->data[r->late_counter].name, r->counts.samples);
}

static void warn_of_protected(const struct recorder_result *r)
{
	log_warning("%" PRIu32 " process%s executed a program with other rights (%s: set-uid, "
		    "set-gid or file capabilities). The kernel ended the counters there, so the "
		    "rest of that work is not in the profile; root's 'assay record -a' has it",
		    r->n_protected, r->n_protected == 1 ? "" : "es", r->protected_comm);
}

void record_summary_print(const struct record_summary *s, const struct recorder_result *r)
{
	if (r->duration_ns && s->has_trace)
		print_trace_summary(s, r);
	else if (r->duration_ns && !s->is_program)
		print_summary(s, r);
	if (!s->has_trace)
		warn_of_silent(s->counters, r->silent);
	if (r->duration_ns && !s->has_trace && !s->is_program) {
		warn_of_unsampled(s->counters, r);
		warn_of_late(s->counters, r);
	}
	if (r->n_protected)
		warn_of_protected(r);
}
