/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/files/file.h"
#include "base/reserve.h"
#include "cli/command.h"

#define MESSAGE_BYTES 4096
#define END_MS        500
#define WORKER_NICE   5

/*
 * Tables of a day have megabytes, and each part has its own. malloc(3) keeps their memory, and asks
 * for huge pages: faults of single pages took 11 % of the time of a page of a day. Other libraries
 * do not know this.
 */
#define MALLOC_OF_LARGE_TABLES                                           \
	"glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=1073741824:" \
	"glibc.malloc.trim_threshold=4294967296"

enum { OUTPUT, MESSAGES, N_PIPES, END = N_PIPES };
_Static_assert(END == WORKER_FD_END && END + 1 == WORKER_FDS, "each has a place");

struct worker {
	pid_t pid; /* 0: it has ended */
	int fds[WORKER_FDS];
	struct buf out, message;
	uint64_t deadline_ns;
	int exit_status; /* as of wait(2) */
	bool is_too_large, is_late, is_stopped;
};

static void run_child(char *const *words, int input, const int *ends)
{
	const struct rlimit memory = { WORKER_MEMORY, WORKER_MEMORY }, cores = { 0, 0 };
	sigset_t none;

	/* The server blocks signals for its signalfd. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setpgid(0, 0);
	/* The server goes first: it answers a hundred requests while a worker makes one answer. */
	setpriority(PRIO_PROCESS, 0, MIN(getpriority(PRIO_PROCESS, 0) + WORKER_NICE, 19));
	prctl(PR_SET_PDEATHSIG, SIGTERM); /* assay removes its temporary files then */
	setrlimit(RLIMIT_DATA, &memory);
	setrlimit(RLIMIT_CORE, &cores);
	dup2(input, STDIN_FILENO);
	dup2(ends[OUTPUT], STDOUT_FILENO);
	dup2(ends[MESSAGES], STDERR_FILENO);
	setenv("PAGER", "", 1);
	setenv("GLIBC_TUNABLES", MALLOC_OF_LARGE_TABLES, 0);
	execv("/proc/self/exe", words);
	_exit(127);
}

/* A file in memory with the bytes; NULL: /dev/null. */
static int open_input(const struct buf *bytes)
{
	int fd = bytes ? memfd_create("assay-body", MFD_CLOEXEC)
		       : open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !bytes)
		return fd < 0 ? -errno : fd;
	if (file_write_all(fd, bytes->data, bytes->len) < 0 || lseek(fd, 0, SEEK_SET) < 0) {
		close(fd);
		return -ENOMEM;
	}
	return fd;
}

int worker_start(char *const *words, const struct buf *bytes, struct worker **out,
		 struct error *err)
{
	cleanup(worker_free_at_exit) struct worker *w = xcalloc(1, sizeof(*w));
	cleanup(close_at_exit) int input = open_input(bytes);
	int ends[N_PIPES] = { -1, -1 }, r = MIN(input, 0);

	w->fds[OUTPUT] = w->fds[MESSAGES] = w->fds[END] = -1;
	for (int i = 0; i < N_PIPES && !r; i++) {
		int pair[2];

		r = pipe2(pair, O_CLOEXEC) < 0 ? -errno : 0;
		if (r)
			continue;
		w->fds[i] = pair[0];
		ends[i] = pair[1];
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
	}
	w->deadline_ns = clock_monotonic_ns() + WORKER_SECONDS * NS_PER_SECOND;
	w->pid = r ? -1 : fork();
	if (w->pid == 0)
		run_child(words, input, ends);
	for (int i = 0; i < N_PIPES; i++)
		close_at_exit(&ends[i]);
	if (w->pid < 0) {
		w->pid = 0;
		return error_errno(err, r ? r : -errno, "cannot start a process");
	}
	w->fds[END] = (int)syscall(SYS_pidfd_open, w->pid, 0);
	if (w->fds[END] < 0)
		return error_errno(err, -errno, "cannot watch a process");
	*out = take_ptr(w);
	return 0;
}

/* Whether the process has ended, and its status is known. */
static bool worker_reap(struct worker *w)
{
	if (w->pid && waitpid(w->pid, &w->exit_status, WNOHANG) == w->pid)
		w->pid = 0;
	return !w->pid;
}

static void worker_kill(struct worker *w)
{
	kill(-w->pid, SIGKILL);
	kill(w->pid, SIGKILL);
	w->deadline_ns = UINT64_MAX;
}

void worker_stop(struct worker *w)
{
	if (worker_reap(w) || w->is_stopped)
		return;
	/* It removes its temporary files, if it still can. */
	kill(w->pid, SIGTERM);
	w->is_stopped = true;
	w->deadline_ns = clock_monotonic_ns() + END_MS * NS_PER_MS;
}

bool worker_has_ended(struct worker *w)
{
	if (worker_reap(w))
		return true;
	if (clock_monotonic_ns() >= w->deadline_ns)
		worker_kill(w);
	return false;
}

static void worker_end(struct worker *w)
{
	struct pollfd end = { .fd = w->fds[END], .events = POLLIN };

	worker_stop(w);
	if (!w->pid)
		return;
	poll(&end, 1, END_MS);
	worker_kill(w);
	poll(&end, 1, END_MS);
	worker_reap(w);
}

void worker_free(struct worker *w)
{
	if (!w)
		return;
	worker_end(w);
	for (int i = 0; i < WORKER_FDS; i++)
		close_at_exit(&w->fds[i]);
	buf_fini(&w->out);
	buf_fini(&w->message);
	free(w);
}

int worker_fd(const struct worker *w, int i)
{
	return w->fds[i];
}

uint64_t worker_deadline_ns(const struct worker *w)
{
	return w->deadline_ns;
}

/* Reads what is there of one descriptor. True: it is more than `most`, and the rest waits. */
static bool read_pipe(int *fd, struct buf *to, size_t most)
{
	char bytes[65536];
	ssize_t n = 0;

	while (*fd >= 0 && to->len <= most &&
	       ((n = read(*fd, bytes, sizeof(bytes))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0)
			buf_bytes(to, bytes, (size_t)n);
	if (to->len > most)
		return true;
	if (*fd >= 0 && (n == 0 || errno != EAGAIN)) {
		close(*fd);
		*fd = -1;
	}
	return false;
}

/* Keeps the last bytes: an error stands behind warnings. */
static void read_messages(struct worker *w)
{
	struct buf *m = &w->message;

	while (read_pipe(&w->fds[MESSAGES], m, 2 * MESSAGE_BYTES)) {
		memmove(m->data, m->data + m->len - MESSAGE_BYTES, MESSAGE_BYTES);
		m->len = MESSAGE_BYTES;
	}
	buf_cstr(m);
}

bool worker_read(struct worker *w)
{
	/* The end first: the pipes have everything then. */
	bool has_ended = worker_reap(w);

	w->is_too_large = read_pipe(&w->fds[OUTPUT], &w->out, WORKER_OUTPUT);
	read_messages(w);
	w->is_late = !has_ended && clock_monotonic_ns() >= w->deadline_ns;
	return has_ended || w->is_late || w->is_too_large;
}

unsigned int worker_status(const struct worker *w)
{
	int code = WIFEXITED(w->exit_status) ? WEXITSTATUS(w->exit_status) : -1;

	if (w->is_late)
		return 504;
	if (w->is_too_large || code < 0)
		return 503;
	if (code == 2)
		return 400;
	if (code == EXIT_OK || worker_is_without_names(w))
		return 200;
	/* With an answer: it is of a damaged source, or incomplete. */
	return code == EXIT_FAILED && w->out.len ? 200 : 422;
}

static bool has_exited_with(const struct worker *w, enum exit_code code)
{
	return WIFEXITED(w->exit_status) && WEXITSTATUS(w->exit_status) == (int)code;
}

bool worker_is_without_names(const struct worker *w)
{
	return has_exited_with(w, EXIT_LATE) || has_exited_with(w, EXIT_LATE_DAMAGED);
}

bool worker_has_warned(const struct worker *w)
{
	return has_exited_with(w, EXIT_FAILED) || has_exited_with(w, EXIT_LATE_DAMAGED);
}

/* The sentence of reserve_error(), which ends the messages. */
bool worker_lacked_memory(const struct worker *w)
{
	return worker_has_warned(w) && w->message.len &&
	       strstr((const char *)w->message.data, RESERVE_MESSAGE) != NULL;
}

const struct buf *worker_output(const struct worker *w)
{
	return &w->out;
}

const char *worker_message(const struct worker *w)
{
	if (w->is_late)
		return "The answer took too long. Ask for less time or fewer keys.";
	if (w->is_too_large)
		return "The answer is too large. Ask for less time or fewer keys.";
	if (w->message.len)
		return (const char *)w->message.data;
	return "assay ended without an answer.";
}
