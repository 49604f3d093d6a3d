/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes code at run time and names it by OProfile's agent interface. agent_hot takes three times as
 * long as agent_cold; both have lines of made.up. Then agent_hot is unloaded, agent_again is put in
 * its place, and runs in a second half. The calls come from several threads. Usage: agent ROUNDS.
 */
#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <opagent.h>

#include "work.h"

/* count down from the first argument, return */
#if defined(__x86_64__)
/* dec rdi; bswap rax (twice); jnz: a processor that joins dec and jnz has samples in both lines,
 * too. */
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x48, 0x0f, 0xc8,
				      0x48, 0x0f, 0xc8, 0x75, 0xf5, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				      0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char loop[1];
#endif

#define N_THREADS 4
#define N_NAMES   200
#define UNIT      100000

typedef void count_down(unsigned long n);

static op_agent_t agent;

static void check(bool is_right, const char *what)
{
	if (is_right)
		return;
	perror(what);
	exit(1);
}

static count_down *load(unsigned char *code, const char *name, unsigned int line)
{
	const struct debug_line_info lines[] = { { (uintptr_t)code, line, "made.up" },
						 { (uintptr_t)code + 3, line + 1, "made.up" } };

	check(mprotect(code, 4096, PROT_READ | PROT_WRITE) == 0, "mprotect");
	memcpy(code, loop, sizeof(loop));
	check(mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0, "mprotect");
	__builtin___clear_cache((char *)code, (char *)code + sizeof(loop));
	check(op_write_native_code(agent, name, (uintptr_t)code, code, sizeof(loop)) == 0, name);
	check(op_write_debug_line_info(agent, code, 2, lines) == 0, name);
	return (count_down *)(void *)code;
}

/* Names of code that never runs. */
static void *name_much(void *context)
{
	uintptr_t base = 0x1000000 * (1 + (uintptr_t)context);
	char name[32];

	for (unsigned int i = 0; i < N_NAMES; i++) {
		snprintf(name, sizeof(name), "unused_%zx_%u", (size_t)context, i);
		check(op_write_native_code(agent, name, base + 64 * i, NULL, 64) == 0, name);
	}
	check(op_unload_native_code(agent, base) == 0, "unload");
	return NULL;
}

static void check_errors(void)
{
	const struct debug_line_info line = { 0x10, 1, "made.up" };

	check(op_write_native_code(NULL, "x", 1, NULL, 1) < 0 && errno == EINVAL, "no agent");
	check(op_write_native_code(agent, NULL, 1, NULL, 1) < 0 && errno == EINVAL, "no name");
	check(op_unload_native_code(agent, 0x10) < 0 && errno == ENOENT, "no code");
	check(op_write_debug_line_info(agent, (void *)0x10, 1, &line) < 0 && errno == ENOENT,
	      "no code of lines");
	check(op_write_debug_line_info(agent, (void *)0x10, 1, NULL) < 0 && errno == EINVAL,
	      "no lines");
	check(op_major_version() == 1 && op_minor_version() == 0, "version");
}

/* A child has its own dump, beside the names of its parent. */
static void run_child(unsigned char *code, unsigned long rounds)
{
	pid_t pid = fork();
	count_down *child;

	check(pid >= 0, "fork");
	if (pid) {
		check(waitpid(pid, NULL, 0) == pid, "waitpid");
		return;
	}
	child = load(code, "agent_child", 50);
	for (unsigned long i = 0; i < rounds; i++)
		child(3 * UNIT);
	_exit(0);
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	unsigned char *code =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t threads[N_THREADS];
	count_down *hot, *cold;

	if (sizeof(loop) == 1)
		return 77; /* not written for this processor */
	check(code != MAP_FAILED, "mmap");
	agent = op_open_agent();
	check(agent != NULL, "op_open_agent");
	check_errors();
	for (size_t i = 0; i < N_THREADS; i++)
		check(!pthread_create(&threads[i], NULL, name_much, (void *)i), "thread");
	hot = load(code, "agent_hot", 10);
	cold = load(code + 4096, "agent_cold", 20);
	for (size_t i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned long length = some_length(UNIT);

		hot(3 * length);
		cold(length);
	}
	check(op_unload_native_code(agent, (uintptr_t)code) == 0, "unload");
	hot = load(code, "agent_again", 30);
	for (unsigned long i = 0; i < rounds; i++)
		hot(3 * UNIT);
	run_child(code + 2 * 4096, rounds);
	check(op_close_agent(agent) == 0, "op_close_agent");
	check(op_close_agent(agent) < 0 && errno == EINVAL, "second close");
	return 0;
}
