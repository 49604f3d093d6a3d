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

/* How pthread_getspecific() finds the value of a key below 32. */
enum runtime_libc {
	LIBC_GLIBC, /* at the thread pointer + 0x310 + 16 * key + 8 */
	LIBC_MUSL,  /* not supported yet */
};

/* How a frame of CPython tells its place in the code, and whether C code entered it. */
enum python_frames {
	PYTHON_FRAMES_BYTES,  /* 3.6 to 3.9: f_lasti in bytes; each frame is entered from C */
	PYTHON_FRAMES_UNITS,  /* 3.10: f_lasti in units of 2 bytes */
	PYTHON_FRAMES_MARKED, /* 3.11: a frame entered from C has a mark */
	PYTHON_FRAMES_SHIMS,  /* 3.12 and newer: a frame of owner C precedes it in the chain */
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
};

#define PYTHON_NO_CFRAME  0xffff
#define PYTHON_FRAME_MAX  256 /* room for frame_size, a power of two */
#define PYTHON_CODE_MAX   256 /* likewise of code_size */
#define PYTHON_OWNER_C    3   /* frame_mark since 3.12: this or more */
#define PYTHON_LINES_AT   32  /* bytes object: its length is at 16 */
#define PYTHON_STR_LENGTH 16  /* str: its length, in characters */
#define PYTHON_STR_STATE  32  /* str: bits 2-4 size of a character, bit 6: ASCII */

struct lang_runtime {
	__u32 language;                              /* enum language; 0: the file is no runtime */
	__u32 version;                               /* major << 8 | minor */
	struct runtime_range ranges[RUNTIME_RANGES]; /* of the interpreter's loop; unused: 0, 0 */
	__u64 thread_key; /* relative to the base: the int with the pthread key */
	__u64 code_type;  /* likewise: the type object of code objects */
	__u32 libc;       /* enum runtime_libc */
	__u32 pad;
	struct python_layout python;
	__u16 pad_end[3];
};

/* A str object as the sampler has read it, cut at LANG_TEXT_MAX. */
#define LANG_TEXT_MAX 256

struct lang_text {
	__u32 state; /* of the str */
	__u32 size;  /* bytes that follow */
	__u8 bytes[LANG_TEXT_MAX];
};

/* The line table of a code object, cut at this. */
#define LANG_LINES_MAX 8192

/* A function, as the sampler tells of it when it first meets its code object. */
struct lang_code {
	__u32 language, version;
	__u64 pointer;
	__u32 check; /* another object at the same address has another one */
	__u32 first_line;
	struct lang_text name, file;
	__u32 lines_size; /* of the object's table */
	__u32 n_lines;    /* bytes of it that follow */
	__u8 lines[LANG_LINES_MAX];
};
