/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The function table of Go programs (.gopclntab). Stripping does not remove the table. It has
 * names, files, lines and inlined functions, and how far the stack pointer is from the caller's
 * frame.
 *
 *	struct elf_go go;
 *	struct elf_go_function f;
 *	struct elf_go_steps steps;
 *	struct elf_go_step step;
 *
 *	if (elf_go_open(&go, &elf))
 *		for (uint32_t i = 0; elf_go_function(&go, i, &f); i++) {
 *			elf_go_begin(&go, &f, f.lines, &steps);
 *			while (elf_go_next(&steps, &step))
 *				...
 *		}
 *
 * x86-64 and AArch64, Go 1.16 and newer. Position-independent programs of 1.16 and 1.17 have no
 * addresses in the file and are not read. Texts point into the file and end with a NUL there.
 *
 * Format: the Go runtime's symtab.go and runtime2.go, the Go linker's pcln.go.
 */
#pragma once

#include "elf/elf_file.h"

enum elf_go_layout { GO_1_16, GO_1_18, GO_1_20 };

struct elf_go {
	const struct elf_file *elf;
	struct reader names, units, files, steps, functions; /* each up to the table's end */
	uint64_t text;         /* link address that functions count from */
	uint64_t inline_trees; /* … that trees of inlined functions count from; 0: not known */
	uint32_t n_functions;
	enum elf_go_layout layout;
	uint8_t quantum; /* bytes of the shortest instruction */
};

/* Places of steps; 0: none. */
struct elf_go_function {
	uint64_t link_addr, size;
	uint32_t name;  /* elf_go_name() */
	uint32_t stack; /* steps of the distance from the stack pointer to the return address */
	uint32_t file_numbers, lines, inlined; /* steps; `inlined`: of entries in the tree */
	uint32_t unit;
	uint32_t start_line;  /* 0: not known */
	uint64_t inline_tree; /* link address; 0: none */
	bool is_outermost;    /* nothing called it: Go's TOPFRAME, which 1.16 does not have */
};

/* False if there is no table of these versions. */
bool elf_go_open(struct elf_go *out, const struct elf_file *elf);

/* Whether the image has the table of Go 1.2 to 1.15, which is not read. */
bool elf_go_is_old(const struct elf_file *elf);

/* The i-th one, by address; false beyond the end. A damaged one has size 0. */
bool elf_go_function(const struct elf_go *go, uint32_t i, struct elf_go_function *out);

/* "" if damaged, as all texts here, or longer than 64 KiB. */
const char *elf_go_name(const struct elf_go *go, const struct elf_go_function *f);

/* "", too, if the name with its end takes more than `size` bytes: no more of them are read. */
const char *elf_go_short_name(const struct elf_go *go, const struct elf_go_function *f,
			      size_t size);

/* One value of a piece of the function's code. */
struct elf_go_step {
	uint64_t start, end; /* offsets in the function; start < end */
	int32_t value;
};
struct elf_go_steps {
	struct reader left;
	uint64_t at, size;
	uint32_t value;
	uint8_t quantum;
	bool is_first;
};

void elf_go_begin(const struct elf_go *go, const struct elf_go_function *f, uint32_t place,
		  struct elf_go_steps *steps);
bool elf_go_next(struct elf_go_steps *steps, struct elf_go_step *out);

/* The path of a value of file_numbers; "" if there is none. */
const char *elf_go_file(const struct elf_go *go, const struct elf_go_function *f, int32_t number);

struct elf_go_inlined {
	const char *name;
	uint32_t called;     /* offset in the function: code at the place of the call */
	uint32_t start_line; /* 0: not known */
};

/* An entry of the function's tree; false if there is none. */
bool elf_go_inlined(const struct elf_go *go, const struct elf_go_function *f, int32_t number,
		    struct elf_go_inlined *out);

/*
 * The version of Go in the image's .go.buildinfo, as ELF_GO_VERSION(19) for 1.19.8; 0: not known.
 * From ELF_GO_UNKNOWN on, nobody has looked at the runtime's structures (runtime2.go).
 */
#define ELF_GO_VERSION(minor) (1u << 8 | (minor))
#define ELF_GO_UNKNOWN        ELF_GO_VERSION(28)
uint32_t elf_go_version(const struct elf_file *elf);

/*
 * Where a thread has its running goroutine, from the thread pointer on. x86-64 code of the runtime
 * loads it by `mov %fs:OFFSET, REGISTER`. In a position-independent program, a linker makes that
 * `mov $OFFSET, %rcx; mov %fs:(%rcx), REGISTER`. False: the code begins without such a load.
 */
bool elf_go_find_thread(struct reader code, int32_t *offset);
