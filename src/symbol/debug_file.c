/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_file.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "guard/open.h"
#include "symbol/debuginfod.h"

struct candidates {
	char *paths[DEBUG_FILE_PLACES];
	uint32_t n;
};

static void candidates_fini(struct candidates *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->paths[i]);
}

static void list_candidates(const struct debug_search *s, struct candidates *c)
{
	const char *slash = strrchr(s->image_path, '/');
	int dir_len = slash ? (int)(slash - s->image_path) : 0;
	char hex[BUILD_ID_HEX_SIZE];

	if (s->build_id.len > 1) {
		build_id_hex(&s->build_id, hex);
		c->paths[c->n++] = xasprintf("%s%s/.build-id/%.2s/%s.debug", s->root, s->debug_dir,
					     hex, hex + 2);
	}
	/* a name from the file, which must not be a path */
	if (!slash || !s->link_name || strchr(s->link_name, '/'))
		return;
	c->paths[c->n++] = xasprintf("%s%.*s/%s", s->root, dir_len, s->image_path, s->link_name);
	c->paths[c->n++] =
		xasprintf("%s%.*s/.debug/%s", s->root, dir_len, s->image_path, s->link_name);
	c->paths[c->n++] = xasprintf("%s%s%.*s/%s", s->root, s->debug_dir, dir_len, s->image_path,
				     s->link_name);
}

uint32_t debug_file_places(const struct debug_search *s, char *paths[DEBUG_FILE_PLACES])
{
	struct candidates c = { 0 };

	list_candidates(s, &c);
	memcpy(paths, c.paths, sizeof(c.paths));
	return c.n;
}

/* A checksum reads the whole file. A larger file without a build id is never taken. */
#define CRC_LIMIT ((size_t)1 << 30)

static bool debug_file_is_of_image(const struct debug_search *s, const struct file_mapping *file,
				   const struct elf_file *elf)
{
	struct build_id id = { 0 };

	if (s->build_id.len && elf_build_id(elf, &id))
		return build_id_equal(&id, &s->build_id);
	return s->link_name && file->size <= CRC_LIMIT &&
	       elf_debug_crc(file->base, file->size) == s->link_crc;
}

/* True if the file at `path`, below `root`, is the right one; the caller then owns the mapping. */
static bool debug_file_try_file(const struct debug_search *s, const char *root, const char *path,
				struct file_mapping *mapping, struct elf_file *out,
				char **passed_over)
{
	const struct guard_place place = { .root = root, .process = s->process };
	struct elf_symbols symbols;
	struct file_mapping file = { 0 };
	struct elf_file elf;

	if (guard_map_place(&place, path, &guard_image_rules, &file, NULL) < 0)
		return false;
	if (elf_file_open(&elf, file.base, file.size, NULL) == 0 &&
	    elf_symbols_begin(&symbols, &elf, SHT_SYMTAB)) {
		if (debug_file_is_of_image(s, &file, &elf)) {
			*mapping = file;
			*out = elf;
			return true;
		}
		if (passed_over && !*passed_over)
			*passed_over = xstrdup(path);
	}
	file_unmap(&file);
	return false;
}

bool debug_file_open(const struct debug_search *s, struct file_mapping *mapping,
		     struct elf_file *elf, char **path, char **passed_over)
{
	cleanup(free_at_exit) char *fetched = NULL;
	struct candidates c = { 0 };
	const char *at = NULL;

	list_candidates(s, &c);
	for (uint32_t i = 0; i < c.n && !at; i++)
		if (debug_file_try_file(s, s->root, c.paths[i], mapping, elf, passed_over))
			at = c.paths[i];
	if (!at && s->report &&
	    (fetched = debuginfod_fetch(&s->build_id, s->image_path, s->report)) &&
	    debug_file_try_file(s, "", fetched, mapping, elf, passed_over))
		at = fetched;
	if (at && path)
		*path = xstrdup(at);
	candidates_fini(&c);
	return at != NULL;
}

/* `path` begins with `root`. */
static uint64_t debug_file_evidence_of(uint64_t sum, const char *root, const char *path)
{
	struct stat st;

	if (guard_stat_below(root, path + strlen(root), &st) < 0)
		return hash_u64(sum);
	sum = hash_u64(sum ^ (uint64_t)st.st_size);
	sum = hash_u64(sum ^ (uint64_t)st.st_ino);
	return hash_u64(sum ^ (timespec_ns(st.st_mtim)));
}

uint64_t debug_file_evidence(const struct debug_search *s)
{
	cleanup(free_at_exit) char *image = xasprintf("%s%s", s->root, s->image_path);
	uint64_t sum = debug_file_evidence_of(1, s->root, image);
	struct candidates c = { 0 };

	list_candidates(s, &c);
	for (uint32_t i = 0; i < c.n; i++)
		sum = debug_file_evidence_of(sum, s->root, c.paths[i]);
	candidates_fini(&c);
	return sum;
}
