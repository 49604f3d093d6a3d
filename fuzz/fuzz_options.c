/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The option parser over a table with a row of every kind; arguments are NUL-separated. */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_args {
	bool flag, negated;
	int count;
	const char *string, *choice, *optional;
	struct option_list list;
	uint64_t number, size;
	double real, seconds;
};

#define FIELD(f) offsetof(struct fuzz_args, f)
static const struct option_spec rows[] = {
	{ 'f', "flag", NULL, OPT_FLAG, FIELD(flag), NULL, "flag" },
	{ 0, "no-flag", NULL, OPT_NEGATE, FIELD(negated), NULL, "negate" },
	{ 'v', "verbose", NULL, OPT_COUNT, FIELD(count), NULL, "count" },
	{ 'o', "output", "DIR", OPT_STRING, FIELD(string), "x", "string" },
	{ 'e', "event", "EVENT", OPT_LIST, FIELD(list), NULL, "list" },
	{ 'n', "number", "N", OPT_U64, FIELD(number), "7", "number", NULL, 1, 1e6 },
	{ 'r', NULL, "R", OPT_DOUBLE, FIELD(real), NULL, "real" },
	{ 'd', "duration", "S", OPT_SECONDS, FIELD(seconds), NULL, "time", NULL, 0, 1e9 },
	{ 'm', "size", "BYTES", OPT_SIZE, FIELD(size), "4k", "size" },
	{ 0, "format", "F", OPT_CHOICE, FIELD(choice), "text", "choice", .choices = "text|csv" },
	{ 'g', "graph", "HOW", OPT_OPTIONAL, FIELD(optional), NULL, "opt", .implied = "fp" },
};
static const struct option_table table = OPTIONS(rows);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_args args = { 0 };
	struct option_list operands = { 0 };
	struct error err = { 0 };
	char *text = malloc(size + 1);
	char *argv[66] = { "fuzz" };
	int argc = 1;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	for (size_t at = 0; at < size && argc < 65; at += strlen(text + at) + 1)
		argv[argc++] = text + at;
	if (options_parse(&table, size % 2, argc, argv, &args, &operands, &err) < 0 && !err.text[0])
		abort(); /* a refusal without a reason */
	option_list_fini(&operands);
	option_list_fini(&args.list);
	free(text);
	return 0;
}
