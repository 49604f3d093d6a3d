/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/image_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/mem.h"
#include "machine/proc.h"

/*
 * A file's headers are at its beginning, and its symbols at its end. This much of each is read: a
 * few milliseconds for a large file.
 */
#define CONTENT_PART ((size_t)8 << 20)

/* XXH3 of the size, the beginning and the end. */
static uint64_t hash_content(const struct file_mapping *file)
{
	size_t head = MIN(file->size, CONTENT_PART);
	size_t tail = MIN(file->size - head, CONTENT_PART);
	uint64_t hash = XXH3_64bits_withSeed(file->base, head, file->size);

	return XXH3_64bits_withSeed(file->base + file->size - tail, tail, hash);
}

bool image_has_inode_of(const struct image *image, const struct file_mapping *file)
{
	uint64_t dev, ino;

	/* only on overlayfs and btrfs, stat(2) and mappings differ: a slower check */
	if (file->dev == image->dev && file->ino == image->ino)
		return true;
	return proc_own_mapping("/proc", (uintptr_t)file->base, &dev, &ino) && dev == image->dev &&
	       ino == image->ino;
}

bool image_is_file(const struct image *image, const struct file_mapping *file,
		   const struct build_id *found)
{
	if (image->build_id.len)
		return build_id_equal(found, &image->build_id);
	if (image_is_by_content(image))
		return !found->len && hash_content(file) == image->ino;
	return !image->ino || image_has_inode_of(image, file);
}

void image_set_content(struct image *image, const struct file_mapping *file)
{
	image->dev = IMAGE_DEV_CONTENT;
	image->ino = hash_content(file);
}

struct build_id image_cache_key(const struct image *image)
{
	static const char mark[8] = "content";
	struct build_id key = image->build_id;

	if (image_is_by_content(image)) {
		key.len = sizeof(mark) + sizeof(image->ino);
		memcpy(key.bytes, mark, sizeof(mark));
		memcpy(key.bytes + sizeof(mark), &image->ino, sizeof(image->ino));
	}
	return key;
}

/* Searches a process's mappings for an image. */
struct search {
	struct event_sink sink;
	const struct image *image;
	uint64_t start, end; /* of the mapping; end 0: not found */
	bool is_exact;
};

static bool is_path_of(const struct image *image, const char *path)
{
	size_t len = strlen(image->path);

	return !strncmp(path, image->path, len) &&
	       (!path[len] || !strcmp(path + len, " (deleted)"));
}

static int look_at_mapping(struct event_sink *sink, const struct event *e)
{
	struct search *s = (struct search *)sink;
	const struct mapping_event *m = &e->mapping;
	bool is_inode = !s->image->ino || m->ino == s->image->ino;
	bool is_exact = s->image->ino && m->dev == s->image->dev && is_inode;

	if (e->type != EVENT_MAPPING || !m->ino || s->is_exact)
		return 0;
	if (is_exact || (!s->end && is_inode && is_path_of(s->image, m->path))) {
		s->start = m->start;
		s->end = m->start + m->size;
		s->is_exact = is_exact;
	}
	return 0;
}

char *image_map_file(const char *proc, int32_t pid, const struct image *image)
{
	struct search s = { .sink.push = look_at_mapping, .image = image };

	proc_scan_process(proc, pid, 0, &s.sink);
	return s.end ? xasprintf("%s/%d/map_files/%" PRIx64 "-%" PRIx64, proc, pid, s.start, s.end)
		     : NULL;
}
