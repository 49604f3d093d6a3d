/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code without a file: two loops made at run time, jit_hot taking three times
 * as long as jit_cold, named in /tmp/perf-PID.map as JIT compilers do.
 * Usage: jit SECONDSs|ROUNDS [MAP]: MAP is a file whose bytes go into the map before ours. "-": no
 * map is written.
 */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "perf_map.h"
#include "work.h"

/* count down from the first argument, return */
#if defined(__x86_64__)
static const unsigned char loop[] = { 0x48, 0xff, 0xcf, 0x75, 0xfb, 0xc3 };
#elif defined(__aarch64__)
static const unsigned char loop[] = { 0x00, 0x04, 0x00, 0xf1, 0xe1, 0xff,
				      0xff, 0x54, 0xc0, 0x03, 0x5f, 0xd6 };
#else
static const unsigned char loop[1];
#endif

typedef void count_down(unsigned long n);

static void write_map(const char *foreign, const unsigned char *hot, const unsigned char *cold)
{
	char path[64];
	FILE *map, *in = foreign ? fopen(foreign, "rb") : NULL;

	map = create_perf_map(path, sizeof(path));
	for (int c; in && (c = getc(in)) != EOF;)
		putc(c, map);
	if (in)
		fclose(in);
	fprintf(map, "%lx %zx jit_hot\n", (unsigned long)hot, sizeof(loop));
	fprintf(map, "%lx %zx jit_cold\n", (unsigned long)cold, sizeof(loop));
	fclose(map);
	puts(path);
}

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	unsigned char *code =
		mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	count_down *hot = (count_down *)(void *)code, *cold = (count_down *)(void *)(code + 4096);

	if (sizeof(loop) == 1)
		return 77; /* not written for this processor */
	if (code == MAP_FAILED)
		return 1;
	memcpy(code, loop, sizeof(loop));
	memcpy(code + 4096, loop, sizeof(loop));
	mprotect(code, 8192, PROT_READ | PROT_EXEC);
	__builtin___clear_cache((char *)code, (char *)code + 8192);
	if (argc < 3 || strcmp(argv[2], "-") != 0)
		write_map(argc > 2 ? argv[2] : NULL, code, code + 4096);
	while (until_next(&until)) {
		unsigned long length = some_length(100000);

		hot(3 * length);
		cold(length);
	}
	return 0;
}
