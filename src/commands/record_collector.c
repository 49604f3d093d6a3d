/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_collector.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "collect/sampler.h"
#include "collect/sampler_support.h"
#include "commands/record_target.h"
#include "config.h"
#include "counter/reason.h"
#include "counter/sources.h"
#include "record/collector.h"
#include "record/interpreter.h"
#include "record/recorder.h"
#include "record/steering.h"

/* Of the command, or of the processes: one with an interpreter counts first. None for -a. */
static void find_interpreters(struct record_setup *s)
{
	struct interpreter *runs = &s->interpreters.runs;
	bool is_go = false;

	if (record_is_by_cpu(s))
		return;
	if (!s->pids.n && !s->tids.n) {
		interpreters_of_command(s->argv, &s->interpreters);
		return;
	}
	for (size_t i = 0; i < s->pids.n + s->tids.n && !runs->language; i++) {
		*runs = interpreter_of_process("/proc", i < s->pids.n
								? s->pids.data[i]
								: s->tids.data[i - s->pids.n]);
		is_go |= runs->is_go;
	}
	runs->is_go = is_go;
}

static bool is_any(struct interpreter found)
{
	return found.language || found.is_go;
}

/*
 * Copied stacks come by the rings alone. Of what is not the whole machine, only interpreters and Go
 * are for the sampler, as it alone sees all of their frames.
 */
static bool is_for_sampler(const struct record_setup *s)
{
	if (record_is_by_cpu(s))
		return counters_fit_sampler(&s->counters) &&
		       strcmp(s->args.call_graph, "dwarf") != 0;
	return (is_any(s->interpreters.runs) || is_any(s->interpreters.may_run)) &&
	       counters_n_for_sampler(&s->counters) && s->counters.n <= SAMPLER_EVENTS_MAX &&
	       !strcmp(s->args.call_graph, "best");
}

#define PYTHON_WITH_TRAMPOLINE (3 << 8 | 12)

/* Whether the target's Python may have a perf trampoline: an unknown version may. */
static bool may_have_trampoline(const struct record_setup *s)
{
	const struct interpreter *runs = &s->interpreters.runs;

	return runs->language == LANGUAGE_PYTHON &&
	       (!runs->version || runs->version >= PYTHON_WITH_TRAMPOLINE);
}

/* The session's note says why the functions of the target's language are missing. */
static void record_note_missing(struct record_setup *s, enum language language, const char *why)
{
	bool has_trampoline = may_have_trampoline(s) && s->operands.n && !s->args.python_trampoline;
	size_t n = strlen(s->note);

	snprintf(s->note + n, sizeof(s->note) - n, "%s%s functions are missing: %s", n ? "; " : "",
		 language_names[language], why);
	log_info("%s functions are missing: %s%s", language_names[language], why,
		 has_trampoline ? "; with --python-trampoline, Python (3.12 and newer) names them"
				: "");
}

/* The same if Python's trampoline is on. */
static void record_note_trampoline(struct record_setup *s, const char *why)
{
	static const char text[] =
		"Python functions are named by its perf trampoline (3.12 and newer)";
	size_t n = strlen(s->note);
	char older[256];

	if (!may_have_trampoline(s)) {
		snprintf(older, sizeof(older),
			 "%s, and a Python before 3.12 has no perf trampoline", why);
		record_note_missing(s, LANGUAGE_PYTHON, older);
		return;
	}
	snprintf(s->note + n, sizeof(s->note) - n, "%s%s: %s", n ? "; " : "", text, why);
	log_info("%s: %s", text, why);
}

/* Why the sampler does not see the functions of the target's language, though it may be loaded. */
static void record_tell_unfit(struct record_setup *s)
{
	const struct counter *for_rings = counters_find_for_rings(&s->counters);
	char why[160];

	if (record_is_by_cpu(s) || !s->interpreters.runs.language)
		return;
	if (strcmp(s->args.call_graph, "best") != 0)
		snprintf(why, sizeof(why), "--call-graph=%s follows native frames alone",
			 s->args.call_graph);
	else if (!s->counters.n)
		snprintf(why, sizeof(why), "stacks of allocations have native frames alone");
	else if (!counters_n_for_sampler(&s->counters))
		snprintf(why, sizeof(why), "samples of '%.64s' come through rings",
			 for_rings->name);
	else
		snprintf(why, sizeof(why), "a BPF program takes at most %u events",
			 SAMPLER_EVENTS_MAX);
	if (s->args.python_trampoline && s->interpreters.runs.language == LANGUAGE_PYTHON)
		record_note_trampoline(s, why);
	else
		record_note_missing(s, s->interpreters.runs.language, why);
}

/* What comes beside the sampler has no frames of languages. */
static void record_note_beside(struct record_setup *s)
{
	const struct counter *for_rings = counters_find_for_rings(&s->counters);
	size_t n_others = s->counters.n - counters_n_for_sampler(&s->counters);
	enum language language = s->interpreters.runs.language;
	char what[160] = "stacks of allocations", others[32] = "";
	size_t n = strlen(s->note);

	if (!language || record_is_by_cpu(s) || (!for_rings && !s->args.alloc))
		return;
	if (n_others > 1)
		snprintf(others, sizeof(others), " and %zu more", n_others - 1);
	if (for_rings)
		snprintf(what, sizeof(what), "samples of '%.64s'%s%s", for_rings->name, others,
			 s->args.alloc ? ", and stacks of allocations," : "");
	log_info("%s have no %s functions: BPF does not take them", what, language_names[language]);
	snprintf(s->note + n, sizeof(s->note) - n,
		 "%s%s have no %s functions: BPF does not take them", n ? "; " : "", what,
		 language_names[language]);
}

void record_note_fallback(struct record_setup *s)
{
	s->note[s->note_len] = '\0';
	if (s->interpreters.runs.language && !record_is_by_cpu(s))
		record_note_missing(s, s->interpreters.runs.language,
				    "the BPF program could not be started");
}

bool record_begin_trampoline(const struct record_setup *s, bool in_kernel)
{
	if (!s->args.python_trampoline || in_kernel)
		return false;
	setenv("PYTHONPERFSUPPORT", "1", 1); /* the command inherits it */
	return true;
}

/* On a host that the remedy is root is plain; in a container it is an option to start it with. */
static void record_log_rings(const struct sampler_support *support)
{
	struct reason_text text;

	reason_tell(NULL, support->reason, &text);
	if (sources_in_container(NULL) && *text.remedy)
		log_info("%s: collecting through rings instead; %s", support->why, text.remedy);
	else
		log_info("%s: collecting through rings instead", support->why);
}

/*
 * Tells which functions the rings miss. Losses count Go's stacks that end, and the frames of a
 * language that only may run.
 */
static void record_tell_rings(struct record_setup *s, const struct sampler_support *support)
{
	const struct interpreters *found = &s->interpreters;

	if (strcmp(s->args.collector, "best") != 0)
		record_log_rings(support);
	else if (s->args.python_trampoline && found->runs.language == LANGUAGE_PYTHON)
		record_note_trampoline(s, support->why);
	else if (found->runs.language)
		record_note_missing(s, found->runs.language, support->why);
	else if (s->labels.in_program.n || (!found->runs.is_go && !is_any(found->may_run)))
		record_log_rings(support);
}

/* Requested events that BPF can't take are no error: the rings take all. */
static bool has_events_for_sampler(const struct record_setup *s)
{
	bool has_some = counters_n_for_sampler(&s->counters) > 0;
	bool are_too_many = !record_is_by_cpu(s) && s->counters.n > SAMPLER_EVENTS_MAX;

	if (!has_some && s->counters.n)
		log_info("BPF does not take samples of '%s': collecting through rings",
			 s->counters.data[0].name);
	else if (are_too_many)
		log_info("more than %u events of a command or process: collecting through rings",
			 SAMPLER_EVENTS_MAX);
	return has_some && !are_too_many;
}

bool record_choose_sampler(struct record_setup *s)
{
	static const struct counter_sources sources;
	bool is_best = !strcmp(s->args.collector, "best");
	struct sampler_support support;

	s->note_len = strlen(s->note);
	if (s->args.raw || s->trace.has_trace || !strcmp(s->args.collector, "perf"))
		return false;
	find_interpreters(s);
	if (is_best && !s->labels.in_program.n && !is_for_sampler(s)) {
		record_tell_unfit(s);
		return false;
	}
	if (!has_events_for_sampler(s))
		return false;
	sampler_support_check(&sources, &support);
	if (support.obstacle != OBSTACLE_NONE) {
		record_tell_rings(s, &support);
		return false;
	}
	/* Copied stacks are better than those by frame pointer. */
	if (is_best && !strcmp(s->args.call_graph, "best") && !support.can_unwind)
		return false;
	record_note_beside(s);
	return true;
}

int record_check_off_cpu(const struct record_setup *s, struct error *err)
{
	static const struct counter_sources sources;
	struct sampler_support support = { 0 };
	struct reason_text text;
	char remedy[448] = "";

	const char *option = s->args.off_cpu ? "--off-cpu" : "--kernel-locks";

	if (!record_has_waits(&s->args))
		return 0;
	if (sources_pid_namespace(NULL))
		return error_set(err, -ENOTSUP,
				 "%s works in the initial pid namespace alone: start the "
				 "container with --pid=host",
				 option);
	sampler_support_check(&sources, &support);
	if (support.obstacle == OBSTACLE_NONE)
		return 0;
	reason_tell(NULL, support.reason, &text);
	if (sources_in_container(NULL) && *text.remedy)
		snprintf(remedy, sizeof(remedy), "To do: %s. ", text.remedy);
	else if (support.obstacle == OBSTACLE_PERMISSION && geteuid())
		snprintf(remedy, sizeof(remedy), "Run it as root: 'sudo assay record %s …'. ",
			 option);
	return error_set(err, -EPERM,
			 "%s needs a BPF program at the kernel's tracepoints: %s. %sWithout "
			 "%s, assay measures time on the CPU alone, with your present permissions",
			 option, support.why, remedy, option);
}

int record_check_labels(const struct record_setup *s, bool in_kernel, struct error *err)
{
	return in_kernel || !s->labels.in_program.n
		       ? 0
		       : error_set(err, -EPERM,
				   "--labels needs the in-kernel sampler, which is not possible "
				   "here ('assay doctor' says why), or does not go with the other "
				   "options");
}

/*
 * Unwind tables if the kernel's BPF permits them. "fp" may be requested, or be the only
 * possibility.
 */
static enum stack_source stacks_in_kernel(const char *how)
{
	char why[256];

	if (!strcmp(how, "fp"))
		return STACKS_FRAME_POINTERS;
	if (sampler_can_unwind(why, sizeof(why)))
		return STACKS_IN_KERNEL;
	log_info("%s: stacks are followed by frame pointer", why);
	return STACKS_FRAME_POINTERS;
}

enum stack_source record_choose_stacks(const struct record_setup *s, bool in_kernel)
{
	const char *how = s->args.call_graph;
	bool is_best;

	/* A trace has its own; what is sampled beside it can have chains if asked. */
	if (s->trace.has_trace && !strcmp(how, "best") && !s->args.with_stacks)
		return STACKS_NONE;
	if (!strcmp(how, "dwarf"))
		return STACKS_COPIED;
	if (!strcmp(how, "none") && !s->args.with_stacks)
		return STACKS_NONE;
	if (in_kernel)
		return stacks_in_kernel(how);
	/* 16 KB with every sample are more than a file is to have unasked. */
	is_best = !s->args.raw && counters_fit_copies(&s->counters);
	return strcmp(how, "best") || !is_best ? STACKS_FRAME_POINTERS : STACKS_COPIED;
}
