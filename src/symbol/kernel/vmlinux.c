/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/vmlinux.h"

#include <elf.h>
#include <glob.h>
#include <string.h>

#include "base/path.h"
#include "elf/elf_symbols.h"
#include "machine/image_look.h"
#include "symbol/debuginfod.h"

bool running_kernel_build_id(const struct symbolizer *s, struct build_id *out)
{
	cleanup(free_at_exit) char *notes = NULL;
	size_t size;

	return file_read_all(s->notes_path, 1 << 20, &notes, &size) == 0 &&
	       elf_build_id_in_notes(reader_over(notes, size), 4, out);
}

/* A debug file has the sizes in memory only. */
/* Loaded segments from _text on that have all of these flags. */
static bool segments_behind_text(const struct elf_file *elf, uint32_t flags,
				 struct code_segments *out)
{
	struct elf_symbols it;
	struct elf_symbol symbol;
	struct elf_segment segment;
	uint64_t text_addr = 0;

	if (!elf_symbols_begin(&it, elf, SHT_SYMTAB))
		return false;
	while (!text_addr && elf_symbols_next(&it, &symbol))
		if (!strcmp(symbol.name, "_text"))
			text_addr = symbol.link_addr;
	for (uint32_t i = 0; text_addr && i < elf->n_segments; i++)
		if (elf_segment(elf, i, &segment) && segment.type == PT_LOAD &&
		    (segment.flags & flags) == flags && segment.link_addr >= text_addr)
			vec_push(out, (struct code_segment){ segment.link_addr, segment.mem_size,
							     segment.link_addr - text_addr });
	code_segments_sort(out);
	return out->n > 0;
}

bool vmlinux_segments(const struct elf_file *elf, struct code_segments *out)
{
	return segments_behind_text(elf, PF_X, out);
}

bool vmlinux_all_segments(const struct elf_file *elf, struct code_segments *out)
{
	return segments_behind_text(elf, 0, out);
}

/* The search for a vmlinux. */
struct vmlinux_search {
	const struct symbolizer *s;
	const struct build_id *wanted;
	enum vmlinux_use use;
	struct file_mapping file;
	struct elf_file elf;
	char *path;
};

static bool try_vmlinux(struct vmlinux_search *v, const char *path)
{
	struct build_id found;

	if (symbolizer_map(v->s, path, &v->file, NULL) < 0)
		return false;
	if (elf_file_open(&v->elf, v->file.base, v->file.size, NULL) == 0 &&
	    elf_build_id(&v->elf, &found) && build_id_equal(&found, v->wanted) &&
	    (v->use == VMLINUX_NAMES || image_contents_of(&v->elf) & CONTAINS_CODE)) {
		v->path = xstrdup(path);
		return true;
	}
	file_unmap(&v->file);
	v->file = (struct file_mapping){ 0 };
	return false;
}

static bool try_pattern(struct vmlinux_search *v, const char *pattern)
{
	glob_t paths = { 0 };
	bool ok = false;

	if (pattern && glob(pattern, 0, NULL, &paths) == 0)
		for (size_t p = 0; p < paths.gl_pathc && !ok; p++)
			ok = try_vmlinux(v, paths.gl_pathv[p]);
	globfree(&paths);
	return ok;
}

static bool search_here(struct vmlinux_search *v)
{
	const struct finder *f = &v->s->files;
	cleanup(free_at_exit) char *root = path_to_pattern(f->root);
	char hex[BUILD_ID_HEX_SIZE];
	char *patterns[] = {
		NULL,
		xasprintf("%s%s/boot/vmlinux-*", root, f->debug_dir),
		xasprintf("%s%s/lib/modules/*/vmlinux", root, f->debug_dir),
		xasprintf("%s/boot/vmlinux-*", root),
		xasprintf("%s/lib/modules/*/build/vmlinux", root),
		finder_perf_path(f, v->wanted, "elf"),
		finder_perf_path(f, v->wanted, "vmlinux"),
		debuginfod_kept_path(DEBUGINFOD_EXECUTABLE, v->wanted),
		debuginfod_kept_path(DEBUGINFOD_DEBUG_FILE, v->wanted),
	};
	bool ok = v->s->vmlinux && try_vmlinux(v, v->s->vmlinux);

	build_id_hex(v->wanted, hex);
	patterns[0] = xasprintf("%s%s/.build-id/%.2s/%s.debug", root, f->debug_dir, hex,
				v->wanted->len ? hex + 2 : "");
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		ok = ok || (v->wanted->len > 1 && try_pattern(v, patterns[i]));
		free(patterns[i]);
	}
	return ok;
}

/* A server may have the whole vmlinux as the debug file. */
static bool ask_for_vmlinux(struct vmlinux_search *v)
{
	static const enum debuginfod_kind kinds[] = { DEBUGINFOD_EXECUTABLE,
						      DEBUGINFOD_DEBUG_FILE };
	bool ok = false;

	for (size_t i = v->use == VMLINUX_CODE ? 0 : 1; i < ARRAY_SIZE(kinds) && !ok; i++) {
		cleanup(free_at_exit) char *fetched =
			debuginfod_fetch(v->s->files.debuginfod, kinds[i], v->wanted, "[kernel]");

		ok = fetched && try_vmlinux(v, fetched);
	}
	return ok;
}

/* Gives the found file to the caller. */
static bool give_vmlinux(struct vmlinux_search *v, bool ok, struct file_mapping *mapping,
			 struct elf_file *elf, char **path)
{
	if (ok) {
		*mapping = v->file;
		*elf = v->elf;
		if (path)
			*path = take_ptr(v->path);
	}
	free(v->path);
	return ok;
}

bool vmlinux_open(const struct symbolizer *s, const struct build_id *wanted, enum vmlinux_use use,
		  struct file_mapping *mapping, struct elf_file *elf, char **path)
{
	struct vmlinux_search v = { .s = s, .wanted = wanted, .use = use };

	return give_vmlinux(&v, search_here(&v) || ask_for_vmlinux(&v), mapping, elf, path);
}

bool vmlinux_open_here(const struct symbolizer *s, const struct build_id *wanted,
		       enum vmlinux_use use, struct file_mapping *mapping, struct elf_file *elf,
		       char **path)
{
	struct vmlinux_search v = { .s = s, .wanted = wanted, .use = use };

	return give_vmlinux(&v, search_here(&v), mapping, elf, path);
}
