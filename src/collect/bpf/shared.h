/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of the in-kernel sampler and its reader.
 *
 * The sampler runs at every overflow. It turns each frame into (file, offset) by the process's own
 * mappings, hashes the stack, and counts (stack, thread, CPU) in a map. New stacks and new files
 * are sent whole through a ring buffer. All other data are counts; with exact times, a sample is a
 * message in a ring of its own, and a count only if that is full.
 *
 * A frame is one 64-bit number:
 *
 *   1xxx…                  a kernel address, as it is
 *   0 | file:16 | off:47   file 0: no file behind it, the offset is the address;
 *                          FILE_TOO_MANY: the address, in a file without a number
 *   FRAME_CUT              behind the outermost frame: its callers are not known
 *
 * A frame of a language (lang/language.h) is two numbers. `file` of the first is FILE_LANGUAGE +
 * language, and `off` is the address of the function's code object. The second is
 *
 *   0 | position:32 | check:31
 *
 * where a function at the same address, later, has another check. A frame of Java has an address of
 * code as `off`, and the second number is that of struct java_frame.
 */
#pragma once

#include <linux/types.h>

#include "lang/known_word.h"
#include "lang/language.h"
#include "lang/runtime.h"
#include "unwind/rule.h"
#include "unwind/stop.h"

#define FRAME_OFF_BITS    47
#define FRAME_OFF_MASK    ((1ULL << FRAME_OFF_BITS) - 1)
#define FRAME_KERNEL      (1ULL << 63)
#define FILE_NONE         0
#define FILE_TOO_MANY     0xffff
#define FILE_LANGUAGE     0x8000
#define MAX_FILES         0x8000
#define FRAME_CUT         ((__u64)(FILE_TOO_MANY - 1) << FRAME_OFF_BITS)
#define MAX_KERNEL_FRAMES 128
#define MAX_USER_FRAMES   512
#define MAX_USER_WORDS    880  /* of a stack with frames of a language */
#define MAX_FP_FRAMES     127  /* as deep as bpf_get_stack() goes (perf_event_max_stack) */
#define FRAME_SLOTS       1024 /* a power of two above both, for the verifier */

#define POSITION_SHIFT   31
#define CHECK_MASK       ((1ULL << POSITION_SHIFT) - 1)
#define POSITION_UNKNOWN 0xffffffffu

/*
 * Unwind tables are in a heap of 32-bit words: an array of maps of CHUNK_WORDS each, which grows as
 * the reader adds maps. A table's parts point to each other by word numbers of the heap. The rows
 * of a page are in one chunk; other parts may cross a chunk's end.
 *
 *   table_places[file number] ─► struct heap_table ─► pages: (first row, rows) each
 *                                                └──► rules: 8 bytes each
 */
#define CHUNK_BITS  16
#define CHUNK_WORDS (1u << CHUNK_BITS)

struct chunk {
	union {
		__u32 words[CHUNK_WORDS];
		__u64 pairs[CHUNK_WORDS / 2]; /* of words, the first one low */
	};
};

/* Four words of the heap, followed by `n_pages` pairs of words. */
struct heap_table {
	__u32 first_page, n_pages;
	__u32 rules, n_rules;
};

/* Values of table_places that are no word number. */
enum table_place {
	TABLE_WANTED,  /* new: stacks are sent raw */
	TABLE_NONE,    /* there is none: walk by frame pointer */
	TABLE_NO_ROOM, /* the heap is full: walk by frame pointer, and count it */
	TABLE_FIRST = 4
};

#define TABLE_OF_VDSO 0 /* the vdso is no file: it has FILE_NONE's place */

/* A file by the kernel's numbers; the side band has its path. */
struct file_key {
	__u64 ino;
	__u32 dev;        /* major << 20 | minor */
	__u32 generation; /* of the inode: its number may be used again */
};

struct file_entry {
	__u32 number;     /* from 1 */
	__u32 is_certain; /* the place comes from the running user code */
};

/* The counters that threads can have at once: a program each (sampler.bpf.c). */
#define SAMPLER_EVENTS(X)  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define SAMPLER_EVENTS_MAX 8

/* The BPF programs that capture stacks, where one may interrupt another one (stack.h). */
enum capture_slot {
	SLOT_SAMPLE,
	SLOT_SWITCH, /* the last one whose stacks have names of Java and JavaScript */
	SLOT_WAKE,
	SLOT_LOCK,
	CAPTURE_SLOTS,
	FIRST_SLOT_FOR_LATER = SLOT_SWITCH
};

/* A function of the kernel. */
struct kernel_text {
	__u64 start, size;
};

/* Functions of an interrupt, or of the way back from one, that follow each other. */
struct kernel_mark {
	__u64 start;
	__u32 size;
	__u32 is_exit;
};

#define KERNEL_MARKS_MAX 128 /* a power of two */

#define PID_OTHER ((__u32)-2) /* PID_OTHER_NAMESPACE, as a pid and a tid */

/* The key of a count. */
struct count_key {
	__u64 stack; /* hash of its frames */
	__u32 pid, tid;
	__u32 cpu;
	__u16 app; /* file number of the process's executable */
	__u16 counter;
	__u64 cgroup; /* its number, with its domain (machine/cgroup_domain.h) */
	char comm[16];
	/*
	 * Of a wait: struct waker_message. Of a sample: struct label_message, or LABELS_UNKNOWN.
	 * 0: none, or not known.
	 */
	__u64 waker;
	__u64 detail; /* of a wait: WAIT_DETAIL() */
};

struct count_value {
	__u64 samples, period;
};

/* A sample or a wait with its own time, in place of a count. A wait ends at its time. */
struct time_message {
	struct count_key key;
	__u64 time_ns, period; /* CLOCK_MONOTONIC; the ns of a wait */
};

#define COMM_TOKENS_MAX 31

/*
 * A glob as an automaton of bits. State bit n: the first n tokens fit the text so far. A byte `b`
 * turns state s to ((s & takes[b]) << 1) | (s & stays); it begins as 1. The text fits if bit `end`
 * is set at last. A token is a character, a ? or a bracket expression.
 */
struct comm_masks {
	__u32 takes[256]; /* bit n: the byte fits token n */
	__u32 stays;      /* bit n: a star is between tokens n - 1 and n */
	__u32 end;
};

/* The reason why a thread left its CPU. X(id, name, text); the numbers are those of the events. */
#define WAIT_STATES(X)                                                             \
	X(SLEEP, "sleep", "sleeping until something comes")                        \
	X(DISK, "disk", "uninterruptible: disks, page faults, the kernel's locks") \
	X(READY, "ready", "could have gone on, but another one had the CPU")       \
	X(STOPPED, "stopped", "stopped or traced, parked, or an idle kernel thread")

enum wait_state {
#define X(id, name, text) WAIT_##id,
	WAIT_STATES(X)
#undef X
		N_WAIT_STATES,
	WAIT_KERNEL_LOCK = N_WAIT_STATES, /* no state: running code can wait, too */
	N_WAIT_EVENTS
};

/* What a wait is for, where that is known: a kind, and a number of 32 bits. */
enum wait_detail {
	DETAIL_NONE,
	DETAIL_OWNER, /* the thread that had the lock as the wait began: its id */
	DETAIL_DEVICE /* the block device of the I/O: major << 20 | minor */
};

#define WAIT_DETAIL(kind, number) ((__u64)(kind) << 32 | (__u32)(number))
/* The unit of a share of a CPU's time for captures of stacks. */
#define CAPTURE_WHOLE 1000000

#define DETAIL_KIND(detail) ((enum wait_detail)((detail) >> 32))

/*
 * A thread and its present wait. It stays while the thread lives, so that most switches change no
 * hash table.
 */
struct wait {
	__u64 stack;    /* hash of its frames; 0: not captured */
	__u64 start_ns; /* 0: it does not wait */
	__u64 cgroup;   /* 0: not known */
	__u64 waker;    /* 0: not woken yet, or not known */
	__u64 detail;   /* WAIT_DETAIL() */
	__u32 device;   /* of the last I/O that it has queued since it slept; 0: none */
	__u32 pid;
	__u16 app, state;
	__u16 was_long; /* its last wait was long enough to count */
	__u16 is_rough; /* its stack is as /proc shows it */
	char comm[16];
};

/*
 * Frames of Java are on the native stack. The reader walks copies of stacks, and tells the sampler
 * of each frame that was certain. A stack whose frames are all known is walked in the kernel.
 */
struct java_key {
	__u64 process; /* of its life and its program: a later process has another one */
	__u64 pc;      /* of an interpreted frame: its method */
	__u64 place; /* JAVA_AT_PC, JAVA_BEHIND_CALL; interpreted: the pointer into the bytecode */
};

#define JAVA_AT_PC       0 /* the instruction at pc is the next one */
#define JAVA_BEHIND_CALL 1 /* pc is a return address */

enum java_flags {
	JAVA_IS_FRAME = 1,        /* of each */
	JAVA_IS_CALLED = 2,       /* Java code calls it, and so nothing else does */
	JAVA_IS_ENTERED = 4,      /* code of a file may call it */
	JAVA_TAKES_JAVA = 8,      /* it may be the caller of a frame that Java code calls … */
	JAVA_TAKES_OTHER = 16,    /* … and of others */
	JAVA_IS_INTERPRETED = 32, /* the key with its method has its number */
	JAVA_IS_STUB = 64,        /* no call of a method leads to it */
	JAVA_CALLS_METHOD = 128,  /* its call leads to a method: it is no caller of a stub */
};

#define JAVA_PROOF_MAX 8

/* How to leave a frame, and how to see that it is still the same code. */
struct java_frame {
	__u64 number; /* the reader has its methods by this; below 2^62; first (java.h) */
	struct unwind_rule rule;
	__u16 flags;  /* enum java_flags */
	__s16 bcp_at; /* interpreted: the word with the pointer into the bytecode, from fp */
	__u32 n_proof;
	struct known_word proof[JAVA_PROOF_MAX]; /* the code is the same if all of them are */
};

#define JAVA_METHOD_AT  (-3) /* interpreted: the word with the method, from fp */
#define JAVA_FRAMES_MAX 65536

enum message_type {
	MESSAGE_FILE = 1,
	MESSAGE_STACK,
	MESSAGE_RAW_STACK,
	MESSAGE_CODE,
	MESSAGE_WAKER,
	MESSAGE_LABELS
};

/* Sent before the first wait with this waker. */
struct waker_message {
	__u32 type, pad;
	__u64 id;       /* of its name and its stack */
	__u64 stack;    /* hash of its frames, which were sent before */
	__u32 pid, tid; /* of one that has them */
	char comm[16];
};

#define LABELS_MAX      8
#define LABEL_VALUE_MAX 64 /* bytes; longer values are cut */
#define LABELS_UNKNOWN  2  /* the labels could not be read, or not sent; ids are odd */

struct label_value {
	__u32 size, pad; /* 0: the sample lacks this label, or its value is empty */
	__u64 bytes[LABEL_VALUE_MAX / 8];
};

/* Sent before the first sample with these labels. */
struct label_message {
	__u32 type, pad;
	__u64 id;
	struct label_value values[LABELS_MAX]; /* in the order of wanted_labels (labels.h) */
};

/*
 * Of a process whose threads publish a context of OpenTelemetry. keys: the numbers that the wanted
 * labels have in this process's contexts; LABEL_NO_KEY: none. The including file has
 * lang/runtime.h.
 */
#define LABEL_NO_KEY 0xffff

struct process_labels {
	struct label_places places;
	__u16 keys[LABELS_MAX];
};

/* The place of a file in a process's mappings. start 0: not known, as for an executable. */
struct file_place {
	__u64 start, file_off;
};

/*
 * Sent at a file's first sample, and again at the first one in user mode. At the first time, the
 * process may have been in execve(2), with other mappings than the records show.
 */
struct file_message {
	__u32 type, number;
	__u32 pid, pad;          /* of a process that has it mapped … */
	struct file_place place; /* … here … */
	__u64 time_ns;           /* … at this time of CLOCK_MONOTONIC */
	struct file_key key;
};

struct stack_message {
	__u32 type;
	__u16 n_kernel, n_user; /* kernel frames come first, each part innermost first */
	__u64 hash;
	__u32 pid;
	__u32 fit;                 /* enum language_fit */
	__u64 frames[FRAME_SLOTS]; /* n_kernel + n_user of them are sent */
};

#define USER_REGS      33 /* by DWARF number; x86-64 has 17 */
#define RAW_STACK_PAGE 4096
#define RAW_PAGES      7 /* a value of a per-CPU map has at most 32 KiB */

#define WANTS_NONE ((__u32)-1)

/* A stack for the reader to walk. Its hash is unique, so it is never sent again. */
struct raw_stack_message {
	__u32 type;
	__u16 n_kernel, n_pages;
	__u64 hash;
	__u32 pid, tid;
	__u64 time_ns;     /* CLOCK_MONOTONIC */
	__u64 process;     /* as in struct java_key; 0: the stack has no code of Java */
	__u64 same_as;     /* hash of the same stack as the sampler walked it; 0: it did not */
	__u32 wants;       /* the file without a table: its place in table_places; WANTS_NONE */
	__u8 is_copy;      /* the stack has code of Java or JavaScript */
	__u8 is_for_later; /* counted later, at any time */
	__u8 is_wait;      /* of a thread that has waited */
	__u8 is_i386;      /* `regs` have the numbers of x86-64 all the same */
	__u64 regs[USER_REGS];
	__u64 kernel[MAX_KERNEL_FRAMES];
	/* From the start of the stack pointer's page on; n_pages are sent. */
	__u8 stack[RAW_PAGES][RAW_STACK_PAGE];
};

/* The stack of a thread that does not run; its user part is for the reader to walk. */
struct blocked_stack {
	__u32 tid;
	__u16 n_kernel, is_i386;
	__u64 regs[USER_REGS];
	__u64 kernel[MAX_KERNEL_FRAMES];
};

/*
 * Whether each of the interpreter's native frames has a run of the language's frames. In the first
 * and last instructions of the interpreter's loop, its run is not in the chain. Then each native
 * frame has the run of its caller, and the outermost one has none.
 */
enum language_fit { LANGUAGE_FITS, LANGUAGE_LACKS_RUN, LANGUAGE_RUNS_LEFT };

/* Sent before the first stack with a frame of this function. */
struct code_message {
	__u32 type, pid;
	struct lang_code code; /* n_lines bytes of its line table are sent */
};

/* Losses of a language's frames in the kernel; event/loss.h has the texts, in this order. */
enum language_loss {
	LANGUAGE_NO_STATE,  /* stacks: the state of the thread was not found */
	LANGUAGE_NO_MEMORY, /* stacks: a frame could not be read */
	LANGUAGE_NO_CODE,   /* frames that were not whole */
	N_LANGUAGE_LOSSES
};

/* Losses, a per-CPU counter each; then reasons of ended walks; then losses of languages. */
enum sampler_loss {
	SAMPLER_COUNTS_FULL,   /* samples without room in the map of counts */
	SAMPLER_STACK_DROPPED, /* stacks without room in the ring: their samples are not counted */
	SAMPLER_FILES_FULL,    /* frames in a file without a number */
	SAMPLER_RAW_DROPPED,   /* stacks cut in a file without a table yet, because the ring had no
				  room for the raw stack */
	SAMPLER_TABLES_FULL,   /* stacks through a file whose table had no room */
	SAMPLER_WAITS_FULL,    /* waits without room in the map */
	SAMPLER_TIMES_FULL,    /* samples without room for their times: they are counted */
	SAMPLER_WAKERS_LOST,   /* waits without their waker, because its stack found no room */
	SAMPLER_LOCKS_FULL,    /* waits for the kernel's locks without room in the map */
	SAMPLER_GUESSED,       /* stacks with callers that a guessed rule found */
	SAMPLER_OTHERS,        /* no loss: samples of processes that are not wanted */
	N_SAMPLER_LOSSES,
	N_STOP_COUNTERS = N_SAMPLER_LOSSES + N_UNWIND_STOPS,
	N_SAMPLER_COUNTERS = N_STOP_COUNTERS + N_LANGUAGES * N_LANGUAGE_LOSSES
};
