/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/fleet_forget.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "fleet/fleet_store.h"
#include "fleet/fleet_sums_make.h"
#include "fleet/service_choice.h"
#include "store/history/merge.h"

#define HIDDEN_PREFIX ".merge-forget-" /* retention removes what a crash leaves */

/* The note of a part that was written anew. Its hash may not be in .keys yet. */
#define NOTE "samples of some services were forgotten"

struct forgetting {
	const char *fleet, *host;
	const char *containers; /* the fleet whose hosts have names of containers */
	struct fleet_host *keys;
	struct service_choice *service;
	struct forgotten_service *out;
	bool has_new_hashes;
};

static const char *string_of(const struct segment *s, string_id id)
{
	return id.n < s->n_strings ? s->strings[id.n] : "";
}

static bool session_has_service(const struct session *s, struct service_choice *service)
{
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t c = 0; c < s->segments[i]->n_classes; c++) {
			const struct segment *of = s->segments[i];
			const struct profile_class *class = &of->classes[c];
			uint32_t app = class->app.n < of->n_images ? class->app.n : 0;

			if (service_choice_takes(service, of->images[app].path,
						 string_of(of, class->cgroup)))
				return true;
		}
	return false;
}

/* The new part takes the place of the old one, which has the hidden name then. */
static int exchange(const char *hidden, const char *path, struct error *err)
{
	int r = fleet_sync(hidden, err);
	cleanup(close_at_exit) int fd = open(hidden, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (r >= 0 && (fd < 0 || syncfs(fd) < 0))
		r = error_errno(err, -errno, "cannot write %s to the disk", hidden);
	if (r >= 0 && renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_EXCHANGE) < 0)
		r = error_errno(err, -errno, "cannot exchange %s", path);
	return r;
}

static int write_anew(struct forgetting *f, const struct session *s, const char *path,
		      const char *name, struct error *err)
{
	cleanup(free_at_exit) char *hidden =
		xasprintf("%s/%s/" HIDDEN_PREFIX "%s", f->fleet, f->host, name);
	const struct merge_config config = { .block_ns = MAX(s->info.block_ns, NS_PER_SECOND),
					     .replaces = s->info.replaces,
					     .overviews = OVERVIEWS_THAT_PAY,
					     .forgets = service_choice_takes,
					     .takes_context = f->service };
	struct merge_result result = { 0 };
	struct session of = *s;
	int r;

	of.info.note = NOTE;
	file_remove_tree(hidden, NULL);
	r = session_merge(&of, &config, hidden, &result, err);
	r = r < 0 ? r : exchange(hidden, path, err);
	file_remove_tree(hidden, NULL);
	if (r < 0)
		return r;
	f->out->n_parts++;
	f->out->samples += result.forgotten;
	return 0;
}

static int forget_in_part(struct forgetting *f, const char *name, struct error *err)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/%s/%s", f->fleet, f->host, name);
	cleanup(session_close_at_exit) struct session *s = NULL;
	bool was_forgotten;
	uint64_t hash;
	int r = session_open(path, &s, err);

	if (r < 0)
		return error_wrap(err, r, "the service may still be in %s", path);
	was_forgotten = s->info.note && !strcmp(s->info.note, NOTE);
	if (session_has_service(s, f->service))
		r = write_anew(f, s, path, name, err);
	else if (!was_forgotten)
		return 0;
	r = r < 0 ? r : fleet_block_hash(path, &hash, err);
	if (r >= 0)
		f->has_new_hashes |= fleet_host_rehash(f->keys, name, hash);
	return r;
}

/* A stop may have left old parts under hidden names. */
static int remove_hidden(const char *dir, struct error *err)
{
	const struct dirent *entry;
	DIR *d = opendir(dir);
	int r = 0;

	while (d && r >= 0 && (entry = readdir(d))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, entry->d_name);

		if (!strncmp(entry->d_name, HIDDEN_PREFIX, strlen(HIDDEN_PREFIX)))
			r = file_remove_tree(path, err);
	}
	if (d)
		closedir(d);
	return r;
}

static int forget_in_host(struct forgetting *f, struct error *err)
{
	cleanup(free_at_exit) char *dir = xasprintf("%s/%s", f->fleet, f->host);
	cleanup(free_at_exit) char *containers = fleet_containers_file(f->containers, f->host);
	struct history_names names = { 0 };
	int r = fleet_host_await(f->fleet, f->host, FLEET_FORGET_MS, &f->keys, err), written;

	if (r < 0)
		return r;
	service_choice_name(f->service, containers);
	r = history_list(dir, &names);
	if (r < 0)
		r = error_errno(err, r, "cannot read %s", dir);
	r = r < 0 ? r : remove_hidden(dir, err);
	for (size_t i = 0; i < names.n && r >= 0; i++)
		r = forget_in_part(f, names.data[i], err);
	written = f->has_new_hashes ? fleet_host_write_keys(f->keys, r < 0 ? NULL : err) : 0;
	fleet_host_close(f->keys);
	history_names_fini(&names);
	return r < 0 ? r : written;
}

static int forget_in_fleet(const char *fleet, const char *containers, const char *service,
			   struct forgotten_service *out, struct error *err)
{
	struct history_names hosts = { 0 };
	int r = fleet_hosts(fleet, &hosts, err);

	for (size_t i = 0; i < hosts.n && r >= 0; i++) {
		struct forgetting f = { .fleet = fleet,
					.host = hosts.data[i],
					.containers = containers,
					.service = service_choice_new(service),
					.out = out };

		r = forget_in_host(&f, err);
		service_choice_free(f.service);
	}
	history_names_fini(&hosts);
	return r;
}

bool fleet_service_is_one(const char *service)
{
	return *service && !strpbrk(service, "*?[\\\n");
}

int fleet_forget_service(const char *fleet, const char *service, struct forgotten_service *out,
			 struct error *err)
{
	cleanup(free_at_exit) char *leaves = fleet_leaves(fleet);
	cleanup(close_at_exit) int sums = fleet_sums_lock(fleet, FLEET_FORGET_MS, err);
	int r = sums;

	r = r < 0 ? r : fleet_sums_forget(fleet, NULL, err);
	r = r < 0 ? r : forget_in_fleet(fleet, fleet, service, out, err);
	if (r >= 0 && fleet_is_at(leaves))
		r = forget_in_fleet(leaves, fleet, service, out, err);
	return r;
}
