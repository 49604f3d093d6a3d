/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "trace/pt_modules.h"

#include <elf.h>
#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "base/error.h"
#include "base/strings.h"
#include "elf/elf_symbols.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/module_code.h"
#include "trace/pt_history.h"
#include "trace/pt_images.h"

struct known_module {
	bool is_tried;
	struct module_code *code; /* NULL: `why` */
	const char *why;
};

struct pt_modules {
	const struct pt_history *history;
	struct pt_images *images;
	struct known_module *modules; /* as in the history */
	pthread_mutex_t lock;         /* of opening; what is open stays as it is */
	bool has_kernel;
	struct module_kernel kernel;
	struct kallsyms kallsyms;
	struct strings names; /* of global symbols */
	VEC(uint64_t) addrs;  /* by name; 0: not known */
};

struct pt_modules *pt_modules_new(const struct pt_history *history, struct pt_images *images)
{
	struct pt_modules *t = xcalloc(1, sizeof(*t));

	t->history = history;
	t->images = images;
	t->modules = xcalloc(history->modules.n + 1, sizeof(*t->modules));
	pthread_mutex_init(&t->lock, NULL);
	strings_init(&t->names);
	vec_push(&t->addrs, 0);
	return t;
}

void pt_modules_free(struct pt_modules *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->history->modules.n; i++)
		module_code_free(t->modules[i].code);
	free(t->modules);
	kallsyms_fini(&t->kallsyms);
	strings_fini(&t->names);
	vec_fini(&t->addrs);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

/* ---- the kernel's symbols ---- */

/* The kernel's own come before those of modules, which may have the same name. */
static void add_name(struct pt_modules *t, const char *name, size_t len, uint64_t addr)
{
	string_id id = strings_add_n(&t->names, name, len);

	if (id.n == t->addrs.n)
		vec_push(&t->addrs, addr);
}

static uint64_t symbol_addr(void *context, const char *name)
{
	struct pt_modules *t = context;
	string_id id;

	return strings_find(&t->names, name, &id) ? t->addrs.data[id.n] : 0;
}

static void read_kernel(struct pt_modules *t)
{
	const char *path = pt_images_kallsyms(t->images);
	const struct elf_file *vmlinux;
	struct elf_symbol symbol;
	struct elf_symbols it;
	uint64_t slide;

	t->has_kernel = true;
	if (path && kallsyms_read(&t->kallsyms, path) == 0)
		vec_foreach (&t->kallsyms.symbols, s)
			if (s->name && (s->type == 'T' || s->type == 'W'))
				add_name(t, s->name, s->name_len, s->addr);
	vmlinux = path ? NULL : pt_images_vmlinux(t->images, &slide);
	if (vmlinux && elf_symbols_begin(&it, vmlinux, SHT_SYMTAB))
		while (elf_symbols_next(&it, &symbol))
			if (symbol.bind == STB_GLOBAL && symbol.section != SHN_UNDEF)
				add_name(t, symbol.name, strlen(symbol.name),
					 symbol.link_addr + slide);
	t->kernel = (struct module_kernel){ .symbol = symbol_addr, .context = t };
	t->kernel.memory = pt_images_kernel_memory(t->images, &t->kernel.memory_addr);
	module_kernel_learn(&t->kernel);
}

/* ---- a module's file ---- */

enum { FITS_NOT, FITS, FITS_PERHAPS };

/* The functions of a file, where the kernel has loaded it. */
struct file_functions {
	struct strings names;
	VEC(uint64_t) addrs; /* by name; 0: several have it */
};

static void file_functions_read(struct file_functions *f, const struct module_file *file,
				uint64_t base)
{
	struct elf_symbol symbol;
	struct elf_symbols it;
	string_id id;

	strings_init(&f->names);
	vec_push(&f->addrs, 0);
	if (!elf_symbols_begin(&it, &file->elf, SHT_SYMTAB))
		return;
	while (elf_symbols_next(&it, &symbol)) {
		if (symbol.type != STT_FUNC)
			continue;
		id = strings_add(&f->names, symbol.name);
		if (id.n == f->addrs.n)
			vec_push(&f->addrs, base + symbol.link_addr - MODULE_BASE);
		else
			f->addrs.data[id.n] = 0;
	}
}

static void file_functions_fini(struct file_functions *f)
{
	strings_fini(&f->names);
	vec_fini(&f->addrs);
}

static uint64_t file_functions_find(const struct file_functions *f, const struct kernel_symbol *s)
{
	cleanup(free_at_exit) char *name = xstrndup(s->name, s->name_len);
	string_id id;

	return strings_find(&f->names, name, &id) ? f->addrs.data[id.n] : 0;
}

/* Whether functions lie where kallsyms has them. Those of .init.text are in no kallsyms. */
static int file_fits(const struct pt_modules *t, const struct pt_module *m,
		     const struct module_file *file)
{
	int module = kallsyms_module(&t->kallsyms, m->name), fits = FITS_PERHAPS;
	struct file_functions functions = { 0 };

	file_functions_read(&functions, file, m->start);
	vec_foreach (&t->kallsyms.symbols, s) {
		uint64_t addr;

		if (module <= 0 || s->module != module || !s->name || s->addr < m->start ||
		    s->addr >= m->end)
			continue;
		addr = file_functions_find(&functions, s);
		if (addr && addr != s->addr) {
			fits = FITS_NOT;
			break;
		}
		fits = addr ? FITS : fits;
	}
	file_functions_fini(&functions);
	return fits;
}

static const char *open_module(struct pt_modules *t, const struct pt_module *m,
			       struct known_module *out)
{
	cleanup(free_at_exit) char *path = xasprintf("[%s]", m->name);
	struct image image = { .kind = IMAGE_MODULE, .build_id = m->build_id, .path = path };
	struct module_file file;
	bool is_same_build;
	int fits;

	if (!pt_images_open_module(t->images, &image, m->path, &file))
		return "its file was not found (--image-path FOLDER)";
	if (!t->has_kernel)
		read_kernel(t);
	fits = file_fits(t, m, &file);
	is_same_build = fits == FITS || (fits == FITS_PERHAPS && image.build_id.len);
	if (is_same_build)
		out->code = module_code_new(&file, m->start, &t->kernel);
	module_file_close(&file);
	if (out->code)
		return NULL;
	return is_same_build      ? "its file is not of x86-64, or its code checks calls (kCFI)"
	       : fits == FITS_NOT ? "its file is of another build"
				  : "nothing tells whether its file is of the same build";
}

static const struct known_module *known_module(struct pt_modules *t, size_t i)
{
	struct known_module *known = &t->modules[i];

	if (__atomic_load_n(&known->is_tried, __ATOMIC_ACQUIRE))
		return known;
	pthread_mutex_lock(&t->lock);
	if (!known->is_tried)
		known->why = open_module(t, &t->history->modules.data[i], known);
	__atomic_store_n(&known->is_tried, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&t->lock);
	return known;
}

size_t pt_modules_read(struct pt_modules *t, uint64_t addr, bool is_way, uint8_t *out, size_t size)
{
	const struct pt_module *m = pt_history_module(t->history, addr);
	const struct known_module *known;

	if (!m)
		return 0;
	known = known_module(t, (size_t)(m - t->history->modules.data));
	if (!known->code)
		return 0;
	return module_code_read(known->code, addr, is_way ? MODULE_SAME_WAY : MODULE_KNOWN, out,
				MIN(size, m->end - addr));
}

char *pt_modules_note(const struct pt_modules *t, size_t i)
{
	const struct known_module *known = &t->modules[i];
	const char *name = t->history->modules.data[i].name;
	uint64_t n_same_way, n_unknown;

	if (!known->is_tried)
		return NULL;
	if (!known->code)
		return xasprintf("the code of the kernel's module %s is not decoded: %s", name,
				 known->why);
	module_code_undecided(known->code, &n_same_way, &n_unknown);
	return xasprintf("the code of the kernel's module %s comes from its file. Of the places "
			 "that the kernel patches, the file does not tell %" PRIu64
			 " (not decoded), and %" PRIu64 " that lead the same way",
			 name, n_unknown, n_same_way);
}
