/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The build id of a binary: the NT_GNU_BUILD_ID note, 20 bytes of SHA-1 in
 * practice (8 to 20 allowed; the kernel's MMAP2 records carry up to 20).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define BUILD_ID_MAX      20
#define BUILD_ID_HEX_SIZE (2 * BUILD_ID_MAX + 1)

struct build_id {
	uint8_t len;                 /* 0: none known */
	uint8_t bytes[BUILD_ID_MAX]; /* zero behind len, so that whole structs compare */
};

static inline bool build_id_equal(const struct build_id *a, const struct build_id *b)
{
	return a->len == b->len && !memcmp(a->bytes, b->bytes, sizeof(a->bytes));
}

/* Lower-case hexadecimal; "" for none. */
void build_id_hex(const struct build_id *id, char hex[static BUILD_ID_HEX_SIZE]);

/* Takes an even number of hex digits, at most 40; false for anything else. */
bool build_id_parse(const char *hex, struct build_id *out);
