/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes code at run time and describes it in a jitdump, jit-PID.dump in the working folder.
 * dump_hot takes three times as long as dump_cold. Then dump_again replaces dump_hot, and dump_cold
 * is moved. Usage: jitdump SECONDSs|ROUNDS [UNIT [late]]. Each half of the run takes this long;
 * UNIT is the count of one call of dump_cold. late: the records are written at the end, as by V8.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "work.h"

/* count down from the first argument, return */
#if defined(__x86_64__)
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				      0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#define MACHINE EM_AARCH64
#else
static const unsigned char loop[1];
#define MACHINE EM_NONE
#endif

typedef void count_down(unsigned long n);

struct prefix {
	uint32_t id, size;
	uint64_t time_ns;
};

static FILE *dump;
static bool is_late;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void put_prefix(uint32_t id, size_t body)
{
	struct prefix p = { id, (uint32_t)(sizeof(p) + body), now_ns() };

	fwrite(&p, sizeof(p), 1, dump);
}

/* The dump's own mapping is how a profiler finds it. */
static void open_dump(void)
{
	struct {
		uint32_t magic, version, size, machine, padding, pid;
		uint64_t time_ns, flags;
	} header = { 0x4a695444, 1, 40, MACHINE, 0, (uint32_t)getpid(), now_ns(), 0 };
	char path[64];

	snprintf(path, sizeof(path), "jit-%d.dump", getpid());
	dump = fopen(path, "w+b");
	if (!dump)
		exit(1);
	fwrite(&header, sizeof(header), 1, dump);
	fflush(dump);
	if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(dump), 0) == MAP_FAILED)
		exit(1);
	puts(path);
}

static void put_lines(const unsigned char *code, const char *file, uint32_t first)
{
	uint64_t head[2] = { (uintptr_t)code, 2 };
	struct {
		uint64_t addr;
		uint32_t line, column;
	} entries[2] = { { (uintptr_t)code, first, 0 }, { (uintptr_t)code + 3, first + 1, 0 } };

	put_prefix(2, sizeof(head) + sizeof(entries) + 2 * (strlen(file) + 1));
	fwrite(head, sizeof(head), 1, dump);
	for (int i = 0; i < 2; i++) {
		fwrite(&entries[i], sizeof(entries[i]), 1, dump);
		fwrite(file, strlen(file) + 1, 1, dump);
	}
}

static count_down *load(unsigned char *code, uint64_t index, const char *name)
{
	uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	uint64_t head[4] = { (uintptr_t)code, (uintptr_t)code, sizeof(loop), index };

	mprotect(code, 4096, PROT_READ | PROT_WRITE);
	memcpy(code, loop, sizeof(loop));
	mprotect(code, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)code, (char *)code + sizeof(loop));
	put_lines(code, "made.up", (uint32_t)(10 * index));
	put_prefix(0, sizeof(ids) + sizeof(head) + strlen(name) + 1 + sizeof(loop));
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(head, sizeof(head), 1, dump);
	fwrite(name, strlen(name) + 1, 1, dump);
	fwrite(loop, sizeof(loop), 1, dump);
	if (!is_late)
		fflush(dump);
	return (count_down *)(void *)code;
}

static count_down *move(unsigned char *from, unsigned char *to, uint64_t index)
{
	uint32_t ids[2] = { (uint32_t)getpid(), (uint32_t)getpid() };
	uint64_t body[5] = { (uintptr_t)to, (uintptr_t)from, (uintptr_t)to, sizeof(loop), index };

	mprotect(to, 4096, PROT_READ | PROT_WRITE);
	memcpy(to, loop, sizeof(loop));
	mprotect(to, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)to, (char *)to + sizeof(loop));
	put_prefix(1, sizeof(ids) + sizeof(body));
	fwrite(ids, sizeof(ids), 1, dump);
	fwrite(body, sizeof(body), 1, dump);
	if (!is_late)
		fflush(dump);
	return (count_down *)(void *)to;
}

static unsigned long unit = 100000;

static void run(struct until until, count_down *hot, count_down *cold)
{
	while (until_next(&until)) {
		unsigned long length = some_length(unit);

		hot(3 * length);
		cold(length);
	}
}

int main(int argc, char **argv)
{
	unsigned char *code =
		mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	count_down *hot, *cold;

	if (argc > 2)
		unit = strtoul(argv[2], NULL, 10);
	is_late = argc > 3;
	if (sizeof(loop) == 1)
		return 77; /* not written for this processor */
	if (code == MAP_FAILED)
		return 1;
	open_dump();
	hot = load(code, 1, "dump_hot");
	cold = load(code + 4096, 2, "dump_cold");
	run(until_argument(argc, argv), hot, cold);
	hot = load(code, 3, "dump_again");
	cold = move(code + 4096, code + 2 * 4096, 2);
	run(until_argument(argc, argv), hot, cold);
	put_prefix(3, 0);
	fclose(dump);
	return 0;
}
