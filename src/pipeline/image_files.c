/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/image_files.h"

#include <errno.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include "base/mem.h"
#include "guard/open.h"
#include "machine/image_look.h"
#include "symbol/cache.h"
#include "symbol/symbols.h"

/*
 * The places to look for a file. Each returns NULL, or a path that the caller frees. `path` is the
 * image's path without " (deleted)".
 */
struct process {
	const char *proc;
	int32_t pid;
};
typedef char *(*place_function)(const struct process *p, const struct image *image,
				const char *path);

static char *path_of_process(const struct process *p, const struct image *image, const char *path)
{
	(void)image;
	return p->proc ? xasprintf("%s/%d/root%s", p->proc, p->pid, path) : NULL;
}

static char *mapping_of_process(const struct process *p, const struct image *image,
				const char *path)
{
	(void)path;
	return p->proc ? image_map_file(p->proc, p->pid, image) : NULL;
}

static char *program_of_process(const struct process *p, const struct image *image,
				const char *path)
{
	(void)image, (void)path;
	return p->proc ? xasprintf("%s/%d/exe", p->proc, p->pid) : NULL;
}

static char *overlay_of_process(const struct process *p, const struct image *image,
				const char *path)
{
	cleanup(close_at_exit) int root = p->proc ? guard_root(p->proc, p->pid) : -1;
	cleanup(close_at_exit) int fd =
		root < 0 ? -1 : guard_open(root, path, &guard_image_rules, NULL);
	struct statfs fs;

	if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC)
		return path_of_process(p, image, path);
	return NULL;
}

static char *path_from_here(const struct process *p, const struct image *image, const char *path)
{
	(void)p, (void)image;
	return xstrdup(path);
}

/*
 * Before Linux 6.18, the device in records of overlayfs files differs from the device of the
 * mapping. For these files the inode alone decides. That is safe only for files that the process
 * has mapped, or that are on overlayfs: another mount over the path may have a file with the same
 * inode.
 */
static const struct place {
	place_function find;
	bool is_of_process; /* the path begins with /proc/PID, which assay wrote */
	bool is_by_inode_alone;
} places[] = {
	{ path_of_process, true, false },    { mapping_of_process, true, true },
	{ program_of_process, true, false }, { overlay_of_process, true, true },
	{ path_from_here, false, false },
};

/* `found` is the path from the place. */
static int open_place(const struct place *place, const struct process *p, const char *found,
		      struct file_mapping *file)
{
	cleanup(free_at_exit) char *process =
		place->is_of_process ? xasprintf("%s/%d", p->proc, p->pid) : NULL;
	const struct guard_place how = { .root = "", .process = process };

	return guard_map_place(&how, found, &guard_image_rules, file, NULL);
}

static char *image_path(const struct image *image)
{
	static const char mark[] = " (deleted)"; /* /proc/PID/maps appends it to the path */
	size_t len = strlen(image->path);
	bool is_marked = len > strlen(mark) && !strcmp(image->path + len - strlen(mark), mark);

	return xstrndup(image->path, is_marked ? len - strlen(mark) : len);
}

enum image_found image_files_found(const struct image *image, const struct file_mapping *file)
{
	cleanup(free_at_exit) char *path = image_path(image);
	struct stat here;
	bool is_it = guard_stat(GUARD_HERE, path, &here) == 0 && here.st_ino == file->ino &&
		     ((uint64_t)major(here.st_dev) << 32 | minor(here.st_dev)) == file->dev;

	return is_it ? IMAGE_AT_ITS_PATH : IMAGE_HIDDEN;
}

#define LARGE_BYTES ((size_t)8 << 20)

#define LOOK_MS  1000
#define INDEX_MS 2000

/* A file of a process, and a look at it. */
struct looked_file {
	struct file_mapping file;
	enum image_found where;
	struct image_look look;
	bool wants_runtime;
	bool is_refused;  /* an attempt failed, as there is no openat2 */
	bool is_unparsed; /* the parser could not read the file */
};

static void looked_file_fini(struct looked_file *f)
{
	file_unmap(&f->file);
	image_look_fini(&f->look);
}

/* -ENOENT: the path leads not to the mapped file. */
static int open_file_of(const struct place *place, const struct process *process, const char *path,
			const struct image *image, struct looked_file *f)
{
	bool is_it;
	int r = path ? open_place(place, process, path, &f->file) : -ENOENT;

	if (r < 0)
		return r;
	f->where = image_files_found(image, &f->file);
	r = image_look(&f->file,
		       &(struct image_look_wish){ .found = f->where,
						  .parts = f->wants_runtime ? LOOK_RUNTIME : 0,
						  .deadline_ms = LOOK_MS },
		       &f->look, NULL);
	f->is_unparsed |= r < 0 && !image_look_is_no_elf(r);
	is_it = image_is_file(image, &f->file, &f->look.head.build_id) ||
		(place->is_by_inode_alone && !image->build_id.len && f->file.ino == image->ino);
	is_it = is_it && !f->look.head.is_cut && !file_is_cut(&f->file) && !f->is_unparsed;
	if (!is_it)
		looked_file_fini(f);
	return is_it ? 0 : -ENOENT;
}

static char *image_files_try(const struct process *process, const struct image *image,
			     struct looked_file *f)
{
	cleanup(free_at_exit) char *path = image_path(image);

	for (size_t i = 0; i < ARRAY_SIZE(places) && !f->is_unparsed; i++) {
		char *found = places[i].find(process, image, path);
		int r = open_file_of(&places[i], process, found, image, f);

		if (!r)
			return found;
		f->is_refused |= r == -ENOSYS;
		free(found);
	}
	return NULL;
}

char *image_files_open(const char *proc, int32_t pid, const struct image *image,
		       struct file_mapping *file, struct build_id *id)
{
	struct looked_file f = { 0 };
	char *found = image_files_try(&(struct process){ proc, pid }, image, &f);

	*file = f.file;
	*id = f.look.head.build_id;
	image_look_fini(&f.look);
	return found;
}

char *image_files_find(const char *proc, int32_t pid, const struct image *image,
		       struct build_id *id)
{
	struct file_mapping file = { 0 };
	struct build_id any;
	char *found = image_files_open(proc, pid, image, &file, id ? id : &any);

	file_unmap(&file);
	return found;
}

/* The symbols of a file that is opened by this path of a process, or by a link of it. */
static enum symbol_status index_path(const struct image_finder *finder, const char *process,
				     const char *path, const struct image *image,
				     enum image_found where)
{
	const struct symbolizer_config config = { .cache_dir = finder->names_dir,
						  .process = process,
						  .is_at_its_path = where == IMAGE_AT_ITS_PATH,
						  .parser_ms = INDEX_MS };
	cleanup(symbolizer_free_at_exit) struct symbolizer *symbols = symbolizer_new(&config);
	struct image there = *image;

	there.path = path;
	return symbol_table_status(symbolizer_table(symbols, &there, NULL, 0));
}

static bool has_no_names(enum symbol_status status)
{
	return status == SYMBOL_UNPARSED || status == SYMBOL_MISSING || status == SYMBOL_CHANGED ||
	       status == SYMBOL_UNREADABLE;
}

/*
 * Fills the index cache. A symbolizer keeps all indexes that it made, so a temporary one is used.
 * If the process has ended meanwhile, the file that is held has its symbols. False: the parser
 * could not read the file, or not in the memory that it may use.
 */
static bool index_symbols(const struct image_finder *finder, int32_t pid, const char *path,
			  const struct image *image, const struct image_files_seen *seen)
{
	cleanup(free_at_exit) char *process =
		finder->proc ? xasprintf("%s/%d", finder->proc, pid) : NULL;
	cleanup(free_at_exit) char *held =
		xasprintf("/proc/self/fd/%d", file_descriptor(&seen->file));
	enum symbol_status status = index_path(finder, process, path, image, seen->where);

	if (has_no_names(status) && status != SYMBOL_UNPARSED)
		status = index_path(finder, "/proc/self", held, image, seen->where);
	if (finder->names_dir)
		cache_trim(finder->names_dir, KEPT_NAMES_BYTES);
	return !has_no_names(status);
}

/* Why there is no file. */
static enum loss_reason loss_of_file(const struct looked_file *f)
{
	return f->is_unparsed  ? LOSS_FILE_UNPARSED
	       : f->is_refused ? LOSS_FILE_REFUSED
			       : N_LOSS_REASONS;
}

char *image_files_see(const char *proc, int32_t pid, const struct image *image,
		      struct image_files_seen *out)
{
	struct looked_file f = { .wants_runtime = true };
	char *found = image_files_try(&(struct process){ proc, pid }, image, &f);
	bool is_cut = file_is_cut(&f.file);

	*out = (struct image_files_seen){ .loss = found ? N_LOSS_REASONS : loss_of_file(&f) };
	if (!found)
		return NULL;
	out->file = f.file;
	out->where = f.where;
	out->build_id = f.look.head.build_id;
	out->runtime = f.look.head.runtime;
	out->detected = is_cut ? LANG_NONE : (enum lang_detected)f.look.head.detected;
	/*
	 * A file without a build id is often local or freshly built. It may be gone when a report
	 * needs it.
	 */
	out->wants_index = !is_cut && (!out->build_id.len || f.where == IMAGE_HIDDEN);
	image_look_fini(&f.look);
	return found;
}

bool image_files_is_large(const struct image_files_seen *seen)
{
	return seen->file.size > LARGE_BYTES && (seen->wants_index || seen->where == IMAGE_HIDDEN);
}

bool image_files_keep(const struct image_finder *finder, int32_t pid, const char *path,
		      struct image *image, struct image_files_seen *seen)
{
	bool has_names;

	image_identify(image, &seen->file, &seen->build_id, seen->where);
	has_names = !seen->wants_index || index_symbols(finder, pid, path, image, seen);
	file_unmap(&seen->file);
	return has_names;
}

enum lang_detected image_files_look(const struct image_finder *finder, int32_t pid,
				    struct image *image, struct lang_runtime *runtime,
				    enum loss_reason *loss, bool *lacks_names)
{
	struct image_files_seen seen;
	cleanup(free_at_exit) char *found = image_files_see(finder->proc, pid, image, &seen);

	*loss = seen.loss;
	*runtime = seen.runtime;
	*lacks_names = found && !image_files_keep(finder, pid, found, image, &seen);
	return seen.detected;
}
