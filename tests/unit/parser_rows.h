/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of the parser for its tests: what a hostile file could make a reader do. */
#pragma once

#include "guard/parser.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "scratch.h"

static void echo(struct parser_job *job)
{
	size_t n = reader_left(&job->request);

	buf_bytes(job->answer, reader_bytes(&job->request, n), n);
}

/* As many bytes as the request says. */
static void repeat(struct parser_job *job)
{
	uint64_t n = reader_u64(&job->request);

	buf_reserve(job->answer, n + 1);
	memset(job->answer->data, 'r', n);
	job->answer->len = n;
}

static void die(struct parser_job *job)
{
	(void)job;
	kill(getpid(), SIGKILL); /* refused */
	abort();
}

static void hang(struct parser_job *job)
{
	(void)job;
	for (;;)
		usleep(10000);
}

/* Takes so many ms of CPU time as the request says. */
static void work(struct parser_job *job)
{
	uint64_t end_ns = clock_thread_cpu_ns() + reader_u64(&job->request) * NS_PER_MS;

	while (clock_thread_cpu_ns() < end_ns)
		;
	buf_u8(job->answer, 1);
}

/* Never hangs, and never ends: assay answers each wish. */
static void wish_on(struct parser_job *job)
{
	struct buf wish = { 0 };
	struct file_mapping file;

	buf_u8(&wish, 0);
	for (;;)
		parser_open(job, &wish, &file);
}

/* Wishes that it does not read the answers of: sends on the second socket of a child. */
static void wish_deaf(struct parser_job *job)
{
	struct iovec part = { "wish", 4 };
	const struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };

	(void)job;
	alarm(0); /* nobody but assay ends it */
	for (;;)
		if (sendmsg(4, &message, MSG_NOSIGNAL) < 0)
			usleep(1000);
}

/* More than the child may have. */
static void eat(struct parser_job *job)
{
	for (uint64_t n = 1 << 20;; n *= 2)
		memset(xmalloc(n), 1, n);
	(void)job;
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
static void try_all(struct parser_job *job)
{
	struct reader *request = &job->request;
	struct buf *answer = job->answer;
	static char *const argv[] = { "true", NULL };
	struct stat st;
	void *code;

	answer_errno(answer, open("/etc/passwd", O_RDONLY | O_CLOEXEC));
	answer_errno(answer, stat("/etc/passwd", &st));
	answer_errno(answer, socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
	answer_errno(answer, fork());
	answer_errno(answer, execv("/bin/true", argv));
	answer_errno(answer, kill((pid_t)reader_u32(request), SIGTERM));
	answer_errno(answer, (int)syscall(SYS_tgkill, getppid(), getppid(), SIGTERM));
	answer_errno(answer, fcntl(3, F_SETOWN, getppid()));
	answer_errno(answer, (int)ptrace(PTRACE_ATTACH, getppid(), NULL, NULL));
	answer_errno(answer, setuid(0));
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	answer_errno(answer, code == MAP_FAILED ? -1 : 0);
	errno = ENOTSUP;
	answer_errno(answer, has_threads() ? 0 : -1);
}

static void map_much(struct parser_job *job)
{
	size_t n = reader_u64(&job->request);
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	answer_errno(job->answer, p == MAP_FAILED ? -1 : 0);
}

static void map_shared(struct parser_job *job)
{
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	answer_errno(job->answer, p == MAP_FAILED ? -1 : 0);
}

/* Wishes for the file that the request names; answers the result, and the byte behind "ELF". */
static void read_file(struct parser_job *job)
{
	struct buf wish = { 0 };
	struct file_mapping file;
	int r;

	buf_bytes(&wish, job->request.at, reader_left(&job->request));
	r = parser_open(job, &wish, &file);
	buf_u32(job->answer, (uint32_t)r);
	if (r >= 0)
		buf_u8(job->answer, file.base[SELFMAG]);
	file_unmap(&file);
	buf_fini(&wish);
}

/* The size of the question's file, and its first byte. */
static void read_subject(struct parser_job *job)
{
	buf_u64(job->answer, job->file->size);
	buf_u8(job->answer, job->file->size ? job->file->base[0] : 0);
}

/*
 * Reads each byte of the question's file twice, as a reader does that follows its offsets. A page
 * takes some microseconds of CPU time, so 128 MiB are read within dozens of clock ticks, at which
 * the child gives the pages back.
 */
static void read_much(struct parser_job *job)
{
	volatile uint64_t sum = 0;

	for (int n = 0; n < 2; n++)
		for (size_t i = 0; i < job->file->size; i++)
			sum += job->file->base[i];
	buf_u64(job->answer, sum);
}

static bool accept_all(const void *bytes, size_t size)
{
	(void)bytes, (void)size;
	return true;
}

static bool accept_none(const void *bytes, size_t size)
{
	(void)bytes, (void)size;
	return false;
}

#define ROW(function)                                                     \
	{                                                                 \
#function, function, accept_all, 60000, PARSER_LANE_FRONT \
	}
static const struct parser_row rows[] = {
	ROW(echo),
	ROW(repeat),
	ROW(die),
	ROW(eat),
	ROW(try_all),
	ROW(map_much),
	ROW(read_file),
	ROW(read_subject),
	ROW(read_much),
	ROW(map_shared),
	{ "hang", hang, accept_all, 300, PARSER_LANE_FRONT },
	{ "wish_on", wish_on, accept_all, 300, PARSER_LANE_FRONT },
	{ "wish_deaf", wish_deaf, accept_all, 300, PARSER_LANE_FRONT },
	{ "work", work, accept_all, 500, PARSER_LANE_FRONT },
	{ "damaged", echo, accept_none, 60000, PARSER_LANE_FRONT },
	{ "behind", echo, accept_all, 60000, PARSER_LANE_BACK },
};
enum {
	ECHO_BYTES,
	REPEAT,
	DIE,
	EAT,
	TRY_ALL,
	MAP_MUCH,
	READ_FILE,
	READ_SUBJECT,
	READ_MUCH,
	MAP_SHARED_BYTES,
	HANG,
	WISH_ON,
	WISH_DEAF,
	WORK,
	DAMAGED,
	BEHIND
};

/* Its bytes, and the descriptor that the child gets. */
static int hold_file(const char *name, struct file_mapping *out)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : file_hold_fd(fd, name, out, NULL);

	return r < 0 ? r : file_map_held(out, name, NULL);
}

/* Opens the file of a wish, which is its name. */
static bool is_wished_trusted;

static int serve_wish(void *context, struct reader *wish, struct file_mapping *out,
		      bool *is_trusted)
{
	const char *name = reader_cstr(wish);

	assert_string_equal(context, "context");
	*is_trusted = is_wished_trusted;
	return name && !strchr(name, '/') ? hold_file(name, out) : -EACCES;
}
