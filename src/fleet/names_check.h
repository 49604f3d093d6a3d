/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the bytes of an index of names (symbol/index.h) that a host sent. A row of the parser
 * (guard/parser.h): the bytes are unpacked and read in a process without rights.
 *
 *	question: u8      1: the file is packed by zstd
 *	          bytes   the build id, the rest
 *	answer:   struct names_facts, and the bytes of the index if facts.result is 0
 */
#pragma once

#include <stdint.h>

#include "base/build_id.h"
#include "fleet/body_unpack.h"
#include "guard/parser.h"

struct names_facts {
	int32_t result;  /* 0. -EFBIG: a limit. -EBADMSG: it is no sound index of this build id */
	uint32_t status; /* enum symbol_status */
	uint32_t n;      /* functions */
	uint32_t padding;
	uint64_t size;           /* of the index */
	char why[BODY_WHY_SIZE]; /* a sentence without a stop; "" with result 0 */
};

extern const struct parser_row names_check_row;

struct names_check {
	struct names_facts facts;
	uint8_t *bytes; /* of the index, in the answer */
	struct parser_answer answer;
};

/*
 * Asks the parser. Returns facts.result, or an error of parser_ask() with facts.result 0. Free with
 * names_check_fini(), also after a failure.
 */
int names_check_ask(const struct file_mapping *file, const struct build_id *id, bool is_packed,
		    struct names_check *out, struct error *err);
void names_check_fini(struct names_check *c);
