/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the store costs: a session is read, and its samples are added to a new
 * session second by second, as a recorder would. Prints "name value unit" lines.
 *
 *   replay SESSION NEW-SESSION
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/session.h"

#define NS_PER_SECOND 1000000000ULL
#define EVICT_BYTES   (4 << 20) /* more than a core's own caches hold */
#define COLD_EVERY    64        /* evicting takes long: of so many samples one is added cold */

struct replay {
	const struct segment *seg;
	struct image_table *images;
	struct strings strings;
	image_id *image_of; /* by the segment's ids */
	string_id *string_of;
	struct store *store;
	struct error err;
	VEC(struct sample) samples; /* of a block */
	VEC(struct code_addr) frames;
	char *evict;
	uint64_t n_samples, n_frames, n_cold;
	uint64_t add_ns, cold_ns, flush_ns, open_ns, read_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_SECOND + (uint64_t)t.tv_nsec;
}

static void take_names(struct replay *r, const struct segment *seg)
{
	r->seg = seg;
	r->image_of = xrealloc(r->image_of, seg->n_images, sizeof(*r->image_of));
	for (uint32_t i = 0; i < seg->n_images; i++)
		r->image_of[i] = image_intern(r->images, &seg->images[i]);
	r->string_of = xrealloc(r->string_of, seg->n_strings, sizeof(*r->string_of));
	for (uint32_t i = 0; i < seg->n_strings; i++)
		r->string_of[i] = strings_add(&r->strings, seg->strings[i]);
}

static void push_sample(struct replay *r, const struct count_row *row, uint64_t time_ns)
{
	struct sample sample = {
		.class = r->seg->classes[row->class],
		.time_ns = time_ns,
		.samples = row->samples,
		.period = row->period,
	};

	sample.class.app = r->image_of[sample.class.app.n];
	sample.class.comm = r->string_of[sample.class.comm.n];
	for (uint32_t n = row->node; n; n = r->seg->nodes[n].parent) {
		struct code_addr code = r->seg->nodes[n].code;

		code.image = r->image_of[code.image.n];
		vec_push(&r->frames, code);
		sample.n_frames++;
	}
	vec_push(&r->samples, sample);
}

static void make_samples(struct replay *r, const struct count_rows *rows, uint64_t time_ns)
{
	size_t at = 0;

	r->samples.n = 0;
	r->frames.n = 0;
	for (size_t i = 0; i < rows->n; i++)
		push_sample(r, &rows->data[i], time_ns);
	vec_foreach (&r->samples, sample) {
		sample->frames = r->frames.data + at;
		at += sample->n_frames;
	}
	r->n_samples += r->samples.n;
	r->n_frames += at;
}

/* Reads a lot, as the profiled work does between two samples. */
static void evict_caches(struct replay *r)
{
	for (size_t i = 0; i < EVICT_BYTES; i += 64)
		((volatile char *)r->evict)[i]++;
}

static void add_cold(struct replay *r)
{
	for (size_t i = 0; i < r->samples.n; i += COLD_EVERY) {
		uint64_t start;

		evict_caches(r);
		start = now_ns();
		native_store.add(r->store, &r->samples.data[i], &r->err);
		r->cold_ns += now_ns() - start;
		r->n_cold++;
	}
}

static void add_warm(struct replay *r)
{
	uint64_t start = now_ns();

	for (size_t i = 0; i < r->samples.n; i++)
		if (i % COLD_EVERY)
			native_store.add(r->store, &r->samples.data[i], &r->err);
	r->add_ns += now_ns() - start;
}

static int replay_segment(struct replay *r, const struct segment *seg)
{
	struct count_rows rows = { 0 };
	int result = 0;

	take_names(r, seg);
	for (uint32_t b = 0; b < seg->n_blocks && !result; b++) {
		uint64_t start = now_ns(), second = seg->blocks[b].first_ns / NS_PER_SECOND;

		rows.n = 0;
		result = segment_read_rows(seg, b, &rows, &r->err);
		r->read_ns += now_ns() - start;
		make_samples(r, &rows, seg->blocks[b].first_ns);
		add_cold(r);
		add_warm(r);
		start = now_ns();
		if (!result)
			result =
				native_store.flush(r->store, (second + 1) * NS_PER_SECOND, &r->err);
		r->flush_ns += now_ns() - start;
	}
	vec_fini(&rows);
	return result;
}

static void print_per(const char *name, uint64_t ns, uint64_t n, const char *unit)
{
	printf("%s %.1f %s\n", name, n ? (double)ns / (double)n : 0.0, unit);
}

static void print_results(const struct replay *r, uint64_t memory)
{
	printf("open %.3f ms\n", (double)r->open_ns / 1e6);
	printf("samples %" PRIu64 " rows\n", r->n_samples);
	print_per("frames", r->n_frames, r->n_samples, "a row");
	print_per("read", r->read_ns, r->n_samples, "ns/row");
	print_per("add", r->add_ns, r->n_samples - r->n_cold, "ns/row");
	print_per("add-cold", r->cold_ns, r->n_cold, "ns/row");
	print_per("flush", r->flush_ns, r->n_samples, "ns/row");
	printf("memory %" PRIu64 " bytes\n", memory);
}

int main(int argc, char **argv)
{
	cleanup(session_close_at_exit) struct session *s = NULL;
	struct replay r = { 0 };
	uint64_t n_unwritten, memory, start = now_ns();
	int result = 0;

	if (argc != 3) {
		fprintf(stderr, "Usage: replay SESSION NEW-SESSION\n");
		return 2;
	}
	if (session_open(argv[1], &s, &r.err) < 0) {
		fprintf(stderr, "replay: %s\n", r.err.text);
		return 1;
	}
	r.open_ns = now_ns() - start;
	r.images = image_table_new();
	strings_init(&r.strings);
	r.evict = xcalloc(EVICT_BYTES, 1);
	result = native_store.open(argv[2], &s->info, r.images, &r.strings, &r.store, &r.err);
	for (uint32_t i = 0; i < s->n_segments && !result; i++)
		result = replay_segment(&r, s->segments[i]);
	if (result < 0) {
		fprintf(stderr, "replay: %s\n", r.err.text);
		return 1;
	}
	memory = native_store_memory(r.store);
	native_store.close(r.store, &s->end, &n_unwritten, &r.err);
	print_results(&r, memory);
	image_table_free(r.images);
	strings_fini(&r.strings);
	free(r.image_of);
	free(r.string_of);
	vec_fini(&r.samples);
	vec_fini(&r.frames);
	free(r.evict);
	return 0;
}
