/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser process: it answers, it has no rights, and its death harms nobody. */
#include "guard/parser_child.h"
#include "guard/parser_starter.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "parser_rows.h"

#include "base/error.h"
#include "base/mem.h"
#include "base/thread.h"

static struct parser_child *new_parser(void)
{
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	return parser_child_new(&(struct parser_limits){ .memory_bytes = 256 << 20 });
}

static int parser_child_ask(struct parser_child *p, const struct parser_question *q,
			    struct parser_answer *answer)
{
	struct parser_result result = { 0 };

	assert_int_equal(parser_child_ask_all(p, q, 1, &result), 1);
	*answer = result.answer;
	return result.error;
}

static int ask_number(struct parser_child *p, uint32_t row, uint64_t n,
		      struct parser_answer *answer)
{
	struct buf request = { 0 };
	const struct parser_question q = { .row = &rows[row], .request = &request };
	int r;

	buf_u64(&request, n);
	r = p ? parser_child_ask(p, &q, answer) : parser_ask(&q, answer, NULL);
	buf_fini(&request);
	return r;
}

static void check_echo(struct parser_child *p)
{
	struct parser_answer answer;

	assert_int_equal(ask_number(p, ECHO_BYTES, 0x1234567890, &answer), 0);
	assert_int_equal(answer.size, 8);
	assert_int_equal(*(const uint64_t *)(const void *)answer.bytes, 0x1234567890);
	parser_answer_fini(&answer);
}

static void one_child_answers_many_requests(void **state)
{
	struct parser_child *p = new_parser();
	int pid;

	(void)state;
	assert_int_equal(parser_child_pid(p), 0); /* none before the first request */
	check_echo(p);
	pid = parser_child_pid(p);
	assert_true(pid > 0);
	check_echo(p);
	assert_int_equal(parser_child_pid(p), pid);
	assert_int_equal(parser_child_cost(p).n_started, 1);
	assert_true(parser_child_cost(p).cpu_ns > 0); /* while it runs */
	assert_true(parser_child_cost(p).peak_bytes > 0);
	parser_child_free(p);
	assert_int_equal(kill(pid, 0), -1);
}

static int nice_of_child(struct parser_child *p)
{
	check_echo(p);
	return getpriority(PRIO_PROCESS, (id_t)parser_child_pid(p));
}

static void a_child_hurries_if_the_one_who_asks_does(void **state)
{
	struct parser_child *p = new_parser();
	int first = nice_of_child(p), hurried, last;

	(void)state;
	assert_int_equal(first, getpriority(PRIO_PROCESS, 0));
	thread_hurry(true);
	hurried = nice_of_child(p);
	thread_hurry(false);
	last = nice_of_child(p);
	parser_child_free(p);
	if (hurried >= 0)
		skip_because("this user may not have a negative nice value");
	assert_int_equal(hurried, -20);
	assert_int_equal(last, 0);
}

static void small_and_large_answers_arrive(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 65535, 65536, 65537, 1 << 20, 20 << 20 };
	struct parser_child *p = new_parser();

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct parser_answer answer;

		assert_int_equal(ask_number(p, REPEAT, sizes[i], &answer), 0);
		assert_int_equal(answer.size, sizes[i]);
		for (uint64_t at = 0; at < answer.size; at++)
			if (answer.bytes[at] != 'r')
				fail();
		parser_answer_fini(&answer);
	}
	parser_child_free(p);
}

static void a_child_that_dies_is_replaced(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;
	int pid;

	(void)state;
	check_echo(p);
	pid = parser_child_pid(p);
	assert_int_equal(ask_number(p, DIE, 0, &answer), -EPIPE);
	assert_int_equal(answer.size, 0);
	check_echo(p);
	assert_true(parser_child_pid(p) != pid);
	/* By a signal from outside, between two requests. */
	kill(parser_child_pid(p), SIGKILL);
	waitid(P_PID, (id_t)parser_child_pid(p), NULL, WEXITED | WNOWAIT);
	assert_int_equal(ask_number(p, ECHO_BYTES, 0, &answer), -EPIPE);
	check_echo(p);
	assert_int_equal(parser_child_cost(p).n_started, 3);
	assert_int_equal(parser_child_cost(p).n_died, 2);
	parser_child_free(p);
}

static void wishes_without_end_are_late(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;

	(void)state;
	assert_int_equal(ask_number(p, WISH_ON, 0, &answer), -ETIMEDOUT);
	check_echo(p);
	/* Its socket is full, or it is late; assay waits for neither. */
	assert_true(ask_number(p, WISH_DEAF, 0, &answer) < 0);
	check_echo(p);
	parser_child_free(p);
}

static void a_child_that_takes_too_long_is_replaced(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;

	(void)state;
	assert_int_equal(ask_number(p, HANG, 0, &answer), -ETIMEDOUT);
	assert_int_equal(parser_child_pid(p), 0);
	assert_int_equal(parser_child_cost(p).n_late, 1);
	check_echo(p);
	parser_child_free(p);
}

#define N_BUSY 7

/* Processes that are always ready to run, beside this one on one CPU. */
static void start_busy(pid_t *busy, cpu_set_t *before)
{
	cpu_set_t one;
	int cpu = 0;

	assert_int_equal(sched_getaffinity(0, sizeof(*before), before), 0);
	while (!CPU_ISSET(cpu, before))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (int i = 0; i < N_BUSY; i++) {
		busy[i] = fork();
		assert_true(busy[i] >= 0);
		if (busy[i] == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				;
		}
	}
}

static void end_busy(const pid_t *busy, const cpu_set_t *before)
{
	for (int i = 0; i < N_BUSY; i++) {
		kill(busy[i], SIGKILL);
		waitpid(busy[i], NULL, 0);
	}
	assert_int_equal(sched_setaffinity(0, sizeof(*before), before), 0);
}

/* It has an eighth of a CPU at most: 100 ms of CPU time take longer than the deadline of 500 ms. */
static void a_child_without_a_cpu_is_not_late(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;
	pid_t busy[N_BUSY];
	cpu_set_t before;
	uint64_t begun_ns;
	int r;

	(void)state;
	if (process_delay_ns(getpid()) == 0)
		skip_because("this kernel does not tell how long a thread waited for a CPU");
	start_busy(busy, &before);
	begun_ns = clock_monotonic_ns();
	r = ask_number(p, WORK, 100, &answer);
	end_busy(busy, &before);
	assert_int_equal(r, 0);
	assert_true(clock_monotonic_ns() - begun_ns > rows[WORK].deadline_ms * NS_PER_MS);
	parser_answer_fini(&answer);
	parser_child_free(p);
}

static void a_child_that_eats_memory_is_replaced(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;

	(void)state;
	assert_int_equal(ask_number(p, EAT, 0, &answer), -EPIPE);
	assert_int_equal(parser_child_cost(p).n_died, 1);
	check_echo(p);
	parser_child_free(p);
}

static void a_child_has_no_rights(void **state)
{
	static const uint32_t wanted[] = { EACCES, EACCES, EPERM, EPERM, EPERM, EPERM,
					   EPERM,  EPERM,  EPERM, EPERM, EPERM, 0 };
	struct parser_child *p = new_parser();
	struct buf request = { 0 };
	const struct parser_question q = { .row = &rows[TRY_ALL], .request = &request };
	struct parser_answer answer;
	const uint32_t *errors;

	(void)state;
	buf_u32(&request, (uint32_t)getpid());
	assert_int_equal(parser_child_ask(p, &q, &answer), 0);
	assert_int_equal(answer.size, sizeof(wanted));
	errors = (const uint32_t *)(const void *)answer.bytes;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(errors[i], wanted[i]);
	parser_answer_fini(&answer);
	buf_fini(&request);
	parser_child_free(p);
}

static void a_child_shows_its_state_in_proc(void **state)
{
	struct parser_child *p = new_parser();
	char path[64], *text;

	(void)state;
	check_echo(p);
	snprintf(path, sizeof(path), "/proc/%d/status", parser_child_pid(p));
	assert_int_equal(file_read_all(path, 1 << 20, &text, NULL), 0);
	assert_non_null(strstr(text, "Name:\tassay-parser\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "Seccomp:\t2\n"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapInh:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapAmb:\t0000000000000000\n"));
	free(text);
	parser_child_free(p);
}

static void memory_is_limited(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;

	(void)state;
	assert_int_equal(ask_number(p, MAP_MUCH, 16 << 20, &answer), 0);
	assert_int_equal(*(const uint32_t *)(const void *)answer.bytes, 0);
	parser_answer_fini(&answer);
	assert_int_equal(ask_number(p, MAP_MUCH, 1 << 30, &answer), 0);
	assert_int_equal(*(const uint32_t *)(const void *)answer.bytes, ENOMEM);
	parser_answer_fini(&answer);
	/* shared memory would not count */
	assert_int_equal(ask_number(p, MAP_SHARED_BYTES, 0, &answer), 0);
	assert_int_equal(*(const uint32_t *)(const void *)answer.bytes, EPERM);
	parser_answer_fini(&answer);
	parser_child_free(p);
}

#define LARGE_BYTES ((size_t)256 << 20)

/* Its pages would be the child's memory. */
static void a_large_file_takes_little_memory_of_a_child(void **state)
{
	const struct buf none = { 0 };
	struct file_mapping file = { 0 };
	struct parser_question q = { .row = &rows[READ_MUCH], .file = &file, .request = &none };
	struct parser_child *p = new_parser();
	struct parser_answer answer;
	uint64_t peak;

	(void)state;
	write_file("sparse", "a");
	assert_int_equal(truncate("sparse", (off_t)LARGE_BYTES), 0);
	assert_int_equal(file_hold_fd(open("sparse", O_RDONLY | O_CLOEXEC), "sparse", &file, NULL),
			 0);
	assert_int_equal(parser_child_bytes(p), 0);
	assert_int_equal(parser_child_ask(p, &q, &answer), 0);
	assert_int_equal(*(const uint64_t *)(const void *)answer.bytes, 2 * 'a');
	parser_answer_fini(&answer);
	peak = parser_child_cost(p).peak_bytes;
	assert_in_range(parser_child_bytes(p), 4096, peak);
	assert_in_range(peak, 4096, LARGE_BYTES / 2);
	/* Pages of files, such as those of the C library, are not its own. */
	assert_in_range(parser_child_own_bytes(p), 4096, parser_child_bytes(p) - 4096);
	file_unmap(&file);
	parser_child_free(p);
}

static void a_child_that_keeps_much_memory_ends(void **state)
{
	struct parser_child *p;
	struct parser_answer answer;

	(void)state;
	parser_child_free(new_parser());
	p = parser_child_new(&(struct parser_limits){ 256 << 20, 8 << 20 });
	check_echo(p);
	assert_true(parser_child_pid(p) > 0);
	assert_int_equal(ask_number(p, REPEAT, 1 << 20, &answer), 0);
	parser_answer_fini(&answer);
	assert_true(parser_child_pid(p) > 0);
	assert_int_equal(ask_number(p, REPEAT, 24 << 20, &answer), 0);
	parser_answer_fini(&answer);
	assert_int_equal(parser_child_pid(p), 0);
	assert_int_equal(parser_child_cost(p).n_died, 0);
	check_echo(p);
	parser_child_free(p);
}

/* In a process of its own, as a daemon has: the starter and the limits stay for good. */
static void use_a_starter(void)
{
	struct file_mapping file = { .uid = 4711 };
	struct parser_answer answer;
	struct buf request = { 0 };
	struct parser_question q = { .row = &rows[MAP_MUCH], .request = &request };
	pid_t starter;

	parser_use_children(256 << 20);
	parser_be_modest();
	starter = parser_starter_begin(NULL);
	assert_true(starter > 0);
	check_echo(NULL);
	/* They are no children of this process but the starter. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0);
	assert_int_equal(parser_cost().n_running, 1);
	assert_true(parser_cost().peak_bytes > 0);
	/* Trusted files may use more than those of strangers. */
	buf_u64(&request, 100 << 20);
	write_file("subject", "abc");
	assert_int_equal(hold_file("subject", &file), 0);
	for (int is_trusted = 0; is_trusted < 2; is_trusted++) {
		q.file = &file;
		q.is_trusted = is_trusted;
		assert_int_equal(parser_ask(&q, &answer, NULL), 0);
		assert_int_equal(*(const uint32_t *)(const void *)answer.bytes,
				 is_trusted ? 0 : ENOMEM);
		parser_answer_fini(&answer);
	}
	assert_int_equal(ask_number(NULL, DIE, 0, &answer), -EPIPE);
	check_echo(NULL);
	assert_int_equal(parser_cost().n_died, 1);
	/* Without it, this process starts parsers itself. */
	parser_end_children();
	assert_int_equal(kill(starter, SIGKILL), 0);
	parser_starter_finish(starter);
	check_echo(NULL);
	parser_end_children();
	buf_fini(&request);
	file_unmap(&file);
}

static void a_starter_starts_children_and_ends_them(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	parser_child_free(new_parser());
	pid = fork();
	if (pid == 0) {
		use_a_starter();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static int ask_for_file(struct parser_child *p, const char *name, bool is_trusted,
			struct parser_answer *answer)
{
	const struct buf request = { .data = (uint8_t *)name, .len = strlen(name) + 1 };
	const struct parser_question q = {
		.row = &rows[READ_FILE],
		.request = &request,
		.is_trusted = is_trusted,
		.open = serve_wish,
		.context = "context",
	};
	int r = p ? parser_child_ask(p, &q, answer) : parser_ask(&q, answer, NULL);

	return r < 0 ? r : (int)*(const uint32_t *)(const void *)answer->bytes;
}

static void check_wish(struct parser_child *p, const char *name, int result)
{
	struct parser_answer answer;

	assert_int_equal(ask_for_file(p, name, false, &answer), result);
	assert_int_equal(answer.size, result < 0 ? 4 : 5);
	if (result >= 0)
		assert_int_equal(answer.bytes[4], 'x');
	parser_answer_fini(&answer);
}

static void a_child_reads_files_that_it_is_given(void **state)
{
	struct parser_child *p = new_parser();

	(void)state;
	write_file("handed.over", ELFMAG "x");
	write_file("no.elf", "root:x:0:0");
	for (int i = 0; i < 3; i++) {
		check_wish(p, "handed.over", 0);
		check_wish(p, "not.there", -ENOENT);
		check_wish(p, "/etc/passwd", -EACCES);
		check_wish(p, "no.elf", -EACCES);
	}
	parser_child_free(p);
}

static void a_child_that_has_read_a_foreign_file_ends(void **state)
{
	struct parser_child *p = new_parser();
	struct parser_answer answer;
	int pid;

	(void)state;
	write_file("handed.over", ELFMAG "x");
	is_wished_trusted = true;
	assert_int_equal(ask_for_file(p, "handed.over", true, &answer), 0);
	parser_answer_fini(&answer);
	pid = parser_child_pid(p);
	assert_true(pid > 0);
	is_wished_trusted = false;
	assert_int_equal(ask_for_file(p, "handed.over", true, &answer), 0);
	parser_answer_fini(&answer);
	assert_int_equal(parser_child_pid(p), 0);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(ask_for_file(p, "handed.over", false, &answer), 0);
	parser_answer_fini(&answer);
	assert_true(parser_child_pid(p) > 0);
	parser_child_free(p);
}

static void *ask_often(void *arg)
{
	for (int i = 0; i < 200; i++)
		check_echo(arg);
	return NULL;
}

static void threads_wait_for_each_other(void **state)
{
	struct parser_child *p = new_parser();
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, p), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(parser_child_cost(p).n_started, 1);
	parser_child_free(p);
}

/* ---- parser_ask() ---- */

static void check_subject(const struct file_mapping *file, bool is_trusted)
{
	const struct buf none = { 0 };
	const struct parser_question q = {
		.row = &rows[READ_SUBJECT], .file = file, .is_trusted = is_trusted, .request = &none
	};
	struct parser_answer answer;

	assert_int_equal(parser_ask(&q, &answer, NULL), 0);
	assert_int_equal(answer.size, 9);
	assert_int_equal(answer.bytes[0], 3);
	assert_int_equal(answer.bytes[8], 'a');
	parser_answer_fini(&answer);
}

static void without_children_this_process_parses(void **state)
{
	struct file_mapping file = { 0 };
	struct parser_answer answer;

	(void)state;
	assert_false(parser_uses_children());
	write_file("subject", "abc");
	write_file("handed.over", ELFMAG "x");
	assert_int_equal(file_map("subject", &file, NULL), 0);
	assert_int_equal(file_descriptor(&file), -1);
	check_subject(&file, false);
	check_wish(NULL, "handed.over", 0);
	assert_int_equal(ask_number(NULL, DAMAGED, 0, &answer), -EPROTO);
	assert_null(answer.bytes);
	assert_int_equal(parser_cost().n_started, 0);
	file_unmap(&file);
}

static void each_class_of_files_has_a_child(void **state)
{
	struct file_mapping file = { 0 }, other;
	struct parser_answer answer;

	(void)state;
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	parser_use_children(256 << 20);
	assert_true(parser_uses_children());
	write_file("subject", "abc");
	assert_int_equal(hold_file("subject", &file), 0);
	for (int i = 0; i < 3; i++)
		check_subject(&file, true);
	assert_int_equal(parser_cost().n_started, 1);
	for (int i = 0; i < 3; i++)
		check_subject(&file, false);
	assert_int_equal(parser_cost().n_started, 2);
	other = file;
	other.uid = file.uid + 1;
	for (int i = 0; i < 3; i++)
		check_subject(&other, false);
	assert_int_equal(parser_cost().n_started, 3);
	check_subject(&other, true); /* trusted files are one class */
	assert_int_equal(parser_cost().n_started, 3);
	assert_int_equal(ask_number(NULL, BEHIND, 1, &answer), 0);
	parser_answer_fini(&answer);
	assert_int_equal(ask_number(NULL, DAMAGED, 1, &answer), -EPROTO);
	for (uint32_t user = 1000; user < 1020; user++) {
		other.uid = user;
		check_subject(&other, false);
	}
	assert_int_equal(parser_cost().n_died, 0);
	assert_true(parser_end_idle() > 1);
	assert_int_equal(parser_cost().n_running, 0);
	assert_int_equal(parser_end_idle(), 0);
	check_subject(&other, false);
	assert_int_equal(parser_cost().n_running, 1);
	parser_end_children();
	assert_true(parser_cost().n_started > 20);
	assert_true(parser_cost().cpu_ns > 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* none is left */
	file_unmap(&file);
}

static void files_that_make_children_fail_are_refused_in_the_end(void **state)
{
	struct file_mapping file = { 0 }, other;
	const struct buf none = { 0 };
	struct parser_question q = { .row = &rows[DIE], .file = &file, .request = &none };
	struct parser_answer answer;
	struct error err = { 0 };
	uint32_t n_started;

	(void)state;
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	write_file("subject", "abc");
	assert_int_equal(hold_file("subject", &file), 0);
	file.uid = 4711;
	for (int i = 0; i < PARSER_FAILURES; i++)
		assert_int_equal(parser_ask(&q, &answer, NULL), -EPIPE);
	n_started = parser_cost().n_started;
	assert_int_equal(parser_ask(&q, &answer, &err), -EBUSY);
	assert_non_null(strstr(err.text, "4711"));
	q.row = &rows[READ_SUBJECT]; /* all of his files */
	assert_int_equal(parser_ask(&q, &answer, NULL), -EBUSY);
	assert_int_equal(parser_cost().n_started, n_started);
	assert_int_equal(parser_cost().n_refused, 2);
	other = file;
	other.uid = 4712;
	check_subject(&other, false);
	/* The trusted ones are nobody's penalty. */
	q.row = &rows[DIE];
	q.is_trusted = true;
	for (int i = 0; i <= PARSER_FAILURES; i++)
		assert_int_equal(parser_ask(&q, &answer, NULL), -EPIPE);
	check_subject(&file, true);
	parser_end_children();
	file_unmap(&file);
}

static void a_file_without_descriptor_fails_alone(void **state)
{
	const struct buf none = { 0 };
	struct file_mapping file = { .base = (const uint8_t *)"abc", .size = 3 };
	const struct parser_question q = { .row = &rows[READ_SUBJECT],
					   .file = &file,
					   .request = &none };
	struct parser_answer answer;

	(void)state;
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	assert_int_equal(parser_ask(&q, &answer, NULL), -EMFILE);
	check_echo(NULL);
	parser_end_children();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_children_this_process_parses),
		cmocka_unit_test(one_child_answers_many_requests),
		cmocka_unit_test(a_child_hurries_if_the_one_who_asks_does),
		cmocka_unit_test(small_and_large_answers_arrive),
		cmocka_unit_test(a_child_that_dies_is_replaced),
		cmocka_unit_test(a_child_that_takes_too_long_is_replaced),
		cmocka_unit_test(wishes_without_end_are_late),
		cmocka_unit_test(a_child_without_a_cpu_is_not_late),
		cmocka_unit_test(a_child_that_eats_memory_is_replaced),
		cmocka_unit_test(a_child_has_no_rights),
		cmocka_unit_test(a_child_shows_its_state_in_proc),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(a_large_file_takes_little_memory_of_a_child),
		cmocka_unit_test(a_child_that_keeps_much_memory_ends),
		cmocka_unit_test(a_starter_starts_children_and_ends_them),
		cmocka_unit_test(a_child_reads_files_that_it_is_given),
		cmocka_unit_test(a_child_that_has_read_a_foreign_file_ends),
		cmocka_unit_test(threads_wait_for_each_other),
		/* From here on, this process has children. */
		cmocka_unit_test(each_class_of_files_has_a_child),
		cmocka_unit_test(files_that_make_children_fail_are_refused_in_the_end),
		cmocka_unit_test(a_file_without_descriptor_fails_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
