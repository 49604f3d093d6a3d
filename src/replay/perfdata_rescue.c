/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "replay/perfdata_rescue.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <unistd.h>

#include "base/mem.h"
#include "perfdata/format.h"

/* The beginning of an AUXTRACE record: behind it come `size` bytes of trace. */
struct aux_head {
	struct perf_event_header h;
	uint64_t size;
};

static int read_head(int fd, uint64_t at, struct aux_head *out)
{
	ssize_t n = pread(fd, out, sizeof(*out), (off_t)at);

	if (n < 0)
		return -errno;
	return n < (ssize_t)sizeof(out->h) || out->h.size < sizeof(out->h) ? -ENODATA : 0;
}

/* Room for some of its trace? A multiple of eight, as all pieces are. */
static int shorten(int fd, uint64_t at, const struct aux_head *head, uint64_t limit, uint64_t *end)
{
	uint64_t size;

	if (at + head->h.size + 8 > limit)
		return 0;
	size = (limit - at - head->h.size) & ~(uint64_t)7;
	if (pwrite(fd, &size, sizeof(size), (off_t)(at + offsetof(struct aux_head, size))) !=
	    sizeof(size))
		return errno ? -errno : -EIO;
	*end = at + head->h.size + size;
	return 0;
}

int perfdata_rescue_cut(int fd, uint64_t start, uint64_t limit, uint64_t *end)
{
	uint64_t at = start;
	int e = 0;

	while (at < limit) {
		struct aux_head head;
		uint64_t payload;

		if (read_head(fd, at, &head) < 0)
			break;
		payload = head.h.type == USER_AUXTRACE ? head.size : 0;
		if (payload > limit || at + head.h.size + payload > limit) {
			uint64_t cut = at;

			if (payload)
				e = shorten(fd, at, &head, limit, &cut);
			at = cut;
			break;
		}
		at += head.h.size + payload;
	}
	if (e < 0 || ftruncate(fd, (off_t)at) < 0)
		return e < 0 ? e : -errno;
	*end = at;
	return 0;
}
