/* SPDX-License-Identifier: GPL-2.0-or-later */
/* V8's code: from an address, or a JSFunction, to the function that was compiled. */
#include <string.h>

#include "base/mem.h"
#include "lang/v8.h"

uint16_t v8_type(const struct v8 *v, uint64_t object)
{
	uint64_t map;
	uint16_t type;

	if (!v8_field(v, object, 0, &map) || !v8_is_pointer(map) ||
	    !lang_read(&v->memory, map - 1 + V8_MAP_TYPE, &type, sizeof(type)))
		return UINT16_MAX;
	return type;
}

uint64_t v8_moved(const struct v8 *v, uint64_t object)
{
	uint64_t word;

	/* in place of its map, an object has its new address, without the tag */
	if (!v8_field(v, object, 0, &word) || (word & 7) || !v8_is_pointer(word + 1))
		return object;
	return word + 1;
}

bool v8_is_bytecode(const struct v8 *v, uint64_t object)
{
	return v8_type(v, object) == v->layout.type_bytecode;
}

bool v8_read_closure(const struct v8 *v, uint64_t function, struct v8_closure *out)
{
	const struct v8_layout *l = &v->layout;

	return (uint32_t)(v8_type(v, function) - l->type_function) < l->type_functions &&
	       v8_field(v, function, l->function_shared, &out->shared) &&
	       v8_field(v, function, l->function_code, &out->code) &&
	       v8_type(v, out->shared) == l->type_shared;
}

/* ---- bytecode ---- */

#define WEAK_TAG 3 /* low bits of a weak pointer */

/* In an InterpreterData. */
#define INTERPRETED_BYTECODE 8

/* A function has its bytecode, or something that has it: a copy of the trampoline, baseline code.
 */
uint64_t v8_bytecode_of(const struct v8 *v, uint64_t shared)
{
	uint64_t data;

	if (!v8_field(v, shared, v->layout.shared_data, &data))
		return 0;
	for (int hops = 0; hops < 3 && v8_is_pointer(data); hops++) {
		uint16_t type = v8_type(v, data);
		uint32_t off = v->layout.code_data;

		if (type == v->layout.type_bytecode)
			return data;
		if (type == v->layout.type_interpreted)
			off = INTERPRETED_BYTECODE;
		else if (type != v->layout.type_code)
			return 0;
		if (!v8_field(v, data, off, &data))
			return 0;
	}
	return 0;
}

#define FUNCTIONS_MAX 1024 /* of a script that are looked at */

/* Whether a function has that bytecode, without a look at the types on the way. */
static bool has_bytecode(const struct v8 *v, uint64_t shared, uint64_t bytecode)
{
	uint64_t data, in_code, in_copy;

	if (!v8_field(v, shared, v->layout.shared_data, &data) || !v8_is_pointer(data))
		return false;
	return data == bytecode ||
	       (v8_field(v, data, v->layout.code_data, &in_code) && in_code == bytecode) ||
	       (v8_field(v, data, INTERPRETED_BYTECODE, &in_copy) && in_copy == bytecode);
}

uint64_t v8_function_in_script(const struct v8 *v, uint64_t script, uint64_t bytecode)
{
	uint64_t list, n, list_of[64];

	if (!v8_field(v, script, v->layout.script_functions, &list) ||
	    !v8_field(v, list, V8_ARRAY_COUNT, &n))
		return 0;
	n = MIN(n >> V8_SMI_SHIFT, (uint64_t)FUNCTIONS_MAX);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at = i % ARRAY_SIZE(list_of), shared;
		size_t left = MIN(n - i, ARRAY_SIZE(list_of));

		if (!at && !lang_read(&v->memory, list - 1 + V8_ARRAY_DATA + i * 8, list_of,
				      left * sizeof(*list_of)))
			return 0;
		if ((list_of[at] & 3) != WEAK_TAG)
			continue;
		shared = list_of[at] - WEAK_TAG + 1;
		if (has_bytecode(v, shared, bytecode) &&
		    v8_type(v, shared) == v->layout.type_shared)
			return shared;
	}
	return 0;
}

#define CONSTANTS_MAX 64 /* of bytecode that are looked at */

uint64_t v8_script_of(const struct v8 *v, uint64_t bytecode)
{
	uint64_t list, n, constants[CONSTANTS_MAX], script;

	if (!v8_field(v, bytecode, v->forms->bytecode_constants, &list) ||
	    !v8_field(v, list, V8_ARRAY_COUNT, &n))
		return 0;
	n = MIN(n >> V8_SMI_SHIFT, (uint64_t)CONSTANTS_MAX);
	if (!n ||
	    !lang_read(&v->memory, list - 1 + V8_ARRAY_DATA, constants, n * sizeof(*constants)))
		return 0;
	for (uint64_t i = 0; i < n; i++)
		if (v8_is_pointer(constants[i]) &&
		    v8_type(v, constants[i]) == v->layout.type_shared &&
		    v8_field(v, constants[i], v->layout.shared_script, &script) &&
		    v8_type(v, script) == v->layout.type_script)
			return script;
	return 0;
}

bool v8_is_builtin(const struct v8 *v, uint64_t shared)
{
	uint64_t number;

	return v8_field(v, shared, v->forms->shared_builtin, &number) && !(uint32_t)number &&
	       (int64_t)number >= 0;
}

uint32_t v8_position(const struct v8 *v, uint64_t bytecode, uint64_t word)
{
	uint64_t at = (word >> V8_SMI_SHIFT) - (v->layout.bytecode_header - 1), size;

	if ((uint32_t)word || !v8_field(v, bytecode, V8_ARRAY_COUNT, &size) ||
	    at >= size >> V8_SMI_SHIFT)
		return UINT32_MAX;
	return (uint32_t)at;
}

/* ---- code ---- */

#define CODE_BYTES_MAX (16u << 20)

/* Of optimised code: the function, by its deoptimisation data. */
static uint64_t function_in(const struct v8 *v, uint64_t data)
{
	uint64_t shared;

	if (v8_type(v, data) != v->layout.type_array ||
	    !v8_field(v, data, V8_ARRAY_DATA + 8 * (uint32_t)v->layout.deopt_shared, &shared) ||
	    (v->forms->deopt_wrapped && !v8_field(v, shared, v->forms->deopt_wrapped, &shared)) ||
	    v8_type(v, shared) != v->layout.type_shared)
		return 0;
	return shared;
}

static bool read_span(const struct v8 *v, uint64_t code, struct v8_code *out)
{
	const struct v8_layout *l = &v->layout;
	uint32_t size;

	if (!lang_read(&v->memory, code - 1 + l->code_size, &size, sizeof(size)) ||
	    size > CODE_BYTES_MAX)
		return false;
	if (!l->stream_code)
		out->start = code - 1 + l->stream_header;
	else if (!v8_field(v, code, l->code_start, &out->start))
		return false;
	out->end = out->start + size;
	return out->end > out->start;
}

bool v8_read_code(const struct v8 *v, uint64_t code, struct v8_code *out)
{
	const struct v8_layout *l = &v->layout;
	uint32_t flags;

	*out = (struct v8_code){ .code = code };
	if (v8_type(v, code) != l->type_code || !read_span(v, code, out) ||
	    !lang_read(&v->memory, code - 1 + l->code_flags, &flags, sizeof(flags)) ||
	    !v8_field(v, code, l->code_data, &out->data))
		return false;
	if (l->code_positions && !v8_field(v, code, l->code_positions, &out->positions))
		return false;
	if ((flags & l->kind_mask) == l->kind_baseline)
		out->bytecode = v8_is_bytecode(v, out->data) ? out->data : 0;
	else
		out->shared = function_in(v, out->data);
	return true;
}

#define CODE_ALIGN  32
#define SEARCH_STEP 4096
#define SEARCH_MAX  (256u << 10) /* pages of code have this size; larger pieces are rare */
#define TRIES_MAX   64           /* words that look like a map, and are none yet */

/* Whether a word is the map of pieces of code. */
static bool is_stream_map(struct v8 *v, uint64_t map, uint32_t *n_tries)
{
	uint16_t type;

	for (uint32_t i = 0; i < v->n_stream_maps; i++)
		if (v->stream_maps[i] == map)
			return true;
	if (!v8_is_pointer(map) || v->n_stream_maps == V8_STREAM_MAPS || ++*n_tries > TRIES_MAX ||
	    !lang_read(&v->memory, map - 1 + V8_MAP_TYPE, &type, sizeof(type)) ||
	    type != v->layout.type_stream)
		return false;
	v->stream_maps[v->n_stream_maps++] = map;
	return true;
}

/* The code of the instructions that a piece of code in memory has; false: it has others. */
static bool is_code_at(const struct v8 *v, uint64_t object, uint64_t pc, struct v8_code *out)
{
	uint64_t code = object + 1;

	if (v->layout.stream_code && !v8_field(v, object + 1, v->layout.stream_code, &code))
		return false;
	return v8_read_code(v, code, out) && pc >= out->start && pc <= out->end &&
	       out->start == object + v->layout.stream_header;
}

/* Objects of code lie one behind the other. The one before the address is the one that has it. */
bool v8_find_code(struct v8 *v, uint64_t pc, uint64_t start, struct v8_code *out)
{
	uint64_t words[SEARCH_STEP / 8];
	uint32_t n_tries = 0;

	for (uint64_t end = (pc & ~(uint64_t)(CODE_ALIGN - 1)) + CODE_ALIGN, first;
	     end > start && pc + CODE_ALIGN - end < SEARCH_MAX; end = first) {
		first = MAX(start, (end - 1) & ~(uint64_t)(SEARCH_STEP - 1));
		if (!lang_read(&v->memory, first, words, end - first))
			return false;
		for (uint64_t at = end; at > first; at -= 8) {
			uint64_t object = at - 8, map = words[(object - first) / 8];

			if ((object + v->layout.stream_header) % CODE_ALIGN ||
			    !is_stream_map(v, map, &n_tries))
				continue;
			return is_code_at(v, object, pc, out);
		}
	}
	return false;
}
