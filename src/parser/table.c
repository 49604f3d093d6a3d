/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "parser/table.h"

#include <stddef.h>

#include "machine/image_look.h"
#include "machine/jit_piece.h"
#include "machine/perf_map.h"
#include "symbol/file_debug.h"
#include "symbol/file_functions.h"
#include "symbol/file_symbols.h"
#include "symbol/kernel/kernel_symbols.h"
#include "symbol/lines/file_dump.h"
#include "symbol/lines/file_lines.h"
#include "unwind/file_unwind.h"

const struct parser_row *const parser_rows[] = {
	&image_look_row,
	&file_symbols_row,
	&file_lines_row,
	&file_unwind_row,
	&perf_map_row,
	&file_dump_row,
	&jit_piece_row,
	&file_debug_row,
	&file_functions_row,
	&kernel_symbols_row,
	NULL,
};
