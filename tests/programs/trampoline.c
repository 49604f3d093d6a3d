/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program as CPython with its perf trampoline: outer() and inner() are a few instructions in
 * anonymous memory, which /tmp/perf-PID.map names. Each calls evaluate(), which stands for the
 * interpreter's loop.
 * Usage: trampoline SECONDSs|ROUNDS [push]: with other instructions, as newer versions have.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf_map.h"
#include "work.h"

#if defined(__x86_64__)
static const unsigned char with_sub[] = { 0x48, 0x83, 0xec, 0x08, 0xff, 0xd1,
					  0x48, 0x83, 0xc4, 0x08, 0xc3 };
static const unsigned char with_push[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd1, 0x5d, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char with_sub[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00,
					  0x91, 0x60, 0x00, 0x3f, 0xd6, 0xfd, 0x7b,
					  0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6 };
static const unsigned char with_push[1];
#else
static const unsigned char with_sub[1], with_push[1];
#endif

#define FAR_APART 32

typedef long evaluator(long depth, unsigned long n, long unused);
typedef long trampoline(long depth, unsigned long n, long unused, evaluator *evaluator);

static trampoline *outer, *inner;

static __attribute__((noinline)) long evaluate(long depth, unsigned long n, long unused)
{
	volatile unsigned long left = n;
	long result = depth;

	if (depth)
		result += inner(depth - 1, n, unused, evaluate);
	else
		while (left)
			left = left - 1;
	return result + 1;
}

static void write_map(const void *first, const void *second, size_t size)
{
	char path[64];
	FILE *map;

	map = create_perf_map(path, sizeof(path));
	fprintf(map, "%lx %zx py::outer:/srv/app.py\n", (unsigned long)first, size);
	fprintf(map, "%lx %zx py::K.inner:/srv/app.py\n", (unsigned long)second, size);
	fclose(map);
	puts(path);
}

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	bool is_push = argc > 2 && !strcmp(argv[2], "push");
	const unsigned char *code = is_push ? with_push : with_sub;
	size_t size = is_push ? sizeof(with_push) : sizeof(with_sub);
	unsigned char *memory =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (size == 1)
		return 77; /* not written for this processor */
	if (memory == MAP_FAILED)
		return 1;
	memcpy(memory, code, size);
	memcpy(memory + FAR_APART, code, size);
	mprotect(memory, 4096, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)memory, (char *)memory + 4096);
	outer = (trampoline *)(void *)memory;
	inner = (trampoline *)(void *)(memory + FAR_APART);
	write_map(memory, memory + FAR_APART, size);
	while (until_next(&until))
		outer(1, 100000, 0, evaluate);
	return 0;
}
