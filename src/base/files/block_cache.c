/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/files/block_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>

#include "base/checksum.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/reserve.h"

#define HEADER_MAX 256

/* Other processes that map the same block share its memory, so large ones are mapped. */
#define COPIED_BYTES ((size_t)16 << 10)

static char *path_of(const struct block_kind *kind, const char *dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/%s.%s", dir, hex, kind->suffix);
}

/* `rest`: checksum_in_pieces() */
static uint64_t checksum_of(const struct block_kind *kind, const uint8_t *block, size_t size,
			    void (*rest)(const void *bytes, size_t size))
{
	uint8_t header[HEADER_MAX];

	memcpy(header, block, kind->header_bytes);
	memset(header + kind->checksum_at, 0, sizeof(uint64_t));
	return checksum_in_pieces(block + kind->header_bytes, size - kind->header_bytes,
				  checksum(header, kind->header_bytes, 0), rest);
}

static bool is_whole(const struct block_kind *kind, const struct build_id *id, const void *bytes,
		     size_t size, void (*rest)(const void *bytes, size_t size))
{
	const uint8_t *block = bytes;
	struct build_id own;
	uint64_t checksum;

	if (size < kind->header_bytes)
		return false;
	memcpy(&own, block + kind->build_id_at, sizeof(own));
	memcpy(&checksum, block + kind->checksum_at, sizeof(checksum));
	return build_id_equal(&own, id) && checksum == checksum_of(kind, block, size, rest);
}

bool block_cache_is_whole(const struct block_kind *kind, const struct build_id *id,
			  const void *bytes, size_t size)
{
	return is_whole(kind, id, bytes, size, NULL);
}

/* ---- verified before ---- */

#define MARK_NAME     "user.assay.whole"
#define MARK_BYTES_UP 1000000 /* below, verifying costs less than looking for the mark */
#define MARK_AGE_NS   2000000000ULL

/* That this file, as it is, was found whole since this boot. */
struct mark {
	uint64_t size, mtime_ns, ino;
	char boot_id[40];
};

static bool make_mark(const struct file_mapping *file, struct mark *out)
{
	*out = (struct mark){ .size = file->size, .mtime_ns = file->mtime_ns, .ino = file->ino };
	return file->size >= MARK_BYTES_UP && file_read_line("/proc/sys/kernel/random/boot_id",
							     out->boot_id, sizeof(out->boot_id));
}

static bool is_marked(const char *path, const struct mark *mark)
{
	struct mark found;

	return getxattr(path, MARK_NAME, &found, sizeof(found)) == (ssize_t)sizeof(found) &&
	       !memcmp(&found, mark, sizeof(found));
}

/* A file that was written just now could be written again within one tick of its time. */
static void put_mark(const char *path, const struct mark *mark)
{
	uint64_t now_ns = clock_wall_ns();

	if (now_ns > mark->mtime_ns && now_ns - mark->mtime_ns > MARK_AGE_NS)
		setxattr(path, MARK_NAME, mark, sizeof(*mark), 0);
}

/* Damage comes of a crash of the machine, or of its disk: whole once is whole until it ends. */
static bool is_known_whole(const struct block_kind *kind, const char *path,
			   const struct build_id *id, const struct file_mapping *file)
{
	struct mark mark;
	bool has_mark = make_mark(file, &mark);
	struct build_id own;

	if (has_mark && is_marked(path, &mark)) {
		memcpy(&own, file->base + kind->build_id_at, sizeof(own));
		return build_id_equal(&own, id);
	}
	if (!is_whole(kind, id, file->base, file->size,
		      has_mark && file->guard ? piece_rest : NULL))
		return false;
	if (has_mark)
		put_mark(path, &mark);
	return true;
}

bool block_cache_map(const struct block_kind *kind, const char *dir, const struct build_id *id,
		     struct file_mapping *out)
{
	cleanup(free_at_exit) char *path = path_of(kind, dir, id);
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct file_mapping file = { 0 };

	if (fd < 0 || file_load_fd(fd, path, COPIED_BYTES, &file, NULL) < 0)
		return false;
	if (is_known_whole(kind, path, id, &file)) {
		*out = file;
		return true;
	}
	file_unmap(&file);
	return false;
}

bool block_cache_map_written(const struct block_kind *kind, const char *dir,
			     const struct build_id *id, const void *block, size_t size,
			     struct file_mapping *out)
{
	cleanup(free_at_exit) char *path = path_of(kind, dir, id);
	cleanup(close_at_exit) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct file_mapping file = { 0 };

	if (fd < 0 || file_load_fd(fd, path, COPIED_BYTES, &file, NULL) < 0)
		return false;
	/* The header has the checksum of the whole. */
	if (file.size == size && !memcmp(file.base, block, kind->header_bytes)) {
		*out = file;
		return true;
	}
	file_unmap(&file);
	return false;
}

/* Readable for those who may read the folder. */
static int put_block(const struct block_kind *kind, const char *path, const char *dir,
		     const void *block, size_t size, void (*rest)(const void *bytes, size_t size))
{
	const struct file_bytes bytes = { block, size, kind->header_bytes, rest };
	struct stat st;

	if (stat(dir, &st) < 0)
		return -errno;
	return file_replace_bytes(path, st.st_mode & 0640, &bytes, NULL);
}

static void trim_sometimes(const struct block_kind *kind, const char *dir, size_t size)
{
	uint64_t before = __atomic_load_n(kind->written, __ATOMIC_RELAXED);

	if (before < kind->max_bytes / 32) {
		__atomic_fetch_add(kind->written, size, __ATOMIC_RELAXED);
		return;
	}
	__atomic_store_n(kind->written, size, __ATOMIC_RELAXED);
	block_cache_trim(kind, dir, kind->max_bytes);
}

static void write_block(const struct block_kind *kind, const char *dir, const struct build_id *id,
			uint32_t uid, void *block, size_t size,
			void (*rest)(const void *bytes, size_t size))
{
	cleanup(free_at_exit) char *path = path_of(kind, dir, id);
	uint16_t owner = block_owner(uid);
	uint8_t *bytes = block;
	uint64_t checksum;
	int r;

	if (reserve_failures()) /* the block may be incomplete */
		return;
	memmove(bytes + kind->build_id_at, id, sizeof(*id)); /* it may be the block's own */
	memcpy(bytes + kind->owner_at, &owner, sizeof(owner));
	checksum = checksum_of(kind, bytes, size, rest);
	memcpy(bytes + kind->checksum_at, &checksum, sizeof(checksum));
	r = put_block(kind, path, dir, block, size, rest);
	if (r == -ENOENT && file_mkdirs(dir, 0700, NULL) == 0)
		put_block(kind, path, dir, block, size, rest);
	trim_sometimes(kind, dir, size);
}

void block_cache_write(const struct block_kind *kind, const char *dir, const struct build_id *id,
		       uint32_t uid, void *block, size_t size)
{
	write_block(kind, dir, id, uid, block, size, NULL);
}

void block_cache_write_mapped(const struct block_kind *kind, const char *dir,
			      const struct build_id *id, uint32_t uid, void *block, size_t size)
{
	write_block(kind, dir, id, uid, block, size, size > PIECE_BYTES ? piece_rest : NULL);
}
