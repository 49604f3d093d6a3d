/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Images and symbolizers for tests of symbols. */
#pragma once

#include <elf.h>

#include "scratch.h"

#include "base/buf.h"
#include "elf/elf_file.h"
#include "symbol/index.h"
#include "symbol/symbols.h"

#include "config.h"

/* The absolute path of a file in the scratch directory. */
static inline const char *scratch_path(const char *name)
{
	static char *paths[64]; /* as many as any test makes */
	static unsigned int next;
	char **path = &paths[next++ % 64];

	free(*path);
	*path = xasprintf("%s/%s", scratch_dir, name);
	return *path;
}

static inline const char *found_name(const struct symbol_table *t, uint64_t offset)
{
	uint32_t i = symbol_find(t, offset);

	return i == NO_SYMBOL ? "(none)" : symbol_get(t, i).name;
}

/* Link addresses and sizes from nm, and offsets from the program headers. */
struct truth {
	uint64_t offset, size;
	char name[256];
};

/* nm calls weak data W too. */
static inline bool is_code(const struct elf_file *elf, uint64_t link_addr)
{
	struct elf_segment s;

	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X) && link_addr >= s.link_addr &&
		    link_addr - s.link_addr < s.file_size)
			return true;
	return false;
}

static inline bool parse_nm(const char *line, const struct elf_file *elf, struct truth *t)
{
	unsigned long addr, size;
	char type;

	if (sscanf(line, "%lx %lx %c %255[^@\n]", &addr, &size, &type, t->name) != 4 ||
	    !strchr("tTwWi", type) || !is_code(elf, addr))
		return false;
	t->size = size;
	return elf_file_off(elf, addr, &t->offset);
}

static const char c_program[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"int low(int x) { return x + 1; }\n"
	"static __attribute__((noinline)) int one(int x) { return low(x) * 3; }\n"
	"static __attribute__((noinline)) int two(int x) { return one(x) + 5; }\n"
	"int high(int x) { return two(x) + one(x); }\n"
	"static __attribute__((noinline)) int alone(int x) { return high(x) * 7; }\n"
	"int last(int x) { puts(\"last\"); return alone(x); }\n"
	"int main(int n, char **v) { return last(atoi(v[n - 1])); }\n";

#define CC_C "cc -O1 -fno-toplevel-reorder -fno-inline -Wl,--build-id -rdynamic c.c "

static inline struct image file_image(const char *path)
{
	return (struct image){ .kind = IMAGE_FILE, .path = path };
}
