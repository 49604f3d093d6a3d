/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/session_append.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "store/format.h"

static char *session_segment_path(const char *dir, uint32_t number)
{
	return xasprintf("%s/" SEGMENTS_DIR "/%04" PRIu32 SEGMENT_SUFFIX, dir, number);
}

/* A store numbers its segments from 0 without gaps. */
static uint32_t count_segments(const char *dir)
{
	for (uint32_t n = 0;; n++) {
		cleanup(free_at_exit) char *path = session_segment_path(dir, n);

		if (access(path, F_OK) < 0)
			return n;
	}
}

/*
 * Copies a segment to *out. Its headers get the number, and their delivered_before grows by
 * `before`. *delivered: the samples delivered up to its end, including `before`. With `out` NULL,
 * it only finds *delivered.
 */
static int copy_segment(const struct file_mapping *from, uint32_t number, uint64_t before,
			struct buf *out, uint64_t *delivered)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct segment_header head;
	struct block_header h;
	size_t at = SEGMENT_HEADER_SIZE;

	if (segment_header_parse(from->base, from->size, &head) < 0)
		return -EBADMSG;
	head.number = number;
	head.delivered_before += before;
	*delivered = head.delivered_before;
	if (out)
		segment_header_write(out, &head);
	for (; at < from->size; at += block_size(&h)) {
		const uint8_t *block = from->base + at;

		if (block_header_parse(block, from->size - at, &h, losses) < 0 ||
		    block_size(&h) > from->size - at)
			return -EBADMSG;
		h.delivered_before += before;
		*delivered = h.delivered_before + block_delivered(&h, losses);
		if (!out)
			continue;
		block_header_write(out, &h, losses);
		buf_bytes(out, block + h.header_size, block_size(&h) - h.header_size);
	}
	return 0;
}

static int write_segment(const char *path, const struct buf *bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600), r;

	if (fd < 0)
		return -errno;
	r = file_write_all(fd, bytes->data, bytes->len);
	if (close(fd) < 0 && !r)
		r = -errno;
	if (r < 0)
		unlink(path);
	return r;
}

/* Makes segment `from` of the part the segment `to` of the session, and updates *delivered. */
static int append_segment(const char *dir, uint32_t to, const char *part, uint32_t from,
			  uint64_t before, uint64_t *delivered, struct error *err)
{
	cleanup(free_at_exit) char *source = session_segment_path(part, from);
	cleanup(free_at_exit) char *target = session_segment_path(dir, to);
	cleanup(file_unmap) struct file_mapping map = { 0 };
	struct buf bytes = { 0 };
	int r = file_map(source, &map, err);

	if (r < 0)
		return r;
	r = copy_segment(&map, to, before, &bytes, delivered);
	if (!r)
		r = write_segment(target, &bytes);
	buf_fini(&bytes);
	return r < 0 ? error_errno(err, r, "cannot write the session: %s", target) : 0;
}

/* Finds the number of samples delivered up to the session's end. */
static int delivered_by(const char *dir, uint32_t n_segments, uint64_t *out, struct error *err)
{
	cleanup(free_at_exit) char *path =
		session_segment_path(dir, n_segments ? n_segments - 1 : 0);
	cleanup(file_unmap) struct file_mapping map = { 0 };
	int r = file_map(path, &map, err);

	if (!r && copy_segment(&map, 0, 0, NULL, out) < 0)
		r = error_set(err, -EBADMSG, "%s: it is no segment", path);
	return r;
}

int session_append(const char *dir, const char *part, struct error *err)
{
	uint32_t n = count_segments(dir), n_part = count_segments(part);
	uint64_t before, delivered;
	int r = delivered_by(dir, n, &before, err);

	for (uint32_t i = 0; i < n_part && !r; i++)
		r = append_segment(dir, n + i, part, i, before, &delivered, err);
	return r < 0 ? r : file_remove_tree(part, err);
}
