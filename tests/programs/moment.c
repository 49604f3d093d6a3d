/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Works in before(), comes to the_moment(), and works in behind(): `moment SECONDSs|ROUNDS [END]`.
 * END: "crash" dies of SIGSEGV at the moment, "die" of SIGTERM, "signal" gets SIGUSR1 there, "wait"
 * then works on until it is killed.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "work.h"

static volatile uint64_t result;

static NOINLINE void work(struct until until)
{
	while (until_next(&until))
		result = work_unit(result);
}

NOINLINE void before(struct until until);
NOINLINE void before(struct until until)
{
	work(until);
	result++;
}

NOINLINE void behind(struct until until);
NOINLINE void behind(struct until until)
{
	work(until);
	result++;
}

NOINLINE void the_moment(int n);
NOINLINE void the_moment(int n)
{
	result += (uint64_t)n;
}

static void ignore(int number)
{
	(void)number;
}

int main(int argc, char **argv)
{
	struct until until = until_argument(argc, argv);
	const char *end = argc > 2 ? argv[2] : "";

	signal(SIGUSR1, ignore);
	before(until);
	the_moment(argc);
	if (!strcmp(end, "crash"))
		raise(SIGSEGV);
	if (!strcmp(end, "die"))
		raise(SIGTERM);
	if (!strcmp(end, "signal"))
		raise(SIGUSR1);
	do
		behind(until);
	while (!strcmp(end, "wait"));
	return 7;
}
