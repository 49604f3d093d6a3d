/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole stacks against another unwinder. Real programs are stepped instruction by instruction. From
 * the same registers and stack bytes, we and libdw (elfutils) must find the same frames.
 */
#include "scratch.h"
#include "unwind_world.h"

#include "config.h"

#if HAVE_LIBDW
#include <elfutils/libdwfl.h>

#define STACK_SIZE (64 << 10)
#define MAX_FRAMES 256

struct reference {
	Dwfl *dwfl;
	pid_t pid;
	const struct world_sample *sample;
	uint64_t pcs[MAX_FRAMES];
	size_t n;
};

static pid_t next_thread(Dwfl *dwfl, void *arg, void **thread_arg)
{
	struct reference *ref = arg;

	(void)dwfl;
	if (*thread_arg)
		return 0;
	*thread_arg = ref;
	return ref->pid;
}

static bool get_thread(Dwfl *dwfl, pid_t tid, void *arg, void **thread_arg)
{
	(void)dwfl;
	(void)tid;
	*thread_arg = arg;
	return true;
}

static bool read_memory(Dwfl *dwfl, Dwarf_Addr addr, Dwarf_Word *result, void *arg)
{
	struct reference *ref = arg;
	const struct world_sample *s = ref->sample;
	uint64_t at = addr - s->sp, below = addr - (s->sp - sizeof(s->red_zone)), value;

	(void)dwfl;
	if (below <= sizeof(s->red_zone) - 8)
		memcpy(&value, s->red_zone + below, 8);
	else if (at <= s->stack_size && s->stack_size - at >= 8)
		memcpy(&value, s->stack + at, 8);
	else
		return false;
	*result = value;
	return true;
}

static bool set_registers(Dwfl_Thread *thread, void *arg)
{
	struct reference *ref = arg;
	Dwarf_Word words[ARRAY_SIZE(ref->sample->dwarf)];
	unsigned int n = MIN(ref->sample->n_dwarf, 32u); /* AArch64's pc has no number for libdw */

	for (unsigned int i = 0; i < n; i++)
		words[i] = ref->sample->dwarf[i];
	dwfl_thread_state_register_pc(thread, ref->sample->pc);
	return dwfl_thread_state_registers(thread, 0, n, words);
}

static int no_debug_info(Dwfl_Module *m, void **u, const char *n, Dwarf_Addr b, const char *f,
			 const char *l, GElf_Word c, char **d)
{
	(void)m, (void)u, (void)n, (void)b, (void)f, (void)l, (void)c, (void)d;
	return -1;
}

static const Dwfl_Callbacks dwfl_callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = no_debug_info,
};

static const Dwfl_Thread_Callbacks thread_callbacks = {
	.next_thread = next_thread,
	.get_thread = get_thread,
	.memory_read = read_memory,
	.set_initial_registers = set_registers,
};

static int on_frame(Dwfl_Frame *frame, void *arg)
{
	struct reference *ref = arg;
	Dwarf_Addr pc;

	if (ref->n == MAX_FRAMES || !dwfl_frame_pc(frame, &pc, NULL))
		return DWARF_CB_ABORT;
	ref->pcs[ref->n++] = pc;
	return DWARF_CB_OK;
}

static bool reference_open(struct reference *ref, pid_t pid)
{
	ref->pid = pid;
	ref->dwfl = dwfl_begin(&dwfl_callbacks);
	return ref->dwfl && dwfl_linux_proc_report(ref->dwfl, pid) == 0 &&
	       dwfl_report_end(ref->dwfl, NULL, NULL) == 0 &&
	       dwfl_attach_state(ref->dwfl, NULL, pid, &thread_callbacks, ref);
}

static void reference_walk(struct reference *ref, const struct world_sample *sample)
{
	ref->sample = sample;
	ref->n = 0;
	dwfl_getthread_frames(ref->dwfl, ref->pid, on_frame, ref);
}

struct tally {
	size_t stacks, frames, equal, complete;
	size_t stops[N_UNWIND_STOPS];
	unsigned int shown;
};

static void show(struct tally *t, const struct world *w, const struct unwind_chain *ours,
		 const struct reference *theirs)
{
	if (t->shown++ >= 3)
		return;
	for (size_t i = 0; i < MAX(ours->n, theirs->n); i++) {
		uint64_t a = i < ours->n ? ours->pcs[i] : 0, b = i < theirs->n ? theirs->pcs[i] : 0;
		const struct world_map *map = world_map_at(w, a);

		print_message("# %2zu %16lx %16lx %s+%lx\n", i, (long)a, (long)b,
			      map && map->image >= 0 ? w->images.data[map->image].path : "?",
			      map ? (long)(a - map->start + map->file_off) : 0);
	}
	print_message("# ended: %s\n", unwind_stop_keys[ours->stop]);
}

static void compare(struct tally *t, const struct world *w, const struct unwind_chain *ours,
		    const struct reference *theirs)
{
	size_t n = MAX(ours->n, theirs->n), equal = 0;

	for (size_t i = 0; i < MIN(ours->n, theirs->n); i++)
		equal += ours->pcs[i] == theirs->pcs[i];
	t->stacks++;
	t->frames += n;
	t->equal += equal;
	t->complete += ours->stop == UNWIND_END;
	t->stops[ours->stop]++;
	if (equal != n)
		show(t, w, ours, theirs);
}

/* What an unwinder remembers of earlier stacks changes nothing: one that remembers nothing agrees.
 */
static void assert_same_unremembered(struct unwind_input in, const struct unwind_chain *warm)
{
	struct unwinder *u = unwinder_new();
	uint64_t pcs[MAX_FRAMES];
	struct unwind_chain cold = { .pcs = pcs, .max = MAX_FRAMES };

	in.space = 0;
	unwind_walk(u, &in, &cold);
	unwinder_free(u);
	assert_int_equal(cold.n, warm->n);
	assert_int_equal(cold.n_by_fp, warm->n_by_fp);
	assert_int_equal(cold.stop, warm->stop);
	assert_memory_equal(cold.pcs, warm->pcs, warm->n * sizeof(*pcs));
}

static pid_t start_traced(char *const argv[])
{
	pid_t pid = world_start(argv);
	struct world_sample sample = { 0 };
	uint64_t word;

	if (pid < 0)
		skip_because("ptrace(2) is refused here");
	if (!world_registers(pid, &sample) || !world_read(pid, sample.sp, &word, sizeof(word))) {
		world_end(pid);
		skip_because("process_vm_readv(2) is refused here");
	}
	return pid;
}

/*
 * Steps in bursts: `steps` instructions in a row, then the program runs freely
 * for `us` microseconds. What a burst maps anew is looked at when it ends.
 */
static void trace(struct tally *t, char *const argv[], unsigned int bursts, unsigned int steps,
		  useconds_t us)
{
	uint64_t pcs[MAX_FRAMES];
	pid_t pid = start_traced(argv);
	struct unwinder *u = unwinder_new();
	struct reference ref = { 0 };
	struct world w = { 0 };
	bool is_alive = true;

	for (unsigned int burst = 0; burst < bursts && is_alive; burst++) {
		if (world_look(&w, pid) || !ref.dwfl) {
			dwfl_end(ref.dwfl);
			assert_true(reference_open(&ref, pid));
		}
		for (unsigned int i = 0; i < steps && (is_alive = world_step(pid)); i++) {
			struct unwind_chain chain = { .pcs = pcs, .max = MAX_FRAMES };
			struct world_sample sample;
			struct unwind_input in;

			assert_true(world_sample(pid, STACK_SIZE, &sample));
			in = world_input(&w, &sample);
			in.space = burst + 1;
			if (world_map_at(&w, in.regs.pc)) {
				unwinder_expect(u, in.space, in.regs.pc, in.regs.sp, in.stack,
						in.stack_size);
				unwind_walk(u, &in, &chain);
				assert_same_unremembered(in, &chain);
				reference_walk(&ref, &sample);
				compare(t, &w, &chain, &ref);
			}
			free(sample.stack);
		}
		is_alive = is_alive && (!us || world_run(pid, us));
	}
	world_end(pid);
	dwfl_end(ref.dwfl);
	world_fini(&w);
	unwinder_free(u);
}

static void assert_equal_enough(const char *what, const struct tally *t)
{
	print_message("# %s: %zu stacks, %zu of %zu frames equal (%.3f %%), %zu complete\n", what,
		      t->stacks, t->equal, t->frames, 100.0 * (double)t->equal / (double)t->frames,
		      t->complete);
	for (int i = 1; i < N_UNWIND_STOPS; i++)
		if (t->stops[i])
			print_message("#   %zu %s\n", t->stops[i], unwind_stop_keys[i]);
	assert_true(t->stacks > 100);
	assert_true((double)t->equal >= 0.995 * (double)t->frames);
}

static void a_program_is_followed_from_its_first_instruction(void **state)
{
	const char *few = getenv("ASSAY_TEST_STEPS");
	struct tally t = { 0 };

	(void)state;
	/* Where each step is slow, in an emulated machine, fewer do. */
	trace(&t, (char *[]){ "true", NULL }, 6, few ? (unsigned int)atoi(few) : 4000, 0);
	assert_equal_enough("true", &t);
}

static const char exceptions[] =
	"#include <algorithm>\n#include <stdexcept>\n#include <string>\n#include <vector>\n"
	"struct noisy { std::string s; ~noisy() { s += 'x'; } };\n"
	"__attribute__((noinline)) int deep(int n) {\n"
	"  noisy a{std::string(n + 20, 'a')};\n"
	"  if (!n) throw std::runtime_error(a.s);\n"
	"  return deep(n - 1) + (int)a.s.size(); }\n"
	"int main() { volatile int sum = 0;\n"
	"  for (int i = 0; i < 100000; i++) {\n"
	"    std::vector<int> v(50); for (auto &x : v) x = rand();\n"
	"    std::sort(v.begin(), v.end());\n"
	"    try { sum += deep(i % 7); } catch (std::exception &e) { sum += e.what()[0]; } } }\n";

static void exceptions_of_a_cxx_program_are_followed(void **state)
{
	struct tally t = { 0 };

	(void)state;
	need_command("g++ --version");
	write_file("exceptions.cc", exceptions);
	run_command("g++ -O2 -o exceptions exceptions.cc");
	trace(&t, (char *[]){ "./exceptions", NULL }, 8, 1500, 3000);
	assert_equal_enough("exceptions", &t);
}

static void python_is_followed(void **state)
{
	struct tally t = { 0 };

	(void)state;
	need_command("/usr/bin/python3 --version");
	trace(&t,
	      (char *[]){ "/usr/bin/python3", "-c",
			  "import json,re\nwhile 1: json.loads(json.dumps({'a':[1,2.5]*9})); "
			  "re.compile('a+%d'%9).match('aaa'); sorted([3,1,2],key=lambda x:-x)",
			  NULL },
	      20, 400, 20000);
	assert_equal_enough("python3", &t);
}

static void git_is_followed(void **state)
{
	struct tally t = { 0 };

	(void)state;
	need_command("git init -q . && for i in 1 2 3 4 5 6 7 8; do seq 1 ${i}000 > $i; done && "
		     "git add . && git -c user.name=a -c user.email=a@b commit -qm one");
	for (int i = 0; i < 4; i++)
		trace(&t, (char *[]){ "git", "fsck", "--strict", NULL }, 10, 250, 700);
	assert_equal_enough("git", &t);
}

static const char signals[] =
	"#include <signal.h>\n#include <stdlib.h>\n#include <unistd.h>\n#include <time.h>\n"
	"static volatile int n;\n"
	"static int compare(const void *a, const void *b) { return *(int *)a - *(int *)b; }\n"
	"static void sort(void) { int v[30]; for (int i = 0; i < 30; i++) v[i] = 31 * i % 17;\n"
	"  qsort(v, 30, sizeof(int), compare); n += v[3]; }\n"
	"static void on_signal(int s) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); "
	"sort(); n += s; }\n"
	"int main(void) { signal(SIGUSR1, on_signal);\n"
	"  for (;;) { sort(); raise(SIGUSR1); } }\n";

static void signal_handlers_are_followed_into_the_interrupted_code(void **state)
{
	struct tally t = { 0 };

	(void)state;
	need_command("cc --version");
	write_file("signals.c", signals);
	run_command("cc -O2 -fomit-frame-pointer -o signals signals.c");
	trace(&t, (char *[]){ "./signals", NULL }, 1, 30000, 0);
	assert_equal_enough("signals", &t);
}

#else
#define SKIPPED(name)                                \
	static void name(void **state)               \
	{                                            \
		(void)state;                         \
		skip_because("built without libdw"); \
	}
SKIPPED(a_program_is_followed_from_its_first_instruction)
SKIPPED(exceptions_of_a_cxx_program_are_followed)
SKIPPED(python_is_followed)
SKIPPED(git_is_followed)
SKIPPED(signal_handlers_are_followed_into_the_interrupted_code)
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_program_is_followed_from_its_first_instruction),
		cmocka_unit_test(exceptions_of_a_cxx_program_are_followed),
		cmocka_unit_test(python_is_followed),
		cmocka_unit_test(git_is_followed),
		cmocka_unit_test(signal_handlers_are_followed_into_the_interrupted_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
