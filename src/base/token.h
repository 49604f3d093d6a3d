/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Secrets as text: random tokens and passwords, and the hashes by which they are known again. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOKEN_HASH_SIZE 32 /* SHA-256 (FIPS 180-4) */

/* Writes two digits for each byte, and a NUL. */
void token_print_hex(const uint8_t *bytes, size_t n, char *out);

/* Fills `size` - 1 characters, an even number of 128 at most, with random digits. False: errno. */
bool token_make(char *out, size_t size);

void token_hash(const char *token, uint8_t hash[static TOKEN_HASH_SIZE]);
