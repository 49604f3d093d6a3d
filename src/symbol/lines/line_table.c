/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/lines/line_table.h"

#include <elf.h>
#include <inttypes.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "symbol/debug_file.h"
#include "symbol/debug_sections.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/lines/line_draft.h"
#include "symbol/lines/line_dump.h"
#include "symbol/lines/line_go.h"
#include "symbol/table.h"

/* The state of making one image's lines. */
struct making {
	struct symbolizer *s;
	struct line_table *t;
	const struct image *image;
	const char *root, *path;       /* of the image: path without root */
	struct image_place place;      /* of a FILE image */
	struct build_id build_id, key; /* the image's; the cache's */
	enum image_found found;        /* of a FILE image */
	struct module_file module;
	struct file_mapping image_file, debug_file, alt_file, package_file;
	struct elf_file elf, debug_elf;
	char *debug_path;
	struct debug_sections debug, alt, package;
	struct code_segments segments;
	struct line_source source;
};

static void line_table_making_fini(struct making *m)
{
	debug_sections_fini(&m->debug);
	debug_sections_fini(&m->alt);
	debug_sections_fini(&m->package);
	module_file_close(&m->module);
	file_unmap(&m->image_file);
	file_unmap(&m->debug_file);
	file_unmap(&m->alt_file);
	file_unmap(&m->package_file);
	code_segments_fini(&m->segments);
	code_segments_fini(&m->source.code);
	free(m->debug_path);
	free(m->place.path);
}

static bool map_elf(const struct making *m, const char *path, struct file_mapping *file,
		    struct elf_file *elf)
{
	if (symbolizer_map(m->s, path, file, NULL) < 0)
		return false;
	if (elf_file_open(elf, file->base, file->size, NULL) == 0)
		return true;
	file_unmap(file);
	return false;
}

/* ---- the debug information ---- */

static bool load_debug(struct making *m, struct debug_sections *sections,
		       const struct elf_file *elf, const char *path)
{
	bool has_units = debug_sections_load(sections, elf, false);

	if (sections->is_refused && !m->t->detail)
		m->t->detail = xasprintf("%s: its compressed debug information claims to be more "
					 "than 24 times as large as the file, and is not read",
					 path);
	return has_units;
}

/* The image's own, else its debug file's. */
static bool find_debug(struct making *m)
{
	struct debug_search search = {
		.root = m->root,
		.process = m->s->process,
		.debug_dir = m->s->debug_dir,
		.image_path = m->path,
		.build_id = m->build_id,
		.report = m->s->report_fetching,
	};

	if (load_debug(m, &m->debug, &m->elf, m->place.path)) {
		m->t->status = LINES_OWN;
		m->debug_path = xstrdup(m->place.path);
		return true;
	}
	debug_sections_fini(&m->debug);
	if (!debug_file_open(&search, &m->elf, &m->debug_file, &m->debug_elf, &m->debug_path))
		return false;
	m->t->status = LINES_DEBUG_FILE;
	return load_debug(m, &m->debug, &m->debug_elf, m->debug_path);
}

/* .gnu_debugaltlink: the path of the common file, relative to the debug file, and its build id. */
static void find_alt(struct making *m)
{
	const struct elf_file *of = m->t->status == LINES_OWN ? &m->elf : &m->debug_elf;
	char hex[BUILD_ID_HEX_SIZE], *paths[2];
	const char *name, *slash = strrchr(m->debug_path, '/');
	struct build_id wanted = { 0 }, found;
	struct elf_section section;
	struct elf_file elf;
	struct reader r;

	if (!elf_section_named(of, ".gnu_debugaltlink", &section))
		return;
	r = elf_section_bytes(of, &section);
	name = reader_cstr(&r);
	if (!name || !reader_left(&r) || reader_left(&r) > BUILD_ID_MAX)
		return;
	wanted.len = (uint8_t)reader_left(&r);
	memcpy(wanted.bytes, r.at, wanted.len);
	build_id_hex(&wanted, hex);
	paths[0] = *name == '/' ? xasprintf("%s%s", m->s->root, name)
				: xasprintf("%.*s%s", slash ? (int)(slash - m->debug_path) + 1 : 0,
					    m->debug_path, name);
	paths[1] = xasprintf("%s%s/.build-id/%.2s/%s.debug", m->s->root, m->s->debug_dir, hex,
			     hex + 2);
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++) {
		if (!m->alt_file.base && map_elf(m, paths[i], &m->alt_file, &elf)) {
			if (elf_build_id(&elf, &found) && build_id_equal(&found, &wanted) &&
			    load_debug(m, &m->alt, &elf, paths[i]))
				m->source.alt = &m->alt.dwarf;
			else
				file_unmap(&m->alt_file);
		}
		free(paths[i]);
	}
	if (!m->source.alt)
		m->t->detail = xasprintf("%s: the common debug information that it refers to, "
					 "%s, was not found",
					 m->debug_path, name);
}

static void find_package(struct making *m)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s.dwp", m->root, m->path);
	struct elf_file elf;

	if (map_elf(m, path, &m->package_file, &elf) &&
	    debug_sections_load(&m->package, &elf, true))
		m->source.package = &m->package.dwarf;
}

/* ---- code ---- */

/* The parts of the executable sections that are in segments; without sections, the segments. */
static void line_table_find_code(struct making *m)
{
	const uint64_t wanted = SHF_ALLOC | SHF_EXECINSTR;
	struct code_segments *code = &m->source.code;
	struct elf_section section;

	for (uint32_t i = 0; elf_section(&m->elf, i, &section); i++) {
		if ((section.flags & wanted) != wanted)
			continue;
		vec_foreach (&m->segments, s) {
			uint64_t low = MAX(s->link_addr, section.link_addr);
			uint64_t high =
				MIN(s->link_addr + s->size, section.link_addr + section.size);

			if (low < high)
				vec_push(code,
					 (struct code_segment){ low, high - low,
								s->offset + (low - s->link_addr) });
		}
	}
	if (!code->n)
		vec_foreach (&m->segments, s) {
			vec_push(code, *s);
		}
	code_segments_sort(code);
}

/* ---- making ---- */

static bool may_be_kept(const struct making *m, const struct line_losses *losses)
{
	const struct file_mapping *others[] = { &m->debug_file, &m->alt_file, &m->package_file };

	for (size_t i = 0; i < ARRAY_SIZE(others) && m->source.image_file; i++)
		if (!image_file_may_use(m->source.image_file, others[i], m->found))
			return false;
	return !losses->is_of_others;
}

static void adopt_block(struct making *m, struct line_header *block, size_t size,
			struct line_losses *losses)
{
	struct line_table *t = m->t;

	t->block = block;
	line_index_open(&t->index, block, size);
	if (losses->n_missing_split && !t->detail)
		t->detail = xasprintf("%s: %" PRIu64 " of %" PRIu64 " units have their debug "
				      "information in files that were not found or are of another "
				      "build, for example %s",
				      m->path, losses->n_missing_split, losses->n_units,
				      losses->missing_split);
	else if ((losses->n_bad_units || losses->is_cut) && !t->detail)
		t->detail = xasprintf("%s: its debug information is damaged or of an unknown kind "
				      "(%" PRIu64 " of %" PRIu64 " units)",
				      m->debug_path, losses->n_bad_units, losses->n_units);
	if (!t->detail && m->s->cache_dir && m->key.len && may_be_kept(m, losses))
		line_cache_write(m->s->cache_dir, &m->key, block, size);
}

static void make_index(struct making *m)
{
	const char *slash = strrchr(m->path, '/');
	cleanup(free_at_exit) char *dir = xstrndup(m->path, slash ? (size_t)(slash - m->path) : 0);
	struct line_losses losses = { 0 };
	struct line_header *block;
	size_t size;

	find_alt(m);
	find_package(m);
	line_table_find_code(m);
	m->source.dwarf = &m->debug.dwarf;
	m->source.root = m->root;
	m->source.image_dir = dir;
	block = line_draft_make(&m->source, &size, &losses);
	if (block)
		adopt_block(m, block, size, &losses);
	else
		m->t->status = LINES_NONE;
	free(losses.missing_split);
}

/* A stripped Go program has its lines in the table of its runtime. */
static void make_of_go(struct making *m)
{
	struct line_losses losses = { 0 };
	struct line_header *block;
	size_t size;

	block = line_go_make(&m->elf, &m->segments, &size);
	m->t->status = block ? LINES_OWN : LINES_NONE;
	if (block)
		adopt_block(m, block, size, &losses);
}

static bool open_cached(struct making *m, const struct build_id *key)
{
	bool is_there = m->s->cache_dir && key->len &&
			line_cache_open(m->s->cache_dir, key, &m->t->mapping, &m->t->index);

	if (is_there)
		m->t->status = LINES_CACHED;
	return is_there;
}

static void make_of_file(struct making *m)
{
	m->place = image_place_find(m->s, m->image);
	m->root = m->place.root;
	m->path = m->place.below;
	if (!map_elf(m, m->place.path, &m->image_file, &m->elf))
		return;
	m->t->status = LINES_NONE;
	elf_build_id(&m->elf, &m->build_id);
	if (!image_place_is_right(m->s, m->image, &m->image_file, &m->build_id))
		return;
	m->found = symbolizer_found(m->s, m->image, m->place.path);
	m->key = symbolizer_key(m->s, m->image, &m->image_file, &m->build_id, m->found);
	m->source.image_file = &m->image_file;
	m->source.found = m->found;
	if (open_cached(m, &m->key))
		return;
	code_segments_of_image(&m->segments, &m->elf);
	if (find_debug(m))
		make_index(m);
	else
		make_of_go(m);
}

static void make_of_kernel(struct making *m)
{
	if (!m->build_id.len)
		running_kernel_build_id(m->s, &m->build_id);
	m->key = m->build_id;
	if (!vmlinux_open(m->s, &m->build_id, &m->image_file, &m->elf, &m->debug_path))
		return;
	m->t->status = LINES_NONE;
	if (!vmlinux_segments(&m->elf, &m->segments) ||
	    !load_debug(m, &m->debug, &m->elf, m->debug_path))
		return;
	m->t->status = LINES_OWN;
	m->path = m->debug_path;
	make_index(m);
}

/* A module's file, or its debug file, with the addresses of the loaded module. */
static void make_of_module(struct making *m)
{
	const struct symbol_table *known = symbolizer_table(m->s, m->image, NULL, 0);

	if (!module_file_open(m->s, m->image, MODULE_LINES, known, &m->module))
		return;
	m->t->status = LINES_NONE;
	m->elf = m->module.elf;
	m->debug_path = xstrdup(m->module.path);
	m->path = m->debug_path;
	m->key = m->build_id;
	vec_foreach (&m->module.segments, s) {
		vec_push(&m->segments, *s);
	}
	if (!load_debug(m, &m->debug, &m->elf, m->debug_path))
		return;
	m->t->status = LINES_OWN;
	make_index(m);
}

/* Code made at run time: its image is the jitdump, if there is one. */
static void make_of_dump(struct making *m)
{
	cleanup(free_at_exit) char *path = xasprintf("%s%s", m->s->root, m->path);
	size_t size;

	if (m->path[0] != '/' || symbolizer_map(m->s, path, &m->image_file, NULL) < 0)
		return;
	m->t->block = line_dump_make(m->image_file.base, m->image_file.size, &size);
	m->t->status = m->t->block ? LINES_OWN : LINES_NONE;
	if (m->t->block)
		line_index_open(&m->t->index, m->t->block, size);
}

static void (*const makers[])(struct making *m) = {
	[IMAGE_FILE] = make_of_file,
	[IMAGE_KERNEL] = make_of_kernel,
	[IMAGE_MODULE] = make_of_module,
	[IMAGE_JIT] = make_of_dump,
};

struct line_table *line_table_open(struct symbolizer *s, const struct image *image)
{
	cleanup(free_at_exit) char *path = image_path_without_mark(image);
	struct line_table *t = xcalloc(1, sizeof(*t));
	struct making m = { .s = s,
			    .t = t,
			    .image = image,
			    .root = s->root,
			    .path = path,
			    .build_id = image->build_id };
	struct build_id key = image_cache_key(image);

	t->status = LINES_NO_FILE;
	if (!open_cached(&m, &key) && image->kind < ARRAY_SIZE(makers) && makers[image->kind])
		makers[image->kind](&m);
	line_table_making_fini(&m);
	return t;
}

/* ---- given ---- */

static int by_offset(const void *a, const void *b)
{
	const struct line_given *x = a, *y = b;

	return (x->offset > y->offset) - (x->offset < y->offset);
}

struct line_table *line_table_given(const struct given_symbol *given, size_t n)
{
	struct line_table *t = xcalloc(1, sizeof(*t));

	t->status = LINES_GIVEN;
	strings_init(&t->given_files);
	for (size_t i = 0; i < n; i++)
		if (given[i].line)
			vec_push(&t->given,
				 (struct line_given){ given[i].offset, given[i].size,
						      strings_add(&t->given_files, given[i].name),
						      given[i].line });
	if (t->given.n) {
		qsort(t->given.data, t->given.n, sizeof(*t->given.data), by_offset);
		return t;
	}
	line_table_free(t);
	return NULL;
}

size_t line_table_given_at(const struct line_table *t, uint64_t offset)
{
	size_t low = 0, high = t->given.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct line_given *at = &t->given.data[middle];

		if (at->offset <= offset && offset - at->offset >= at->size)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void line_table_free(struct line_table *t)
{
	if (!t)
		return;
	vec_fini(&t->given);
	strings_fini(&t->given_files);
	free(t->block);
	file_unmap(&t->mapping);
	free(t->detail);
	intmap_fini(&t->name_index);
	vec_fini(&t->names);
	free(t);
}
