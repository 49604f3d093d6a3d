/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the in-kernel sampler has to know of a runtime's file to find the frames of its language.
 *
 * The data belongs to the file, not to a process, so a new process needs no preparation. Places in
 * the file's memory are relative to its base: the address at which the byte 0 of the file would be,
 * if the mapping of the code went down to it. The sampler has the base from any mapping of code.
 *
 * lang/detect.h fills it; collect/bpf/python.h uses it. Freestanding.
 */
#pragma once

#include <linux/types.h>

#define RUNTIME_RANGES 4

/* Offsets in the file. */
struct runtime_range {
	__u64 start, end;
};

/*
 * Where a thread has its values of pthread keys, and its memory of each module (x86-64: the vector
 * at the thread pointer + 8). The places are in struct pthread, which begins at the thread pointer
 * on x86-64, and ends there on AArch64.
 */
enum runtime_libc {
	LIBC_GLIBC, /* keys below 32: 0x310 (AArch64: 0x110) + 16 * key + 8; modules: 16 bytes each
		     */
	LIBC_MUSL,  /* x86-64 alone; keys: the pointer at 0x80; 8 bytes each, as modules */
};

/* How a frame of CPython tells its place in the code, and whether C code entered it. */
enum python_frames {
	PYTHON_FRAMES_BYTES,  /* 3.6 to 3.9: f_lasti in bytes; each frame is entered from C */
	PYTHON_FRAMES_UNITS,  /* 3.10: f_lasti in units of 2 bytes */
	PYTHON_FRAMES_MARKED, /* 3.11: a frame entered from C has a mark */
	PYTHON_FRAMES_SHIMS,  /* 3.12 and newer: a frame of owner C precedes it in the chain */
};

/* Where the state is of the thread that holds its interpreter's lock. */
enum python_current {
	PYTHON_CURRENT_UNKNOWN,
	PYTHON_CURRENT_GLOBAL, /* up to 3.11: a pointer, relative to the base */
	PYTHON_CURRENT_THREAD, /* since 3.12: a pointer at a signed offset from the thread pointer …
				*/
	PYTHON_CURRENT_MODULE, /* … or of a library: its module and offset are in a slot (DTPMOD64)
				*/
};

/* Offsets in CPython's structures, in bytes; lang/python.c has them by version. */
struct python_layout {
	__u16 thread_frame; /* PyThreadState: the innermost frame, or the C frame that has it */
	__u16 cframe_frame; /* _PyCFrame: the innermost frame; PYTHON_NO_CFRAME: there is none */
	__u16 thread_id;    /* PyThreadState: pthread_self() of the thread */
	__u16 frame_size;   /* of a frame, as far as it is read */
	__u16 frame_back, frame_code, frame_place;
	__u16 frame_mark;      /* byte: is entered from C, or the owner */
	__u16 frames;          /* enum python_frames */
	__u16 code_size;       /* of a code object, without the bytecode */
	__u16 code_bytecode;   /* where the bytecode begins */
	__u16 code_first_line; /* co_firstlineno */
	__u16 code_file, code_name, code_lines;
	__u16 text_ascii, text_wide; /* of a str: where its characters begin */
	__u16 current;               /* enum python_current … */
	__u32 current_at;            /* … and its place */
	__u32 interpreters; /* relative to the base: pointer to the newest interpreter; 0: not known
			     */
	__u16 interpreter_next, interpreter_threads, thread_next; /* lists */
};

#define PYTHON_NO_CFRAME  0xffff
#define PYTHON_FRAME_MAX  256 /* room for frame_size, a power of two */
#define PYTHON_CODE_MAX   256 /* likewise of code_size */
#define PYTHON_OWNER_C    3   /* frame_mark since 3.12: this or more */
#define PYTHON_LINES_AT   32  /* bytes object: its length is at 16 */
#define PYTHON_STR_LENGTH 16  /* str: its length, in characters */
#define PYTHON_STR_STATE  32  /* str: bits 2-4 size of a character, bit 6: ASCII */

/* Where executor_globals are. */
enum php_globals {
	PHP_GLOBALS_FIXED,  /* state: the pointer in them to the innermost frame */
	PHP_GLOBALS_THREAD, /* with threads: the thread has memory with its globals … */
	PHP_GLOBALS_SLOT,   /* … by a thread-local pointer, of the program or of a library */
};

#define PHP_INNERMOST_FRAME 488 /* executor_globals (Zend/zend_globals.h): current_execute_data */

/* Offsets in PHP's structures, in bytes; lang/php.c has them by version. */
struct php_layout {
	__u16 function_code; /* of a user function: its opcodes, which its closures share … */
	__u16 function_file; /* … its file, and behind it its first and last line, 4 bytes each */
	__u32 dispatch; /* offset in the file: the loop jumps to an instruction; 0: not known */
	__u64 globals;  /* enum php_globals. With threads, state is the offset in that memory … */
	__u64 cache;    /* … whose pointer is here, from the thread pointer; or the word with this
			   number, relative to the base (TPOFF64) */
};

/* Where the execution context of the current thread is. */
enum ruby_context {
	RUBY_CONTEXT_GLOBAL, /* state: a pointer to that of the thread with the lock */
	RUBY_CONTEXT_TLS,    /* state: module and offset of the thread's variable (DTPMOD64), or on
				AArch64 a function and an offset (TLSDESC) */
};

/* Offsets in Ruby's structures, in bytes; lang/ruby.c has them by version. */
struct ruby_layout {
	__u64 symbols;         /* relative to the base: the array of arrays of names */
	__u16 last_operator;   /* ids above are serial numbers << 4 */
	__u16 context;         /* enum ruby_context */
	__u16 context_thread;  /* with RUBY_CONTEXT_GLOBAL: its thread … */
	__u16 thread_id;       /* … and that one's pthread_self() */
	__u16 frame_size;      /* of a control frame */
	__u16 string_embedded; /* text inside of its object; below 24, its length is in the flags */
	__u16 code_lines;      /* in an iseq's body: line table, and behind it its index */
	__u16 line_entry;      /* size of an entry of the line table */
	__u16 is_line_value;   /* the first line is a VALUE */
	__u32 dispatcher;      /* offsets in the file: the part of the loop that runs code, … */
	__u32 dispatcher_end;  /* … which the loop calls; 0: it is the loop itself */
};

/* Offsets in Perl's structures, in bytes; lang/perl.c has them by version. */
struct perl_layout {
	__u16 statement,
		stack; /* interpreter: the current COP, and the current stack of contexts */
	__u16 context_size;
	__u16 has_names_in_body; /* a package: else they are behind its entries */
	__u16 is_global; /* without threads: the interpreter is a group of variables at `state` … */
	__u16 operation; /* … and this one is the current operation */
};

/* Relative to the base, as `state` is: words with the sizes of entries of HotSpot's own tables. */
struct hotspot_layout {
	__u64 field_size, type_size;
};

/*
 * Types of V8's objects, and offsets in them, in bytes; lang/v8.c has their symbols. Offsets of
 * words; a size is 4 bytes.
 */
struct v8_layout {
	__u16 type_function, type_functions; /* of JSFunction: the first, and how many */
	__u16 type_shared, type_script, type_scope, type_bytecode, type_bytes, type_array;
	__u16 type_code, type_stream, type_interpreted;
	__u16 type_nonstring;                /* the first that is no string */
	__u8 function_shared, function_code; /* JSFunction */
	__u8 shared_data, shared_name, shared_script;
	__u8 script_source, script_name, script_functions; /* the last: an array of weak pointers */
	__u8 scope_first;  /* words of a ScopeInfo before those of its variables, from its map on */
	__u8 deopt_shared; /* index in the deoptimisation data */
	__u8 bytecode_table, bytecode_header;   /* its source positions; where its bytes begin */
	__u8 code_data;                         /* Code: deoptimisation data, or the bytecode */
	__u8 code_start, code_size, code_flags; /* Code: its address; size, flags: 4 bytes */
	__u8 stream_code;   /* instructions: their Code; 0: they are in the Code object itself */
	__u8 stream_header; /* instructions: their distance from the object */
	__u8 kind_mask, kind_baseline; /* of the flags */
	__u8 code_positions;           /* Code: source positions of optimised code; 0: not read */
	__u8 deopt_literals; /* index; the list of inlined functions is behind deopt_shared */
};

enum label_kind {
	LABELS_GO_LIST, /* since Go 1.24 */
	LABELS_GO_MAP,
	/* OpenTelemetry's thread context (lang/thread_context.h), of a program … */
	LABELS_CONTEXT,
	/* … or of a library, whose slot has the place (ELF handling for thread-local storage): */
	LABELS_CONTEXT_OFFSET,     /* TPOFF64: from the thread pointer */
	LABELS_CONTEXT_DESCRIPTOR, /* TLSDESC: a function, and its argument */
	LABELS_CONTEXT_MODULE,     /* DTPMOD64: the number of the module */
};

static inline int label_kind_is_context(__u32 kind)
{
	return kind >= LABELS_CONTEXT && kind <= LABELS_CONTEXT_MODULE;
}

/*
 * Where the labels of the running thread or goroutine are (Go: runtime/pprof.Do). Offsets in the
 * runtime's structures, in bytes; lang/go_labels.c has them by version.
 */
struct label_places {
	__s32 thread_at; /* from the thread pointer: Go's running `g`, or the context's pointer */
	__u16 g_m, m_goroutine; /* Go: of a `g`, its thread `m`; of that, the goroutine's `g` */
	__u16 g_labels;         /* of the goroutine */
	__u16 kind;             /* enum label_kind */
	__u32 in_module;        /* LABELS_CONTEXT_MODULE: the variable's place in the module */
	__u64 slot; /* of a library, relative to its base; in struct process_labels, an address */
};

/*
 * A variable that a library exports. A program that is not compiled with -fPIC can have a copy of
 * it (R_X86_64_COPY), which the library uses, too. Relative to the base.
 */
struct runtime_variable {
	__u64 slot; /* the word with the address of the one in use; 0: it is the library's own */
	__u64 own;  /* the library's own one */
};

struct lang_runtime {
	__u32 language;                              /* enum language; 0: the file is no runtime */
	__u32 version;                               /* major << 8 | minor */
	struct runtime_range ranges[RUNTIME_RANGES]; /* of the interpreter's loop; unused: 0, 0 */
	/*
	 * Relative to the base. CPython: the int with the pthread key. PHP: see enum
	 * php_globals. Ruby: see enum ruby_context. Perl: the int with the pthread key, or see
	 * perl_layout. HotSpot: the pointer to the table of fields.
	 */
	__u64 state;
	__u64 code_type; /* likewise. CPython: the type object of code objects. HotSpot: table of
			    types */
	__u32 libc;      /* enum runtime_libc; lang/libc.h finds it */
	__u32 is_aarch64;
	union {
		struct python_layout python;
		struct php_layout php;
		struct ruby_layout ruby;
		struct perl_layout perl;
		struct hotspot_layout hotspot;
		struct v8_layout v8;
		struct label_places labels; /* of language 0, with a version: labels are there */
		__u64 layout[6];
	};
	/* The variables in which `state` (with CPython's other places) and `code_type` are. */
	struct runtime_variable state_variable, type_variable;
};

/* A text as the sampler has read it, cut at LANG_TEXT_MAX. */
#define LANG_TEXT_MAX 256

/* Its state: bits of CPython's str, or this. */
#define LANG_TEXT_BYTES (1u << 31) /* bytes of UTF-8 */
#define LANG_TEXT_AWAY  (1u << 30) /* with the former: could not be read, struct lang_text_away */

struct lang_text {
	__u32 state;
	__u32 size; /* bytes that follow */
	__u8 bytes[LANG_TEXT_MAX];
};

/*
 * A text in memory that its process never touched, or that is swapped out. Its reader may get it
 * otherwise.
 */
struct lang_text_away {
	__u64 length_at, length_mask; /* the length is the 64 bits there & this */
	__u64 at;
};

/* The line table of a code object, cut at this. */
#define LANG_LINES_MAX 8192

/*
 * Ruby's lines: struct ruby_index, the index of positions (iseq.c, succ_index_table), then as many
 * entries as there was room for.
 */
struct ruby_index {
	__u32 n_positions, n_entries;
	__u32 index_size, entry_size; /* bytes */
};
#define RUBY_INDEX_FIRST  54   /* positions before the blocks … */
#define RUBY_INDEX_BLOCKS 48   /* … which begin here … */
#define RUBY_INDEX_BLOCK  80   /* … of so many bytes … */
#define RUBY_BLOCK_COVERS 512  /* … for so many positions */
#define RUBY_INDEX_MAX    2048 /* powers of two */
#define RUBY_ENTRIES_MAX  4096

/* A function, as the sampler tells of it when it first meets it. */
struct lang_code {
	__u32 language, version;
	__u64 pointer;
	__u32 check; /* another function at the same address has another one */
	__u32 first_line;
	struct lang_text name, file;
	struct lang_text scope; /* its class or package; empty: none */
	__u32 lines_size;       /* of the object's table */
	__u32 n_lines;          /* bytes of it that follow */
	__u8 lines[LANG_LINES_MAX];
};
