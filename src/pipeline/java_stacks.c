/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/java_stacks.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "guard/limits.h"
#include "guard/memory_reads.h"
#include "lang/language.h"
#include "machine/address_space.h"
#include "pipeline/java_known.h"
#include "pipeline/java_stacks_state.h"
#include "pipeline/java_ways.h"
#include "unwind/user_ctx.h"

#define NO_METHOD UINT32_MAX

static const uint32_t reads_of_walk =
	10000; /* a new method takes some 20, and its stack may have many */

struct java_stacks *java_stacks_new(const struct java_stacks_config *config)
{
	struct java_stacks *j = xcalloc(1, sizeof(*j));

	j->config = *config;
	if (!j->config.n_reads)
		j->config.n_reads = &reads_of_walk;
	j->proc = xstrdup(config->proc);
	return j;
}

void java_stacks_forget_all(struct java_stacks *j)
{
	vec_foreach (&j->processes, p)
		java_process_free(*p);
	j->processes.n = 0;
	intmap_fini(&j->by_pid);
}

void java_stacks_free(struct java_stacks *j)
{
	if (!j)
		return;
	java_stacks_forget_all(j);
	vec_fini(&j->processes);
	vec_fini(&j->steps);
	vec_fini(&j->frames);
	vec_fini(&j->runs);
	vec_fini(&j->noted);
	free(j->proc);
	free(j);
}

void java_stacks_forget(struct java_stacks *j, int32_t pid)
{
	uint32_t *at = intmap_find(&j->by_pid, (uint32_t)pid);
	uint32_t i;

	if (!at)
		return;
	i = *at;
	java_process_free(j->processes.data[i]);
	intmap_remove(&j->by_pid, (uint32_t)pid);
	j->processes.data[i] = j->processes.data[--j->processes.n];
	if (i < j->processes.n)
		*intmap_put(&j->by_pid, (uint32_t)j->processes.data[i]->pid, NULL) = i;
}

static void keep_limits(struct java_stacks *j)
{
	size_t bytes = 0;

	vec_foreach (&j->processes, p)
		bytes += java_process_bytes(*p);
	if (bytes > JAVA_CODE_BYTES)
		java_stacks_forget_all(j);
}

static void begin_walk(struct java_stacks *j)
{
	j->process = NULL;
	j->is_try = j->has_failed = j->has_counted = j->is_after_java = false;
	j->cut = -1;
	j->copy = JAVA_COPY_KNOWN;
	j->steps.n = j->frames.n = j->runs.n = j->noted.n = 0;
}

void java_stacks_begin(struct java_stacks *j, int32_t pid, const struct thread_view *thread,
		       uint64_t time_ns, const uint64_t *registers, bool is_noting)
{
	j->pid = pid;
	j->thread = thread;
	j->time_ns = time_ns;
	j->registers = registers;
	j->reads_nothing = false;
	j->is_noting = is_noting;
	begin_walk(j);
	java_stacks_end_pause(j);
}

void java_stacks_read_nothing(struct java_stacks *j)
{
	if (j)
		j->reads_nothing = true;
}

bool java_stacks_try(struct java_stacks *j, int32_t pid)
{
	const struct java_process *p = java_stacks_process_of(j, pid);

	j->is_try = p && p->state == JAVA_READY && (p->is_gone || j->time_ns <= p->looked_ns);
	return j->is_try;
}

bool java_stacks_end_try(struct java_stacks *j)
{
	bool is_whole = !j->has_failed && !(j->process && j->process->lacks_reads);

	if (!is_whole)
		begin_walk(j);
	return is_whole;
}

bool java_stacks_has_learnt(const struct java_stacks *j)
{
	const struct java_process *p = j->process;

	return p && (p->state == JAVA_EARLY || p->has_read || p->n_reads < j->n_reads);
}

/* Once for a stack. */
static void count(struct java_stacks *j, enum loss_reason reason)
{
	j->has_failed = true;
	if (j->is_try)
		return;
	if (!j->has_counted)
		j->config.lose(j->config.context, reason);
	j->has_counted = true;
}

void java_stacks_bar(struct java_stacks *j, int32_t pid)
{
	j->process = NULL;
	j->cut = -1;
	j->steps.n = j->frames.n = j->noted.n = 0;
	java_stacks_begin_pause(j, pid);
	count(j, LOSS_JAVA_STATE);
}

bool java_stacks_has(struct java_stacks *j, uint64_t pc)
{
	struct java_process *p = j->process;
	uint64_t now_ns;

	if (!p) {
		keep_limits(j);
		p = j->process = java_stacks_find_process(j);
		java_process_begin_walk(p, j->reads_nothing || j->is_try ? 0 : *j->config.n_reads,
					j->time_ns);
		java_process_look_at_code(p, j->time_ns);
		j->n_reads = p->n_reads;
	}
	switch (p->state) {
	case JAVA_EARLY:
		count(j, LOSS_JAVA_EARLY);
		return false;
	case JAVA_BARRED:
	case JAVA_STUCK:
		count(j, LOSS_JAVA_STATE);
		return false;
	case JAVA_READY:
		break;
	default:
		return false;
	}
	if (hotspot_heap_of(&p->vm, pc))
		return true;
	now_ns = clock_monotonic_ns();
	if (now_ns - p->tried_ns < JAVA_LOOK_EVERY_NS)
		return false;
	if (!j->is_try)
		p->tried_ns = now_ns;
	java_process_look_again(p);
	return hotspot_heap_of(&p->vm, pc);
}

/* ---- places ---- */

static bool learn(void *context, int32_t pid, const struct lang_code *code)
{
	const struct java_stacks_config *c = &((struct java_stacks *)context)->config;

	return c->learn(c->context, pid, code);
}

static const struct java_method *method_at(struct java_stacks *j, uint64_t address,
					   const struct java_blob *holder)
{
	return java_process_method(j->process, address, j->time_ns, holder, learn, j);
}

static struct lang_frame frame_of(const struct java_stacks *j, const struct java_method *m,
				  uint32_t bci)
{
	return (struct lang_frame){
		.pid = j->pid, .pointer = m->address, .check = m->method.check, .position = bci
	};
}

/* Stubs have the names that HotSpot gives them, and no file. */
static struct lang_frame frame_of_stub(struct java_stacks *j, const struct hotspot_blob *blob)
{
	static _Thread_local struct lang_code code;
	size_t n = strnlen(blob->name, sizeof(blob->name));

	code.language = LANGUAGE_JAVA;
	code.pointer = blob->start;
	code.check = (uint32_t)(blob->identity & INT32_MAX);
	code.name = (struct lang_text){ .state = LANG_TEXT_BYTES, .size = (uint32_t)n };
	memcpy(code.name.bytes, blob->name, n);
	code.scope.state = code.file.state = LANG_TEXT_BYTES;
	learn(j, j->pid, &code);
	return (struct lang_frame){
		.pid = j->pid, .pointer = code.pointer, .check = code.check, .position = UINT32_MAX
	};
}

#define IN_HEAP "(frames in the heap)"

static struct lang_frame frame_in_heap(struct java_stacks *j, struct hotspot_blob stub, uint64_t pc)
{
	stub.start = pc; /* the stub's other frames have its name */
	snprintf(stub.name, sizeof(stub.name), "%s", IN_HEAP);
	return frame_of_stub(j, &stub);
}

/* Of all inlined methods, or none: a stack without one of them would be wrong. */
static void add_methods(struct java_stacks *j, const struct hotspot_scope *scopes, uint32_t n,
			struct java_place *place)
{
	struct java_process *p = j->process;

	for (uint32_t i = 0; i < n; i++) {
		const struct java_method *m =
			method_at(j, scopes[i].method, &p->blobs.data[place->blob]);

		if (!m) {
			p->frames.n = place->first;
			place->n = 0;
			return;
		}
		vec_push(&p->frames, frame_of(j, m, scopes[i].bci));
		place->n++;
	}
}

static void fill_place(struct java_stacks *j, struct java_blob *blob, uint64_t pc,
		       struct java_place *place)
{
	struct hotspot_scope scopes[HOTSPOT_SCOPES_MAX];
	uint32_t n = 1;

	switch (blob->blob.kind) {
	case HOTSPOT_INTERPRETER:
		return;
	case HOTSPOT_COMPILED:
		n = java_process_scopes(j->process, blob, pc, scopes, &place->is_exact);
		break;
	case HOTSPOT_NATIVE:
		scopes[0] = (struct hotspot_scope){ blob->blob.method, UINT32_MAX };
		break;
	default:
		vec_push(&j->process->frames, frame_of_stub(j, &blob->blob));
		place->n = 1;
		return;
	}
	add_methods(j, scopes, n, place);
}

static bool is_settled(struct java_stacks *j, const struct java_place *place)
{
	struct java_process *p = j->process;

	return (!place->tried_ns || j->time_ns <= place->tried_ns || p->is_gone) &&
	       java_process_has_blob(p, &p->blobs.data[place->blob], j->time_ns);
}

/* NULL: it is not certain what was there. Valid until the next call. */
static const struct java_place *place_at(struct java_stacks *j, uint64_t pc)
{
	struct java_process *p = j->process;
	struct java_place place = { 0 };
	struct java_blob *blob;
	uint32_t *at = intmap_find(&p->place_at, pc);
	uint64_t now_ns;

	if (at && is_settled(j, &p->places.data[*at]))
		return &p->places.data[*at];
	blob = java_process_blob(p, pc, j->time_ns);
	if (!blob || pc < blob->blob.code || pc >= blob->blob.code_end)
		return NULL;
	place.blob = (uint32_t)(blob - p->blobs.data);
	place.first = (uint32_t)p->frames.n;
	now_ns = p->walk_ns;
	fill_place(j, blob, pc, &place);
	if (!p->n_reads) { /* some methods may be missing: the next stack reads them */
		p->lacks_reads = true;
		p->frames.n = place.first;
		return NULL;
	}
	/* Methods that are missing may be those of later samples. */
	if (!place.n && p->blobs.data[place.blob].blob.kind <= HOTSPOT_NATIVE)
		place.tried_ns = now_ns;
	if (!at) {
		at = intmap_put(&p->place_at, pc, NULL);
		*at = (uint32_t)p->places.n;
		vec_add(&p->places);
	}
	p->places.data[*at] = place;
	return &p->places.data[*at];
}

static const struct hotspot_blob *blob_of(const struct java_stacks *j,
					  const struct java_place *place)
{
	return &j->process->blobs.data[place->blob].blob;
}

/* ---- frames ---- */

static void add_step(struct java_stacks *j, uint32_t at, const struct lang_frame *frames,
		     uint32_t n)
{
	const struct java_step step = { at, (uint32_t)j->frames.n, n };

	for (uint32_t i = 0; i < n; i++)
		vec_push(&j->frames, frames[i]);
	vec_push(&j->steps, step);
}

static bool is_innermost(struct java_stacks *j, const struct unwind_regs *regs,
			 struct unwind_ctx *stack)
{
	uint64_t last_sp;

	return !(regs->flags & UNWIND_IS_SAMPLED) ||
	       (java_read_by_fp(regs, stack, HOTSPOT_LAST_SP_AT, &last_sp) &&
		java_process_is_innermost(j->process, regs->pc, last_sp, j->registers));
}

static const struct java_method *begun_method(struct java_stacks *j, const struct unwind_regs *regs,
					      struct unwind_ctx *stack, uint32_t *bci)
{
	uint64_t address = j->registers[HOTSPOT_BEGUN_DWARF];

	*bci = 0;
	if (java_words_of_frame(regs) >= (uint64_t)-HOTSPOT_METHOD_AT &&
	    !java_read_by_fp(regs, stack, HOTSPOT_METHOD_AT, &address))
		return NULL;
	return method_at(j, address, NULL);
}

/* The method of an interpreted frame; NULL: it is something else, or not certain. */
static const struct java_method *interpreted_method(struct java_stacks *j,
						    const struct unwind_regs *regs,
						    struct unwind_ctx *stack, uint32_t *bci)
{
	const struct java_method *m;
	uint64_t address, bcp;

	if (java_is_being_made(&j->process->vm, regs))
		return begun_method(j, regs, stack, bci);
	if (!java_read_by_fp(regs, stack, HOTSPOT_METHOD_AT, &address) ||
	    !java_read_by_fp(regs, stack, hotspot_bcp_at(&j->process->vm), &bcp) ||
	    !is_innermost(j, regs, stack))
		return NULL;
	m = method_at(j, address, NULL);
	if (!m)
		return NULL;
	*bci = UINT32_MAX;
	if (regs->flags & UNWIND_IS_SAMPLED)
		*bci = hotspot_bci(&m->method, j->registers[hotspot_bcp_register(&j->process->vm)]);
	if (*bci == UINT32_MAX)
		*bci = hotspot_bci(&m->method, bcp);
	return m;
}

static bool is_in_file(struct java_stacks *j, uint64_t pc)
{
	const struct mapping *m = machine_mapping(j->config.machine, j->thread, pc);

	return m && !m->is_absolute;
}

/* Whether an address can be the return address of code in `callee`. */
static bool may_return_to(struct java_stacks *j, const struct hotspot_blob *callee, uint64_t pc)
{
	const struct hotspot *vm = &j->process->vm;
	const struct java_place *place;
	bool is_by_java = java_is_called(callee);

	if (!hotspot_heap_of(vm, pc))
		return callee->kind == HOTSPOT_STUBS && is_in_file(j, pc);
	place = place_at(j, pc);
	if (!place)
		return false;
	switch (blob_of(j, place)->kind) {
	case HOTSPOT_COMPILED:
		if (java_is_called_as_stub(callee))
			return java_process_calls_method(j->process, pc, j->time_ns) == HOTSPOT_NO;
		return !is_by_java || place->is_exact ||
		       hotspot_is_deoptimised(blob_of(j, place), pc);
	case HOTSPOT_INTERPRETER:
		return true;
	case HOTSPOT_STUBS:
		return pc == vm->call_stub_return;
	case HOTSPOT_FRAMELESS:
		return false;
	default:
		return !is_by_java;
	}
}

/* Of a frame that is certain: stubs alone are called by code of files, too. */
static bool may_be_caller(struct java_stacks *j, const struct hotspot_blob *callee, uint64_t pc)
{
	return hotspot_heap_of(&j->process->vm, pc) ||
	       (!java_is_called(callee) && is_in_file(j, pc));
}

static struct unwind_rule end_walk(struct java_stacks *j, enum loss_reason reason)
{
	if (j->process->is_gone && reason != LOSS_STACK_SHORT)
		reason = LOSS_JAVA_MEMORY;
	else if (j->reads_nothing && reason != LOSS_STACK_SHORT)
		reason = LOSS_JAVA_STATE;
	j->cut = (int)reason;
	j->has_counted = j->has_failed = true;
	return (struct unwind_rule){ .cfa = UNWIND_CFA_UNSUPPORTED };
}

/* Whether a way out of a frame is one for its caller, which is at `pc`. */
static bool is_way_to(struct java_stacks *j, const struct hotspot_blob *blob,
		      const struct hotspot_leave *leave, const struct unwind_regs *regs,
		      uint64_t pc)
{
	const struct java_place *caller;

	if (!j->process->vm.is_aarch64)
		return true;
	caller = blob->kind == HOTSPOT_INTERPRETER ? place_at(j, pc) : NULL;
	return java_is_way_of_aarch64(blob, leave, regs, caller ? blob_of(j, caller) : NULL);
}

/* The way that leads to a caller; NULL: none does for certain. */
static const struct hotspot_leave *choose_way(struct java_stacks *j,
					      const struct hotspot_blob *blob,
					      const struct unwind_regs *regs,
					      struct unwind_ctx *stack,
					      struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX])
{
	bool is_leaf = regs->flags & UNWIND_IS_EXACT;
	bool is_checked = is_leaf || (blob->kind == HOTSPOT_STUBS &&
				      regs->pc != j->process->vm.call_stub_return);
	uint32_t n = java_process_leaves(j->process, blob, regs->pc, is_leaf, leaves);

	if (blob->kind == HOTSPOT_INTERPRETER && is_leaf && regs->fp == regs->sp)
		leaves[0].way = HOTSPOT_BY_FP; /* the rest is not pushed yet */
	for (uint32_t i = 0; i < n; i++) {
		uint64_t pc;

		if (leaves[i].words <= UINT16_MAX &&
		    java_return_address(&leaves[i], regs, stack, &pc) &&
		    is_way_to(j, blob, &leaves[i], regs, pc) &&
		    (is_checked ? may_return_to(j, blob, pc) : may_be_caller(j, blob, pc)))
			return &leaves[i];
	}
	return NULL;
}

/* The place of a frame; NULL: it is not certain. */
static const struct java_place *place_of_frame(struct java_stacks *j,
					       const struct unwind_regs *regs,
					       struct unwind_ctx *stack)
{
	const struct java_place *place = place_at(j, regs->pc);
	const struct hotspot_blob *blob;
	uint64_t pc;

	if (!place || regs->flags & UNWIND_IS_EXACT)
		return place;
	blob = blob_of(j, place);
	if (!hotspot_is_deoptimised(blob, regs->pc))
		return place;
	if (unwind_read_stack(stack, regs->sp + blob->true_pc_at, &pc) || pc < blob->code ||
	    pc >= blob->code_end)
		return NULL;
	return place_at(j, pc);
}

/* ---- for the in-kernel sampler ---- */

#define NOTED_BEFORE 4 /* a recursion has the same frames again: an interpreted one is two */

static bool is_noted(const struct java_stacks *j, const struct java_key *key)
{
	size_t first = j->noted.n - MIN(j->noted.n, (size_t)NOTED_BEFORE);

	for (size_t i = first; i < j->noted.n; i++) {
		const struct java_key *before = &j->noted.data[i].key;

		if (before->pc == key->pc && before->place == key->place)
			return true;
	}
	return false;
}

static void push_noted(struct java_stacks *j, const struct java_noted *noted)
{
	if (!is_noted(j, &noted->key))
		vec_push(&j->noted, *noted);
}

/*
 * Programs begin with hundreds of methods that run once. So a method is noted for the sampler in
 * its second stack: the words that prove it take more time than a stack's walk.
 */
static bool is_second_stack(struct java_method *m, uint64_t time_ns)
{
	if (!m->noted_ns)
		m->noted_ns = time_ns;
	return m->noted_ns != time_ns;
}

/* JAVA_COPY_NAMELESS: the method has no words that prove it, or they can't be read. */
static enum java_copy note_method(struct java_stacks *j, const struct unwind_regs *regs,
				  struct unwind_ctx *stack, uint32_t method)
{
	struct java_noted noted = { .step = (uint32_t)j->steps.n - 1 };
	const struct known_word *words;
	uint64_t bcp;

	if (!is_second_stack(&j->process->methods.data[method], j->time_ns))
		return JAVA_COPY_NEW;
	words = java_process_words(j->process, method);
	if (!words || !java_read_by_fp(regs, stack, hotspot_bcp_at(&j->process->vm), &bcp))
		return JAVA_COPY_NAMELESS;
	java_known_method(words, j->process->methods.data[method].address, bcp, &noted.key,
			  &noted.frame);
	push_noted(j, &noted);
	return JAVA_COPY_KNOWN;
}

/* `method`: of an interpreted frame. */
static void note_frame(struct java_stacks *j, const struct unwind_regs *regs,
		       struct unwind_ctx *stack, const struct java_left *left, uint32_t method)
{
	struct java_noted noted = { .step = (uint32_t)j->steps.n - 1 };
	enum java_copy copy = java_known_code(left, &noted.key, &noted.frame);

	if (copy != JAVA_COPY_KNOWN) {
		if (j->copy == JAVA_COPY_KNOWN)
			j->copy = copy;
		return;
	}
	push_noted(j, &noted);
	if (method != NO_METHOD)
		copy = note_method(j, regs, stack, method);
	if (j->copy == JAVA_COPY_KNOWN)
		j->copy = copy;
}

bool java_stacks_copied(const struct java_stacks *j, enum java_copy *why)
{
	if (!j || !j->is_noting || !j->process || j->process->state != JAVA_READY)
		return false;
	*why = j->copy == JAVA_COPY_KNOWN && j->has_failed ? JAVA_COPY_CUT : j->copy;
	return true;
}

/* The number of known frames, if the walk came to the end of the stack. */
static uint32_t n_known_frames(const struct java_stacks *j)
{
	return j->process && j->cut < 0 && !j->has_failed ? (uint32_t)j->noted.n : 0;
}

static struct java_known known_frame(const struct java_stacks *j, const struct java_noted *noted)
{
	struct java_known known = { .key = noted->key, .frame = noted->frame };
	const struct java_step *step;

	assert(noted->step < j->steps.n);
	step = &j->steps.data[noted->step];
	if (!(noted->frame.flags & JAVA_IS_INTERPRETED)) {
		known.methods = j->frames.data + step->first;
		known.n_methods = step->n;
	}
	return known;
}

void java_stacks_each_known(const struct java_stacks *j, void *context,
			    void (*know)(void *context, const struct java_known *known))
{
	uint32_t n = j ? n_known_frames(j) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct java_known known = known_frame(j, &j->noted.data[i]);

		know(context, &known);
	}
}

/* A frame that is not known, or has no way out that is certain. */
static struct unwind_rule end_at_frame(struct java_stacks *j, const struct unwind_ctx *stack)
{
	return end_walk(j, stack->met_end ? LOSS_STACK_SHORT : LOSS_JAVA_FRAME);
}

struct unwind_rule java_stacks_rule(struct java_stacks *j, uint32_t at,
				    const struct unwind_regs *regs, struct unwind_ctx *stack)
{
	bool is_after_java = j->is_after_java && j->last_at + 1 == at;
	struct hotspot_leave leaves[HOTSPOT_LEAVES_MAX] = { 0 };
	const struct java_place *place;
	struct java_left left = { .vm = &j->process->vm, .pc = regs->pc };
	const struct hotspot_leave *leave;
	const struct java_method *m;
	struct lang_frame frame;
	struct hotspot_blob blob;
	uint32_t bci, method = NO_METHOD;

	stack->met_end = false;
	place = place_of_frame(j, regs, stack);
	if (!place)
		return end_at_frame(j, stack);
	blob = *blob_of(j, place);
	left.is_exact = place->is_exact;
	left.has_methods = place->n > 0;
	if (is_after_java && blob.kind == HOTSPOT_COMPILED && !place->is_exact)
		return end_walk(j, LOSS_JAVA_MISMATCH);
	if (blob.kind == HOTSPOT_INTERPRETER) {
		m = interpreted_method(j, regs, stack, &bci);
		frame = m ? frame_of(j, m, bci) : frame_of_stub(j, &blob);
		add_step(j, at, &frame, 1);
		if (!m)
			return end_at_frame(j, stack);
		method = (uint32_t)(m - j->process->methods.data);
	} else if (is_after_java && java_is_at_heap(&blob)) {
		frame = frame_in_heap(j, blob, regs->pc);
		add_step(j, at, &frame, 1);
	} else if (place->n) {
		add_step(j, at, j->process->frames.data + place->first, place->n);
	} else {
		count(j, LOSS_JAVA_NAME);
	}
	j->is_after_java = java_is_called(&blob);
	j->last_at = at;
	leave = choose_way(j, &blob, regs, stack, leaves);
	if (leave && j->is_noting) {
		left.blob = &blob;
		left.is_leaf = regs->flags & UNWIND_IS_EXACT;
		left.is_first_way = leave == leaves;
		left.leave = *leave;
		left.calls_method =
			!left.is_leaf && blob.kind == HOTSPOT_COMPILED &&
			java_process_calls_method(j->process, regs->pc, j->time_ns) != HOTSPOT_NO;
		note_frame(j, regs, stack, &left, method);
	}
	return leave ? java_rule_of(leave) : end_at_frame(j, stack);
}

struct lang_runs java_stacks_runs(struct java_stacks *j)
{
	j->runs.n = 0;
	vec_foreach (&j->steps, step)
		vec_push(&j->runs,
			 (struct lang_run){ step->at, step->n, j->frames.data + step->first });
	return (struct lang_runs){ j->runs.data, (uint32_t)j->runs.n, j->cut, LOSS_JAVA_NAME };
}
