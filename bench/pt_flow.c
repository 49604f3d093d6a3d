/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Instructions a second out of an Intel PT recording, on one core. It measures our decoder, with a
 * list of calls and returns or of all branches, cold and hot. The peer is libipt's block decoder.
 * It prints "NAME N", in millions of instructions a second of CPU time, for
 * bench/measures/pt_flow.py.
 *
 * Usage: pt_flow RECORDING [ROUNDS]
 *
 * The recording is of one thread.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "pt_libipt.h"
#include "replay.h"

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* As a consumer would: every event is looked at. */
struct seen {
	uint64_t n, mixed;
};

static void look(void *context, const struct pt_event *events, size_t n)
{
	struct seen *seen = context;

	seen->n += n;
	for (size_t i = 0; i < n; i++)
		seen->mixed ^= events[i].branch.from + events[i].insns;
}

static void say(const char *name, uint64_t insns, double seconds)
{
	printf("%s %.1f\n", name, (double)insns / 1e6 / seconds);
	fflush(stdout);
}

static void measure_ours(struct replay *r, bool all_branches)
{
	const struct perfdata_aux *aux = perfdata_stats(r->perfdata)->aux.data;
	const char *const names[] = { all_branches ? "branches-cold" : "calls-cold",
				      all_branches ? "branches-hot" : "calls-hot" };
	struct pt_flow_stats stats;

	pt_code_free(r->code);
	r->code = NULL;
	for (int i = 0; i < 2; i++) {
		struct seen seen = { 0 };
		double t0 = now();

		replay_decode(r, aux, all_branches, look, &seen, &stats);
		say(names[i], stats.insns, now() - t0);
		for (int e = 0; e < N_PT_ERRORS; e++)
			if (stats.errors[e])
				fprintf(stderr, "pt_flow: %" PRIu64 " errors: %s\n",
					stats.errors[e], pt_error_texts[e]);
	}
}

static void measure_libipt(struct replay *r)
{
	const struct perfdata_aux *aux = perfdata_stats(r->perfdata)->aux.data;
	const uint8_t *bytes = perfdata_aux_bytes(r->perfdata, aux);
	VEC(struct libipt_map) maps = { 0 };
	struct pt_image *image;

	vec_foreach (&r->changes, c)
		if (c->map.file)
			vec_push(&maps,
				 ((struct libipt_map){ c->map.file->path, c->map.file_off,
						       c->map.end - c->map.start, c->map.start }));
	image = libipt_image(maps.data, maps.n);
	for (int i = 0; i < 2 && image; i++) {
		uint64_t errors = 0, insns;
		double t0 = now();

		insns = libipt_blocks(image, bytes, aux->size_bytes, &errors);
		say(i ? "libipt-hot" : "libipt-cold", insns, now() - t0);
		if (errors)
			fprintf(stderr, "pt_flow: libipt: %" PRIu64 " errors\n", errors);
	}
	vec_fini(&maps);
}

int main(int argc, char **argv)
{
	struct replay r;

	if (argc < 2)
		return 2;
	replay_open(&r, argv[1]);
	r.has_tsc =
		false; /* nothing was mapped on the way: the code may stay from one to the next */
	for (int i = 0; i < (argc > 2 ? atoi(argv[2]) : 1); i++) {
		measure_ours(&r, false);
		measure_ours(&r, true);
		measure_libipt(&r);
	}
	replay_close(&r);
	return 0;
}
