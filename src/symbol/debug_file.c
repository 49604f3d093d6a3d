/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/debug_file.h"

#include <assert.h>
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
#include "symbol/finder.h"

/* Takes the path over; NULL is no place. */
static void add_candidate(struct debug_places *c, const char *root, char *path)
{
	if (!path)
		return;
	assert(c->n < DEBUG_FILE_PLACES);
	c->roots[c->n] = root;
	c->paths[c->n++] = path;
}

void debug_places_fini(struct debug_places *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		free(c->paths[i]);
}

/* By the name in the file, which must not be a path. */
static void list_linked(const struct debug_search *s, struct debug_places *c)
{
	const char *slash = strrchr(s->image_path, '/');
	int dir_len = slash ? (int)(slash - s->image_path) : 0;
	struct finder *f = s->finder;
	const char *listed =
		f && s->link_name ? image_places_only(&f->listed, s->link_name, f->root) : NULL;

	if (!slash || !s->link_name || strchr(s->link_name, '/'))
		return;
	add_candidate(c, s->root,
		      xasprintf("%s%.*s/%s", s->root, dir_len, s->image_path, s->link_name));
	add_candidate(c, s->root,
		      xasprintf("%s%.*s/.debug/%s", s->root, dir_len, s->image_path, s->link_name));
	add_candidate(c, s->root,
		      xasprintf("%s%s%.*s/%s", s->root, s->debug_dir, dir_len, s->image_path,
				s->link_name));
	if (f && *f->root && dir_len)
		add_candidate(c, f->root, xasprintf("%s/%s", f->root, s->link_name));
	if (listed)
		add_candidate(c, "", xstrdup(listed));
}

static void list_cached(const struct debug_search *s, struct debug_places *c, const char *hex)
{
	const struct finder *f = s->finder;

	add_candidate(c, "", finder_perf_path(f, &s->build_id, "debug"));
	if (*s->root)
		add_candidate(c, "",
			      xasprintf("/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2));
	add_candidate(c, "", debuginfod_kept_path(DEBUGINFOD_DEBUG_FILE, &s->build_id));
}

void debug_places_init(struct debug_places *c, const struct debug_search *s)
{
	char hex[BUILD_ID_HEX_SIZE];

	*c = (struct debug_places){ 0 };
	build_id_hex(&s->build_id, hex);
	if (s->build_id.len > 1)
		add_candidate(c, s->root,
			      xasprintf("%s%s/.build-id/%.2s/%s.debug", s->root, s->debug_dir, hex,
					hex + 2));
	list_linked(s, c);
	if (s->build_id.len > 1 && s->finder && !s->finder->process)
		list_cached(s, c, hex);
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

/* Opens the first file from a place on, and returns its place. */
static int open_from(const struct debug_search *search, uint32_t first, struct file_mapping *out,
		     char **path)
{
	cleanup(free_at_exit) char *fetched = NULL;
	struct debug_search s = *search;
	struct debug_places c;
	struct guard_place place = { .process = s.process };
	int r = -ENOENT;

	debug_places_init(&c, &s);
	for (uint32_t i = first; i < c.n && r < 0; i++) {
		place.root = c.roots[i];
		if (guard_map_place(&place, c.paths[i], &guard_image_rules, out, NULL) < 0)
			continue;
		/* libdebuginfod notes with an empty file that a server has none */
		if (out->size)
			r = (int)i;
		else
			file_unmap(out);
	}
	place.root = "";
	if (r < 0 && first <= DEBUG_FILE_PLACES && s.finder &&
	    (fetched = debuginfod_fetch(s.finder->debuginfod, DEBUGINFOD_DEBUG_FILE, &s.build_id,
					s.image_path)) &&
	    guard_map_place(&place, fetched, &guard_image_rules, out, NULL) == 0)
		r = DEBUG_FILE_PLACES;
	if (r >= 0 && path)
		*path = r < DEBUG_FILE_PLACES ? take_ptr(c.paths[r]) : take_ptr(fetched);
	debug_places_fini(&c);
	return r;
}

int debug_file_serve(const struct debug_search *search, struct reader *wish,
		     struct file_mapping *out, char **path)
{
	struct debug_search s = *search;
	uint8_t first;

	return read_wish(&s, wish, &first) ? open_from(&s, first, out, path) : -EINVAL;
}

char *common_debug_path(const char *root, const char *of, const char *name)
{
	const char *slash = strrchr(of, '/');

	return *name == '/' ? xasprintf("%s%s", root, name)
			    : xasprintf("%.*s%s", slash ? (int)(slash - of) + 1 : 0, of, name);
}

int common_debug_open(const struct debug_search *search, const struct build_id *id,
		      struct file_mapping *out, char **path)
{
	struct debug_search s = *search;
	int r;

	s.build_id = *id;
	s.link_name = NULL;
	r = open_from(&s, 0, out, path);
	return MIN(r, 0);
}

char *debug_file_path(const struct debug_search *search, uint32_t place)
{
	struct debug_places c;
	char *path = NULL;

	debug_places_init(&c, search);
	if (place < c.n)
		path = xstrdup(c.paths[place]);
	else if (place == DEBUG_FILE_PLACES)
		path = xstrdup("a file of debuginfod");
	debug_places_fini(&c);
	return path;
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
	struct debug_places c;

	debug_places_init(&c, s);
	for (uint32_t i = 0; i < c.n; i++)
		sum = debug_file_evidence_of(sum, c.roots[i], c.paths[i]);
	debug_places_fini(&c);
	return sum;
}
