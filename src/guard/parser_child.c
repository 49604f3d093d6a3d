/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "guard/parser_child.h"

#include <assert.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/cut_guard.h"
#include "base/mem.h"
#include "base/pieces.h"
#include "base/reserve.h"
#include "base/thread.h"
#include "guard/message.h"
#include "guard/parser_starter.h"
#include "guard/sandbox.h"

#define QUESTION_MAX ((size_t)128 << 10)
#define WISH_MAX     ((size_t)16 << 10)  /* of INLINE_MAX */
#define INLINE_MAX   ((size_t)64 << 10)  /* a larger answer is in a memfd */
#define COPIED_BYTES ((size_t)128 << 10) /* a larger file is mapped */
#define RESTED_BYTES ((size_t)16 << 20)  /* the pages of a larger one do not stay in memory … */
#define REST_US      10000               /* … for longer than so much CPU time */
#define ANSWER_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

/* Before the bytes of a question. The child is a fork, so it knows the function by its address. */
struct question_head {
	uint32_t number, deadline_ms;
	void (*run)(struct parser_job *job);
};

/* Before the bytes of an answer; with a descriptor, they are in the memfd. */
struct answer_head {
	uint32_t number, is_in_memfd;
	uint64_t size;
};

struct parser_child {
	struct parser_limits limits;
	pthread_mutex_t lock; /* of the fields below, and of a question with its answer */
	_Atomic(pid_t) pid;   /* 0: none; parser_child_bytes() reads it without the lock */
	int questions, files; /* sockets */
	bool is_of_starter;   /* not of this process */
	uint64_t first_bytes; /* resident when it started */
	bool is_spoilt;       /* it has read a file of another class */
	uint32_t number;
	struct parser_cost cost;
	uint8_t *room; /* INLINE_MAX and a head */
};

/* ---- the child ---- */

static int put_in_memfd(const struct buf *answer)
{
	int fd = memfd_create("answer", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && file_write_all(fd, answer->data, answer->len) == 0 &&
	    fcntl(fd, F_ADD_SEALS, ANSWER_SEALS) == 0)
		return fd;
	close_at_exit(&fd);
	return -1;
}

static bool send_answer(int socket, uint32_t number, const struct buf *answer)
{
	struct answer_head head = { .number = number, .size = answer->len };
	cleanup(close_at_exit) int fd = -1;

	if (answer->len <= INLINE_MAX)
		return message_send(socket, 0, &head, sizeof(head), answer->data, answer->len,
				    -1) == 0;
	head.is_in_memfd = true;
	fd = put_in_memfd(answer);
	return fd >= 0 && message_send(socket, 0, &head, sizeof(head), NULL, 0, fd) == 0;
}

/* A wish and its file; one at a time. */
struct child_files {
	int socket;
	pthread_mutex_t lock;
};

static int receive_file(int socket, struct file_mapping *out)
{
	int32_t result = -EPROTO;
	cleanup(close_at_exit) int fd = -1;
	ssize_t n = message_receive(socket, &result, sizeof(result), &fd);

	if (n != sizeof(result) || (result >= 0 && fd < 0))
		_exit(1); /* assay has gone */
	if (result >= 0) {
		int r = file_load_fd(fd, "a file", COPIED_BYTES, out, NULL);

		return r < 0 ? r : result;
	}
	return result;
}

static int open_from_child(struct parser_job *job, const struct buf *wish, struct file_mapping *out)
{
	struct child_files *files = job->context;
	int r;

	if (wish->len > WISH_MAX)
		return -ENAMETOOLONG;
	pthread_mutex_lock(&files->lock);
	r = message_send(files->socket, MSG_DONTWAIT, wish->data, wish->len, NULL, 0, -1);
	if (r == 0)
		r = receive_file(files->socket, out);
	pthread_mutex_unlock(&files->lock);
	return r;
}

static void run_question(const struct question_head *head, struct reader request, int fd,
			 struct child_files *files, struct buf *answer)
{
	struct file_mapping file = { 0 };
	struct parser_job job = {
		.file = &file,
		.request = request,
		.answer = answer,
		.open = open_from_child,
		.context = files,
	};

	/* If the parent dies meanwhile, nobody else ends this question. */
	alarm((2 * head->deadline_ms + PARSER_PATIENCE_MS) / 1000 + 2);
	if (fd < 0 || file_load_fd(fd, "a file", COPIED_BYTES, &file, NULL) == 0)
		head->run(&job);
	file_unmap(&file);
	alarm(0);
}

static bool answer_one(int socket, struct child_files *files, uint8_t *room)
{
	struct question_head head;
	struct buf answer = { 0 };
	int fd;
	ssize_t n = message_receive(socket, room, QUESTION_MAX, &fd);
	bool is_sent;

	if (n < (ssize_t)sizeof(head))
		return false;
	memcpy(&head, room, sizeof(head));
	run_question(&head, reader_over(room + sizeof(head), (size_t)n - sizeof(head)), fd, files,
		     &answer);
	close_at_exit(&fd);
	is_sent = send_answer(socket, head.number, &answer);
	buf_fini(&answer);
	return is_sent;
}

/* Keeps the two sockets alone; 0 to 2 lead nowhere. */
static void close_others(int *questions, int *files)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	*questions = fcntl(*questions, F_DUPFD_CLOEXEC, 5);
	*files = fcntl(*files, F_DUPFD_CLOEXEC, 5);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (*questions < 0 || *files < 0)
		_exit(1);
	dup2(*questions, 3);
	dup2(*files, 4);
	*questions = 3;
	*files = 4;
	close_range(5, ~0U, 0);
}

static void reset_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	/* Ctrl-C goes to all processes of a terminal; the parent decides. */
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, SIG_DFL);
	signal(SIGALRM, SIG_DFL);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * Tables are large, and freed after each question. malloc() would return them to the system, and
 * clear as many new pages for the next ones.
 */
static void keep_freed_memory(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 64 << 20);
	mallopt(M_TOP_PAD, 1 << 20);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_usec * 1000;
}

void parser_child_run(uint64_t memory_bytes, int questions, int wishes)
{
	uint8_t *room = xmalloc(QUESTION_MAX);
	struct child_files files = { .lock = PTHREAD_MUTEX_INITIALIZER };

	prctl(PR_SET_NAME, "assay-parser");
	reset_signals();
	reserve_forget();
	keep_freed_memory();
	cut_guard_enable();
	cut_guard_rest_often(RESTED_BYTES, REST_US);
	close_others(&questions, &wishes);
	files.socket = wishes;
	if (sandbox_enter(memory_bytes, NULL) < 0)
		_exit(1);
	while (answer_one(questions, &files, room))
		;
	_exit(0);
}

/* ---- this process ---- */

struct parser_child *parser_child_new(const struct parser_limits *limits)
{
	struct parser_child *p = xcalloc(1, sizeof(*p));

	p->limits = *limits;
	p->questions = p->files = -1;
	p->room = xmalloc(INLINE_MAX + sizeof(struct answer_head));
	pthread_mutex_init(&p->lock, NULL);
	return p;
}

void parser_child_reap(pid_t pid, struct parser_end *out)
{
	struct rusage used = { 0 };

	kill(pid, SIGKILL);
	while (wait4(pid, NULL, 0, &used) < 0 && errno == EINTR)
		;
	out->cpu_ns = timeval_ns(used.ru_utime) + timeval_ns(used.ru_stime);
	out->peak_bytes = (uint64_t)used.ru_maxrss * 1024;
}

/* Kills the child and counts its cost. */
static void end_child(struct parser_child *p)
{
	struct parser_end end = { 0 };

	if (!p->pid)
		return;
	close_at_exit(&p->questions);
	close_at_exit(&p->files);
	p->questions = p->files = -1;
	if (p->is_of_starter)
		parser_starter_end(p->pid, &end);
	else
		parser_child_reap(p->pid, &end);
	p->pid = 0;
	p->is_spoilt = false;
	p->cost.cpu_ns += end.cpu_ns;
	p->cost.peak_bytes = MAX(p->cost.peak_bytes, end.peak_bytes);
}

void parser_child_end(struct parser_child *p)
{
	pthread_mutex_lock(&p->lock);
	end_child(p);
	pthread_mutex_unlock(&p->lock);
}

void parser_child_free(struct parser_child *p)
{
	if (!p)
		return;
	end_child(p);
	pthread_mutex_destroy(&p->lock);
	free(p->room);
	free(p);
}

/* A fork of the starter, if there is one; else of this process. */
static pid_t start_process(struct parser_child *p, int questions, int files)
{
	pid_t pid = parser_starter_start(p->limits.memory_bytes, questions, files);

	p->is_of_starter = pid > 0;
	if (!p->is_of_starter)
		pid = fork();
	if (pid == 0)
		parser_child_run(p->limits.memory_bytes, questions, files);
	return pid;
}

/* "size resident shared …", in pages (proc(5)): shared ones are those of files and memfds. */
static void read_statm(const struct parser_child *p, uint64_t *resident, uint64_t *shared)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned long long pages = 0, of_files = 0;
	char path[64], line[128];
	pid_t pid = p->pid;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	if (pid > 0 && file_read_line(path, line, sizeof(line)))
		sscanf(line, "%*u %llu %llu", &pages, &of_files);
	*resident = pages * page;
	*shared = MIN(pages, of_files) * page;
}

uint64_t parser_child_bytes(const struct parser_child *p)
{
	uint64_t resident, shared;

	read_statm(p, &resident, &shared);
	return resident;
}

uint64_t parser_child_own_bytes(const struct parser_child *p)
{
	uint64_t resident, shared;

	read_statm(p, &resident, &shared);
	return resident - shared;
}

static int start_child(struct parser_child *p, struct error *err)
{
	int questions[2], files[2] = { -1, -1 };

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, questions) < 0)
		return error_errno(err, -errno, "cannot start the parser");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, files) == 0)
		p->pid = start_process(p, questions[1], files[1]);
	close(questions[1]);
	close_at_exit(&files[1]);
	if (p->pid <= 0) {
		p->pid = 0;
		close(questions[0]);
		close_at_exit(&files[0]);
		return error_errno(err, -errno, "cannot start the parser");
	}
	p->questions = questions[0];
	p->files = files[0];
	p->cost.n_started++;
	p->first_bytes = p->limits.kept_bytes ? parser_child_bytes(p) : 0;
	return 0;
}

/* Whether a file has the beginning of an ELF file: nothing else is handed out on a wish. */
static bool is_elf(const struct file_mapping *file)
{
	return file->size >= SELFMAG && !memcmp(file->base, ELFMAG, SELFMAG);
}

/* Answers one wish of the child. False: it has gone. */
static bool serve_wish(struct parser_child *p, const struct parser_question *q)
{
	cleanup(close_at_exit) int none = -1;
	struct file_mapping file = { 0 };
	bool is_trusted = false;
	ssize_t n = message_receive(p->files, p->room, WISH_MAX, &none);
	struct reader wish = reader_over(p->room, n > 0 ? (size_t)n : 0);
	int32_t result;
	int r;

	if (n <= 0)
		return false;
	result = q->open ? q->open(q->context, &wish, &file, &is_trusted) : -EACCES;
	if (result >= 0 && file_descriptor(&file) < 0)
		result = -EMFILE;
	if (result >= 0 && !is_elf(&file))
		result = -EACCES;
	p->is_spoilt |= result >= 0 && !is_trusted && q->is_trusted;
	r = message_send(p->files, MSG_DONTWAIT, &result, sizeof(result), NULL, 0,
			 result < 0 ? -1 : file_descriptor(&file));
	file_unmap(&file);
	return r == 0;
}

static uint32_t deadline_of(const struct parser_question *q)
{
	return q->deadline_ms ? q->deadline_ms : q->row->deadline_ms;
}

/* How long assay waits for an answer. */
struct patience {
	uint64_t begun_ns, deadline_ns;
	uint64_t most_ns;  /* the time that may be added */
	uint64_t delay_ns; /* the child's delay (process_delay_ns()) at the first look */
	uint64_t next_ns;  /* the next look */
	bool has_looked;
};

static struct patience patience_for(const struct parser_question *q)
{
	struct patience wait = { .begun_ns = clock_monotonic_ns(),
				 .deadline_ns = deadline_of(q) * NS_PER_MS,
				 .most_ns = q->is_strict ? 0 : PARSER_PATIENCE_MS * NS_PER_MS };

	/* Most answers come before, so the delay is not read for them. */
	wait.next_ns = wait.begun_ns + wait.deadline_ns / 8;
	return wait;
}

/* Whether the deadline has passed. A machine may be busy: the child's delay does not count. */
static bool is_late(struct patience *wait, const struct parser_child *p, uint64_t now_ns)
{
	uint64_t delay_ns;

	if (now_ns < wait->next_ns)
		return false;
	delay_ns = process_delay_ns(p->pid);
	if (!wait->has_looked) {
		wait->has_looked = true;
		wait->delay_ns = delay_ns;
		wait->begun_ns =
			now_ns - wait->deadline_ns / 8; /* this thread may be delayed, too */
	}
	delay_ns -= MIN(delay_ns, wait->delay_ns);
	wait->next_ns = wait->begun_ns + wait->deadline_ns + MIN(delay_ns, wait->most_ns);
	return now_ns >= wait->next_ns;
}

/* Until the child answers, serves its wishes. 0, or why there is no answer. */
static int await_answer(struct parser_child *p, const struct parser_question *q)
{
	struct patience wait = patience_for(q);

	for (;;) {
		struct pollfd polled[] = { { .fd = p->questions, .events = POLLIN },
					   { .fd = p->files, .events = POLLIN } };
		uint64_t now_ns = clock_monotonic_ns();
		bool is_over = is_late(&wait, p, now_ns);
		int ms = is_over ? 0 : (int)((wait.next_ns - now_ns) / NS_PER_MS) + 1;
		int r = poll(polled, ARRAY_SIZE(polled), ms);

		if (r < 0 && errno != EINTR)
			return -errno;
		if (r > 0 && polled[0].revents)
			return 0;
		/* Not only if poll() finds nothing: wishes without end are late, too. */
		if (is_over)
			return -ETIMEDOUT;
		if (r > 0 && !serve_wish(p, q))
			return -EPIPE;
	}
}

/* Maps a sealed memfd. */
static int map_answer(int fd, uint64_t size, struct parser_answer *out)
{
	struct stat st;
	void *base;
	int seals = fcntl(fd, F_GET_SEALS);

	if (seals < 0 || (seals & ANSWER_SEALS) != ANSWER_SEALS || fstat(fd, &st) < 0 || !size ||
	    size > PARSER_ANSWER_MAX || (uint64_t)st.st_size != size)
		return -EPROTO;
	/* All pages of a small one at once, as all are read. A written page is copied. */
	base = mmap(NULL, (size_t)size, PROT_READ,
		    MAP_PRIVATE | (size > PIECE_BYTES ? 0 : MAP_POPULATE), fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	if (mprotect(base, (size_t)size, PROT_READ | PROT_WRITE) < 0) {
		munmap(base, (size_t)size);
		return -ENOMEM;
	}
	*out = (struct parser_answer){ base, (size_t)size, true };
	return 0;
}

static int take_answer(struct parser_child *p, uint32_t number, struct parser_answer *out)
{
	struct answer_head head;
	cleanup(close_at_exit) int fd = -1;
	ssize_t n = message_receive(p->questions, p->room, INLINE_MAX + sizeof(head), &fd);
	uint8_t *copy;

	if (n <= 0)
		return n < 0 ? (int)n : -EPIPE;
	if ((size_t)n < sizeof(head))
		return -EPROTO;
	memcpy(&head, p->room, sizeof(head));
	if (head.number != number)
		return -EPROTO;
	if (head.is_in_memfd)
		return fd < 0 ? -EPROTO : map_answer(fd, head.size, out);
	n -= (ssize_t)sizeof(head);
	if ((uint64_t)n != head.size)
		return -EPROTO;
	copy = xmalloc((size_t)n + 1);
	memcpy(copy, p->room + sizeof(head), (size_t)n);
	*out = (struct parser_answer){ copy, (size_t)n, false };
	return 0;
}

/* Questions that are sent ahead of their answers. */
#define IN_FLIGHT 32

/* A row of questions: those before `done` have their results, those before `sent` are sent. */
struct asking {
	const struct parser_question *q;
	size_t n, sent, done;
};

static int check_question(const struct parser_question *q, struct error *err)
{
	if (q->request->len > QUESTION_MAX - sizeof(struct question_head))
		return error_set(err, -EMSGSIZE, "a question to the parser is too long");
	if (q->file && file_descriptor(q->file) < 0)
		return error_set(err, -EMFILE, "no descriptor is left for the parser");
	return 0;
}

static int send_question(struct parser_child *p, const struct parser_question *q)
{
	const struct question_head head = { p->number + 1, deadline_of(q), q->row->run };
	int r = message_send(p->questions, MSG_DONTWAIT, &head, sizeof(head), q->request->data,
			     q->request->len, q->file ? file_descriptor(q->file) : -1);

	p->number += r == 0;
	return r;
}

/* An error concerns the question whose answer is next: another is sent later, or to another child.
 */
static int send_questions(struct parser_child *p, struct asking *a)
{
	int r = 0;

	while (r == 0 && a->sent < a->n && a->sent - a->done < IN_FLIGHT &&
	       check_question(&a->q[a->sent], NULL) == 0) {
		r = send_question(p, &a->q[a->sent]);
		a->sent += r == 0;
	}
	return a->sent > a->done ? 0 : r;
}

static int await_next(struct parser_child *p, struct asking *a, struct parser_answer *answer)
{
	const struct parser_question *q = &a->q[a->done];
	uint32_t number;
	int r = send_questions(p, a);

	if (r == 0)
		r = await_answer(p, q);
	number = p->number - (uint32_t)(a->sent - a->done - 1);
	if (r == 0)
		r = take_answer(p, number, answer);
	return r == -ECONNRESET || r == -ENOTCONN ? -EPIPE : r;
}

static int explain(struct parser_child *p, const struct parser_question *q, int r,
		   struct error *err)
{
	switch (r) {
	case 0:
		return 0;
	case -ETIMEDOUT:
		p->cost.n_late++;
		return error_set(err, r, "the parser took longer than %u ms", deadline_of(q));
	case -EPIPE:
		p->cost.n_died++;
		return error_set(err, r, "the parser died");
	default:
		p->cost.n_died++;
		return error_errno(err, r, "the parser's answer");
	}
}

/* A child works at the nice value of the thread that asks (thread_hurry()). */
static void follow_asker(const struct parser_child *p)
{
	int own = getpriority(PRIO_PROCESS, 0);

	if (getpriority(PRIO_PROCESS, (id_t)p->pid) == own)
		return;
	/* a daemon has no right to, but its starter may have the limit (RLIMIT_NICE) */
	if (setpriority(PRIO_PROCESS, (id_t)p->pid, own) < 0 && p->is_of_starter)
		parser_starter_hurry(p->pid, own);
}

/* It keeps the memory that it freed (keep_freed_memory()). */
static bool holds_much(const struct parser_child *p)
{
	return parser_child_bytes(p) > p->first_bytes + p->limits.kept_bytes;
}

static size_t ask_child(struct parser_child *p, struct asking *a, struct parser_result *results)
{
	bool is_over;

	if (!p->pid && (results->error = start_child(p, &results->why)) < 0)
		return 1;
	follow_asker(p);
	do {
		struct parser_result *result = &results[a->done];
		int r = await_next(p, a, &result->answer);

		p->cost.n_questions++;
		result->error = explain(p, &a->q[a->done], r, &result->why);
		is_over = r < 0 || p->is_spoilt;
		a->done++;
	} while (!is_over && a->done < a->n && check_question(&a->q[a->done], NULL) == 0);
	if (is_over || (p->limits.kept_bytes && holds_much(p)))
		end_child(p);
	return a->done;
}

size_t parser_child_ask_all(struct parser_child *p, const struct parser_question *questions,
			    size_t n, struct parser_result *results)
{
	struct asking a = { .q = questions, .n = n };
	size_t done;

	results->error = check_question(questions, &results->why);
	if (results->error < 0)
		return 1;
	pthread_mutex_lock(&p->lock);
	done = ask_child(p, &a, results);
	pthread_mutex_unlock(&p->lock);
	return done;
}

/* The largest resident set of a process, in bytes; 0 if it has ended. */
static uint64_t peak_of_process(pid_t pid)
{
	cleanup(free_at_exit) char *text = NULL;
	char path[64], *at;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (file_read_all(path, 1 << 16, &text, NULL) < 0 || !(at = strstr(text, "\nVmHWM:")))
		return 0;
	return strtoull(at + strlen("\nVmHWM:"), NULL, 10) * 1024;
}

static void add_running(const struct parser_child *p, struct parser_cost *cost)
{
	struct timespec used;
	clockid_t clock;

	if (p->pid <= 0)
		return;
	if (clock_getcpuclockid(p->pid, &clock) == 0 && clock_gettime(clock, &used) == 0)
		cost->cpu_ns += timespec_ns(used);
	cost->peak_bytes = MAX(cost->peak_bytes, peak_of_process(p->pid));
	cost->n_running = 1;
}

struct parser_cost parser_child_cost(struct parser_child *p)
{
	struct parser_cost cost;

	pthread_mutex_lock(&p->lock);
	cost = p->cost;
	add_running(p, &cost);
	pthread_mutex_unlock(&p->lock);
	return cost;
}

void parser_child_look(struct parser_child *p, struct parser_cost *out)
{
	if (pthread_mutex_trylock(&p->lock))
		return;
	*out = p->cost;
	add_running(p, out);
	pthread_mutex_unlock(&p->lock);
}

int parser_child_pid(struct parser_child *p)
{
	int pid;

	pthread_mutex_lock(&p->lock);
	pid = p->pid;
	pthread_mutex_unlock(&p->lock);
	return pid;
}
