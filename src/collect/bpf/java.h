/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames of Java that the reader knows (shared.h). A stack with another one is copied for the
 * reader. So in doubt, the reader decides: this file takes only frames that follow each other as
 * the reader's own walk (pipeline/java_stacks.c) takes them at once.
 *
 * Code in memory may be replaced. So each frame has words of memory that are others then. Compiled
 * code has the number of its compilation. An interpreted method has the pointers that lead to its
 * names, and the random numbers that the virtual machine gives to each name.
 */
#pragma once

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set before loading */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct java_key);
	__type(value, struct java_frame);
} java_frames SEC(".maps");

/* A process by its life, and by the program that it executes. */
static __always_inline __u64 java_process_key(const struct work *w)
{
	struct task_struct *leader = BPF_CORE_READ(bpf_get_current_task_btf(), group_leader);
	__u64 key = mix(w->s.pid, BPF_CORE_READ(leader, start_time));

	return mix(key, (__u32)BPF_CORE_READ(leader, self_exec_id)) | 1;
}

static __always_inline bool java_is_same(const struct java_frame *f)
{
	for (__u32 i = 0; i < JAVA_PROOF_MAX && i < f->n_proof; i++) {
		const struct known_word *known = &f->proof[i];
		__u64 word;

		if (bpf_probe_read_user(&word, sizeof(word), (const void *)(__u64)known->at) ||
		    (word & known_word_mask(known->bytes)) != known->value)
			return false;
	}
	return true;
}

/* More methods take too much time in an interrupt: the stack is copied. */
#define JAVA_METHODS_MAX 128

static __always_inline __u64 java_proof(const struct java_frame *f)
{
	__u64 all = f->n_proof;

	for (__u32 i = 0; i < JAVA_PROOF_MAX && i < f->n_proof; i++)
		all = mix(mix(mix(all, f->proof[i].at), f->proof[i].bytes), f->proof[i].value);
	return all;
}

/*
 * The proof of a method is compared once for the frames of a recursion. Each of its places in the
 * bytecode has an entry of its own, and one of them may be of a former method at the address. So
 * an entry with another proof is compared, too.
 */
static __always_inline bool java_is_same_method(struct work *w, const struct java_frame *f,
						__u64 method)
{
	__u64 proof = java_proof(f);

	if (method == w->java.method && proof == w->java.proof)
		return true;
	if (w->java.n_methods++ >= JAVA_METHODS_MAX || !java_is_same(f))
		return false;
	w->java.method = method;
	w->java.proof = proof;
	return true;
}

/* Whether a frame may be the caller of the last one. */
static __always_inline bool java_takes(const struct java_frame *f, __u32 callee)
{
	if (callee & JAVA_IS_STUB && f->flags & JAVA_CALLS_METHOD)
		return false;
	return !callee || f->flags & (callee & JAVA_IS_CALLED ? JAVA_TAKES_JAVA : JAVA_TAKES_OTHER);
}

/* Whether code of a file may be the caller of the last frame. */
static __always_inline bool java_is_entered_from(const struct work *w, const struct mapping *m)
{
	return !w->java.callee || (w->java.callee & JAVA_IS_ENTERED && m->file != FILE_NONE);
}

/* No frame of Java is the outermost one: without a caller, its rule was wrong. */
static __always_inline void java_end_walk(struct work *w)
{
	if (w->stop == UNWIND_END && w->java.callee)
		w->stop = UNWIND_NO_RULE;
	w->wants_copy = w->java.is_met && w->stop != UNWIND_END;
}

/* The word of the frame at the frame pointer, as java_read_by_fp() of the reader. */
static __always_inline bool java_word(const struct work *w, int words, __u64 *value)
{
	const struct unwind_regs *r = &w->regs;

	return r->flags & UNWIND_KNOWS_FP && r->fp >= r->sp && !(r->fp & 7) &&
	       !bpf_probe_read_user(value, sizeof(*value),
				    (const void *)(r->fp + (__s64)words * 8));
}

/*
 * The reader may change the map at any time. Then the memory of an entry can belong to another key.
 * So a frame counts only if its key still has its number when all else of it was read. A number is
 * never given twice, and it is the first word of an entry that is written.
 */
static __always_inline bool java_is_entry(const struct java_key *key, __u64 number)
{
	const struct java_frame *f;

	barrier();
	f = bpf_map_lookup_elem(&java_frames, key);
	return f && f->number == number;
}

/* Keeps the frame at hand, and sets its rule. 0: it is not known. */
__attribute__((noinline)) int java_frame(__u32 slot)
{
	struct work *w = own_work(slot);
	const struct java_frame *f;
	struct java_key key = {};
	__u64 number;
	int bcp_at;

	if (!w)
		return 0;
	if (!w->java.process)
		w->java.process = java_process_key(w);
	key.process = w->java.process;
	key.pc = w->regs.pc;
	key.place = w->regs.flags & UNWIND_IS_EXACT ? JAVA_AT_PC : JAVA_BEHIND_CALL;
	f = bpf_map_lookup_elem(&java_frames, &key);
	if (!f || !java_takes(f, w->java.callee) || !java_is_same(f))
		return 0;
	w->java.rule = f->rule;
	w->java.callee = f->flags;
	bcp_at = f->bcp_at;
	barrier();
	number = f->number;
	if (!java_is_entry(&key, number))
		return 0;
	if (w->java.callee & JAVA_IS_INTERPRETED) {
		if (!java_word(w, JAVA_METHOD_AT, &key.pc) || !java_word(w, bcp_at, &key.place))
			return 0;
		f = bpf_map_lookup_elem(&java_frames, &key);
		if (!f || !java_is_same_method(w, f, key.pc))
			return 0;
		number = f->number;
		if (!java_is_entry(&key, number))
			return 0;
	}
	push_user_frame(w, (__u64)(FILE_LANGUAGE + LANGUAGE_JAVA) << FRAME_OFF_BITS |
				   (w->regs.pc & FRAME_OFF_MASK));
	push_user_frame(w, number);
	w->has_own_memory = 1;
	return 1;
}
