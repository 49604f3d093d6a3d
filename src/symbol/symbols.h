/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * (image, offset) to function.
 *
 * Each image has one table, made once. Its first source is a cached index with the image's build id
 * as key (under $XDG_CACHE_HOME/assay/symbols, else ~/.cache/assay/symbols). The second is the
 * image's own symbol tables and its separate debug file. The last is function starts in .eh_frame.
 * A table is sorted and immutable; its symbols have dense indexes, so that callers can collate by
 * (image, index) without touching a name.
 *
 * Nothing here fails: an image that can't be read has an empty table and a status with the reason.
 * A symbolizer and its tables are used by one thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/mem.h"
#include "machine/image.h"

struct debuginfod;
struct file_mapping;
struct symbolizer;
struct symbol_table;
struct error;

struct symbolizer_config {
	const char *cache_dir; /* NULL: as above; "": no cache */
	/*
	 * Indexes that a recorder kept for images whose files would be gone later. Somebody else
	 * may have written them. So they are used for want of a file, or of the symbols of a
	 * stripped one, and enter no cache. NULL
	 */
	const char *kept_dir;
	const char *root; /* prefix of image and debug paths; NULL: "/" (a sysroot, or a test) */
	const char *debug_dir;  /* NULL: /usr/lib/debug */
	const char *kallsyms;   /* NULL: /proc/kallsyms */
	const char *modules;    /* NULL: /proc/modules */
	const char *notes;      /* NULL: /sys/kernel/notes (the running kernel's build id) */
	const char *kcore;      /* NULL: /proc/kcore (the running kernel's memory) */
	const char *sys_module; /* NULL: /sys/module (build ids of modules) */
	const char *system_map; /* the kernel's own names, instead of others; NULL */
	const char *vmlinux; /* the kernel's file, if its build id is right; NULL: assay searches */
	/*
	 * Of guests (IMAGE_GUEST_KERNEL), copies of /proc/kallsyms and /proc/modules, and the file
	 * of the kernel; or a folder with a folder PID for each guest, below which its files are.
	 * NULL: not given.
	 */
	const char *guest_kallsyms, *guest_modules, *guest_mount, *guest_vmlinux;
	/* Code that guests run in user mode is at the same address of the process that runs them.
	 */
	bool guest_code;
	/* Folders with images that are not at their paths; copied. */
	const char *const *image_dirs;
	size_t n_image_dirs;
	/* Asked for files that are in no other place (symbol/debuginfod.h); outlives the
	 * symbolizer. NULL: no requests. */
	struct debuginfod *debuginfod;
	/* Gets a sentence at the end about unreadable mangled names; NULL: no report. */
	void (*report_unread)(const char *sentence);
	/*
	 * "/proc/PID": image paths that begin with it are no paths of a recording. They are
	 * resolved below /proc/PID/root, or as a link of /proc (guard/open.h). NULL: no process.
	 */
	const char *process;
	/* With a process: its images are the files at their paths in assay's own root, too. */
	bool is_at_its_path;
	/* The longest that the parser may take for a file; 0: as long as it is known to need. */
	uint32_t parser_ms;
	/*
	 * The parser ends after so long, for all files together; 0: no limit. Files that it has not
	 * read then have no names and lines: symbolizer_n_late().
	 */
	uint32_t names_ms;
	bool no_demangle; /* names stay as in the symbol table */
	/* The parser makes the tables of the running kernel, too, if it has children: this process
	 * then needs 20 MiB less. The table of each module takes as long as the kernel's. */
	bool is_small;
};

struct symbolizer *symbolizer_new(const struct symbolizer_config *config);
void symbolizer_free(struct symbolizer *s);
DEFINE_AT_EXIT(symbolizer_free, struct symbolizer)

/* Files whose names and lines were not read in the time of names_ms. */
uint32_t symbolizer_n_late(const struct symbolizer *s);

/*
 * Whether a System.map and a vmlinux (NULL: neither) are the running kernel's: 1; 0 if the kernel
 * hides its own from this user. -ESTALE for those of another kernel; -errno if a file can't
 * be read.
 */
int symbolizer_check_kernel(struct symbolizer *s, const char *system_map, const char *vmlinux,
			    struct error *err);

/* -ENOENT if one of image_dirs is no folder. */
int symbolizer_check_image_dirs(const struct symbolizer *s, struct error *err);

/* The path of an image's file, or the path where it should be. The caller's to free(). */
char *symbolizer_image_file(struct symbolizer *s, const struct image *image);

/*
 * Maps the file of an image of kind FILE or VDSO, which the caller unmaps: a negative errno, as of
 * finder_open() (symbol/finder.h). *path gets its path, or where it should be; may be NULL.
 */
int symbolizer_map_image(struct symbolizer *s, const struct image *image, struct file_mapping *file,
			 char **path, struct error *err);

/* Whether there is a file that is the image's. */
bool symbolizer_has_file(struct symbolizer *s, const struct image *image);

/* The file of a MODULE image in image_dirs, by its name; NULL: none. The caller's to free(). */
char *symbolizer_listed_module(struct symbolizer *s, const struct image *image);

/* The user who owns this file; false if there is no file. */
bool symbolizer_image_owner(struct symbolizer *s, const struct image *image, uint32_t *user);

/* A symbol of code without a file (struct code_symbol of a session), or a line of its source. */
struct given_symbol {
	uint64_t offset, size;
	const char *name; /* outlives the table; of a line: the file */
	uint32_t line;    /* 0: it is a symbol */
};

/*
 * The table of an image, opened at the first call and kept: same image (kind, build id, path, pid),
 * same pointer. `given` has names of JIT and BPF code, and names from another tool; with any, no
 * other source is used. It may be NULL and is copied.
 */
const struct symbol_table *symbolizer_table(struct symbolizer *s, const struct image *image,
					    const struct given_symbol *given, size_t n_given);

/*
 * The variables of an image of kind FILE or KERNEL, as a table of its own: its symbols of type
 * OBJECT, or the kernel's of kallsyms, which have no sizes. The offset of .bss lies behind the data
 * in the file, though the file has no such bytes.
 */
const struct symbol_table *symbolizer_objects(struct symbolizer *s, const struct image *image);

/*
 * Makes tables of images of kind FILE without given names, for symbolizer_table() to find. The
 * parser is asked for all at once (parser_ask_all()).
 */
void symbolizer_make_tables(struct symbolizer *s, const struct image *const *images, size_t n);

#define NO_SYMBOL UINT32_MAX

/* The index of the symbol that covers the offset (its zero: machine/image.h), or NO_SYMBOL. */
uint32_t symbol_find(const struct symbol_table *t, uint64_t offset);

struct symbol {
	uint64_t offset, size;
	const char
		*name; /* as in the symbol table (mangled); "": bracketed without a lower bound */
	const char *name_end; /* bracketed (stripped): the next known symbol; NULL otherwise */
};
struct symbol symbol_get(const struct symbol_table *t, uint32_t index);
/* The same without its name: fewer pages of a mapped index are read. */
struct symbol symbol_place(const struct symbol_table *t, uint32_t index);
uint32_t symbol_count(const struct symbol_table *t);

/* Gives back the memory of an index that is mapped. Its next use reads the file again. */
void symbol_table_rest(const struct symbol_table *t);

/* Whether Go's compiler made the function. C functions of a Go program are not Go's. */
bool symbol_is_go(const struct symbol_table *t, uint32_t index);

/*
 * The name for people: demangled, with parameters (demangle/demangle.h). A bracketed symbol
 * is "low..high", or "low+0x40..high" if several functions share the bracket (0x40 counts from the
 * start of low), or "image+0x4010" without a known symbol below. The bounds have no parameters.
 * Valid until symbolizer_free(); demangled once.
 */
const char *symbol_name(struct symbolizer *s, const struct symbol_table *t, uint32_t index);

/*
 * The same without parameters, for a symbol that is not bracketed. Puts it in place of the content
 * of `out`; false if it is the name in the symbol table.
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
	X(HIDDEN, "hidden", "kernel symbols are hidden (kptr_restrict)")                     \
	X(UNPARSED, "unparsed", "the parser process could not read the file")

enum symbol_status {
#define X(id, key, text) SYMBOL_##id,
	SYMBOL_STATUSES(X)
#undef X
		N_SYMBOL_STATUSES
};

extern const char *const symbol_status_keys[N_SYMBOL_STATUSES];
extern const char *const symbol_status_texts[N_SYMBOL_STATUSES];

enum symbol_status symbol_table_status(const struct symbol_table *t);

/* One sentence for people about an incomplete table; "" for a complete one. */
const char *symbol_table_detail(const struct symbol_table *t);
