/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/split_files.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/path.h"
#include "elf/elf_file.h"
#include "guard/open.h"
#include "symbol/finder.h"

#define DW_UT_SKELETON 4

/* ---- in a row ---- */

void split_units_begin(struct split_units *it, const struct dwarf_file *file)
{
	*it = (struct split_units){
		.file = file,
		.abbrev_budget = 4 * reader_left(&file->section[DWARF_ABBREV]) + (1 << 20),
	};
}

/* False: it is no skeleton. */
static bool open_skeleton(struct split_units *it, struct dwarf_unit *u)
{
	struct dwarf_abbrevs *a;
	bool is_open;

	if (!u->version || (u->version >= 5 && u->type != DW_UT_SKELETON))
		return false;
	a = dwarf_abbrevs_new(u);
	it->abbrev_budget -= MIN(it->abbrev_budget, dwarf_abbrevs_bytes(a));
	is_open = dwarf_unit_open(u, a, NULL);
	dwarf_abbrevs_free(a);
	u->abbrevs = NULL;
	return is_open && u->dwo_name && u->dwo_id;
}

bool split_units_next(struct split_units *it, struct dwarf_unit *out)
{
	while (it->abbrev_budget && dwarf_unit_next(it->file, &it->at, out))
		if (open_skeleton(it, out))
			return true;
	return false;
}

bool split_unit_find(const struct dwarf_file *split, const struct dwarf_unit *skeleton,
		     struct dwarf_unit *out, struct dwarf_abbrevs **abbrevs)
{
	uint64_t at = 0;

	while (dwarf_unit_next(split, &at, out)) {
		struct dwarf_abbrevs *a;

		if (!out->version)
			continue;
		a = dwarf_abbrevs_new(out);
		if (dwarf_unit_open(out, a, skeleton) && out->dwo_id == skeleton->dwo_id) {
			*abbrevs = a;
			return true;
		}
		dwarf_abbrevs_free(a);
	}
	return false;
}

void split_file_close(struct split_file *f)
{
	debug_sections_fini(&f->sections);
	file_unmap(&f->file);
	*f = (struct split_file){ 0 };
}

/* False: the file has no split units, and is closed. */
static bool load_split_file(struct split_file *f)
{
	struct elf_file elf;

	if (elf_file_open(&elf, f->file.base, f->file.size, NULL) == 0 &&
	    debug_sections_load(&f->sections, &elf, true))
		return true;
	split_file_close(f);
	return false;
}

/* The place that is served; negative: there is none from `first` on. */
static int ask_for_dwo(struct parser_job *job, uint8_t first, const struct dwarf_unit *skeleton,
		       struct file_mapping *out)
{
	struct buf wish = { 0 };
	int place;

	buf_u8(&wish, WISH_SPLIT);
	buf_u8(&wish, first);
	buf_bytes(&wish, &skeleton->dwo_id, sizeof(skeleton->dwo_id));
	buf_cstr0(&wish, skeleton->dwo_name);
	buf_cstr0(&wish, skeleton->comp_dir ? skeleton->comp_dir : "");
	place = parser_open(job, &wish, out);
	buf_fini(&wish);
	return place;
}

bool split_file_open(struct parser_job *job, const struct dwarf_unit *skeleton,
		     struct split_file *out, struct dwarf_unit *unit,
		     struct dwarf_abbrevs **abbrevs)
{
	int place, next = 0;

	*out = (struct split_file){ 0 };
	while (next <= UINT8_MAX &&
	       (place = ask_for_dwo(job, (uint8_t)next, skeleton, &out->file)) >= next) {
		if (load_split_file(out) &&
		    split_unit_find(&out->sections.dwarf, skeleton, unit, abbrevs))
			return true;
		split_file_close(out);
		next = place + 1;
	}
	split_file_close(out);
	return false;
}

/* Whether it has the first unit of a file: then it has all of them. */
static bool is_package_of(const struct dwarf_file *package, const struct dwarf_file *of)
{
	struct split_units it;
	struct dwarf_unit unit;
	struct dwarf_file part;

	split_units_begin(&it, of);
	return split_units_next(&it, &unit) && dwarf_package_find(package, unit.dwo_id, &part);
}

bool split_package_open(struct parser_job *job, const struct build_id *id,
			const struct dwarf_file *of, struct split_file *out)
{
	struct buf wish = { 0 };
	int place, next = 0;
	bool is_found = false;

	*out = (struct split_file){ 0 };
	while (!is_found && next <= UINT8_MAX) {
		wish.len = 0;
		buf_u8(&wish, WISH_PACKAGE);
		buf_u8(&wish, (uint8_t)next);
		buf_bytes(&wish, id, sizeof(*id));
		place = parser_open(job, &wish, &out->file);
		if (place < next)
			break;
		is_found = load_split_file(out) && is_package_of(&out->sections.dwarf, of);
		next = place + 1;
		if (!is_found)
			split_file_close(out);
	}
	if (!is_found)
		split_file_close(out);
	buf_fini(&wish);
	return is_found;
}

/* ---- places ---- */

#define MAX_LISTED 8 /* of one name in the folders of --image-path */
#define MAX_PLACES (5 + MAX_LISTED)

struct split_places {
	char *paths[MAX_PLACES];
	const char *roots[MAX_PLACES]; /* a path that begins with it stays below it */
	uint32_t n;
};

static void split_places_fini(struct split_places *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		free(p->paths[i]);
}

/* Takes the path over. */
static void add_split_place(struct split_places *p, const char *root, char *path)
{
	p->roots[p->n] = root;
	p->paths[p->n++] = path;
}

char *split_file_kept_path(const char *debug_dir, uint64_t id)
{
	return xasprintf("%s/.dwo/%016" PRIx64 ".dwo", debug_dir, id);
}

char *split_package_kept_path(const char *debug_dir, const struct build_id *id)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(id, hex);
	return xasprintf("%s/.build-id/%.2s/%s.dwp", debug_dir, hex, hex + 2);
}

static void add_compiled_place(struct split_places *p, const char *root, const char *name,
			       const char *dir)
{
	add_split_place(p, root,
			*name == '/' ? xasprintf("%s%s", root, name)
				     : xasprintf("%s%s/%s", root, dir, name));
}

/* In the user's folders, by the name alone. */
static void add_named_places(struct split_places *p, struct finder *f, const char *name)
{
	const struct listed_file *files;
	size_t n;

	if (*f->root)
		add_split_place(p, f->root, xasprintf("%s/%s", f->root, name));
	files = image_places_find(&f->listed, name, &n);
	for (size_t i = 0; i < MIN(n, (size_t)MAX_LISTED); i++)
		add_split_place(p, f->root, xstrdup(files[i].path));
}

/* `kept` is a path behind the root, and is taken over. */
static void add_kept_place(struct split_places *p, const struct debug_search *s, char *kept)
{
	const char *root = s->finder ? s->finder->root : s->root;

	add_split_place(p, root, xasprintf("%s%s", root, kept));
	free(kept);
}

static void list_dwo_places(struct split_places *p, const struct debug_search *s, uint64_t id,
			    const char *name, const char *dir)
{
	const char *file = path_file_name(name), *slash = strrchr(s->image_path, '/');

	add_compiled_place(p, s->root, name, dir);
	if (s->finder && strcmp(s->finder->root, s->root) != 0)
		add_compiled_place(p, s->finder->root, name, dir);
	add_split_place(p, s->root,
			xasprintf("%s%.*s/%s", s->root, slash ? (int)(slash - s->image_path) : 0,
				  s->image_path, file));
	if (s->finder)
		add_named_places(p, s->finder, file);
	add_kept_place(p, s, split_file_kept_path(s->debug_dir, id));
}

static void list_package_places(struct split_places *p, const struct debug_search *s,
				const struct build_id *id)
{
	cleanup(free_at_exit) char *name = xasprintf("%s.dwp", path_file_name(s->image_path));

	add_split_place(p, s->root, xasprintf("%s%s.dwp", s->root, s->image_path));
	if (s->finder)
		add_named_places(p, s->finder, name);
	if (id->len > 1)
		add_kept_place(p, s, split_package_kept_path(s->debug_dir, id));
}

static int serve_place(const struct debug_search *s, struct split_places *p, uint8_t first,
		       struct file_mapping *out, char **path)
{
	for (uint32_t i = first; i < p->n; i++) {
		const struct guard_place place = { .root = p->roots[i], .process = s->process };

		if (guard_map_place(&place, p->paths[i], &guard_image_rules, out, NULL) < 0)
			continue;
		if (path)
			*path = take_ptr(p->paths[i]);
		return (int)i;
	}
	return -ENOENT;
}

static int list_wished(struct split_places *p, const struct debug_search *s, struct reader *wish,
		       uint8_t *first, uint64_t *id)
{
	uint8_t kind = reader_u8(wish);
	const void *number;
	const char *name, *dir;

	*id = 0;
	*first = reader_u8(wish);
	number = reader_bytes(wish, kind == WISH_SPLIT ? sizeof(*id) : sizeof(struct build_id));
	if (wish->bad)
		return -EINVAL;
	if (kind == WISH_PACKAGE) {
		struct build_id build_id;

		memcpy(&build_id, number, sizeof(build_id));
		if (build_id.len > BUILD_ID_MAX)
			return -EINVAL;
		list_package_places(p, s, &build_id);
		return 0;
	}
	memcpy(id, number, sizeof(*id));
	name = reader_cstr(wish);
	dir = reader_cstr(wish);
	if (wish->bad || kind != WISH_SPLIT)
		return -EINVAL;
	list_dwo_places(p, s, *id, name, dir);
	return 0;
}

int split_file_serve(const struct debug_search *search, struct reader *wish,
		     struct file_mapping *out, char **path, uint64_t *id)
{
	struct split_places places = { 0 };
	uint8_t first = 0;
	int r = list_wished(&places, search, wish, &first, id);

	if (r == 0)
		r = serve_place(search, &places, first, out, path);
	split_places_fini(&places);
	return r;
}

void split_file_explain(const struct debug_search *search, const struct buf *wish,
			void (*report)(void *data, const char *path, const char *verdict),
			void *data)
{
	struct reader r = reader_over(wish->data, wish->len);
	struct split_places p = { 0 };
	uint8_t first = 0;
	uint64_t id;

	if (list_wished(&p, search, &r, &first, &id) < 0)
		p.n = 0;
	for (uint32_t i = 0; i < p.n; i++) {
		const struct guard_place place = { .root = p.roots[i], .process = search->process };
		struct file_mapping file = { 0 };
		int e = guard_map_place(&place, p.paths[i], &guard_image_rules, &file, NULL);

		report(data, p.paths[i], e < 0 ? strerror(-e) : "of another unit or build");
		file_unmap(&file);
	}
	split_places_fini(&p);
}
