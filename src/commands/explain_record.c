/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/explain_record.h"

#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "collect/cgroup.h"
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

/* ---- the limit of CPU time of a control group ---- */

/* Cuts "ID:CONTROLLERS:PATH". Whether it is of the hierarchy that limits CPU time. */
static bool is_cpu_group(char *line, const char **mount, const char **path)
{
	char *controllers = strchr(line, ':');
	char *colon = controllers ? strchr(controllers + 1, ':') : NULL;

	if (!colon)
		return false;
	*colon = '\0';
	*path = colon + 1;
	*mount = controllers[1] ? "/sys/fs/cgroup/cpu" : "/sys/fs/cgroup";
	for (char *word = strtok_r(controllers + 1, ",", &colon); word;
	     word = strtok_r(NULL, ",", &colon))
		if (!strcmp(word, "cpu"))
			return true;
	return !strcmp(*mount, "/sys/fs/cgroup") && cgroup_has_v1() == 0;
}

/* Sets throttled_by to the file that has the time of a process's group; "" if there is none. */
static void find_limit(struct explain_recording *r)
{
	cleanup(free_at_exit) char *file =
		r->pid ? xasprintf("/proc/%.*s/cgroup", (int)strspn(r->pid, "0123456789"), r->pid)
		       : xstrdup("/proc/self/cgroup");
	cleanup(free_at_exit) char *text = NULL;
	const char *mount, *path;
	char *rest, *line;
	size_t size;

	if ((!r->pid && !r->command) || file_read_all(file, 65536, &text, &size) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
		if (is_cpu_group(line, &mount, &path))
			snprintf(r->throttled_by, sizeof(r->throttled_by), "%s%s/cpu.stat", mount,
				 path[1] ? path : "");
}

/* cgroup v2 has microseconds, v1 nanoseconds. */
static uint64_t read_throttled_ns(const char *file)
{
	cleanup(free_at_exit) char *text = NULL;
	const char *at;
	size_t size;

	if (!*file || file_read_all(file, 65536, &text, &size) < 0)
		return 0;
	if ((at = strstr(text, "throttled_usec ")))
		return strtoull(at + strlen("throttled_usec "), NULL, 10) * 1000;
	at = strstr(text, "throttled_time ");
	return at ? strtoull(at + strlen("throttled_time "), NULL, 10) : 0;
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
	uint64_t throttled_ns;
	int status;

	check_waits(r);
	find_limit(r);
	throttled_ns = read_throttled_ns(r->throttled_by);
	add_word(&words, "record");
	add_word(&words, "-q");
	add_word(&words, "-o");
	add_word(&words, r->output);
	add_word(&words, r->pid || r->command ? "--page-faults" : "--page-faults=64");
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
	r->outside = (struct explain_outside){
		.no_waits = *r->no_waits ? r->no_waits : NULL,
		.throttled_ns = read_throttled_ns(r->throttled_by) - throttled_ns,
		.throttled_by = *r->throttled_by ? r->throttled_by : NULL,
	};
	return end.has_run && end.code >= 0 && !end.result.has_command_failed_to_start ? -1
	       : status                                                                ? status
			: EXIT_FAILED;
}
