/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables of the images of a recorded process. */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "scratch.h"

#include "base/error.h"
#include "event/text.h"
#include "guard/parser.h"
#include "machine/image.h"
#include "perfdata/regs.h"
#include "machine/image_file.h"
#include "pipeline/file_jobs.h"
#include "pipeline/image_looks.h"
#include "pipeline/user_stacks.h"
#include "unwind/file_unwind.h"

/* An image as a record of the kernel names it. */
static image_id image_of(struct machine *machine, const char *path)
{
	struct image image = { .kind = IMAGE_FILE, .path = path };
	struct file_mapping file;

	assert_int_equal(file_map(path, &file, NULL), 0);
	image.dev = file.dev;
	image.ino = file.ino;
	file_unmap(&file);
	return image_intern(machine_images(machine), &image);
}

static void a_file_is_opened_once_for_its_table(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	struct user_stacks *stacks =
		user_stacks_new(&(struct user_stacks_config){ .machine = machine });
	const struct unwind_table *table = NULL;
	char *folder = getcwd(NULL, 0), *path = xasprintf("%s/program", folder);
	image_id image;

	(void)state;
	run_command("cp %s program", own_program());
	image = image_of(machine, path);
	user_stacks_table(stacks, 0, image, &table);
	assert_int_equal(unlink(path), 0);
	while (!user_stacks_table(stacks, 0, image, &table))
		sched_yield();
	assert_non_null(table);
	user_stacks_free(stacks);
	machine_free(machine);
	free(path);
	free(folder);
}

/* The table, when it is there. */
static const struct unwind_table *table_of(struct user_stacks *stacks, image_id image)
{
	const struct unwind_table *table = NULL;

	while (!user_stacks_table(stacks, 0, image, &table))
		sched_yield();
	return table;
}

static void one_look_is_for_the_table_and_the_identity(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	const struct user_stacks_config config = { .machine = machine };
	struct user_stacks *stacks = user_stacks_new(&config);
	char *folder = getcwd(NULL, 0), *path = xasprintf("%s/seen", folder);
	const struct unwind_table *table;
	struct file_look *look;
	struct build_id key;
	image_id image;

	(void)state;
	run_command("cp %s seen && chmod 755 seen", own_program());
	image = image_of(machine, path);
	assert_null(user_stacks_take_look(stacks, image));
	assert_non_null(table_of(stacks, image));
	look = user_stacks_take_look(stacks, image);
	assert_non_null(look);
	assert_null(user_stacks_take_look(stacks, image));
	assert_int_equal(look->loss, N_LOSS_REASONS);
	key = image_cache_key(&look->image);
	assert_true(key.len > 0);
	free(look);
	user_stacks_free(stacks);
	/* Who knows the key needs no file. */
	assert_int_equal(unlink(path), 0);
	stacks = user_stacks_new(&config);
	user_stacks_know_key(stacks, image, &key);
	assert_true(user_stacks_table(stacks, 0, image, &table));
	assert_non_null(table);
	user_stacks_free(stacks);
	machine_free(machine);
	free(path);
	free(folder);
}

/* A job that takes as long as a file system that does not answer. */
static atomic_bool is_held;

static void run_held(struct file_job *job)
{
	(void)job;
	while (atomic_load(&is_held))
		sched_yield();
}

static void ignore_job(struct file_job *job)
{
	(void)job;
}

static void files_are_opened_on_a_thread_of_the_jobs(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	struct file_jobs *jobs = file_jobs_new();
	struct user_stacks *stacks =
		user_stacks_new(&(struct user_stacks_config){ .machine = machine, .jobs = jobs });
	struct file_job held = {
		.user = UINT32_MAX, .run = run_held, .done = ignore_job, .free = ignore_job
	};
	const struct unwind_table *table = NULL;
	char *folder = getcwd(NULL, 0), *path = xasprintf("%s/other", folder);
	image_id image;
	uint64_t generation;

	(void)state;
	run_command("cp %s other", own_program());
	image = image_of(machine, path);
	atomic_store(&is_held, true);
	file_jobs_add(jobs, &held);
	assert_false(user_stacks_table(stacks, 0, image, &table));
	generation = user_stacks_generation(stacks);
	assert_int_equal(unlink(path), 0); /* nobody has opened it yet */
	atomic_store(&is_held, false);
	while (file_jobs_count(jobs)) {
		file_jobs_wait(jobs, UINT64_MAX);
		file_jobs_take(jobs);
	}
	assert_true(user_stacks_generation(stacks) > generation);
	while (!user_stacks_table(stacks, 0, image, &table))
		sched_yield();
	assert_null(table);
	file_jobs_free(jobs);
	user_stacks_free(stacks);
	machine_free(machine);
	free(path);
	free(folder);
}

/* No table is built while this is set. */
static atomic_bool is_gate_shut;

int __real_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err);
int __wrap_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err);

int __wrap_parser_ask(const struct parser_question *q, struct parser_answer *a, struct error *err)
{
	while (q->row == &file_unwind_row && atomic_load(&is_gate_shut))
		sched_yield();
	return __real_parser_ask(q, a, err);
}

struct machine_sink {
	struct event_sink sink;
	struct machine *machine;
};

static int give_machine(struct event_sink *sink, const struct event *e)
{
	machine_event(((struct machine_sink *)sink)->machine, e);
	return 0;
}

#if defined(__aarch64__)
enum { FP_NUMBER = 29, SP_NUMBER = 31, PC_NUMBER = 32 };
#else
enum { FP_NUMBER = 6, SP_NUMBER = 7, PC_NUMBER = 16 };
#endif

/* Process 41 has many programs mapped. If a walk waited for each, this test would take too long. */
#define PROGRAMS 100
#define PLACE(i) (0x10010 + (uint64_t)(i)*0x1000)

/* A stack in a program, whose frame pointer leads nowhere. */
static struct user_chain walk_at(struct user_stacks *stacks, struct machine *machine, uint64_t pc,
				 uint64_t time_ns)
{
	static const uint64_t stack[64];
	uint64_t regs[DWARF_REGISTERS] = {
		[FP_NUMBER] = 8, [SP_NUMBER] = 0x7000, [PC_NUMBER] = pc
	};
	struct user_copy copy = {
		.regs = regs, .stack = stack, .stack_size = sizeof(stack), .time_ns = time_ns
	};
	struct thread_view thread = machine_thread(machine, 41, 41);

	return user_stacks_walk_copy(stacks, 41, &thread, &copy, TABLE_AWAITED);
}

static struct user_chain walk(struct user_stacks *stacks, struct machine *machine, uint64_t pc)
{
	return walk_at(stacks, machine, pc, 0);
}

#if defined(__x86_64__) /* V8 is known there alone */
static bool count_look(void *context, int32_t pid, image_id image,
		       const struct lang_runtime **runtime)
{
	(void)pid, (void)image, (void)runtime;
	++*(int *)context;
	return false;
}

static void ignore_loss(void *context, enum loss_reason reason)
{
	(void)context, (void)reason;
}

/* The walk for a table comes first. It does not look for the runtime, whose file it keeps. */
static void a_walk_without_code_hides_no_runtime(void **state)
{
	struct machine *machine = machine_new(&(struct machine_config){ .is_offline = true });
	struct machine_sink sink = { { give_machine }, machine };
	int n_looks = 0;
	struct v8_stacks *v8 = v8_stacks_new(&(struct v8_stacks_config){ .machine = machine,
									 .proc = "/absent",
									 .look = count_look,
									 .lose = ignore_loss,
									 .context = &n_looks });
	struct user_stacks *stacks = user_stacks_new(
		&(struct user_stacks_config){ .machine = machine, .arch = "x86_64", .v8 = v8 });
	char *folder = getcwd(NULL, 0);
	char *event =
		xasprintf("0.6 cpu0 41/41 mmap start=0x10000 size=0x1000 off=0 path=\"%s/node\"\n",
			  folder);

	(void)state;
	run_command("cp %s node", own_program());
	assert_int_equal(event_parse_text(event, &sink.sink, NULL), 0);
	walk_at(stacks, machine, PLACE(0), 0);
	assert_int_equal(n_looks, 0);
	walk_at(stacks, machine, PLACE(0), 1);
	assert_int_equal(n_looks, 1);
	user_stacks_free(stacks);
	v8_stacks_free(v8);
	machine_free(machine);
	free(event);
	free(folder);
}
#endif

struct living {
	struct machine *machine;
	struct file_jobs *jobs;
	struct user_stacks *stacks;
};

static void map_programs(struct machine *machine)
{
	struct machine_sink sink = { { give_machine }, machine };

	for (int i = 0; i < PROGRAMS; i++) {
		cleanup(free_at_exit) char *event = xasprintf(
			"0.6 cpu0 41/41 mmap start=0x%lx size=0x1000 off=0 path=\"/app%d\"\n",
			PLACE(i) & ~0xfffUL, i);

		assert_int_equal(event_parse_text(event, &sink.sink, NULL), 0);
	}
}

/* No table of a program is built until the gate is opened. */
static struct living living_new(void)
{
	struct machine *machine =
		machine_new(&(struct machine_config){ .proc = "proc", .sys = "." });
	struct file_jobs *jobs = file_jobs_new();

	run_command("mkdir -p proc/41/root && cd proc/41/root && cp %s app0 && "
		    "for i in $(seq %d); do ln -f app0 app$i; done",
		    own_program(), PROGRAMS - 1);
	map_programs(machine);
	atomic_store(&is_gate_shut, true);
	return (struct living){ machine, jobs,
				user_stacks_new(&(struct user_stacks_config){
					.machine = machine, .proc = "proc", .jobs = jobs }) };
}

static void living_free(struct living *l)
{
	atomic_store(&is_gate_shut, false);
	file_jobs_free(l->jobs);
	user_stacks_free(l->stacks);
	machine_free(l->machine);
}

static void a_walk_does_not_wait_for_a_table_for_ever(void **state)
{
	struct living l = living_new();
	struct user_chain chain;

	(void)state;
	chain = walk(l.stacks, l.machine, PLACE(0)); /* two seconds */
	assert_int_equal(chain.n, 1);
	assert_int_equal(chain.cut, LOSS_STACK_NO_TABLE);
	for (int i = 0; i < 1000; i++) /* at once, or the test takes too long */
		assert_int_equal(walk(l.stacks, l.machine, PLACE(0)).cut, LOSS_STACK_NO_TABLE);
	atomic_store(&is_gate_shut, false);
	while (walk(l.stacks, l.machine, PLACE(0)).cut == LOSS_STACK_NO_TABLE)
		sched_yield();
	living_free(&l);
}

/* By frame pointer, a stack ends at 0. Code without frame pointers has 0 there by chance. */
static void a_leaf_whose_table_is_late_is_cut(void **state)
{
	static const uint64_t stack[64];
	struct living l = living_new();
	uint64_t regs[DWARF_REGISTERS] = { [SP_NUMBER] = 0x7000, [PC_NUMBER] = PLACE(0) };
	struct user_copy copy = { .regs = regs, .stack = stack, .stack_size = sizeof(stack) };
	struct thread_view thread = machine_thread(l.machine, 41, 41);
	struct user_chain chain =
		user_stacks_walk_copy(l.stacks, 41, &thread, &copy, TABLE_GIVEN_UP);

	(void)state;
	assert_int_equal(chain.n, 1);
	assert_int_equal(chain.cut, LOSS_STACK_NO_TABLE);
	living_free(&l);
}

static void all_walks_together_do_not_wait_for_ever(void **state)
{
	struct living l = living_new();

	(void)state;
	user_stacks_charge(l.stacks, UINT64_MAX / 2, 0);
	for (int i = 0; i < PROGRAMS; i++)
		assert_int_equal(walk(l.stacks, l.machine, PLACE(i)).cut, LOSS_STACK_NO_TABLE);
	living_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_opened_once_for_its_table),
		cmocka_unit_test(one_look_is_for_the_table_and_the_identity),
		cmocka_unit_test(files_are_opened_on_a_thread_of_the_jobs),
#if defined(__x86_64__)
		cmocka_unit_test(a_walk_without_code_hides_no_runtime),
#endif
		cmocka_unit_test(a_walk_does_not_wait_for_a_table_for_ever),
		cmocka_unit_test(a_leaf_whose_table_is_late_is_cut),
		cmocka_unit_test(all_walks_together_do_not_wait_for_ever),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
