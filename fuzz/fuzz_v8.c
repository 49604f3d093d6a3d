/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8's objects, where every pointer leads to bytes of the input: code, closures, functions,
 * strings, lines. The input is repeated over all addresses.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "input_memory.h"
#include "lang/code.h"
#include "lang/v8.h"
#include "pipeline/v8_ways.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define START 0x7f0000000000u

/* Offsets as in V8 11.3. Types are those of the input's first bytes, so that objects are found. */
static struct lang_runtime runtime_of(const uint8_t *bytes)
{
	static const uint32_t versions[] = { 11 << 8 | 3, 7 << 8 | 8, 13 << 8 | 6, 10 << 8 | 2 };
	struct lang_runtime r = { .version = versions[bytes[2] >> 4 & 3] };
	uint16_t type = (uint16_t)(bytes[0] | bytes[1] << 8);

	r.v8 = (struct v8_layout){
		.type_function = type,
		.type_functions = 15,
		.type_shared = type,
		.type_script = type,
		.type_scope = bytes[2] & 1 ? type : 1,
		.type_bytecode = type,
		.type_bytes = type,
		.type_array = type,
		.type_code = type,
		.type_stream = type,
		.type_interpreted = bytes[2] & 2 ? type : 2,
		.type_nonstring = 128,
		.function_shared = 24,
		.function_code = 48,
		.shared_data = 8,
		.shared_name = 16,
		.shared_script = 32,
		.script_source = 8,
		.script_name = 16,
		.script_functions = 88,
		.scope_first = 4,
		.deopt_shared = 6,
		.bytecode_table = 32,
		.bytecode_header = 54,
		.code_data = 16,
		.code_start = 40,
		.code_size = 56,
		.code_flags = 48,
		.stream_code = bytes[2] & 4 ? 8 : 0,
		.stream_header = 16,
		.kind_mask = 15,
		.kind_baseline = 11,
		.code_positions = bytes[2] & 8 ? 24 : 0,
		.deopt_literals = 2,
	};
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static struct lang_code code;
	const struct lang_memory memory = { read_input, NULL };
	struct lang_runtime runtime;
	struct v8_function function;
	struct v8_closure closure;
	struct v8_site sites[V8_INLINED_MAX];
	struct v8_code piece;
	uint64_t object;
	uint16_t words;
	struct v8 v;

	if (size < 16)
		return 0;
	input.bytes = bytes;
	input.size = size;
	input.n_reads = 0;
	runtime = runtime_of(bytes);
	v8_init(&v, &memory, &runtime);
	object = START + 0x10000 + (bytes[3] | (uint64_t)bytes[4] << 8) * 8 + 1;
	if (v8_find_code(&v, object, START, &piece) &&
	    (piece.start >= piece.end || object < piece.start || object > piece.end))
		__builtin_trap();
	v8_read_code(&v, object, &piece);
	if (v8_sites(&v, &piece, piece.start + bytes[6], bytes[7] & 1, sites) > V8_INLINED_MAX)
		__builtin_trap();
	v8_read_closure(&v, v8_moved(&v, object), &closure);
	v8_bytecode_of(&v, object);
	v8_is_builtin(&v, object);
	v8_function_in_script(&v, object, object);
	v8_position(&v, object, (uint64_t)bytes[5] << 32);
	memset(&code, 0, sizeof(code));
	if (v8_read_function(&v, object, &function, &code)) {
		if (code.n_lines > LANG_LINES_MAX || code.name.size > LANG_TEXT_MAX ||
		    code.file.size > LANG_TEXT_MAX)
			__builtin_trap();
		v8_is_function(&v, object, &function);
		v8_line(&code, UINT32_MAX);
	}
	v.is_aarch64 = bytes[2] & 0x40;
	v8_way_of_leaf(&v, &piece, piece.start + bytes[6]);
	v8_is_regexp(&v, &piece);
	v8_pushed_words(&v, object, &words);
	v8_fini(&v);
	return 0;
}
