/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbolizer/explain.h"

#include <elf.h>
#include <string.h>

#include "base/error.h"
#include "elf/elf_symbols.h"
#include "symbol/debug_file.h"
#include "symbol/debuginfod.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/lines/lines.h"
#include "symbol/table.h"

struct explaining {
	struct symbolizer *s;
	const struct symbol_table *t;
	void (*report)(void *data, const struct symbol_search *search);
	void *data;
};

static void explain_report(const struct explaining *x, const char *place, const char *verdict,
			   bool is_used)
{
	const struct symbol_search search = { place, verdict, is_used };

	x->report(x->data, &search);
}

/* The useful content of an ELF file. */
static const char *contents_of(const struct elf_file *elf)
{
	struct elf_symbols symbols;
	struct elf_section section;
	bool has_lines = elf_section_named(elf, ".debug_info", &section) ||
			 elf_section_named(elf, ".zdebug_info", &section);
	bool has_symbols = elf_symbols_begin(&symbols, elf, SHT_SYMTAB);

	if (has_symbols)
		return has_lines ? "symbols and debug information"
				 : "symbols, but no debug information";
	return has_lines ? "debug information, but no symbols"
			 : "stripped: dynamic symbols and unwind tables at most";
}

static void report_other_build(const struct explaining *x, const char *path,
			       const struct build_id *found)
{
	char hex[BUILD_ID_HEX_SIZE];
	cleanup(free_at_exit) char *verdict = NULL;

	build_id_hex(found, hex);
	verdict = *hex ? xasprintf("of another build (%s)", hex) : xstrdup("without a build id");
	explain_report(x, path, verdict, false);
}

/* False if the file can't be read, or is not the image's. */
static bool explain_elf_file(const struct explaining *x, const char *path,
			     const struct build_id *wanted, struct file_mapping *file,
			     struct elf_file *elf)
{
	struct error err = { 0 };
	struct build_id found = { 0 };
	int r = symbolizer_map(x->s, path, file, &err);

	if (r < 0) {
		explain_report(x, path, strerror(-r), false);
		return false;
	}
	if (elf_file_open(elf, file->base, file->size, &err) < 0) {
		explain_report(x, path, err.text, false);
		return false;
	}
	elf_build_id(elf, &found);
	if (wanted->len && !build_id_equal(&found, wanted)) {
		report_other_build(x, path, &found);
		return false;
	}
	explain_report(x, path, contents_of(elf), true);
	return true;
}

static void explain_debug_files(const struct explaining *x, struct debug_search *search)
{
	char *paths[DEBUG_FILE_PLACES];
	uint32_t n = debug_file_places(search, paths);

	for (uint32_t i = 0; i < n; i++) {
		struct file_mapping file = { 0 };
		struct elf_file elf;

		explain_elf_file(x, paths[i], &search->build_id, &file, &elf);
		file_unmap(&file);
		free(paths[i]);
	}
}

static void explain_debuginfod(const struct explaining *x)
{
	explain_report(x, "debuginfod",
		       debuginfod_is_on() ? "asked if no file above has the missing part"
					  : "not asked: DEBUGINFOD_URLS is not set",
		       false);
}

static void explain_file(const struct explaining *x)
{
	struct image_place place = image_place_find(x->s, &x->t->image);
	struct debug_search search = { .root = place.root,
				       .debug_dir = x->s->debug_dir,
				       .image_path = place.below,
				       .build_id = x->t->image.build_id };
	struct file_mapping file = { 0 };
	struct elf_file elf;

	if (explain_elf_file(x, place.path, &x->t->image.build_id, &file, &elf)) {
		elf_build_id(&elf, &search.build_id);
		search.link_name = elf_debug_link(&elf, &search.link_crc);
	}
	explain_debug_files(x, &search);
	file_unmap(&file);
	explain_debuginfod(x);
	free(place.path);
}

static void explain_kernel(const struct explaining *x)
{
	enum symbol_status status = x->t->status;
	struct build_id wanted = x->t->image.build_id;
	struct file_mapping file = { 0 };
	char *path = NULL;
	struct elf_file elf;

	explain_report(x, x->s->kallsyms_path,
		       status == SYMBOL_KALLSYMS ? "symbols"
		       : status == SYMBOL_HIDDEN
			       ? "addresses are hidden from this user (kptr_restrict)"
			       : "not used",
		       status == SYMBOL_KALLSYMS);
	if (x->t->image.kind != IMAGE_KERNEL)
		return;
	if (!wanted.len)
		running_kernel_build_id(x->s, &wanted);
	if (vmlinux_open(x->s, &wanted, &file, &elf, &path))
		explain_report(x, path, contents_of(&elf), true);
	else
		explain_report(
			x, "vmlinux",
			"none of this build in /usr/lib/debug, /boot and /lib/modules: no lines",
			false);
	file_unmap(&file);
	free(path);
}

static void explain_module(const struct explaining *x)
{
	struct module_file file;

	if (module_file_open(x->s, &x->t->image, MODULE_LINES, NULL, &file))
		explain_report(x, file.path, contents_of(&file.elf), true);
	else if (module_file_open(x->s, &x->t->image, MODULE_SYMBOLS, NULL, &file))
		explain_report(x, file.path, "symbols, no debug information: no lines", true);
	else
		explain_report(x, "the module's file",
			       "none of this build in /lib/modules and /usr/lib/debug: no lines",
			       false);
	module_file_close(&file);
}

void symbol_explain(struct symbolizer *s, const struct symbol_table *t,
		    void (*tell_fn)(void *data, const struct symbol_search *search), void *data)
{
	const struct explaining x = { s, t, tell_fn, data };

	switch (t->image.kind) {
	case IMAGE_FILE:
		explain_file(&x);
		break;
	case IMAGE_KERNEL:
		explain_kernel(&x);
		break;
	case IMAGE_MODULE:
		explain_kernel(&x);
		explain_module(&x);
		break;
	default:
		break;
	}
}
