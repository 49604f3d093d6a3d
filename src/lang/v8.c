/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detection of V8, and what its file says of its objects.
 *
 * A generator of V8's makes the symbols v8dbg_* from its source
 * (tools/gen-postmortem-metadata.py). It loses some in each version, and gives others new names. So
 * offsets that no version has changed are rows of a table here, and each version has been compared
 * with live processes.
 */
#include "lang/v8.h"

#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "elf/elf_functions.h"
#include "elf/elf_symbols.h"
#include "lang/language.h"
#include "lang/loop.h"

#define VERSION(major, minor) ((major) << 8 | (minor))

#define FORMS_SINCE_10                                                                      \
	.bytecode_at = -4, .bytecode_constants = 16, .shared_builtin = 8, .scope_flags = 8, \
	.scope_names = 12, .are_flags_small = true, .has_class = true, .has_table = true,   \
	.has_entry = true, .has_entry_record = true

static const struct version {
	uint32_t first, last;
	struct v8_layout layout; /* of it, the fields that no symbol has */
	struct v8_forms forms;
} versions[] = {
	/* Node 12 */
	{ VERSION(7, 8),
	  VERSION(7, 8),
	  { .type_functions = 1,
	    .function_shared = 24,
	    .function_code = 48,
	    .shared_data = 8,
	    .shared_name = 16,
	    .shared_script = 32,
	    .script_source = 8,
	    .script_name = 16,
	    .script_functions = 88,
	    .scope_first = 5,
	    .deopt_shared = 6,
	    .deopt_literals = 2,
	    .code_positions = 24,
	    .bytecode_table = 32,
	    .bytecode_header = 54,
	    .code_data = 16,
	    .code_size = 40,
	    .code_flags = 44,
	    .stream_header = 64,
	    .kind_mask = 31 << 1,
	    .kind_baseline = 1 /* no code has it */ },
	  { .bytecode_at = -3,
	    .bytecode_constants = 16,
	    .shared_builtin = 8,
	    .scope_flags = 16,
	    .scope_names = 11,
	    .are_flags_small = true,
	    .has_receiver = true } },
	/* Node 18 */
	{ VERSION(10, 2),
	  VERSION(10, 2),
	  { .type_functions = 15,
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
	    .deopt_literals = 2,
	    .code_positions = 24,
	    .bytecode_table = 32,
	    .bytecode_header = 56,
	    .code_data = 16,
	    .code_size = 40,
	    .code_flags = 48 },
	  { FORMS_SINCE_10 } },
	/* Node 20 */
	{ VERSION(11, 3),
	  VERSION(11, 3),
	  { .type_functions = 15,
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
	    .deopt_literals = 2,
	    .code_positions = 24,
	    .bytecode_table = 32,
	    .bytecode_header = 54,
	    .code_data = 16,
	    .code_start = 40,
	    .code_size = 56,
	    .code_flags = 48,
	    .stream_code = 8,
	    .stream_header = 16 },
	  { FORMS_SINCE_10 } },
	/* Node 24 */
	{ VERSION(13, 6),
	  VERSION(13, 6),
	  { .type_functions = 17,
	    .function_shared = 32,
	    .function_code = 24,
	    .shared_data = 8,
	    .shared_name = 24,
	    .shared_script = 40,
	    .script_source = 8,
	    .script_name = 16,
	    .script_functions = 88,
	    .scope_first = 6,
	    .deopt_shared = 7,
	    .deopt_literals = 3,
	    .code_positions = 16,
	    .bytecode_table = 24,
	    .bytecode_header = 64,
	    .code_data = 8,
	    .code_start = 40,
	    .code_size = 56,
	    .code_flags = 52,
	    .stream_code = 8,
	    .stream_header = 32 },
	  { .bytecode_at = -4,
	    .bytecode_constants = 40,
	    .shared_builtin = 16,
	    .deopt_wrapped = 8,
	    .scope_flags = 8,
	    .scope_positions = 32,
	    .scope_names = 12,
	    .has_class = true,
	    .has_table = true,
	    .has_entry = true,
	    .has_entry_record = true } },
};

#define NUMBER(field) offsetof(struct v8_layout, field), sizeof(((struct v8_layout *)0)->field)

/* Numbers that the file must have, if the row of its version has none. */
static const struct {
	size_t at, size;
	const char *symbol;
	const char *newer; /* in place of it in files that have this one, or NULL */
} numbers[] = {
	{ NUMBER(type_function), "v8dbg_type_JSFunction__JS_FUNCTION_TYPE" },
	{ NUMBER(type_shared), "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" },
	{ NUMBER(type_script), "v8dbg_type_Script__SCRIPT_TYPE" },
	{ NUMBER(type_scope), "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE" },
	{ NUMBER(type_bytecode), "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE" },
	{ NUMBER(type_bytes), "v8dbg_type_ByteArray__BYTE_ARRAY_TYPE",
	  "v8dbg_type_TrustedByteArray__TRUSTED_BYTE_ARRAY_TYPE" },
	{ NUMBER(type_array), "v8dbg_type_FixedArray__FIXED_ARRAY_TYPE",
	  "v8dbg_type_ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE" },
	{ NUMBER(type_code), "v8dbg_type_Code__CODE_TYPE" },
	/* before, the instructions are a part of the Code */
	{ NUMBER(type_stream), "v8dbg_type_InstructionStream__INSTRUCTION_STREAM_TYPE" },
	{ NUMBER(stream_header), "v8dbg_class_Code__instruction_start__uintptr_t" },
	{ NUMBER(type_interpreted), "v8dbg_type_InterpreterData__INTERPRETER_DATA_TYPE" },
	{ NUMBER(type_nonstring), "v8dbg_FirstNonstringType" },
	{ NUMBER(kind_mask), "v8dbg_CodeKindFieldMask" },
	{ NUMBER(kind_baseline), "v8dbg_CodeKindBaseline" },
};

/* An int of the file; 0 if it lies in .bss. */
static bool read_number(const struct elf_file *elf, const char *name, uint32_t *out)
{
	struct elf_symbol symbol;
	struct reader r;

	if (!elf_symbol_exported(elf, name, &symbol))
		return false;
	r = elf_bytes_at(elf, symbol.link_addr);
	*out = reader_left(&r) >= sizeof(*out) ? reader_u32(&r) : 0;
	return true;
}

/* Whether a number is in the version's row already, or no file of the version needs it. */
static bool is_in_row(const struct v8_layout *layout, size_t i)
{
	uint32_t number = 0;

	memcpy(&number, (const uint8_t *)layout + numbers[i].at, numbers[i].size);
	return number ||
	       (numbers[i].at == offsetof(struct v8_layout, type_stream) && !layout->stream_code);
}

/* A symbol says what the file has; other numbers of a version are the same in all its builds. */
static bool read_layout(const struct elf_file *elf, struct v8_layout *layout)
{
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		uint32_t number;

		if (is_in_row(layout, i))
			continue;
		if (!(numbers[i].newer && read_number(elf, numbers[i].newer, &number)) &&
		    !read_number(elf, numbers[i].symbol, &number))
			return false;
		if (numbers[i].size < sizeof(number) && number >> numbers[i].size * 8)
			return false;
		memcpy((uint8_t *)layout + numbers[i].at, &number, numbers[i].size);
	}
	if (!layout->stream_code)
		layout->type_stream = layout->type_code;
	return true;
}

static const struct version *row_of(uint32_t version)
{
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++)
		if (version >= versions[i].first && version <= versions[i].last)
			return &versions[i];
	return NULL;
}

/* ---- builtins ---- */

#define BUILTINS_LEAST (256u << 10) /* bytes; no other code without unwind rules is as large */

static int compare_functions(const void *a, const void *b)
{
	const struct elf_function *x = a, *y = b;

	return (x->link_addr > y->link_addr) - (x->link_addr < y->link_addr);
}

/* The largest part of a segment between functions that no unwind rule covers, if larger. */
static void find_uncovered(const struct elf_functions *functions, const struct elf_segment *s,
			   struct runtime_range *best)
{
	uint64_t end = 0;

	vec_foreach (functions, f) {
		if (f->link_addr - s->link_addr >= s->file_size)
			continue;
		if (end && f->link_addr > end && f->link_addr - end > best->end - best->start)
			*best = (struct runtime_range){ end, f->link_addr };
		if (f->size < s->file_size && f->link_addr + f->size > end)
			end = f->link_addr + f->size;
	}
}

/* V8's own functions, made by its compiler, have no unwind rules. */
static bool find_builtins(const struct elf_file *elf, struct lang_runtime *out)
{
	struct elf_functions functions = { 0 };
	struct runtime_range best = { 0 };
	struct elf_segment s;
	uint64_t off;

	elf_functions_read(elf, &functions);
	if (functions.n)
		qsort(functions.data, functions.n, sizeof(*functions.data), compare_functions);
	for (uint32_t i = 0; elf_segment(elf, i, &s); i++)
		if (s.type == PT_LOAD && (s.flags & PF_X))
			find_uncovered(&functions, &s, &best);
	elf_functions_fini(&functions);
	if (best.end - best.start < BUILTINS_LEAST || !elf_file_off(elf, best.start, &off))
		return false;
	out->ranges[0] = (struct runtime_range){ off, off + (best.end - best.start) };
	return true;
}

/* ---- detection ---- */

/* Every Node.js exports it, also those whose V8 has no symbols. */
#define NODE_MARK "napi_module_register"

static bool read_version(const struct elf_file *elf, uint32_t *out)
{
	uint32_t major, minor;

	if (!read_number(elf, "_ZN2v88internal7Version6major_E", &major) ||
	    !read_number(elf, "_ZN2v88internal7Version6minor_E", &minor))
		return false;
	*out = VERSION(MIN(major, 255u), MIN(minor, 255u));
	return true;
}

enum lang_detected v8_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			     size_t why_size)
{
	const struct version *row;
	struct elf_symbol mark;
	uint32_t version;

	if (!read_version(elf, &version)) {
		if (!elf_symbol_exported(elf, NODE_MARK, &mark) || mark.type != STT_FUNC ||
		    !mark.size)
			return LANG_NONE;
		out->language = LANGUAGE_JAVASCRIPT;
		snprintf(why, why_size, "this Node.js hides the version and the data of its V8");
		return LANG_REFUSED;
	}
	out->language = LANGUAGE_JAVASCRIPT;
	out->version = version;
	row = row_of(version);
	out->is_aarch64 = elf->machine == EM_AARCH64;
	if (elf->machine != EM_X86_64 && !out->is_aarch64)
		return lang_refuse_for(out, "(V8) is known on x86-64 and AArch64 alone", why,
				       why_size);
	if (!row)
		return lang_refuse_for(out, "(V8) is not a version that assay knows", why,
				       why_size);
	out->v8 = row->layout;
	if (!read_layout(elf, &out->v8))
		return lang_refuse_for(out, "(V8) hides its data for debuggers", why, why_size);
	if (!find_builtins(elf, out))
		return lang_refuse_for(out, "(V8) was built in a way that assay does not know", why,
				       why_size);
	return LANG_FOUND;
}

bool v8_init(struct v8 *v, const struct lang_memory *memory, const struct lang_runtime *runtime)
{
	const struct version *row = row_of(runtime->version);

	*v = (struct v8){ .memory = *memory,
			  .layout = runtime->v8,
			  .forms = row ? &row->forms : NULL,
			  .version = runtime->version,
			  .is_aarch64 = runtime->is_aarch64 };
	return row;
}

void v8_fini(struct v8 *v)
{
	for (uint32_t i = 0; i < V8_SCRIPTS; i++)
		free(v->scripts[i].ends);
	memset(v->scripts, 0, sizeof(v->scripts));
}
