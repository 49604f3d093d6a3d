/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_file.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/intmap.h"
#include "base/mem.h"
#include "elf/elf_symbols.h"
#include "guard/limits.h"
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

static bool debug_file_is_of_image(const struct build_id *wanted, const char *link_name,
				   uint32_t link_crc, const struct file_mapping *file,
				   const struct elf_file *elf)
{
	struct build_id id = { 0 };

	if (wanted->len && elf_build_id(elf, &id))
		return build_id_equal(&id, wanted);
	return link_name && file->size <= GUARD_HASH_BYTES &&
	       elf_debug_crc(file->base, file->size) == link_crc;
}

bool debug_file_find(struct parser_job *job, const struct elf_file *image, struct debug_file *out)
{
	struct build_id id = { 0 };
	struct elf_symbols symbols;
	struct buf wish = { 0 };
	uint32_t crc = 0;
	const char *link = elf_debug_link(image, &crc);
	int place = 0;

	*out = (struct debug_file){ .passed_over = DEBUG_FILE_NONE };
	elf_build_id(image, &id);
	for (uint8_t next = 0; next <= DEBUG_FILE_PLACES; next = (uint8_t)(place + 1)) {
		wish.len = 0;
		buf_u8(&wish, WISH_DEBUG_FILE);
		buf_u8(&wish, next);
		buf_bytes(&wish, &id, sizeof(id));
		buf_cstr0(&wish, link ? link : "");
		place = parser_open(job, &wish, &out->file);
		if (place < next || place > DEBUG_FILE_PLACES)
			break;
		if (elf_file_open(&out->elf, out->file.base, out->file.size, NULL) == 0 &&
		    elf_symbols_begin(&symbols, &out->elf, SHT_SYMTAB)) {
			out->place = (uint32_t)place;
			if (debug_file_is_of_image(&id, link, crc, &out->file, &out->elf))
				goto out;
			if (out->passed_over == DEBUG_FILE_NONE)
				out->passed_over = out->place;
		}
		file_unmap(&out->file);
	}
	file_unmap(&out->file);
out:
	buf_fini(&wish);
	return out->file.base;
}

/* False: the wish is not in form. */
static bool read_wish(struct debug_search *s, struct reader *wish, uint8_t *first)
{
	uint8_t kind = reader_u8(wish);
	const void *id;

	*first = reader_u8(wish);
	id = reader_bytes(wish, sizeof(s->build_id));
	s->link_name = reader_cstr(wish);
	if (wish->bad || kind != WISH_DEBUG_FILE)
		return false;
	memcpy(&s->build_id, id, sizeof(s->build_id));
	if (!*s->link_name)
		s->link_name = NULL;
	return s->build_id.len <= BUILD_ID_MAX;
}

int debug_file_serve(const struct debug_search *search, struct reader *wish,
		     struct file_mapping *out, char **path)
{
	cleanup(free_at_exit) char *fetched = NULL;
	struct debug_search s = *search;
	struct candidates c = { 0 };
	struct guard_place place = { .root = s.root, .process = s.process };
	uint8_t first;
	int r = -ENOENT;

	if (!read_wish(&s, wish, &first))
		return -EINVAL;
	list_candidates(&s, &c);
	for (uint32_t i = first; i < c.n && r < 0; i++)
		if (guard_map_place(&place, c.paths[i], &guard_image_rules, out, NULL) == 0)
			r = (int)i;
	place.root = "";
	if (r < 0 && first <= DEBUG_FILE_PLACES && s.report &&
	    (fetched = debuginfod_fetch(&s.build_id, s.image_path, s.report)) &&
	    guard_map_place(&place, fetched, &guard_image_rules, out, NULL) == 0)
		r = DEBUG_FILE_PLACES;
	if (r >= 0 && path)
		*path = r < DEBUG_FILE_PLACES ? take_ptr(c.paths[r]) : take_ptr(fetched);
	candidates_fini(&c);
	return r;
}

char *debug_file_path(const struct debug_search *search, uint32_t place)
{
	struct candidates c = { 0 };
	char *path = NULL;

	list_candidates(search, &c);
	if (place < c.n)
		path = xstrdup(c.paths[place]);
	else if (place == DEBUG_FILE_PLACES)
		path = xstrdup("a file of debuginfod");
	candidates_fini(&c);
	return path;
}

/* ---- a search in this process ---- */

static int open_of_search(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	struct reader r = reader_over(wish->data, wish->len);

	return debug_file_serve(job->context, &r, out, NULL);
}

bool debug_file_open(const struct debug_search *s, const struct elf_file *image,
		     struct file_mapping *mapping, struct elf_file *elf, char **path)
{
	struct parser_job job = { .open = open_of_search, .context = (void *)s };
	struct debug_search found = *s;
	struct debug_file debug;

	if (!debug_file_find(&job, image, &debug))
		return false;
	elf_build_id(image, &found.build_id);
	found.link_name = elf_debug_link(image, &found.link_crc);
	if (path)
		*path = debug_file_path(&found, debug.place);
	*mapping = debug.file;
	*elf = debug.elf;
	return true;
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
