/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs at build time: files to a C source on standard output.
 * Usage: embed HEADER NAME FILE… [NAME FILE…]: HEADER declares the names. A NAME has no dot, and
 * its files follow each other.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void embed_file(const char *path)
{
	FILE *in = fopen(path, "rb");
	unsigned n = 0;

	if (!in) {
		perror(path);
		exit(1);
	}
	for (int c; (c = getc(in)) != EOF;)
		printf(n++ % 20 == 19 ? "%d,\n" : "%d,", c);
	fclose(in);
}

int main(int argc, char **argv)
{
	int is_open = 0;

	printf("#include \"%s\"\n", argc > 1 ? argv[1] : "");
	for (int i = 2; i < argc; i++) {
		if (strchr(argv[i], '.')) {
			embed_file(argv[i]);
			continue;
		}
		printf("%sconst char %s[] = {\n", is_open ? "0 };\n" : "", argv[i]);
		is_open = 1;
	}
	puts(is_open ? "0 };" : "");
	return 0;
}
