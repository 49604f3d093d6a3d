/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/finder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/path.h"
#include "event/guest_task.h"
#include "guard/open.h"
#include "machine/image_look.h"
#include "symbol/cache.h"
#include "symbol/debuginfod.h"
#include "symbol/symbols.h"
#include "symbol/table.h"

enum { MAX_GUESTS = 1024 };

/* ---- perf's cache ---- */

/* The value of "dir" in the section [buildid] of ~/.perfconfig; NULL: it is not given. */
static char *perf_config_dir(const char *home)
{
	cleanup(free_at_exit) char *path = xasprintf("%s/.perfconfig", home), *text = NULL;
	bool is_in_section = false;
	char *rest, *line, value[512];

	if (file_read_all(path, 1 << 16, &text, NULL) < 0)
		return NULL;
	for (rest = text; (line = strsep(&rest, "\n"));) {
		line += strspn(line, " \t");
		if (*line == '[')
			is_in_section = !strncmp(line, "[buildid]", 9);
		else if (is_in_section && sscanf(line, "dir = %511s", value) == 1)
			return value[0] == '~' ? xasprintf("%s%s", home, value + 1)
					       : xstrdup(value);
	}
	return NULL;
}

char *finder_perf_cache(void)
{
	const char *given = getenv("PERF_BUILDID_DIR"), *home = getenv("HOME");
	char *dir;

	if (given && *given)
		return xstrdup(given);
	if (!home || !*home)
		return NULL;
	dir = perf_config_dir(home);
	return dir ? dir : xasprintf("%s/.debug", home);
}

char *finder_perf_path(const struct finder *f, const struct build_id *id, const char *name)
{
	char hex[BUILD_ID_HEX_SIZE];

	if (!f->perf_cache || id->len < 2)
		return NULL;
	build_id_hex(id, hex);
	return xasprintf("%s/.build-id/%.2s/%s/%s", f->perf_cache, hex, hex + 2, name);
}

/* ---- the finder ---- */

void finder_init(struct finder *f, const struct symbolizer_config *config)
{
	static const struct symbolizer_config defaults = { 0 };
	const struct symbolizer_config *c = config ? config : &defaults;

	*f = (struct finder){
		.root = xstrdup(c->root && strcmp(c->root, "/") != 0 ? c->root : ""),
		.debug_dir = xstrdup(c->debug_dir ? c->debug_dir : "/usr/lib/debug"),
		.process = c->process ? xstrdup(c->process) : NULL,
		.debuginfod = c->debuginfod,
		.is_at_its_path = c->is_at_its_path,
		.perf_cache = c->process ? NULL : finder_perf_cache(),
		.guest_mount = c->guest_mount ? xstrdup(c->guest_mount) : NULL,
	};
	image_places_init(&f->listed, f->root, c->image_dirs, c->n_image_dirs);
	pthread_mutex_init(&f->lock, NULL);
}

void finder_fini(struct finder *f)
{
	image_places_fini(&f->listed);
	container_roots_fini(&f->containers);
	vec_foreach (&f->guest_roots, root)
		free(*root);
	vec_fini(&f->guest_roots);
	free(f->guest_mount);
	pthread_mutex_destroy(&f->lock);
	free(f->root);
	free(f->debug_dir);
	free(f->process);
	free(f->perf_cache);
}

int finder_map(const struct finder *f, const struct image_place *place, struct file_mapping *out,
	       struct error *err)
{
	const struct guard_place of_process = { .root = f->root, .process = f->process };

	return f->process
		       ? guard_map_place(&of_process, place->path, &guard_image_rules, out, err)
		       : guard_map_below(place->root, place->below, &guard_image_rules, out, err);
}

bool finder_is_right(const struct finder *f, const struct image *image,
		     const struct image_place *place, const struct file_mapping *file,
		     const struct build_id *found)
{
	bool is_by_inode = !image->build_id.len && !image_has_identity(image);
	bool is_copy = (*f->root && place->step != FINDER_HERE) || place->step == FINDER_FOLDER ||
		       place->step == FINDER_GUEST;

	return (is_by_inode && is_copy) || image_is_file(image, file, found);
}

/* ---- the places ---- */

struct visiting {
	struct finder *finder;
	const struct image *image;
	const char *bare; /* the path of a FILE image */
	finder_visit visit;
	void *context;
};

/* Takes `path` over; NULL is no place. */
static bool visit_path(const struct visiting *v, enum finder_step step, const char *root,
		       char *path)
{
	struct image_place place = { .path = path, .root = root, .step = step };
	bool is_over;

	if (!path)
		return false;
	place.below = place.path + strlen(root);
	is_over = v->visit(v->context, &place);
	free(path);
	return is_over;
}

/* The process of the image's guest, if guests have folders; 0: none. */
static uint32_t guest_of(const struct finder *f, const struct image *image)
{
	return f->guest_mount && image->kind == IMAGE_FILE ? guest_of_file(image->generation) : 0;
}

/* The folder of a guest's files; NULL: a recording named too many guests. */
static const char *root_of_guest(struct finder *f, uint32_t guest)
{
	cleanup(free_at_exit) char *wanted = xasprintf("%s/%" PRIu32, f->guest_mount, guest);
	const char *root = NULL;

	pthread_mutex_lock(&f->lock);
	vec_foreach (&f->guest_roots, known)
		root = strcmp(*known, wanted) == 0 ? *known : root;
	if (!root && f->guest_roots.n < MAX_GUESTS) {
		root = wanted;
		vec_push(&f->guest_roots, take_ptr(wanted));
	}
	pthread_mutex_unlock(&f->lock);
	return root;
}

static bool visit_guest(const struct visiting *v, const char *root)
{
	return visit_path(v, FINDER_GUEST, root, xasprintf("%s%s", root, v->bare));
}

static bool visit_own_path(const struct visiting *v)
{
	const char *root = v->finder->root;

	return visit_path(v, FINDER_PATH, root, xasprintf("%s%s", root, v->bare));
}

static bool visit_here(const struct visiting *v)
{
	return *v->finder->root && v->bare[0] == '/' && (v->image->build_id.len || v->image->ino) &&
	       visit_path(v, FINDER_HERE, "", xstrdup(v->bare));
}

/* The folder of --symfs may have just the binaries. */
static bool visit_name(const struct visiting *v)
{
	const char *root = v->finder->root, *name = path_file_name(v->bare);

	return *root && v->bare[0] == '/' && name != v->bare + 1 &&
	       visit_path(v, FINDER_NAME, root, xasprintf("%s/%s", root, name));
}

static bool has_file_identity(const struct image *image)
{
	return image->build_id.len || image_has_identity(image);
}

static const char *root_of_listed(const struct finder *f, const char *path)
{
	size_t n = strlen(f->root);

	return !strncmp(path, f->root, n) && path[n] == '/' ? f->root : "";
}

static bool visit_listed(const struct visiting *v)
{
	struct image_places *listed = &v->finder->listed;
	const char *name = path_file_name(v->bare);
	const char *only = image_places_only(listed, name, v->finder->root);
	size_t n;
	const struct listed_file *files = image_places_find(listed, name, &n);

	if (!has_file_identity(v->image))
		return only &&
		       visit_path(v, FINDER_FOLDER, root_of_listed(v->finder, only), xstrdup(only));
	for (size_t i = 0; i < n; i++)
		if (visit_path(v, FINDER_FOLDER, root_of_listed(v->finder, files[i].path),
			       xstrdup(files[i].path)))
			return true;
	return false;
}

/* Distributions have links to programs there. Archives have files that share a path. */
static bool visit_build_id(const struct visiting *v)
{
	const struct finder *f = v->finder;
	static const char *const endings[] = { "", ".debug" };
	char hex[BUILD_ID_HEX_SIZE];

	if (v->image->build_id.len < 2)
		return false;
	build_id_hex(&v->image->build_id, hex);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		if (visit_path(v, FINDER_BUILD_ID, f->root,
			       xasprintf("%s%s/.build-id/%.2s/%s%s", f->root, f->debug_dir, hex,
					 hex + 2, endings[i])))
			return true;
	return false;
}

static bool visit_perf_cache(const struct visiting *v)
{
	const char *name = v->image->kind == IMAGE_VDSO ? "vdso" : "elf";

	return visit_path(v, FINDER_PERF_CACHE, "",
			  finder_perf_path(v->finder, &v->image->build_id, name));
}

static bool visit_fetched(const struct visiting *v)
{
	return visit_path(v, FINDER_FETCHED, "",
			  debuginfod_kept_path(DEBUGINFOD_EXECUTABLE, &v->image->build_id));
}

static bool visit_containers(const struct visiting *v)
{
	struct finder *f = v->finder;

	if (!v->image->build_id.len || v->bare[0] != '/')
		return false;
	pthread_mutex_lock(&f->lock);
	if (!f->has_containers)
		container_roots_init(&f->containers, "");
	f->has_containers = true;
	pthread_mutex_unlock(&f->lock);
	vec_foreach (&f->containers.paths, root)
		if (visit_path(v, FINDER_CONTAINER, *root, xasprintf("%s%s", *root, v->bare)))
			return true;
	return false;
}

static bool visit_debuginfod(const struct visiting *v)
{
	return visit_path(v, FINDER_DEBUGINFOD, "",
			  debuginfod_fetch(v->finder->debuginfod, DEBUGINFOD_EXECUTABLE,
					   &v->image->build_id, v->bare));
}

void finder_each(struct finder *f, const struct image *image, finder_visit visit, void *context)
{
	cleanup(free_at_exit) char *bare = image_path_without_mark(image);
	const struct visiting v = { f, image, bare, visit, context };
	uint32_t guest = guest_of(f, image);
	const char *guest_root = guest ? root_of_guest(f, guest) : NULL;
	bool is_file = image->kind == IMAGE_FILE;

	if (guest_root && visit_guest(&v, guest_root))
		return;
	/* Without a build id, a file of this machine may be another one. */
	if (guest && !image->build_id.len)
		return;
	if ((is_file && visit_own_path(&v)) || f->process)
		return;
	if (is_file && (visit_here(&v) || visit_name(&v) || visit_listed(&v)))
		return;
	if (visit_build_id(&v) || visit_perf_cache(&v) || !is_file || visit_fetched(&v))
		return;
	if (!visit_containers(&v))
		visit_debuginfod(&v);
}

/* ---- finding ---- */

struct finding {
	struct finder *finder;
	const struct image *image;
	struct image_place place; /* path NULL: none */
	struct file_mapping file;
	bool is_found;
	int first_error;       /* of the first place */
	struct error unparsed; /* a file that the parser could not read */
	struct error *err;
};

/* Root's own caches have copies of files that others made. */
static enum image_found found_at(const struct finder *f, const struct image_place *place)
{
	bool is_at_its_path = place->step == FINDER_PATH || place->step == FINDER_HERE ||
			      place->step == FINDER_BUILD_ID;

	if (f->process ? f->is_at_its_path : is_at_its_path && !*place->root)
		return IMAGE_AT_ITS_PATH;
	return IMAGE_HIDDEN;
}

/* The build id of an untrusted file whose symbols are in the cache: the parser is not asked again.
 */
static bool is_id_kept(const struct finder *f, const struct file_mapping *file,
		       enum image_found found, struct build_id *id)
{
	static const struct build_id unknown;
	struct file_mapping cached = { 0 };
	struct build_id key;
	struct index index;
	bool is_kept;

	if (!f->cache_dir || image_file_is_trusted(file, found))
		return false;
	key = image_file_key(file, &unknown, found);
	is_kept = key.len && cache_open(f->cache_dir, &key, &cached, &index);
	if (is_kept)
		*id = index.header->own_id;
	file_unmap(&cached);
	return is_kept;
}

/* By a look at the file. */
static bool is_wanted_elf(struct finding *find, const struct image_place *place,
			  const struct file_mapping *file, enum image_found found)
{
	bool needs_code = place->step == FINDER_BUILD_ID;
	const struct image_look_wish wish = { .found = found,
					      .parts = needs_code ? LOOK_CONTENTS : 0 };
	struct error err = { 0 };
	struct image_look look;
	bool is_wanted;
	int r = image_look(file, &wish, &look, &err);

	if (image_look_is_no_elf(r))
		return place->step == FINDER_PATH && !find->image->build_id.len;
	if (r < 0) {
		error_set(&find->unparsed, r, "%s was not read: %s", place->path, err.text);
		return false;
	}
	is_wanted = finder_is_right(find->finder, find->image, place, file, &look.head.build_id) &&
		    (!needs_code || look.head.contents & CONTAINS_CODE);
	image_look_fini(&look);
	return is_wanted;
}

static bool is_wanted(struct finding *find, const struct image_place *place,
		      const struct file_mapping *file)
{
	enum image_found found = found_at(find->finder, place);
	struct build_id id;

	if (place->step != FINDER_BUILD_ID && is_id_kept(find->finder, file, found, &id))
		return finder_is_right(find->finder, find->image, place, file, &id);
	return is_wanted_elf(find, place, file, found);
}

static struct image_place copy_place(const struct image_place *place)
{
	struct image_place copy = *place;

	copy.path = xstrdup(place->path);
	copy.below = copy.path + (place->below - place->path);
	return copy;
}

static bool finding_visit(void *context, const struct image_place *place)
{
	struct finding *find = context;
	struct file_mapping file = { 0 };
	bool is_first = !find->place.path;
	int r = finder_map(find->finder, place, &file, is_first ? find->err : NULL);

	if (is_first)
		find->first_error = r;
	find->is_found = r >= 0 && is_wanted(find, place, &file);
	if (!is_first && !find->is_found) {
		file_unmap(&file);
		return false;
	}
	free(find->place.path);
	file_unmap(&find->file);
	find->file = file;
	find->place = copy_place(place);
	return find->is_found;
}

bool finder_find(struct finder *f, const struct image *image, struct image_place *out)
{
	struct finding find = { .finder = f, .image = image };

	finder_each(f, image, finding_visit, &find);
	file_unmap(&find.file);
	if (!find.place.path) { /* of a vdso without any place */
		find.place = (struct image_place){ .path = xstrdup(image->path), .root = "" };
		find.place.below = find.place.path;
	}
	*out = find.place;
	return find.is_found;
}

int finder_open(struct finder *f, const struct image *image, struct image_place *place,
		struct file_mapping *file, struct error *err)
{
	struct error own = { 0 };
	struct finding find = { .finder = f, .image = image, .err = err ? err : &own };

	finder_each(f, image, finding_visit, &find);
	*place = find.place;
	*file = find.file;
	if (find.is_found)
		return 0;
	file_unmap(file);
	*file = (struct file_mapping){ 0 };
	if (!place->path)
		return error_set(err, -ENOENT, "%s: no file of its build id", image->path);
	if (find.first_error < 0)
		return find.first_error;
	if (find.unparsed.code < 0)
		return error_set(err, find.unparsed.code, "%s", find.unparsed.text);
	return error_set(err, -ESTALE, "%s: the file has changed since it was profiled",
			 place->path);
}
