/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sessions that are damaged, hostile, or no sessions. */
#include "store_world.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/buf.h"
#include "store/format.h"
#include "store/native.h"
#include "store/row_reader.h"
#include "store/segment_parse.h"

#define SEGMENTS_MAX 8

/* A small session of several segments, and its content. */
struct sample_session {
	struct world w;
	uint64_t lost;
	char *file[SEGMENTS_MAX];
	uint8_t *bytes[SEGMENTS_MAX];
	size_t size[SEGMENTS_MAX];
	uint32_t n_files;
};

static void load_files(struct sample_session *ss)
{
	for (; ss->n_files < SEGMENTS_MAX; ss->n_files++) {
		char *path = xasprintf("%s/samples/current/%04u.segment", ss->w.path, ss->n_files);
		char *text;

		if (file_read_all(path, 1 << 20, &text, &ss->size[ss->n_files]) < 0) {
			free(path);
			break;
		}
		ss->bytes[ss->n_files] = (uint8_t *)text;
		ss->file[ss->n_files] = path;
	}
}

static void sample_session_init_as(struct sample_session *ss, uint64_t table_bytes, bool in_groups)
{
	struct world *w = &ss->w;

	*ss = (struct sample_session){ 0 };
	world_init(w);
	if (in_groups)
		assert_int_equal(native_store_group(w->store, NULL), 0);
	native_store_set_limits(w->store, &(struct native_limits){ table_bytes, 64 << 20 });
	for (uint64_t second = 100; second < 105; second++) {
		for (uint32_t i = 0; i < 20; i++)
			add(w, second * SECOND + i, 10 + i % 2, i % 3 ? w->bin : w->lib,
			    second * 100000 + i * i * 16);
		native_store.lose(w->store, LOSS_RING_FULL, 0, second);
		native_store.lose(w->store, LOSS_UNMAPPED, 0, 1);
		ss->lost += second;
	}
	native_store.name_code(w->store, &(struct code_symbol){ w->lib, 0x40, 16, "jitted" });
	close_world(w);
	load_files(ss);
	assert_true(ss->n_files > 0);
}

static void sample_session_init(struct sample_session *ss, uint64_t table_bytes)
{
	sample_session_init_as(ss, table_bytes, false);
}

static void sample_session_fini(struct sample_session *ss)
{
	for (uint32_t i = 0; i < ss->n_files; i++) {
		free(ss->file[i]);
		free(ss->bytes[i]);
	}
	world_fini(&ss->w);
}

static void put_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, bytes, size), 0);
	close(fd);
}

/*
 * The invariant: if the session's end is readable, or only the end is damaged, reported samples and
 * lost samples add up to the samples that were written. One flipped byte can't break it.
 */
static void check_all_accounted(struct sample_session *ss, size_t at)
{
	struct session *s = NULL;
	struct error err = { 0 };
	struct totals t;

	if (session_open(ss->w.path, &s, &err) < 0)
		fail_msg("offset %zu: %s", at, err.text);
	t = read_totals(s);
	if (t.samples + t.lost != ss->w.samples + ss->lost || !s->warnings.n)
		fail_msg("offset %zu: %llu samples + %llu lost, %zu warnings", at,
			 (unsigned long long)t.samples, (unsigned long long)t.lost, s->warnings.n);
	session_close(s);
}

static void flip_every_byte(uint64_t table_bytes, uint32_t n_files_min, uint8_t mask,
			    bool in_groups)
{
	struct sample_session ss;

	sample_session_init_as(&ss, table_bytes, in_groups);
	assert_true(ss.n_files >= n_files_min);
	for (uint32_t f = 0; f < ss.n_files; f++) {
		int fd = open(ss.file[f], O_WRONLY | O_CLOEXEC);

		assert_true(fd >= 0);
		for (size_t at = 0; at < ss.size[f]; at++) {
			uint8_t flipped = ss.bytes[f][at] ^ mask;

			assert_int_equal(pwrite(fd, &flipped, 1, (off_t)at), 1);
			check_all_accounted(&ss, at);
			assert_int_equal(pwrite(fd, &ss.bytes[f][at], 1, (off_t)at), 1);
		}
		close(fd);
	}
	sample_session_fini(&ss);
}

static void one_flipped_byte_loses_no_sample_unsaid(void **state)
{
	(void)state;
	flip_every_byte(24 << 20, 1, 0xff, false);
	flip_every_byte(24 << 20, 1, 0x01, false);
}

static void neither_does_one_in_many_segments(void **state)
{
	(void)state;
	flip_every_byte(1500, 3, 0x40, false);
}

static void neither_does_one_in_a_group(void **state)
{
	(void)state;
	flip_every_byte(24 << 20, 1, 0xff, true);
	flip_every_byte(1500, 3, 0x10, true);
}

/* To readers a group's seconds are blocks, with the times, samples and losses that they had. */
static void a_group_s_seconds_are_blocks(void **state)
{
	struct sample_session plain, grouped;
	struct session *a, *b;

	(void)state;
	sample_session_init_as(&plain, 24 << 20, false);
	sample_session_init_as(&grouped, 24 << 20, true);
	assert_true(grouped.size[0] < plain.size[0]);
	assert_int_equal(session_open(plain.w.path, &a, NULL), 0);
	assert_int_equal(session_open(grouped.w.path, &b, NULL), 0);
	assert_int_equal(b->warnings.n, 0);
	assert_int_equal(b->segments[0]->n_blocks, a->segments[0]->n_blocks);
	for (uint32_t i = a->segments[0]->n_blocks; i-- > 0;) { /* in any order */
		const struct block *x = &a->segments[0]->blocks[i], *y = &b->segments[0]->blocks[i];
		struct count_rows rows = { 0 };

		assert_true(x->first_ns == y->first_ns && x->last_ns == y->last_ns);
		assert_int_equal(x->samples, y->samples);
		assert_int_equal(x->n_losses, y->n_losses);
		for (uint32_t k = 0; k < x->n_losses; k++)
			assert_memory_equal(&x->losses[k], &y->losses[k], sizeof(*x->losses));
		assert_int_equal(segment_read_rows(b->segments[0], i, &rows, NULL), 0);
		assert_int_equal(rows.n, y->n_rows);
		vec_fini(&rows);
	}
	session_close(a);
	session_close(b);
	sample_session_fini(&plain);
	sample_session_fini(&grouped);
}

/* Whole blocks in the first `size` bytes of a segment: what they hold, and if they end there. */
static uint64_t whole_blocks(const uint8_t *bytes, size_t size, bool *ends_there, uint32_t *n)
{
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	size_t at = SEGMENT_HEADER_SIZE;
	uint64_t sum = 0;

	for (*n = 0; at < size && !block_header_parse(bytes + at, size - at, &h, losses) &&
		     block_size(&h) <= size - at;
	     ++*n) {
		sum += block_delivered(&h, losses);
		at += block_size(&h);
	}
	*ends_there = at == size;
	return sum;
}

static void a_cut_session_holds_its_whole_blocks(void **state)
{
	struct sample_session ss;

	(void)state;
	sample_session_init(&ss, 24 << 20);
	for (size_t size = ss.size[0] - 1; size < ss.size[0]; size--) {
		struct session *s = NULL;
		struct error err = { 0 };
		bool ends_there;
		uint32_t n_blocks;
		uint64_t want = whole_blocks(ss.bytes[0], size, &ends_there, &n_blocks);
		struct totals t;

		assert_int_equal(truncate(ss.file[0], (off_t)size), 0);
		if (!n_blocks) {
			assert_true(session_open(ss.w.path, &s, &err) < 0);
			assert_non_null(strstr(err.text, "0000.segment"));
			continue;
		}
		assert_int_equal(session_open(ss.w.path, &s, &err), 0);
		t = read_totals(s);
		assert_true(t.samples + t.lost == want);
		assert_false(s->has_end);
		assert_int_equal(s->warnings.n, ends_there ? 0 : 1);
		session_close(s);
	}
	sample_session_fini(&ss);
}

static void a_missing_segment_is_counted(void **state)
{
	struct sample_session ss;

	(void)state;
	sample_session_init(&ss, 1500);
	assert_true(ss.n_files >= 3);
	assert_int_equal(unlink(ss.file[1]), 0);
	check_all_accounted(&ss, 0);
	sample_session_fini(&ss);
}

static void names_that_are_damaged_are_unknown(void **state)
{
	struct sample_session ss;
	struct loss_row losses[BLOCK_LOSSES_MAX];
	struct block_header h;
	struct session *s;
	size_t at = SEGMENT_HEADER_SIZE;

	(void)state;
	sample_session_init(&ss, 24 << 20);
	assert_int_equal(block_header_parse(ss.bytes[0] + at, ss.size[0] - at, &h, losses), 0);
	at += block_size(&h); /* the block that describes the session */
	assert_int_equal(block_header_parse(ss.bytes[0] + at, ss.size[0] - at, &h, losses), 0);
	ss.bytes[0][at + h.header_size] ^= 1;
	put_file(ss.file[0], ss.bytes[0], ss.size[0]);
	check_all_accounted(&ss, at);
	assert_int_equal(session_open(ss.w.path, &s, NULL), 0);
	assert_string_equal(s->segments[0]->images[1].path, "[unknown]");
	assert_int_equal(s->segments[0]->classes[0].pid, -1);
	assert_true(read_totals(s).samples == ss.w.samples); /* named wrong, but there */
	session_close(s);
	sample_session_fini(&ss);
}

static void a_lost_description_is_made_up(void **state)
{
	struct sample_session ss;
	struct session *s;

	(void)state;
	sample_session_init(&ss, 24 << 20);
	ss.bytes[0][SEGMENT_HEADER_SIZE] ^= 1;
	put_file(ss.file[0], ss.bytes[0], ss.size[0]);
	assert_int_equal(session_open(ss.w.path, &s, NULL), 0);
	assert_string_equal(s->info.command, "");
	assert_int_equal(s->info.n_counters, 1);
	assert_string_equal(s->info.counters[0].name, "[counter 0]");
	session_close(s);
	sample_session_fini(&ss);
}

static void expect_refusal(const char *path, int code, const char *text)
{
	struct session *s = NULL;
	struct error err = { 0 };

	assert_int_equal(session_open(path, &s, &err), code);
	assert_null(s);
	if (!strstr(err.text, text))
		fail_msg("'%s' is not in '%s'", text, err.text);
}

static void other_paths_are_no_sessions(void **state)
{
	struct sample_session ss;
	char path[128];

	(void)state;
	sample_session_init(&ss, 24 << 20);
	snprintf(path, sizeof(path), "%s/absent", ss.w.dir);
	expect_refusal(path, -ENOENT, "no session '");
	expect_refusal(ss.w.dir, -EINVAL, "is not an assay session: no segments in it");
	put_file(path, "hello, world", 12);
	expect_refusal(path, -ENOTDIR, "is a file, not a session directory");
	put_file(path, "PERFILE2........", 16);
	expect_refusal(path, -ENOTDIR, "is a file, not a session directory");
	put_file(ss.file[0], "", 0);
	expect_refusal(ss.w.path, -EBADMSG, "no readable part: 0000.segment: empty");
	put_file(ss.file[0], "hello, world", 12);
	expect_refusal(ss.w.path, -EBADMSG, "0000.segment: no whole block in it");
	sample_session_fini(&ss);
}

static void a_newer_version_is_refused(void **state)
{
	struct sample_session ss;
	struct buf b = { 0 };

	(void)state;
	sample_session_init(&ss, 24 << 20);
	segment_header_write(&b, &(struct segment_header){ .version = SEGMENT_VERSION_MAX + 1 });
	memcpy(ss.bytes[0], b.data, b.len);
	put_file(ss.file[0], ss.bytes[0], ss.size[0]);
	expect_refusal(ss.w.path, -EPROTONOSUPPORT,
		       "was written by a newer assay (format 6; this one reads up to 5)");
	buf_fini(&b);
	sample_session_fini(&ss);
}

static void a_session_of_another_user_is_refused(void **state)
{
	struct sample_session ss;
	pid_t child;
	int status;

	(void)state;
	if (geteuid())
		skip_because("needs root, to give a session away");
	sample_session_init(&ss, 24 << 20);
	chmod(ss.w.dir, 0755);
	child = fork();
	if (!child) {
		struct session *s;
		struct error err = { 0 };

		_exit(seteuid(65534) < 0 || session_open(ss.w.path, &s, &err) != -EACCES ||
		      !strstr(err.text, "permission denied; only root (uid 0) may"));
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	sample_session_fini(&ss);
}

/*
 * A segment of a header and one block that says `h`, with these section bytes. Returns the number
 * of warnings.
 */
static size_t parse_hostile(struct block_header *h, const struct loss_row *losses,
			    const struct buf *sections, bool is_readable)
{
	struct session session = { 0 };
	struct segment_context c = { .warnings_to = &session, .is_last = true };
	struct count_rows rows = { 0 };
	struct buf b = { 0 };
	struct segment *seg;
	size_t n_warnings;

	segment_header_write(&b, &(struct segment_header){ .version = 1 });
	for (int i = 0; i < N_SECTIONS && sections; i++) {
		h->section_size[i] = (uint32_t)sections[i].len;
		h->section_hash[i] = XXH3_64bits(sections[i].data, sections[i].len);
	}
	block_header_write(&b, h, losses);
	for (int i = 0; i < N_SECTIONS && sections; i++)
		buf_bytes(&b, sections[i].data, sections[i].len);
	c.unpacker = unpacker_new();
	seg = segment_parse(&c, "hostile", b.data, b.len);
	assert_int_equal(seg != NULL, is_readable);
	for (uint32_t i = 0; seg && i < seg->n_blocks; i++)
		segment_read_rows(seg, i, &rows, NULL);
	n_warnings = session.warnings.n;
	assert_true(n_warnings > 0 || is_readable);
	segment_free(seg);
	unpacker_free(c.unpacker);
	vec_fini(&rows);
	vec_foreach (&session.warnings, text)
		free(*text);
	vec_fini(&session.warnings);
	buf_fini(&b);
	return n_warnings;
}

static void sizes_that_lie_are_refused(void **state)
{
	static const struct block_header plain = { .kind = BLOCK_SAMPLES,
						   .first_id = { 1, 1, 1, 1, 1 } };
	struct block_header h;

	(void)state;
	free_set(FREE_ITEMS, 65536);
	h = plain;
	parse_hostile(&h, NULL, NULL, true); /* as it is, it is fine */
	for (int i = 0; i < N_SECTIONS; i++) {
		h = plain;
		h.section_size[i] = UINT32_MAX;
		parse_hostile(&h, NULL, NULL, false);
	}
	for (int i = 0; i < N_TABLES; i++) {
		h = plain;
		h.n_ids[i] = UINT32_MAX;
		parse_hostile(&h, NULL, NULL, false);
		h = plain;
		h.first_id[i] = UINT32_MAX;
		parse_hostile(&h, NULL, NULL, false);
	}
	h = plain;
	h.n_rows = UINT32_MAX;
	parse_hostile(&h, NULL, NULL, false);
	h = plain;
	h.first_ns = 5;
	h.last_ns = 4;
	parse_hostile(&h, NULL, NULL, false);
	h = plain;
	h.kind = N_BLOCK_KINDS;
	parse_hostile(&h, NULL, NULL, false);
	h = plain;
	h.first_id[TABLE_NODES] = SEGMENT_IDS_MAX; /* a million nodes that nothing defines */
	parse_hostile(&h, NULL, NULL, false);
	h = plain;
	h.n_rows = SEGMENT_IDS_MAX; /* of 100 bytes */
	parse_hostile(&h, NULL, NULL, false);
	h = plain;
	h.first_id[TABLE_NODES] = 65536;
	parse_hostile(&h, NULL, NULL, true);
	free_set(FREE_ITEMS, SEGMENT_ITEMS_FREE);
}

/* Names that repeat pack to nothing: a few bytes must not stand for more than a MiB of them. */
static void names_have_a_byte_for_some_of_theirs(void **state)
{
	static const uint64_t sizes[] = { NAMES_BYTES_FREE, 4 * NAMES_BYTES_FREE };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct block_header h = { .kind = BLOCK_SAMPLES, .first_id = { 1, 1, 0, 1, 0 } };
		struct buf sections[N_SECTIONS] = { 0 };

		h.n_ids[TABLE_STRINGS] = 100;
		buf_uleb(&sections[SECTION_NAMES], sizes[i]);
		buf_uleb(&sections[SECTION_NAMES], 1);
		buf_u8(&sections[SECTION_NAMES], 0);
		assert_int_equal(parse_hostile(&h, NULL, sections, true), i);
		buf_fini(&sections[SECTION_NAMES]);
	}
}

/* Of deep recursion, by a writer that did not fill blocks up: 15 nodes a byte. */
#define RECURSION ASSAY_SRC "/../tests/data/recursion"

static void a_session_of_an_earlier_writer_may_have_many_nodes(void **state)
{
	struct session *s;
	uint64_t samples = 0;

	(void)state;
	assert_int_equal(session_open(RECURSION, &s, NULL), 0);
	assert_int_equal(s->warnings.n, 0);
	assert_true(s->segments[0]->n_nodes > 8 * s->size_bytes);
	for (uint32_t i = 0; i < s->segments[0]->n_blocks; i++)
		samples += s->segments[0]->blocks[i].samples;
	assert_int_equal(samples, 341);
	session_close(s);
}

static size_t warnings_of_recursion(struct session **s)
{
	assert_int_equal(session_open(RECURSION, s, NULL), 0);
	return (*s)->warnings.n;
}

/* Else many small parts would cost much memory. */
static void all_open_sessions_share_the_free_nodes(void **state)
{
	struct session *one, *two;

	(void)state;
	assert_int_equal(warnings_of_recursion(&one), 0);
	free_set(FREE_ITEMS, one->segments[0]->n_nodes);
	session_close(one);
	assert_int_equal(warnings_of_recursion(&one), 0);
	assert_int_not_equal(warnings_of_recursion(&two), 0);
	session_close(two);
	session_close(one);
	assert_int_equal(warnings_of_recursion(&one), 0);
	session_close(one);
	free_set(FREE_ITEMS, SEGMENT_ITEMS_FREE);
}

/* A block may have a MiB of names in a few bytes, but not each of many. */
static void all_blocks_share_the_free_names(void **state)
{
	struct block_header h = { .kind = BLOCK_SAMPLES, .first_id = { 1, 1, 0, 1, 0 } };
	struct buf sections[N_SECTIONS] = { 0 };
	struct packer *packer = packer_new();
	char name[100000];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 2] = name[sizeof(name) - 1] = 0; /* its end; no build ids */
	pack_bytes(packer, &sections[SECTION_NAMES], name, sizeof(name));
	packer_free(packer);
	h.n_ids[TABLE_STRINGS] = 1;
	assert_int_equal(parse_hostile(&h, NULL, sections, true), 0);
	free_set(FREE_NAMES, 50000);
	assert_int_equal(parse_hostile(&h, NULL, sections, true), 1);
	free_set(FREE_NAMES, NAMES_FREE);
	buf_fini(&sections[SECTION_NAMES]);
}

/* Bytes that unpack to other sizes than their place in the block can have. */
static void contents_that_lie_are_damage(void **state)
{
	static const uint64_t sizes[] = { 0, 1, 2, 100, 1u << 20, 1ULL << 32, 1ULL << 62 };

	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(sizes); i++) {
		struct block_header h = { .kind = i & 1 ? BLOCK_GROUP : BLOCK_SAMPLES,
					  .n_rows = 10,
					  .samples = 10 };
		struct buf sections[N_SECTIONS] = { 0 };
		uint8_t byte = (uint8_t)i;

		for (int k = 0; k < N_SECTIONS; k++) {
			buf_uleb(&sections[k], sizes[i / 2]);
			buf_uleb(&sections[k], 1);
			buf_bytes(&sections[k], &byte, 1);
		}
		for (int k = 0; k < N_TABLES; k++) {
			h.first_id[k] = 1;
			h.n_ids[k] = 100;
		}
		parse_hostile(&h, NULL, sections, true);
		for (int k = 0; k < N_SECTIONS; k++)
			buf_fini(&sections[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_flipped_byte_loses_no_sample_unsaid),
		cmocka_unit_test(neither_does_one_in_many_segments),
		cmocka_unit_test(neither_does_one_in_a_group),
		cmocka_unit_test(a_group_s_seconds_are_blocks),
		cmocka_unit_test(a_cut_session_holds_its_whole_blocks),
		cmocka_unit_test(a_missing_segment_is_counted),
		cmocka_unit_test(names_that_are_damaged_are_unknown),
		cmocka_unit_test(a_lost_description_is_made_up),
		cmocka_unit_test(other_paths_are_no_sessions),
		cmocka_unit_test(a_newer_version_is_refused),
		cmocka_unit_test(a_session_of_another_user_is_refused),
		cmocka_unit_test(sizes_that_lie_are_refused),
		cmocka_unit_test(names_have_a_byte_for_some_of_theirs),
		cmocka_unit_test(a_session_of_an_earlier_writer_may_have_many_nodes),
		cmocka_unit_test(all_open_sessions_share_the_free_nodes),
		cmocka_unit_test(all_blocks_share_the_free_names),
		cmocka_unit_test(contents_that_lie_are_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
