/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures the cost of readable names.
 *
 *	demangle [LANGUAGE] <names	prints each name, as it is read
 *	demangle -t [LANGUAGE] <names	prints the nanoseconds for a name
 *	demangle -f FILE		prints "NAME<tab>READABLE" for each symbol of an ELF file
 *
 * LANGUAGE is ocaml, ada or haskell. Their names look like names of C; only the image shows the
 * language.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buf.h"
#include "base/mem.h"
#include "demangle/demangle.h"
#include "symbol/symbols.h"

struct names {
	char **data;
	size_t n, cap;
};

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void read_names(struct names *names)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t len;

	while ((len = getline(&line, &cap, stdin)) > 0)
		vec_push(names, xstrndup(line, (size_t)len - (line[len - 1] == '\n')));
	free(line);
}

static void say(const char *sentence)
{
	fprintf(stderr, "%s\n", sentence);
}

static enum name_language language_of(const char *word)
{
	static const struct {
		const char *word;
		enum name_language language;
	} words[] = { { "ocaml", NAME_OCAML }, { "ada", NAME_ADA }, { "haskell", NAME_HASKELL } };

	for (size_t i = 0; word && i < ARRAY_SIZE(words); i++)
		if (!strcmp(word, words[i].word))
			return words[i].language;
	return NAME_ANY;
}

static void print_symbols(const char *path)
{
	const struct symbolizer_config config = { .cache_dir = "", .report_unread = say };
	cleanup(symbolizer_free_at_exit) struct symbolizer *s = symbolizer_new(&config);
	const struct image image = { .kind = IMAGE_FILE, .path = path };
	const struct symbol_table *t = symbolizer_table(s, &image, NULL, 0);

	for (uint32_t i = 0; i < symbol_count(t); i++)
		printf("%s\t%s\n", symbol_get(t, i).name, symbol_name(s, t, i));
}

int main(int argc, char **argv)
{
	bool is_timed = argc > 1 && !strcmp(argv[1], "-t");
	enum name_language language = language_of(argv[is_timed ? 2 : 1]);
	struct names names = { 0 };
	struct buf out = { 0 };
	size_t n_read = 0;
	double start;

	if (argc > 2 && !strcmp(argv[1], "-f")) {
		print_symbols(argv[2]);
		return 0;
	}
	read_names(&names);
	start = now_ns();
	vec_foreach (&names, name) {
		bool ok = demangle_in(language, *name, &out);

		n_read += ok;
		if (!is_timed)
			puts(ok ? buf_cstr(&out) : *name);
	}
	if (is_timed && names.n)
		printf("names %zu\nread %zu\nname %.0f ns\n", names.n, n_read,
		       (now_ns() - start) / (double)names.n);
	return 0;
}
