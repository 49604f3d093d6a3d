/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions in the symbol tables of an ELF file, with all their names: a row of the parser
 * (guard/parser.h).
 *
 *	question: u8      enum file_functions_part
 *	answer:   struct file_functions_head, why it is no ELF file, padding to 8 bytes, the
 *	          functions in the order of their tables, and the names
 */
#pragma once

#include "guard/parser.h"
#include "machine/image_file.h"

struct debug_search;

enum file_functions_part {
	FUNCTIONS_ALL = 1,   /* of the dynamic symbols and of the debug file, too; FUNC alone */
	FUNCTIONS_NAMES = 2, /* each symbol with an address and a size, whatever its type */
	/*
	 * Static probes instead (elf/elf_probes.h): the name is PROVIDER:NAME, and `size` the
	 * file offset of the semaphore.
	 */
	FUNCTIONS_PROBES = 4,
};

struct file_functions_head {
	int32_t result; /* of elf_file_open() */
	uint32_t n;
	uint64_t names_size;
};

struct file_function {
	uint64_t link_addr, file_off, size; /* file_off is not known with FUNCTIONS_NAMES */
	uint32_t name;                      /* file_functions_name() */
	uint32_t is_global;
};

struct file_functions {
	struct file_functions_head head;
	const char *why;
	const struct file_function *list;
	const char *names;
	struct parser_answer answer; /* has the rest */
};

extern const struct parser_row file_functions_row;

/* False: it is no answer of the row. Then *out has no meaning. It does not own the bytes. */
bool file_functions_read(struct file_functions *out, const void *bytes, size_t size);

static inline const char *file_functions_name(const struct file_functions *f,
					      const struct file_function *function)
{
	return f->names + function->name;
}

/*
 * Asks for the functions. `search` (NULL: none) is for its debug file, as for file_debug_find().
 * Errors of elf_file_open() and of parser_ask(). On failure, *out is {0}.
 */
int file_functions_ask(const struct file_mapping *file, enum image_found found, uint32_t parts,
		       const struct debug_search *search, struct file_functions *out,
		       struct error *err);
void file_functions_fini(struct file_functions *f); /* {0} is fine */
