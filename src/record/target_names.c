/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "record/target_names.h"

#include <ctype.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "collect/cgroup.h"
#include "machine/cgroup_name.h"
#include "machine/engine_files.h"
#include "record/descendants.h"

#define SHORTEST_ID 4

/* ---- processes ---- */

static int find_user(const char *user, uint32_t *uid, struct error *err)
{
	const struct passwd *entry;
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(user, &end, 10);
	if (isdigit((unsigned char)*user) && !*end && !errno && number < UINT32_MAX) {
		*uid = (uint32_t)number;
		return 0;
	}
	entry = getpwnam(user);
	if (!entry)
		return error_set(err, -EINVAL, "there is no user '%s' on this machine", user);
	*uid = entry->pw_uid;
	return 0;
}

int target_filter(const struct target_names *names, struct process_filter *out, struct error *err)
{
	struct comm_masks masks;

	*out = (struct process_filter){ .has_uid = names->user, .comm = names->comm };
	if (names->comm && comm_masks_make(names->comm, &masks, err) < 0)
		return -EINVAL;
	return names->user ? find_user(names->user, &out->uid, err) : 0;
}

char *target_words(const struct target_names *names)
{
	if (names->unit)
		return xasprintf("unit %s", names->unit);
	if (names->container)
		return xasprintf("container %s", names->container);
	return xasprintf("processes%s%s%s%s", names->user ? " of user " : "",
			 names->user ? names->user : "", names->comm ? " named " : "",
			 names->comm ? names->comm : "");
}

/* proc(5): "Uid:" has the real, effective, saved and file system's user id. */
static bool read_effective_uid(const char *proc, int32_t pid, uint32_t *uid)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%d/status", proc, pid);
	cleanup(free_at_exit) char *text = NULL;
	const char *line;

	if (file_read_all(path, 65536, &text, NULL) < 0)
		return false;
	line = strstr(text, "\nUid:");
	return line && sscanf(line, " Uid: %*u %" SCNu32, uid) == 1;
}

static bool process_fits(const char *proc, int32_t pid, const struct process_filter *f,
			 const struct comm_masks *masks)
{
	char comm[64];
	uint32_t uid;

	if (f->has_uid && (!read_effective_uid(proc, pid, &uid) || uid != f->uid))
		return false;
	return !f->comm ||
	       (proc_read_comm(proc, pid, pid, comm, sizeof(comm)) && comm_masks_fit(masks, comm));
}

void target_processes(const char *proc, const struct process_filter *f, struct pid_list *out)
{
	struct pid_list all = { 0 };
	struct comm_masks masks = { 0 };

	if (f->comm && comm_masks_make(f->comm, &masks, NULL) < 0)
		return;
	proc_list_pids(proc, &all);
	vec_foreach (&all, pid)
		if (*pid != getpid() && process_fits(proc, *pid, f, &masks))
			vec_push(out, *pid);
	vec_fini(&all);
}

/* ---- control groups ---- */

/* A unit's name as it is, or without its last part, as in filters of reports. */
static bool is_unit(const char *unit, const char *wanted)
{
	const char *dot = strrchr(unit, '.');
	size_t n = strlen(wanted);

	return !strcmp(unit, wanted) ||
	       (dot && (size_t)(dot - unit) == n && !strncmp(unit, wanted, n));
}

static bool is_container(struct engine_files *engines, const struct cgroup_names *c,
			 const char *wanted)
{
	const char *name;

	if (!*c->container)
		return false;
	if (!strcmp(c->container, wanted) ||
	    (strlen(wanted) >= SHORTEST_ID && !strncmp(c->container, wanted, strlen(wanted))))
		return true;
	name = engine_files_container(engines, c);
	return name && !strcmp(name, wanted);
}

static bool is_wanted_group(const struct target_names *names, struct engine_files *engines,
			    const char *path)
{
	struct cgroup_names c;

	cgroup_names_of(path, &c);
	return names->unit ? is_unit(c.unit, names->unit)
			   : is_container(engines, &c, names->container);
}

/* The group and all below it. True of `visit`: none below this one. */
static void each_group(const char *mount, bool (*visit)(void *context, const char *path),
		       void *context)
{
	char *const roots[] = { (char *)mount, NULL };
	FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *entry;

	while (tree && (entry = fts_read(tree)))
		if (entry->fts_info == FTS_D && visit(context, entry->fts_path))
			fts_set(tree, entry, FTS_SKIP);
	if (tree)
		fts_close(tree);
}

struct group_search {
	const struct target_names *names;
	struct engine_files *engines;
	size_t mount_length;
	uint32_t n;
	char *first;
	struct buf list; /* of the first few */
};

/* True: no group below is looked at. */
static bool take_group(void *context, const char *path)
{
	struct group_search *s = context;

	if (!is_wanted_group(s->names, s->engines, path + s->mount_length))
		return false;
	if (!s->first)
		s->first = xstrdup(path);
	if (s->n++ < 4)
		buf_printf(&s->list, "%s%s", s->list.len ? ", " : "", path + s->mount_length);
	return true;
}

int target_cgroup(const char *mount, const struct target_names *names, char **path,
		  struct error *err)
{
	struct group_search s = { .names = names,
				  .engines = engine_files_new(""),
				  .mount_length = strlen(mount) };
	const char *kind = names->unit ? "unit" : "container";
	const char *name = names->unit ? names->unit : names->container;
	int e = 0;

	each_group(mount, take_group, &s);
	engine_files_free(s.engines);
	if (!s.n && names->unit)
		e = error_set(err, -ENOENT,
			      "no control group below %s is of a unit '%s': it does not run, or "
			      "has another name ('systemd-cgls' shows all)",
			      mount, name);
	else if (!s.n)
		e = error_set(err, -ENOENT,
			      "no control group below %s is of a container '%s': it does not run, "
			      "or you may not read its name; give the id, as 'podman ps' or "
			      "'docker ps' shows it",
			      mount, name);
	else if (s.n > 1)
		e = error_set(err, -EINVAL,
			      "%u control groups are of a %s '%s' (%s%s): choose one by -G", s.n,
			      kind, name, buf_cstr(&s.list), s.n > 4 ? " …" : "");
	else
		*path = take_ptr(s.first);
	free(s.first);
	buf_fini(&s.list);
	return e;
}

static bool add_members(void *context, const char *group)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/cgroup.procs", group);
	FILE *f = fopen(path, "re");
	int32_t pid;

	while (f && fscanf(f, "%" SCNd32, &pid) == 1)
		if (pid > 0) /* 0: of another pid namespace */
			vec_push((struct pid_list *)context, pid);
	if (f)
		fclose(f);
	return false;
}

void target_cgroup_processes(const char *path, struct pid_list *out)
{
	each_group(path, add_members, out);
}

int target_find(const struct target_names *names, struct pid_list *out, struct error *err)
{
	cleanup(free_at_exit) char *mount = NULL, *path = NULL, *words = target_words(names);
	struct process_filter filter;
	size_t n = out->n;
	int e;

	if (target_has_cgroup(names)) {
		e = cgroup_mount(&mount, err);
		if (!e)
			e = target_cgroup(mount, names, &path, err);
		if (!e)
			target_cgroup_processes(path, out);
	} else {
		e = target_filter(names, &filter, err);
		if (!e)
			target_processes("/proc", &filter, out);
	}
	if (!e && out->n == n)
		return error_set(err, -ESRCH, "no process runs at present: %s", words);
	return e;
}

int target_check(const struct target_names *names, bool with_children, const struct pid_list *pids,
		 const struct pid_list *tids, struct error *err)
{
	struct process_filter filter;
	int n = (pids->n || tids->n) + target_has_processes(names) + (names->unit != NULL) +
		(names->container != NULL);

	if (n > 1)
		return error_set(err, -EINVAL,
				 "-p or -t, --user or --comm, --unit and --container exclude each "
				 "other");
	if (with_children && !pids->n)
		return error_set(err, -EINVAL, "--children is for -p");
	return target_filter(names, &filter, err);
}

int target_complete(const struct target_names *names, bool with_children, struct pid_list *pids,
		    struct error *err)
{
	if (target_has_names(names))
		return target_find(names, pids, err);
	if (with_children)
		descendants_add("/proc", pids);
	return 0;
}
