/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A recording that is read in parts is the same as one that is read as a whole. */
#include "import/import_split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/files/file.h"
#include "import/import.h"
#include "perfdata_file.h"
#include "scratch.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/session.h"

#define N_SEEDS   12
#define N_ROUNDS  60
#define PARTS_MAX 5

static const struct test_attr plain = {
	.type = PERF_TYPE_SOFTWARE, .size = 64, .period = 1000, .sample_type = PLAIN_TYPE
};

/* A recording of all that makes order difficult. */

static uint32_t chance(uint64_t *seed, uint32_t n)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (uint32_t)(*seed >> 33) % n;
}

static void put_task(struct writer *w, uint32_t type, uint32_t pid, uint32_t ppid, uint64_t time_ns)
{
	begin_record(w, type, 0);
	put32(w, pid);
	put32(w, ppid);
	put32(w, pid);
	put32(w, ppid);
	put64(w, time_ns);
	put_trailer(w, pid, time_ns);
	end_record(w);
}

static void put_lost(struct writer *w, uint64_t n, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_LOST, 0);
	put64(w, 0);
	put64(w, n);
	put_trailer(w, 0, time_ns);
	end_record(w);
}

/* A record that is too short for its fields. */
static void put_broken_mapping(struct writer *w, uint64_t time_ns)
{
	begin_record(w, PERF_RECORD_MMAP, 0);
	put64(w, 0);
	put_trailer(w, 1, time_ns);
	end_record(w);
}

static void put_something(struct writer *w, uint64_t *seed, uint64_t time_ns)
{
	uint32_t pid = 10 + chance(seed, 6), other = 10 + chance(seed, 6);
	char name[16];

	snprintf(name, sizeof(name), "/bin/p%u", chance(seed, 5));
	switch (chance(seed, 24)) {
	case 0:
		put_task(w, PERF_RECORD_FORK, pid, other, time_ns);
		break;
	case 1:
		put_task(w, PERF_RECORD_EXIT, pid, other, time_ns);
		break;
	case 2:
		put_comm(w, pid, name, time_ns);
		break;
	case 3:
	case 4:
		put_mmap(w, pid, 0x1000 * (1 + chance(seed, 4)), 0x1800, name, time_ns);
		break;
	case 5:
		put_lost(w, 1 + chance(seed, 3), time_ns);
		break;
	case 6:
		put_broken_mapping(w, time_ns);
		break;
	default:
		put_sample(w, pid, 0x1000 + 16 * chance(seed, 0x400), time_ns);
	}
}

/* Now and then without a time, or of long ago. */
static uint64_t some_time(uint64_t *seed, uint64_t now_ns)
{
	switch (chance(seed, 100)) {
	case 0:
		return 0;
	case 1:
		return now_ns > 3000000000 ? now_ns - 3000000000 : 1;
	default:
		return now_ns + chance(seed, 200000000);
	}
}

static void make_recording(struct writer *w, uint64_t seed)
{
	uint64_t now_ns = 1000000000;

	begin_file(w, &plain, 1);
	for (int round = 0; round < N_ROUNDS; round++, now_ns += 150000000) {
		for (uint32_t n = chance(&seed, 100); n; n--)
			put_something(w, &seed, some_time(&seed, now_ns));
		for (uint32_t n = chance(&seed, 8) ? 1 : chance(&seed, 3); n; n--)
			put_round(w);
	}
	end_file(w);
}

/* What is read. */

struct collector {
	struct event_sink sink;
	struct buf text;
};

static int collect(struct event_sink *sink, const struct event *e)
{
	struct collector *c = (struct collector *)sink;

	if (e->type == EVENT_SAMPLE)
		buf_printf(&c->text, "%d %" PRIu64 " %" PRIx64 "\n", e->pid, e->time_ns,
			   e->sample.ip);
	else if (e->type == EVENT_LOST)
		buf_printf(&c->text, "lost %" PRIu64 " %" PRIu64 "\n", e->time_ns, e->lost.n);
	return 0;
}

static void read_part(const struct writer *w, const struct perfdata_part *part,
		      struct collector *to, struct perfdata_stats *sum)
{
	struct perfdata_bytes file = { w->b.data, w->b.len, NULL };
	const struct perfdata_stats *s;
	struct perfdata *p;

	assert_int_equal(perfdata_open(&file, 1, &p, NULL), 0);
	assert_true(perfdata_has_parts(p));
	assert_int_equal(perfdata_read_part(p, part, &to->sink, NULL), 0);
	s = perfdata_stats(p);
	sum->samples += s->samples;
	sum->late += s->late;
	sum->bad_records += s->bad_records;
	sum->bytes = s->bytes;
	sum->records = s->records;
	perfdata_free(p);
}

static void parts_equal_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		const struct perfdata_part all = PERFDATA_WHOLE;
		struct collector whole = { { collect }, { 0 } };
		struct perfdata_stats whole_stats = { 0 };
		struct writer w = { 0 };

		make_recording(&w, seed);
		read_part(&w, &all, &whole, &whole_stats);
		assert_true(whole_stats.samples > 100);
		for (uint32_t n = 1; n <= PARTS_MAX; n++) {
			struct perfdata_part parts[PARTS_MAX];
			struct collector joined = { { collect }, { 0 } };
			struct perfdata_stats stats = { 0 };

			import_split(w.data, w.b.len, n, parts);
			for (uint32_t i = 0; i < n; i++)
				read_part(&w, &parts[i], &joined, &stats);
			assert_int_equal(joined.text.len, whole.text.len);
			assert_memory_equal(joined.text.data, whole.text.data, whole.text.len);
			assert_int_equal(stats.samples, whole_stats.samples);
			assert_int_equal(stats.late, whole_stats.late);
			assert_int_equal(stats.bad_records, whole_stats.bad_records);
			assert_int_equal(stats.bytes, whole_stats.bytes);
			assert_int_equal(stats.records, whole_stats.records);
			buf_fini(&joined.text);
		}
		buf_fini(&whole.text);
		buf_fini(&w.b);
	}
}

static void parts_have_no_gap_between(void **state)
{
	struct perfdata_part parts[IMPORT_PARTS_MAX];

	(void)state;
	for (uint32_t n = 1; n <= IMPORT_PARTS_MAX; n++) {
		import_split(1000, 1000000, n, parts);
		assert_int_equal(parts[0].from_off, 0);
		assert_true(parts[n - 1].until_off == UINT64_MAX);
		for (uint32_t i = 1; i < n; i++) {
			uint64_t before = i > 1 ? parts[i - 1].from_off : 1000;

			assert_int_equal(parts[i].from_off, parts[i - 1].until_off);
			assert_in_range(parts[i].from_off, before + 1, 999999);
		}
	}
}

/* What is kept. */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct lines {
	char **data;
	size_t n, cap;
};

static void add_chain(struct buf *line, const struct segment *seg, uint32_t node)
{
	for (; node; node = seg->nodes[node].parent)
		buf_printf(line, " %s+%" PRIx64, seg->images[seg->nodes[node].code.image.n].path,
			   seg->nodes[node].code.offset);
	buf_u8(line, 0);
}

static void add_rows(struct lines *lines, const struct segment *seg, uint32_t block)
{
	struct count_rows rows = { 0 };

	assert_int_equal(segment_read_rows(seg, block, &rows, NULL), 0);
	for (size_t i = 0; i < rows.n; i++) {
		const struct profile_class *class = &seg->classes[rows.data[i].class];

		for (uint64_t n = 0; n < rows.data[i].samples; n++) {
			struct buf line = { 0 };

			buf_printf(&line, "%d %d %s %s", class->pid, class->tid,
				   seg->strings[class->comm.n], seg->images[class->app.n].path);
			add_chain(&line, seg, rows.data[i].node);
			vec_push(lines, xstrdup((char *)line.data));
			buf_fini(&line);
		}
	}
	vec_fini(&rows);
}

/* All samples and losses of a session, a line each, sorted. */
static void read_session(struct lines *lines, uint64_t *start_ns, uint64_t *end_ns)
{
	uint64_t losses[N_LOSS_REASONS] = { 0 };
	struct session *s;

	assert_int_equal(session_open("session", &s, NULL), 0);
	assert_int_equal(s->warnings.n, 0);
	assert_true(s->has_end);
	*start_ns = s->info.start_ns;
	*end_ns = s->end.end_ns;
	for (uint32_t i = 0; i < s->n_segments; i++)
		for (uint32_t b = 0; b < s->segments[i]->n_blocks; b++) {
			const struct block *block = &s->segments[i]->blocks[b];

			add_rows(lines, s->segments[i], b);
			for (uint32_t k = 0; k < block->n_losses; k++)
				losses[block->losses[k].reason] += block->losses[k].n;
		}
	if (lines->n)
		qsort(lines->data, lines->n, sizeof(*lines->data), by_text);
	for (int i = 0; i < N_LOSS_REASONS; i++)
		vec_push(lines, xasprintf("%s %" PRIu64, loss_texts[i].key, losses[i]));
	session_close(s);
}

static void free_lines(struct lines *lines)
{
	vec_foreach (lines, line)
		free(*line);
	vec_fini(lines);
}

static void import(uint32_t n_parts, struct lines *lines, uint64_t *start_ns, uint64_t *end_ns)
{
	struct import_config config = {
		.path = "perf.data", .dir = "session", .version = "test", .ops = &native_store
	};
	struct import_result result;
	char text[16];

	snprintf(text, sizeof(text), "%" PRIu32, n_parts);
	assert_int_equal(setenv("ASSAY_IMPORT_PARTS", text, 1), 0);
	file_remove_tree("session", NULL);
	assert_int_equal(import_file(&config, &result, NULL), 0);
	assert_int_equal(access("session/part.1", F_OK), -1);
	read_session(lines, start_ns, end_ns);
	assert_int_equal(lines->n - N_LOSS_REASONS, result.counts.samples);
	import_result_fini(&result);
	unsetenv("ASSAY_IMPORT_PARTS");
}

static void sessions_of_parts_are_those_of_the_whole(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
		uint64_t start_ns, end_ns, parts_start_ns, parts_end_ns;
		struct lines whole = { 0 };
		struct writer w = { 0 };

		make_recording(&w, seed);
		assert_int_equal(file_replace("perf.data", w.b.data, w.b.len, NULL), 0);
		buf_fini(&w.b);
		import(1, &whole, &start_ns, &end_ns);
		for (uint32_t n = 2; n <= PARTS_MAX; n++) {
			struct lines parts = { 0 };

			import(n, &parts, &parts_start_ns, &parts_end_ns);
			assert_int_equal(parts_start_ns, start_ns);
			assert_int_equal(parts_end_ns, end_ns);
			assert_int_equal(parts.n, whole.n);
			for (size_t i = 0; i < whole.n; i++)
				assert_string_equal(parts.data[i], whole.data[i]);
			free_lines(&parts);
		}
		free_lines(&whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_have_no_gap_between),
		cmocka_unit_test(parts_equal_the_whole),
		cmocka_unit_test(sessions_of_parts_are_those_of_the_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
