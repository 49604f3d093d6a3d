/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A look at the file of an image: its build id, its debug link, and the runtime of a language that
 * it is. A row of the parser (guard/parser.h).
 *
 *	question: u8      whether a runtime is looked for
 *	answer:   struct image_look_head, and the name of the debug link
 *
 * A trusted file is looked at in this process. Only root or the user has written it, and most
 * commands then need no parser.
 */
#pragma once

#include "guard/parser.h"
#include "lang/detect.h"
#include "machine/image_file.h"

struct image_look_head {
	int32_t result; /* of elf_file_open() */
	uint32_t link_crc;
	uint32_t detected; /* enum lang_detected */
	uint32_t is_cut;   /* bytes were read that the file has no longer */
	struct build_id build_id;
	uint8_t pad[3];
	struct lang_runtime runtime;
};

struct image_look {
	struct image_look_head head;
	char *link_name; /* NULL: none */
};
void image_look_fini(struct image_look *look); /* {0} is fine */

extern const struct parser_row image_look_row;

/*
 * -EINVAL, -EBADMSG: no ELF file, or a damaged one. Errors of parser_ask(): it was not looked at.
 * On failure, *out is {0}. `deadline_ms` 0: the row's.
 */
int image_look(const struct file_mapping *file, enum image_found found, bool wants_runtime,
	       uint32_t deadline_ms, struct image_look *out, struct error *err);
