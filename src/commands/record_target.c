/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/record_target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "collect/cgroup.h"
#include "record/child.h"
#include "record/program_files.h"

bool record_is_by_cpu(const struct record_setup *s)
{
	const struct record_args *a = &s->args;

	return a->whole_machine || a->cgroup || target_has_cgroup(&a->names) ||
	       target_has_processes(&a->names);
}

/* One target: a command alone, or one of these, with a command or without. */
static int check_one_target(struct record_setup *s, struct error *err)
{
	const struct record_args *a = &s->args;
	int n = a->whole_machine + (a->cgroup != NULL) + (s->pids.n || s->tids.n) +
		target_has_processes(&a->names) + (a->names.unit != NULL) +
		(a->names.container != NULL);

	if (n > 1)
		return error_set(err, -EINVAL,
				 "-a, -G, -p or -t, --user or --comm, --unit and --container "
				 "exclude each other");
	if (s->pids.n && s->tids.n)
		return error_set(err, -EINVAL, "-p and -t exclude each other");
	if (a->with_children && !s->pids.n)
		return error_set(err, -EINVAL, "--children is for -p");
	if (n == 0 && !s->operands.n && s->cpus.n)
		s->args.whole_machine = true;
	else if (n == 0 && !s->operands.n)
		return error_set(err, -EINVAL,
				 "nothing to profile: give a command, -p PID, or -a for the whole "
				 "machine");
	return target_filter(&a->names, &s->chosen, err);
}

/* Only a command can have a library preloaded, if the loader takes it. */
static bool alloc_needs_probes(const struct record_setup *s)
{
	cleanup(free_at_exit) char *path = s->pids.n ? NULL : child_find(s->operands.data[0]);

	return s->pids.n || (path && program_kind(path) != PROGRAM_LOADED);
}

static int check_alloc(struct record_setup *s, struct error *err)
{
	const struct record_args *a = &s->args;

	if (!a->alloc)
		return 0;
	if (record_is_by_cpu(s) || s->tids.n || !(s->pids.n || s->operands.n))
		return error_set(err, -EINVAL,
				 "--alloc is for a command, or for running processes (-p)");
	if (a->raw || a->kcore || record_has_waits(a) || strcmp(a->store, "native") != 0)
		return error_set(
			err, -EINVAL,
			"--alloc does not go with --off-cpu, --kernel-locks, --raw, -b, -j, "
			"--kcore or --store");
	if (!a->events.n && !a->page_faults && !strcmp(a->collector, "bpf"))
		return error_set(err, -EINVAL,
				 "--alloc without -e has no samples for --collector=bpf");
	s->alloc_by_probes = alloc_needs_probes(s);
	return 0;
}

void record_note_alloc(struct record_setup *s)
{
	if (s->alloc_by_probes)
		snprintf(s->note, sizeof(s->note),
			 "allocations by uprobes: each call for memory traps into the kernel, and "
			 "processes that begin later are not seen%s",
			 s->pids.n ? "; blocks from before the recording are not in it" : "");
}

int record_prepare_pipe(struct record_args *args, struct error *err)
{
	if (!args->output || strcmp(args->output, "-") != 0)
		return 0;
	args->raw = true;
	if (args->kcore)
		return error_set(err, -EINVAL, "-o - and --kcore don't go together: give a folder");
	if (isatty(STDOUT_FILENO))
		return error_set(err, -EINVAL,
				 "-o -: a recording is not for a terminal; pipe it, or give a name "
				 "('./-' is one)");
	return 0;
}

int record_check_target(struct record_setup *s, struct error *err)
{
	const struct record_args *a = &s->args;
	bool is_bpf = !strcmp(a->collector, "bpf");
	int e = check_one_target(s, err);

	if (e == 0)
		e = check_alloc(s, err);
	if (e == 0 && a->python_trampoline && !s->operands.n)
		e = error_set(err, -EINVAL,
			      "--python-trampoline is for a command: Python turns its trampoline "
			      "on when it starts");
	if (e < 0)
		return e;
	if (is_bpf && !strcmp(a->call_graph, "dwarf"))
		return error_set(
			err, -EINVAL,
			"--call-graph=dwarf copies stacks through the rings: it does not go "
			"with --collector=bpf");
	if ((a->raw || a->kcore) && (record_has_waits(a) || is_bpf || strcmp(a->store, "native")))
		return error_set(err, -EINVAL,
				 "--raw, -b and -j keep what the kernel's rings give: they do not "
				 "go with --off-cpu, --kernel-locks, --collector=bpf or --store");
	return 0;
}

static int find_group(struct record_setup *s, struct error *err)
{
	cleanup(free_at_exit) char *mount = NULL;
	int e = cgroup_mount(&mount, err);

	return e < 0 ? e : target_cgroup(mount, &s->args.names, &s->group, err);
}

/* The rings would have to read the samples of the whole machine to find later ones. */
static int follow_present_processes(struct record_setup *s, struct error *err)
{
	int e = target_find(&s->args.names, &s->pids, err);

	s->filter = NULL;
	if (e < 0)
		return e;
	log_info("%s: %zu run%s now. Of those that begin later, only children of these are "
		 "profiled: a filter in the kernel (as root, without --raw) takes all",
		 s->target, s->pids.n, s->pids.n == 1 ? "s" : "");
	return 0;
}

static void expect_later_processes(struct record_setup *s)
{
	struct pid_list now = { 0 };

	s->filter = &s->chosen;
	target_processes("/proc", &s->chosen, &now);
	if (!now.n)
		log_info("%s: none runs now; those that begin later are profiled", s->target);
	vec_fini(&now);
}

int record_find_target(struct record_setup *s, bool in_kernel, struct error *err)
{
	const struct target_names *names = &s->args.names;

	if (!target_has_names(names))
		return 0;
	if (!s->target)
		s->target = target_words(names);
	if (target_has_cgroup(names))
		return s->group ? 0 : find_group(s, err);
	if (!in_kernel)
		return follow_present_processes(s, err);
	expect_later_processes(s);
	return 0;
}
