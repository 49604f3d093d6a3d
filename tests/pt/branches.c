/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decodes a recording and prints its branches in the format of the generator's truth, and the
 * errors: "TID FROM => TO [FLAGS]". Usage: branches [--flags] RECORDING
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/files/file.h"
#include "base/mem.h"
#include "trace/pt_trace.h"

struct printer {
	struct pt_trace_sink sink; /* first: the sink is also this */
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

static int print(struct pt_trace_sink *sink, const struct pt_span *s)
{
	const struct printer *p = (const struct printer *)sink;

	for (const struct pt_event *e = s->events; e < s->events + s->n; e++) {
		if (e->kind == PT_EV_ERROR) {
			printf("%d error at %" PRIx64 ": offset 0x%" PRIx64 ": %s\n", s->tid,
			       e->error.ip, e->error.offset, pt_error_texts[e->error.reason]);
			continue;
		}
		if (e->kind != PT_EV_BRANCH)
			continue;
		printf("%d %" PRIx64 " => %" PRIx64, s->tid, e->branch.from, e->branch.to);
		if (p->with_flags)
			print_flags(e->branch.flags);
		putchar('\n');
	}
	return 0;
}

static void say(void *context, const char *sentence)
{
	(void)context;
	fprintf(stderr, "branches: %s\n", sentence);
}

static struct perfdata *open_data(const char *path, const struct file_mapping *map)
{
	struct perfdata_bytes bytes = { .base = map->base, .size = map->size, .name = path };
	struct perfdata *data = NULL;

	perfdata_open(&bytes, 1, &data, NULL);
	return data;
}

int main(int argc, char **argv)
{
	struct printer printer = { .sink = { print },
				   .with_flags = argc > 2 && strcmp(argv[1], "--flags") == 0 };
	struct pt_trace_config config = { .detail = PT_ALL_BRANCHES };
	struct pt_flow_stats stats = { 0 };
	struct pt_trace *trace = NULL;
	struct file_mapping map = { 0 };
	struct error err = { 0 };

	if (argc < 2) {
		fprintf(stderr, "Usage: branches [--flags] RECORDING\n");
		return 2;
	}
	if (file_map(argv[argc - 1], &map, &err) == 0) {
		config.path = argv[argc - 1];
		config.data = open_data(argv[argc - 1], &map);
		config.side_band = open_data(argv[argc - 1], &map);
	}
	if (!config.data || pt_trace_open(&config, &trace, &err) < 0) {
		fprintf(stderr, "branches: %s: %s\n", argv[argc - 1], err.text);
		return 1;
	}
	pt_trace_run(trace, UINT64_MAX, &printer.sink);
	pt_trace_stats(trace, &stats);
	pt_trace_notes(trace, say, NULL);
	fprintf(stderr, "branches: %" PRIu64 " instructions, %" PRIu64 " branches\n", stats.insns,
		stats.branches);
	pt_trace_close(trace);
	perfdata_free(config.data);
	perfdata_free(config.side_band);
	file_unmap(&map);
	return 0;
}
