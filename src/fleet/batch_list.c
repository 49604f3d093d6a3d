/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/batch_list.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "fleet/fleet_store.h"

#define HEAD_FUNCTIONS "assay-loading 1 functions"
#define HEAD_LEAVES    "assay-loading 1 leaves"
#define LIST_MOST      ((size_t)1 << 20)

void batch_list_fini(struct batch_list *list)
{
	vec_foreach (&list->blocks, block)
		free(block->host);
	vec_fini(&list->blocks);
}

void batch_list_add(struct batch_list *list, const char *host, const char *part, uint64_t bucket)
{
	struct listed_block block = { .host = xstrdup(host), .bucket = bucket };

	snprintf(block.part, sizeof(block.part), "%s", part);
	vec_push(&list->blocks, block);
}

static char *list_path(const char *fleet, const char *address)
{
	return xasprintf("%s/.loading-%016" PRIx64, fleet,
			 (uint64_t)XXH3_64bits(address, strlen(address)));
}

int batch_list_write(const char *fleet, const char *address, const struct batch_list *list,
		     struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);
	struct buf text = { 0 };
	int r;

	buf_printf(&text, "%s\n", list->leaves ? HEAD_LEAVES : HEAD_FUNCTIONS);
	vec_foreach (&list->blocks, block)
		buf_printf(&text, "%s %s %" PRIu64 "\n", block->host, block->part,
			   block->bucket / NS_PER_SECOND);
	r = file_replace(path, text.data, text.len, err);
	r = r < 0 ? r : fleet_sync(path, err);
	r = r < 0 ? r : fleet_sync(fleet, err);
	buf_fini(&text);
	return r;
}

/* Lines as batch_list_write() writes them. */
static bool list_parse_line(struct batch_list *list, char *line)
{
	char *part = strchr(line, ' '), *seconds = part ? strchr(part + 1, ' ') : NULL, *end;
	uint64_t time_ns;
	unsigned long long s;

	if (!seconds)
		return false;
	*part++ = *seconds++ = '\0';
	errno = 0;
	s = strtoull(seconds, &end, 10);
	if (errno || end == seconds || *end || s > UINT32_MAX || !fleet_host_is_valid(line) ||
	    strlen(part) >= HISTORY_NAME_SIZE || !history_part_time(part, &time_ns))
		return false;
	batch_list_add(list, line, part, s * NS_PER_SECOND);
	return true;
}

static bool list_parse(struct batch_list *list, char *text)
{
	char *rest = text, *line = strsep(&rest, "\n");

	list->leaves = !strcmp(line, HEAD_LEAVES);
	if (!list->leaves && strcmp(line, HEAD_FUNCTIONS) != 0)
		return false;
	while (rest && *rest)
		if (!(line = strsep(&rest, "\n")) || !rest || !list_parse_line(list, line))
			return false;
	return list->blocks.n > 0;
}

int batch_list_read(const char *fleet, const char *address, struct batch_list *out,
		    struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);
	cleanup(free_at_exit) char *text = NULL;
	struct stat st = { 0 };
	size_t size;
	int r = file_read_all(path, LIST_MOST, &text, &size);

	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	if (stat(path, &st) == 0)
		out->written_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND;
	if (strlen(text) != size || !list_parse(out, text))
		return error_set(err, -EBADMSG, "%s is no list of blocks", path);
	return 1;
}

int batch_list_remove(const char *fleet, const char *address, struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);

	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot remove %s", path);
	return 0;
}
