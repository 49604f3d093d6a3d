/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/v8_stacks.h"

#include <fnmatch.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "guard/limits.h"
#include "lang/language.h"
#include "machine/address_space.h"
#include "pipeline/v8_process.h"
#include "pipeline/v8_ways.h"
#include "unwind/user_ctx.h"

static const uint32_t reads_of_walk = 8000; /* a new function takes some 30 */

struct v8_stacks {
	struct v8_stacks_config config;
	char *proc;
	struct intmap by_pid;
	VEC(struct v8_process *) processes;
	/* The walk. */
	int32_t pid;
	const struct thread_view *thread;
	uint64_t time_ns;
	const uint64_t *registers;
	struct v8_process *process; /* NULL: none is known */
	bool reads_nothing;
	bool has_counted; /* a loss of this stack */
	VEC(struct lang_frame) frames;
	VEC(struct lang_run) runs; /* `frames` are set at the end */
};

struct v8_stacks *v8_stacks_new(const struct v8_stacks_config *config)
{
	struct v8_stacks *s = xcalloc(1, sizeof(*s));

	s->config = *config;
	if (!s->config.n_reads)
		s->config.n_reads = &reads_of_walk;
	s->proc = xstrdup(config->proc);
	return s;
}

void v8_stacks_forget_all(struct v8_stacks *s)
{
	vec_foreach (&s->processes, p)
		v8_process_free(*p);
	s->processes.n = 0;
	s->process = NULL;
	intmap_fini(&s->by_pid);
}

void v8_stacks_free(struct v8_stacks *s)
{
	if (!s)
		return;
	v8_stacks_forget_all(s);
	vec_fini(&s->processes);
	vec_fini(&s->frames);
	vec_fini(&s->runs);
	free(s->proc);
	free(s);
}

static struct v8_process *process_of(const struct v8_stacks *s, int32_t pid)
{
	uint32_t *at = intmap_find(&s->by_pid, (uint32_t)pid);

	return at ? s->processes.data[*at] : NULL;
}

void v8_stacks_forget(struct v8_stacks *s, int32_t pid)
{
	uint32_t *at = intmap_find(&s->by_pid, (uint32_t)pid), i;

	if (!at)
		return;
	i = *at;
	v8_process_free(s->processes.data[i]);
	intmap_remove(&s->by_pid, (uint32_t)pid);
	s->processes.data[i] = s->processes.data[--s->processes.n];
	if (i < s->processes.n)
		*intmap_put(&s->by_pid, (uint32_t)s->processes.data[i]->pid, NULL) = i;
}

/* Once for a stack. */
static void count(struct v8_stacks *s, enum loss_reason reason)
{
	if (!s->has_counted)
		s->config.lose(s->config.context, reason);
	s->has_counted = true;
}

/* ---- the process ---- */

#define PROCESSES_MAX 64 /* each holds a descriptor */

static void keep_limits(struct v8_stacks *s)
{
	size_t bytes = 0;

	vec_foreach (&s->processes, p)
		bytes += v8_process_bytes(*p);
	if (bytes > JAVA_CODE_BYTES || s->processes.n > PROCESSES_MAX)
		v8_stacks_forget_all(s);
}

/* Its mappings changed: it may have executed another program. */
static bool has_file(const struct v8_stacks *s, const struct v8_process *p)
{
	const struct mapping *m = machine_mapping(s->config.machine, s->thread, p->start);

	return m && m->start == p->start && m->image.n == p->image.n;
}

bool v8_stacks_begin(struct v8_stacks *s, int32_t pid, const struct thread_view *thread,
		     uint64_t time_ns, const uint64_t *registers)
{
	struct v8_process *p;
	uint64_t space;

	s->pid = pid;
	s->thread = thread;
	s->time_ns = time_ns;
	s->registers = registers;
	s->process = NULL;
	s->reads_nothing = s->has_counted = false;
	s->frames.n = s->runs.n = 0;
	if (!s->processes.n)
		return false;
	keep_limits(s);
	p = process_of(s, pid);
	if (!p)
		return false;
	space = machine_space(s->config.machine, thread);
	if ((p->space != space && !has_file(s, p)) || (p->is_gone && time_ns > p->gone_ns)) {
		v8_stacks_forget(s, pid);
		return false;
	}
	p->space = space;
	p->n_reads = *s->config.n_reads;
	s->process = p;
	if (p->state == V8_BARRED && read_pause_is_over(&p->pause, time_ns))
		p->state = V8_READY;
	if (p->state == V8_BARRED)
		count(s, LOSS_JAVASCRIPT_STATE);
	return p->state == V8_READY;
}

void v8_stacks_bar(struct v8_stacks *s, int32_t pid)
{
	struct v8_process *p = process_of(s, pid);

	s->process = NULL;
	if (p) {
		p->state = V8_BARRED;
		read_pause_begin(&p->pause, s->time_ns);
	}
	count(s, LOSS_JAVASCRIPT_STATE);
}

void v8_stacks_read_nothing(struct v8_stacks *s)
{
	if (!s)
		return;
	s->reads_nothing = true;
	if (s->process)
		s->process->n_reads = 0;
}

bool v8_stacks_has_code(const struct v8_stacks *s)
{
	return s->process && s->process->state == V8_READY;
}

/* Symbols in a file decide; the name only saves a look at all other files. */
static bool may_be_v8(const struct image *image)
{
	static const char *const globs[] = { "node", "nodejs", "libnode.so*" };
	const char *slash = strrchr(image->path, '/');

	for (size_t i = 0; slash && image->kind == IMAGE_FILE && i < ARRAY_SIZE(globs); i++)
		if (!fnmatch(globs[i], slash + 1, 0))
			return true;
	return false;
}

static struct v8_process *add_process(struct v8_stacks *s, const struct mapping *mapping)
{
	struct v8_process *p = v8_process_new(s->pid, s->config.memory);

	p->space = machine_space(s->config.machine, s->thread);
	p->start = mapping->start;
	p->image = mapping->image;
	p->n_reads = *s->config.n_reads;
	*intmap_put(&s->by_pid, (uint32_t)s->pid, NULL) = (uint32_t)s->processes.n;
	vec_push(&s->processes, p);
	return p;
}

/*
 * The addresses of builtins in a mapping; none: start = end. A process may have them twice: V8 maps
 * them again near its compiled code (mremap(2)), and runs those.
 */
static struct runtime_range builtins_in(const struct v8_process *p, const struct mapping *m)
{
	uint64_t file_end = m->file_off + (m->end - m->start);
	uint64_t from = MAX(p->builtins.start, m->file_off), to = MIN(p->builtins.end, file_end);

	if (m->is_absolute || m->image.n != p->image.n || from >= to)
		return (struct runtime_range){ 0 };
	return (struct runtime_range){ m->start + (from - m->file_off),
				       m->start + (to - m->file_off) };
}

/* The walk goes on without V8: the next one has it. */
static enum v8_place meet_file(struct v8_stacks *s, const struct mapping *mapping)
{
	const struct lang_runtime *runtime = NULL;
	struct runtime_range builtins;
	struct v8_process *p;

	if (!may_be_v8(image_get(machine_images(s->config.machine), mapping->image)))
		return V8_ELSEWHERE;
	if (!s->config.look(s->config.context, s->pid, mapping->image, &runtime)) {
		count(s, LOSS_JAVASCRIPT_EARLY);
		return V8_UNSETTLED;
	}
	if (!runtime || runtime->language != LANGUAGE_JAVASCRIPT)
		return V8_ELSEWHERE;
	p = add_process(s, mapping);
	p->builtins = runtime->ranges[0];
	builtins = builtins_in(p, mapping);
	p->alive_at = builtins.end ? builtins.start : mapping->start;
	v8_process_open(p, s->proc, runtime);
	count(s, p->state == V8_BARRED ? LOSS_JAVASCRIPT_STATE : LOSS_JAVASCRIPT_EARLY);
	return V8_UNSETTLED;
}

enum v8_place v8_stacks_place(struct v8_stacks *s, const struct mapping *mapping, uint64_t pc,
			      uint64_t *start, uint64_t *end)
{
	struct runtime_range b;

	/* In the walk that meets V8, no answer holds for the next one. */
	if (!s->process)
		return process_of(s, s->pid) ? V8_UNSETTLED : meet_file(s, mapping);
	if (!v8_stacks_has_code(s))
		return V8_ELSEWHERE;
	b = builtins_in(s->process, mapping);
	if (pc >= b.start && pc < b.end)
		return V8_IN_BUILTINS;
	if (pc < b.start)
		*end = MIN(*end, b.start);
	else
		*start = MAX(*start, b.end);
	return V8_ELSEWHERE;
}

/* ---- frames ---- */

static bool read_slot(const struct unwind_regs *regs, struct unwind_ctx *stack, int words,
		      uint64_t *out)
{
	return !unwind_read_stack(stack, regs->fp + (uint64_t)((int64_t)words * 8), out);
}

/* The words of a frame at its frame pointer. */
struct v8_slots {
	uint64_t marker, function, bytecode, position;
};

/* False: there is no frame, or it is half made. */
static bool read_slots(const struct v8 *v8, const struct unwind_regs *regs,
		       struct unwind_ctx *stack, struct v8_slots *out)
{
	int bytecode_at = v8->forms->bytecode_at;
	uint64_t lowest = regs->fp + (uint64_t)(V8_FUNCTION_AT * 8);

	*out = (struct v8_slots){ 0 };
	if (!(regs->flags & UNWIND_KNOWS_FP) || (regs->fp & 7) || regs->fp <= regs->sp ||
	    lowest < regs->sp || !read_slot(regs, stack, V8_MARKER_AT, &out->marker) ||
	    !read_slot(regs, stack, V8_FUNCTION_AT, &out->function))
		return false;
	if (regs->fp + (uint64_t)((int64_t)(bytecode_at - 1) * 8) >= regs->sp) {
		read_slot(regs, stack, bytecode_at, &out->bytecode);
		read_slot(regs, stack, bytecode_at - 1, &out->position);
	}
	return true;
}

static bool learn(void *context, int32_t pid, const struct lang_code *code)
{
	const struct v8_stacks_config *c = &((struct v8_stacks *)context)->config;

	return c->learn(c->context, pid, code);
}

static uint32_t position_of(const struct v8_stacks *s, const struct unwind_regs *regs,
			    const struct v8_slots *slots)
{
	const struct v8 *v8 = &s->process->v8;
	uint32_t position = UINT32_MAX;

	/* A handler of a bytecode has the position in a register, not in the frame. */
	if (regs->flags & UNWIND_IS_SAMPLED &&
	    s->registers[v8_bytecode_register(v8)] == slots->bytecode)
		position = v8_position(v8, slots->bytecode,
				       s->registers[v8_position_register(v8)] << V8_SMI_SHIFT);
	return position != UINT32_MAX ? position
				      : v8_position(v8, slots->bytecode, slots->position);
}

/* A frame in builtins: an interpreted function, or a builtin that is a function. */
static uint64_t function_in_builtins(struct v8_stacks *s, const struct unwind_regs *regs,
				     const struct v8_slots *slots, uint32_t *position)
{
	struct v8_process *p = s->process;
	uint64_t shared = 0;

	if (v8_is_pointer(slots->bytecode))
		shared = v8_process_function(p, slots->bytecode, slots->function, s->time_ns);
	if (shared)
		*position = position_of(s, regs, slots);
	return shared ? shared : v8_process_builtin(p, slots->function, s->time_ns);
}

static void count_unnamed(struct v8_stacks *s)
{
	count(s, s->process->is_gone ? LOSS_JAVASCRIPT_MEMORY
		 : s->reads_nothing  ? LOSS_JAVASCRIPT_STATE
				     : LOSS_JAVASCRIPT_MISMATCH);
}

/* A frame of a function. False: it has no name. */
static bool add_function(struct v8_stacks *s, uint64_t shared, uint32_t position)
{
	const struct v8_known *f = v8_process_known(s->process, shared, s->time_ns, learn, s);

	if (!f)
		return false;
	vec_push(&s->frames, ((struct lang_frame){ .pid = s->pid,
						   .pointer = shared,
						   .check = f->check,
						   .position = position }));
	return true;
}

/* Finds the line once: the source of a large script takes many reads. */
static uint32_t line_position(struct v8_stacks *s, struct v8_known_site *site)
{
	struct v8_process *p = s->process;
	const struct v8_known *f;
	uint32_t line;

	if (site->offset == UINT32_MAX)
		return site->position;
	f = v8_process_known(p, site->shared, s->time_ns, learn, s);
	line = f ? v8_line_in(&p->v8, f->function.script, site->offset) : 0;
	if (line)
		site->position = V8_IS_LINE | line;
	if (p->n_reads)
		site->offset = UINT32_MAX;
	return site->position;
}

/* All functions that are inlined there, or none: a stack without one of them would be wrong. */
static uint32_t add_inlined(struct v8_stacks *s, const struct v8_code *code, uint64_t pc,
			    bool is_call)
{
	struct v8_process *p = s->process;
	struct v8_inlined *inlined = v8_process_inlined(p, code, pc, is_call);
	size_t n_before = s->frames.n;

	for (uint32_t i = 0; inlined && i < inlined->n; i++) {
		struct v8_known_site *site = &p->sites.data[inlined->first + i];

		if (!add_function(s, site->shared, line_position(s, site))) {
			s->frames.n = n_before;
			inlined->code = 0; /* it is read again */
			break;
		}
	}
	return (uint32_t)(s->frames.n - n_before);
}

/* Code without a file; NULL: there is none, or it is not certain. */
static const struct v8_code *code_at(struct v8_stacks *s, uint64_t pc)
{
	const struct mapping *m = machine_mapping(s->config.machine, s->thread, pc);

	return m && m->is_absolute ? v8_process_code(s->process, pc, m->start, s->time_ns) : NULL;
}

/* The frames of an address in compiled code; 0: they are not known. */
static uint32_t add_code(struct v8_stacks *s, uint64_t pc, uint64_t closure, bool is_call)
{
	const struct v8_code *code = code_at(s, pc);
	uint64_t shared;

	if (!code)
		return 0;
	if (code->shared)
		return add_inlined(s, code, pc, is_call);
	if (!code->bytecode)
		return 0;
	shared = v8_process_function(s->process, code->bytecode, closure, s->time_ns);
	return shared && add_function(s, shared, UINT32_MAX);
}

/*
 * A builtin that optimised code calls may make no frame. Then the frame is its caller's, and the
 * return address is on top.
 */
static bool has_no_frame(struct v8_stacks *s, const struct unwind_regs *regs,
			 struct unwind_ctx *stack)
{
	const struct v8_code *code;
	uint64_t pc;

	if (s->process->v8.is_aarch64 || unwind_read_stack(stack, regs->sp, &pc))
		return false;
	code = code_at(s, pc - 1);
	return code && (code->shared || code->bytecode);
}

static enum v8_way way_at(struct v8_stacks *s, uint64_t pc, bool is_builtin)
{
	return v8_way_of_leaf(&s->process->v8, is_builtin ? NULL : code_at(s, pc), pc);
}

/* Whether an address is in a file, and not in V8's builtins. */
static bool is_native(struct v8_stacks *s, uint64_t pc)
{
	const struct mapping *m = machine_mapping(s->config.machine, s->thread, pc);
	struct runtime_range b;

	if (!m || m->is_absolute)
		return false;
	b = builtins_in(s->process, m);
	return pc < b.start || pc >= b.end;
}

/*
 * AArch64: V8's code has the stack pointer of its caller only if native code called it. Native code
 * needs it, and V8's code does not.
 */
static struct unwind_rule rule_of_aarch64(struct v8_stacks *s, enum v8_way way,
					  const struct unwind_regs *regs, struct unwind_ctx *stack)
{
	const struct v8 *v8 = &s->process->v8;
	struct unwind_rule rule = v8_rule_of(v8, way);
	uint64_t caller = regs->lr;

	if (way == V8_BY_FP && !read_slot(regs, stack, 1, &caller))
		return rule;
	if (way > V8_BY_LINK || !is_native(s, unwind_plain_address(regs, caller)))
		return rule;
	return way == V8_BY_LINK && v8_pushed_words(v8, regs->pc, &rule.off)
		       ? rule
		       : v8_rule_of(v8, V8_NO_WAY);
}

static struct unwind_rule rule_of(struct v8_stacks *s, enum v8_way way,
				  const struct unwind_regs *regs, struct unwind_ctx *stack)
{
	const struct v8 *v8 = &s->process->v8;

	return v8->is_aarch64 ? rule_of_aarch64(s, way, regs, stack) : v8_rule_of(v8, way);
}

struct unwind_rule v8_stacks_rule(struct v8_stacks *s, uint32_t at, const struct unwind_regs *regs,
				  struct unwind_ctx *stack)
{
	struct v8_process *p = s->process;
	uint64_t pc = unwind_lookup_pc(regs), shared;
	const struct mapping *m = machine_mapping(s->config.machine, s->thread, pc);
	struct runtime_range b = m ? builtins_in(p, m) : (struct runtime_range){ 0 };
	bool is_builtin = pc >= b.start && pc < b.end;
	bool is_leaf = regs->flags & UNWIND_IS_SAMPLED;
	enum v8_way way = is_leaf ? way_at(s, pc, is_builtin) : V8_BY_FP;
	uint32_t position = UINT32_MAX;
	struct v8_slots slots = { 0 };
	bool has_slots = way == V8_BY_FP && read_slots(&p->v8, regs, stack, &slots);
	bool is_stub = has_slots && !v8_is_pointer(slots.marker);
	struct lang_run run = { .at = at };

	if (p->v8.is_aarch64 && way == V8_BY_FP && !is_builtin &&
	    v8_is_regexp(&p->v8, code_at(s, pc)))
		return v8_rule_of(&p->v8, V8_BY_REGEXP);
	if (p->v8.is_aarch64 && is_builtin && !is_leaf && v8_is_call_of_c(&p->v8, regs->pc))
		return v8_rule_of(&p->v8, V8_BY_TOP_WORD);
	if (p->v8.is_aarch64 && is_stub && v8_is_entry(slots.marker))
		way = V8_BY_ENTRY;
	if (is_stub || (is_builtin && !has_slots))
		return rule_of(s, way, regs, stack);
	if (is_builtin) {
		shared = function_in_builtins(s, regs, &slots, &position);
		run.n = shared && add_function(s, shared, position);
		if (!shared && is_leaf && has_no_frame(s, regs, stack))
			return v8_rule_of(&p->v8, V8_AT_TOP);
	} else {
		run.n = add_code(s, pc, slots.function, !(regs->flags & UNWIND_IS_EXACT));
	}
	if (run.n)
		vec_push(&s->runs, run);
	else
		count_unnamed(s);
	return rule_of(s, way, regs, stack);
}

struct lang_runs v8_stacks_runs(struct v8_stacks *s)
{
	uint32_t first = 0;

	for (size_t i = 0; i < s->runs.n; i++) {
		s->runs.data[i].frames = &s->frames.data[first];
		first += s->runs.data[i].n;
	}
	return (struct lang_runs){ s->runs.data, (uint32_t)s->runs.n, -1, LOSS_JAVASCRIPT_NAME };
}
