/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of one walk of a stack, which stack.h and the languages share (language.h). The
 * including file has vma.h.
 */
#pragma once

#include "collect/bpf/bounded.h"
#include "collect/bpf/shared.h"
#include "collect/bpf/user_regs.h"
#include "unwind/rule.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1);
} messages SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, N_SAMPLER_COUNTERS);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline void lose(__u32 reason)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &reason);

	if (n)
		*n += 1;
}

/* The state of one sample: far more than BPF's stack of 512 bytes can hold. */

struct mapping {
	__u64 start, end, file_off;
	__u32 file;       /* as in frames */
	__u32 table;      /* its place in table_places, or NO_TABLE */
	__u32 is_runtime; /* the file is in `runtimes` */
	__u32 is_shared;  /* other processes see what is written */
};

#define NO_TABLE      UINT32_MAX
#define KEPT_MAPPINGS 8 /* a power of two; most call chains use a few */

/* Where the walk of Perl's frames is (perl.h). */
struct perl_walk {
	__u64 interpreter, statement;
	__u64 contexts, outer; /* of the stack of contexts at hand */
	__s32 index, kind;
	__u32 has_part; /* some of it is not yet the part of a loop */
	__u32 pad;
};

#define PHP_WAITING_MAX 256 /* a power of two */

#define LANGUAGE_OWNERS 512 /* a power of two above half of MAX_USER_WORDS */

/* Python's states of the running thread: one for each interpreter that it runs. */
#define PYTHON_NESTED_MAX 4

struct python_search {
	__u64 used[PYTHON_NESTED_MAX]; /* those whose frames are in the stack */
	__u64 interpreter, state;      /* the next ones of the lists */
	__u64 found;
	__u32 n_used, n_found;
	__u32 n_looked;   /* states and interpreters, of all searches of the stack */
	__u32 is_several; /* the process has several interpreters */
	__u32 is_broken;  /* not all states could be looked at */
	__u32 is_wanted;  /* the next step of the walk looks at them; … */
	__u32 is_over;    /* … it has, for the frame at hand */
};

/* Frames of a language: those of the first runtime that the stack meets. */
struct language_walk {
	struct lang_runtime runtime; /* language 0: none met yet */
	__u64 base;                  /* lang/runtime.h */
	__u64 state_base, type_base; /* the same for the runtime's state, and for its code_type */
	__u64 cursor;                /* the next frame; 0: none */
	__u64 limit;                 /* of the memory that has them (Ruby) */
	__u64 jit_place;             /* in the loop; its unwind rule is that of compiled code */
	__u64 unfilled; /* Python's loop begins: the thread's _PyCFrame; 0: it does not begin … */
	__u64 unfilled_off; /* … from the stack pointer */
	struct python_search python;
	__u32 is_emitting;     /* the next steps are frames of the language */
	__u32 has_emitted;     /* those of the native frame at hand are there */
	__u32 is_over;         /* no more of them in this stack */
	__u32 is_second;       /* sending: the second number of a frame comes */
	__u32 has_unsent_code; /* sending: there was no room for some function */
	__u32 n_to_skip;       /* the innermost runs that belong to no native frame */
	__u32 may_skip;        /* the innermost frame can be a run without a loop (begin_again()) */
	__u32 is_without_loop; /* the walk met no loop: its frames come at last */
	__u32 was_dispatcher;  /* Ruby: the callee is the part of the loop that has its frames */
	__u32 is_again;        /* the second walk, without the innermost run */
	__u32 n_owners;
	__u32 next_owner;              /* sending */
	__u64 owners[LANGUAGE_OWNERS]; /* of the frames: objects that have their names */
	struct perl_walk perl;
	__u32 n_waiting;                /* PHP: generators in `waiting` … */
	__u64 waiting[PHP_WAITING_MAX]; /* … their frames, outermost first */
	__u64 frame[PYTHON_FRAME_MAX / 8];
	__u64 code[PYTHON_CODE_MAX / 8];
};

/* Where the walk of Java's frames is (java.h). */
struct java_walk {
	__u64 process;           /* its key; 0: not asked for yet */
	__u64 same_as;           /* sending: struct raw_stack_message */
	struct unwind_rule rule; /* of the frame at hand */
	__u64 method;            /* the last interpreted one; 0: none … */
	__u64 proof;             /* … and its proof, mixed into one number */
	__u32 n_methods;         /* whose proof was compared */
	__u32 callee;            /* flags of the last frame; 0: it was none of Java */
	__u32 is_met;            /* the stack has code of Java or JavaScript */
};

struct work {
	struct stack_message s;
	__u64 registers[REGISTER_SLOTS]; /* of the user, as in bpf_user_pt_regs_t */
	__u64 by_fp[MAX_FP_FRAMES + 1];
	__u64 pivots[MAPLE_PIVOTS + 1];
	struct mapping kept[KEPT_MAPPINGS];
	struct mm_struct *mm;
	__u64 kernel_hash;               /* of the kernel's part */
	struct unwind_regs regs;         /* of the current frame */
	struct unwind_rule special_rule; /* found by the code: the vdso of i386, a trampoline */
	__u32 next_kept;
	__u32 has_own_memory; /* addresses that are valid in one process only */
	__u32 stop;           /* enum unwind_stop */
	__u32 wants_table;    /* the walk came to a file without its table yet: … */
	__u32 wanted;         /* … this one */
	__u32 wants_copy;     /* the walk came to code of Java or JavaScript */
	__u32 met_full;       /* it came through a file whose table had no room */
	__u32 is_guessed;     /* a guessed rule found some frame */
	__u32 is_user_mode;   /* user code was interrupted */
	__u32 has_entry;      /* `registers` are those at the entry into the kernel */
	struct language_walk lang;
	struct java_walk java;
	union { /* at last: what is made of the stack */
		struct wait wait;
		struct waker_message waker;
	};
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SLOTS);
	__type(key, __u32);
	__type(value, struct work);
} works SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAPTURE_SLOTS);
	__type(key, __u32);
	__type(value, struct raw_stack_message);
} raw_works SEC(".maps");

static __always_inline struct work *own_work(__u32 slot)
{
	return bpf_map_lookup_elem(&works, &slot);
}

/* Runtimes of languages, by file number (lang/runtime.h). */

#define RUNTIMES_MAX 256

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RUNTIMES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct lang_runtime);
} runtimes SEC(".maps");

/* Where a stack of the process has met the loop of an interpreter: an address in its mapping. */
struct process_runtime {
	__u64 loop;
	__u32 file, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct process_runtime);
} process_runtimes SEC(".maps");

static __always_inline __u64 offset_in(const struct mapping *m, __u64 addr)
{
	return addr - m->start + m->file_off;
}

static __always_inline __u64 mix(__u64 h, __u64 v)
{
	h ^= v;
	h *= 0xff51afd7ed558ccdULL;
	return h ^ (h >> 32);
}

static __always_inline void push_frame(struct work *w, __u32 at, __u64 frame)
{
	w->s.frames[bounded(at, FRAME_SLOTS - 1)] = frame;
	w->s.hash = mix(w->s.hash, frame);
	w->has_own_memory |= frame >> FRAME_OFF_BITS == FILE_NONE;
}

static __always_inline void push_user_frame(struct work *w, __u64 frame)
{
	push_frame(w, (__u32)w->s.n_kernel + w->s.n_user, frame);
	w->s.n_user++;
}

static __always_inline int stop_walk(struct work *w, enum unwind_stop stop)
{
	w->stop = stop;
	return 1;
}

/*
 * Adds a key to an LRU map of keys that were sent. A non-maskable interrupt, or a tracepoint of the
 * kernel's locks, may strike inside an update of this CPU, which holds the map's lock. Then the key
 * is left out, and its message is sent once more.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} key_updates SEC(".maps");

static __always_inline void remember(void *map, const void *key, const void *value)
{
	__u32 zero = 0;
	volatile __u32 *is_updating = bpf_map_lookup_elem(&key_updates, &zero);

	if (!is_updating || *is_updating)
		return;
	*is_updating = 1;
	bpf_map_update_elem(map, key, value, BPF_ANY);
	*is_updating = 0;
}

static __always_inline void remember_key(void *map, const void *key)
{
	const __u8 one = 1;

	remember(map, key, &one);
}
