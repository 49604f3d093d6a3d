/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a daemon's history of a host from recordings of real programs, for bench/fleet-sim.
 *
 *   thin [--hourly] DIR HOST START SECONDS SEED SERVICE=RATE=SESSION…
 *
 * The history begins at START (seconds of UTC) and is SECONDS long, with a part an hour. Each
 * recording runs again and again, from a random second on, as the service SERVICE. Of its samples,
 * each is kept by chance, so that RATE samples a second remain on average, or all if it has fewer.
 * Stacks, names and the order in time are those of the recording. As in the daemon, samples are
 * kept apart by process, not by thread and CPU. Prints the number of samples.
 *
 * --hourly: the samples of an hour are at its first second, with a part a day. Each stack of a
 * recording has as many as it would have by chance in an hour.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "store/history/history.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/session.h"

#define HOUR_S 3600
#define DAY_S  86400

/* A segment with its names in the tables of the new history. */
struct names {
	const struct segment *segment;
	image_id *images;
	string_id *strings;
};

struct row {
	uint32_t second, names;
	struct count_row count;
};

struct source {
	struct session *session;
	VEC(struct names) names;
	VEC(struct row) rows; /* in the order of time */
	size_t *begin;        /* by second: its first row; one more at the end */
	string_id cgroup;
	uint32_t seconds, phase;
	double share;  /* of the samples that are kept */
	uint64_t skip; /* so many samples are left out before the next one is kept */
};

struct thin {
	const char *dir, *host;
	struct image_table *images;
	struct strings strings;
	VEC(struct source) sources;
	VEC(struct code_addr) frames; /* of one sample */
	struct store *store;
	bool hourly;
	uint64_t random, n_samples;
	struct error err;
};

static double chance(struct thin *t)
{
	t->random ^= t->random << 13; /* Marsaglia's xorshift */
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return (double)(t->random >> 11) / (double)(1ULL << 53);
}

/* The samples between two that are kept: each is kept by chance, so a geometric distribution. */
static uint64_t draw_skip(struct thin *t, double share)
{
	double u = 1 - chance(t); /* never 0 */

	if (share >= 1)
		return 0;
	return share > 0 ? (uint64_t)fmin(log(u) / log1p(-share), 1e18) : UINT64_MAX;
}

/* Poisson's distribution: by Knuth's product of chances, or by the normal one if it is wide. */
static uint64_t draw_count(struct thin *t, double mean)
{
	double product = 1 - chance(t), limit = exp(-mean);
	uint64_t n = 0;

	if (mean > 30)
		return (uint64_t)fmax(0, round(mean + sqrt(mean) * sqrt(-2 * log(product)) *
							      cos(2 * M_PI * chance(t))));
	for (; product > limit; n++)
		product *= 1 - chance(t);
	return n;
}

static void take_names(struct thin *t, struct source *src, const struct segment *seg)
{
	struct names names = { .segment = seg,
			       .images = xcalloc(seg->n_images, sizeof(image_id)),
			       .strings = xcalloc(seg->n_strings, sizeof(string_id)) };

	for (uint32_t i = 0; i < seg->n_images; i++)
		names.images[i] = image_intern(t->images, &seg->images[i]);
	for (uint32_t i = 0; i < seg->n_strings; i++)
		names.strings[i] = strings_add(&t->strings, seg->strings[i]);
	vec_push(&src->names, names);
}

static int take_rows(struct thin *t, struct source *src, const struct segment *seg,
		     uint64_t *n_samples)
{
	struct count_rows rows = { 0 };
	int r = 0;

	for (uint32_t b = 0; b < seg->n_blocks && !r; b++) {
		uint64_t since = seg->blocks[b].first_ns - src->session->info.start_ns;

		rows.n = 0;
		r = segment_read_rows(seg, b, &rows, &t->err);
		for (size_t i = 0; i < rows.n; i++) {
			struct row row = { .second = (uint32_t)(since / NS_PER_SECOND),
					   .names = (uint32_t)src->names.n - 1,
					   .count = rows.data[i] };

			vec_push(&src->rows, row);
			*n_samples += row.count.samples;
		}
	}
	vec_fini(&rows);
	return r;
}

static void index_seconds(struct source *src)
{
	size_t row = 0;

	src->seconds = src->rows.n ? src->rows.data[src->rows.n - 1].second + 1 : 1;
	src->begin = xcalloc(src->seconds + 1, sizeof(*src->begin));
	for (uint32_t s = 0; s <= src->seconds; s++) {
		while (row < src->rows.n && src->rows.data[row].second < s)
			row++;
		src->begin[s] = row;
	}
}

/* SERVICE=RATE=SESSION */
static int open_source(struct thin *t, const char *word)
{
	struct source src = { 0 };
	const char *rate = strchr(word, '='), *path = rate ? strchr(rate + 1, '=') : NULL;
	uint64_t n_samples = 0;
	char cgroup[128];
	int r;

	if (!path)
		return error_set(&t->err, -EINVAL, "%s is not SERVICE=RATE=SESSION", word);
	r = session_open(path + 1, &src.session, &t->err);
	for (uint32_t i = 0; !r && i < src.session->n_segments; i++) {
		take_names(t, &src, src.session->segments[i]);
		r = take_rows(t, &src, src.session->segments[i], &n_samples);
	}
	index_seconds(&src);
	src.share = n_samples ? strtod(rate + 1, NULL) * src.seconds / (double)n_samples : 0;
	src.phase = (uint32_t)(chance(t) * src.seconds);
	src.skip = draw_skip(t, src.share);
	snprintf(cgroup, sizeof(cgroup), "/system.slice/%.*s.service", (int)(rate - word), word);
	src.cgroup = strings_add(&t->strings, cgroup);
	vec_push(&t->sources, src);
	return r;
}

static void name_code(struct thin *t)
{
	vec_foreach (&t->sources, src)
		vec_foreach (&src->names, names)
			for (uint32_t i = 0; i < names->segment->n_symbols; i++) {
				struct code_symbol symbol = names->segment->symbols[i];

				symbol.image = names->images[symbol.image.n];
				native_store.name_code(t->store, &symbol);
			}
}

/* How many of a row's samples are kept in a second. */
static uint64_t keep_samples(struct thin *t, struct source *src, const struct row *row)
{
	uint64_t left = row->count.samples, kept = 0;

	while (src->skip < left) {
		left -= src->skip + 1;
		src->skip = draw_skip(t, src->share);
		kept++;
	}
	src->skip -= left;
	return kept;
}

static int add_row(struct thin *t, const struct source *src, const struct row *row,
		   uint64_t n_samples, uint64_t time_ns)
{
	const struct names *names = &src->names.data[row->names];
	struct sample sample = { .class = names->segment->classes[row->count.class],
				 .time_ns = time_ns,
				 .samples = n_samples };

	if (!sample.samples)
		return 0;
	sample.period = row->count.period / row->count.samples * sample.samples;
	sample.class.app = names->images[sample.class.app.n];
	sample.class.comm = names->strings[sample.class.comm.n];
	sample.class.cgroup = src->cgroup;
	t->frames.n = 0;
	for (uint32_t n = row->count.node; n; n = names->segment->nodes[n].parent) {
		struct code_addr code = names->segment->nodes[n].code;

		code.image = names->images[code.image.n];
		vec_push(&t->frames, code);
	}
	sample.frames = t->frames.data;
	sample.n_frames = (uint32_t)t->frames.n;
	t->n_samples += sample.samples;
	return native_store.add(t->store, &sample, &t->err);
}

static int write_second(struct thin *t, uint64_t second)
{
	uint64_t time_ns = second * NS_PER_SECOND;
	int r = 0;

	vec_foreach (&t->sources, src) {
		uint32_t at = (uint32_t)((second + src->phase) % src->seconds);

		for (size_t i = src->begin[at]; i < src->begin[at + 1] && r >= 0; i++)
			r = add_row(t, src, &src->rows.data[i],
				    keep_samples(t, src, &src->rows.data[i]), time_ns);
	}
	return r < 0 ? r : native_store.flush(t->store, time_ns + NS_PER_SECOND, &t->err);
}

static int write_hour(struct thin *t, uint64_t second)
{
	uint64_t time_ns = second * NS_PER_SECOND;
	int r = 0;

	vec_foreach (&t->sources, src) {
		double each = fmin(src->share, 1) * HOUR_S / src->seconds;

		for (size_t i = 0; i < src->rows.n && r >= 0; i++) {
			const struct row *row = &src->rows.data[i];

			r = add_row(t, src, row, draw_count(t, each * (double)row->count.samples),
				    time_ns);
		}
	}
	return r < 0 ? r : native_store.flush(t->store, time_ns + NS_PER_SECOND, &t->err);
}

static int write_part(struct thin *t, uint64_t start_s, uint64_t end_s)
{
	struct session_info info = t->sources.data[0].session->info;
	struct session_end end = { .end_ns = end_s * NS_PER_SECOND, .exit_status = -1 };
	cleanup(free_at_exit) char *path = NULL;
	char name[HISTORY_NAME_SIZE];
	uint64_t n_unwritten;
	int r;

	info.command = "";
	info.target = "whole machine";
	info.hostname = t->host;
	info.start_ns = info.start_wall_ns = start_s * NS_PER_SECOND;
	info.merged = SEPARATE_THREAD | SEPARATE_CPU;
	history_part_name(info.start_wall_ns, 0, name);
	path = xasprintf("%s/samples/current/%s", t->dir, name);
	r = native_store.open(path, &info, t->images, &t->strings, &t->store, &t->err);
	if (r < 0)
		return r;
	name_code(t);
	for (uint64_t s = start_s; s < end_s && r >= 0; s += t->hourly ? HOUR_S : 1)
		r = t->hourly ? write_hour(t, s) : write_second(t, s);
	if (native_store.close(t->store, &end, &n_unwritten, r < 0 ? NULL : &t->err) < 0 ||
	    n_unwritten)
		r = r < 0 ? r : -EIO;
	return r;
}

static void thin_fini(struct thin *t)
{
	vec_foreach (&t->sources, src) {
		vec_foreach (&src->names, names) {
			free(names->images);
			free(names->strings);
		}
		vec_fini(&src->names);
		vec_fini(&src->rows);
		free(src->begin);
		session_close(src->session);
	}
	vec_fini(&t->sources);
	vec_fini(&t->frames);
	strings_fini(&t->strings);
	image_table_free(t->images);
}

int main(int argc, char **argv)
{
	struct thin t = { .random = 88172645463325252ULL };
	uint64_t start_s, end_s, part_s;
	int r = 0;

	t.hourly = argc > 1 && !strcmp(argv[1], "--hourly");
	argv += t.hourly;
	argc -= t.hourly;
	if (argc < 7) {
		fprintf(stderr, "Usage: thin [--hourly] DIR HOST START SECONDS SEED "
				"SERVICE=RATE=SESSION…\n");
		return 2;
	}
	t.dir = argv[1];
	t.host = argv[2];
	start_s = strtoull(argv[3], NULL, 10);
	end_s = start_s + strtoull(argv[4], NULL, 10);
	t.random ^= strtoull(argv[5], NULL, 10) * 0x9e3779b97f4a7c15ULL;
	t.images = image_table_new();
	strings_init(&t.strings);
	for (int i = 6; i < argc && !r; i++)
		r = open_source(&t, argv[i]);
	part_s = t.hourly ? DAY_S : HOUR_S;
	for (uint64_t s = start_s; s < end_s && !r; s += part_s)
		r = write_part(&t, s, MIN(s + part_s, end_s));
	if (r)
		fprintf(stderr, "thin: %s\n", t.err.text);
	else
		printf("%" PRIu64 "\n", t.n_samples);
	thin_fini(&t);
	return r ? 1 : 0;
}
