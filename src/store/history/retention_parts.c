/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/history/retention_parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "store/history/merge.h"
#include "store/history/pack.h"
#include "store/session_join.h"

#define MERGE_PREFIX ".merge-"
#define GONE_PREFIX  ".gone-"

static void at_step(const struct retained_parts *p, enum retention_step step, const char *part)
{
	if (p->policy->at_step)
		p->policy->at_step(p->policy->context, step, part);
}

/*
 * Syncs the whole file system, because a merged part is many files. They must be on disk before the
 * replaced parts are removed.
 */
static int sync_all(const char *dir, struct error *err)
{
	cleanup(close_at_exit) int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0 || syncfs(fd) < 0)
		return error_errno(err, -errno, "cannot write %s to the disk", dir);
	return 0;
}

/* ---- the list of parts ---- */

static bool starts_with(const char *name, const char *prefix)
{
	return !strncmp(name, prefix, strlen(prefix));
}

static int remove_leftovers(const char *dir, struct error *err)
{
	DIR *d = opendir(dir);
	const struct dirent *entry;
	int r = 0;

	if (!d)
		return error_errno(err, -errno, "cannot read %s", dir);
	while (!r && (entry = readdir(d))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, entry->d_name);

		if (starts_with(entry->d_name, MERGE_PREFIX) ||
		    starts_with(entry->d_name, GONE_PREFIX))
			r = file_remove_tree(path, err);
	}
	closedir(d);
	return r;
}

uint64_t part_written_ns(const char *path)
{
	cleanup(free_at_exit) char *current = xasprintf("%s/samples/current", path);
	uint64_t last = 0;
	DIR *d = opendir(current);
	const struct dirent *entry;

	while (d && (entry = readdir(d))) {
		struct stat st;
		uint64_t ns;

		if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		ns = timespec_ns(st.st_mtim);
		last = MAX(last, ns);
	}
	if (d)
		closedir(d);
	return last;
}

static uint64_t last_sample_ns(const struct session *s)
{
	uint64_t last = s->info.start_ns;

	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++)
			last = MAX(last, s->segments[i]->blocks[b].last_ns);
	return session_wall_ns(&s->info, last);
}

static struct session *try_to_open(struct retained_part *part, const char *path)
{
	struct session *s = NULL;
	int r = session_open(path, &s, NULL);

	if (r >= 0 && s->info.start_wall_ns)
		return s;
	session_close(s);
	part->is_damaged = true;
	part->is_newer = r == -EPROTONOSUPPORT;
	return NULL;
}

bool retained_try_to_open(const struct retained_parts *p, struct retained_part *part)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", p->dir, part->name);
	cleanup(session_close_at_exit) struct session *s = try_to_open(part, path);

	return s != NULL;
}

/* Finds the times of a part without an end from its samples. */
static void look_inside(struct retained_part *part, const char *path)
{
	cleanup(session_close_at_exit) struct session *s = try_to_open(part, path);

	if (!s)
		return;
	part->first_ns = s->info.start_wall_ns;
	part->last_ns = MAX(last_sample_ns(s), part->first_ns);
	part->block_ns = MAX(s->info.block_ns, NS_PER_SECOND);
}

static bool history_names_has(const struct history_names *names, const char *name)
{
	vec_foreach (names, n)
		if (!strcmp(*n, name))
			return true;
	return false;
}

static bool is_written(const struct retention_policy *policy, const char *name)
{
	return policy->over ? !history_names_has(policy->over, name)
			    : policy->active && !strcmp(name, policy->active);
}

static void retained_parts_add(struct retained_parts *p, char *name)
{
	struct retained_part *part = vec_add(&p->parts);
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", p->dir, name);
	struct part_extent extent;

	part->name = name;
	part->bytes = file_tree_bytes(path);
	history_part_time(name, &part->first_ns);
	part->last_ns = part->first_ns;
	if (is_written(p->policy, name)) {
		part->is_active = true;
	} else if (history_extent(path, &extent)) {
		part->first_ns = extent.first_ns;
		part->last_ns = extent.last_ns;
		part->block_ns = MAX(extent.block_ns, NS_PER_SECOND);
	} else if (!p->policy->active && !p->policy->over &&
		   part_written_ns(path) + PART_ABANDONED_NS > p->now_ns) {
		part->is_active = true;
	} else {
		look_inside(part, path);
	}
}

/*
 * The list of the parts that one replaces. A part without an end was never merged, so it replaces
 * none.
 */
static char *replaced_by(const struct retained_parts *p, const struct retained_part *part)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", p->dir, part->name);
	struct session_info info;
	struct session_end end;
	char *names = NULL;

	return session_extent(path, &info, &end, &names) < 0 ? NULL : names;
}

static struct retained_part *find_part(struct retained_parts *p, const char *name)
{
	vec_foreach (&p->parts, part)
		if (!strcmp(part->name, name))
			return part;
	return NULL;
}

static int remove_replaced(struct retained_parts *p, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < p->parts.n && r >= 0; i++) {
		cleanup(free_at_exit) char *names = replaced_by(p, &p->parts.data[i]);
		char *rest = names, *name;

		while (rest && r >= 0 && (name = strsep(&rest, " "))) {
			struct retained_part *old = find_part(p, name);

			if (old && old != &p->parts.data[i] && !old->is_gone)
				r = retained_remove(p, old, err);
		}
	}
	return r;
}

int retained_parts_init(struct retained_parts *p, struct error *err)
{
	struct history_names names = { 0 };
	int r = remove_leftovers(p->dir, err);

	if (r < 0)
		return r;
	r = history_list(p->dir, &names);
	if (r < 0)
		return error_errno(err, r, "cannot read %s", p->dir);
	vec_foreach (&names, name)
		retained_parts_add(p, take_ptr(*name));
	history_names_fini(&names);
	return remove_replaced(p, err);
}

void retained_parts_fini(struct retained_parts *p)
{
	vec_foreach (&p->parts, part)
		free(part->name);
	vec_fini(&p->parts);
}

uint64_t retained_bytes(const struct retained_parts *p)
{
	uint64_t sum = 0;

	vec_foreach (&p->parts, part)
		sum += part->is_gone ? 0 : part->bytes;
	return sum;
}

/* ---- steps ---- */

int retained_remove(struct retained_parts *p, struct retained_part *part, struct error *err)
{
	cleanup(free_at_exit) char *from = xasprintf("%s/%s", p->dir, part->name);
	cleanup(free_at_exit) char *to = xasprintf("%s/" GONE_PREFIX "%s", p->dir, part->name);
	int r;

	file_remove_tree(to, NULL);
	if (rename(from, to) < 0)
		return error_errno(err, -errno, "cannot rename %s to %s", from, to);
	part->is_gone = true;
	at_step(p, RETENTION_HIDDEN, part->name);
	r = file_remove_tree(to, err);
	at_step(p, RETENTION_REMOVED, part->name);
	return r;
}

int retained_pack(const struct retained_parts *p, struct retained_part *part, bool keeps_times,
		  struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", p->dir, part->name);
	int r = part_pack(path, true, keeps_times, &p->policy->overviews, err);

	if (r > 0)
		part->bytes = file_tree_bytes(path);
	return r;
}

/* ---- merging ---- */

static bool takes_none(void *context, const struct block_span *span)
{
	(void)context;
	(void)span;
	return false;
}

static bool takes_level(void *context, uint64_t level_ns, uint64_t first_ns, uint64_t last_ns)
{
	const uint64_t *wanted_ns = context;

	(void)first_ns;
	(void)last_ns;
	return level_ns == *wanted_ns;
}

static bool session_has_samples(const struct session *s)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		if (s->segments[i]->n_blocks)
			return true;
	return false;
}

/* Opens a part for merging: its overview of the level if it has one, else its blocks. */
static int open_source(const struct retained_parts *p, const struct retained_part *part,
		       size_t level, struct session **out, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s", p->dir, part->name);
	uint64_t level_ns = history_levels[level].block_ns;
	const struct block_filter filter = { .takes = takes_none,
					     .takes_overview = takes_level,
					     .context = &level_ns,
					     .until_ns = UINT64_MAX };

	if (part->block_ns < level_ns && session_open_blocks(path, &filter, out, NULL) >= 0) {
		if (!(*out)->warnings.n && session_has_samples(*out))
			return 0;
		session_close(*out);
	}
	return session_open(path, out, err);
}

static int open_merge_sources(const struct retained_parts *p, const uint32_t *which, uint32_t n,
			      size_t level, struct session **out, struct error *err)
{
	struct session **parts = xcalloc(n + 1, sizeof(*parts));
	uint32_t n_open = 0;
	int r = 0;

	for (; n_open < n && r >= 0; n_open += r >= 0)
		r = open_source(p, &p->parts.data[which[n_open]], level, &parts[n_open], err);
	if (r >= 0) {
		r = session_join(parts, n, true, out, err);
	} else {
		while (n_open-- > 0)
			session_close(parts[n_open]);
	}
	free(parts);
	return r;
}

/* Returns 12 for "…Z-12", and 1 for "…Z". */
static unsigned int part_name_number(const char *name)
{
	const char *dash = strchr(name, '-');

	return dash ? (unsigned int)strtoul(dash + 1, NULL, 10) : 1;
}

/*
 * Makes a part name for this start that is free and was not used before: a part that is being
 * removed may replace an earlier part of that name.
 */
static void free_name(const struct retained_parts *p, const uint32_t *which, uint32_t n,
		      uint64_t start_ns, char name[static HISTORY_NAME_SIZE])
{
	unsigned int number = 1;

	for (uint32_t i = 0; i < n; i++)
		number = MAX(number, part_name_number(p->parts.data[which[i]].name));
	for (;; number++) {
		cleanup(free_at_exit) char *path = NULL;

		history_part_name(start_ns, number, name);
		path = xasprintf("%s/%s", p->dir, name);
		if (access(path, F_OK) < 0)
			return;
	}
}

static int put_in_place(struct retained_parts *p, const char *made, const char *name,
			struct error *err)
{
	cleanup(free_at_exit) char *to = xasprintf("%s/%s", p->dir, name);
	struct retained_part *part;
	struct part_extent extent = { 0 };
	int r = sync_all(made, err);

	if (r < 0)
		return r;
	at_step(p, RETENTION_WRITTEN, name);
	if (rename(made, to) < 0)
		return error_errno(err, -errno, "cannot rename %s to %s", made, to);
	r = sync_all(p->dir, err);
	history_extent(to, &extent);
	part = vec_add(&p->parts);
	*part = (struct retained_part){ .name = xstrdup(name),
					.first_ns = extent.first_ns,
					.last_ns = extent.last_ns,
					.block_ns = extent.block_ns,
					.bytes = file_tree_bytes(to) };
	at_step(p, RETENTION_NAMED, name);
	return r;
}

int retained_merge(struct retained_parts *p, const uint32_t *which, uint32_t n, size_t level,
		   struct retention_result *result, struct error *err)
{
	const struct retention_tier *tier = &p->policy->tiers[level];
	struct merge_config config = { .block_ns = history_levels[level].block_ns,
				       .merged = tier->merged,
				       .min_share = tier->min_share,
				       .overviews = p->policy->overviews };
	cleanup(session_close_at_exit) struct session *s = NULL;
	cleanup(free_at_exit) char *made = NULL;
	struct merge_result merged = { 0 };
	struct buf replaces = { 0 };
	char name[HISTORY_NAME_SIZE];
	int r = open_merge_sources(p, which, n, level, &s, err);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < n; i++)
		buf_printf(&replaces, "%s%s", i ? " " : "", p->parts.data[which[i]].name);
	config.replaces = buf_cstr(&replaces);
	free_name(p, which, n, s->info.start_wall_ns, name);
	made = xasprintf("%s/" MERGE_PREFIX "%s", p->dir, name);
	r = session_merge(s, &config, made, &merged, err);
	buf_fini(&replaces);
	if (r >= 0)
		r = put_in_place(p, made, name, err);
	if (r < 0) {
		file_remove_tree(made, NULL);
		return r;
	}
	result->n_made++;
	result->n_merged += n;
	result->samples_cut += merged.cut;
	for (uint32_t i = 0; i < n && r >= 0; i++)
		r = retained_remove(p, &p->parts.data[which[i]], err);
	return r;
}
