/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unwind/walk.h"

#include <assert.h>
#include <string.h>

#include "base/intmap.h"
#include "base/mem.h"
#include "unwind/user_ctx.h"
#include "unwind/step.h"
#include "unwind/vdso_i386.h"

const char *const unwind_stop_keys[N_UNWIND_STOPS] = {
#define X(id, key, text) key,
	UNWIND_STOPS(X)
#undef X
};

/*
 * Rules by (table, file offset): processes come and go, and run the same programs at other
 * addresses. docs/unwinding.md has the gain.
 */
#define MEMORY_BITS 14

/* Mappings around the last addresses of a space: a stack has few images. */
#define N_RANGES 4

struct remembered {
	uint64_t key; /* number of the table, file offset; 0: empty */
	struct unwind_rule rule;
};
_Static_assert(sizeof(struct remembered) == 16, "an entry is within one cache line");

#define KEY_OFF_BITS 40

/*
 * The frames of a thread's last walk: its next walk mostly has the same callers at the same places.
 * Then their rules are known before the return addresses arrive, which are only compared. So the
 * processor runs ahead and waits for all words of the stack together. Otherwise it would wait for a
 * word, then for its rule, and so on from frame to frame. docs/unwinding.md has the gain.
 */
#define WALKS_BITS      5
#define WALK_FRAMES     96
#define SAME_STACK_BITS 22 /* of two stack pointers: most threads' stacks are further apart */

struct walked_frame {
	uint64_t sp, lookup_pc;
	struct unwind_rule rule;
};

struct range {
	uint64_t start, end, file_off; /* file_off: of start */
	const struct unwind_table *table;
	uint64_t table_key; /* of the table, as in struct remembered */
};

struct last_walk {
	uint64_t space; /* 0: empty */
	uint64_t stack; /* number of the stack in its space */
	struct range ranges[N_RANGES];
	uint32_t last, next; /* the range of the last hit, and the range to replace next */
	uint32_t n;
	struct walked_frame frames[WALK_FRAMES]; /* innermost first */
};

struct unwinder {
	struct intmap tables; /* numbers of the used tables, by address, from 1 on */
	struct remembered memory[1 << MEMORY_BITS];
	struct last_walk walks[1 << WALKS_BITS];
	struct walked_frame walked[WALK_FRAMES]; /* frames of the current walk */
};

struct unwinder *unwinder_new(void)
{
	return xcalloc(1, sizeof(struct unwinder));
}

void unwinder_free(struct unwinder *u)
{
	if (u)
		intmap_fini(&u->tables);
	free(u);
}

static inline const struct range *find_range(struct last_walk *w, uint64_t pc)
{
	const struct range *r = &w->ranges[w->last];

	if (pc - r->start < r->end - r->start)
		return r;
	for (uint32_t i = 0; i < N_RANGES; i++) {
		r = &w->ranges[i];
		if (pc - r->start < r->end - r->start) {
			w->last = i;
			return r;
		}
	}
	return NULL;
}

static uint64_t key_of_table(struct unwinder *u, const struct unwind_table *table)
{
	bool is_new;
	uint32_t *number = intmap_put(&u->tables, (uint64_t)(uintptr_t)table->rows, &is_new);

	if (is_new)
		*number = u->tables.n;
	return (uint64_t)*number << KEY_OFF_BITS;
}

static const struct range *keep_range(struct unwinder *u, struct last_walk *w, uint64_t pc,
				      const struct unwind_place *place)
{
	struct range *range = &w->ranges[w->next];

	*range = (struct range){
		.start = place->start,
		.end = place->end,
		.file_off = place->file_off - (pc - place->start),
		.table = place->table,
		.table_key = key_of_table(u, place->table),
	};
	w->last = w->next;
	w->next = (w->next + 1) % N_RANGES;
	return range;
}

static inline struct unwind_rule rule_in(struct unwinder *u, const struct range *range, uint64_t pc)
{
	uint64_t file_off = pc - range->start + range->file_off, key = range->table_key | file_off;
	struct remembered *m = &u->memory[(key * 0x9e3779b97f4a7c15ull) >> (64 - MEMORY_BITS)];

	if (file_off >> KEY_OFF_BITS)
		return unwind_table_find(range->table, file_off);
	if (m->key == key)
		return m->rule;
	*m = (struct remembered){ key, unwind_table_find(range->table, file_off) };
	return m->rule;
}

/* *is_lasting: the answer stays the same while the space does. The caller finds a runtime's rule.
 */
static inline enum unwind_where find_rule(struct unwinder *u, struct last_walk *w,
					  const struct unwind_input *in, uint64_t pc, bool is_exact,
					  struct unwind_rule *rule, bool *is_lasting)
{
	const struct range *range = find_range(w, pc);
	struct unwind_place place = { 0 };
	enum unwind_where where = UNWIND_AT_TABLE;

	if (!range) {
		where = in->find(in->ctx, pc, &place);
		if (where == UNWIND_AT_TABLE && pc >= place.start && pc < place.end)
			range = keep_range(u, w, pc, &place);
	}
	*is_lasting = where == UNWIND_AT_TABLE;
	*rule = (struct unwind_rule){ 0 };
	/* hardly sampled again: remembering would cost as much as finding it */
	if (range && is_exact)
		*rule = unwind_table_find(range->table, pc - range->start + range->file_off);
	else if (range)
		*rule = rule_in(u, range, pc);
	else if (where == UNWIND_AT_TABLE)
		*rule = unwind_table_find(place.table, place.file_off);
	return where;
}

/* ---- the last walk of the thread ---- */

static struct last_walk *walk_slot(struct unwinder *u, uint64_t space, uint64_t stack)
{
	uint64_t hash = (space ^ stack << 32) * 0x9e3779b97f4a7c15ull;

	return &u->walks[hash >> (64 - WALKS_BITS)];
}

static struct last_walk *last_walk_of(struct unwinder *u, const struct unwind_input *in)
{
	uint64_t stack = in->regs.sp >> SAME_STACK_BITS;
	struct last_walk *w = walk_slot(u, in->space, stack);

	if (!in->space || w->space != in->space) {
		memset(w->ranges, 0, sizeof(w->ranges));
		w->n = 0;
	}
	if (w->stack != stack)
		w->n = 0;
	w->space = in->space;
	w->stack = stack;
	return w;
}

/* Fetches the words that a walk will need if its frames are the same: return addresses. */
static void fetch_words(const struct last_walk *w, uint64_t sp, const uint8_t *stack, size_t size)
{
	for (uint32_t i = 0; i < w->n; i++) {
		uint64_t at = w->frames[i].sp - sizeof(uint64_t) - sp;

		if (at < size)
			__builtin_prefetch(stack + at);
	}
}

void unwinder_expect(struct unwinder *u, uint64_t space, uint64_t pc, uint64_t sp,
		     const void *stack, size_t stack_size)
{
	struct last_walk *w = walk_slot(u, space, sp >> SAME_STACK_BITS);
	const struct range *range;

	if (w->space != space || w->stack != sp >> SAME_STACK_BITS)
		return;
	fetch_words(w, sp, stack, stack_size);
	range = find_range(w, pc);
	if (range)
		unwind_table_fetch(range->table, pc - range->start + range->file_off);
}

/* The frame of the last walk with this stack pointer and address, from *at on; or NULL. */
static inline const struct walked_frame *same_frame(const struct last_walk *w, uint32_t *at,
						    uint64_t sp, uint64_t lookup_pc)
{
	const struct walked_frame *f;

	while (*at < w->n && w->frames[*at].sp < sp)
		++*at;
	f = &w->frames[*at];
	return *at < w->n && f->sp == sp && f->lookup_pc == lookup_pc ? f : NULL;
}

static void keep_walk(struct unwinder *u, struct last_walk *w, uint32_t n)
{
	memcpy(w->frames, u->walked, n * sizeof(*w->frames));
	w->n = n;
}

/*
 * Whether a handler ran on another stack than the interrupted code (sigaltstack(2)). struct
 * ucontext has the handler's stack (uapi/asm-generic/ucontext.h); it is at the stack pointer, on
 * AArch64 behind 128 bytes of siginfo. Handlers of i386 may have none.
 */
static bool leaves_stack(struct unwind_ctx *c, uint64_t handler_sp, const struct unwind_regs *to)
{
	uint64_t context = handler_sp + (to->is_aarch64 ? 128 : 0), start, size;

	return !to->is_i386 && !unwind_read_stack(c, context + 16, &start) &&
	       !unwind_read_stack(c, context + 32, &size) && handler_sp - start < size &&
	       to->sp - start >= size;
}

struct unwind_rule unwind_rule_in_vdso_i386(const struct unwind_regs *regs,
					    struct unwind_ctx *stack, bool is_in_kernel)
{
	return unwind_rule_of_vdso_i386(regs, stack, is_in_kernel);
}

void unwind_walk(struct unwinder *u, const struct unwind_input *in, struct unwind_chain *chain)
{
	struct unwind_regs regs = in->regs;
	struct unwind_ctx c = {
		.stack = in->stack,
		.start = in->regs.sp,
		.size = in->stack_size,
		.is_whole = in->is_whole,
		.other = in->other,
		.n_other = in->n_other,
	};
	enum unwind_stop stop = UNWIND_GOES_ON;
	struct last_walk *last = last_walk_of(u, in);
	uint32_t at = 0, n_walked = 0;
	size_t n = 0, n_by_fp = 0;
	bool is_on_other = false, is_by_fp = false, is_guessed = false;

	fetch_words(last, in->regs.sp, in->stack, in->stack_size);
	while (!stop) {
		uint64_t lookup_pc = unwind_lookup_pc(&regs), sp;
		const struct walked_frame *same = same_frame(last, &at, regs.sp, lookup_pc);
		enum unwind_where where = UNWIND_AT_TABLE;
		struct unwind_rule rule;
		bool is_lasting = true;

		if (n == chain->max) {
			stop = UNWIND_DEPTH;
			break;
		}
		chain->pcs[n++] = regs.pc;
		n_by_fp += is_by_fp;
		if (same)
			rule = same->rule;
		else
			where = find_rule(u, last, in, lookup_pc, regs.flags & UNWIND_IS_EXACT,
					  &rule, &is_lasting);
		if (where == UNWIND_AT_NOTHING || where == UNWIND_AT_LATE) {
			stop = where == UNWIND_AT_LATE ? UNWIND_NO_RULE : UNWIND_UNMAPPED;
			break;
		}
		if (where == UNWIND_AT_RUNTIME)
			rule = in->runtime(in->ctx, (uint32_t)n - 1, &regs, &c);
		if (is_lasting && n_walked < WALK_FRAMES)
			u->walked[n_walked++] = (struct walked_frame){ regs.sp, lookup_pc, rule };
		sp = regs.sp;
		stop = unwind_step(rule, &regs, &c);
		if (!stop && unwind_rule_cfa(rule) == UNWIND_CFA_SIGNAL)
			is_on_other = leaves_stack(&c, sp, &regs);
		is_by_fp = unwind_rule_cfa(rule) == UNWIND_CFA_NONE;
		is_guessed |= !stop && unwind_rule_is_guessed(rule);
	}
	if (in->space)
		keep_walk(u, last, n_walked);
	assert(stop != UNWIND_GOES_ON && n <= chain->max && n_by_fp < n + !n && (n || !chain->max));
	chain->n = n;
	chain->n_by_fp = n_by_fp;
	chain->is_guessed = is_guessed;
	chain->is_bare_end = stop == UNWIND_END && is_by_fp && !n_by_fp;
	chain->stop = is_on_other && (stop == UNWIND_SHORT_COPY || stop == UNWIND_UNREADABLE)
			      ? UNWIND_OTHER_STACK
			      : stop;
}
