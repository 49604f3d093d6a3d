/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbolizer/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "machine/image_look.h"
#include "symbol/debug_file.h"
#include "symbol/debug_package.h"
#include "symbol/debuginfod.h"
#include "symbol/finder.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/lines/line_table.h"
#include "symbol/lines/lines.h"
#include "symbol/split_files.h"
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

static const char *contents_text(uint32_t contents)
{
	bool has_lines = contents & CONTAINS_LINES;

	if (contents & CONTAINS_SYMBOLS)
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
static bool explain_elf_file(const struct explaining *x, const struct image_place *place,
			     const struct build_id *wanted, struct image_look *look)
{
	static const struct image_look_wish wish = { IMAGE_HIDDEN, LOOK_CONTENTS, 0 };
	struct file_mapping file = { 0 };
	struct error err = { 0 };
	int r = finder_map(&x->s->files, place, &file, &err);

	*look = (struct image_look){ 0 };
	if (r < 0) {
		explain_report(x, place->path, strerror(-r), false);
		return false;
	}
	r = image_look(&file, &wish, look, &err);
	file_unmap(&file);
	if (r < 0) {
		explain_report(x, place->path, err.text, false);
		return false;
	}
	if (wanted->len && !build_id_equal(&look->head.build_id, wanted)) {
		report_other_build(x, place->path, &look->head.build_id);
		image_look_fini(look);
		return false;
	}
	explain_report(x, place->path, contents_text(look->head.contents), true);
	return true;
}

/* ---- the file of an image ---- */

struct explaining_file {
	const struct explaining *x;
	struct debug_search *search;
	uint32_t n_containers; /* that do not have it */
	bool is_found;
};

/* The file of a place that fits says where its debug file is. */
static bool explain_place(void *context, const struct image_place *place)
{
	struct explaining_file *f = context;
	const struct image *image = &f->x->t->image;
	struct image_look look;

	if (place->step == FINDER_CONTAINER && access(place->path, F_OK) < 0) {
		f->n_containers++;
		return false;
	}
	f->is_found = explain_elf_file(f->x, place, &image->build_id, &look);
	if (f->is_found) {
		f->search->root = place->root;
		f->search->build_id = look.head.build_id;
		f->search->link_crc = look.head.link_crc;
		f->search->link_name = take_ptr(look.link_name);
		image_look_fini(&look);
	}
	return f->is_found;
}

static void report_containers(const struct explaining *x, uint32_t n)
{
	cleanup(free_at_exit) char *place =
		xasprintf("roots of containers and layers of their images (%" PRIu32 ")", n);

	if (n)
		explain_report(x, place, strerror(ENOENT), false);
}

static void explain_debug_files(const struct explaining *x, struct debug_search *search)
{
	struct debug_places places;

	debug_places_init(&places, search);
	for (uint32_t i = 0; i < places.n; i++) {
		const struct image_place place = { .path = places.paths[i],
						   .root = places.roots[i],
						   .below = places.paths[i] +
							    strlen(places.roots[i]) };
		struct image_look look;

		if (explain_elf_file(x, &place, &search->build_id, &look))
			image_look_fini(&look);
	}
	debug_places_fini(&places);
}

static void explain_debuginfod(const struct explaining *x, enum debuginfod_kind kind,
			       const struct build_id *id)
{
	cleanup(free_at_exit) char *verdict = debuginfod_verdict(x->s->files.debuginfod, kind, id);

	explain_report(x, kind == DEBUGINFOD_EXECUTABLE ? "debuginfod, for the file" : "debuginfod",
		       verdict, false);
}

static void explain_split_place(void *explaining, const char *path, const char *verdict)
{
	explain_report(explaining, path, verdict, false);
}

/* The .dwo file that a look at the lines did not find, if they were looked at. */
static void explain_split_file(const struct explaining *x, const struct debug_search *search)
{
	if (x->t->lines && x->t->lines->missing_split.len)
		split_file_explain(search, &x->t->lines->missing_split, explain_split_place,
				   (void *)x);
}

static void explain_file(const struct explaining *x)
{
	cleanup(free_at_exit) char *path = image_path_without_mark(&x->t->image);
	struct debug_search search = { .root = x->s->files.root,
				       .debug_dir = x->s->files.debug_dir,
				       .image_path = path,
				       .build_id = x->t->image.build_id,
				       .finder = &x->s->files };
	struct explaining_file f = { .x = x, .search = &search };

	finder_each(&x->s->files, &x->t->image, explain_place, &f);
	report_containers(x, f.n_containers);
	if (!f.is_found)
		explain_debuginfod(x, DEBUGINFOD_EXECUTABLE, &search.build_id);
	explain_debug_files(x, &search);
	explain_split_file(x, &search);
	explain_debuginfod(x, DEBUGINFOD_DEBUG_FILE, &search.build_id);
	free((char *)search.link_name);
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
	if (vmlinux_open_here(x->s, &wanted, VMLINUX_NAMES, &file, &elf, &path))
		explain_report(x, path, contents_text(image_contents_of(&elf)), true);
	else
		explain_report(
			x, "vmlinux",
			"none of this build in /usr/lib/debug, /boot and /lib/modules: no lines",
			false);
	explain_debuginfod(x, DEBUGINFOD_DEBUG_FILE, &wanted);
	file_unmap(&file);
	free(path);
}

static void explain_module(const struct explaining *x)
{
	struct module_file file;

	if (module_file_open(x->s, &x->t->image, MODULE_LINES, NULL, &file))
		explain_report(x, file.path, contents_text(image_contents_of(&file.elf)), true);
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

char *symbol_debug_package(struct symbolizer *s, const struct symbol_table *t, const char **root)
{
	cleanup(free_at_exit) char *path = image_path_without_mark(&t->image);
	struct image_place place;
	bool is_in_a_system = finder_find(&s->files, &t->image, &place) &&
			      (place.step == FINDER_HERE || place.step == FINDER_CONTAINER);

	*root = is_in_a_system ? place.root : s->files.root;
	free(place.path);
	return debug_package_command(*root, path);
}
