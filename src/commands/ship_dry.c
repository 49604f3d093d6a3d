/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "commands/ship_dry.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/build_id.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "fleet/fleet_store.h"
#include "fleet/host_facts.h"
#include "store/history/blocks.h"
#include "store/segment.h"
#include "store/session.h"

struct ship_dry {
	const char *host;
	char *labels;
	bool has_blocks;
	VEC(char *) names; /* lines, in any order, some twice */
};

struct ship_dry *ship_dry_new(const char *host, const char *labels)
{
	struct ship_dry *d = xcalloc(1, sizeof(*d));

	d->host = host;
	d->labels = xstrdup(labels);
	return d;
}

void ship_dry_free(struct ship_dry *d)
{
	if (!d)
		return;
	vec_foreach (&d->names, name)
		free(*name);
	vec_fini(&d->names);
	free(d->labels);
	free(d);
}

static void keep(struct ship_dry *d, const char *kind, const char *name)
{
	struct buf line = { 0 };

	if (!name || !*name)
		return;
	buf_printf(&line, "%s ", kind);
	utf8_append_visible(&line, name);
	vec_push(&d->names, xstrdup(buf_cstr(&line)));
	buf_fini(&line);
}

static void keep_image(struct ship_dry *d, const struct image *image)
{
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *text = NULL;

	if (!image->build_id.len) {
		keep(d, "file", image->path);
		return;
	}
	build_id_hex(&image->build_id, hex);
	text = xasprintf("%s, build id %s, with the names of its functions", image->path, hex);
	keep(d, "file", text);
}

static void keep_segment(struct ship_dry *d, const struct segment *g)
{
	for (uint32_t i = 0; i < g->n_classes; i++) {
		keep(d, "program", g->images[g->classes[i].app.n].path);
		keep(d, "thread", g->strings[g->classes[i].comm.n]);
		keep(d, "cgroup", g->strings[g->classes[i].cgroup.n]);
	}
	for (uint32_t i = 1; i < g->n_images; i++)
		keep_image(d, &g->images[i]);
}

/* The session's own facts are in each block. */
static void keep_info(struct ship_dry *d, const struct session_info *info)
{
	keep(d, "hostname", info->hostname);
	keep(d, "kernel", info->os_release);
	keep(d, "processor", info->cpu_model);
}

void ship_dry_block(void *dry, const struct fleet_key *key, const struct block_sums *sums,
		    const char *block)
{
	cleanup(session_close_at_exit) struct session *s = NULL;
	struct ship_dry *d = dry;
	struct error err = { 0 };
	char when[FLEET_TIME_SIZE];
	bool is_leaves = false;

	if (session_open(block, &s, &err) < 0)
		log_warning("%s", err.text);
	else
		is_leaves = s->info.stacks && !strcmp(s->info.stacks, LEAVES_STACKS);
	if (s)
		keep_info(d, &s->info);
	for (uint32_t i = 0; s && i < s->n_segments; i++)
		keep_segment(d, s->segments[i]);
	d->has_blocks = true;
	fleet_time_text(key->bucket, when);
	printf("%s %s %s: %s, %" PRIu64 " sample%s, %" PRIu64 " lost, %" PRIu64 " bytes\n", d->host,
	       key->part, when, is_leaves ? "addresses" : "functions", sums->samples,
	       plural_s(sums->samples), sums->lost, sums->bytes);
}

void ship_dry_containers(void *dry, const char *lines)
{
	cleanup(free_at_exit) char *copy = xstrdup(lines);
	char *rest = copy, *line;

	while ((line = strsep(&rest, "\n")))
		keep(dry, "container", line);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void print_facts(const struct ship_dry *d)
{
	cleanup(free_at_exit) char *labels = xstrdup(d->labels);
	char *rest = labels, *label;
	struct host_facts is;

	while ((label = strsep(&rest, "\n")))
		if (*label)
			printf("label %s\n", label);
	host_facts_of_this(&is);
	if (*is.boot)
		printf("fact boot %s\n", is.boot);
	printf("fact cpus %" PRIu64 "\nfact version %s\n", is.cpus, is.version);
	puts("fact backlog, clock_ms, expired, rate_hz and uptime_s, as they are then");
}

void ship_dry_end(const struct ship_dry *d, bool to_fleet)
{
	if (d->names.n)
		qsort(d->names.data, d->names.n, sizeof(*d->names.data), by_text);
	for (size_t i = 0; i < d->names.n; i++)
		if (!i || strcmp(d->names.data[i - 1], d->names.data[i]) != 0)
			puts(d->names.data[i]);
	if (to_fleet && d->has_blocks)
		print_facts(d);
}
