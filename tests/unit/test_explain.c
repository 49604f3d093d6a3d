/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rules of `assay explain`, each at its limit and below it, and facts of made-up sessions. */
#include <inttypes.h>

#include "store_world.h"

#include "base/buf.h"
#include "explain/rules.h"
#include "profile/query.h"
#include "symbol/symbols.h"

static const struct explain_commands test_commands = { " -i s", "assay record", " -- ./app" };

/* ---- the table ---- */

static void facts_init(struct explain_facts *f)
{
	*f = (struct explain_facts){ .cpu = "CPU time", .n_samples = 100000 };
	strings_init(&f->texts);
}

static void set_share(struct explain_facts *f, int id, double share)
{
	f->fact[id].part = share * 1e9;
	f->fact[id].whole = 1e9;
	f->fact[id].unit = EXPLAIN_NS;
	f->fact[id].of_symbol = 0.25;
	f->fact[id].n = 3;
}

static void set_texts(struct explain_facts *f, int id, const char *text)
{
	for (int i = 0; i < N_EXPLAIN_TEXTS; i++)
		explain_set_text(f, (enum explain_rule_id)id, (enum explain_text)i, text);
}

static size_t count_findings(const struct explain_facts *f)
{
	enum explain_rule_id ids[EXPLAIN_MAX_FINDINGS];

	return explain_choose(f, ids);
}

static void a_rule_is_a_finding_from_its_limit_on(void **state)
{
	(void)state;
	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		struct explain_facts f;

		facts_init(&f);
		set_share(&f, id, explain_rules[id].least + 1e-6);
		assert_int_equal(count_findings(&f), 1);
		set_share(&f, id, explain_rules[id].least - 1e-6);
		assert_int_equal(count_findings(&f), 0);
		explain_facts_fini(&f);
	}
}

static void a_fact_that_is_not_known_is_no_finding(void **state)
{
	struct explain_facts f;

	(void)state;
	facts_init(&f);
	assert_int_equal(count_findings(&f), 0);
	for (int id = 0; id < N_EXPLAIN_RULES; id++)
		f.fact[id].part = 5; /* of nothing */
	assert_int_equal(count_findings(&f), 0);
	explain_facts_fini(&f);
}

static void a_share_of_few_samples_is_no_finding_unless_it_is_measured(void **state)
{
	struct explain_facts f;

	(void)state;
	facts_init(&f);
	set_share(&f, EXPLAIN_HOT_FUNCTION, 0.5);
	f.n_samples = 2 * EXPLAIN_MIN_SAMPLES;
	assert_int_equal(count_findings(&f), 1);
	f.n_samples--;
	assert_int_equal(count_findings(&f), 0);
	f.fact[EXPLAIN_HOT_FUNCTION].is_measured = true;
	assert_int_equal(count_findings(&f), 1);
	explain_facts_fini(&f);
}

static void at_most_five_findings_come_by_importance(void **state)
{
	enum explain_rule_id ids[EXPLAIN_MAX_FINDINGS];
	struct explain_facts f;

	(void)state;
	facts_init(&f);
	for (int id = 0; id < N_EXPLAIN_RULES; id++)
		set_share(&f, id, 0.9);
	assert_int_equal(explain_choose(&f, ids), EXPLAIN_MAX_FINDINGS);
	for (size_t i = 1; i < EXPLAIN_MAX_FINDINGS; i++)
		assert_true(explain_rules[ids[i - 1]].rank >= explain_rules[ids[i]].rank);
	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		bool is_shown = false;

		for (size_t i = 0; i < EXPLAIN_MAX_FINDINGS; i++)
			is_shown |= ids[i] == (enum explain_rule_id)id;
		assert_true(is_shown || explain_rules[id].rank <=
						explain_rules[ids[EXPLAIN_MAX_FINDINGS - 1]].rank);
	}
	explain_facts_fini(&f);
}

static void the_share_of_missing_samples_counts_both(void **state)
{
	struct explain_facts f;

	(void)state;
	facts_init(&f);
	assert_true(explain_lost_share(&f) == 0);
	f.n_samples = 99;
	f.n_lost = 1;
	assert_true(explain_lost_share(&f) >= EXPLAIN_MAX_LOST);
	f.n_samples = 100;
	assert_true(explain_lost_share(&f) < EXPLAIN_MAX_LOST);
	explain_facts_fini(&f);
}

/* ---- texts ---- */

static void every_sentence_has_its_numbers(void **state)
{
	(void)state;
	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		struct explain_facts f;
		struct buf text = { 0 };

		facts_init(&f);
		set_share(&f, id, 0.5);
		set_texts(&f, id, "name");
		explain_put_sentence(&f, (enum explain_rule_id)id, &text);
		assert_non_null(strstr(buf_cstr(&text), "50 %"));
		assert_non_null(strstr(buf_cstr(&text), "0.50 s of 1.00 s"));
		assert_null(strpbrk(buf_cstr(&text), "{}[]"));
		text.len = 0;
		explain_put_evidence(&f, (enum explain_rule_id)id, &text);
		assert_true(text.len > 0);
		assert_null(strpbrk(buf_cstr(&text), "{}[]"));
		buf_fini(&text);
		explain_facts_fini(&f);
	}
}

static void a_piece_without_its_name_is_left_out(void **state)
{
	struct explain_facts f;
	struct buf text = { 0 };

	(void)state;
	facts_init(&f);
	set_share(&f, EXPLAIN_HOT_FUNCTION, 0.5);
	explain_set_text(&f, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_where, "a.c:3");
	explain_put_evidence(&f, EXPLAIN_HOT_FUNCTION, &text);
	assert_string_equal(buf_cstr(&text), "most of it at a.c:3");
	text.len = 0;
	explain_set_text(&f, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_caller, "main");
	explain_put_evidence(&f, EXPLAIN_HOT_FUNCTION, &text);
	assert_string_equal(buf_cstr(&text), "called most by main; most of it at a.c:3");
	text.len = 0;
	explain_put_next(&f, EXPLAIN_HOT_PATH, &test_commands, &text);
	assert_string_equal(buf_cstr(&text), "assay report -i s --tree");
	buf_fini(&text);
	explain_facts_fini(&f);
}

static const char *const hostile_names[] = {
	"'; touch pwned; '",
	"$(touch pwned)`id`",
	"line\nfeed",
	"\x1b[31mred",
	"bad\xff\xfe",
	"a,b",
	"[x]*?",
	"back\\slash",
	"-rf",
	"{symbol}[{part}]",
	"op[]'",
	"\xe2\x80\xaereversed",
	"%s%n",
	"\"",
	"a\\,b'c",
};

/* The number of words that a shell makes of the command; it runs nothing. */
static int shell_words(const char *command)
{
	cleanup(free_at_exit) char *script = xasprintf("set -f -- %s\necho $#", command);
	char answer[32] = "";
	FILE *pipe;

	assert_int_equal(setenv("EXPLAIN_TEST", script, 1), 0);
	pipe = popen("sh -c \"$EXPLAIN_TEST\"", "r");
	assert_non_null(pipe);
	assert_non_null(fgets(answer, sizeof(answer), pipe));
	assert_int_equal(pclose(pipe), 0);
	return atoi(answer);
}

static void hostile_names_stay_words_of_a_command(void **state)
{
	(void)state;
	for (int id = 0; id < N_EXPLAIN_RULES; id++) {
		struct explain_facts f;
		struct buf text = { 0 };
		int wanted;

		facts_init(&f);
		f.fact[id].look = LOOK_SOURCE;
		set_texts(&f, id, "plain");
		explain_put_next(&f, (enum explain_rule_id)id, &test_commands, &text);
		wanted = shell_words(buf_cstr(&text));
		assert_true(wanted > 2);
		for (size_t i = 0; i < ARRAY_SIZE(hostile_names); i++) {
			text.len = 0;
			set_texts(&f, id, hostile_names[i]);
			explain_put_next(&f, (enum explain_rule_id)id, &test_commands, &text);
			for (const char *at = buf_cstr(&text); *at; at++)
				assert_true((unsigned char)*at >= ' ');
			assert_int_equal(shell_words(buf_cstr(&text)), wanted);
			text.len = 0;
			explain_put_sentence(&f, (enum explain_rule_id)id, &text);
			explain_put_evidence(&f, (enum explain_rule_id)id, &text);
		}
		buf_fini(&text);
		explain_facts_fini(&f);
	}
	assert_int_not_equal(access("pwned", F_OK), 0);
}

static void check_glob(const char *name)
{
	struct buf glob = { 0 };
	struct query q = { 0 };

	buf_str(&glob, "symbol:");
	explain_put_glob(&glob, name);
	assert_null(strchr(buf_cstr(&glob), '\''));
	assert_int_equal(query_add(&q, buf_cstr(&glob), NULL), 0);
	if (!query_takes_name(&q, FILTER_SYMBOL, name))
		fail_msg("'%s' does not take '%s'", buf_cstr(&glob), name);
	query_fini(&q);
	buf_fini(&glob);
}

static void a_glob_takes_its_name(void **state)
{
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hostile_names); i++)
		check_glob(hostile_names[i]);
	for (int k = 0; k < 20000; k++) {
		static const char letters[] = "ab,'\\*?[]-\x01\xff\xc3\xa9 :";
		char name[12];
		size_t n = 1 + k % (sizeof(name) - 1);

		for (size_t i = 0; i < n; i++) {
			random = random * 1664525 + 1013904223;
			name[i] = letters[(random >> 8) % (sizeof(letters) - 1)];
		}
		name[n] = '\0';
		check_glob(name);
	}
}

static void amounts_have_a_unit_that_people_read(void **state)
{
	static const struct {
		double amount;
		enum explain_unit unit;
		const char *text;
	} cases[] = {
		{ 54.2e6, EXPLAIN_NS, "54.2 ms" },  { 4.21e9, EXPLAIN_NS, "4.21 s" },
		{ 321e9, EXPLAIN_NS, "321 s" },     { 712, EXPLAIN_SAMPLES, "712 samples" },
		{ 9999, EXPLAIN_EVENTS, "9999" },   { 12345, EXPLAIN_EVENTS, "12 k" },
		{ 2.5e10, EXPLAIN_EVENTS, "25 G" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buf text = { 0 };

		explain_put_amount(&text, cases[i].amount, cases[i].unit);
		assert_string_equal(buf_cstr(&text), cases[i].text);
		buf_fini(&text);
	}
}

/* ---- facts of sessions ---- */

enum {
	MAIN,
	HOT,
	WALK,
	MALLOC,
	MUTEX,
	LOCKER,
	READ,
	COPY,
	FAULT,
	FUTEX,
	WAKE,
	UNNAMED,
	CUT,
	KERNEL_WAIT,  /* named by the test */
	PROGRAM_WAIT, /* likewise */
	N_CODES,
	WOKEN_BY = N_CODES, /* marks */
	LOCK_OF,
	DEVICE_OF
};

/* Kernel code has no names in a session, so BPF's code stands for it. */
static const struct {
	const char *image;
	enum image_kind kind;
	const char *name; /* NULL: none */
} codes[N_CODES] = {
	[MAIN] = { "app", IMAGE_NAMED, "main" },
	[HOT] = { "app", IMAGE_NAMED, "hot" },
	[WALK] = { "app", IMAGE_NAMED, "walk" },
	[MALLOC] = { "libc.so.6", IMAGE_NAMED, "malloc" },
	[MUTEX] = { "libc.so.6", IMAGE_NAMED, "pthread_mutex_lock" },
	[LOCKER] = { "app", IMAGE_NAMED, "locker" },
	[READ] = { "prog", IMAGE_BPF, "__x64_sys_read" },
	[COPY] = { "prog", IMAGE_BPF, "_copy_to_iter" },
	[FAULT] = { "prog", IMAGE_BPF, "asm_exc_page_fault" },
	[FUTEX] = { "prog", IMAGE_BPF, "futex_wait" },
	[WAKE] = { "prog", IMAGE_BPF, "try_to_wake_up" },
	[UNNAMED] = { "anon", IMAGE_JIT, NULL },
	[CUT] = { IMAGE_CUT_PATH, IMAGE_NAMED, NULL },
	[KERNEL_WAIT] = { "prog", IMAGE_BPF, NULL },
	[PROGRAM_WAIT] = { "app", IMAGE_NAMED, NULL },
};

static const char *const marks[] = {
	IMAGE_WAKER_PREFIX "server",
	IMAGE_OWNER_PREFIX "server (12)",
	IMAGE_DEVICE_PREFIX "sda",
};

static struct counter_info explain_counters[] = {
	{ .name = "cpu-clock",
	  .spec = "cpu-clock",
	  .unit = "ns",
	  .freq_hz = 1000,
	  .in_user = true,
	  .in_kernel = true },
	{ .name = "off-cpu:sleep", .spec = "off-cpu", .unit = "ns", .count = 1000000 },
	{ .name = "page-faults", .spec = "page-faults", .unit = "events", .count = 1 },
};

struct explained {
	struct world w;
	struct code_addr code[N_CODES + ARRAY_SIZE(marks)];
	struct explain_outside outside;
	struct explain_facts facts;
};

/* Function KERNEL_WAIT has one of these names, and PROGRAM_WAIT the other. */
static void explained_init_named(struct explained *x, uint32_t n_counters, const char *kernel_wait,
				 const char *program_wait)
{
	struct session_info info = test_info;

	*x = (struct explained){ 0 };
	world_init(&x->w);
	native_store.close(x->w.store, NULL, &(uint64_t){ 0 }, NULL);
	file_remove_tree(x->w.path, NULL);
	info.counters = explain_counters;
	info.n_counters = n_counters;
	assert_int_equal(native_store.open(x->w.path, &info, x->w.images, &x->w.strings,
					   &x->w.store, &x->w.err),
			 0);
	for (uint32_t i = 0; i < N_CODES; i++) {
		const struct image image = { .kind = codes[i].kind, .path = codes[i].image };
		const char *name = i == KERNEL_WAIT    ? kernel_wait
				   : i == PROGRAM_WAIT ? program_wait
						       : codes[i].name;

		x->code[i] =
			(struct code_addr){ image_intern(x->w.images, &image), 0x1000 * (i + 1) };
		if (name)
			native_store.name_code(x->w.store,
					       &(struct code_symbol){ .image = x->code[i].image,
								      .offset = x->code[i].offset,
								      .size = 0x100,
								      .name = name });
		x->code[i].offset += 8;
	}
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		x->code[N_CODES + i].image =
			image_intern(x->w.images,
				     &(struct image){ .kind = IMAGE_NAMED, .path = marks[i] });
}

static void explained_init(struct explained *x, uint32_t n_counters)
{
	explained_init_named(x, n_counters, NULL, NULL);
}

/* n milliseconds of a stack, innermost first, which ends with -1. */
static void add_stack(struct explained *x, uint32_t counter, uint64_t n, const int *stack)
{
	struct code_addr frames[16];
	uint32_t depth = 0;

	for (; stack[depth] >= 0; depth++)
		frames[depth] = x->code[stack[depth]];
	add_weighted(&x->w, 100 * SECOND, 7, counter, frames, depth, n,
		     counter == 2 ? n : n * 1000000);
}
#define stack_of(...) ((const int[]){ __VA_ARGS__, -1 })

static void explain(struct explained *x)
{
	const struct session_end end = { .end_ns = 110 * SECOND, .exit_status = -1 };
	struct symbolizer *symbols = symbolizer_new(&(struct symbolizer_config){ .cache_dir = "" });
	struct session *s;

	assert_int_equal(native_store.close(x->w.store, &end, &(uint64_t){ 0 }, &x->w.err), 0);
	assert_int_equal(session_open(x->w.path, &s, &x->w.err), 0);
	assert_int_equal(explain_gather(s, symbols, &x->outside, &x->facts, &x->w.err), 0);
	session_close(s);
	symbolizer_free(symbols);
}

static void explained_fini(struct explained *x)
{
	explain_facts_fini(&x->facts);
	world_fini(&x->w);
}

static void check_fact(const struct explained *x, enum explain_rule_id id, double part_ms,
		       double whole_ms, const char *symbol)
{
	const struct explain_fact *fact = &x->facts.fact[id];

	if (fact->part != part_ms * 1e6 || fact->whole != whole_ms * 1e6)
		fail_msg("%s: %.3f of %.3f ms, not %.0f of %.0f", explain_rules[id].key,
			 fact->part / 1e6, fact->whole / 1e6, part_ms, whole_ms);
	if (symbol)
		assert_string_equal(explain_text(&x->facts, fact, EXPLAIN_TEXT_symbol), symbol);
}

static const char *text_of(const struct explained *x, enum explain_rule_id id,
			   enum explain_text which)
{
	return explain_text(&x->facts, &x->facts.fact[id], which);
}

static void cpu_time_is_told_apart_by_its_code(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 1);
	add_stack(&x, 0, 400, stack_of(HOT, MAIN));
	add_stack(&x, 0, 100, stack_of(HOT, HOT, WALK, WALK, WALK, MAIN));
	add_stack(&x, 0, 100, stack_of(MALLOC, MALLOC, LOCKER, MAIN));
	add_stack(&x, 0, 80, stack_of(READ, MUTEX, MAIN));
	add_stack(&x, 0, 60, stack_of(COPY, READ, MUTEX, MAIN));
	add_stack(&x, 0, 40, stack_of(COPY, FAULT, LOCKER, MAIN));
	add_stack(&x, 0, 120, stack_of(LOCKER, MAIN));
	add_stack(&x, 0, 100, stack_of(UNNAMED, MAIN));
	explain(&x);
	check_fact(&x, EXPLAIN_HOT_FUNCTION, 500, 1000, "hot");
	assert_string_equal(text_of(&x, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_caller), "main");
	assert_string_equal(text_of(&x, EXPLAIN_HOT_FUNCTION, EXPLAIN_TEXT_image), "app");
	check_fact(&x, EXPLAIN_RECURSION, 100, 1000, NULL);
	check_fact(&x, EXPLAIN_ALLOCATOR, 100, 1000, "malloc");
	assert_string_equal(text_of(&x, EXPLAIN_ALLOCATOR, EXPLAIN_TEXT_caller), "locker");
	check_fact(&x, EXPLAIN_SYSCALLS, 140, 1000, "__x64_sys_read");
	assert_string_equal(text_of(&x, EXPLAIN_SYSCALLS, EXPLAIN_TEXT_text), "read");
	assert_string_equal(text_of(&x, EXPLAIN_SYSCALLS, EXPLAIN_TEXT_caller), "main");
	check_fact(&x, EXPLAIN_KERNEL_COPY, 100, 1000, "_copy_to_iter");
	check_fact(&x, EXPLAIN_PAGE_FAULTS, 40, 1000, "locker");
	assert_string_equal(text_of(&x, EXPLAIN_PAGE_FAULTS, EXPLAIN_TEXT_text),
			    "asm_exc_page_fault");
	check_fact(&x, EXPLAIN_UNNAMED_JIT, 100, 1000, NULL);
	assert_string_equal(text_of(&x, EXPLAIN_UNNAMED_JIT, EXPLAIN_TEXT_image), "anon");
	check_fact(&x, EXPLAIN_HOT_PATH, 0, 0, NULL); /* a function is hot by itself */
	check_fact(&x, EXPLAIN_NOT_RUNNING, 9000, 10000, NULL);
	assert_int_equal(x.facts.missing.n, 1);
	assert_string_equal(x.facts.missing.data[0].options, " --off-cpu");
	explained_fini(&x);
}

static void a_path_without_a_hot_function_is_found(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 1);
	for (int leaf = MALLOC; leaf <= LOCKER; leaf++)
		add_stack(&x, 0, 150, stack_of(leaf, WALK, MAIN));
	add_stack(&x, 0, 150, stack_of(HOT, WALK, MAIN));
	add_stack(&x, 0, 400, stack_of(COPY, READ, MAIN));
	explain(&x);
	check_fact(&x, EXPLAIN_HOT_PATH, 600, 1000, "walk");
	assert_non_null(strstr(text_of(&x, EXPLAIN_HOT_PATH, EXPLAIN_TEXT_text), "hot 15 %"));
	explained_fini(&x);
}

static void a_wait_has_its_reason_its_function_and_its_waker(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 3);
	add_stack(&x, 0, 100, stack_of(HOT, MAIN));
	/* outermost frames of the waker first, then the mark, then the wait */
	add_stack(&x, 1, 700, stack_of(MAIN, WAKE, WOKEN_BY, LOCK_OF, FUTEX, MUTEX, LOCKER, MAIN));
	add_stack(&x, 1, 200, stack_of(READ, HOT, MAIN));
	add_stack(&x, 1, 50, stack_of(FUTEX, READ)); /* a thread of the kernel */
	add_stack(&x, 2, 1098, stack_of(HOT, MAIN));
	explain(&x);
	check_fact(&x, EXPLAIN_WAIT_LOCKS, 700, 1000, "locker");
	assert_string_equal(text_of(&x, EXPLAIN_WAIT_LOCKS, EXPLAIN_TEXT_comm), "cc1");
	assert_string_equal(text_of(&x, EXPLAIN_WAIT_LOCKS, EXPLAIN_TEXT_waker), "server");
	assert_string_equal(text_of(&x, EXPLAIN_WAIT_LOCKS, EXPLAIN_TEXT_waker_symbol), "main");
	assert_string_equal(text_of(&x, EXPLAIN_WAIT_LOCKS, EXPLAIN_TEXT_owner), "server (12)");
	assert_string_equal(text_of(&x, EXPLAIN_WAIT_LOCKS, EXPLAIN_TEXT_text), "a mutex");
	check_fact(&x, EXPLAIN_WAIT_CONDITIONS, 0, 0, NULL);
	check_fact(&x, EXPLAIN_NOT_RUNNING, 0, 0, NULL); /* the session has waits */
	assert_int_equal(x.facts.fact[EXPLAIN_PAGE_FAULTS].n, 1098);
	assert_int_equal(x.facts.fact[EXPLAIN_PAGE_FAULTS].look, LOOK_FAULTS);
	assert_string_equal(text_of(&x, EXPLAIN_PAGE_FAULTS, EXPLAIN_TEXT_caller), "hot");
	assert_int_equal(x.facts.missing.n, 0);
	explained_fini(&x);
}

/* Its stack hangs below main(), where `assay report via:main` would not find it. */
static void a_wait_with_a_cut_stack_is_in_none_of_the_functions_above_the_cut(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 2);
	add_stack(&x, 0, 300, stack_of(HOT, MAIN));
	add_stack(&x, 1, 700, stack_of(MAIN, WAKE, WOKEN_BY, FUTEX, MUTEX, CUT));
	explain(&x);
	check_fact(&x, EXPLAIN_WAIT_LOCKS, 700, 1000, "pthread_mutex_lock");
	explained_fini(&x);
}

static void check_reason(const char *kernel_wait, const char *program_wait, enum explain_rule_id id,
			 const char *words)
{
	struct explained x;

	explained_init_named(&x, 3, kernel_wait, program_wait);
	add_stack(&x, 0, 100, stack_of(HOT, MAIN));
	add_stack(&x, 1, 900, stack_of(DEVICE_OF, KERNEL_WAIT, PROGRAM_WAIT, LOCKER, MAIN));
	explain(&x);
	for (int other = EXPLAIN_WAIT_LOCKS; other <= EXPLAIN_WAIT_PEERS; other++)
		if (other == (int)id)
			check_fact(&x, id, 900, 1000, program_wait[0] == 'o' ? "own" : "locker");
		else
			check_fact(&x, (enum explain_rule_id)other, 0, 0, NULL);
	if (words)
		assert_string_equal(text_of(&x, id, EXPLAIN_TEXT_text), words);
	if (id == EXPLAIN_WAIT_DISK)
		assert_string_equal(text_of(&x, id, EXPLAIN_TEXT_device), "sda");
	explained_fini(&x);
}

/* The reason of the kernel decides, and a function of a program that is known to wait. */
static void a_wait_counts_for_the_rule_of_its_reason(void **state)
{
	static const struct {
		const char *kernel_wait, *program_wait;
		enum explain_rule_id id;
		const char *words;
	} cases[] = {
		{ "futex_wait_queue", "own", EXPLAIN_WAIT_LOCKS, "a lock" },
		{ "futex_wait_queue", "pthread_rwlock_wrlock", EXPLAIN_WAIT_LOCKS,
		  "a read-write lock" },
		{ "futex_wait_queue", "pthread_cond_wait", EXPLAIN_WAIT_CONDITIONS, "a condition" },
		{ "do_epoll_wait", "own", EXPLAIN_WAIT_PEERS, "one of several files or events" },
		{ "do_epoll_wait", "XactLockTableWait", EXPLAIN_WAIT_LOCKS, "row locks" },
		{ "pipe_read", "own", EXPLAIN_WAIT_PEERS, "a pipe" },
		{ "tcp_recvmsg", "own", EXPLAIN_WAIT_PEERS, "a socket" },
		{ "fcntl_setlk", "own", EXPLAIN_WAIT_LOCKS, "a lock of a file" },
		{ "do_nanosleep", "own", EXPLAIN_WAIT_TIMER, NULL },
		{ "io_schedule", "own", EXPLAIN_WAIT_DISK, "a disk" },
		{ "io_schedule", "LWLockAcquire", EXPLAIN_WAIT_DISK, "a disk" },
		{ "jbd2_log_wait_commit", "own", EXPLAIN_WAIT_DISK,
		  "the journal of a file system" },
		{ "fuse_dev_do_read", "own", EXPLAIN_WAIT_SERVER, NULL },
		{ "try_to_free_pages", "own", EXPLAIN_WAIT_MEMORY, NULL },
		{ "rwsem_down_read_slowpath", "own", EXPLAIN_WAIT_KERNEL, NULL },
		{ "kernel_wait4", "own", N_EXPLAIN_RULES, NULL },
		{ "schedule", "own", N_EXPLAIN_RULES, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_reason(cases[i].kernel_wait, cases[i].program_wait, cases[i].id,
			     cases[i].words);
}

static void the_limit_of_a_control_group_is_of_all_cpus(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 1);
	add_stack(&x, 0, 90, stack_of(HOT, MAIN));
	x.outside = (struct explain_outside){ "no BPF", 5 * SECOND, "/x/cpu.stat" };
	explain(&x);
	check_fact(&x, EXPLAIN_QUOTA, 5000, 20000, NULL); /* of ten seconds of two CPUs */
	assert_string_equal(text_of(&x, EXPLAIN_QUOTA, EXPLAIN_TEXT_text), "/x/cpu.stat");
	assert_string_equal(x.facts.missing.data[0].why, "no BPF");
	explained_fini(&x);
}

static void missing_samples_have_a_reason(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 1);
	add_stack(&x, 0, 90, stack_of(HOT, MAIN));
	native_store.lose(x.w.store, LOSS_RING_FULL, 0, 7);
	native_store.lose(x.w.store, LOSS_UNSAMPLED, 0, 3);
	native_store.lose(x.w.store, LOSS_STACK_SHORT, 0, 45);
	explain(&x);
	assert_int_equal(x.facts.n_lost, 10);
	assert_string_equal(x.facts.loss, loss_texts[LOSS_RING_FULL].text);
	assert_true(x.facts.fact[EXPLAIN_CUT_STACKS].part == 45);
	assert_true(x.facts.fact[EXPLAIN_CUT_STACKS].whole == 90);
	assert_string_equal(text_of(&x, EXPLAIN_CUT_STACKS, EXPLAIN_TEXT_text),
			    loss_texts[LOSS_STACK_SHORT].text);
	explained_fini(&x);
}

static void a_session_without_samples_has_no_facts(void **state)
{
	struct explained x;

	(void)state;
	explained_init(&x, 1);
	explain(&x);
	assert_false(x.facts.has_samples);
	assert_null(x.facts.cpu);
	assert_int_equal(count_findings(&x.facts), 0);
	explained_fini(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_rule_is_a_finding_from_its_limit_on),
		cmocka_unit_test(a_fact_that_is_not_known_is_no_finding),
		cmocka_unit_test(a_share_of_few_samples_is_no_finding_unless_it_is_measured),
		cmocka_unit_test(at_most_five_findings_come_by_importance),
		cmocka_unit_test(the_share_of_missing_samples_counts_both),
		cmocka_unit_test(every_sentence_has_its_numbers),
		cmocka_unit_test(a_piece_without_its_name_is_left_out),
		cmocka_unit_test(hostile_names_stay_words_of_a_command),
		cmocka_unit_test(a_glob_takes_its_name),
		cmocka_unit_test(amounts_have_a_unit_that_people_read),
		cmocka_unit_test(cpu_time_is_told_apart_by_its_code),
		cmocka_unit_test(a_path_without_a_hot_function_is_found),
		cmocka_unit_test(a_wait_has_its_reason_its_function_and_its_waker),
		cmocka_unit_test(a_wait_with_a_cut_stack_is_in_none_of_the_functions_above_the_cut),
		cmocka_unit_test(a_wait_counts_for_the_rule_of_its_reason),
		cmocka_unit_test(the_limit_of_a_control_group_is_of_all_cpus),
		cmocka_unit_test(missing_samples_have_a_reason),
		cmocka_unit_test(a_session_without_samples_has_no_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
