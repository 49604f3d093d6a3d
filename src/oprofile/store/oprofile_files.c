/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "oprofile/store/oprofile_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "guard/open.h"
#include "machine/image_look.h"

#define ARCHIVE_STORE   "var/lib/oprofile/samples"
#define ARCHIVE_SAMPLES ARCHIVE_STORE "/current"

/* Folders in folders: more is no path of a binary. */
#define MAX_DEPTH 256

static bool oprofile_files_has_samples(const char *dir)
{
	cleanup(free_at_exit) char *root = xasprintf("%s/{root}", dir);
	cleanup(free_at_exit) char *kern = xasprintf("%s/{kern}", dir);

	return access(root, F_OK) == 0 || access(kern, F_OK) == 0;
}

char *oprofile_files_find(const char *path)
{
	static const char *const places[] = { "samples/current", ARCHIVE_SAMPLES, "current", "." };

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *dir = xasprintf("%s/%s", path, places[i]);

		if (oprofile_files_has_samples(dir))
			return dir;
		free(dir);
	}
	return NULL;
}

char *oprofile_files_root(const char *path)
{
	cleanup(free_at_exit) char *samples = oprofile_files_find(path);
	char *at = samples ? strstr(samples, "/" ARCHIVE_STORE "/") : NULL, *root;

	if (!at)
		return NULL;
	*at = '\0';
	root = realpath(samples, NULL);
	return root ? root : take_ptr(samples);
}

struct entry {
	char *name;
	bool is_folder;
};

struct entries {
	struct entry *data;
	size_t n, cap;
};

static int oprofile_files_by_name(const void *a, const void *b)
{
	return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name);
}

/* Most file systems return the type with an entry; otherwise fstatat(2) has it. */
static bool oprofile_files_is_folder(int fd, const struct dirent64 *entry)
{
	struct stat st;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return fstatat(fd, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode);
}

/* Without opendir(3), which costs three more calls: there are several folders for each file. */
static int oprofile_files_list(int fd, struct entries *out)
{
	_Alignas(struct dirent64) char bytes[8192];
	ssize_t n;

	while ((n = getdents64(fd, bytes, sizeof(bytes))) > 0) {
		const struct dirent64 *entry;

		for (ssize_t at = 0; at < n; at += entry->d_reclen) {
			entry = (const void *)(bytes + at);
			if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
				continue;
			vec_push(out, (struct entry){ xstrdup(entry->d_name),
						      oprofile_files_is_folder(fd, entry) });
		}
	}
	if (out->n > 1)
		qsort(out->data, out->n, sizeof(*out->data), oprofile_files_by_name);
	return n < 0 ? -errno : 0;
}

/* Folders are opened below their parents: their paths are long, and each step of one costs. */
static void walk(const struct oprofile_walker *w, int parent, const char *name, struct buf *path,
		 int depth)
{
	cleanup(close_at_exit) int fd =
		openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct entries entries = { 0 };
	struct error err = { 0 };
	size_t len = path->len;
	int r = fd < 0 ? -errno : 0;

	if (r >= 0)
		r = depth > MAX_DEPTH ? -ELOOP : oprofile_files_list(fd, &entries);
	if (r < 0) {
		error_errno(&err, r, "cannot read %s", buf_cstr(path));
		w->unreadable(w->context, &err);
	}
	vec_foreach (&entries, entry) {
		path->len = len;
		buf_printf(path, "/%s", entry->name);
		if (entry->is_folder)
			walk(w, fd, entry->name, path, depth + 1);
		else
			w->found(w->context, buf_cstr(path));
		free(entry->name);
	}
	path->len = len;
	vec_fini(&entries);
}

void oprofile_files_walk(const char *samples, const struct oprofile_walker *walker)
{
	struct buf path = { 0 };

	buf_str(&path, samples);
	walk(walker, AT_FDCWD, samples, &path, 0);
	buf_fini(&path);
}

/* The counts of dropped samples that operf and oprofiled write beside the samples. */
static const char *const lost_files[] = {
	"lost_invalid_domain",
	"lost_kernel",
	"lost_samplefile",
	"lost_no_mapping",
	"lost_no_app_for_kernel_sample",
	"lost_no_app_for_user_sample",
	"lost_invalid_hypervisor_addr",
	"lost_records_by_kernel",
	"event_lost_overflow",
	"sample_lost_no_mapping",
	"sample_lost_no_mm",
	"bt_lost_no_mapping",
};

uint64_t oprofile_files_lost(const char *samples)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < ARRAY_SIZE(lost_files); i++) {
		cleanup(free_at_exit) char *path = xasprintf("%s/stats/%s", samples, lost_files[i]);
		char line[32];

		if (file_read_line(path, line, sizeof(line)))
			lost += strtoull(line, NULL, 10);
	}
	return lost;
}

uint64_t oprofile_files_text(const char *path)
{
	static const struct image_look_wish wish = { IMAGE_HIDDEN, LOOK_CONTENTS, 0 };
	struct file_mapping map = { 0 };
	struct image_look look = { 0 };
	uint64_t offset;

	if (guard_map(GUARD_HERE, path, &guard_image_rules, &map, NULL) == 0)
		image_look(&map, &wish, &look, NULL);
	offset = look.head.text_off;
	image_look_fini(&look);
	file_unmap(&map);
	return offset;
}

static void found_any(void *context, const char *path)
{
	(void)path;
	*(bool *)context = true;
}

static void found_none(void *context, const struct error *err)
{
	(void)context, (void)err;
}

bool oprofile_files_any(const char *dir)
{
	bool has = false;
	const struct oprofile_walker walker = { found_any, found_none, &has };

	oprofile_files_walk(dir, &walker);
	return has;
}
