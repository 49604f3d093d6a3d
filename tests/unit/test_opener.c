/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The opener hands out what its kinds name, and nothing else. */
#include "guard/opener.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "scratch.h"

/* An opener as a child; the one before ends. */
static void start_opener(void)
{
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	opener_connect(ends[0]);
	if (fork() == 0) {
		opener_connect(-1);
		opener_serve(ends[1]);
		_exit(0);
	}
	close(ends[1]);
}

static void end_opener(void)
{
	int status;

	opener_connect(-1);
	assert_true(wait(&status) > 0);
	assert_int_equal(status, 0);
}

static struct opener_request request(enum opener_kind kind, const char *path)
{
	struct opener_request r = {
		.head = { .kind = kind, .max_bytes = GUARD_IMAGE_BYTES, .owner = GUARD_ANY_OWNER }
	};

	r.size = path ? strlen(path) + 1 : 0;
	if (path)
		memcpy(r.path, path, r.size);
	return r;
}

/* 0, or the negative errno of the request. */
static int ask(const struct opener_request *r, int fd)
{
	int opened = opener_ask(r, fd);

	if (opened < 0)
		return opened;
	close(opened);
	return 0;
}

static int ask_path(enum opener_kind kind, const char *path)
{
	struct opener_request r = request(kind, path);

	return ask(&r, -1);
}

static int ask_process(enum opener_kind kind, int32_t pid)
{
	struct opener_request r = request(kind, NULL);

	r.head.pid = pid;
	return ask(&r, -1);
}

static void write_elf(const char *path, unsigned int type)
{
	Elf64_Ehdr head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
					 ELFDATA2LSB },
			    .e_type = (Elf64_Half)type };

	assert_int_equal(file_replace(path, &head, sizeof(head), NULL), 0);
}

static void only_binaries_are_images(void **state)
{
	(void)state;
	run_command("echo secret >secret; mkfifo fifo");
	write_elf("program", ET_DYN);
	write_elf("core", ET_CORE);
	start_opener();
	assert_int_equal(ask_path(OPENER_IMAGE, "program"), 0);
	assert_int_equal(ask_path(OPENER_IMAGE, "core"), -EACCES);
	assert_int_equal(ask_path(OPENER_IMAGE, "secret"), -EACCES);
	assert_int_equal(ask_path(OPENER_IMAGE, "fifo"), -EINVAL);
	assert_int_equal(ask_path(OPENER_IMAGE, "absent"), -ENOENT);
	end_opener();
}

static void facts_of_a_file_are_not_its_bytes(void **state)
{
	struct opener_request r = request(OPENER_FACTS, "facts");
	cleanup(close_at_exit) int fd = -1;
	char letter;

	(void)state;
	run_command("echo secret >facts");
	start_opener();
	fd = opener_ask(&r, -1);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, &letter, 1), -1);
	assert_int_equal(errno, EBADF);
	end_opener();
}

static void files_of_a_process_are_opened(void **state)
{
	(void)state;
	start_opener();
	assert_int_equal(ask_process(OPENER_PROC_MAPS, getpid()), 0);
	assert_int_equal(ask_process(OPENER_PROC_ROOT, getpid()), 0);
	assert_int_equal(ask_process(OPENER_PROC_EXE, getpid()), 0);
	assert_int_equal(ask_process(OPENER_PROC_MAPS, 0), -EINVAL);
	end_opener();
}

/* This program under another name, which waits. The caller kills it. */
static pid_t start_waiting(const char *name)
{
	cleanup(free_at_exit) char *path = xasprintf("./%s", name);
	int started[2];
	char byte;
	pid_t pid;

	run_command("cp /proc/%d/exe %s", (int)getpid(), name);
	assert_int_equal(pipe2(started, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		execl(path, name, "wait", NULL);
		_exit(1);
	}
	close(started[1]);
	assert_int_equal(read(started[0], &byte, 1), 0); /* it was executed */
	close(started[0]);
	return pid;
}

static int ask_memory_of(const char *name)
{
	pid_t pid = start_waiting(name);
	int r = ask_process(OPENER_PROC_MEMORY, pid);

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return r;
}

static void memory_is_that_of_runtimes_alone(void **state)
{
	static const char line[] = "55d0c8a000-55d0c8b000 r-xp 00002000 fe:00 1234   /usr/lib/";
	static const struct {
		const char *end;
		bool is_one;
	} ends[] = { { "jvm/server/libjvm.so\n", true },
		     { "libnode.so.108\n", true },
		     { "node (deleted)\n", true },
		     { "libjvm.so/secret\n", false },
		     { "nodejs\n", true },
		     { "node_exporter\n", false },
		     { "node.secret\n", false },
		     { "ssh-agent\n", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		cleanup(free_at_exit) char *text = xasprintf("%s%s", line, ends[i].end);

		assert_int_equal(opener_is_runtime(text), ends[i].is_one);
		memcpy(strstr(text, "r-xp"), "r--p", 4);
		assert_false(opener_is_runtime(text)); /* no code */
	}
	assert_false(opener_is_runtime("node\n"));
	assert_false(opener_is_runtime("7ffc1000-7ffc2000 r-xp 00000000 00:00 0     [vdso]\n"));
	assert_false(opener_is_runtime("7ffc1000-7ffc2000 r-xp 00000000 00:00 0 \n"));
	start_opener();
	assert_int_equal(ask_process(OPENER_PROC_MEMORY, getpid()), -EACCES);
	assert_int_equal(ask_process(OPENER_PROC_MEMORY, 0), -EINVAL);
	assert_int_equal(ask_process(OPENER_PROC_MEMORY, INT32_MAX), -ENOENT);
	assert_int_equal(ask_memory_of("node_exporter"), -EACCES);
	assert_int_equal(ask_memory_of("node"), 0);
	end_opener();
}

static void a_name_has_the_form_of_its_kind(void **state)
{
	static const struct {
		enum opener_kind kind;
		const char *path;
		bool is_right;
	} rows[] = {
		{ OPENER_JIT_MAP, "perf-12.map", true },
		{ OPENER_JIT_MAP, "/tmp/perf-12.map", true },
		{ OPENER_JIT_MAP, "perf-.map", false },
		{ OPENER_JIT_MAP, "perf-12.map/shadow", false },
		{ OPENER_JIT_DUMP, "/tmp/jit-12.dump", true },
		{ OPENER_JIT_DUMP, "/etc/shadow", false },
		{ OPENER_ENGINE_FILE, "/var/lib/docker/containers/0a/config.v2.json", true },
		{ OPENER_ENGINE_FILE, "/var/lib/docker/containers/../config.v2.json", false },
		{ OPENER_ENGINE_FILE, "/var/lib/docker/containers/0a/hostname", false },
		{ OPENER_ENGINE_FILE,
		  "/run/containerd/io.containerd.runtime.v2.task/k8s.io/0a/config.json", true },
		{ OPENER_ENGINE_FILE, "/home/a/storage/overlay-containers/containers.json", true },
		{ OPENER_ENGINE_FILE, "/home/../storage/overlay-containers/containers.json",
		  false },
		{ OPENER_TRACEPOINT, "sched/sched_switch/id", true },
		{ OPENER_TRACEPOINT, "sched/sched_switch/format", true },
		{ OPENER_TRACEPOINT, "sched/sched_switch/enable", false },
		{ OPENER_TRACEPOINT, "../sched_switch/id", false },
		{ OPENER_PROC_MAPS, "/proc/1/maps", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(opener_is_path_of(rows[i].kind, rows[i].path), rows[i].is_right);
}

static void a_request_of_the_wrong_shape_is_refused(void **state)
{
	struct opener_request r = request(OPENER_PROC_MAPS, NULL);

	(void)state;
	start_opener();
	r.head.kind = N_OPENER_KINDS;
	assert_int_equal(ask(&r, -1), -EINVAL);
	r = request(OPENER_IMAGE, "text");
	r.size--; /* no NUL */
	assert_int_equal(ask(&r, -1), -EINVAL);
	r = request(OPENER_PROC_ROOT, NULL);
	r.head.pid = getpid();
	assert_int_equal(ask(&r, STDIN_FILENO), -EINVAL);
	r = request(OPENER_CGROUP, NULL);
	assert_int_equal(ask(&r, -1), -EINVAL);
	r = request(OPENER_COUNTER, "short");
	assert_int_equal(ask(&r, -1), -EINVAL);
	end_opener();
}

/* An open that the file system delays costs one wait, and its reply is dropped. */
static void an_opener_that_is_stuck_costs_one_wait(void **state)
{
	struct opener_request r = request(OPENER_PROC_MAPS, NULL);
	struct opener_reply reply = { 1, -ENOENT };
	struct opener_head asked;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	opener_connect(ends[0]);
	assert_int_equal(opener_ask(&r, -1), -ETIMEDOUT);
	assert_int_equal(opener_ask(&r, -1), -EBUSY);
	assert_int_equal(recv(ends[1], &asked, sizeof(asked), 0), sizeof(asked));
	reply.number = asked.number;
	assert_int_equal(send(ends[1], &reply, sizeof(reply), 0), sizeof(reply));
	reply.number++; /* of the next request */
	reply.result = -EXDEV;
	assert_int_equal(send(ends[1], &reply, sizeof(reply), 0), sizeof(reply));
	assert_int_equal(opener_ask(&r, -1), -EXDEV);
	close(ends[1]);
	assert_true(opener_ask(&r, -1) < 0);
	opener_connect(-1);
	assert_int_equal(opener_ask(&r, -1), -ENOTCONN);
}

/* The notice of a death ends the wait of a request; the next request is a new one. */
static void an_opener_that_died_costs_no_wait(void **state)
{
	struct opener_request r = request(OPENER_PROC_MAPS, NULL);
	struct opener_reply reply = { 0 };
	struct opener_head asked;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	opener_connect(ends[0]);
	opener_notice(ends[1], 42);
	assert_int_equal(opener_state().pid, 42);
	if (fork() == 0) { /* takes a request, and dies; then another one answers */
		opener_connect(-1);
		recv(ends[1], &asked, sizeof(asked), 0);
		opener_notice(ends[1], -ECHILD);
		opener_notice(ends[1], 43);
		recv(ends[1], &asked, sizeof(asked), 0);
		reply = (struct opener_reply){ asked.number, -EXDEV };
		send(ends[1], &reply, sizeof(reply), 0);
		_exit(0);
	}
	assert_int_equal(opener_ask(&r, -1), -ECONNRESET);
	assert_int_equal(opener_ask(&r, -1), -EXDEV);
	assert_int_equal(opener_state().n_died, 1);
	assert_int_equal(opener_state().pid, 43);
	close(ends[1]);
	wait(NULL);
	opener_connect(-1);
	assert_int_equal(opener_state().n_died, 0);
}

int main(int n_words, char **words)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_binaries_are_images),
		cmocka_unit_test(facts_of_a_file_are_not_its_bytes),
		cmocka_unit_test(files_of_a_process_are_opened),
		cmocka_unit_test(memory_is_that_of_runtimes_alone),
		cmocka_unit_test(a_name_has_the_form_of_its_kind),
		cmocka_unit_test(a_request_of_the_wrong_shape_is_refused),
		cmocka_unit_test(an_opener_that_is_stuck_costs_one_wait),
		cmocka_unit_test(an_opener_that_died_costs_no_wait),
	};

	if (n_words > 1 && !strcmp(words[1], "wait"))
		return pause();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
