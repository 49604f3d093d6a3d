/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets by name: processes of a user or with a name, units of systemd, containers. */
#pragma once

#include "collect/process_filter.h"
#include "machine/proc.h"
#include "record/targets.h" /* CHILDREN_OPTION */

struct error;

struct target_names {
	const char *user, *comm;      /* processes; both: those with both */
	const char *unit, *container; /* a control group */
};

/* The rows of these options; FIELD(at.user) is the place of target_names' member `user`. */
#define TARGET_NAME_OPTIONS(at)                                                                    \
	{ 'u',                                                                                     \
	  "user",                                                                                  \
	  "USER",                                                                                  \
	  OPT_STRING,                                                                              \
	  FIELD(at.user),                                                                          \
	  NULL,                                                                                    \
	  "the processes of a user, by name or number (the effective user id)" },                  \
		{ 0,                                                                               \
		  "comm",                                                                          \
		  "GLOB",                                                                          \
		  OPT_STRING,                                                                      \
		  FIELD(at.comm),                                                                  \
		  NULL,                                                                            \
		  "the processes whose name fits: 'postgres*'; the name of the first thread, at "  \
		  "most 15 bytes" },                                                               \
		{ 0,                                                                               \
		  "unit",                                                                          \
		  "NAME",                                                                          \
		  OPT_STRING,                                                                      \
		  FIELD(at.unit),                                                                  \
		  NULL,                                                                            \
		  "the processes of a unit of systemd: nginx, nginx.service, user.slice" },        \
	{                                                                                          \
		0, "container", "NAME|ID", OPT_STRING, FIELD(at.container), NULL,                  \
			"the processes of a container, by its name or id; 4 digits of the id are " \
			"enough"                                                                   \
	}

static inline bool target_has_processes(const struct target_names *n)
{
	return n->user || n->comm;
}

static inline bool target_has_cgroup(const struct target_names *n)
{
	return n->unit || n->container;
}

static inline bool target_has_names(const struct target_names *n)
{
	return target_has_processes(n) || target_has_cgroup(n);
}

/* -EINVAL: no such user, or a name that no process can have. `names` must outlive *out. */
int target_filter(const struct target_names *names, struct process_filter *out, struct error *err);

/* "the processes of user bob named cc1*" */
char *target_words(const struct target_names *names);

/* Appends the processes that fit now. */
void target_processes(const char *proc, const struct process_filter *filter, struct pid_list *out);

/*
 * Finds the outermost control group of the unit or container below `mount`. *path begins with
 * `mount` and is the caller's to free. -ENOENT: there is none. -EINVAL: there are several.
 */
int target_cgroup(const char *mount, const struct target_names *names, char **path,
		  struct error *err);

/* Appends the processes that are in the control group now, or below it. */
void target_cgroup_processes(const char *path, struct pid_list *out);

/*
 * For commands that follow processes alone: the processes of these names. -ESRCH: there are none.
 */
int target_find(const struct target_names *names, struct pid_list *out, struct error *err);

/*
 * For such commands, too: -EINVAL if names are given beside ids, or --children without -p. Unless
 * it is a mistake, target_complete() then adds the named processes, or those below `pids`.
 */
int target_check(const struct target_names *names, bool with_children, const struct pid_list *pids,
		 const struct pid_list *tids, struct error *err);
int target_complete(const struct target_names *names, bool with_children, struct pid_list *pids,
		    struct error *err);
