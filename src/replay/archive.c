/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/archive.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/path.h"
#include "base/strings.h"
#include "elf/elf_file.h"
#include "guard/open.h"
#include "replay/archive_layout.h"
#include "replay/replay.h"
#include "store/cpu_times.h"
#include "store/history/containers.h"
#include "symbol/file_debug.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/split_files.h"
#include "symbol/table.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"
#include "trace/pt_trace.h"

#define DEBUG_DIR "/usr/lib/debug"

void archive_result_fini(struct archive_result *r)
{
	vec_foreach (&r->missing, text)
		free(*text);
	vec_fini(&r->missing);
}

struct archive {
	const struct session *session;
	const struct archive_choice *choice; /* NULL: all images */
	struct symbolizer *symbols;
	const char *dir;
	struct archive_result *result;
	struct strings done; /* paths in the archive */
};

/* Copying. */

/* Not sendfile(2): /proc and sysfs do not have it. */
static int copy_bytes(int from, int to)
{
	char bytes[65536];
	ssize_t n;

	while ((n = read(from, bytes, sizeof(bytes))) != 0) {
		int r = n < 0 ? -errno : file_write_all(to, bytes, (size_t)n);

		if (r < 0 && r != -EINTR)
			return r;
	}
	return 0;
}

static int copy_range(int from, int to, off_t at, off_t end)
{
	char bytes[65536];
	ssize_t n;
	int r = 0;

	if (lseek(from, at, SEEK_SET) < 0 || lseek(to, at, SEEK_SET) < 0)
		return -errno;
	for (; at < end && r >= 0; at += n) {
		n = read(from, bytes, (size_t)MIN(end - at, (off_t)sizeof(bytes)));
		if (n <= 0)
			return n < 0 ? -errno : 0; /* 0: it was cut meanwhile */
		r = file_write_all(to, bytes, (size_t)n);
	}
	return r;
}

/* A file can have terabytes of holes. */
static int copy_with_holes(int from, int to, off_t size)
{
	off_t at = 0, end;
	int r = ftruncate(to, size) < 0 ? -errno : 0;

	while (r >= 0 && at < size && (at = lseek(from, at, SEEK_DATA)) >= 0) {
		end = lseek(from, at, SEEK_HOLE);
		r = end < 0 ? -errno : copy_range(from, to, at, end);
		at = end;
	}
	return r;
}

static int make_parent(const char *path, struct error *err)
{
	cleanup(free_at_exit) char *parent = path_folder(path);

	return file_mkdirs(parent, 0755, err);
}

/* Copies an open file, which is at `from` for messages. */
static int copy_open(struct archive *a, int in, const char *from, const char *to, struct error *err)
{
	cleanup(close_at_exit) int out = -1;
	bool has_holes;
	struct stat st;
	int r;

	if (fstat(in, &st) < 0)
		return error_errno(err, -errno, "cannot read %s", from);
	r = make_parent(to, err);
	if (r < 0)
		return r;
	out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (out < 0)
		return error_errno(err, -errno, "cannot write %s", to);
	has_holes = st.st_blocks && st.st_blocks < st.st_size / 512;
	r = has_holes ? copy_with_holes(in, out, st.st_size) : copy_bytes(in, out);
	if (r < 0)
		return error_errno(err, r, "cannot write %s", to);
	if (fchmod(out, st.st_mode & 0777) < 0 ||
	    futimens(out, (struct timespec[2]){ st.st_atim, st.st_mtim }) < 0)
		errno = 0; /* mode and time are a courtesy */
	a->result->bytes += (uint64_t)st.st_size;
	a->result->has_holes |= has_holes;
	return 0;
}

/* *is_source: the file can't be opened. */
static int copy_file(struct archive *a, const char *from, const char *to, bool *is_source,
		     struct error *err)
{
	static const struct guard_rules rules = { UINT64_MAX, GUARD_ANY_OWNER, false };
	cleanup(close_at_exit) int in = guard_open(GUARD_HERE, from, &rules, NULL);

	*is_source = in < 0;
	return in < 0 ? error_errno(err, in, "cannot read %s", from)
		      : copy_open(a, in, from, to, err);
}

__attribute__((format(printf, 2, 3))) static void miss(struct archive *a, const char *format, ...)
{
	va_list args;
	char text[700];

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	vec_push(&a->result->missing, xstrdup(text));
}

/* Copies a file that may be missing. Then a sentence says so, and the copy succeeds. */
static int copy_if_there(struct archive *a, const char *from, const char *to, bool *was_copied,
			 struct error *err)
{
	struct error why = { 0 };
	bool is_source;
	int r = copy_file(a, from, to, &is_source, &why);

	*was_copied = r >= 0;
	if (r < 0 && is_source) {
		miss(a, "%s", why.text);
		return 0;
	}
	return r < 0 ? error_set(err, r, "%s", why.text) : 0;
}

/* Binaries. */

static char *build_id_path(const struct archive *a, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/" FILES_DIR DEBUG_DIR "/.build-id/%.2s/%s.debug", a->dir, hex,
			 hex + 2);
}

static bool archive_add_path(struct archive *a, const char *path)
{
	uint32_t n = a->done.n;

	return strings_add(&a->done, path).n >= n;
}

/* Copies a file below `root`, if it is still the mapped one. */
static int copy_mapped(struct archive *a, const struct file_mapping *file, const char *root,
		       const char *path, const char *to, struct error *err)
{
	cleanup(close_at_exit) int folder = *root ? guard_root_of(root) : -1;
	cleanup(close_at_exit) int in = guard_open(*root ? folder : GUARD_HERE, path + strlen(root),
						   &guard_image_rules, NULL);
	struct stat st;

	if (in < 0 || fstat(in, &st) < 0 || st.st_ino != file->ino ||
	    (uint64_t)st.st_size != file->size) {
		miss(a, "%s: changed while it was read", path);
		return 0;
	}
	return copy_open(a, in, path, to, err);
}

/* A debug file, or a common one. Below the root, a link stays below it. */
static int copy_debug_file(struct archive *a, const char *root, const char *path, const char *to,
			   struct error *err)
{
	const struct guard_place place = { .root = root };
	struct file_mapping file = { 0 };
	bool is_below = *root && !strncmp(path, root, strlen(root)), is_elf;
	int r = 0;

	if (guard_map_place(&place, path, &guard_image_rules, &file, NULL) < 0)
		return 0;
	/* A program that took over the parser could name any file. */
	is_elf = file.size >= SELFMAG && !memcmp(file.base, ELFMAG, SELFMAG);
	if (is_elf)
		r = copy_mapped(a, &file, is_below ? root : "", path, to, err);
	file_unmap(&file);
	a->result->n_debug_files += is_elf && r >= 0;
	return r;
}

/* Behind the archive's files; the caller frees it. `path` is taken over. */
static char *path_of_files(const struct archive *a, char *path)
{
	char *whole = xasprintf("%s/" FILES_DIR "%s", a->dir, path);

	free(path);
	return whole;
}

/* Split debug information, at places that no name of the debug information chooses. */
static int add_split(struct archive *a, const struct debug_search *search, const char *image_to,
		     const struct file_debug *debug, struct error *err)
{
	int r = 0;

	if (debug->package) {
		cleanup(free_at_exit) char *to =
			debug->build_id.len > 1
				? path_of_files(a, split_package_kept_path(DEBUG_DIR,
									   &debug->build_id))
				: xasprintf("%s.dwp", image_to);

		if (archive_add_path(a, to))
			r = copy_debug_file(a, search->root, debug->package, to, err);
	}
	for (size_t i = 0; i < debug->split.n && r >= 0; i++) {
		const struct file_of_unit *unit = &debug->split.data[i];
		cleanup(free_at_exit) char *to =
			path_of_files(a, split_file_kept_path(DEBUG_DIR, unit->id));

		if (archive_add_path(a, to))
			r = copy_debug_file(a, search->root, unit->path, to, err);
	}
	if (debug->n_missing_split)
		miss(a,
		     "%s%s: %" PRIu32 " units have their debug information in files that were not "
		     "found or are of another build, for example %s",
		     search->root, search->image_path, debug->n_missing_split,
		     debug->missing_split ? debug->missing_split : "?");
	return r;
}

/* The name in the debug file is a path that the archive need not have: readers take the id. */
static int add_common(struct archive *a, const struct debug_search *search,
		      const struct file_debug *debug, struct error *err)
{
	cleanup(free_at_exit) char *to = build_id_path(a, &debug->common_id);
	cleanup(free_at_exit) char *of =
		debug->path ? xstrdup(debug->path)
			    : xasprintf("%s%s", search->root, search->image_path);
	cleanup(free_at_exit) char *named = common_debug_path(search->root, of, debug->common);
	const struct guard_place place = { .root = search->root };
	cleanup(free_at_exit) char *by_id = NULL;
	struct file_mapping file = { 0 };

	if (debug->common_id.len < 2 || !archive_add_path(a, to))
		return 0;
	if (guard_map_place(&place, named, &guard_image_rules, &file, NULL) < 0 &&
	    common_debug_open(search, &debug->common_id, &file, &by_id) < 0) {
		miss(a, "%s: the common debug information that it refers to, %s, was not found", of,
		     debug->common);
		return 0;
	}
	file_unmap(&file);
	return copy_debug_file(a, search->root, by_id ? by_id : named, to, err);
}

/* `image_to`: where the image is in the archive. */
static int add_debug_file(struct archive *a, const struct image *image, const char *image_to,
			  const struct image_place *of, const struct file_mapping *file,
			  struct error *err)
{
	const struct debug_search search = { .root = of->root,
					     .debug_dir = a->symbols->files.debug_dir,
					     .image_path = of->below,
					     .finder = &a->symbols->files };
	struct file_debug debug;
	int r = 0;

	file_debug_find(&search, file, symbolizer_found(a->symbols, image, of->path), &debug);
	if (debug.path) {
		cleanup(free_at_exit) char *to = debug.build_id.len
							 ? build_id_path(a, &debug.build_id)
							 : xasprintf("%s/" FILES_DIR "%s", a->dir,
								     debug.path + strlen(of->root));

		if (archive_add_path(a, to))
			r = copy_debug_file(a, of->root, debug.path, to, err);
	}
	if (debug.common && r >= 0)
		r = add_common(a, &search, &debug, err);
	if (r >= 0)
		r = add_split(a, &search, image_to, &debug, err);
	file_debug_fini(&debug);
	return r;
}

/* Where the file goes; NULL: it is in the archive already. */
static char *place_in_archive(struct archive *a, const struct image *image)
{
	cleanup(free_at_exit) char *bare = image_path_without_mark(image);
	cleanup(free_at_exit) char *to = xasprintf("%s/" FILES_DIR "%s", a->dir, bare);

	if (archive_add_path(a, to))
		return take_ptr(to);
	/* Another build of the same path: found by its build id, as a debug file is. */
	if (!image->build_id.len)
		return NULL;
	free(to);
	to = build_id_path(a, &image->build_id);
	return archive_add_path(a, to) ? take_ptr(to) : NULL;
}

static int add_found(struct archive *a, const struct image *image, const struct image_place *place,
		     const struct file_mapping *file, struct error *err)
{
	cleanup(free_at_exit) char *to = place_in_archive(a, image);
	int r = to ? copy_mapped(a, file, place->root, place->path, to, err) : 0;

	if (!to || r < 0)
		return r;
	a->result->n_binaries++;
	return add_debug_file(a, image, to, place, file, err);
}

static int add_binary(struct archive *a, const struct image *image, struct error *err)
{
	struct file_mapping file = { 0 };
	struct image_place place = { 0 };
	struct error why = { 0 };
	int r = finder_open(&a->symbols->files, image, &place, &file, &why);

	if (r < 0)
		miss(a, "%s: %s", image->path,
		     r == -ESTALE   ? "has changed since (another build id)"
		     : r == -ENOENT ? "is not there any more"
				    : why.text);
	r = r < 0 ? 0 : add_found(a, image, &place, &file, err);
	file_unmap(&file);
	free(place.path);
	return r;
}

/* The kernel. */

static bool is_running_kernel(const struct archive *a, const struct image *image)
{
	cleanup(free_at_exit) char *notes = NULL;
	struct build_id id = { 0 };
	size_t size;

	return image->build_id.len &&
	       file_read_all(a->symbols->notes_path, 1 << 20, &notes, &size) == 0 &&
	       elf_build_id_in_notes(reader_over(notes, size), 4, &id) &&
	       build_id_equal(&id, &image->build_id);
}

static int archive_add_kernel(struct archive *a, const struct image *image, struct error *err)
{
	const struct {
		const char *from, *name;
		bool is_optional;
	} files[] = {
		{ a->symbols->kallsyms_path, "kallsyms" },
		{ a->symbols->modules_path, "modules", true }, /* a kernel without modules */
		{ a->symbols->notes_path, "notes" },
	};
	int r = 0;

	if (!is_running_kernel(a, image)) {
		miss(a, "the kernel's symbols: the session is of another kernel than the running "
			"one");
		return 0;
	}
	for (size_t i = 0; i < ARRAY_SIZE(files) && r >= 0; i++) {
		cleanup(free_at_exit) char *to =
			xasprintf("%s/" KERNEL_DIR "/%s", a->dir, files[i].name);
		bool was_copied;

		if (files[i].is_optional && access(files[i].from, F_OK) < 0 && errno == ENOENT)
			continue;
		if (archive_add_path(a, to))
			r = copy_if_there(a, files[i].from, to, &was_copied, err);
	}
	return r;
}

static int add_module(struct archive *a, const struct image *image, struct error *err)
{
	size_t n = strlen(image->path);
	cleanup(free_at_exit) char *name =
		n > 2 && image->path[0] == '[' ? xstrndup(image->path + 1, n - 2) : NULL;
	cleanup(free_at_exit) char *from = NULL, *to = NULL;
	bool was_copied;

	if (!name || strchr(name, '/'))
		return 0;
	from = xasprintf("%s/%s/notes/.note.gnu.build-id", a->symbols->sys_module_dir, name);
	to = xasprintf("%s/" KERNEL_DIR "/module/%s/notes/.note.gnu.build-id", a->dir, name);
	return archive_add_path(a, to) ? copy_if_there(a, from, to, &was_copied, err) : 0;
}

static int add_image(struct archive *a, const struct image *image, struct error *err)
{
	if (a->choice && !a->choice->takes(a->choice->context, image))
		return 0;
	switch (image->kind) {
	case IMAGE_FILE:
		return image->path[0] == '/' && !strstr(image->path, "/../")
			       ? add_binary(a, image, err)
			       : 0;
	case IMAGE_KERNEL:
		return archive_add_kernel(a, image, err);
	case IMAGE_MODULE:
		return add_module(a, image, err);
	default:
		return 0;
	}
}

/* The session. */

static int archive_add_segments(struct archive *a, const struct session *s, const char *dir,
				struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; i < s->n_segments && r >= 0; i++) {
		const char *name = s->segments[i]->name;
		cleanup(free_at_exit) char *from = xasprintf("%s/samples/current/%s", s->dir, name);
		cleanup(free_at_exit) char *to = xasprintf("%s/samples/current/%s", dir, name);
		bool is_source;

		r = copy_file(a, from, to, &is_source, err);
	}
	return r;
}

/* The names of containers, if there are any. */
static int copy_containers(struct archive *a, const struct session *s, struct error *err)
{
	cleanup(free_at_exit) char *from = containers_file((s->n_parts ? s->parts[0] : s)->dir);
	cleanup(free_at_exit) char *to = xasprintf("%s/containers", a->dir);
	bool is_source;

	return access(from, F_OK) < 0 ? 0 : copy_file(a, from, to, &is_source, err);
}

/* The kernel's CPU times, if there are any. */
static int copy_cpu_times(struct archive *a, const struct session *s, struct error *err)
{
	cleanup(free_at_exit) char *from = cpu_times_path(s->dir);
	cleanup(free_at_exit) char *to = cpu_times_path(a->dir);
	bool is_source;

	return access(from, F_OK) < 0 ? 0 : copy_file(a, from, to, &is_source, err);
}

/* Of a history, the archive is one as well (store/history/history.h). */
static int add_session(struct archive *a, struct error *err)
{
	const struct session *s = a->session;
	int r = copy_containers(a, s, err);

	if (r < 0)
		return r;
	if (!s->n_parts && (r = copy_cpu_times(a, s, err)) < 0)
		return r;
	if (!s->n_parts)
		return archive_add_segments(a, s, a->dir, err);
	for (uint32_t i = 0; i < s->n_parts && r >= 0; i++) {
		const char *part = strrchr(s->parts[i]->dir, '/');
		cleanup(free_at_exit) char *dir = xasprintf("%s/samples/current%s", a->dir, part);

		r = archive_add_segments(a, s->parts[i], dir, err);
	}
	return r;
}

static int archive_fill(struct archive *a, struct error *err)
{
	int r = add_session(a, err);

	for (uint32_t s = 0; s < a->session->n_segments && r >= 0; s++) {
		const struct segment *segment = a->session->segments[s];

		for (uint32_t i = 0; i < segment->n_images && r >= 0; i++)
			r = add_image(a, &segment->images[i], err);
	}
	return r;
}

int archive_write(const struct session *session, const struct archive_choice *choice,
		  struct symbolizer *symbols, const char *dir, struct archive_result *out,
		  struct error *err)
{
	struct archive a = {
		.session = session, .choice = choice, .symbols = symbols, .dir = dir, .result = out
	};
	int r;

	*out = (struct archive_result){ 0 };
	if (access(dir, F_OK) == 0)
		return error_set(err, -EEXIST, "%s is there already", dir);
	strings_init(&a.done);
	r = archive_fill(&a, err);
	strings_fini(&a.done);
	if (r < 0)
		file_remove_tree(dir, NULL);
	return r;
}

/* A recording with a trace. */

static int add_vdso(struct archive *a, const struct image *image, struct error *err)
{
	cleanup(free_at_exit) char *to = build_id_path(a, &image->build_id);
	cleanup(close_at_exit) int fd = -1;
	const uint8_t *bytes;
	size_t size;
	int r;

	if (!image->build_id.len || !archive_add_path(a, to))
		return 0;
	if (!pt_images_own_vdso(&image->build_id, &bytes, &size)) {
		miss(a, "the vdso: it is of another build than this machine's");
		return 0;
	}
	r = make_parent(to, err);
	if (r < 0)
		return r;
	fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	r = fd < 0 ? -errno : file_write_all(fd, bytes, size);
	a->result->n_binaries++;
	return r < 0 ? error_errno(err, r, "cannot write %s", to) : 0;
}

static int add_vmlinux(struct archive *a, const struct build_id *id, struct error *err)
{
	cleanup(free_at_exit) char *from = NULL, *to = build_id_path(a, id);
	struct file_mapping file = { 0 };
	struct elf_file elf;
	bool was_copied;

	if (!id->len || !vmlinux_open(a->symbols, id, VMLINUX_CODE, &file, &elf, &from)) {
		miss(a, "the kernel's code: there is no vmlinux of this build here (record "
			"--kcore keeps the code with the recording)");
		return 0;
	}
	file_unmap(&file);
	return copy_if_there(a, from, to, &was_copied, err);
}

struct known_id {
	const struct image *image;
	struct build_id id;
};

static void take_id(void *context, const char *path, const struct build_id *id)
{
	struct known_id *known = context;

	if (!strcmp(path, known->image->path))
		known->id = *id;
}

/* What the recording's header says of files, its mappings need not say. */
static int add_mapped(struct archive *a, const struct image *image, struct perfdata *data,
		      struct error *err)
{
	struct known_id known = { image, image->build_id };
	struct image with_id = *image;

	if (!known.id.len)
		perfdata_each_build_id(data, take_id, &known);
	with_id.build_id = known.id;
	return image->kind == IMAGE_VDSO ? add_vdso(a, &with_id, err) : add_image(a, &with_id, err);
}

static int archive_add_code(struct archive *a, struct replay *replay, struct error *err)
{
	struct perfdata *data = replay_data(replay);
	struct image kernel = { .kind = IMAGE_KERNEL, .path = "[kernel.kallsyms]" };
	cleanup(free_at_exit) char *kcore = xasprintf("%s/" KCORE_DIR, a->dir);
	struct pt_trace_info info;
	struct pt_history history;
	int r = 0;

	pt_history_read(&history, data);
	for (uint32_t i = 1; i < image_count(history.images) && r >= 0; i++)
		r = add_mapped(a, image_get(history.images, (image_id){ i }), data, err);
	kernel.build_id = history.kernel_build_id;
	if (r >= 0 && pt_trace_read_info(data, &info) && info.has_kernel &&
	    access(kcore, F_OK) < 0) {
		r = add_mapped(a, &kernel, data, err);
		r = r < 0 ? r : add_vmlinux(a, &kernel.build_id, err);
	}
	pt_history_fini(&history);
	return r;
}

/* A recording is a file, or a directory of some. */
static int add_recorded(struct archive *a, const char *from, const char *to, struct error *err)
{
	static const char *const folders[] = { "", "/" KCORE_DIR };
	cleanup(free_at_exit) char *data = xasprintf("%s/data", to);
	struct stat st;
	bool is_source;
	int r = 0;

	if (stat(from, &st) == 0 && !S_ISDIR(st.st_mode))
		return copy_file(a, from, data, &is_source, err);
	for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
		cleanup(free_at_exit) char *dir = xasprintf("%s%s", from, folders[i]);
		DIR *d = opendir(dir);
		const struct dirent *entry;

		while (d && r >= 0 && (entry = readdir(d))) {
			cleanup(free_at_exit) char *path = xasprintf("%s/%s", dir, entry->d_name);
			cleanup(free_at_exit) char *copy =
				xasprintf("%s%s/%s", to, folders[i], entry->d_name);

			if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
				r = copy_file(a, path, copy, &is_source, err);
		}
		if (d)
			closedir(d);
	}
	return r;
}

int archive_write_trace(const char *path, struct symbolizer *symbols, const char *dir,
			struct archive_result *out, struct error *err)
{
	cleanup(replay_close_at_exit) struct replay *replay = NULL;
	struct archive a = { .symbols = symbols, .dir = dir, .result = out };
	int r = replay_open(path, &replay, err);

	*out = (struct archive_result){ 0 };
	if (r < 0)
		return r;
	if (!replay_find_trace(replay))
		return error_set(err, -ENODATA, "%s has no processor trace", path);
	if (access(dir, F_OK) == 0)
		return error_set(err, -EEXIST, "%s is there already", dir);
	strings_init(&a.done);
	r = add_recorded(&a, path, dir, err);
	r = r < 0 ? r : archive_add_code(&a, replay, err);
	strings_fini(&a.done);
	if (r < 0)
		file_remove_tree(dir, NULL);
	return r;
}
