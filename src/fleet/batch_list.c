/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/batch_list.h"

#include <dirent.h>
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

#define LIST_PREFIX ".loading-"

static char *list_path(const char *fleet, const char *address)
{
	return xasprintf("%s/" LIST_PREFIX "%016" PRIx64, fleet,
			 (uint64_t)XXH3_64bits(address, strlen(address)));
}

int batch_list_write_file(const char *fleet, const char *path, const struct batch_list *list,
			  struct error *err)
{
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

int batch_list_write(const char *fleet, const char *address, const struct batch_list *list,
		     struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);

	return batch_list_write_file(fleet, path, list, err);
}

/* Lines as batch_list_write_file() writes them. */
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

int batch_list_read_file(const char *path, struct batch_list *out, struct error *err)
{
	cleanup(free_at_exit) char *text = NULL;
	struct stat st = { 0 };
	size_t size;
	int r;

	if (stat(path, &st) == 0)
		out->written_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND;
	r = file_read_all(path, LIST_MOST, &text, &size);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return error_errno(err, r, "cannot read %s", path);
	if (strlen(text) != size || !list_parse(out, text))
		return error_set(err, -EBADMSG, "%s is no list of blocks", path);
	return 1;
}

int batch_list_read(const char *fleet, const char *address, struct batch_list *out,
		    struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);

	return batch_list_read_file(path, out, err);
}

/* Whether a file is a young list of another address. */
static bool list_is_young_other(const char *path, const char *fleet, const char *const *addresses,
				size_t n, uint64_t within_ns)
{
	uint64_t now = clock_wall_ns(), written;
	struct stat st;

	for (size_t i = 0; i < n; i++) {
		cleanup(free_at_exit) char *own = list_path(fleet, addresses[i]);

		if (!strcmp(own, path))
			return false;
	}
	if (stat(path, &st) < 0)
		return false;
	written = (uint64_t)st.st_mtim.tv_sec * NS_PER_SECOND;
	return now - MIN(written, now) < within_ns;
}

int batch_list_check_others(const char *fleet, const char *const *addresses, size_t n,
			    uint64_t within_ns, struct error *err)
{
	const size_t length = strlen(LIST_PREFIX) + 16; /* a file that is being written has more */
	const struct dirent *entry;
	DIR *d = opendir(fleet);
	int r = d ? 0 : error_errno(err, -errno, "cannot read %s", fleet);

	while (r >= 0 && (entry = readdir(d))) {
		cleanup(free_at_exit) char *path = xasprintf("%s/%s", fleet, entry->d_name);

		if (!strncmp(entry->d_name, LIST_PREFIX, strlen(LIST_PREFIX)) &&
		    strlen(entry->d_name) == length &&
		    list_is_young_other(path, fleet, addresses, n, within_ns))
			r = error_set(err, -EAGAIN,
				      "%s lists blocks whose insert may still run: try again ten "
				      "minutes after it was written",
				      path);
	}
	if (d)
		closedir(d);
	return r;
}

int batch_list_remove(const char *fleet, const char *address, struct error *err)
{
	cleanup(free_at_exit) char *path = list_path(fleet, address);

	if (unlink(path) < 0 && errno != ENOENT)
		return error_errno(err, -errno, "cannot remove %s", path);
	return 0;
}
