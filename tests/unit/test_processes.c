/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contexts told by call chains, and the rows of processes made of them. */
#include "folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "profile/processes.h"
#include "profile/query.h"
#include "store/native.h"
#include "store/session.h"
#include "store/store.h"
#include "symbol/symbols.h"

#define SECOND    1000000000ULL
#define CODE_STEP 0x100
#define MAX_CHAIN 10

/*
 * A chain, innermost first. A name is a kernel function; "u:NAME" a user one, "?" an address of the
 * kernel that no image has, "?u" one of a program.
 */
struct chain {
	int32_t pid;
	enum sample_context context;
	const char *frames[MAX_CHAIN];
};

static const struct chain chains[] = {
	{ 10, CONTEXT_USER, { "u:spin", "u:main" } },
	{ 10, CONTEXT_SYSTEM, { "copy_to_user", "ksys_read", "do_syscall_64", "u:main" } },
	{ 10,
	  CONTEXT_SYSTEM,
	  { "handle_mm_fault", "exc_page_fault", "asm_exc_page_fault", "u:f" } },
	/* hard and soft interrupts on x86-64, on user code and in a system call */
	{ 10,
	  CONTEXT_IRQ,
	  { "e1000_intr", "common_interrupt", "asm_common_interrupt", "u:spin", "u:main" } },
	{ 10,
	  CONTEXT_SOFTIRQ,
	  { "net_rx_action", "handle_softirqs", "__irq_exit_rcu", "sysvec_apic_timer_interrupt",
	    "asm_sysvec_apic_timer_interrupt", "ksys_read", "u:main" } },
	{ 10, CONTEXT_IRQ, { "asm_sysvec_reschedule_ipi", "u:spin" } },
	{ 10,
	  CONTEXT_IRQ,
	  { "tick", "sysvec_apic_timer_interrupt", "asm_sysvec_apic_timer_interrupt",
	    "handle_softirqs", "asm_common_interrupt", "u:spin" } },
	/* its own packets, after a system call */
	{ 10,
	  CONTEXT_SOFTIRQ,
	  { "tcp_v4_rcv", "__do_softirq", "do_softirq.part.0", "__local_bh_enable_ip", "u:send" } },
	/* the way back is the interrupt's, what is done on it the process's */
	{ 10,
	  CONTEXT_IRQ,
	  { "irqentry_exit_to_user_mode", "asm_sysvec_reschedule_ipi", "u:spin" } },
	{ 10,
	  CONTEXT_SYSTEM,
	  { "__schedule", "schedule", "irqentry_exit_to_user_mode", "asm_sysvec_reschedule_ipi",
	    "u:spin" } },
	{ 10,
	  CONTEXT_SYSTEM,
	  { "__schedule", "preempt_schedule_irq", "irqentry_exit", "asm_common_interrupt",
	    "ksys_read", "u:main" } },
	/* AArch64 */
	{ 10,
	  CONTEXT_IRQ,
	  { "handle_irq_event", "gic_handle_irq", "call_on_irq_stack", "do_interrupt_handler",
	    "el1_interrupt", "el1h_64_irq_handler", "el1h_64_irq", "el0_svc", "u:main" } },
	{ 10, CONTEXT_IRQ, { "gic_handle_irq", "el0t_64_irq_handler", "el0t_64_irq", "u:spin" } },
	{ 10,
	  CONTEXT_SOFTIRQ,
	  { "rcu_core", "handle_softirqs", "irq_exit_rcu", "el0_interrupt", "el0t_64_irq" } },
	{ 10,
	  CONTEXT_SYSTEM,
	  { "__schedule", "arm64_preempt_schedule_irq", "el1_interrupt", "el1h_64_irq",
	    "vfs_read" } },
	/* threads of the kernel */
	{ 20, CONTEXT_SYSTEM, { "worker_thread", "kthread", "ret_from_fork" } },
	{ 21, CONTEXT_SOFTIRQ, { "handle_softirqs", "run_ksoftirqd", "kthread" } },
	{ 22, CONTEXT_IDLE, { "mwait_idle", "do_idle", "play_idle_precise", "kthread" } },
	/* the idle task */
	{ 0,
	  CONTEXT_IDLE,
	  { "pv_native_safe_halt", "default_idle", "do_idle", "cpu_startup_entry" } },
	{ 0, CONTEXT_IDLE, { "secondary_startup_64" } },
	{ 0,
	  CONTEXT_IRQ,
	  { "e1000_intr", "asm_common_interrupt", "do_idle", "cpu_startup_entry" } },
	{ 0,
	  CONTEXT_SOFTIRQ,
	  { "handle_softirqs", "asm_common_interrupt", "default_idle", "do_idle" } },
	{ 0,
	  CONTEXT_IDLE,
	  { "__schedule", "schedule_idle", "irqentry_exit", "asm_common_interrupt" } },
	/* addresses without an image: the upper half is the kernel's */
	{ 30, CONTEXT_SYSTEM, { "?", "u:main" } },
	{ 30, CONTEXT_IRQ, { "?", "asm_common_interrupt", "u:main" } },
	{ 30, CONTEXT_USER, { "?u" } },
	/* what only looks like it */
	{ 30, CONTEXT_SYSTEM, { "common_interrupt_setup", "u:main" } },
	{ 30, CONTEXT_USER, { "u:asm_common_interrupt", "u:main" } },
};

struct world {
	char dir[64], path[80];
	struct image_table *images;
	struct strings names, comms; /* of functions: their place in their image */
	image_id kernel, program;
	struct store *store;
	struct session *session;
	struct symbolizer *symbols;
	struct counter_info counter;
};

static struct code_addr place_of(struct world *w, const char *name)
{
	struct code_addr at = { w->kernel, 0 };
	uint32_t known = w->names.n;
	struct code_symbol symbol;

	if (name[0] == '?')
		return (struct code_addr){ IMAGE_UNKNOWN_ID,
					   name[1] ? 0x5000 : 0xffffffff90000000ULL };
	at.offset = strings_add(&w->names, name).n * (uint64_t)CODE_STEP;
	if (!strncmp(name, "u:", 2))
		at.image = w->program;
	symbol = (struct code_symbol){ at.image, at.offset, CODE_STEP,
				       strncmp(name, "u:", 2) ? name : name + 2 };
	if (w->names.n != known)
		native_store.name_code(w->store, &symbol);
	at.offset += 0x10;
	return at;
}

static void put_chain(struct world *w, const struct chain *c, uint64_t samples)
{
	struct code_addr frames[MAX_CHAIN];
	char comm[32];
	struct sample s = { .class = { .app = w->program, .pid = c->pid, .tid = c->pid },
			    .time_ns = 100 * SECOND + 5,
			    .frames = frames,
			    .samples = samples,
			    .period = samples * 1000000 };

	snprintf(comm, sizeof(comm), "p%" PRId32, c->pid);
	s.class.comm = strings_add(&w->comms, comm);
	while (s.n_frames < MAX_CHAIN && c->frames[s.n_frames]) {
		frames[s.n_frames] = place_of(w, c->frames[s.n_frames]);
		s.n_frames++;
	}
	assert_int_equal(native_store.add(w->store, &s, NULL), 0);
}

static void world_open(struct world *w, const struct counter_info *counter)
{
	const struct symbolizer_config config = { .cache_dir = "" };
	const struct session_info info = { .version = "",
					   .command = "",
					   .target = "",
					   .hostname = "",
					   .os_release = "",
					   .arch = "",
					   .cpu_model = "",
					   .collector = "",
					   .stacks = "",
					   .note = "",
					   .start_ns = 100 * SECOND,
					   .counters = &w->counter,
					   .n_counters = 1 };

	*w = (struct world){ .dir = "processes-XXXXXX", .counter = *counter };
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/s", w->dir);
	w->images = image_table_new();
	strings_init(&w->names);
	strings_init(&w->comms);
	w->kernel = image_intern(w->images,
				 &(struct image){ .kind = IMAGE_KERNEL, .path = "[kernel]" });
	w->program = image_intern(w->images, &(struct image){ .kind = IMAGE_JIT, .path = "spin" });
	assert_int_equal(native_store.open(w->path, &info, w->images, &w->comms, &w->store, NULL),
			 0);
	w->symbols = symbolizer_new(&config);
}

static void world_close_store(struct world *w)
{
	const struct session_end end = { .end_ns = 101 * SECOND, .exit_status = -1 };
	uint64_t n_unwritten;

	native_store.lose(w->store, LOSS_RING_FULL, UINT32_MAX, 7);
	assert_int_equal(native_store.close(w->store, &end, &n_unwritten, NULL), 0);
	assert_int_equal(session_open(w->path, &w->session, NULL), 0);
}

static void world_fini(struct world *w)
{
	session_close(w->session);
	symbolizer_free(w->symbols);
	image_table_free(w->images);
	strings_fini(&w->names);
	strings_fini(&w->comms);
	file_remove_tree(w->dir, NULL);
}

static const struct counter_info clock_counter = {
	.name = "cpu-clock", .spec = "", .unit = "ns", .freq_hz = 1000
};

static struct profile *load(const struct world *w, const struct query *q)
{
	struct profile_request request = { .session = w->session,
					   .symbols = w->symbols,
					   .query = q };

	processes_request(&request);
	return profile_load(&request);
}

static void a_chain_tells_the_context(void **state)
{
	const struct query q = { .with_idle = true };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		struct processes list;
		struct profile *p;
		struct world w;

		world_open(&w, &clock_counter);
		put_chain(&w, &chains[i], 3);
		world_close_store(&w);
		p = load(&w, &q);
		processes_make(&list, p, processes_first_lane(p));
		if (list.total.by[chains[i].context].samples != 3)
			print_message("chain %zu: %s …\n", i, chains[i].frames[0]);
		assert_int_equal(list.total.by[chains[i].context].samples, 3);
		assert_int_equal(list.total.all.samples, 3);
		processes_fini(&list);
		profile_free(p);
		world_fini(&w);
	}
}

static void fill(struct world *w)
{
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		put_chain(w, &chains[i], i + 1);
	world_close_store(w);
}

static void rows_add_up_and_stand_by_weight(void **state)
{
	const struct query q = { .with_idle = true };
	uint64_t want[N_CONTEXTS] = { 0 }, sum = 0, unknown = 0;
	struct processes list;
	struct profile *p;
	struct world w;

	(void)state;
	world_open(&w, &clock_counter);
	fill(&w);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++) {
		want[chains[i].context] += i + 1;
		unknown += chains[i].frames[0][0] == '?' ? i + 1 : 0;
	}
	p = load(&w, &q);
	processes_make(&list, p, processes_first_lane(p));
	assert_int_equal(list.rows.n, 6);
	for (int c = 0; c < N_CONTEXTS; c++) {
		uint64_t n = 0;

		vec_foreach (&list.rows, row)
			n += row->by[c].samples;
		assert_int_equal(n, want[c]);
		assert_int_equal(list.total.by[c].samples, want[c]);
		sum += n;
	}
	assert_int_equal(sum, list.total.all.samples);
	assert_int_equal(sum, p->lanes[0].total.samples);
	assert_int_equal(sum, p->n_stored);
	assert_int_equal(list.total.unknown.samples, unknown);
	assert_int_equal(p->losses[LOSS_RING_FULL], 7);
	for (size_t i = 1; i + 1 < list.rows.n; i++)
		assert_true(list.rows.data[i - 1].all.samples >= list.rows.data[i].all.samples);
	assert_true(list.rows.data[list.rows.n - 1].is_idle_task);
	assert_string_equal(process_name(&list, &list.rows.data[list.rows.n - 1]), "[idle]");
	assert_string_equal(process_name(&list, &list.rows.data[0]), "p30");
	assert_int_equal(process_pid(&list, &list.rows.data[0]), 30);
	processes_fini(&list);
	profile_free(p);
	world_fini(&w);
}

static void seconds_follow_the_clock(void **state)
{
	static const struct {
		struct counter_info counter;
		enum time_basis basis;
		double seconds;
	} cases[] = {
		{ { .name = "cpu-clock", .spec = "", .unit = "ns", .freq_hz = 4 },
		  TIME_PERIOD,
		  0.02 },
		{ { .name = "cpu-clock", .spec = "", .unit = "ns", .count = 9 },
		  TIME_PERIOD,
		  0.02 },
		{ { .name = "cycles", .spec = "", .unit = "events", .freq_hz = 100 },
		  TIME_RATE,
		  0.2 },
		{ { .name = "cycles", .spec = "", .unit = "events", .count = 100 }, TIME_NONE, 0 },
	};
	const struct query q = { .with_idle = true };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct processes list;
		struct profile *p;
		struct world w;

		world_open(&w, &cases[i].counter);
		put_chain(&w, &chains[0], 20);
		world_close_store(&w);
		p = load(&w, &q);
		processes_make(&list, p, processes_first_lane(p));
		assert_int_equal(list.basis, cases[i].basis);
		assert_true(processes_seconds(&list, &list.total.all) - cases[i].seconds < 1e-9);
		assert_true(processes_seconds(&list, &list.total.all) - cases[i].seconds > -1e-9);
		processes_fini(&list);
		profile_free(p);
		world_fini(&w);
	}
}

static void a_filter_takes_contexts(void **state)
{
	uint64_t n_irq = 0;
	struct query q = { .with_idle = true };
	struct profile_request request = { .query = &q, .with_functions = true };
	struct profile *p;
	struct world w;

	(void)state;
	world_open(&w, &clock_counter);
	fill(&w);
	for (size_t i = 0; i < ARRAY_SIZE(chains); i++)
		if (chains[i].context == CONTEXT_IRQ || chains[i].context == CONTEXT_SOFTIRQ)
			n_irq += i + 1;
	assert_int_equal(query_add(&q, "context:*irq", NULL), 0);
	request.session = w.session;
	request.symbols = w.symbols;
	p = profile_load(&request);
	assert_int_equal(p->n_selected, n_irq);
	assert_int_equal(p->n_selected + p->n_filtered, p->n_stored);
	profile_free(p);
	query_fini(&q);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_tells_the_context),
		cmocka_unit_test(rows_add_up_and_stand_by_weight),
		cmocka_unit_test(seconds_follow_the_clock),
		cmocka_unit_test(a_filter_takes_contexts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
