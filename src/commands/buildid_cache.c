/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * assay buildid-cache: the folder in which perf and assay keep files by build id.
 *
 *   DIR/PATH/BUILDID/elf              the file that was at PATH
 *   DIR/.build-id/XX/YYYY…            a link to the folder DIR/PATH/BUILDID; XXYYYY… is the build
 *                                     id
 *   DIR/[kernel.kcore]/BUILDID/TIME   copies of kernels (symbol/kernel/kcore_cache.h)
 */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/build_id.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/strings.h"
#include "cli/command.h"
#include "cli/output.h"
#include "commands/build_ids.h"
#include "commands/buildid_kcore.h"
#include "elf/elf_file.h"
#include "symbol/finder.h"
#include "symbol/kernel/kcore_cache.h"

#define LINKS ".build-id"
/* From a link's folder to the cache. */
#define UP "../../"

struct cache_args {
	struct option_list add, remove, update, purge;
	const char *missing, *dir, *kcore;
	bool list, purge_all, verbose;
};

#define FIELD(f) offsetof(struct cache_args, f)
static const struct option_spec cache_options[] = {
	{ 'a', "add", "FILES", OPT_LIST, FIELD(add), NULL, "keep these files, comma-separated" },
	{ 'u', "update", "FILES", OPT_LIST, FIELD(update), NULL,
	  "keep these files, in the place of kept ones with the same build id" },
	{ 'r', "remove", "FILES", OPT_LIST, FIELD(remove), NULL,
	  "remove what is kept with the build ids of these files",
	  "That includes the copies of a kernel (*--kcore*). For the running kernel, name "
	  "_/proc/kcore_." },
	{ 'p', "purge", "PATHS", OPT_LIST, FIELD(purge), NULL,
	  "remove all builds of the files that were at these paths",
	  "_[kernel.kcore]_ are all copies of kernels, and _[kernel.kcore]/TIME_ is one of them, "
	  "as *--list* has it." },
	{ 'P', "purge-all", NULL, OPT_FLAG, FIELD(purge_all), NULL, "remove everything" },
	{ 'k', "kcore", "FILE", OPT_STRING, FIELD(kcore), NULL,
	  "keep a copy of the kernel's code, from FILE and the kallsyms and modules beside it",
	  "FILE is usually _/proc/kcore_, which root can read. Intel PT of that kernel is decoded "
	  "with the copy, if its modules were at the same addresses. FILE must be named kcore, and "
	  "the build id comes from _../sys/kernel/notes_ beside its folder. So the kcore of a "
	  "recording can't be kept." },
	{ 'l', "list", NULL, OPT_FLAG, FIELD(list), NULL,
	  "list the kept files and the copies of kernels" },
	{ 'M', "missing", "RECORDING", OPT_STRING, FIELD(missing), NULL,
	  "list the files of a perf.data recording that are not kept" },
	{ 0, "buildid-dir", "DIR", OPT_STRING, FIELD(dir), NULL, "another folder",
	  "Default: *$PERF_BUILDID_DIR*, else that of _~/.perfconfig_, else _~/.debug_." },
	{ 'v', "verbose", NULL, OPT_FLAG, FIELD(verbose), NULL, "print each step" },
};

struct cache {
	const char *dir;
	bool verbose;
	struct output out;
	struct strings told; /* lines of --missing: a file may come many times */
};

/* ---- one build ---- */

static char *link_of(const struct cache *c, const char *hex)
{
	return xasprintf("%s/" LINKS "/%.2s/%s", c->dir, hex, hex + 2);
}

static bool is_below(const char *path)
{
	cleanup(free_at_exit) char *copy = xstrdup(path);
	char *rest = copy, *part;

	while ((part = strsep(&rest, "/")))
		if (!*part || !strcmp(part, ".") || !strcmp(part, ".."))
			return false;
	return true;
}

/* The folder that a link leads to, below the cache. NULL: there is none, or it leads elsewhere. */
static char *folder_of(const char *link)
{
	char target[4096];
	ssize_t n = readlink(link, target, sizeof(target) - 1);

	if (n < 0)
		return NULL;
	target[n] = '\0';
	if (strncmp(target, UP, strlen(UP)) != 0 || !is_below(target + strlen(UP)))
		return NULL;
	return xstrdup(target + strlen(UP));
}

/* Removes a folder below the cache. A link on the way would lead elsewhere. */
static int remove_folder(const struct cache *c, const char *folder, struct error *err)
{
	cleanup(free_at_exit) char *whole = xasprintf("%s/%s", c->dir, folder);
	struct stat st;

	for (char *slash = whole + strlen(c->dir); slash; slash = strchr(slash + 1, '/')) {
		char *end = strchrnul(slash + 1, '/'), kept = *end;

		*end = '\0';
		if (lstat(whole, &st) == 0 && S_ISLNK(st.st_mode))
			return error_set(err, -ELOOP, "%s is a link: it may lead out of %s", whole,
					 c->dir);
		*end = kept;
	}
	return access(whole, F_OK) < 0 && errno == ENOENT ? 0 : file_remove_tree(whole, err);
}

static bool is_kept_link(const struct cache *c, const char *hex)
{
	cleanup(free_at_exit) char *link = link_of(c, hex), *folder = folder_of(link);

	return folder;
}

static int drop_folder(const struct cache *c, const char *hex, const char *folder,
		       struct error *err)
{
	int r = remove_folder(c, folder, err);

	if (r >= 0 && c->verbose)
		log_info("removed %s %s", hex, folder);
	return r;
}

static int drop_file(const struct cache *c, const char *hex, struct error *err)
{
	cleanup(free_at_exit) char *link = link_of(c, hex), *folder = folder_of(link);
	int r = folder ? drop_folder(c, hex, folder, err) : 0;

	return r >= 0 && folder && unlink(link) < 0 ? error_errno(err, -errno, "%s", link) : r;
}

/* The file with a build id, and the copies of that kernel's memory. */
static int drop(const struct cache *c, const char *hex, struct error *err)
{
	cleanup(free_at_exit) char *copies = xasprintf(KCORE_CACHE "/%s", hex);
	cleanup(free_at_exit) char *whole = xasprintf("%s/%s", c->dir, copies);
	bool has_copies = access(whole, F_OK) == 0;
	int r;

	if (!has_copies && !is_kept_link(c, hex))
		return error_set(err, -ENOENT, "no file with build id %s is kept in %s", hex,
				 c->dir);
	r = drop_file(c, hex, err);
	return r >= 0 && has_copies ? drop_folder(c, hex, copies, err) : r;
}

/* Also in the place of a file with this build id, or of a link to a file that is gone. */
static int keep(const struct cache *c, const char *path, const struct file_mapping *file,
		const char *hex, struct error *err)
{
	cleanup(free_at_exit) char *real = realpath(path, NULL);
	cleanup(free_at_exit) char *folder = NULL, *elf = NULL, *link = NULL, *links = NULL,
				   *target = NULL, *old = NULL;
	struct stat st;
	int r;

	if (!real || stat(real, &st) < 0)
		return error_errno(err, -errno, "%s", path);
	folder = xasprintf("%s%s/%s", c->dir, real, hex);
	elf = xasprintf("%s/elf", folder);
	link = link_of(c, hex);
	links = xasprintf("%s/" LINKS "/%.2s", c->dir, hex);
	target = xasprintf(UP "%s/%s", real + 1, hex);
	r = file_mkdirs(folder, 0755, err);
	r = r < 0 ? r : file_mkdirs(links, 0755, err);
	r = r < 0 ? r : file_replace_mode(elf, st.st_mode & 0777, file->base, file->size, err);
	if (r >= 0 && file_is_cut(file))
		r = error_set(err, -EIO, "%s: it was cut while it was copied", path);
	old = folder_of(link);
	if (r >= 0 && ((unlink(link) < 0 && errno != ENOENT) || symlink(target, link) < 0))
		r = error_errno(err, -errno, "%s", link);
	if (r >= 0 && old && strcmp(old, target + strlen(UP)) != 0)
		r = remove_folder(c, old, err);
	if (r >= 0 && c->verbose)
		log_info("added %s %s", hex, real);
	return r;
}

static int read_id(const char *path, struct file_mapping *file, char *hex, struct error *err)
{
	struct elf_file elf;
	struct build_id id = { 0 };
	int r = file_map(path, file, err);

	if (r < 0)
		return r;
	r = elf_file_open(&elf, file->base, file->size, err);
	if (r < 0)
		return error_wrap(err, r, "%s", path);
	if (!elf_build_id(&elf, &id) || id.len < 2)
		return error_set(err, -ENODATA, "%s: it has no build id", path);
	build_id_hex(&id, hex);
	return 0;
}

/* ---- what is asked for ---- */

static int add_file(struct cache *c, const char *path, bool again, struct error *err)
{
	struct file_mapping file = { 0 };
	char hex[BUILD_ID_HEX_SIZE];
	int r = read_id(path, &file, hex, err);
	cleanup(free_at_exit) char *link = r < 0 ? NULL : link_of(c, hex);

	if (r >= 0 && (again || access(link, F_OK) < 0))
		r = keep(c, path, &file, hex, err);
	file_unmap(&file);
	return r;
}

static int cache_add(struct cache *c, const char *path, struct error *err)
{
	return add_file(c, path, false, err);
}

static int cache_update(struct cache *c, const char *path, struct error *err)
{
	return add_file(c, path, true, err);
}

/* A kcore has no build id. The running kernel's is in the notes beside it. */
static int cache_remove(struct cache *c, const char *path, struct error *err)
{
	struct file_mapping file = { 0 };
	char hex[BUILD_ID_HEX_SIZE];
	struct build_id id;
	int r;

	if (buildid_kcore_is(path)) {
		r = buildid_kcore_id(path, &id, err);
		if (r >= 0)
			build_id_hex(&id, hex);
	} else {
		r = read_id(path, &file, hex, err);
		file_unmap(&file);
	}
	return r < 0 ? r : drop(c, hex, err);
}

struct kept {
	char *hex, *path;
};

struct kept_list {
	VEC(struct kept) all;
};

static void kept_fini(struct kept_list *l)
{
	vec_foreach (&l->all, k) {
		free(k->hex);
		free(k->path);
	}
	vec_fini(&l->all);
}

static int by_id(const void *a, const void *b)
{
	return strcmp(((const struct kept *)a)->hex, ((const struct kept *)b)->hex);
}

/* The links of one folder: those that lead to a file. */
static void read_links(const struct cache *c, const char *two, struct kept_list *out)
{
	cleanup(free_at_exit) char *name = xasprintf("%s/" LINKS "/%s", c->dir, two);
	DIR *dir = opendir(name);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		cleanup(free_at_exit) char *link = xasprintf("%s/%s", name, entry->d_name);
		char *folder = folder_of(link), *slash = folder ? strrchr(folder, '/') : NULL;

		if (slash && access(link, F_OK) == 0) {
			*slash = '\0';
			vec_push(&out->all, ((struct kept){ xasprintf("%s%s", two, entry->d_name),
							    xasprintf(*folder == '[' ? "%s" : "/%s",
								      folder) }));
		}
		free(folder);
	}
	if (dir)
		closedir(dir);
}

static void read_kept(const struct cache *c, struct kept_list *out)
{
	cleanup(free_at_exit) char *name = xasprintf("%s/" LINKS, c->dir);
	DIR *dir = opendir(name);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (strlen(entry->d_name) == 2 && entry->d_name[0] != '.')
			read_links(c, entry->d_name, out);
	if (dir)
		closedir(dir);
	if (out->all.n)
		qsort(out->all.data, out->all.n, sizeof(*out->all.data), by_id);
}

/* All builds of a path; NULL: of all paths. */
static int purge(struct cache *c, const char *path, struct error *err)
{
	cleanup(kept_fini) struct kept_list l = { 0 };
	cleanup(free_at_exit) char *real = path ? realpath(path, NULL) : NULL;
	size_t n = 0;
	int r = 0;

	read_kept(c, &l);
	vec_foreach (&l.all, k) {
		bool is_it = !path || !strcmp(k->path, path) || (real && !strcmp(k->path, real));

		if (r >= 0 && is_it)
			r = drop_file(c, k->hex, err);
		n += is_it;
	}
	if (path && !n)
		r = error_set(err, -ENOENT, "no build of %s is kept in %s", path, c->dir);
	return r;
}

struct copy_purge {
	const struct cache *cache;
	const char *time; /* NULL: all */
	struct error *err;
	size_t n;
	int r;
};

static void purge_copy(void *context, const char *hex, const char *time)
{
	struct copy_purge *p = context;
	cleanup(free_at_exit) char *folder = xasprintf(KCORE_CACHE "/%s/%s", hex, time);
	cleanup(free_at_exit) char *build = xasprintf("%s/" KCORE_CACHE "/%s", p->cache->dir, hex);

	if (p->r < 0 || (p->time && strcmp(time, p->time) != 0))
		return;
	p->r = drop_folder(p->cache, hex, folder, p->err);
	if (p->r >= 0)
		rmdir(build); /* stays while there are other copies */
	p->n++;
}

/* "[kernel.kcore]" are all copies of kernels. "[kernel.kcore]/TIME" is one, as --list has it. */
static int purge_copies(struct cache *c, const char *path, struct error *err)
{
	const char *time = path + strlen(KCORE_CACHE);
	struct copy_purge p = { .cache = c, .time = *time ? time + 1 : NULL, .err = err };

	buildid_kcore_each(c->dir, purge_copy, &p);
	return p.n ? p.r : error_set(err, -ENOENT, "no copy %s is kept in %s", path, c->dir);
}

static int cache_purge(struct cache *c, const char *path, struct error *err)
{
	size_t n = strlen(KCORE_CACHE);

	if (!strncmp(path, KCORE_CACHE, n) && (!path[n] || (path[n] == '/' && path[n + 1])))
		return purge_copies(c, path, err);
	return purge(c, path, err);
}

static void print_copy(void *context, const char *hex, const char *time)
{
	struct cache *c = context;
	cleanup(free_at_exit) char *path = xasprintf(KCORE_CACHE "/%s", time);

	build_ids_print(c->out.file, hex, path);
}

static void list_kept(struct cache *c)
{
	cleanup(kept_fini) struct kept_list l = { 0 };

	read_kept(c, &l);
	vec_foreach (&l.all, k)
		build_ids_print(c->out.file, k->hex, k->path);
	buildid_kcore_each(c->dir, print_copy, c);
}

static void print_missing(void *context, const char *path, const struct build_id *id)
{
	struct cache *c = context;
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *link = NULL, *line = NULL;
	string_id known;

	if (id->len < 2 || !*path)
		return;
	build_id_hex(id, hex);
	link = link_of(c, hex);
	line = xasprintf("%s %s", hex, path);
	if (access(link, F_OK) == 0 || strings_find(&c->told, line, &known))
		return;
	strings_add(&c->told, line);
	build_ids_print(c->out.file, hex, path);
}

/* ---- */

/* A word may have several files with commas between them. Goes on behind a failure. */
static int each_file(struct cache *c, const struct option_list *words,
		     int (*work)(struct cache *c, const char *path, struct error *err))
{
	int worst = 0;

	vec_foreach (words, word) {
		cleanup(free_at_exit) char *copy = xstrdup(*word);
		char *rest = copy, *path;

		while ((path = strsep(&rest, ","))) {
			struct error err = { 0 };

			if (*path && work(c, path, &err) < 0) {
				log_error("buildid-cache: %s", err.text);
				worst = -1;
			}
		}
	}
	return worst;
}

static int cache_work(struct cache *c, const struct cache_args *args, struct error *err)
{
	int r = each_file(c, &args->add, cache_add);

	r |= each_file(c, &args->update, cache_update);
	r |= each_file(c, &args->remove, cache_remove);
	r |= each_file(c, &args->purge, cache_purge);
	if (args->kcore && buildid_kcore_add(c->dir, args->kcore, c->verbose, err) < 0)
		return -1;
	if (args->purge_all && (purge(c, NULL, err) < 0 || remove_folder(c, KCORE_CACHE, err) < 0))
		return -1;
	if (args->list)
		list_kept(c);
	if (args->missing && build_ids_each(args->missing, print_missing, c, err) < 0)
		return -1;
	return r;
}

static bool is_asked(const struct cache_args *args)
{
	return args->add.n || args->update.n || args->remove.n || args->purge.n ||
	       args->purge_all || args->list || args->missing || args->kcore;
}

static int buildid_cache_run(const struct command *self, int argc, char **argv)
{
	struct cache_args args = { 0 };
	struct option_list operands = { 0 };
	struct cache c = { 0 };
	struct error err = { 0 };
	cleanup(free_at_exit) char *usual = finder_perf_cache();
	int status = command_begin(self, false, argc, argv, &args, &operands);

	strings_init(&c.told);
	c.dir = args.dir ? args.dir : usual;
	c.verbose = args.verbose;
	if (status < 0 && (operands.n || !is_asked(&args))) {
		log_error("buildid-cache: say what to do: --add, --remove, --update, --purge, "
			  "--purge-all, --list, --missing or --kcore");
		status = EXIT_USAGE;
	} else if (status < 0 && !c.dir) {
		log_error("buildid-cache: there is no folder for it, as $HOME is not set; name one "
			  "with --buildid-dir");
		status = EXIT_FAILED;
	} else if (status < 0) {
		status = output_open(&c.out, NULL, false, &err) < 0 ||
					 cache_work(&c, &args, &err) < 0
				 ? EXIT_FAILED
				 : EXIT_OK;
		if (c.out.file && output_close(&c.out, &err) < 0)
			status = EXIT_FAILED;
		if (err.code)
			log_error("buildid-cache: %s", err.text);
	}
	strings_fini(&c.told);
	option_list_fini(&operands);
	option_list_fini(&args.add);
	option_list_fini(&args.remove);
	option_list_fini(&args.update);
	option_list_fini(&args.purge);
	return status;
}

static const struct command_example cache_examples[] = {
	{ "assay buildid-cache --add ./app", "keep this build for recordings of it" },
	{ "assay buildid-cache --missing perf.data", "the files of a recording that are not kept" },
	{ "assay buildid-cache --purge ./app", "remove all builds of it" },
	{ NULL, NULL },
};

const struct command buildid_cache_command = {
	.name = "buildid-cache",
	.summary = "keep files by build id, for recordings of them",
	.synopsis = "OPTIONS",
	.description = "perf and assay find the files of a recording in this folder, also when "
		       "there is another build at their path. The folder and the options are "
		       "those of perf's command.",
	.options = OPTIONS(cache_options),
	.examples = cache_examples,
	.run = buildid_cache_run,
};
