/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/vmlinux.h"

#include <elf.h>
#include <glob.h>
#include <string.h>

#include "elf/elf_symbols.h"
#include "symbol/debuginfod.h"

bool running_kernel_build_id(const struct symbolizer *s, struct build_id *out)
{
	cleanup(free_at_exit) char *notes = NULL;
	size_t size;

	return file_read_all(s->notes_path, 1 << 20, &notes, &size) == 0 &&
	       elf_build_id_in_notes(reader_over(notes, size), 4, out);
}

/* A debug file has the sizes in memory only. */
bool vmlinux_segments(const struct elf_file *elf, struct code_segments *out)
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
		    (segment.flags & PF_X) && segment.link_addr >= text_addr)
			vec_push(out, (struct code_segment){ segment.link_addr, segment.mem_size,
							     segment.link_addr - text_addr });
	code_segments_sort(out);
	return out->n > 0;
}

static bool vmlinux_open_one(const struct symbolizer *s, const char *path,
			     const struct build_id *wanted, struct file_mapping *mapping,
			     struct elf_file *elf)
{
	struct file_mapping file = { 0 };
	struct build_id found;

	if (symbolizer_map(s, path, &file, NULL) < 0)
		return false;
	if (elf_file_open(elf, file.base, file.size, NULL) == 0 && elf_build_id(elf, &found) &&
	    build_id_equal(&found, wanted)) {
		*mapping = file;
		return true;
	}
	file_unmap(&file);
	return false;
}

bool vmlinux_open(const struct symbolizer *s, const struct build_id *wanted,
		  struct file_mapping *mapping, struct elf_file *elf, char **path)
{
	char hex[BUILD_ID_HEX_SIZE];
	char *patterns[] = {
		NULL,
		xasprintf("%s%s/boot/vmlinux-*", s->files.root, s->files.debug_dir),
		xasprintf("%s%s/lib/modules/*/vmlinux", s->files.root, s->files.debug_dir),
		xasprintf("%s/boot/vmlinux-*", s->files.root),
		xasprintf("%s/lib/modules/*/build/vmlinux", s->files.root),
		finder_perf_path(&s->files, wanted, "elf"),
		finder_perf_path(&s->files, wanted, "vmlinux"),
		debuginfod_kept_path(DEBUGINFOD_DEBUG_FILE, wanted),
	};
	bool ok = s->vmlinux && vmlinux_open_one(s, s->vmlinux, wanted, mapping, elf);

	if (ok && path)
		*path = xstrdup(s->vmlinux);
	build_id_hex(wanted, hex);
	patterns[0] = xasprintf("%s%s/.build-id/%.2s/%s.debug", s->files.root, s->files.debug_dir,
				hex, wanted->len ? hex + 2 : "");
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		glob_t paths = { 0 };

		if (!ok && wanted->len > 1 && patterns[i] &&
		    glob(patterns[i], 0, NULL, &paths) == 0)
			for (size_t p = 0; p < paths.gl_pathc && !ok; p++) {
				ok = vmlinux_open_one(s, paths.gl_pathv[p], wanted, mapping, elf);
				if (ok && path)
					*path = xstrdup(paths.gl_pathv[p]);
			}
		globfree(&paths);
		free(patterns[i]);
	}
	return ok;
}
