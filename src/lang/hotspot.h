/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HotSpot, the runtime of OpenJDK (libjvm.so), read from outside.
 *
 * Every libjvm.so exports tables of its own structures for debuggers (vmStructs): types, fields,
 * their offsets, and addresses of static fields. hotspot_open() reads the tables of a process. An
 * address then leads to its piece of code in the code cache, and from there to methods:
 *
 *	pc -> code heap -> segment map -> blob (compiled method, interpreter, stub)
 *	blob, pc -> PcDesc -> scopes (methods that were inlined there, each with a bytecode index)
 *	Method -> ConstMethod -> names, line table
 *
 * The process chose all bytes. Each walk through them is bounded, and nothing is taken for a method
 * that its own class does not list.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lang/detected.h"
#include "lang/known_word.h"
#include "lang/memory.h"
#include "lang/runtime.h"

enum lang_detected hotspot_detect(const struct elf_file *elf, struct lang_runtime *out, char *why,
				  size_t why_size);

/* Offsets and addresses that the tables of a version have. */
enum hotspot_field {
	CODE_HEAPS,       /* address of the list of heaps; in 8, of the only heap */
	VM_MAJOR,         /* address */
	CALL_STUB_RETURN, /* address */
	LIST_LENGTH,
	LIST_DATA,
	HEAP_MEMORY,
	HEAP_SEGMENTS,
	HEAP_SHIFT,
	SPACE_LOW,
	SPACE_HIGH,
	BLOCK_SIZE,
	BLOCK_LENGTH,
	BLOCK_USED,
	BLOB_NAME,
	BLOB_FRAME_SIZE,
	BLOB_COMPLETE,
	BLOB_CODE, /* 11 to 22: a pointer */
	BLOB_CODE_END,
	BLOB_CODE_OFF, /* 8, and since 25 */
	BLOB_CODE_END_OFF,
	BLOB_MUTABLE, /* since 25: a pointer to relocations and metadata, and their sizes */
	BLOB_MUTABLE_SIZE,
	BLOB_RELOCATIONS_SIZE,
	NMETHOD_METHOD,
	NMETHOD_ID,
	NMETHOD_SCOPES, /* 11 to 22: a pointer */
	NMETHOD_PCS_OFF,
	NMETHOD_PCS_END_OFF,
	NMETHOD_METADATA_OFF,
	NMETHOD_IMMUTABLE, /* since 25: a pointer to descriptors and scopes, and their size */
	NMETHOD_IMMUTABLE_SIZE,
	NMETHOD_SCOPES_OFF, /* 8, and since 25 */
	NMETHOD_DEOPT,      /* 11 to 22: pointers */
	NMETHOD_DEOPT_MH,
	NMETHOD_DEOPT_OFF, /* 8, and since 25 */
	NMETHOD_DEOPT_MH_OFF,
	NMETHOD_ORIG_PC,
	PC_SIZE,
	PC_OFFSET,
	PC_SCOPE,
	METHOD_CONST,
	CONST_SIZE,
	CONST_POOL,
	CONST_NAME,
	CONST_CODE_SIZE,
	CONST_FLAGS,
	POOL_SIZE,
	POOL_LENGTH,
	POOL_CLASS,
	POOL_FILE,
	CLASS_FILE, /* before 15: in place of POOL_FILE */
	CLASS_NAME,
	CLASS_POOL,
	CLASS_METHODS,
	ARRAY_LENGTH,
	METHODS_DATA,
	SYMBOL_LENGTH,
	SYMBOL_BODY,
	SYMBOL_COUNT, /* of its users: 2 bytes, near the random number of the symbol */
	N_HOTSPOT_FIELDS
};

#define HOTSPOT_HEAPS_MAX 8

struct hotspot_heap {
	uint64_t start, end; /* of the code; reserved, and not all of it is there */
	uint64_t segments;   /* a byte for each segment */
	uint32_t shift;      /* log2 of a segment's size */
};

struct hotspot {
	struct lang_memory memory;
	uint32_t version; /* of the JDK: major << 8 */
	bool is_aarch64;  /* else x86-64 */
	uint64_t fields[N_HOTSPOT_FIELDS];
	struct hotspot_heap heaps[HOTSPOT_HEAPS_MAX];
	uint32_t n_heaps;
	uint64_t call_stub_return;
};

enum hotspot_state {
	HOTSPOT_READY,
	HOTSPOT_NOT_YET, /* the memory can't be read, or the virtual machine is only starting */
	HOTSPOT_UNKNOWN, /* the version, or the tables, are not known to assay */
};

/* `base`: of the file in the process (lang/runtime.h). `memory` is copied. */
enum hotspot_state hotspot_open(struct hotspot *out, const struct lang_memory *memory,
				const struct lang_runtime *runtime, uint64_t base);

/* The list of heaps once more: while the virtual machine starts, some are missing. */
bool hotspot_read_heaps(struct hotspot *h);

/* The heap of an address; NULL: it is not in the code cache. Reads nothing. */
const struct hotspot_heap *hotspot_heap_of(const struct hotspot *h, uint64_t pc);

/* ---- code (hotspot_code.c) ---- */

enum hotspot_kind {
	HOTSPOT_COMPILED,    /* a method, and those that are inlined in it */
	HOTSPOT_NATIVE,      /* the way from Java to a native method */
	HOTSPOT_INTERPRETER, /* all interpreted methods */
	HOTSPOT_STUBS,       /* several pieces; some have a frame pointer, some have no frame */
	HOTSPOT_FRAMELESS,   /* adapters and tables of virtual methods: they only jump on */
	HOTSPOT_STUB,        /* a frame of a known size */
};

#define HOTSPOT_NAME_SIZE 64
#define HOTSPOT_WORDS_MAX 8

struct hotspot_blob {
	enum hotspot_kind kind;
	uint64_t start, end;     /* of all its bytes */
	uint64_t code, code_end; /* of its instructions */
	uint64_t identity;       /* of its content: another one at this place has another number */
	struct known_word words[HOTSPOT_WORDS_MAX]; /* that show that it is still the same */
	uint32_t n_words;
	uint32_t frame_size; /* words, with the return address */
	uint32_t complete;   /* instructions from here on have the frame; UINT32_MAX: none */
	uint64_t method;     /* COMPILED, NATIVE */
	uint64_t scopes, scopes_end, pcs, pcs_end, metadata, metadata_end;
	uint64_t deopt[2];   /* COMPILED: hotspot_is_deoptimised() */
	uint32_t true_pc_at; /* bytes from the frame's stack pointer */
	char name[HOTSPOT_NAME_SIZE];
};

/*
 * Whether a return address stands for another one. The virtual machine gives it to frames that must
 * not go on in compiled code, and keeps the true one in the frame, at `true_pc_at`.
 */
static inline bool hotspot_is_deoptimised(const struct hotspot_blob *blob, uint64_t pc)
{
	return blob->kind == HOTSPOT_COMPILED && (pc == blob->deopt[0] || pc == blob->deopt[1]);
}

/* False: there is none, or it can't be read. */
bool hotspot_find_blob(const struct hotspot *h, uint64_t pc, struct hotspot_blob *out);

/* Reads a blob again; *out gets another identity if it is not the same any more. */
bool hotspot_read_blob(const struct hotspot *h, uint64_t start, struct hotspot_blob *out);

#define HOTSPOT_BLOB_BYTES_MAX 1024

/*
 * The bytes that tell whether a blob is still the same, at most HOTSPOT_BLOB_BYTES_MAX; size 0: it
 * must be read again. And whether it is, by the bytes that are there now.
 */
struct lang_range hotspot_blob_range(const struct hotspot *h, const struct hotspot_blob *blob);
bool hotspot_is_blob(const struct hotspot *h, const struct hotspot_blob *blob,
		     const uint8_t *bytes);

struct hotspot_scope {
	uint64_t method;
	uint32_t bci; /* UINT32_MAX: not known */
};

#define HOTSPOT_SCOPES_MAX 64

/* How near the tables' place is whose methods hotspot_scopes() gives. */
enum hotspot_nearness {
	HOTSPOT_EXACT,   /* it is the address */
	HOTSPOT_IN_LOOP, /* it is the poll of the loop that has the address */
	HOTSPOT_BETWEEN, /* the address is between places, as they are in memory */
};

/*
 * The methods at an address of compiled code, the innermost first; 0: not known. The tables have
 * places of calls, polls and other traps alone. Between two of them, the methods are those that
 * both have in common.
 */
uint32_t hotspot_scopes(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			struct hotspot_scope out[HOTSPOT_SCOPES_MAX], enum hotspot_nearness *near);

/* ---- addresses between places (hotspot_flow.c) ---- */

struct hotspot_flow;

/*
 * All methods of compiled code, by the ways through it: more methods than hotspot_scopes() knows
 * between places, and none where two pieces of code are neighbours by chance. NULL: the code can't
 * be read, or is too large, or takes more steps than `work` has.
 *
 * The process chose the code and its data, so work is bounded: `*work` is the number of steps that
 * may still be done, of some 5 ns each. What was done is taken from it.
 */
#define HOTSPOT_FLOW_WORK (1u << 20) /* for a whole walk: a large method takes a tenth */
struct hotspot_flow *hotspot_flow_new(const struct hotspot *h, const struct hotspot_blob *blob,
				      uint32_t *work);
void hotspot_flow_free(struct hotspot_flow *f); /* NULL is fine */
size_t hotspot_flow_bytes(const struct hotspot_flow *f);

/* The methods at an offset of the code, the innermost first; 0: it is outside. */
uint32_t hotspot_flow_scopes(const struct hotspot_flow *f, uint64_t off,
			     struct hotspot_scope out[HOTSPOT_SCOPES_MAX]);

/* ---- frames (hotspot_frames.c; of AArch64: hotspot_aarch64.c) ---- */

/* How to leave a frame. */
enum hotspot_way {
	HOTSPOT_BY_SIZE,   /* the caller's stack pointer is `words` above; fp is at its word -2 */
	HOTSPOT_AT_TOP,    /* the return address is at the stack pointer, and fp the caller's */
	HOTSPOT_BEHIND_FP, /* fp is at the stack pointer, behind it the return address */
	HOTSPOT_BY_FP,     /* the same at the frame pointer */
	HOTSPOT_BY_SENDER, /* interpreted: [fp - 8] is the caller's stack pointer */
	/* On AArch64, with the return address in the link register, and fp the caller's: */
	HOTSPOT_BY_LINK,     /* the caller's stack pointer is `words` above */
	HOTSPOT_BY_REGISTER, /* register `words` (by DWARF number) has the caller's stack pointer */
	/* And by the frame pointer, if the link register leads into the same blob: */
	HOTSPOT_BY_OTHER_FP,
};

struct hotspot_leave {
	enum hotspot_way way;
	uint32_t words;
};

#define HOTSPOT_LEAVES_MAX 4

/*
 * The ways that may lead out of a frame, the likeliest first. `is_leaf`: its instruction at `pc` is
 * the next one, and the frame may be half made. Else the only way is certain.
 */
uint32_t hotspot_leaves(const struct hotspot *h, const struct hotspot_blob *blob, uint64_t pc,
			bool is_leaf, struct hotspot_leave out[HOTSPOT_LEAVES_MAX]);

/* Of an interpreted frame, in words from the frame pointer. */
#define HOTSPOT_SENDER_AT  (-1)
#define HOTSPOT_LAST_SP_AT (-2)
#define HOTSPOT_METHOD_AT  (-3)

/* On x86-64, the words of a frame are pushed one by one. This register has the method then. */
#define HOTSPOT_BEGUN_DWARF 3

/* The pointer into the bytecode. */
static inline int hotspot_bcp_at(const struct hotspot *h)
{
	if (h->is_aarch64)
		return -9;
	return h->version >= 9 << 8 ? -8 : -7;
}

/* In the innermost frame, the register that has it, by DWARF number: r13, x22. */
static inline uint32_t hotspot_bcp_register(const struct hotspot *h)
{
	return h->is_aarch64 ? 22 : 13;
}

/*
 * In the interpreter's code: whether the frame at the frame pointer is the innermost one, or the
 * caller of a method whose frame is not made yet, or left. Else compiled code may be between the
 * two. `last_sp`: the frame's word at HOTSPOT_LAST_SP_AT. `registers`: by DWARF number. `returned`:
 * whether the code at `pc` is that behind a call, if it was asked for before.
 */
enum hotspot_answer { HOTSPOT_NOT_ASKED, HOTSPOT_NO, HOTSPOT_YES };

bool hotspot_is_innermost(const struct hotspot *h, uint64_t pc, uint64_t last_sp,
			  const uint64_t *registers, enum hotspot_answer *returned);

/* The same on AArch64, for hotspot_frames.c. */
uint32_t hotspot_leaves_aarch64(const struct hotspot *h, const struct hotspot_blob *blob,
				uint64_t pc, bool is_leaf,
				struct hotspot_leave out[HOTSPOT_LEAVES_MAX]);
bool hotspot_is_innermost_aarch64(const struct hotspot *h, uint64_t pc, uint64_t last_sp,
				  const uint64_t *registers, enum hotspot_answer *returned);

/* ---- methods (hotspot_method.c) ---- */

#define HOTSPOT_PROOF_MAX       24
#define HOTSPOT_PROOF_BYTES_MAX 2048

/* Everything that a method's names were read from: as long as it stays, they are right. */
struct hotspot_proof {
	struct lang_range ranges[HOTSPOT_PROOF_MAX];
	uint32_t n, size; /* ranges, 0: there is no proof; bytes in all */
	uint64_t hash;    /* of the bytes */
};

struct hotspot_method {
	uint64_t constant, pool; /* its parts */
	uint32_t check;          /* of them and the names: another method has another one */
	uint32_t code_size;
	uint32_t version;
	uint64_t code; /* address of its bytecode */
	struct hotspot_proof proof;
};

/* False: it is no method of its class, or can't be read. `code` gets its names and lines. */
bool hotspot_read_method(const struct hotspot *h, uint64_t method, struct hotspot_method *out,
			 struct lang_code *code);

/* Whether the bytes of a proof, one range behind the other, are those that were read. */
bool hotspot_is_proof(const struct hotspot_proof *proof, const uint8_t *bytes);

/* Whether a method is still the same. */
bool hotspot_is_method(const struct hotspot *h, uint64_t method,
		       const struct hotspot_method *known);

/*
 * Words that show that a method still has its names. A symbol has a random number, so another name
 * at its address differs. False: they can't be read, or are others by now.
 */
bool hotspot_method_words(const struct hotspot *h, uint64_t method,
			  const struct hotspot_method *known,
			  struct known_word out[HOTSPOT_WORDS_MAX]);

/* The bytecode index of a pointer into a method's bytecode; UINT32_MAX: it points elsewhere. */
uint32_t hotspot_bci(const struct hotspot_method *method, uint64_t bcp);

/* The line of a bytecode index (the position in struct lang_code); 0: not known. */
uint32_t java_line(const struct lang_code *code, uint32_t bci);
