/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * (image, offset) to function.
 *
 * One table an image, made once: from a cached index keyed by build id (under
 * $XDG_CACHE_HOME/assay/symbols, else ~/.cache/assay/symbols), else from the
 * image's own symbol tables and its separate debug file, else from function
 * starts in .eh_frame. A table is sorted and immutable; its symbols have dense
 * indexes, so that callers can collate by (image, index) without touching a name.
 *
 * Nothing here fails: an image that can't be read has an empty table and a
 * status that says why. A symbolizer and its tables are used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "machine/image.h"

struct symbolizer;
struct symbol_table;
struct error;

struct symbolizer_config {
	const char *cache_dir; /* NULL: as above; "": no cache */
	const char *root; /* prefix for image and debug paths; NULL: "/" (a sysroot, or a test) */
	const char *debug_dir;  /* NULL: /usr/lib/debug */
	const char *kallsyms;   /* NULL: /proc/kallsyms */
	const char *modules;    /* NULL: /proc/modules */
	const char *notes;      /* NULL: /sys/kernel/notes (the running kernel's build id) */
	const char *kcore;      /* NULL: /proc/kcore (the running kernel's memory) */
	const char *sys_module; /* NULL: /sys/module (build ids of modules) */
	const char *system_map; /* the kernel's own names, instead of those that are found; NULL */
	const char *vmlinux; /* the kernel's file, if its build id is right; NULL: searched for */
	/* Folders to look through for images that are not at their paths; copied. */
	const char *const *image_dirs;
	size_t n_image_dirs;
	/* Told before debuginfod is asked and what came of it; NULL: it is not asked. */
	void (*say_fetching)(const char *sentence);
	/* Told at the end of mangled names that could not be read; NULL: nobody is. */
	void (*say_unread)(const char *sentence);
	/*
	 * "/proc/PID": paths of images that begin with it are not resolved as a recording's paths,
	 * but below /proc/PID/root, or as a link of /proc (guard/open.h). NULL: no process.
	 */
	const char *process;
	bool no_demangle; /* names stay as they are in the symbol table */
};

struct symbolizer *symbolizer_new(const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *s);
DEFINE_AT_EXIT(symbolizer_free, struct symbolizer)

/*
 * Whether a System.map and a vmlinux (NULL: neither) are those of the running kernel: 1, or 0 where
 * it does not tell this user. -ESTALE for those of another kernel; -errno for what can't be read.
 */
int symbolizer_check_kernel(struct symbolizer *s, const char *system_map, const char *vmlinux,
			    struct error *err);

/* -ENOENT where one of the folders of image_dirs is none. */
int symbolizer_check_image_dirs(const struct symbolizer *s, struct error *err);

/* Where the file of a FILE image is, or should be. The caller's to free(). */
char *symbolizer_image_file(const struct symbolizer *s, const struct image *image);

/* The user who owns this file; false if there is none. */
bool symbolizer_image_owner(const struct symbolizer *s, const struct image *image, uint32_t *user);

/*
 * A symbol of code without a file (struct code_symbol of a session), to be given before use; with a
 * line, where its source is.
 */
struct given_symbol {
	uint64_t offset, size;
	const char *name; /* outlives the table; of a line: the file */
	uint32_t line;    /* 0: it is a symbol */
};

/*
 * The table of an image, opened at the first call and kept: same image (kind,
 * build id, path, pid), same pointer. `given` names code of JIT and BPF images, and
 * of what another tool has named: where there is any, nothing else is looked at. It may be NULL
 * and is copied.
 */
const struct symbol_table *symbolizer_table(struct symbolizer *s, const struct image *image,
					    const struct given_symbol *given, size_t n_given);

#define NO_SYMBOL UINT32_MAX

/* The index of the symbol that covers the offset (image.h says what it counts from), or NO_SYMBOL.
 */
uint32_t symbol_find(const struct symbol_table *t, uint64_t offset);

struct symbol {
	uint64_t offset, size;
	const char *name;     /* as in the symbol table (mangled); "" for a bracketed one without a
				 lower bound */
	const char *name_end; /* bracketed (stripped): the next known symbol; NULL otherwise */
};
struct symbol symbol_get(const struct symbol_table *t, uint32_t index);
uint32_t symbol_count(const struct symbol_table *t);

/*
 * The name for people: demangled (symbol/demangle/demangle.h; parameters kept). A bracketed one is
 * "low..high", or "low+0x40..high" where several functions share the bracket (0x40 counts from the
 * start of low), or "image+0x4010" where nothing known is below it. The bounds have no parameters.
 * Valid until symbolizer_free(); demangled once.
 */
const char *symbol_name(struct symbolizer *s, const struct symbol_table *t, uint32_t index);

/*
 * The same without parameters, of a symbol that is not bracketed. Puts it in place of the content
 * of `out`; false, if the name is the one in the symbol table.
 */
bool symbol_short_name(struct symbolizer *s, const struct symbol_table *t, uint32_t index,
		       struct buf *out);

/* X(id, key, text) */
#define SYMBOL_STATUSES(X)                                                                   \
	X(SYMTAB, "symtab", "full symbol table")                                             \
	X(DEBUG_FILE, "debug-file", "symbol table of a separate debug file")                 \
	X(DYNSYM, "dynsym", "dynamic symbols and unwind tables only: the image is stripped") \
	X(GIVEN, "given", "names recorded with the session")                                 \
	X(KALLSYMS, "kallsyms", "kernel symbols")                                            \
	X(NONE, "none", "no symbols in the image")                                           \
	X(MISSING, "missing", "the file is not there any more")                              \
	X(UNREADABLE, "unreadable", "the file can't be read")                                \
	X(CHANGED, "changed", "the file has changed since (another build id)")               \
	X(DAMAGED, "damaged", "the file is not a valid ELF file")                            \
	X(NO_FILE, "no-file", "code without a file")                                         \
	X(HIDDEN, "hidden", "kernel symbols are hidden (kptr_restrict)")

enum symbol_status {
#define X(id, key, text) SYMBOL_##id,
	SYMBOL_STATUSES(X)
#undef X
		N_SYMBOL_STATUSES
};

extern const char *const symbol_status_keys[N_SYMBOL_STATUSES];
extern const char *const symbol_status_texts[N_SYMBOL_STATUSES];

enum symbol_status symbol_table_status(const struct symbol_table *t);

/* One sentence for people about a table that is not complete; "" for one that is. */
const char *symbol_table_detail(const struct symbol_table *t);
