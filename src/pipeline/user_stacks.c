/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pipeline/user_stacks.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <linux/perf_event.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/clock.h"
#include "base/mem.h"
#include "guard/memory_reads.h"
#include "machine/address_space.h"
#include "lang/hotspot.h"
#include "machine/image_file.h"
#include "perfdata/record.h"
#include "perfdata/regs.h"
#include "pipeline/follow_time.h"
#include "pipeline/table_files.h"
#include "pipeline/trampolines.h"
#include "unwind/library.h"
#include "unwind/stop_loss.h"
#include "unwind/walk.h"

/* The maximum depth of a sample's chain. Deeper stacks are cut and counted. */
#define MAX_WALKED 1000

#if defined(__aarch64__)
#define HOST_ARCH "aarch64"
#else
#define HOST_ARCH "x86_64"
#endif

struct known_image {
	struct table_file *opening; /* NULL: not yet, or the library has the file */
	struct file_look *look;     /* at the file; NULL: none, or it was taken */
	struct build_id key;        /* of its table; len 0: the image's own */
	bool is_in_library;
	bool is_looked_at;                /* `table` is final */
	bool is_missing;                  /* there is no file of this image, or another build */
	bool is_walked;                   /* it is in `walked` */
	uint64_t until_ns;                /* walks wait no longer for it; 0: none has waited yet */
	const struct unwind_table *table; /* NULL: none; frame pointers are used */
};

struct user_stacks {
	struct machine *machine;
	char *proc;
	struct file_jobs *jobs;
	struct finder *finder;           /* NULL: none */
	struct java_stacks *java;        /* likewise */
	struct v8_stacks *v8;            /* likewise */
	struct trampolines *trampolines; /* likewise */
	struct unwind_rule trampoline;   /* of the address that was found last; or none */
	bool follows_code;               /* of Java and V8, in this walk */
	bool is_v8;                      /* the runtime that was found last; else Java's */
	bool has_v8;                     /* the process of this walk */
	bool is_aarch64, is_unsupported; /* of the recorded machine */
	struct unwind_library *library;
	struct unwinder *unwinder;
	struct memory_reads *reads;     /* NULL: of no living process */
	VEC(struct known_image) images; /* by the machine's image id */
	uint64_t n_unparsed, n_opened;
	VEC(image_id) walked; /* images with a table, walked since user_stacks_rest_walked() */
	int32_t pid;          /* of the current walk */
	const struct thread_view *thread;
	struct dwarf_registers regs;
	bool is_in_kernel; /* the thread: `regs` are those of its entry */
	enum table_patience patience;
	bool is_pending; /* the walk met an unfinished table, */
	bool is_late;    /* and went on without it, */
	bool is_missing; /* or an image without a file */
	struct table_waits waits;
	uint64_t n_learnt; /* user_stacks_n_learnt() */
	struct follow_time follow;
	uint64_t pcs[MAX_WALKED];
};

struct user_stacks *user_stacks_new(const struct user_stacks_config *config)
{
	struct user_stacks *s = xcalloc(1, sizeof(*s));
	const char *arch = config->arch && config->arch[0] ? config->arch : HOST_ARCH;

	s->machine = config->machine;
	s->proc = config->proc ? xstrdup(config->proc) : NULL;
	/* Offline, the result is always the same. */
	s->waits = (struct table_waits){ .start_ns = clock_monotonic_ns(), .is_endless = !s->proc };
	s->jobs = config->jobs;
	s->finder = config->finder;
	s->java = config->java;
	s->v8 = config->v8;
	s->trampolines = config->trampolines;
	s->is_aarch64 = !strcmp(arch, "aarch64");
	s->is_unsupported =
		!s->is_aarch64 && strcmp(arch, "x86_64") != 0 && fnmatch("i[3-6]86", arch, 0) != 0;
	s->library = unwind_library_new(&(struct unwind_library_config){
		.in_background = true, .has_debug_files = true, .finder = config->finder });
	s->unwinder = unwinder_new();
	s->reads = s->proc ? memory_reads_new(MEMORY_READ_NS) : NULL;
	follow_time_init(&s->follow);
	return s;
}

void user_stacks_free(struct user_stacks *s)
{
	if (!s)
		return;
	memory_reads_free(s->reads);
	follow_time_fini(&s->follow);
	unwinder_free(s->unwinder);
	unwind_library_free(s->library);
	vec_foreach (&s->images, known) {
		table_file_free(known->opening);
		free(known->look);
	}
	vec_fini(&s->images);
	vec_fini(&s->walked);
	free(s->proc);
	free(s);
}

/* The size of the vdso. Its section headers come last in it. */
static size_t vdso_size(const ElfW(Ehdr) * header)
{
	return header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
}

/* The vdso's image may have several names, so its table has a number that no image has. */
static enum unwind_table_state get_vdso_table(struct user_stacks *s,
					      const struct unwind_table **table)
{
	const void *vdso = (const void *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_image wanted = { .bytes = vdso };

	if (!vdso)
		return UNWIND_TABLE_UNREADABLE;
	wanted.size = vdso_size(vdso);
	return unwind_library_get(s->library, IMAGE_UNKNOWN_ID.n, &wanted, table);
}

static struct known_image *known_image(struct user_stacks *s, image_id image)
{
	while (s->images.n <= image.n)
		vec_add(&s->images);
	return &s->images.data[image.n];
}

/* The library gets the file; without one, the table may be in its cache. */
static enum unwind_table_state give_file(struct user_stacks *s, image_id id,
					 struct unwind_image *wanted,
					 const struct unwind_table **table)
{
	struct known_image *known = known_image(s, id);
	struct table_file_parts parts = table_file_take(known->opening);
	cleanup(free_at_exit) char *root = NULL, *name = parts.name;
	enum unwind_table_state state;

	table_file_free(known->opening);
	known->opening = NULL;
	known->is_in_library = true;
	known->look = parts.look;
	wanted->file = &parts.file;
	wanted->found = parts.found;
	if (name)
		wanted->name = name;
	if (parts.root_fd >= 0)
		wanted->root = root = xasprintf("/proc/self/fd/%d", parts.root_fd);
	/* no thread has to look for a table that is there */
	if (parts.key.len && unwind_library_find(s->library, id.n, &parts.key, table))
		state = UNWIND_TABLE_READY;
	else
		state = unwind_library_get(s->library, id.n, wanted, table);
	file_unmap(&parts.file); /* does nothing if the library took the file */
	close_at_exit(&parts.root_fd);
	return state;
}

static enum unwind_table_state look_for_table(struct user_stacks *s, image_id id,
					      const struct unwind_table **table)
{
	const struct image *image = image_get(machine_images(s->machine), id);
	struct known_image *known = known_image(s, id);
	struct unwind_image wanted = { .key = known->key.len ? known->key : image_cache_key(image),
				       .build_id = image->build_id,
				       .is_key_of_file = image->dev == IMAGE_DEV_SHA256,
				       .name = image->path };

	if (image->kind == IMAGE_VDSO)
		return get_vdso_table(s, table);
	if (image->kind != IMAGE_FILE)
		return UNWIND_TABLE_UNREADABLE;
	if (!known->opening && wanted.key.len &&
	    unwind_library_find(s->library, id.n, &wanted.key, table))
		return UNWIND_TABLE_READY;
	if (!known->opening)
		known->opening =
			table_file_begin(s->jobs, s->finder, s->proc, s->pid, image, &s->n_opened);
	return table_file_is_ready(known->opening) ? give_file(s, id, &wanted, table)
						   : UNWIND_TABLE_PENDING;
}

/* A living process keeps its files. */
static bool is_file_missing(const struct user_stacks *s, image_id image,
			    enum unwind_table_state state)
{
	return !s->proc && image_get(machine_images(s->machine), image)->kind == IMAGE_FILE &&
	       (state == UNWIND_TABLE_UNREADABLE || state == UNWIND_TABLE_REPLACED);
}

/* Returns false while the table is being built. */
static bool try_table(struct user_stacks *s, image_id image, const struct unwind_table **table)
{
	struct known_image *known = known_image(s, image);

	if (!known->is_looked_at) {
		enum unwind_table_state state =
			known->is_in_library
				? unwind_library_get(s->library, image.n, NULL, &known->table)
				: look_for_table(s, image, &known->table);

		if (state == UNWIND_TABLE_PENDING)
			return false;
		s->n_unparsed += state == UNWIND_TABLE_UNPARSED;
		known->is_missing = is_file_missing(s, image, state);
	}
	known->is_looked_at = true;
	*table = known->table;
	return true;
}

struct file_look *user_stacks_take_look(struct user_stacks *s, image_id image)
{
	return image.n < s->images.n ? take_ptr(s->images.data[image.n].look) : NULL;
}

void user_stacks_know_key(struct user_stacks *s, image_id image, const struct build_id *key)
{
	known_image(s, image)->key = *key;
}

uint64_t user_stacks_take_unparsed(struct user_stacks *s)
{
	uint64_t n = s->n_unparsed;

	s->n_unparsed = 0;
	return n;
}

static void note_walked(struct user_stacks *s, image_id image)
{
	struct known_image *known = known_image(s, image);

	if (known->is_walked || !known->table)
		return;
	known->is_walked = true;
	vec_push(&s->walked, image);
}

struct awaited_table {
	struct user_stacks *s;
	image_id image;
};

static bool await_table(void *arg, uint64_t until_ns)
{
	const struct awaited_table *t = arg;
	struct table_file *opening = known_image(t->s, t->image)->opening;

	return opening ? table_file_wait(opening, until_ns)
		       : unwind_library_wait(t->s->library, t->image.n, until_ns);
}

/* False: the file system takes too long to open the file, or its table to be built. */
static bool wait_for_table(struct user_stacks *s, image_id image)
{
	return table_waits_for(&s->waits, &known_image(s, image)->until_ns, await_table,
			       &(struct awaited_table){ s, image });
}

struct table_waits *user_stacks_waits(struct user_stacks *s)
{
	return &s->waits;
}

static bool is_in_followed_code(struct user_stacks *s, uint64_t pc)
{
	if (!s->follows_code)
		return false;
	s->is_v8 = s->v8 && v8_stacks_has_code(s->v8);
	return s->is_v8 || (s->java && java_stacks_has(s->java, pc));
}

static enum unwind_where place_without_file(struct user_stacks *s, uint64_t pc)
{
	if (is_in_followed_code(s, pc))
		return UNWIND_AT_RUNTIME;
	if (s->trampolines && !s->regs.is_i386)
		s->trampoline = trampolines_rule(s->trampolines, pc);
	return unwind_rule_cfa(s->trampoline) ? UNWIND_AT_RUNTIME : UNWIND_AT_CODE;
}

/* Whether an address in a file is one of V8's builtins. Else the place shrinks to its side. */
static bool find_builtins(struct user_stacks *s, const struct mapping *mapping, uint64_t pc,
			  struct unwind_place *place)
{
	enum v8_place where =
		s->v8 ? v8_stacks_place(s->v8, mapping, pc, &place->start, &place->end)
		      : V8_ELSEWHERE;

	s->is_v8 = where == V8_IN_BUILTINS;
	if (where == V8_UNSETTLED)
		place->start = place->end = 0;
	return s->is_v8;
}

/* Its image may be that of 64-bit programs, whose table does not hold for it. */
static bool is_vdso_of_i386(const struct user_stacks *s, const struct mapping *mapping)
{
	return s->regs.is_i386 &&
	       image_get(machine_images(s->machine), mapping->image)->kind == IMAGE_VDSO;
}

static enum unwind_where find_place(void *context, uint64_t pc, struct unwind_place *place)
{
	struct user_stacks *s = context;
	const struct mapping *mapping = machine_mapping(s->machine, s->thread, pc);

	s->trampoline = (struct unwind_rule){ 0 };
	if (!mapping)
		return UNWIND_AT_NOTHING;
	if (mapping->is_absolute)
		return place_without_file(s, pc);
	if (is_vdso_of_i386(s, mapping))
		return UNWIND_AT_RUNTIME;
	place->start = mapping->start;
	place->end = mapping->end;
	if (s->follows_code && find_builtins(s, mapping, pc, place))
		return UNWIND_AT_RUNTIME;
	place->file_off = pc - mapping->start + mapping->file_off;
	while (!try_table(s, mapping->image, &place->table)) {
		if (s->patience == TABLE_LATER) {
			s->is_pending = true;
			return UNWIND_AT_NOTHING;
		}
		if (s->patience == TABLE_GIVEN_UP || !wait_for_table(s, mapping->image)) {
			s->is_late = true;
			return UNWIND_AT_LATE;
		}
	}
	s->is_missing |= known_image(s, mapping->image)->is_missing;
	note_walked(s, mapping->image);
	return place->table ? UNWIND_AT_TABLE : UNWIND_AT_CODE;
}

static struct unwind_rule runtime_rule(void *context, uint32_t at, const struct unwind_regs *regs,
				       struct unwind_ctx *stack)
{
	struct user_stacks *s = context;

	if (s->regs.is_i386)
		return unwind_rule_in_vdso_i386(regs, stack, s->is_in_kernel);
	if (unwind_rule_cfa(s->trampoline))
		return s->trampoline;
	return s->is_v8 ? v8_stacks_rule(s->v8, at, regs, stack)
			: java_stacks_rule(s->java, at, regs, stack);
}

static struct unwind_regs followed_registers(const struct dwarf_registers *r)
{
	if (r->is_aarch64)
		return unwind_regs_sampled(r->value[32], r->value[31], r->value[29], r->value[30],
					   true);
	if (r->is_i386)
		return unwind_regs_sampled_i386(r->value[16], r->value[7], r->value[6]);
	return unwind_regs_sampled(r->value[16], r->value[7], r->value[6], 0, false);
}

/* Code whose file is not here may keep any value in its frame pointer: 0 is no end then. */
static int cut_of(const struct user_stacks *s, const struct unwind_chain *chain)
{
	bool is_end = !chain->is_bare_end || !s->is_missing;
	int cut = loss_of_stop(is_end ? chain->stop : UNWIND_NO_RULE);

	if (cut >= 0 && s->is_late)
		return LOSS_STACK_NO_TABLE;
	return cut >= 0 && s->is_missing ? LOSS_STACK_NO_FILE : cut;
}

/* The places of its code are others than before V8 was met, and are not kept from then. */
#define SPACE_WITH_V8 ((uint64_t)1 << 63)
/* Nor are places of a walk that does not look for runtimes. */
#define SPACE_WITHOUT_CODE ((uint64_t)1 << 62)

static bool has_runtimes(const struct user_stacks *s)
{
	return s->java || s->v8;
}

static uint64_t space_of_walk(const struct user_stacks *s, const struct thread_view *thread)
{
	uint64_t space = machine_space(s->machine, thread);

	if (s->has_v8)
		return space | SPACE_WITH_V8;
	return has_runtimes(s) && !s->follows_code ? space | SPACE_WITHOUT_CODE : space;
}

/* Walks from the registers in s->regs. */
static struct user_chain walk_from_registers(struct user_stacks *s, int32_t pid,
					     const struct thread_view *thread, const void *stack,
					     size_t stack_size, bool is_whole)
{
	struct unwind_chain chain = { .pcs = s->pcs, .max = MAX_WALKED };
	struct unwind_input in = {
		.regs = followed_registers(&s->regs),
		.other = s->regs.value,
		.n_other = DWARF_REGISTERS,
		.stack = stack,
		.stack_size = stack_size,
		.is_whole = is_whole,
		.find = find_place,
		.runtime = runtime_rule,
		.ctx = s,
		.space = space_of_walk(s, thread),
	};

	s->pid = pid;
	s->thread = thread;
	s->is_pending = s->is_late = s->is_missing = false;
	unwind_walk(s->unwinder, &in, &chain);
	return (struct user_chain){
		.pcs = s->pcs,
		.n = (uint32_t)chain.n,
		.cut = cut_of(s, &chain),
		.is_guessed = chain.is_guessed,
		.is_pending = s->is_pending,
		.runs = { .cut = -1 },
	};
}

struct walk_work {
	struct user_stacks *s;
	int32_t pid;
	const struct thread_view *thread;
	const void *stack;
	size_t stack_size;
	bool is_whole;
	struct user_chain chain;
};

static void walk_of_work(void *arg)
{
	struct walk_work *w = arg;

	w->chain =
		walk_from_registers(w->s, w->pid, w->thread, w->stack, w->stack_size, w->is_whole);
}

static void bar_process(struct user_stacks *s, int32_t pid)
{
	if (s->has_v8)
		v8_stacks_bar(s->v8, pid);
	else
		java_stacks_bar(s->java, pid);
	s->follows_code = s->has_v8 = false;
}

/*
 * A handover to a thread costs more than most walks do, and most need nothing new of the process.
 * False: this one does.
 */
static bool walk_without_reads(struct user_stacks *s, struct walk_work *w)
{
	if (s->has_v8 || !java_stacks_try(s->java, w->pid))
		return false;
	walk_of_work(w);
	return java_stacks_end_try(s->java);
}

/* Walks that read memory of the process run in a thread of their own: a read may never end. */
static struct user_chain walk_copied(struct user_stacks *s, int32_t pid,
				     const struct thread_view *thread, const void *stack,
				     size_t stack_size, bool is_whole)
{
	struct walk_work w = { s, pid, thread, stack, stack_size, is_whole, { 0 } };
	int result;

	if (s->trampolines)
		trampolines_begin(s->trampolines, pid, machine_space(s->machine, thread));
	if (!s->follows_code || !s->reads ||
	    !(s->has_v8 || (s->java && java_stacks_may_read(s->java, pid)))) {
		do
			walk_of_work(&w);
		while (trampolines_learn(s->trampolines, s->reads));
		return w.chain;
	}
	result = !memory_reads_here() && walk_without_reads(s, &w)
			 ? 0
			 : memory_reads_run(s->reads, pid, walk_of_work, &w);
	if (!result)
		return w.chain;
	if (result == -ETIME) /* the old one is in use for ever */
		s->unwinder = unwinder_new();
	if (result != -EAGAIN)
		bar_process(s, pid);
	else if (s->has_v8) /* perhaps the next walk has a thread */
		v8_stacks_read_nothing(s->v8);
	else
		java_stacks_read_nothing(s->java);
	return walk_from_registers(s, pid, thread, stack, stack_size, is_whole);
}

bool user_stacks_run(struct user_stacks *s, void (*walks)(void *), void *arg)
{
	int result = memory_reads_run(s->reads, 0, walks, arg);

	if (result == -ETIME) { /* the old one is in use for ever */
		s->unwinder = unwinder_new();
		follow_time_end(&s->follow, s->reads, s->waits.waited_ns);
		return false;
	}
	if (result == -EAGAIN)
		walks(arg);
	return true;
}

struct memory_reads *user_stacks_reads(struct user_stacks *s)
{
	return s->reads;
}

static void begin_runtimes(struct user_stacks *s, int32_t pid, const struct thread_view *thread,
			   uint64_t time_ns, bool is_noting)
{
	s->has_v8 = false;
	if (!s->follows_code)
		return;
	if (s->java)
		java_stacks_begin(s->java, pid, thread, time_ns, s->regs.value, is_noting);
	if (s->v8)
		s->has_v8 = v8_stacks_begin(s->v8, pid, thread, time_ns, s->regs.value);
}

/* All walks that follow code share one limit. */
static void begin_following(struct user_stacks *s, bool is_wait)
{
	follow_time_begin(&s->follow, s->reads, s->waits.waited_ns);
	if (!follow_time_is_over(&s->follow, s->waits.start_ns, is_wait))
		return;
	java_stacks_read_nothing(s->java);
	v8_stacks_read_nothing(s->v8);
}

/* A process has one of the runtimes. */
static struct lang_runs runs_of_runtimes(struct user_stacks *s)
{
	struct lang_runs runs = { .cut = -1 };

	if (s->java)
		runs = java_stacks_runs(s->java);
	return s->v8 && !runs.n && runs.cut < 0 ? v8_stacks_runs(s->v8) : runs;
}

static void end_runtimes(struct user_stacks *s, struct user_chain *chain)
{
	if (!s->follows_code)
		return;
	chain->runs = runs_of_runtimes(s);
	if (chain->runs.cut >= 0)
		chain->cut = chain->runs.cut;
}

struct user_chain user_stacks_walk(struct user_stacks *s, const struct event *sample,
				   const struct thread_view *thread)
{
	const struct sample_extra *extra = sample->sample.extra;
	struct user_chain chain;

	if (s->is_unsupported)
		return (struct user_chain){ .cut = LOSS_STACK_UNSUPPORTED };
	if (!registers_by_dwarf(&extra->user, s->is_aarch64, &s->regs))
		return (struct user_chain){ .cut = extra->user.abi == PERF_SAMPLE_REGS_ABI_32
							   ? LOSS_STACK_UNSUPPORTED
							   : -1 };
	s->patience = TABLE_AWAITED;
	s->is_in_kernel = sample->sample.mode == MODE_KERNEL;
	s->follows_code = has_runtimes(s) && !s->regs.is_i386;
	begin_runtimes(s, sample->pid, thread, sample->time_ns, false);
	chain = walk_copied(s, sample->pid, thread, extra->stack, extra->stack_size,
			    extra->is_stack_whole);
	end_runtimes(s, &chain);
	return chain;
}

void user_stacks_expect(struct user_stacks *s, const struct event *e)
{
	const struct sample_extra *extra = e->sample.extra;
	uint64_t space = machine_known_space(s->machine, e->pid, e->tid), sp, pc;

	if (space && registers_place(&extra->user, s->is_aarch64, &sp, &pc))
		unwinder_expect(s->unwinder, space, pc, sp, extra->stack, extra->stack_size);
}

struct user_chain user_stacks_walk_copy(struct user_stacks *s, int32_t pid,
					const struct thread_view *thread,
					const struct user_copy *copy, enum table_patience patience)
{
	struct user_chain chain;

	s->patience = patience;
	s->is_in_kernel = copy->is_in_kernel;
	s->follows_code = copy->time_ns && has_runtimes(s) && !copy->is_i386;
	s->regs = (struct dwarf_registers){ .is_aarch64 = s->is_aarch64, .is_i386 = copy->is_i386 };
	memcpy(s->regs.value, copy->regs, sizeof(s->regs.value));
	begin_runtimes(s, pid, thread, copy->time_ns, true);
	if (s->follows_code)
		begin_following(s, copy->is_wait);
	chain = walk_copied(s, pid, thread, copy->stack, copy->stack_size, copy->is_whole);
	end_runtimes(s, &chain);
	s->n_learnt += s->has_v8 || (s->follows_code && s->java && java_stacks_has_learnt(s->java));
	follow_time_end(&s->follow, s->reads, s->waits.waited_ns);
	return chain;
}

const struct java_stacks *user_stacks_java(const struct user_stacks *s)
{
	return s->follows_code ? s->java : NULL;
}

uint64_t user_stacks_n_learnt(const struct user_stacks *s)
{
	return s->n_learnt;
}

bool user_stacks_table(struct user_stacks *s, int32_t pid, image_id image,
		       const struct unwind_table **table)
{
	s->pid = pid;
	return try_table(s, image, table);
}

void user_stacks_rest_walked(struct user_stacks *s)
{
	vec_foreach (&s->walked, image) {
		struct known_image *known = &s->images.data[image->n];

		known->is_walked = false;
		unwind_library_rest(known->table);
	}
	s->walked.n = 0;
}

bool user_stacks_vdso_table(struct user_stacks *s, const struct unwind_table **table)
{
	return get_vdso_table(s, table) != UNWIND_TABLE_PENDING;
}

uint64_t user_stacks_generation(const struct user_stacks *s)
{
	return unwind_library_generation(s->library) + s->n_opened;
}

void user_stacks_charge(struct user_stacks *s, uint64_t waited_ns, uint64_t followed_ns)
{
	s->waits.waited_ns += waited_ns;
	s->follow.all_ns += followed_ns;
}

uint64_t user_stacks_followed_ns(const struct user_stacks *s)
{
	return s->follow.all_ns;
}
