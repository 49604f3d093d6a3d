/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses in columns, without branches and tables: of a trace there are many millions. */
#pragma once

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef uint8_t script_columns __attribute__((vector_size(16)));

/* The 16 digits of a number, in small letters, the highest first. */
#ifdef __SSE2__
static inline script_columns script_hex_digits(uint64_t v)
{
	const __m128i low = _mm_set1_epi8(15), nine = _mm_set1_epi8(9);
	const __m128i to_letters = _mm_set1_epi8('a' - '0' - 10);
	__m128i bytes = _mm_cvtsi64_si128((long long)__builtin_bswap64(v));
	__m128i each = _mm_unpacklo_epi8(_mm_srli_epi16(bytes, 4), bytes);

	each = _mm_and_si128(each, low);
	each = _mm_add_epi8(each, _mm_and_si128(_mm_cmpgt_epi8(each, nine), to_letters));
	return (script_columns)_mm_add_epi8(each, _mm_set1_epi8('0'));
}
#else
/* Eight digits at once, a byte each, the first in the lowest. */
static inline uint64_t script_hex_eight(uint32_t v)
{
	const uint64_t each = 0x0101010101010101;
	uint64_t x = __builtin_bswap32(v), are_letters;

	x = (x | x << 16) & 0x0000ffff0000ffff;
	x = (x | x << 8) & 0x00ff00ff00ff00ff;
	x = (x >> 4 | x << 8) & 0x0f * each;
	are_letters = (x + 6 * each) >> 4 & each;
	return x + '0' * each + are_letters * ('a' - '0' - 10);
}

static inline script_columns script_hex_digits(uint64_t v)
{
	uint64_t digits[] = { script_hex_eight((uint32_t)(v >> 32)),
			      script_hex_eight((uint32_t)v) };
	script_columns text;

	memcpy(&text, digits, sizeof(text));
	return text;
}
#endif

/* 16 columns, blanks before the number; returns how many are digits. */
static inline unsigned int script_hex_columns(uint8_t *to, uint64_t v)
{
	static const script_columns places = {
		0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
	};
	uint8_t n_blanks = (uint8_t)(__builtin_clzll(v | 1) / 4);
	script_columns text = script_hex_digits(v), is_blank = (script_columns)(places < n_blanks);

	text = (text & ~is_blank) | (is_blank & ' ');
	memcpy(to, &text, sizeof(text));
	return 16u - n_blanks;
}

/* The line of a branch with its two addresses alone; returns its end. */
enum { SCRIPT_ADDRESSES_SIZE = 1 + 16 + 4 + 16 + 1 };

static inline uint8_t *script_put_addresses(uint8_t *to, uint64_t from, uint64_t addr)
{
	static const char arrow[4] = { ' ', '=', '>', ' ' };

	*to++ = ' ';
	script_hex_columns(to, from);
	memcpy(to + 16, arrow, sizeof(arrow));
	to += 16 + sizeof(arrow);
	script_hex_columns(to, addr);
	to[16] = '\n';
	return to + 17;
}
