/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/ship_containers.h"

#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"
#include "fleet/service_choice.h"
#include "fleet/ship.h"
#include "machine/container_names.h"
#include "store/history/containers.h"

/* Cuts the lines behind the last whole one of SHIP_CONTAINERS_MAX bytes. Returns the rest. */
static char *cut_lines(char *lines)
{
	char *end = lines + strlen(lines);

	if ((size_t)(end - lines) <= SHIP_CONTAINERS_MAX)
		return end;
	end = memrchr(lines, '\n', SHIP_CONTAINERS_MAX); /* a line is much shorter */
	*end = '\0';
	return end + 1;
}

/* The folder of the host has the names that were sent. 1: the place takes no names. */
static int send_container_lines(const struct ship_config *config, struct fleet_host *host,
				char *lines, struct error *err)
{
	struct buf body = { 0 };
	int r = 0;

	if (config->send_containers) {
		buf_printf(&body, "%s\n", lines);
		r = config->send_containers(config->send_context, &body, err);
		buf_fini(&body);
	}
	return r ? r : fleet_host_name_containers(host, lines, err);
}

/* Appends names that neither the recorder nor the fleet has. Returns their number. */
static uint32_t add_more_containers(const struct ship_config *config, const char *there,
				    struct buf *lines)
{
	struct container_names *known = container_names_new();
	cleanup(free_at_exit) char *copy = xstrdup(buf_cstr(lines));
	struct buf more = { 0 };
	char *rest, *line, *id, *name;
	uint32_t n = 0;

	config->more_containers(config->more_context, &more);
	containers_read(known, there);
	container_names_parse(known, copy);
	rest = (char *)buf_cstr(&more);
	while ((line = strsep(&rest, "\n")))
		if (container_line_split(line, &id, &name) && !container_names_find(known, id) &&
		    container_names_put(known, id, name)) {
			buf_printf(lines, "%s %s\n", id, name);
			n++;
		}
	container_names_free(known);
	buf_fini(&more);
	return n;
}

static void name_leaves(struct service_choice *leaves, const char *here, const char *there,
			struct buf *lines)
{
	cleanup(free_at_exit) char *copy = xstrdup(buf_cstr(lines));

	if (here)
		service_choice_name(leaves, here);
	service_choice_name(leaves, there);
	service_choice_name_lines(leaves, copy);
}

int ship_containers_send(const struct ship_config *config, struct fleet_host *host,
			 const char *part, struct service_choice *leaves, uint32_t *n,
			 struct error *err)
{
	cleanup(free_at_exit) char *here = part ? containers_file(part) : NULL;
	cleanup(free_at_exit) char *there = fleet_containers_file(config->fleet, config->host);
	struct buf lines = { 0 };
	int r = 0;

	if (here && !config->without_cgroup)
		*n = containers_missing(here, there, &lines);
	if (config->more_containers && !config->without_cgroup)
		*n += add_more_containers(config, there, &lines);
	if (leaves)
		name_leaves(leaves, here, there, &lines);
	if (config->dry_run && config->report_containers)
		config->report_containers(config->context, buf_cstr(&lines));
	for (char *at = (char *)buf_cstr(&lines), *next; *at && !r && !config->dry_run; at = next) {
		next = cut_lines(at);
		r = send_container_lines(config, host, at, err);
	}
	buf_fini(&lines);
	return r < 0 ? r : 0;
}
