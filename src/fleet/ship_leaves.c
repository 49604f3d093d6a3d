/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_leaves.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "base/path.h"
#include "machine/cgroup_name.h"
#include "store/history/containers.h"

struct ship_leaves {
	VEC(char *) globs;
	struct container_names *containers;
};

struct ship_leaves *ship_leaves_new(const char *services)
{
	struct ship_leaves *l = xcalloc(1, sizeof(*l));
	cleanup(free_at_exit) char *list = xstrdup(services);
	char *rest = list, *glob;

	while ((glob = strsep(&rest, "\n")))
		if (*glob)
			vec_push(&l->globs, xstrdup(glob));
	l->containers = container_names_new();
	return l;
}

void ship_leaves_name(struct ship_leaves *l, const char *containers)
{
	containers_read(l->containers, containers);
}

void ship_leaves_free(struct ship_leaves *l)
{
	if (!l)
		return;
	vec_foreach (&l->globs, glob)
		free(*glob);
	vec_fini(&l->globs);
	container_names_free(l->containers);
	free(l);
}

static const char *find_name(const struct ship_leaves *l, const char *id)
{
	return *id ? container_names_find(l->containers, id) : NULL;
}

bool ship_leaves_take(void *leaves, const char *program, const char *cgroup)
{
	const struct ship_leaves *l = leaves;
	char text[CGROUP_TEXT_SIZE];
	struct cgroup_names names;
	const char *service;

	cgroup_names_of(cgroup, &names);
	names.container_name = find_name(l, names.container);
	names.pod_name = find_name(l, names.pod);
	service = cgroup_service(&names, text);
	service = *service ? service : path_file_name(program);
	vec_foreach (&l->globs, glob)
		if (glob_names(*glob, service))
			return true;
	return false;
}
