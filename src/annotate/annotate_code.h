/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside report/: the instructions of one function, and the arrows of its jumps. */
#pragma once

#include "annotate/annotate.h"
#include "symbol/disasm.h"

struct jump_arrow {
	uint32_t from, to; /* instructions */
	uint32_t level;    /* 0: nearest to the code */
};

struct function_code {
	VEC(struct instruction) list;
	VEC(struct jump_arrow) arrows;
	uint32_t n_levels;
	uint64_t mtime_ns; /* of the file with the code; 0: there is none */
};

/* -ENOENT … as code_files_get(): the code can't be read. */
int function_code_load(struct annotation *a, uint32_t function, struct function_code *out,
		       struct error *err);
void function_code_fini(struct function_code *c);

/* Appends the columns of arrows beside an instruction: n_levels + 1 characters. */
void function_code_put_arrows(const struct function_code *c, uint32_t i, bool is_ascii,
			      struct buf *out);

/* Appends the target of the instruction: " <work+0x12>", or " <+0x12>" in its own function. Appends
 * nothing if no function is there. */
void function_code_put_target(const struct annotation *a, uint32_t image,
			      const struct instruction *in, struct buf *out);
