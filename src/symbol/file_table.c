/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of ELF files, and of the vdso, which is an ELF file in memory. */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/error.h"
#include "machine/image_file.h"
#include "symbol/debug_file.h"
#include "symbol/elf_draft.h"
#include "symbol/image_places.h"
#include "symbol/mini_debug.h"
#include "symbol/table.h"

/* The state of making one image's table. */
struct making {
	struct symbolizer *s;
	struct symbol_table *t;
	struct elf_file elf;
	struct code_segments segments;
	struct debug_search search;
	struct index_draft draft;
	/* Holds names until the index is made: of PLT entries, and of other symbol tables. */
	struct arena *names;
	struct file_mapping file, debug_file;
	enum image_found found;     /* of `file` */
	struct build_id tried, key; /* of the cache: looked up for the image; of the file */
	uint8_t *mini_debug;
};

static void file_table_making_fini(struct making *m)
{
	code_segments_fini(&m->segments);
	index_draft_fini(&m->draft);
	arena_free(m->names);
	file_unmap(&m->file);
	file_unmap(&m->debug_file);
	free(m->mini_debug);
}

static void explain_stripped(struct symbol_table *t, const char *passed_over)
{
	char hex[BUILD_ID_HEX_SIZE];

	build_id_hex(&t->index.header->own_id, hex);
	if (passed_over)
		table_fail(t, t->status, "%s: is stripped, and %s belongs to another build of it",
			   t->image.path, passed_over);
	else if (*hex)
		table_fail(t, t->status,
			   "%s: is stripped and no debug file was found; its package's debug "
			   "symbols would name its functions (build id %s)",
			   t->image.path, hex);
	else
		table_fail(t, t->status,
			   "%s: is stripped and no debug file was found (it has no build id)",
			   t->image.path);
}

/*
 * The symbol tables, best first: the image's own, a debug file's, the small one of .gnu_debugdata
 * beside .dynsym; else all that a stripped image has. Go's table is left when others are stripped.
 */
static enum symbol_status draft_symbols(struct making *m, char **passed_over)
{
	struct elf_file other;

	if (elf_draft_symbols(&m->draft, &m->elf, SHT_SYMTAB, &m->segments))
		return SYMBOL_SYMTAB;
	if (debug_file_open(&m->search, &m->debug_file, &other, NULL, passed_over) &&
	    elf_draft_symbols(&m->draft, &other, SHT_SYMTAB, &m->segments))
		return SYMBOL_DEBUG_FILE;
	elf_draft_symbols(&m->draft, &m->elf, SHT_DYNSYM, &m->segments);
	if (mini_debug_open(&m->elf, &m->mini_debug, &other) &&
	    elf_draft_symbols(&m->draft, &other, SHT_SYMTAB, &m->segments))
		return SYMBOL_SYMTAB;
	if (elf_draft_go(&m->draft, &m->elf, &m->segments))
		return SYMBOL_SYMTAB;
	elf_draft_nameless(&m->draft, &m->elf, &m->segments);
	return SYMBOL_DYNSYM;
}

static void file_table_build(struct making *m)
{
	cleanup(free_at_exit) char *passed_over = NULL;
	struct symbol_table *t = m->t;
	enum symbol_status status;

	code_segments_of_image(&m->segments, &m->elf);
	elf_draft_code(&m->draft, &m->elf, &m->segments);
	m->draft.debug_link = m->search.link_name;
	status = draft_symbols(m, &passed_over);
	elf_draft_plt(&m->draft, &m->elf, &m->segments, m->names);
	if (!m->draft.symbols.n && !m->draft.code.n) {
		table_fail(t, SYMBOL_NONE, "%s: has no symbols and no code", t->image.path);
		return;
	}
	table_adopt(t, &m->draft, status);
	t->block->evidence = debug_file_evidence(&m->search);
	t->block->own_id = m->search.build_id;
	if (file_is_cut(&m->file) || file_is_cut(&m->debug_file)) {
		table_fail(t, status, "%s: was cut short while its symbols were read",
			   t->image.path);
		return;
	}
	if (image_file_may_use(&m->file, &m->debug_file, m->found))
		table_to_cache(m->s, t, &m->key);
	if (status == SYMBOL_DYNSYM)
		explain_stripped(t, passed_over);
}

static bool fail_if_changed(struct making *m)
{
	char was[BUILD_ID_HEX_SIZE], is[BUILD_ID_HEX_SIZE];
	struct symbol_table *t = m->t;

	if (t->image.kind != IMAGE_FILE ||
	    image_place_is_right(m->s, &t->image, &m->file, &m->search.build_id))
		return false;
	build_id_hex(&t->image.build_id, was);
	build_id_hex(&m->search.build_id, is);
	if (*was && !strcmp(was, is))
		table_fail(t, SYMBOL_CHANGED,
			   "%s: is not the file that was profiled: the profiled file had the same "
			   "build id, %s, and another content",
			   t->image.path, is);
	else if (*was)
		table_fail(t, SYMBOL_CHANGED,
			   "%s: has changed since it was profiled (its build id was %s, now it has "
			   "%s)",
			   t->image.path, was, *is ? is : "none");
	else
		table_fail(t, SYMBOL_CHANGED,
			   "%s: is not the file that was profiled: the profiled file had no build "
			   "id and another %s",
			   t->image.path, image_has_identity(&t->image) ? "content" : "inode");
	return true;
}

/*
 * A cached index with all symbols stays good. A stripped image's index is good until a file that
 * could give a better one appears or changes.
 */
static bool is_cached_good(const struct making *m)
{
	struct debug_search search = m->search;
	const struct index *ix = &m->t->index;

	if (m->t->status != SYMBOL_DYNSYM)
		return true;
	search.build_id = ix->header->own_id;
	search.link_name = index_text(ix, ix->header->debug_link);
	if (!*search.link_name)
		search.link_name = NULL;
	return ix->header->evidence == debug_file_evidence(&search);
}

static void make_from_bytes(struct making *m, const void *bytes, size_t size)
{
	struct symbol_table *t = m->t;
	struct error err = { 0 };

	if (elf_file_open(&m->elf, bytes, size, &err) < 0) {
		table_fail(t, SYMBOL_DAMAGED, "%s: %s", t->image.path, err.text);
		return;
	}
	elf_build_id(&m->elf, &m->search.build_id);
	if (fail_if_changed(m))
		return;
	m->search.link_name = elf_debug_link(&m->elf, &m->search.link_crc);
	if (t->image.kind == IMAGE_FILE)
		m->key = symbolizer_key(m->s, &t->image, &m->file, &m->search.build_id, m->found);
	if (build_id_equal(&m->key, &m->tried) || !table_from_cache(m->s, t, &m->key) ||
	    !is_cached_good(m))
		file_table_build(m);
	else if (t->status == SYMBOL_DYNSYM)
		explain_stripped(t, NULL);
}

static void make_from_file(struct making *m, const char *path)
{
	struct error err = { 0 };
	int r = symbolizer_map(m->s, path, &m->file, &err);

	if (r == -ENOENT || r == -ENOTDIR)
		table_fail(m->t, SYMBOL_MISSING, "%s: the file is not there any more", path);
	else if (r < 0)
		table_fail(m->t, SYMBOL_UNREADABLE, "%s", err.text);
	else
		make_from_bytes(m, m->file.base, m->file.size);
}

char *image_path_without_mark(const struct image *image)
{
	static const char mark[] = " (deleted)";
	size_t len = strlen(image->path);
	bool is_marked = len >= sizeof(mark) && image->build_id.len &&
			 !strcmp(image->path + len - strlen(mark), mark);

	return xstrndup(image->path, is_marked ? len - strlen(mark) : len);
}

void make_file_table(struct symbolizer *s, struct symbol_table *t)
{
	struct image_place place = image_place_find(s, &t->image);
	struct making m = {
		.s = s,
		.t = t,
		.search = { .root = place.root,
			    .process = s->process,
			    .debug_dir = s->debug_dir,
			    .image_path = place.below,
			    .report = s->report_fetching },
		.names = arena_new(),
		.found = symbolizer_found(s, &t->image, place.path),
		.tried = image_cache_key(&t->image),
	};
	bool is_cached = table_from_cache(s, t, &m.tried);

	if (!is_cached || !is_cached_good(&m))
		make_from_file(&m, place.path);
	/* without the file, an old index is better than none */
	if (is_cached && !t->block)
		t->status = t->index.header->status;
	if (is_cached && !t->block && t->status == SYMBOL_DYNSYM)
		explain_stripped(t, NULL);
	file_table_making_fini(&m);
	free(place.path);
}

/*
 * The kernel maps the same vdso into us as into other processes of our word size. Its section
 * headers come last, and whole pages are mapped.
 */
void make_vdso_table(struct symbolizer *s, struct symbol_table *t)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	struct making m = {
		.s = s,
		.t = t,
		.search = { .root = s->root, .debug_dir = s->debug_dir, .image_path = "" },
		.names = arena_new(),
		.tried = t->image.build_id,
		.key = t->image.build_id, /* of the kernel */
	};

	if (!table_from_cache(s, t, &t->image.build_id)) {
		if (vdso && vdso->e_ident[EI_CLASS] == ELFCLASS64)
			make_from_bytes(&m, vdso,
					vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize);
		else
			table_fail(t, SYMBOL_MISSING, "%s: assay's own process has none to read",
				   t->image.path);
	}
	/* It only has dynamic symbols; no other file would have more. */
	if (t->status == SYMBOL_DYNSYM)
		table_fail(t, SYMBOL_SYMTAB, "%s", "");
	file_table_making_fini(&m);
}
