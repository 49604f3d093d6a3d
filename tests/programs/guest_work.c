/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The only program of a guest that tests/pt/qemu_system.c traces: its first process, and the
 * children of that. It writes the kernel's symbols and modules to port 0xe9, then works between two
 * marks: processes that talk through pipes, signals, page faults, sleep, and calls into modules.
 * Its argument is the number of rounds: of the kernel's arguments, the one behind "--".
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PORT = 0xe9, ROUNDS = 3, CHILDREN = 3, TALKS = 6 };

static void say(const void *text, size_t size)
{
	__asm__ volatile("rep outsb" : "+S"(text), "+c"(size) : "d"(PORT) : "memory");
}

/* Of symbols, those of code. */
static void say_file(const char *path, bool are_symbols)
{
	static char line[512];
	FILE *f = fopen(path, "r");

	while (f && fgets(line, sizeof(line), f))
		if (!are_symbols || (strlen(line) > 18 && strchr("tTwW", line[17])))
			say(line, strlen(line));
	if (f)
		fclose(f);
}

static void load(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0) < 0)
		fprintf(stderr, "guest_work: %s: %s\n", path, strerror(errno));
	close(fd);
}

static volatile sig_atomic_t n_signals;

static void on_signal(int number)
{
	(void)number;
	n_signals++;
}

__attribute__((noinline)) static unsigned int count(unsigned int n)
{
	return n < 2 ? n : count(n - 1) + count(n - 2);
}

static void touch_memory(void)
{
	char *at = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; at != MAP_FAILED && i < 1 << 16; i += 4096)
		at[i] = 1;
	munmap(at, 1 << 16);
}

/* LOOP_CTL_GET_FREE of the module loop; what it answers does not matter. */
static void call_module(void)
{
	int fd = open("/loop-control", O_RDWR);

	for (int i = 0; i < 3; i++)
		ioctl(fd, 0x4c82);
	close(fd);
}

static void child(int from, int to)
{
	char byte;

	for (int i = 0; i < TALKS && read(from, &byte, 1) == 1; i++) {
		count(8);
		touch_memory();
		if (write(to, &byte, 1) != 1)
			break;
	}
	kill(getppid(), SIGUSR1);
	_exit(0);
}

static void one_round(void)
{
	int ask[2], answer[2];
	char byte = 1;

	if (pipe(ask) < 0 || pipe(answer) < 0)
		return;
	for (int i = 0; i < CHILDREN; i++)
		if (fork() == 0)
			child(ask[0], answer[1]);
	for (int i = 0; i < TALKS * CHILDREN; i++) {
		if (write(ask[1], &byte, 1) != 1 || read(answer[0], &byte, 1) != 1)
			break;
		count(6);
	}
	call_module();
	usleep(2000);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	close(ask[0]);
	close(ask[1]);
	close(answer[0]);
	close(answer[1]);
}

int main(int argc, char **argv)
{
	/* The kernel also gives arguments that it does not know. */
	int rounds = argc > 1 && atoi(argv[argc - 1]) ? atoi(argv[argc - 1]) : ROUNDS;

	signal(SIGUSR1, on_signal);
	mkdir("/proc", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	load("/loop.ko");
	mknod("/loop-control", S_IFCHR | 0600, makedev(10, 237));
	if (iopl(3) == 0) {
		say_file("/proc/kallsyms", true);
		say("@@modules\n", 10);
		say_file("/proc/modules", false);
	}
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80; .ascii \"TRON\"");
	for (int i = 0; i < rounds; i++)
		one_round();
	__asm__ volatile(".byte 0x0f, 0x1f, 0x80; .ascii \"TROF\"");
	printf("guest_work: %d signals\n", (int)n_signals);
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
