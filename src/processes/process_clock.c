/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The clock of the samples, and the activities that it misses. */
#include <inttypes.h>
#include <string.h>

#include "processes/process_report.h"
#include "store/session.h"

enum clock_kind {
	CLOCK_TIMER,   /* cpu-clock, task-clock: an ordinary interrupt */
	CLOCK_COUNTER, /* of the processor, that runs with the work */
	CLOCK_EVENT,   /* something that happens: no clock at all */
};

static const struct counter_info *process_clock_counter_of(const struct process_report *r)
{
	uint32_t counter = r->head.profile->lanes[r->processes.lane].counter;

	return counter == NO_INDEX ? NULL : &r->head.profile->session->info.counters[counter];
}

/* Whether behind the name's colon is more than modifiers: the name of a tracepoint. */
static bool is_tracepoint(const char *name)
{
	const char *colon = strchr(name, ':');

	return colon && colon[1 + strspn(colon + 1, "ukhGHIpPDeW")] != '\0';
}

static enum clock_kind kind_of(const struct counter_info *c)
{
	static const char *const happenings[] = { "page-faults",      "faults",
						  "minor-faults",     "major-faults",
						  "context-switches", "cs",
						  "cpu-migrations",   "migrations",
						  "alignment-faults", "emulation-faults",
						  "cgroup-switches",  "off-cpu",
						  KERNEL_LOCK_EVENT };
	size_t len = strcspn(c->name, ":");

	if (!strcmp(c->unit, "ns") && !counter_is_wait(c))
		return CLOCK_TIMER;
	for (size_t i = 0; i < ARRAY_SIZE(happenings); i++)
		if (strlen(happenings[i]) == len && !strncmp(c->name, happenings[i], len))
			return CLOCK_EVENT;
	return is_tracepoint(c->name) ? CLOCK_EVENT : CLOCK_COUNTER;
}

void process_report_put_clock(const struct process_report *r, struct buf *out)
{
	static const char *const kinds[] = { [CLOCK_TIMER] = "a timer of the kernel",
					     [CLOCK_COUNTER] = "a counter of the processor",
					     [CLOCK_EVENT] = "an event, which is no clock" };
	const struct counter_info *c = process_clock_counter_of(r);

	if (!c) {
		buf_str(out, "not known");
		return;
	}
	buf_printf(out, "%s, %s", c->name, kinds[kind_of(c)]);
	if (c->freq_hz)
		buf_printf(out, ", %" PRIu64 " samples a second", c->freq_hz);
	else if (c->count)
		buf_printf(out, ", a sample every %" PRIu64 " %s", c->count, c->unit);
	if (r->processes.basis == TIME_RATE)
		buf_str(out, "; time is hits divided by that rate");
	if (r->processes.basis == TIME_NONE)
		buf_str(out, "; hits are no time");
}

void process_report_put_blind_spot(const struct process_report *r, struct buf *out)
{
	const struct counter_info *c = process_clock_counter_of(r);
	bool is_arm = !strcmp(r->head.profile->session->info.arch, "aarch64");

	switch (c ? kind_of(c) : CLOCK_EVENT) {
	case CLOCK_TIMER:
		buf_str(out, "no NMI: code with interrupts off, and so most of a hard interrupt's "
			     "handler, "
			     "is seen only at the place where interrupts come on again");
		return;
	case CLOCK_COUNTER:
		buf_str(out,
			is_arm ? "unless the kernel has pseudo-NMIs, code with interrupts off is "
				 "seen only where they come on again; "
			       : "sampled by NMI, so code with interrupts off is seen; ");
		buf_str(out, "a halted processor counts nothing, so idle time is not in the "
			     "samples");
		return;
	case CLOCK_EVENT:
		buf_str(out, "samples show the places of the event, not the use of time");
		return;
	}
}

bool process_report_has_cost(const struct process_report *r)
{
	const struct session *s = r->head.profile->session;

	return s->has_end &&
	       (!strcmp(s->info.collector, "BPF") || !strncmp(s->info.collector, "perf rings", 10));
}

/* Or no samples in the kernel that could have some. */
static bool has_kernel_names(const struct profile *p)
{
	bool has_kernel = false;

	for (uint32_t n = 1; n < p->nodes.n; n++) {
		const struct profile_function *f = &p->functions.data[p->nodes.data[n].function];

		if (p->images.data[f->image].image->kind != IMAGE_KERNEL)
			continue;
		if (f->symbol != NO_SYMBOL)
			return true;
		has_kernel = true;
	}
	return !has_kernel;
}

const char *process_report_contexts_note(const struct process_report *r)
{
	const struct profile *p = r->head.profile;
	const struct counter_info *c = process_clock_counter_of(r);

	if (!strcmp(p->session->info.stacks, "none"))
		return "recorded without call chains: interrupts count for the processes that "
		       "they interrupted";
	if (c && c->in_user && !c->in_kernel)
		return "only user code was sampled: the kernel, its interrupts and idle time are "
		       "missing";
	if (!has_kernel_names(p))
		return "the kernel has no names here: interrupts count for the processes that "
		       "they interrupted";
	if (p->losses[LOSS_NO_KERNEL])
		return "kernel addresses are hidden (kernel.kptr_restrict): interrupts count for "
		       "the processes that they interrupted";
	return "";
}
