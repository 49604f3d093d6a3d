/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/unfinished.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "fleet/batch_list.h"

#define DAY_NS    (86400 * NS_PER_SECOND)
#define KEPT_DAYS 730 /* as the table of coverage */

static char *unfinished_path(const char *fleet, bool leaves)
{
	return xasprintf("%s/.unfinished%s", fleet, leaves ? "-leaves" : "");
}

static int unfinished_read(const char *fleet, bool leaves, struct batch_list *out,
			   struct error *err)
{
	cleanup(free_at_exit) char *path = unfinished_path(fleet, leaves);
	int r = batch_list_read_file(path, out, err);

	return r < 0 ? error_wrap(err, r,
				  "remove the file, after 'assay fleet rebuild' of the days in it")
		     : r;
}

static int unfinished_write(const char *fleet, const struct batch_list *list, struct error *err)
{
	cleanup(free_at_exit) char *path = unfinished_path(fleet, list->leaves);

	if (list->blocks.n)
		return batch_list_write_file(fleet, path, list, err);
	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot remove %s", path);
	return 0;
}

static bool list_has(const struct batch_list *list, const struct listed_block *block)
{
	vec_foreach (&list->blocks, b)
		if (b->bucket == block->bucket && !strcmp(b->host, block->host) &&
		    !strcmp(b->part, block->part))
			return true;
	return false;
}

int unfinished_add(const char *fleet, const struct batch_list *list, struct error *err)
{
	struct batch_list old = { 0 }, all = { .leaves = list->leaves };
	uint64_t now = clock_wall_ns(), kept_ns = KEPT_DAYS * DAY_NS;
	int r = unfinished_read(fleet, list->leaves, &old, err);

	vec_foreach (&old.blocks, block)
		if (block->bucket + kept_ns > now)
			batch_list_add(&all, block->host, block->part, block->bucket);
	vec_foreach (&list->blocks, block)
		if (!list_has(&all, block))
			batch_list_add(&all, block->host, block->part, block->bucket);
	r = r < 0 ? r : unfinished_write(fleet, &all, err);
	batch_list_fini(&old);
	batch_list_fini(&all);
	return r;
}

int unfinished_find(const char *fleet, bool leaves, const char *host, uint64_t from_ns,
		    uint64_t to_ns, struct batch_list *out, struct error *err)
{
	struct batch_list all = { 0 };
	int r = unfinished_read(fleet, leaves, &all, err);

	vec_foreach (&all.blocks, block)
		if (block->bucket >= from_ns && block->bucket < to_ns && !strcmp(block->host, host))
			batch_list_add(out, block->host, block->part, block->bucket);
	batch_list_fini(&all);
	return MIN(r, 0);
}

static int unfinished_remove_day_of(const char *fleet, bool leaves, uint64_t day_s,
				    struct error *err)
{
	struct batch_list all = { 0 }, kept = { .leaves = leaves };
	uint64_t from_ns = day_s * NS_PER_SECOND;
	int r = unfinished_read(fleet, leaves, &all, err);

	vec_foreach (&all.blocks, block)
		if (block->bucket < from_ns || block->bucket >= from_ns + DAY_NS)
			batch_list_add(&kept, block->host, block->part, block->bucket);
	if (r > 0 && kept.blocks.n < all.blocks.n)
		r = unfinished_write(fleet, &kept, err);
	batch_list_fini(&all);
	batch_list_fini(&kept);
	return MIN(r, 0);
}

int unfinished_remove_day(const char *fleet, uint64_t day_s, struct error *err)
{
	int r = unfinished_remove_day_of(fleet, false, day_s, err);

	return r < 0 ? r : unfinished_remove_day_of(fleet, true, day_s, err);
}
