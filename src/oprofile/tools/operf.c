/* SPDX-License-Identifier: GPL-2.0-or-later */
/* operf: records into sample files, done by `assay record`. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "oprofile/oprofile.h"
#include "oprofile/tools/compat.h"
#include "record/record_end.h"

struct operf_args {
	struct compat_args compat;
	struct option_list events, pids;
	const char *session_dir, *vmlinux;
	bool system_wide, callgraph, by_thread, by_cpu, append, is_lazy;
};

#define FIELD(f) offsetof(struct operf_args, f)
static const struct option_spec operf_options[] = {
	{ 'e', "events", "EVENTS", OPT_LIST, FIELD(events), NULL,
	  "NAME:COUNT[:UNITMASK[:KERNEL[:USER]]], with commas between them",
	  "Default: hardware cycles, or the cpu-clock timer where there are no counters. Every "
	  "event of *assay-record*(1) will do." },
	{ 'p', "pid", "PID", OPT_LIST, FIELD(pids), NULL, "profile a running process" },
	{ 's', "system-wide", NULL, OPT_FLAG, FIELD(system_wide), NULL,
	  "profile the whole machine, until Ctrl-C" },
	{ 'g', "callgraph", NULL, OPT_FLAG, FIELD(callgraph), NULL, "record who called whom" },
	{ 't', "separate-thread", NULL, OPT_FLAG, FIELD(by_thread), NULL,
	  "keep threads and processes apart" },
	{ 'c', "separate-cpu", NULL, OPT_FLAG, FIELD(by_cpu), NULL, "keep processors apart" },
	{ 'd', "session-dir", "DIR", OPT_STRING, FIELD(session_dir), NULL,
	  "where samples go; it must be there",
	  "Default: *./oprofile\\_data*, which is made. The samples of the last run are kept as "
	  "session *previous*." },
	{ 'a', "append", NULL, OPT_FLAG, FIELD(append), NULL, "add to the samples that are there" },
	{ 'k', "vmlinux", "FILE", OPT_STRING, FIELD(vmlinux), NULL,
	  "accepted; the kernel's names come from the running kernel" },
	{ 'l', "lazy-conversion", NULL, OPT_FLAG, FIELD(is_lazy), NULL,
	  "accepted; samples are added up as they come" },
	COMPAT_OPTIONS(operf_args, 'u'),
};

static const struct compat_obsolete obsolete[] = {
	{ FIELD(vmlinux), false, "--vmlinux",
	  "the kernel's symbols are those of the kernel that runs, by its build id" },
	{ FIELD(is_lazy), true, "--lazy-conversion",
	  "samples are added up as they come, and cost no conversion" },
	COMPAT_VERBOSE(operf_args),
	{ 0 },
};

/* Exit status, as OProfile has it. */
enum { OPERF_OK = 0, OPERF_COMMAND_FAILED = 1, OPERF_RECORD_FAILED = 2 };

static const char default_dir[] = "oprofile_data";

static int operf_check(const struct operf_args *a, const struct option_list *operands,
		       struct error *err)
{
	struct stat st;
	int n = (operands->n > 0) + (a->pids.n > 0) + a->system_wide;

	if (n != 1)
		return error_set(err, -EINVAL, "give one of COMMAND, --pid and --system-wide");
	if (a->session_dir && (stat(a->session_dir, &st) < 0 || !S_ISDIR(st.st_mode)))
		return error_set(err, -ENOENT, "--session-dir: %s is not a directory",
				 a->session_dir);
	return 0;
}

/* The options of record that do the same. */
static void operf_translate(const struct operf_args *a, const struct option_list *operands,
			    const char *place, struct compat_argv *v)
{
	compat_push(v, "operf");
	compat_push(v, "--store=oprofile");
	compat_push(v, "--output=%s", place);
	compat_push(v, "--separate=lib,kernel%s%s", a->by_thread ? ",thread" : "",
		    a->by_cpu ? ",cpu" : "");
	compat_push(v, "--call-graph=%s", a->callgraph ? "best" : "none");
	vec_foreach (&a->events, event)
		compat_push(v, "--event=%s", *event);
	vec_foreach (&a->pids, pid)
		compat_push(v, "--pid=%s", *pid);
	if (a->system_wide)
		compat_push(v, "--all-cpus");
	if (operands->n)
		compat_push(v, "--");
	vec_foreach (operands, word)
		compat_push(v, "%s", *word);
}

static int tell_end(const struct recorder_result *r, const char *command)
{
	int status = r->wait_status;

	log_info("%" PRIu64 " samples, %" PRIu64 " lost, in %.2f s", r->counts.samples,
		 r->counts.lost, (double)r->duration_ns / 1e9);
	if (status > 0 && WIFEXITED(status))
		log_info("'%s' ended with status %d", command, WEXITSTATUS(status));
	else if (status > 0)
		log_info("'%s' was ended by signal %d", command, WTERMSIG(status));
	return status > 0 ? OPERF_COMMAND_FAILED : OPERF_OK;
}

static int operf_record(const struct operf_args *a, const struct option_list *operands)
{
	const char *dir = a->session_dir ? a->session_dir : default_dir;
	cleanup(free_at_exit) char *place = compat_recording_place(dir);
	struct command self = *oprofile_commands.record;
	struct compat_argv argv = { 0 };
	struct record_end end;
	struct error err = { 0 };
	int status, r = file_mkdirs(dir, 0755, &err);

	r = r < 0 ? r : compat_refuse_newer(dir, &err);
	self.name = "operf";
	self.is_program = true;
	operf_translate(a, operands, place, &argv);
	if (r >= 0) {
		compat_keep_killed(dir);
		status = oprofile_commands.record_arguments(&self, (int)argv.n, argv.data, &end);
		r = end.has_run ? compat_keep_samples(place, dir, a->append, &err) : 0;
	} else {
		status = OPERF_RECORD_FAILED;
		end = (struct record_end){ .code = r };
	}
	compat_argv_fini(&argv);
	file_remove_tree(place, NULL);
	if (r < 0)
		log_error("%s", err.text);
	if (r < 0 || end.code < 0 || !end.has_run)
		return status == EXIT_USAGE ? EXIT_FAILED : OPERF_RECORD_FAILED;
	log_info("samples are in %s; 'opreport%s%s' shows them", dir,
		 a->session_dir ? " --session-dir=" : "", a->session_dir ? dir : "");
	return tell_end(&end.result, operands->n ? operands->data[0] : "");
}

static int operf_run(const struct command *self, int argc, char **argv)
{
	struct operf_args a = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	int status = compat_begin(self, true, argc, argv, &a, &operands);

	if (status < 0) {
		compat_tell_obsolete(obsolete, &a);
		if (operf_check(&a, &operands, &err) < 0) {
			log_error("%s", err.text);
			status = EXIT_FAILED;
		} else {
			status = operf_record(&a, &operands);
		}
	}
	option_list_fini(&a.events);
	option_list_fini(&a.pids);
	option_list_fini(&operands);
	return status;
}

static const struct command_section operf_sections[] = {
	{ "EXIT STATUS",
	  "0; 1 if the command ended with another status or by a signal (a message says so, and "
	  "the profile is good), and for wrong usage; 2 if recording failed." },
	{ "SIGNALS", "Ctrl-C goes to the command. Without a command, it ends the recording. The "
		     "profile is whole in both cases. *killall -SIGINT operf* ends a recording "
		     "in the background. After *SIGKILL*, the next *operf* or *opreport* on the "
		     "session directory takes in the remaining samples." },
	{ "DIFFERENCES",
	  "A machine without counters is no reason to refuse. Counts below a minimum are refused, "
	  "but not because of *--callgraph*. Samples of a run are in the session directory when it "
	  "is over." },
	{ NULL },
};

static const struct command_example operf_examples[] = {
	{ "operf ./app", "profile a program, then: opreport -l" },
	{ "operf -e CPU_CLK_UNHALTED:100000:0:0:1 -t ./app",
	  "user mode alone, threads kept apart" },
	{ "operf -s", "the whole machine until Ctrl-C" },
	{ NULL },
};

const struct command operf_command = {
	.name = "operf",
	.is_program = true,
	.summary = "profile a command, a process or the machine, in OProfile's way",
	.synopsis = "[OPTIONS] [COMMAND [ARG…]]",
	.description =
		"OProfile's *operf*: its options, and its sample files in *oprofile\\_data*. "
		"It uses *assay record*.",
	.options = OPTIONS(operf_options),
	.sections = operf_sections,
	.examples = operf_examples,
	.run = operf_run,
};
