/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interpreter of a process, for stacks whose native part does not lead to its loop: through
 * code of a JIT compiler, or because they end before. The including file has language.h and
 * find_mapping().
 */
#pragma once

static __always_inline bool has_heap_frames(const struct mapping *m)
{
	const struct lang_runtime *r =
		m->is_runtime ? bpf_map_lookup_elem(&runtimes, &m->file) : NULL;

	return r && r->language && !language_is_on_stack(r->language);
}

/* The number of a kept mapping: code of the interpreter whose loop a stack has met; or -1. */
static __always_inline int find_interpreter(__u32 slot, struct work *w)
{
	const struct process_runtime *known;
	const struct mapping *m;
	__u64 pid;
	int at;

	pid = w->s.pid;
	known = bpf_map_lookup_elem(&process_runtimes, &pid);
	if (!known)
		return -1;
	at = find_mapping(slot, known->loop);
	if (at < 0)
		return -1;
	m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	return m->file == known->file && has_heap_frames(m) ? at : -1;
}

/*
 * Code of PHP's JIT compiler is in memory that processes share, and runs on the frame of the
 * interpreter's loop. So the loop's rule behind its prologue holds for it, too. Returns the number
 * of the loop's kept mapping if the process's interpreter or its executable is PHP, or -1.
 */
__attribute__((noinline)) int find_jit_loop(__u32 slot)
{
	struct work *w = own_work(slot);
	const struct lang_runtime *r;
	const struct mapping *m;
	struct mm_struct *mm;
	int at;

	if (!w)
		return -1;
	at = find_interpreter(slot, w);
	mm = w->mm;
	if (at < 0)
		at = find_mapping(slot, BPF_CORE_READ(mm, start_code));
	if (at < 0)
		return -1;
	m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	r = m->is_runtime ? bpf_map_lookup_elem(&runtimes, &m->file) : NULL;
	if (!r || r->language != LANGUAGE_PHP)
		return -1;
	if (!r->php.dispatch && !w->lang.is_over) {
		w->lang.runtime = *r;
		give_up_language(w, LANGUAGE_NO_STATE);
	}
	w->lang.jit_place = m->start - m->file_off + r->php.dispatch;
	return r->php.dispatch ? at : -1;
}

/* Whether another thread than the interpreter's could be taken for it. */
static __always_inline bool may_be_other_thread(const struct lang_runtime *r)
{
	__u64 id = bpf_get_current_pid_tgid();
	bool is_for_one = (r->language == LANGUAGE_PHP && r->php.globals == PHP_GLOBALS_FIXED) ||
			  (r->language == LANGUAGE_PERL && r->perl.is_global);

	return is_for_one && id >> 32 != (__u32)id;
}

/*
 * Before the walk met the interpreter's loop, it came to code without a rule. Such code may use the
 * frame pointer for a zero, which marks the outermost frame. PHP's code of patterns does, and a
 * fiber as it begins; PHP has no frames where no loop is.
 */
__attribute__((noinline)) int find_rest(__u32 slot)
{
	struct work *w = own_work(slot);
	const struct lang_runtime *r;
	const struct mapping *m;
	int at;

	if (!w || !has_runtimes || w->lang.runtime.language || w->wants_table || w->wants_copy ||
	    w->stop == UNWIND_GOES_ON)
		return 0;
	at = find_interpreter(slot, w);
	if (at < 0)
		return 0;
	m = &w->kept[bounded(at, KEPT_MAPPINGS - 1)];
	r = bpf_map_lookup_elem(&runtimes, &m->file);
	if (!r || may_be_other_thread(r) || (w->stop == UNWIND_END && r->language != LANGUAGE_PHP))
		return 0;
	take_runtime(w, r, m);
	w->lang.is_without_loop = find_frames(slot, w, UINT32_MAX, false);
	if (!w->lang.is_without_loop)
		w->lang.runtime.language = LANGUAGE_NONE;
	return 0;
}
