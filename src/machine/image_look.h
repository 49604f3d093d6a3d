/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look at the file of an image: its build id, its debug link, the runtime of a language that it
 * is, and its headers. A row of the parser (guard/parser.h).
 *
 *	question: u8      enum image_look_part
 *	answer:   struct image_look_head, why it is no ELF file, the name of the debug link, and the
 *	          segments
 *
 * A trusted file is looked at in this process. Only root or the user has written it, and most
 * commands then need no parser.
 */
#pragma once

#include <errno.h>

#include "elf/elf_file.h"
#include "guard/parser.h"
#include "lang/detect.h"
#include "machine/image_file.h"

/* What is looked for, besides build id and link. */
enum image_look_part {
	LOOK_RUNTIME = 1,
	LOOK_CONTENTS = 2,
	LOOK_SEGMENTS = 4, /* those of type PT_LOAD */
};

enum image_contents {
	CONTAINS_CODE = 1, /* a debug file has the sections of its program, and no code in them */
	CONTAINS_SYMBOLS = 2,
	CONTAINS_LINES = 4,
};

struct image_look_head {
	int32_t result; /* of elf_file_open() */
	uint32_t link_crc;
	uint32_t detected; /* enum lang_detected */
	uint32_t is_cut;   /* bytes were read that the file has no longer */
	uint32_t contents; /* enum image_contents */
	uint32_t n_segments;
	uint16_t machine; /* EM_* */
	uint16_t is_64;
	uint64_t text_off; /* of .text in the file; 0: none. With the contents */
	struct build_id build_id;
	uint8_t pad[3];
	struct lang_runtime runtime;
};

struct image_look {
	struct image_look_head head;
	char *link_name;              /* NULL: none */
	struct elf_segment *segments; /* NULL: none */
};
void image_look_fini(struct image_look *look); /* {0} is fine */

extern const struct parser_row image_look_row;

/* `parts`: enum image_look_part. */
struct image_look_wish {
	enum image_found found;
	uint32_t parts;
	uint32_t deadline_ms; /* 0: the row's */
};

/*
 * -EINVAL, -EBADMSG: no ELF file, or a damaged one. Errors of parser_ask(): it was not looked at.
 * On failure, *out is {0}.
 */
int image_look(const struct file_mapping *file, const struct image_look_wish *wish,
	       struct image_look *out, struct error *err);

/* Whether an error of image_look() says that the file is no ELF file. */
static inline bool image_look_is_no_elf(int error)
{
	return error == -EINVAL || error == -EBADMSG;
}

/* The useful content of an ELF file: enum image_contents. */
uint32_t image_contents_of(const struct elf_file *elf);

/*
 * The link address of a byte of the file, in a segment that has all of `flags` (PF_X, or 0). False:
 * no such segment has the byte.
 */
bool image_look_address(const struct image_look *look, uint32_t flags, uint64_t file_off,
			uint64_t *link_addr);
