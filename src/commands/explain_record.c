/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/explain_record.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "collect/sampler_support.h"
#include "commands/record.h"
#include "commands/tables.h"
#include "counter/probe.h"
#include "counter/sources.h"

#define DEFAULT_SECONDS 10

/* Sets the reason why BPF may not watch the scheduler, or "". */
static void check_waits(struct explain_recording *r)
{
	static const struct counter_sources sources;
	struct sampler_support support = { 0 };

	if (sources_pid_namespace(NULL)) {
		snprintf(r->no_waits, sizeof(r->no_waits),
			 "BPF sees waits from the initial pid namespace alone");
		return;
	}
	sampler_support_check(&sources, &support);
	if (support.obstacle != OBSTACLE_NONE)
		snprintf(r->no_waits, sizeof(r->no_waits), "%s", support.why);
}

struct words {
	char **data;
	size_t n, cap;
};

static void add_word(struct words *words, const char *word)
{
	vec_push(words, (char *)word);
}

/* The whole machine, or all that an ordinary user may see of it. */
static void add_machine(struct words *words)
{
	const struct passwd *user = getpwuid(geteuid());
	struct probe_machine machine;

	probe_machine_init(&machine, NULL);
	if (probe_scope(&machine).reach == REACH_MACHINE || !user) {
		add_word(words, "-a");
		return;
	}
	log_warning("explain: you may not profile the whole machine, so only processes of %s are "
		    "looked at ('assay doctor' has the remedy)",
		    user->pw_name);
	add_word(words, "-u");
	add_word(words, user->pw_name);
}

static void add_target(struct words *words, const struct explain_recording *r)
{
	if (r->pid) {
		add_word(words, "-p");
		add_word(words, r->pid);
	} else if (!r->command) {
		add_machine(words);
	}
	if (!r->command)
		return;
	add_word(words, "--");
	for (size_t i = 0; i < r->command->n; i++)
		add_word(words, r->command->data[i]);
}

int explain_record(struct explain_recording *r)
{
	double seconds = r->duration_s > 0 ? r->duration_s : r->pid ? DEFAULT_SECONDS : 0;
	cleanup(free_at_exit) char *duration = xasprintf("%.6fs", seconds);
	struct words words = { 0 };
	struct record_end end;
	int status;

	check_waits(r);
	add_word(&words, "record");
	add_word(&words, "-q");
	add_word(&words, "-o");
	add_word(&words, r->output);
	if (!*r->no_waits)
		add_word(&words, "--off-cpu");
	if (seconds > 0) {
		add_word(&words, "--duration");
		add_word(&words, duration);
	}
	add_target(&words, r);
	add_word(&words, NULL);
	status = record_arguments(&record_command, (int)words.n - 1, words.data, &end);
	vec_fini(&words);
	log_set_level(LOG_NORMAL);
	return end.has_run && end.code >= 0 && !end.result.has_command_failed_to_start ? -1
	       : status                                                                ? status
			: EXIT_FAILED;
}
