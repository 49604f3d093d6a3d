/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information as bytes: the entries of .eh_frame and .debug_frame.
 *
 * An FDE covers a function, or one part of a function that the compiler split (hot and cold). Its
 * program runs after the program of its CIE and gives the unwind rules of each address.
 * unwind/cfi.h interprets the programs.
 *
 * 	struct elf_frames frames;
 * 	struct elf_frames_it it;
 * 	struct elf_fde fde;
 *
 * 	if (elf_frames_eh(&elf, &frames)) {
 * 		elf_frames_begin(&it, &frames);
 * 		while (elf_frames_next(&it, &fde))
 * 			... fde.cie ...
 * 	}
 *
 * Entries come in the order of the file. Unreadable entries are left out. A length that does not
 * fit ends the section.
 *
 * Format: LSB Core 5.0 section 10.6; DWARF 5 section 6.4.1.
 */
#pragma once

#include "elf/elf_file.h"

/* A section that knows its link address. */
struct elf_frames {
	const struct elf_file *elf;
	const uint8_t *base;
	size_t size;
	uint64_t link_addr;
	bool is_debug;     /* .debug_frame */
	uint8_t *unpacked; /* what `base` points to, if the section is compressed */
};

struct elf_cie {
	const uint8_t *at; /* the CIE's position, which identifies it; NULL: not read yet */
	bool is_usable;
	bool is_signal; /* the 'S' augmentation: a signal handler returns here */
	bool has_augmentation;
	uint8_t encoding; /* of the addresses in its FDEs */
	uint64_t return_register;
	uint64_t code_align;
	int64_t data_align;
	struct reader program;
};

struct elf_fde {
	const struct elf_cie *cie; /* until the next elf_frames_next() */
	uint64_t link_addr, size;
	struct reader program;
};

struct elf_frames_it {
	const struct elf_frames *frames;
	struct reader all;
	struct elf_cie cie;
};

/*
 * .eh_frame by its section, or, without section headers, by way of
 * .eh_frame_hdr and PT_GNU_EH_FRAME. (That header's table has starts but no
 * sizes, and so would save nothing.) False if there is none.
 */
bool elf_frames_eh(const struct elf_file *elf, struct elf_frames *out);

/*
 * .debug_frame, also compressed: then it is unpacked, to 256 MiB at most. False if there is none,
 * or if it is damaged.
 */
bool elf_frames_debug(const struct elf_file *elf, struct elf_frames *out);
void elf_frames_fini(struct elf_frames *frames);

void elf_frames_begin(struct elf_frames_it *it, const struct elf_frames *frames);
bool elf_frames_next(struct elf_frames_it *it, struct elf_fde *out);

/* DW_CFA_set_loc's operand. `r` reads inside the section. */
uint64_t elf_frames_address(const struct elf_frames *f, const struct elf_cie *cie,
			    struct reader *r);
