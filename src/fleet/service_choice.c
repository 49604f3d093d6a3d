/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/service_choice.h"

#include <stdlib.h>
#include <string.h>

#include "base/glob.h"
#include "base/mem.h"
#include "base/path.h"
#include "machine/cgroup_name.h"
#include "machine/container_names.h"
#include "store/history/containers.h"

struct service_choice {
	VEC(char *) globs;
	struct container_names *containers;
};

struct service_choice *service_choice_new(const char *services)
{
	struct service_choice *c = xcalloc(1, sizeof(*c));
	cleanup(free_at_exit) char *list = xstrdup(services);
	char *rest = list, *glob;

	while ((glob = strsep(&rest, "\n")))
		if (*glob)
			vec_push(&c->globs, xstrdup(glob));
	c->containers = container_names_new();
	return c;
}

void service_choice_name(struct service_choice *c, const char *containers)
{
	containers_read(c->containers, containers);
}

void service_choice_name_lines(struct service_choice *c, char *lines)
{
	container_names_parse(c->containers, lines);
}

void service_choice_free(struct service_choice *c)
{
	if (!c)
		return;
	vec_foreach (&c->globs, glob)
		free(*glob);
	vec_fini(&c->globs);
	container_names_free(c->containers);
	free(c);
}

static const char *find_name(const struct service_choice *c, const char *id)
{
	return *id ? container_names_find(c->containers, id) : NULL;
}

bool service_choice_takes(void *choice, const char *program, const char *cgroup)
{
	const struct service_choice *c = choice;
	char text[CGROUP_TEXT_SIZE];
	struct cgroup_names names;
	const char *service;

	cgroup_names_of(cgroup, &names);
	names.container_name = find_name(c, names.container);
	names.pod_name = find_name(c, names.pod);
	service = cgroup_service(&names, text);
	service = *service ? service : path_file_name(program);
	vec_foreach (&c->globs, glob)
		if (glob_names(*glob, service))
			return true;
	return false;
}
