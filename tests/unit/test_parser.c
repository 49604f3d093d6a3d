/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parser process: it answers, it has no rights, and its death harms nobody. */
#include "guard/parser.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch.h"

#include "base/mem.h"

static void echo(struct reader *request, struct buf *answer)
{
	size_t n = reader_left(request);

	buf_bytes(answer, reader_bytes(request, n), n);
}

/* As many bytes as the request says. */
static void repeat(struct reader *request, struct buf *answer)
{
	uint64_t n = reader_u64(request);

	buf_reserve(answer, n + 1);
	memset(answer->data, 'r', n);
	answer->len = n;
}

static void die(struct reader *request, struct buf *answer)
{
	(void)request, (void)answer;
	kill(getpid(), SIGKILL); /* refused */
	abort();
}

static void hang(struct reader *request, struct buf *answer)
{
	(void)request, (void)answer;
	for (;;)
		usleep(10000);
}

static void answer_errno(struct buf *answer, int result)
{
	buf_u32(answer, result < 0 ? (uint32_t)errno : 0);
}

static void *run_thread(void *arg)
{
	return arg;
}

static bool has_threads(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, run_thread, NULL) == 0 &&
	       pthread_join(thread, NULL) == 0;
}

/* The error of each attempt, as a u32; 0: it succeeded. */
static void try_all(struct reader *request, struct buf *answer)
{
	static char *const argv[] = { "true", NULL };
	struct stat st;
	void *code;

	answer_errno(answer, open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	answer_errno(answer, stat("/etc/passwd", &st));
	answer_errno(answer, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	answer_errno(answer, fork());
	answer_errno(answer, execv("/bin/true", argv));
	answer_errno(answer, kill((pid_t)reader_u32(request), SIGTERM));
	answer_errno(answer, (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	answer_errno(answer, setuid(0));
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	answer_errno(answer, code == MAP_FAILED ? -1 : 0);
	errno = ENOTSUP;
	answer_errno(answer, has_threads() ? 0 : -1);
}

static void map_much(struct reader *request, struct buf *answer)
{
	size_t n = reader_u64(request);
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	answer_errno(answer, p == MAP_FAILED ? -1 : 0);
}

/* Asks for a file and answers its first byte. */
static int files_socket;

static void read_file(struct reader *request, struct buf *answer)
{
	char name[] = "f", byte = 0;
	struct iovec part = { name, 1 };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int fd;

	(void)request;
	if (sendmsg(files_socket, &(struct msghdr){ .msg_iov = &part, .msg_iovlen = 1 }, 0) != 1 ||
	    recvmsg(files_socket, &m, 0) != 1)
		return;
	memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
	if (pread(fd, &byte, 1, 0) == 1)
		buf_u8(answer, (uint8_t)byte);
	close(fd);
}

static void keep_socket(int socket)
{
	files_socket = socket;
}

static bool serve_file(int socket)
{
	char byte;
	struct iovec part = { &byte, 1 };
	union {
		struct cmsghdr head;
		uint8_t room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr m = { .msg_iov = &part,
			    .msg_iovlen = 1,
			    .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	int fd;

	if (recv(socket, &byte, 1, 0) != 1)
		return false;
	fd = open("handed.over", O_RDONLY | O_CLOEXEC);
	control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
					 .cmsg_level = SOL_SOCKET,
					 .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
	sendmsg(socket, &m, MSG_NOSIGNAL);
	close(fd);
	return true;
}

enum { ECHO_BYTES, REPEAT, DIE, HANG, TRY_ALL, MAP_MUCH, READ_FILE };
static parser_handler *const handlers[] = { echo, repeat, die, hang, try_all, map_much, read_file };

static struct parser *new_parser(void)
{
	const struct parser_config config = {
		.handlers = handlers,
		.n_handlers = ARRAY_SIZE(handlers),
		.memory_bytes = 256 << 20,
		.deadline_ms = 60000,
		.connect = keep_socket,
		.serve = serve_file,
	};

	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	return parser_new(&config);
}

static int ask_number(struct parser *p, uint32_t handler, uint64_t n, struct parser_answer *answer)
{
	struct buf request = { 0 };
	int r;

	buf_u64(&request, n);
	r = parser_ask(p, handler, &request, answer, NULL);
	buf_fini(&request);
	return r;
}

static void check_echo(struct parser *p)
{
	struct parser_answer answer;

	assert_int_equal(ask_number(p, ECHO_BYTES, 0x1234567890, &answer), 0);
	assert_int_equal(answer.size, 8);
	assert_int_equal(*(const uint64_t *)(const void *)answer.bytes, 0x1234567890);
	parser_answer_fini(&answer);
}

static void one_child_answers_many_requests(void **state)
{
	struct parser *p = new_parser();
	int pid;

	(void)state;
	assert_int_equal(parser_pid(p), 0); /* none before the first request */
	check_echo(p);
	pid = parser_pid(p);
	assert_true(pid > 0);
	check_echo(p);
	assert_int_equal(parser_pid(p), pid);
	assert_int_equal(parser_cost(p).n_started, 1);
	parser_free(p);
	assert_int_equal(kill(pid, 0), -1);
}

static void small_and_large_answers_arrive(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 65535, 65536, 65537, 1 << 20, 20 << 20 };
	struct parser *p = new_parser();

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
	parser_free(p);
}

static void a_child_that_dies_is_replaced(void **state)
{
	struct parser *p = new_parser();
	struct parser_answer answer;
	int pid;

	(void)state;
	check_echo(p);
	pid = parser_pid(p);
	assert_int_equal(ask_number(p, DIE, 0, &answer), -EPIPE);
	assert_int_equal(answer.size, 0);
	check_echo(p);
	assert_true(parser_pid(p) != pid);
	/* By a signal from outside, between two requests. */
	kill(parser_pid(p), SIGKILL);
	waitid(P_PID, (id_t)parser_pid(p), NULL, WEXITED | WNOWAIT);
	assert_int_equal(ask_number(p, ECHO_BYTES, 0, &answer), -EPIPE);
	check_echo(p);
	assert_int_equal(parser_cost(p).n_started, 3);
	assert_int_equal(parser_cost(p).n_died, 2);
	parser_free(p);
}

static void a_child_that_takes_too_long_is_replaced(void **state)
{
	const struct parser_config config = { .handlers = handlers,
					      .n_handlers = ARRAY_SIZE(handlers),
					      .memory_bytes = 64 << 20,
					      .deadline_ms = 300 };
	struct parser *p = parser_new(&config);
	struct parser_answer answer;

	(void)state;
	if (prctl(PR_GET_SECCOMP) < 0)
		skip_because("no seccomp here: an emulator");
	assert_int_equal(ask_number(p, HANG, 0, &answer), -ETIMEDOUT);
	assert_int_equal(parser_pid(p), 0);
	assert_int_equal(parser_cost(p).n_late, 1);
	parser_free(p);
}

static void a_child_has_no_rights(void **state)
{
	static const uint32_t wanted[] = { EACCES, EACCES, EPERM, EPERM, EPERM,
					   EPERM,  EPERM,  EPERM, EPERM, 0 };
	struct parser *p = new_parser();
	struct buf request = { 0 };
	struct parser_answer answer;
	const uint32_t *errors;

	(void)state;
	buf_u32(&request, (uint32_t)getpid());
	assert_int_equal(parser_ask(p, TRY_ALL, &request, &answer, NULL), 0);
	assert_int_equal(answer.size, sizeof(wanted));
	errors = (const uint32_t *)(const void *)answer.bytes;
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++)
		assert_int_equal(errors[i], wanted[i]);
	parser_answer_fini(&answer);
	buf_fini(&request);
	parser_free(p);
}

static void a_child_shows_its_state_in_proc(void **state)
{
	struct parser *p = new_parser();
	char path[64], *text;

	(void)state;
	check_echo(p);
	snprintf(path, sizeof(path), "/proc/%d/status", parser_pid(p));
	assert_int_equal(file_read_all(path, 1 << 20, &text, NULL), 0);
	assert_non_null(strstr(text, "Name:\tassay-parser\n"));
	assert_non_null(strstr(text, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(text, "Seccomp:\t2\n"));
	assert_non_null(strstr(text, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapInh:\t0000000000000000\n"));
	assert_non_null(strstr(text, "CapAmb:\t0000000000000000\n"));
	free(text);
	parser_free(p);
}

static void memory_is_limited(void **state)
{
	struct parser *p = new_parser();
	struct parser_answer answer;

	(void)state;
	assert_int_equal(ask_number(p, MAP_MUCH, 16 << 20, &answer), 0);
	assert_int_equal(*(const uint32_t *)(const void *)answer.bytes, 0);
	parser_answer_fini(&answer);
	assert_int_equal(ask_number(p, MAP_MUCH, 1 << 30, &answer), 0);
	assert_int_equal(*(const uint32_t *)(const void *)answer.bytes, ENOMEM);
	parser_answer_fini(&answer);
	parser_free(p);
}

static void a_child_reads_files_that_it_is_given(void **state)
{
	struct parser *p = new_parser();
	struct parser_answer answer;

	(void)state;
	write_file("handed.over", "x");
	for (int i = 0; i < 3; i++) {
		assert_int_equal(ask_number(p, READ_FILE, 0, &answer), 0);
		assert_int_equal(answer.size, 1);
		assert_int_equal(*answer.bytes, 'x');
		parser_answer_fini(&answer);
	}
	parser_free(p);
}

static void *ask_often(void *arg)
{
	for (int i = 0; i < 200; i++)
		check_echo(arg);
	return NULL;
}

static void threads_wait_for_each_other(void **state)
{
	struct parser *p = new_parser();
	pthread_t threads[4];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_often, p), 0);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(parser_cost(p).n_started, 1);
	parser_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_child_answers_many_requests),
		cmocka_unit_test(small_and_large_answers_arrive),
		cmocka_unit_test(a_child_that_dies_is_replaced),
		cmocka_unit_test(a_child_that_takes_too_long_is_replaced),
		cmocka_unit_test(a_child_has_no_rights),
		cmocka_unit_test(a_child_shows_its_state_in_proc),
		cmocka_unit_test(memory_is_limited),
		cmocka_unit_test(a_child_reads_files_that_it_is_given),
		cmocka_unit_test(threads_wait_for_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
