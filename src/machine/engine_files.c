/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/engine_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files/file.h"
#include "base/mem.h"
#include "guard/open.h"
#include "machine/podman_pods.h"
#include "machine/storage_places.h"

#define ROOTS_LIMIT    (4 << 20)
#define OTHERS_LIMIT   (256 << 10)
#define DATABASE_LIMIT (1 << 30)
#define ENTRIES_LIMIT  65536
#define SPACES_LIMIT   16 /* namespaces of containerd */
#define USERS_LIMIT    256

/* The names from a file or folder, and the state of that file or folder. */
struct source {
	char *path;
	void (*read)(struct source *s);
	int64_t user; /* of a storage: its user, or STORAGES_OF_ROOT */
	bool is_of_pods;
	struct timespec mtime;
	off_t size;
	ino_t ino;
	struct container_names *names; /* NULL: not there */
};

struct engine_files {
	char *root;
	VEC(struct source) storages;
	VEC(int64_t) users; /* users with listed storages */
	struct source logs, pods;
	struct container_names *single; /* from files of one container */
};

/* ---- parsers ---- */

void engine_parse_storage(struct container_names *n, const char *json, size_t size)
{
	json_t *all = json_loadb(json, size, 0, NULL);

	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *one = json_array_get(all, i);
		const char *id = json_string_value(json_object_get(one, "id"));
		const char *name =
			json_string_value(json_array_get(json_object_get(one, "names"), 0));

		if (id && name)
			container_names_put(n, id, name);
	}
	json_decref(all);
}

void engine_parse_docker(struct container_names *n, const char *id, const char *json, size_t size)
{
	json_t *all = json_loadb(json, size, 0, NULL);
	const char *name = json_string_value(json_object_get(all, "Name"));

	if (name)
		container_names_put(n, id, name + (*name == '/'));
	json_decref(all);
}

void engine_parse_containerd(struct container_names *n, const char *id, const char *json,
			     size_t size)
{
	static const char *const keys[] = { "io.kubernetes.cri.container-name", "nerdctl/name" };
	json_t *all = json_loadb(json, size, 0, NULL);
	const json_t *notes = json_object_get(all, "annotations");

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const char *name = json_string_value(json_object_get(notes, keys[i]));

		if (name && container_names_put(n, id, name))
			break;
	}
	json_decref(all);
}

void engine_parse_log(struct container_names *n, const char *file)
{
	static const char tail[] = ".log";
	cleanup(free_at_exit) char *text = xstrdup(file);
	char *end = text + strlen(text), *id, *name;

	if (end - text <= (ptrdiff_t)strlen(tail) || strcmp(end - strlen(tail), tail) != 0)
		return;
	end[-(ptrdiff_t)strlen(tail)] = '\0';
	id = strrchr(text, '-');
	if (!id)
		return;
	*id++ = '\0';
	name = strrchr(text, '_');
	if (name)
		container_names_put(n, id, name + 1);
}

void engine_parse_pod(struct container_names *n, const char *dir)
{
	cleanup(free_at_exit) char *text = xstrdup(dir);
	char *pod = strchr(text, '_'), *uid = strrchr(text, '_');

	if (!pod || uid == pod)
		return;
	*pod = '/';
	*uid++ = '\0';
	container_names_put(n, uid, text);
}

/* ---- files ---- */

struct engine_files *engine_files_new(const char *root)
{
	struct engine_files *f = xcalloc(1, sizeof(*f));

	f->root = xstrdup(root);
	f->logs.path = xasprintf("%s/var/log/containers", root);
	f->pods.path = xasprintf("%s/var/log/pods", root);
	f->single = container_names_new();
	return f;
}

static void source_fini(struct source *s)
{
	container_names_free(s->names);
	free(s->path);
}

void engine_files_free(struct engine_files *f)
{
	if (!f)
		return;
	vec_foreach (&f->storages, s)
		source_fini(s);
	vec_fini(&f->storages);
	vec_fini(&f->users);
	source_fini(&f->logs);
	source_fini(&f->pods);
	container_names_free(f->single);
	free(f->root);
	free(f);
}

/*
 * Opens a file of a user's storage, or of an engine of root or of assay's own user. A user could
 * make a folder of his storage a link to another storage, so its files must be his own.
 */
static int open_engine_file(const char *path, int64_t user, struct stat *st)
{
	const struct guard_rules rules = {
		.max_bytes = DATABASE_LIMIT,
		.owner = user == STORAGES_OF_ROOT ? geteuid() : (uint32_t)user,
		.is_link_refused = true,
	};
	int fd = guard_open(GUARD_HERE, path, &rules, NULL);

	if (fd >= 0 && (fstat(fd, st) < 0 || (user > 0 && st->st_uid != (uid_t)user))) {
		close(fd);
		return -EACCES;
	}
	return fd;
}

/* NULL: not a file to read. */
static char *read_engine_file(const char *path, int64_t user, size_t *size)
{
	struct stat st;
	cleanup(close_at_exit) int fd = open_engine_file(path, user, &st);
	char *text;

	if (fd < 0 || file_read_fd(fd, st.st_uid ? OTHERS_LIMIT : ROOTS_LIMIT, &text, size) < 0)
		return NULL;
	return text;
}

static void read_storage(struct source *s)
{
	size_t size;
	cleanup(free_at_exit) char *json = read_engine_file(s->path, s->user, &size);

	if (json)
		engine_parse_storage(s->names, json, size);
}

/* Reads its pages on demand: a database file stays as long as it once was. */
static void read_database(struct source *s)
{
	struct stat st;
	cleanup(close_at_exit) int fd = open_engine_file(s->path, s->user, &st);
	struct file_mapping file = { 0 };

	if (fd < 0 || file_map_fd(fd, s->path, &file, NULL) < 0)
		return;
	podman_parse_pods(s->names, file.base, file.size);
	file_unmap(&file);
}

static void read_folder(struct source *s,
			void (*parse)(struct container_names *n, const char *entry))
{
	DIR *dir = opendir(s->path);
	const struct dirent *entry;

	for (int i = 0; dir && i < ENTRIES_LIMIT && (entry = readdir(dir)); i++)
		parse(s->names, entry->d_name);
	if (dir)
		closedir(dir);
}

/* Whether the source must be read again; then its names are emptied. */
static bool reset_if_changed(struct source *s)
{
	struct stat st;

	if (lstat(s->path, &st) < 0) {
		container_names_free(s->names);
		s->names = NULL;
		return false;
	}
	if (s->names && st.st_mtim.tv_sec == s->mtime.tv_sec &&
	    st.st_mtim.tv_nsec == s->mtime.tv_nsec && st.st_size == s->size && st.st_ino == s->ino)
		return false;
	container_names_free(s->names);
	s->names = container_names_new();
	s->mtime = st.st_mtim;
	s->size = st.st_size;
	s->ino = st.st_ino;
	return true;
}

static const char *source_find_name(const struct source *s, const char *id)
{
	return s->names ? container_names_find(s->names, id) : NULL;
}

/* ---- engines ---- */

static void list_storage(struct engine_files *f, const char *storage, int64_t user)
{
	static const char *const drivers[] = { "overlay", "vfs", "btrfs" };
	static const char *const files[] = { "containers", "volatile-containers" };
	static const char *const databases[] = { "db.sql", "libpod/db.sql",
						 "libpod/bolt_state.db" };

	for (size_t i = 0; i < ARRAY_SIZE(drivers) * ARRAY_SIZE(files); i++) {
		struct source s = { .path = xasprintf("%s/%s-containers/%s.json", storage,
						      drivers[i / ARRAY_SIZE(files)],
						      files[i % ARRAY_SIZE(files)]),
				    .read = read_storage,
				    .user = user };

		vec_push(&f->storages, s);
	}
	for (size_t i = 0; i < ARRAY_SIZE(databases); i++) {
		struct source s = { .path = xasprintf("%s/%s", storage, databases[i]),
				    .read = read_database,
				    .user = user,
				    .is_of_pods = true };

		vec_push(&f->storages, s);
	}
}

/* Storages of root and of assay's user, or of one user. Each is listed once. */
static void list_storages(struct engine_files *f, int64_t user)
{
	struct storage_places places = { 0 };
	const char *home = user == STORAGES_OF_ROOT ? getenv("HOME") : NULL;

	vec_foreach (&f->users, known)
		if (*known == user)
			return;
	if (f->users.n >= USERS_LIMIT)
		return;
	vec_push(&f->users, user);
	storage_places_find(&places, f->root, user);
	if (home && *home == '/')
		vec_push(&places.paths,
			 xasprintf("%s%s/.local/share/containers/storage", f->root, home));
	vec_foreach (&places.paths, path)
		list_storage(f, *path, user);
	storage_places_fini(&places);
}

static const char *find_in_storages_of(struct engine_files *f, int64_t user, bool is_pod,
				       const char *id)
{
	list_storages(f, user);
	vec_foreach (&f->storages, s) {
		const char *name;

		if (s->user != user || s->is_of_pods != is_pod)
			continue;
		if (reset_if_changed(s))
			s->read(s);
		name = source_find_name(s, id);
		if (name)
			return name;
	}
	return NULL;
}

static const char *find_in_storages(struct engine_files *f, const struct cgroup_names *names,
				    bool is_pod, const char *id)
{
	const char *name =
		names->user >= 0 ? find_in_storages_of(f, names->user, is_pod, id) : NULL;

	return name ? name : find_in_storages_of(f, STORAGES_OF_ROOT, is_pod, id);
}

static const char *find_in_storage(struct engine_files *f, const struct cgroup_names *names)
{
	return find_in_storages(f, names, false, names->container);
}

static const char *find_in_file(struct engine_files *f, const char *path, const char *id,
				void (*parse)(struct container_names *n, const char *id,
					      const char *json, size_t size))
{
	size_t size;
	cleanup(free_at_exit) char *json = read_engine_file(path, STORAGES_OF_ROOT, &size);

	if (!json)
		return NULL;
	container_names_free(f->single);
	f->single = container_names_new();
	parse(f->single, id, json, size);
	return container_names_find(f->single, id);
}

static const char *find_in_docker(struct engine_files *f, const struct cgroup_names *names)
{
	const char *id = names->container;
	cleanup(free_at_exit) char *path =
		xasprintf("%s/var/lib/docker/containers/%s/config.v2.json", f->root, id);

	return find_in_file(f, path, id, engine_parse_docker);
}

static const char *find_in_containerd(struct engine_files *f, const struct cgroup_names *names)
{
	const char *id = names->container;
	cleanup(free_at_exit) char *top =
		xasprintf("%s/run/containerd/io.containerd.runtime.v2.task", f->root);
	DIR *dir = opendir(top);
	const struct dirent *entry;
	const char *name = NULL;

	for (int i = 0; dir && !name && i < SPACES_LIMIT && (entry = readdir(dir)); i++) {
		cleanup(free_at_exit) char *path =
			xasprintf("%s/%s/%s/config.json", top, entry->d_name, id);

		if (entry->d_name[0] != '.')
			name = find_in_file(f, path, id, engine_parse_containerd);
	}
	if (dir)
		closedir(dir);
	return name;
}

static const char *find_in_logs(struct engine_files *f, const struct cgroup_names *names)
{
	if (reset_if_changed(&f->logs))
		read_folder(&f->logs, engine_parse_log);
	return source_find_name(&f->logs, names->container);
}

/* All engines are searched if the path does not name the engine. */
static const struct {
	const char *runtimes;
	const char *(*find)(struct engine_files *f, const struct cgroup_names *names);
} engines[] = {
	{ "cri containerd crio docker", find_in_logs },
	{ "podman crio cri oci", find_in_storage },
	{ "containerd cri oci", find_in_containerd },
	{ "docker cri oci", find_in_docker },
};

/* Ids become parts of paths. */
static bool is_plain_id(const char *id)
{
	return strlen(id) == 64 && strspn(id, "0123456789abcdef") == 64;
}

static bool has_word(const char *words, const char *word)
{
	size_t len = strlen(word);

	for (const char *at = words; len && (at = strstr(at, word)); at += len)
		if ((at == words || at[-1] == ' ') && (!at[len] || at[len] == ' '))
			return true;
	return false;
}

const char *engine_files_container(struct engine_files *f, const struct cgroup_names *names)
{
	if (!is_plain_id(names->container))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
		const char *name = has_word(engines[i].runtimes, names->runtime)
					   ? engines[i].find(f, names)
					   : NULL;

		if (name)
			return name;
	}
	return NULL;
}

const char *engine_files_pod(struct engine_files *f, const struct cgroup_names *names)
{
	if (!*names->qos)
		return is_plain_id(names->pod) ? find_in_storages(f, names, true, names->pod)
					       : NULL;
	if (reset_if_changed(&f->pods))
		read_folder(&f->pods, engine_parse_pod);
	return source_find_name(&f->pods, names->pod);
}
