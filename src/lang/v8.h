/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * V8, the runtime of JavaScript in Node.js, read from outside.
 *
 * The file has its version, and for debuggers the numbers of its types and some of its offsets
 * (symbols v8dbg_*). So nothing has to be read in a process before its first stack. V8's code keeps
 * a frame pointer. At it, a frame has its function, and an interpreted one its bytecode:
 *
 *	fp  -8   a marker (low bit 0: a stub, no function), or the context
 *	   -16   JSFunction -> SharedFunctionInfo -> names, script, bytecode
 *	   -32   BytecodeArray, in interpreted and baseline code (-24 in Node 12)
 *	   -40   position in it, in interpreted code (-32 in Node 12)
 *
 * Closures are young objects, which the collector moves; the others move seldom. A stack is read a
 * moment after its sample. So a JSFunction counts only if its parts fit to the frame: its bytecode
 * is the frame's, or its code has the frame's address. Code that V8 compiled leads to its function
 * without a JSFunction.
 *
 * Pointers are tagged: their low bits are 01. Small integers are in the upper half of a word.
 *
 * The process chose all bytes. Each walk through them is bounded.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/detected.h"
#include "lang/memory.h"
#include "lang/runtime.h"

enum lang_detected v8_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
			     size_t why_size);

#define V8_MARKER_AT   (-1) /* in words from the frame pointer */
#define V8_FUNCTION_AT (-2)

/* The lines of a script, as its functions need them. */
struct v8_lines {
	uint64_t script, source;
	uint32_t n;
	uint32_t *ends; /* positions of the newlines */
};

/* In all versions. */
#define V8_MAP_TYPE    12 /* 2 bytes */
#define V8_ARRAY_COUNT 8  /* of arrays, also of bytes: a small integer */
#define V8_ARRAY_DATA  16
#define V8_SMI_SHIFT   32

/*
 * What versions do in different ways, beside the offsets of struct v8_layout. Offsets are in bytes
 * of an object.
 */
struct v8_forms {
	int8_t bytecode_at;         /* in words from the frame pointer; behind it is the position */
	uint8_t bytecode_constants; /* BytecodeArray: the objects that it uses */
	uint8_t shared_builtin;  /* SharedFunctionInfo: the number of a builtin, a small integer */
	uint8_t deopt_wrapped;   /* wrapper of a function in data of optimised code; 0: none */
	uint8_t scope_flags;     /* ScopeInfo: flags, and behind them counts of variables */
	uint8_t scope_positions; /* ScopeInfo: where the function is; 0: behind its names */
	uint8_t scope_names;     /* of the flags: the first of three bits that tell of names */
	bool are_flags_small;    /* the flags are a small integer, and not 4 bytes */
	bool has_receiver;       /* a scope has a word for a receiver that its flags tell of */
	bool has_class;          /* likewise for a variable of its class */
	bool has_table;          /* scopes with many variables have a table of their names */
	bool has_entry;          /* tables of positions begin before the code, at its entry */
	bool has_entry_record;   /* AArch64: an entry from native code has a frame record */
};

#define V8_SCRIPTS     16
#define V8_STREAM_MAPS 4

struct v8 {
	struct lang_memory memory;
	struct v8_layout layout;
	const struct v8_forms *forms;
	uint32_t version; /* major << 8 | minor */
	bool is_aarch64;  /* else x86-64 */
	struct v8_lines scripts[V8_SCRIPTS];
	uint32_t next_script;
	uint64_t stream_maps[V8_STREAM_MAPS]; /* maps of pieces of code */
	uint32_t n_stream_maps;
};

/* `memory` is copied. False: the version is not known; nothing can be read then. */
bool v8_init(struct v8 *v, const struct lang_memory *memory, const struct lang_runtime *runtime);
void v8_fini(struct v8 *v);

static inline bool v8_is_pointer(uint64_t word)
{
	return (word & 3) == 1 && word < (uint64_t)1 << 48;
}

/* Registers of a handler of a bytecode, by DWARF number: r12 and r9, x20 and x19. */
static inline uint32_t v8_bytecode_register(const struct v8 *v)
{
	return v->is_aarch64 ? 20 : 12;
}

static inline uint32_t v8_position_register(const struct v8 *v)
{
	return v->is_aarch64 ? 19 : 9;
}

/* ---- code (v8_code.c) ---- */

/* Code that V8 compiled for a function. */
struct v8_code {
	uint64_t code;       /* tagged: the Code */
	uint64_t start, end; /* of its instructions */
	uint64_t shared;     /* tagged; 0: not known (baseline code) */
	uint64_t bytecode;   /* tagged, of baseline code; else 0 */
	uint64_t data;       /* another piece of code at this address has others */
	uint64_t positions;  /* tagged: a table of places in the source */
};

/* False: it is none, or can't be read. */
bool v8_read_code(const struct v8 *v, uint64_t code, struct v8_code *out);

/* The new place of an object that the collector has moved; itself, if it was not. */
uint64_t v8_moved(const struct v8 *v, uint64_t object);

/* The code that an address is in. `start`: of the mapping. */
bool v8_find_code(struct v8 *v, uint64_t pc, uint64_t start, struct v8_code *out);

/* The parts of a JSFunction; false: it is none (any more). */
struct v8_closure {
	uint64_t shared, code;
};
bool v8_read_closure(const struct v8 *v, uint64_t function, struct v8_closure *out);

bool v8_is_bytecode(const struct v8 *v, uint64_t object);

/* The bytecode of a SharedFunctionInfo; 0: it has none. */
uint64_t v8_bytecode_of(const struct v8 *v, uint64_t shared);

/* Whether a SharedFunctionInfo is one of V8's own functions. */
bool v8_is_builtin(const struct v8 *v, uint64_t shared);

/*
 * The SharedFunctionInfo of a script that has the bytecode; 0: none has. A script lists its
 * functions.
 */
uint64_t v8_function_in_script(const struct v8 *v, uint64_t script, uint64_t bytecode);

/* The script of bytecode, by the functions that it makes; 0: it makes none. */
uint64_t v8_script_of(const struct v8 *v, uint64_t bytecode);

/* The position of a word as interpreted frames have it; UINT32_MAX: it is none. */
uint32_t v8_position(const struct v8 *v, uint64_t bytecode, uint64_t word);

/* ---- inlined functions (v8_inline.c) ---- */

struct v8_site {
	uint64_t shared; /* tagged */
	uint32_t offset; /* in the source of its script; UINT32_MAX: not known */
};

#define V8_INLINED_MAX 128

/*
 * The functions at an address of optimised code, the innermost first; 0: not known. `is_call`: the
 * address is in a call; else they are those that the calls before and behind it have in common.
 */
uint32_t v8_sites(const struct v8 *v, const struct v8_code *code, uint64_t pc, bool is_call,
		  struct v8_site out[V8_INLINED_MAX]);

/* ---- functions (v8_function.c) ---- */

/* The parts of a SharedFunctionInfo; another one at the same address has others. */
struct v8_function {
	uint64_t name, script;
};

/* False: it is none, or can't be read. `code` gets its names and lines. */
bool v8_read_function(struct v8 *v, uint64_t shared, struct v8_function *out,
		      struct lang_code *code);

/* Whether it is still the same. */
bool v8_is_function(const struct v8 *v, uint64_t shared, const struct v8_function *known);

/* The type of an object; UINT16_MAX: it can't be read. */
uint16_t v8_type(const struct v8 *v, uint64_t object);

/* A field of an object. False: it can't be read. */
static inline bool v8_field(const struct v8 *v, uint64_t object, uint32_t off, uint64_t *out)
{
	return v8_is_pointer(object) && lang_read_word(&v->memory, object - 1 + off, out);
}

/* ---- lines (v8_lines.c) ---- */

/* The line of a position in a script's source, from 1; 0: not known. */
uint32_t v8_line_in(struct v8 *v, uint64_t script, uint32_t position);

/* Fills `code` with the table of a BytecodeArray, if it has one. */
void v8_read_table(struct v8 *v, uint64_t bytecode, uint64_t script, struct lang_code *code);

/* A position that is a line. */
#define V8_IS_LINE (1u << 31)

/* The line of a position (struct lang_code); 0: not known. */
uint32_t v8_line(const struct lang_code *code, uint32_t position);

/* Bytes of a string, as it lies in memory. */
struct v8_string {
	uint64_t at;
	uint32_t n; /* characters */
	bool is_wide;
};
bool v8_flat_string(const struct v8 *v, uint64_t string, struct v8_string *out);
