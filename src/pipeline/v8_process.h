/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process with V8 (Node.js): its memory, and its functions that are known. For v8_stacks.c.
 *
 * What was read is looked at again once for all samples up to that moment. An answer for a sample
 * is one that was right at its time, as far as that can be known.
 */
#pragma once

#include "base/intmap.h"
#include "base/mem.h"
#include "lang/v8.h"
#include "machine/image.h"
#include "pipeline/lang_frame.h"
#include "pipeline/read_pause.h"

/* Code of V8's compilers. It was the same from `from_ns` (0: ever since) until `valid_ns`. */
struct v8_piece {
	struct v8_code code;
	uint64_t from_ns, valid_ns;
};

/* A function that some object leads to: bytecode, or the closure of a builtin. */
struct v8_link {
	uint64_t from, shared; /* 0: it was not found */
	uint64_t valid_ns;
	bool is_bytecode;
	uint32_t n_scripts; /* in which it was not found */
};

struct v8_known {
	uint64_t shared;
	struct v8_function function;
	uint32_t check;
	uint64_t valid_ns;
	bool is_good;
};

/* A function at an address of optimised code. */
struct v8_known_site {
	uint64_t shared;
	uint32_t offset;   /* in the source; UINT32_MAX: the position is final */
	uint32_t position; /* struct lang_frame */
};

/* The functions at an address of optimised code: `n` of the process's sites from `first` on. */
struct v8_inlined {
	uint64_t code, data; /* of that piece of code alone */
	uint32_t first, n;
};

/* An address in no code that is known. */
struct v8_miss {
	uint64_t pc, searched_ns;
};

#define V8_MISSES 64

enum v8_state {
	V8_NONE,   /* it has none, or one that assay can't follow */
	V8_EARLY,  /* its file is looked at */
	V8_BARRED, /* its memory can't be read, or not for a while */
	V8_READY,
};

struct v8_process {
	int32_t pid;
	int fd; /* its memory, and never that of another process; -1: none */
	enum v8_state state;
	struct read_pause pause; /* barred: none, if the memory can't be read at all */
	uint64_t space;          /* of its mappings, as they were looked at */
	uint64_t start;          /* of the mapping of the file's code */
	image_id image;
	struct runtime_range builtins; /* offsets in its file */
	uint64_t alive_at;             /* an address that it has as long as it lives */
	bool is_gone;                  /* its memory is */
	uint64_t gone_ns;
	const struct lang_memory *memory; /* for tests: in place of its own; or NULL */
	uint32_t n_reads;                 /* left in this walk; a large read counts as several */
	struct v8 v8;
	struct v8_miss misses[V8_MISSES]; /* by a hash of the address */
	VEC(struct v8_piece) pieces;      /* by their start; none overlap */
	struct intmap link_at, known_at;
	VEC(struct v8_link) links;
	VEC(struct v8_known) functions;
	VEC(uint64_t) scripts; /* of functions, each once */
	struct intmap inlined_at;
	VEC(struct v8_inlined) inlined;
	VEC(struct v8_known_site) sites;
};

struct v8_process *v8_process_new(int32_t pid, const struct lang_memory *memory);
void v8_process_free(struct v8_process *p);

/* What it takes of the limits. */
size_t v8_process_bytes(const struct v8_process *p);

/* Opens the memory: sets the state. */
void v8_process_open(struct v8_process *p, const char *proc, const struct lang_runtime *runtime);

/* The code of an address in a mapping; NULL: there is none, or it is not certain. */
const struct v8_code *v8_process_code(struct v8_process *p, uint64_t pc, uint64_t start,
				      uint64_t time_ns);

/*
 * The SharedFunctionInfo of bytecode; `closure` is the frame's JSFunction, which may have moved. 0:
 * it is not certain.
 */
uint64_t v8_process_function(struct v8_process *p, uint64_t bytecode, uint64_t closure,
			     uint64_t time_ns);

/* The same of a builtin that has a JSFunction. */
uint64_t v8_process_builtin(struct v8_process *p, uint64_t closure, uint64_t time_ns);

/* NULL: they can't be read, or the walk has no reads left. Valid until the next call. */
struct v8_inlined *v8_process_inlined(struct v8_process *p, const struct v8_code *code, uint64_t pc,
				      bool is_call);

/* The function; NULL: it is none. `learn` is called before its first use. */
typedef bool v8_learn_fn(void *context, int32_t pid, const struct lang_code *code);
const struct v8_known *v8_process_known(struct v8_process *p, uint64_t shared, uint64_t time_ns,
					v8_learn_fn *learn, void *context);
