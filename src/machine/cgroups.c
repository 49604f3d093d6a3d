/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/cgroups.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "guard/opener.h"

#define HANDLE_OF_KERNFS 0xfe /* FILEID_KERNFS: the number follows */
#define WALK_EVERY_S     10
#define WALK_DEPTH       64
#define PROC_LIMIT       65536

struct cgroups {
	struct strings *strings;
	struct intmap paths; /* by number: string id; 0: not found */
	string_id root;
	char *proc; /* NULL: offline */
	struct {
		char *mount;     /* NULL: there is none */
		time_t walked_s; /* CLOCK_MONOTONIC; 0: not yet */
	} domains[N_CGROUP_DOMAINS];
	enum cgroup_domain of_perf; /* the domain of CGROUP_OF_PERF */
	uint64_t last;              /* the last number found, which is mostly the next one too */
	string_id last_path;
};

/* The mount point of v2, which is alone or beside v1. */
static char *find_mount(const char *sys)
{
	static const char *const places[] = { "fs/cgroup", "fs/cgroup/unified" };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *mount = xasprintf("%s/%s", sys, places[i]);
		cleanup(free_at_exit) char *mark = xasprintf("%s/cgroup.controllers", mount);

		if (access(mark, F_OK) == 0)
			return mount;
		free(mount);
	}
	return NULL;
}

static const char *const v1_names[] = {
#define X(name, mount) mount,
	CGROUP_V1_HIERARCHIES(X)
#undef X
};

/* A v1 directory has a file "tasks"; v2 has none. */
static char *find_v1_mount(const char *sys, const char *name)
{
	char *mount = xasprintf("%s/fs/cgroup/%s", sys, name);
	cleanup(free_at_exit) char *mark = xasprintf("%s/tasks", mount);

	if (access(mark, F_OK) == 0)
		return mount;
	free(mount);
	return NULL;
}

/* "perf_event HIERARCHY …"; HIERARCHY is 0 for v2. */
static bool is_perf_of_v1(const char *proc)
{
	cleanup(free_at_exit) char *name = xasprintf("%s/cgroups", proc), *text = NULL;
	unsigned int hierarchy = 0;
	const char *line;

	if (file_read_all(name, PROC_LIMIT, &text, NULL) < 0)
		return false;
	line = strstr(text, "\nperf_event");
	return line && sscanf(line, " perf_event %u", &hierarchy) == 1 && hierarchy;
}

struct cgroups *cgroups_new(const char *proc, const char *sys, struct strings *strings)
{
	struct cgroups *c = xcalloc(1, sizeof(*c));

	c->strings = strings;
	c->proc = proc ? xstrdup(proc) : NULL;
	c->of_perf = CGROUP_V2;
	c->domains[CGROUP_V2].mount = sys ? find_mount(sys) : NULL;
	for (size_t i = 0; i < ARRAY_SIZE(v1_names) && sys; i++)
		c->domains[CGROUP_V2 + 1 + i].mount = find_v1_mount(sys, v1_names[i]);
	if (proc && is_perf_of_v1(proc))
		c->of_perf = CGROUP_V1_perf_event;
	c->root = strings_add(strings, "/");
	return c;
}

void cgroups_free(struct cgroups *c)
{
	if (!c)
		return;
	intmap_fini(&c->paths);
	free(c->proc);
	for (size_t i = 0; i < N_CGROUP_DOMAINS; i++)
		free(c->domains[i].mount);
	free(c);
}

bool cgroups_is_root(const struct cgroups *c, string_id path)
{
	return path.n == c->root.n;
}

/* The number with its final domain. */
static uint64_t cgroup_number(const struct cgroups *c, uint64_t id)
{
	return id >> CGROUP_DOMAIN_SHIFT == CGROUP_OF_PERF ? CGROUP_NUMBER(c->of_perf, id) : id;
}

static void put_path(struct cgroups *c, uint64_t id, const char *path)
{
	*intmap_put(&c->paths, id, NULL) = strings_add(c->strings, *path ? path : "/").n;
	c->last = 0;
}

void cgroups_add(struct cgroups *c, uint64_t id, const char *path)
{
	put_path(c, cgroup_number(c, id), path);
}

/* ---- looking in the file system ---- */

static bool find_by_handle(struct cgroups *c, enum cgroup_domain domain, uint64_t id)
{
	union {
		struct file_handle handle;
		uint8_t bytes[sizeof(struct file_handle) + sizeof(id)];
	} h = { .handle = { .handle_bytes = sizeof(id), .handle_type = HANDLE_OF_KERNFS } };
	const char *top = c->domains[domain].mount;
	cleanup(close_at_exit) int mount = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup(close_at_exit) int fd = -1;
	char link[64], path[8192];
	uint64_t number = id & CGROUP_NUMBER_MASK;
	size_t skip = strlen(top);
	ssize_t n;

	memcpy(h.handle.f_handle, &number, sizeof(number));
	if (mount < 0)
		return false;
	fd = open_by_handle_at(mount, &h.handle, O_PATH | O_CLOEXEC);
	if (fd < 0)
		fd = opener_cgroup(mount, number, -errno);
	if (fd < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < (ssize_t)skip || strncmp(path, top, skip) != 0)
		return false;
	path[n] = '\0';
	put_path(c, id, path + skip);
	return true;
}

/* Adds all directories below. `path` is the path of the open one, without the mount point. */
static void walk_below(struct cgroups *c, enum cgroup_domain domain, int fd, struct buf *path,
		       int depth)
{
	size_t len = path->len;
	DIR *dir = fdopendir(fd);
	const struct dirent *entry;

	if (!dir) {
		close(fd);
		return;
	}
	while ((entry = readdir(dir))) {
		int below;

		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		path->len = len;
		buf_printf(path, "/%s", entry->d_name);
		put_path(c, CGROUP_NUMBER(domain, entry->d_ino), buf_cstr(path));
		below = openat(dirfd(dir), entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (below >= 0 && depth < WALK_DEPTH)
			walk_below(c, domain, below, path, depth + 1);
		else if (below >= 0)
			close(below);
	}
	path->len = len;
	closedir(dir);
}

/* At most every 10 seconds, even if many cgroups have gone. */
static void walk_hierarchy(struct cgroups *c, enum cgroup_domain domain)
{
	struct buf path = { 0 };
	struct timespec now;
	time_t *walked_s = &c->domains[domain].walked_s;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (*walked_s && now.tv_sec - *walked_s < WALK_EVERY_S)
		return;
	*walked_s = now.tv_sec;
	fd = open(c->domains[domain].mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		walk_below(c, domain, fd, &path, 0);
	buf_fini(&path);
}

static string_id find_in_file_system(struct cgroups *c, uint64_t id)
{
	uint64_t domain = id >> CGROUP_DOMAIN_SHIFT;
	const uint32_t *at = intmap_find(&c->paths, id);

	if (at)
		return (string_id){ *at };
	if (domain < N_CGROUP_DOMAINS && c->domains[domain].mount &&
	    !find_by_handle(c, (enum cgroup_domain)domain, id))
		walk_hierarchy(c, (enum cgroup_domain)domain);
	return (string_id){ *intmap_put(&c->paths, id, NULL) };
}

string_id cgroups_find(struct cgroups *c, uint64_t id)
{
	if (!id)
		return (string_id){ 0 };
	if (id != c->last) {
		c->last_path = find_in_file_system(c, cgroup_number(c, id));
		c->last = id;
	}
	return c->last_path;
}

/* ---- /proc ---- */

/* The rank of a hierarchy as the source of a path: 0 is best. */
static int rank_of(const char *number, const char *controllers)
{
	if (!strcmp(number, "0") && !*controllers)
		return 0;
	return strcmp(controllers, "name=systemd") ? 2 : 1;
}

string_id cgroups_of_process(struct cgroups *c, int32_t pid)
{
	static const char gone[] = " (deleted)";
	cleanup(free_at_exit) char *text = NULL, *name = NULL;
	const char *best = NULL;
	int best_rank = 3;
	char *rest;

	if (!c->proc || pid <= 0)
		return (string_id){ 0 };
	name = xasprintf("%s/%d/cgroup", c->proc, pid);
	if (file_read_all(name, PROC_LIMIT, &text, NULL) < 0)
		return (string_id){ 0 };
	rest = text;
	for (char *line; (line = strsep(&rest, "\n"));) {
		const char *number = strsep(&line, ":");
		const char *controllers = strsep(&line, ":");
		int rank;

		if (!line || *line != '/')
			continue;
		if (!best)
			best = "/";
		rank = rank_of(number, controllers);
		if (rank >= best_rank || !line[1])
			continue;
		if (strlen(line) > strlen(gone) &&
		    !strcmp(line + strlen(line) - strlen(gone), gone))
			line[strlen(line) - strlen(gone)] = '\0';
		best = line;
		best_rank = rank;
	}
	return best ? strings_add(c->strings, best) : (string_id){ 0 };
}
