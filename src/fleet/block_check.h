/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the bytes of a block that a host sent (store/history/blocks.h). A row of the parser
 * (guard/parser.h): the bytes are unpacked and read in a process without rights.
 *
 *	question: u64     the bucket, CLOCK_REALTIME in ns
 *	          u8      1: the file is packed by zstd (RFC 8878)
 *	answer:   struct block_facts, and the bytes of the segment if facts.result is 0
 *
 * A block is one whole segment with INFO and END. All its rows can be read, and belong to the
 * bucket. It keeps no processes, threads and processors apart, and names no command. It replaces no
 * other part.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "fleet/body_unpack.h"
#include "guard/parser.h"

struct block_facts {
	/*
	 * 0. -EFBIG: a limit. -EPROTONOSUPPORT: a newer format. -EBADMSG: it is damaged, or no
	 * block. -ERANGE: samples of another bucket.
	 */
	int32_t result;
	uint32_t n_rows;
	uint64_t samples, lost;
	uint64_t length_ns;      /* of the bucket */
	uint64_t size;           /* of the segment */
	char why[BODY_WHY_SIZE]; /* a sentence without a stop; "" with result 0 */
};

extern const struct parser_row block_check_row;

struct block_check {
	struct block_facts facts;
	const uint8_t *bytes; /* of the segment, in the answer */
	struct parser_answer answer;
};

/*
 * Asks the parser. Returns facts.result, or an error of parser_ask() with facts.result 0. Free with
 * block_check_fini(), also after a failure.
 */
int block_check_ask(const struct file_mapping *file, uint64_t bucket, bool is_packed,
		    struct block_check *out, struct error *err);
void block_check_fini(struct block_check *c);
