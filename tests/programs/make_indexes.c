/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes indexes of builds that no file has, for tests of many names:
 *
 * 	make_indexes DIR N [BYTES]
 *
 * Each has one function, whose name has BYTES bytes or the few that it needs. Their build ids are
 * the numbers from 1 on, in four bytes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "symbol/cache.h"
#include "symbol/index.h"
#include "symbol/symbols.h"

static void write_index(const char *dir, uint32_t number, size_t n_bytes)
{
	struct build_id id = { .len = 4,
			       .bytes = { (uint8_t)(number >> 24), (uint8_t)(number >> 16),
					  (uint8_t)(number >> 8), (uint8_t)number } };
	struct index_draft draft = { 0 };
	struct index_header *block;
	char *name = xcalloc(n_bytes + 32, 1);
	size_t size;
	int n = snprintf(name, 32, "function_%u_", number);

	for (size_t i = (size_t)n; i < n_bytes; i++)
		name[i] = (char)('a' + rand() % 26);
	index_draft_add(&draft, 16, 16, name, index_draft_rank(true, DRAFT_GLOBAL));
	block = index_draft_finish(&draft, &size);
	block->status = SYMBOL_SYMTAB;
	cache_write(dir, &id, 0, block, size);
	free(block);
	free(name);
}

int main(int argc, char **argv)
{
	struct error err = { 0 };

	if (argc < 3) {
		fprintf(stderr, "Usage: make_indexes DIR N [BYTES]\n");
		return 2;
	}
	if (file_mkdirs(argv[1], 0700, &err) < 0) {
		fprintf(stderr, "make_indexes: %s\n", err.text);
		return 1;
	}
	for (uint32_t i = 1; i <= strtoul(argv[2], NULL, 10); i++)
		write_index(argv[1], i, argc > 3 ? strtoul(argv[3], NULL, 10) : 0);
	return 0;
}
