/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes a recording and prints its branches as the generator's truth has them, and what went
 * wrong: "TID FROM => TO [FLAGS]". Usage: branches [--flags] RECORDING
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "replay.h"

struct printer {
	int32_t tid;
	bool with_flags;
};

static void print_flags(unsigned int flags)
{
	static const char letters[] = "bcrosyiABEx";

	putchar(' ');
	for (unsigned int i = 0; letters[i]; i++)
		if (flags >> i & 1)
			putchar(letters[i]);
}

static void print(void *context, const struct pt_event *events, size_t n)
{
	const struct printer *p = context;

	for (const struct pt_event *e = events; e < events + n; e++) {
		if (e->kind == PT_EV_ERROR) {
			printf("%d error at %" PRIx64 ": offset 0x%" PRIx64 ": %s\n", p->tid,
			       e->from, e->to, pt_error_texts[e->detail]);
			continue;
		}
		if (e->kind != PT_EV_BRANCH)
			continue;
		printf("%d %" PRIx64 " => %" PRIx64, p->tid, e->from, e->to);
		if (p->with_flags)
			print_flags(e->flags);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	struct printer printer = { .with_flags = argc > 2 && strcmp(argv[1], "--flags") == 0 };
	struct pt_flow_stats stats = { 0 };
	struct replay r;

	if (argc < 2) {
		fprintf(stderr, "Usage: branches [--flags] RECORDING\n");
		return 2;
	}
	replay_open(&r, argv[argc - 1]);
	vec_foreach (&perfdata_stats(r.perfdata)->aux, aux) {
		printer.tid = aux->tid;
		replay_decode(&r, aux, true, print, &printer, &stats);
		fprintf(stderr,
			"branches: thread %d: %" PRIu64 " instructions, %" PRIu64 " branches\n",
			aux->tid, stats.insns, stats.branches);
	}
	replay_close(&r);
	return 0;
}
