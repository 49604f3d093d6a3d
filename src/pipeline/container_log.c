/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/container_log.h"

#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "machine/engine_files.h"
#include "store/history/containers.h"

#define TRIES       5
#define PENDING_MAX 1024

struct pending {
	string_id cgroup;
	int tries;
};

struct container_log {
	char *file;
	const struct strings *strings;
	struct engine_files *files;
	struct container_names *kept;
	struct intmap seen;
	uint32_t last;
	VEC(struct pending) pending;
};

struct container_log *container_log_new(const char *dir, const struct strings *strings)
{
	struct container_log *l = xcalloc(1, sizeof(*l));

	l->file = containers_file(dir);
	l->strings = strings;
	l->files = engine_files_new("");
	l->kept = container_names_new();
	containers_trim(l->file);
	containers_read(l->kept, l->file);
	return l;
}

void container_log_free(struct container_log *l)
{
	if (!l)
		return;
	container_log_retry(l);
	vec_fini(&l->pending);
	intmap_fini(&l->seen);
	container_names_free(l->kept);
	engine_files_free(l->files);
	free(l->file);
	free(l);
}

static void keep_name(struct container_log *l, const char *id, const char *name)
{
	cleanup(free_at_exit) char *old = NULL;
	const char *now = container_names_find(l->kept, id);

	old = now ? xstrdup(now) : NULL;
	if (!container_names_put(l->kept, id, name))
		return;
	now = container_names_find(l->kept, id);
	if (!old || strcmp(old, now) != 0)
		containers_append(l->file, id, now);
}

/* Returns false if the cgroup's path promises a name that no engine file has yet. */
static bool look_up_names(struct container_log *l, const char *path)
{
	struct cgroup_names names;
	const char *name;
	bool is_all = true;

	cgroup_names_of(path, &names);
	name = engine_files_container(l->files, &names);
	if (name)
		keep_name(l, names.container, name);
	is_all &= name || strlen(names.container) != 64;
	name = engine_files_pod(l->files, &names);
	if (name)
		keep_name(l, names.pod, name);
	return is_all && (name || !*names.pod);
}

void container_log_see(struct container_log *l, string_id cgroup)
{
	bool is_new;

	if (cgroup.n == l->last)
		return;
	l->last = cgroup.n;
	intmap_put(&l->seen, cgroup.n, &is_new);
	if (is_new && !look_up_names(l, strings_get(l->strings, cgroup)) &&
	    l->pending.n < PENDING_MAX)
		vec_push(&l->pending, (struct pending){ cgroup, TRIES });
}

void container_log_retry(struct container_log *l)
{
	size_t kept = 0;

	vec_foreach (&l->pending, p)
		if (!look_up_names(l, strings_get(l->strings, p->cgroup)) && --p->tries > 0)
			l->pending.data[kept++] = *p;
	l->pending.n = kept;
}
