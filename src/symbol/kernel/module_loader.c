/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/kernel/module_loader.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/strings.h"
#include "elf/elf_symbols.h"
#include "symbol/kallsyms.h"
#include "symbol/kernel/module_code.h"

struct module_loader {
	struct module_kernel kernel;
	struct kallsyms kallsyms;
	struct strings names; /* of global symbols */
	VEC(uint64_t) addrs;  /* by name; 0: not known */
};

void module_loader_free(struct module_loader *l)
{
	if (!l)
		return;
	kallsyms_fini(&l->kallsyms);
	strings_fini(&l->names);
	vec_fini(&l->addrs);
	free(l);
}

/* ---- the kernel's symbols ---- */

/* The kernel's own come before those of modules, which may have the same name. */
static void loader_add_name(struct module_loader *l, const char *name, size_t len, uint64_t addr)
{
	string_id id = strings_add_n(&l->names, name, len);

	if (id.n == l->addrs.n)
		vec_push(&l->addrs, addr);
}

static uint64_t loader_symbol_addr(void *context, const char *name)
{
	struct module_loader *l = context;
	string_id id;

	return strings_find(&l->names, name, &id) ? l->addrs.data[id.n] : 0;
}

struct module_loader *module_loader_new(const struct module_loader_config *c)
{
	struct module_loader *l = xcalloc(1, sizeof(*l));
	struct elf_symbol symbol;
	struct elf_symbols it;

	strings_init(&l->names);
	vec_push(&l->addrs, 0);
	if (c->kallsyms && kallsyms_read(&l->kallsyms, c->kallsyms) == 0)
		vec_foreach (&l->kallsyms.symbols, s)
			if (s->name && (s->type == 'T' || s->type == 'W'))
				loader_add_name(l, s->name, s->name_len, s->addr);
	if (c->vmlinux && elf_symbols_begin(&it, c->vmlinux, SHT_SYMTAB))
		while (elf_symbols_next(&it, &symbol))
			if (symbol.bind == STB_GLOBAL && symbol.section != SHN_UNDEF)
				loader_add_name(l, symbol.name, strlen(symbol.name),
						symbol.link_addr + c->slide);
	l->kernel = (struct module_kernel){ .symbol = loader_symbol_addr,
					    .context = l,
					    .memory = c->memory,
					    .memory_addr = c->memory_addr };
	module_kernel_learn(&l->kernel);
	return l;
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
static int file_fits(const struct module_loader *l, const struct module_file *file,
		     const char *name, uint64_t start, uint64_t end)
{
	int module = kallsyms_module(&l->kallsyms, name), fits = FITS_PERHAPS;
	struct file_functions functions = { 0 };

	file_functions_read(&functions, file, start);
	vec_foreach (&l->kallsyms.symbols, s) {
		uint64_t addr;

		if (module <= 0 || s->module != module || !s->name || s->addr < start ||
		    s->addr >= end)
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

struct module_code *module_loader_load(const struct module_loader *l,
				       const struct module_file *file, const char *name,
				       uint64_t start, uint64_t end, bool has_build_id,
				       const char **why)
{
	int fits = file_fits(l, file, name, start, end);
	bool is_same_build = fits == FITS || (fits == FITS_PERHAPS && has_build_id);
	struct module_code *code = is_same_build ? module_code_new(file, start, &l->kernel) : NULL;

	*why = code               ? NULL
	       : is_same_build    ? "its file is not of x86-64, or its code checks calls (kCFI)"
	       : fits == FITS_NOT ? "its file is of another build"
				  : "nothing tells whether its file is of the same build";
	return code;
}
