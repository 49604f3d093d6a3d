/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "machine/image_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <nettle/sha2.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "guard/open.h"
#include "machine/proc.h"

/*
 * So much is read of the beginning and of the end of a trusted file. Headers and symbols are there,
 * and reading takes a few milliseconds for a large file.
 */
#define CONTENT_PART ((size_t)8 << 20)

/* XXH3 of a part of the file. Gives back the memory of what was read, unless it is little. */
static uint64_t hash_part(const struct file_mapping *file, size_t at, size_t size, uint64_t seed)
{
	bool rests = file->guard && size > PIECE_BYTES; /* else the bytes are in no file */

	return checksum_in_pieces(file->base + at, size, seed, rests ? piece_rest : NULL);
}

/* XXH3 of the size, the beginning and the end. */
static uint64_t hash_ends(const struct file_mapping *file)
{
	size_t head = MIN(file->size, CONTENT_PART);
	size_t tail = MIN(file->size - head, CONTENT_PART);
	uint64_t hash = hash_part(file, 0, head, file->size);

	return hash_part(file, file->size - tail, tail, hash);
}

static uint64_t sha256_end(struct sha256_ctx *sha)
{
	uint8_t digest[SHA256_DIGEST_SIZE];
	uint64_t hash;

	sha256_digest(sha, sizeof(digest), digest);
	memcpy(&hash, digest, sizeof(hash));
	return hash;
}

/* Of a file on a disk: a change of its content changes a time, which only root can set back. */
static uint64_t hash_stat(const struct file_mapping *file)
{
	const uint64_t facts[] = { file->dev,      file->ino,      file->size,
				   file->mtime_ns, file->ctime_ns, file->uid };
	struct sha256_ctx sha;

	sha256_init(&sha);
	sha256_update(&sha, sizeof(facts), (const uint8_t *)facts);
	return sha256_end(&sha);
}

/*
 * Gives back the memory of each part that was read, as a file can be larger than the memory. A file
 * above GUARD_HASH_BYTES is known by its facts alone.
 */
static uint64_t hash_content(const struct file_mapping *file)
{
	struct sha256_ctx sha;

	if (file->size > GUARD_HASH_BYTES)
		return hash_stat(file);
	sha256_init(&sha);
	for (size_t at = 0; at < file->size; at += PIECE_BYTES) {
		size_t n = MIN(file->size - at, PIECE_BYTES);

		sha256_update(&sha, n, file->base + at);
		file_rest(file, at, n);
	}
	return sha256_end(&sha);
}

/* The numbers of other file systems (major 0) are given again after an unmount. */
static bool is_on_disk(const struct file_mapping *file)
{
	return file->dev >> 32;
}

bool image_file_is_trusted(const struct file_mapping *file, enum image_found found)
{
	return found == IMAGE_AT_ITS_PATH && !file->is_open_to_others &&
	       (file->uid == 0 || file->uid == geteuid());
}

bool image_file_may_use(const struct file_mapping *file, const struct file_mapping *other,
			enum image_found found)
{
	bool is_of_same_owner = !image_file_is_trusted(file, found) && other->uid == file->uid;

	return !other->base || image_file_is_trusted(other, found) ||
	       (found == IMAGE_AT_ITS_PATH && is_of_same_owner && !other->is_open_to_others);
}

/*
 * Whether the file has the image's device and inode in the kernel's names of mappings. On overlayfs
 * and btrfs, stat(2) gives other numbers; therefore the names of our own mapping are used.
 */
static bool image_has_inode_of(const struct image *image, const struct file_mapping *file)
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
	if (image->build_id.len && !build_id_equal(found, &image->build_id))
		return false;
	switch (image->dev) {
	case IMAGE_DEV_SHA256:
		return hash_content(file) == image->ino;
	case IMAGE_DEV_CONTENT:
		return !found->len && hash_ends(file) == image->ino;
	default:
		return image->build_id.len || !image->ino || image_has_inode_of(image, file);
	}
}

void image_identify(struct image *image, const struct file_mapping *file,
		    const struct build_id *build_id, enum image_found found)
{
	bool is_trusted = image_file_is_trusted(file, found);

	image->build_id = *build_id;
	image->dev = image->ino = image->generation = 0;
	if (is_trusted && build_id->len)
		return;
	if (is_trusted) {
		image->dev = IMAGE_DEV_CONTENT;
		image->ino = hash_ends(file);
	} else if (build_id->len && found == IMAGE_AT_ITS_PATH) {
		image->dev = IMAGE_DEV_FILE;
		image->ino = hash_stat(file);
	} else {
		image->dev = IMAGE_DEV_SHA256;
		image->ino = hash_content(file);
	}
}

/* `mark`: eight bytes that say what was hashed. */
static struct build_id image_key_of_hash(const char mark[8], uint64_t hash)
{
	struct build_id key = { .len = 8 + sizeof(hash) };

	memcpy(key.bytes, mark, 8);
	memcpy(key.bytes + 8, &hash, sizeof(hash));
	return key;
}

struct build_id image_cache_key(const struct image *image)
{
	switch (image->dev) {
	case IMAGE_DEV_CONTENT:
		return image_key_of_hash("content", image->ino);
	case IMAGE_DEV_SHA256:
		return image_key_of_hash("sha256\0", image->ino);
	case IMAGE_DEV_FILE:
		return (struct build_id){ 0 };
	default:
		return image->build_id;
	}
}

struct build_id image_file_key(const struct file_mapping *file, const struct build_id *build_id,
			       enum image_found found)
{
	if (image_file_is_trusted(file, found))
		return build_id->len ? *build_id : image_key_of_hash("content", hash_ends(file));
	if (is_on_disk(file))
		return image_key_of_hash("onadisk", hash_stat(file));
	if (file->size > GUARD_HASH_BYTES)
		return (struct build_id){ 0 };
	return image_key_of_hash("sha256\0", hash_content(file));
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
