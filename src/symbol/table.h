/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside symbol/: struct symbol_table and its makers.
 *
 * A maker reads table->image, and sets the index (through table_adopt()), the status and, if the
 * table is not complete, the detail.
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/files/file.h"
#include "base/intmap.h"
#include "guard/parser.h"
#include "machine/image_file.h"
#include "symbol/finder.h"
#include "symbol/index.h"
#include "symbol/kallsyms.h"
#include "symbol/symbols.h"

/* A segment of code: its place in the file, and its link address. */
struct link_piece {
	uint64_t offset, size, link_addr;
};

struct symbol_table {
	struct image image;          /* owns the path */
	bool is_of_objects;          /* symbolizer_objects() */
	struct index index;          /* n is 0 while there is none */
	struct parser_answer answer; /* of the parser, which has the block, or … */
	struct index_header *block;  /* … it is owned; or … */
	struct file_mapping mapping; /* … the cache file that the index lies in */
	enum symbol_status status;
	char *detail;                  /* NULL: "" */
	const char **names;            /* for people, by symbol; each made at first use */
	struct line_table *lines;      /* NULL: not opened yet (symbol/lines/line_table.h) */
	VEC(struct link_piece) pieces; /* symbol/addresses.h */
	bool has_pieces;               /* false: not read yet */
	bool has_read_swift;           /* all of Swift's names in the index were read */
};

struct symbol_span {
	size_t from, to;
};

/* Copies of a guest's /proc/kallsyms and /proc/modules. */
struct guest_lists {
	char *symbols_path, *modules_path; /* "": there is none */
	struct kallsyms symbols;
	int result; /* of reading them: 0 or a negative errno */
	/* By module of `symbols`: where its symbols are. Others may be among them. */
	VEC(struct symbol_span) spans;
	struct guest_modules *modules;
	uint64_t n_bytes; /* of memory, about */
};

/* Of the guests that were asked for last, in this order. */
struct guest_lists_kept {
	VEC(struct guest_lists) all;
};
void guest_lists_fini(struct guest_lists_kept *l);

struct symbolizer {
	char *cache_dir; /* NULL: no cache */
	char *kept_dir;  /* NULL: none */
	struct finder files;
	char *kallsyms_path, *modules_path, *notes_path, *sys_module_dir, *kcore_path;
	char *system_map, *vmlinux; /* NULL: not given */
	char *guest_kallsyms, *guest_modules, *guest_mount, *guest_vmlinux;
	VEC(struct symbol_table *) tables;
	struct intmap by_image; /* hash of the image to index in tables */
	struct arena *names;
	struct buf scratch;
	struct kallsyms kallsyms; /* read when first needed */
	int kallsyms_result;      /* 1: not read yet; 0; or a negative errno */
	struct guest_lists_kept guest_lists;
	uint32_t parser_ms;                /* a shorter deadline of the parser; 0: none */
	uint32_t names_ms;                 /* symbols.h */
	atomic_uint_fast64_t names_end_ns; /* when they are over; 0: they have not begun */
	atomic_uint n_late;
	bool is_at_its_path;               /* of the process's images (symbols.h) */
	bool is_small;                     /* symbols.h */
	struct file_mapping kallsyms_copy; /* for the parser; not open yet: size 0 */
	struct readable_names *readable;
};

/* The deadline of the parser for the next file; 0: its row's. */
uint32_t symbolizer_parser_ms(struct symbolizer *s);

/* Whether a file is left for later, because the time of names_ms is over. Counts it then. */
bool symbolizer_leaves_file(struct symbolizer *s);

/* Makes a block that is in an answer the table's index, and takes over the answer. */
void table_adopt_answer(struct symbol_table *t, struct parser_answer *answer, const void *block,
			size_t size);

/* The list of the kernel's symbols has no addresses for this user, or no _text. */
void table_fail_hidden(struct symbol_table *t);
void table_fail_textless(struct symbol_table *t, const char *path);

/* Leaves the table without an index. */
void table_forget(struct symbol_table *t);

/* Makes the draft the table's index, in place of any other. */
void table_adopt(struct symbol_table *t, struct index_draft *d, enum symbol_status status);

/*
 * The path without the kernel's mark of a deleted file. With a build id to check, the file that is
 * at the path now may still be the same (a package installed again). The caller frees.
 */
char *image_path_without_mark(const struct image *image);

/*
 * Maps a file whose path comes from a recording or an image. A path that begins with the
 * symbolizer's root stays below it.
 */
int symbolizer_map(const struct symbolizer *s, const char *path, struct file_mapping *out,
		   struct error *err);

/* Where the file at `path` was found for an image of kind FILE. */
enum image_found symbolizer_found(const struct symbolizer *s, const struct image *image,
				  const char *path);

/*
 * The key of things made from a file, which is the image's (image_place_is_right()). len 0: there
 * is no cache.
 */
struct build_id symbolizer_key(const struct symbolizer *s, const struct image *image,
			       const struct file_mapping *file, const struct build_id *found_id,
			       enum image_found found);

/*
 * The build id that a file of an image must have, or that a trusted file has. The latter is read
 * here: a report of cached tables then needs no parser, and only root or the user has written it.
 * len 0: not known.
 */
struct build_id symbolizer_known_id(const struct image *image, const struct file_mapping *file,
				    enum image_found found);

/* Puts the cached index of a key into the table; false if there is none. */
bool table_from_cache(const struct symbolizer *s, struct symbol_table *t,
		      const struct build_id *key);

/* The same from kept_dir: an index that somebody else may have made. */
bool table_from_kept(const struct symbolizer *s, struct symbol_table *t,
		     const struct build_id *key);

/*
 * Keeps the table's index for later runs; not if the key is empty. The user `uid` owns the image's
 * file.
 */
void table_to_cache(const struct symbolizer *s, struct symbol_table *t, const struct build_id *key,
		    uint32_t uid);

/*
 * Maps the index that was just kept, in place of the memory that it came in. False: it was not
 * kept, and the table stays as it is.
 */
bool table_lay_down(const struct symbolizer *s, struct symbol_table *t, const struct build_id *key);

/* An empty table with a status and a sentence with the reason. */
void table_fail(struct symbol_table *t, enum symbol_status status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The address of _text in the running kernel; false if it is hidden. */
bool kernel_text_addr(struct symbolizer *s, uint64_t *addr);

void make_file_tables(struct symbolizer *s, struct symbol_table *const *tables, size_t n);
void make_vdso_table(struct symbolizer *s, struct symbol_table *t);
void make_kernel_table(struct symbolizer *s, struct symbol_table *t);
void make_module_table(struct symbolizer *s, struct symbol_table *t);
void make_guest_table(struct symbolizer *s, struct symbol_table *t); /* of kind NAMED */
void make_dump_table(struct symbolizer *s, struct symbol_table *t);  /* of a jitdump */
