/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_guests.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "elf/elf_file.h"
#include "machine/guest_modules.h"
#include "machine/image.h"
#include "perfdata/perfdata.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/module_code.h"
#include "symbol/kernel/module_file.h"
#include "symbol/kernel/module_loader.h"
#include "symbol/kernel/vmlinux.h"
#include "symbol/table.h"

enum {
	MAX_GUESTS = 1024, /* later ones have no code: a recording may name any number of them */
	MAX_LOADERS = 8,   /* each has a copy of the symbols of a kernel */
	MAX_MODULE_BYTES = 1 << 29, /* of the files of all modules */
	RELEASE_TEXT_MAX = 1 << 12,
	RELEASE_SIZE = 128,
};

struct guest {
	int32_t pid;
	struct file_mapping file;
	struct elf_file elf;
	uint64_t slide;                /* from addresses in the file to the guest's */
	char *note;                    /* NULL: it has code */
	char *kallsyms;                /* NULL: none was given */
	struct guest_modules *modules; /* where the guest had them */
	struct guest_code *codes;      /* of each */
};

/* The code of a module. */
struct guest_code {
	bool is_tried;
	struct module_code *code; /* NULL: `why` */
	const char *why;
};

/* Guests with the same copy of kallsyms have the same kernel, and kcore beside it. */
struct guest_loader {
	char *kallsyms; /* "": none */
	struct module_loader *loader;
};

struct pt_guests {
	struct symbolizer *places;
	const struct perfdata_guest_text *texts;
	size_t n_texts;
	VEC(struct guest) guests;
	VEC(struct guest_loader) loaders; /* the last ones that were needed, the latest at last */
	uint64_t module_bytes;
};

struct pt_guests *pt_guests_new(struct symbolizer *places, const struct perfdata_guest_text *texts,
				size_t n_texts)
{
	struct pt_guests *g = xcalloc(1, sizeof(*g));

	g->places = places;
	g->texts = texts;
	g->n_texts = n_texts;
	return g;
}

static void guest_close(struct guest *guest)
{
	size_t n;

	guest_modules_all(guest->modules, &n);
	for (size_t i = 0; i < n; i++)
		module_code_free(guest->codes[i].code);
	free(guest->codes);
	guest_modules_free(guest->modules);
	file_unmap(&guest->file);
	free(guest->kallsyms);
	free(guest->note);
}

static void guest_loader_free(struct guest_loader *l)
{
	free(l->kallsyms);
	module_loader_free(l->loader);
}

void pt_guests_free(struct pt_guests *g)
{
	if (!g)
		return;
	vec_foreach (&g->loaders, l)
		guest_loader_free(l);
	vec_fini(&g->loaders);
	vec_foreach (&g->guests, guest)
		guest_close(guest);
	vec_fini(&g->guests);
	free(g);
}

static char *guest_module_note(const struct guest *guest, const char *name,
			       const struct guest_code *c)
{
	uint64_t n_same_way, n_unknown;

	if (!c->code)
		return xasprintf("the code of the module %s of the guest that process %" PRId32
				 " runs is not decoded: %s",
				 name, guest->pid, c->why);
	module_code_undecided(c->code, &n_same_way, &n_unknown);
	return xasprintf("the code of the module %s of the guest that process %" PRId32
			 " runs comes from its file. Of the places that the kernel patches, the "
			 "file does not tell %" PRIu64 " (not decoded), and %" PRIu64
			 " that lead the same way",
			 name, guest->pid, n_unknown, n_same_way);
}

static void guest_note_modules(const struct guest *guest,
			       void (*note)(void *context, const char *sentence), void *context)
{
	size_t n;
	const struct guest_module *modules = guest_modules_all(guest->modules, &n);

	for (size_t i = 0; i < n; i++)
		if (guest->codes[i].is_tried) {
			cleanup(free_at_exit) char *text =
				guest_module_note(guest, modules[i].name, &guest->codes[i]);

			note(context, text);
		}
}

void pt_guests_notes(const struct pt_guests *g, void (*note)(void *context, const char *sentence),
		     void *context)
{
	vec_foreach (&g->guests, guest) {
		if (guest->note)
			note(context, guest->note);
		guest_note_modules(guest, note, context);
	}
}

/* ---- a guest's files ---- */

static bool close_file(struct guest *out)
{
	file_unmap(&out->file);
	out->file = (struct file_mapping){ 0 };
	return false;
}

static bool open_elf(const struct pt_guests *g, const char *path, struct guest *out)
{
	/* The guest's own /proc/kcore, through a network, is as large as its address space. */
	if (!file_is_regular(path) || symbolizer_map(g->places, path, &out->file, NULL) < 0)
		return false;
	if (elf_file_open(&out->elf, out->file.base, out->file.size, NULL) == 0)
		return true;
	return close_file(out);
}

/* The address of _text in a copy of /proc/kallsyms; 0: not there. */
static uint64_t text_in(const char *kallsyms)
{
	struct kallsyms k = { 0 };
	uint64_t text = 0;

	if (kallsyms && file_is_regular(kallsyms) && kallsyms_read(&k, kallsyms) == 0 &&
	    !k.is_hidden)
		text = k.text_addr;
	kallsyms_fini(&k);
	return text;
}

/* Of the guest's own mapping, or of one that names no guest. */
static uint64_t text_of_recording(const struct pt_guests *g, int32_t pid)
{
	uint64_t any = 0;

	for (size_t i = 0; i < g->n_texts; i++) {
		if (g->texts[i].machine_pid == pid)
			return g->texts[i].addr;
		any = g->texts[i].machine_pid ? any : g->texts[i].addr;
	}
	return any;
}

static bool open_kcore(const struct pt_guests *g, const char *kallsyms, struct guest *out)
{
	const char *slash = kallsyms ? strrchr(kallsyms, '/') : NULL;
	cleanup(free_at_exit) char *path = NULL;

	if (!kallsyms)
		return false;
	path = xasprintf("%.*skcore", slash ? (int)(slash + 1 - kallsyms) : 0, kallsyms);
	if (!open_elf(g, path, out))
		return false;
	return out->elf.type == ET_CORE || close_file(out);
}

static bool open_vmlinux(const struct pt_guests *g, const char *path, const char *kallsyms,
			 struct guest *out)
{
	struct code_segments segments = { 0 };
	uint64_t text = text_in(kallsyms);
	bool ok;

	text = text ? text : text_of_recording(g, out->pid);
	ok = text && open_elf(g, path, out);

	if (!ok)
		return false;
	ok = vmlinux_segments(&out->elf, &segments) || close_file(out);
	if (ok)
		out->slide = text - (segments.data[0].link_addr - segments.data[0].offset);
	code_segments_fini(&segments);
	return ok;
}

/* "Linux version 6.1.0-53-cloud-amd64 (…" in the guest's /proc/version. */
static bool guest_read_release(const char *folder, char release[RELEASE_SIZE])
{
	cleanup(free_at_exit) char *version = xasprintf("%s/proc/version", folder), *text = NULL;

	return file_is_regular(version) &&
	       file_read_all(version, RELEASE_TEXT_MAX, &text, NULL) == 0 &&
	       sscanf(text, "Linux version %127[A-Za-z0-9._+~-]", release) == 1;
}

static bool open_vmlinux_below(const struct pt_guests *g, const char *folder, const char *kallsyms,
			       struct guest *out)
{
	static const char *const patterns[] = { "%s/usr/lib/debug/boot/vmlinux-%s",
						"%s/boot/vmlinux-%s",
						"%s/usr/lib/debug/lib/modules/%s/vmlinux",
						"%s/lib/modules/%s/build/vmlinux" };
	char release[RELEASE_SIZE];

	if (!guest_read_release(folder, release))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		char path[4096];

		/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table */
		snprintf(path, sizeof(path), patterns[i], folder, release);
		if (open_vmlinux(g, path, kallsyms, out))
			return true;
	}
	return false;
}

/* Of the guest's files; NULL: they have no folders. */
static char *guest_folder(const struct pt_guests *g, int32_t pid)
{
	return g->places->guest_mount ? xasprintf("%s/%" PRId32, g->places->guest_mount, pid)
				      : NULL;
}

static void open_guest(const struct pt_guests *g, struct guest *guest)
{
	const struct symbolizer *s = g->places;
	const struct guest_files files = { s->guest_kallsyms, s->guest_modules, s->guest_mount };
	cleanup(free_at_exit) char *folder = guest_folder(g, guest->pid);
	cleanup(free_at_exit) char *modules = guest_files_list(&files, guest->pid, "modules");
	const char *kallsyms;
	size_t n;

	kallsyms = guest->kallsyms = guest_files_list(&files, guest->pid, "kallsyms");
	guest->modules = guest_modules_read(modules);
	guest_modules_all(guest->modules, &n);
	guest->codes = xcalloc(n + 1, sizeof(*guest->codes));
	if (open_kcore(g, kallsyms, guest) ||
	    (s->guest_vmlinux && open_vmlinux(g, s->guest_vmlinux, kallsyms, guest)) ||
	    (folder && open_vmlinux_below(g, folder, kallsyms, guest)))
		return;
	guest->note =
		xasprintf("the kernel's code of the guest that process %" PRId32 " runs is "
			  "missing and is not decoded: give a copy of its /proc/kallsyms "
			  "(--guestkallsyms) with a copy of its /proc/kcore beside it, or with "
			  "--guestvmlinux",
			  guest->pid);
}

static struct guest *guest_of(struct pt_guests *g, int32_t pid)
{
	struct guest *new;

	vec_foreach (&g->guests, guest)
		if (guest->pid == pid)
			return guest;
	if (g->guests.n == MAX_GUESTS)
		return NULL;
	new = vec_add(&g->guests);
	new->pid = pid;
	open_guest(g, new);
	return new;
}

/* ---- modules ---- */

/* Functions of the files find their addresses, and the kernel's patches show in its memory. */
static struct module_loader *new_loader(const struct guest *guest)
{
	bool has_symbols = guest->kallsyms && file_is_regular(guest->kallsyms);
	struct module_loader_config config = { .kallsyms = has_symbols ? guest->kallsyms : NULL };

	if (guest->file.base && guest->elf.type == ET_CORE) {
		config.memory_addr = text_in(guest->kallsyms);
		config.memory = elf_bytes_at(&guest->elf, config.memory_addr);
	}
	return module_loader_new(&config);
}

/* The first one is the one that was not used for longest. */
static struct guest_loader *move_loader_to_end(struct pt_guests *g, struct guest_loader *l)
{
	struct guest_loader moved = *l, *end = g->loaders.data + g->loaders.n;

	memmove(l, l + 1, (size_t)(end - l - 1) * sizeof(*l));
	end[-1] = moved;
	return end - 1;
}

static const struct module_loader *loader_of_guest(struct pt_guests *g, const struct guest *guest)
{
	const char *kallsyms = guest->kallsyms ? guest->kallsyms : "";
	struct guest_loader new;

	vec_foreach (&g->loaders, l)
		if (!strcmp(l->kallsyms, kallsyms))
			return move_loader_to_end(g, l)->loader;
	if (g->loaders.n == MAX_LOADERS) {
		guest_loader_free(move_loader_to_end(g, &g->loaders.data[0]));
		g->loaders.n--;
	}
	new = (struct guest_loader){ xstrdup(kallsyms), new_loader(guest) };
	vec_push(&g->loaders, new);
	return new.loader;
}

static bool open_module_below(const char *folder, const struct image *image,
			      struct module_file *out)
{
	const struct symbolizer_config config = { .root = folder, .cache_dir = "" };
	struct symbolizer *places;
	char release[RELEASE_SIZE];
	bool is_open;

	if (!guest_read_release(folder, release))
		return false;
	places = symbolizer_new(&config);
	is_open = module_file_open_of_release(places, image, release, out);
	symbolizer_free(places);
	return is_open;
}

/* Takes the file over. False: out->why. */
static bool take_module_file(struct pt_guests *g, const struct guest *guest,
			     const struct guest_module *m, struct module_file *file,
			     struct guest_code *out)
{
	if (file->size <= MAX_MODULE_BYTES - g->module_bytes) {
		g->module_bytes += file->size;
		out->code = module_loader_load(loader_of_guest(g, guest), file, m->name, m->start,
					       m->end, false, &out->why);
	} else {
		out->why = "the files of guests' modules are too large together";
	}
	module_file_close(file);
	return out->code;
}

/* The file below the guest's folder may be of another build, and one of the user's right. */
static void load_module(struct pt_guests *g, const struct guest *guest,
			const struct guest_module *m, struct guest_code *out)
{
	cleanup(free_at_exit) char *folder = guest_folder(g, guest->pid);
	cleanup(free_at_exit) char *path = xasprintf("[%s]", m->name);
	const struct image image = { .kind = IMAGE_MODULE, .path = path };
	struct module_file file;

	out->is_tried = true;
	out->why = "its file was not found (--guestmount, or --image-path FOLDER)";
	if (folder && open_module_below(folder, &image, &file) &&
	    take_module_file(g, guest, m, &file, out))
		return;
	if (module_file_open_of_release(g->places, &image, "", &file))
		take_module_file(g, guest, m, &file, out);
}

static size_t guest_read_module(struct pt_guests *g, struct guest *guest,
				const struct guest_module *m, uint64_t addr, bool is_way,
				uint8_t *out, size_t size)
{
	size_t n;
	struct guest_code *c = &guest->codes[m - guest_modules_all(guest->modules, &n)];

	if (!c->is_tried)
		load_module(g, guest, m, c);
	if (!c->code)
		return 0;
	return module_code_read(c->code, addr, is_way ? MODULE_SAME_WAY : MODULE_KNOWN, out,
				MIN(size, m->end - addr));
}

static size_t guest_read_kernel(const struct guest *guest, uint64_t addr, uint8_t *out, size_t size)
{
	struct reader bytes;

	if (!guest->file.base)
		return 0;
	bytes = elf_bytes_at(&guest->elf, addr - guest->slide);
	size = MIN(size, reader_left(&bytes));
	if (size)
		memcpy(out, bytes.at, size);
	return size;
}

size_t pt_guests_read(struct pt_guests *g, int32_t pid, uint64_t addr, bool is_way, uint8_t *out,
		      size_t size)
{
	struct guest *guest = guest_of(g, pid);
	const struct guest_module *m;
	bool is_memory;
	size_t n;

	if (!guest)
		return 0;
	m = guest_modules_next(guest->modules, addr);
	is_memory = guest->file.base && guest->elf.type == ET_CORE;
	/* Unlike memory, the kernel's file has no modules, whatever lies there. */
	n = is_memory || !m ? size : addr < m->start ? MIN(size, m->start - addr) : 0;
	n = guest_read_kernel(guest, addr, out, n);
	if (n || !m || addr < m->start)
		return n;
	return guest_read_module(g, guest, m, addr, is_way, out, size);
}
