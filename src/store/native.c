/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/native_state.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/reserve.h"
#include "store/listed_nodes.h"
#include "store/row_sort.h"
#include "store/session_dir.h"

/* Encodes the rows of a block. */
static void encode_counts(struct store *s, struct block_header *h, const segment_table_sizes now)
{
	struct segment_tables *t = &s->tables;
	struct buf *out = &s->sections[SECTION_COUNTS];
	struct counts_frame frame = {
		.n_classes = now[TABLE_CLASSES],
		.first_node = h->first_id[TABLE_NODES],
		.n_nodes = h->n_ids[TABLE_NODES],
		.n_rows = h->n_rows,
	};
	struct group_frame group = {
		.counts = frame,
		.first_ns = h->first_ns,
	};

	if (is_group(h->kind))
		group_encode(&s->encoder, out, &group, &s->group, t->written.data,
			     t->disk_ids.data);
	else
		counts_encode(&s->encoder, out, &frame, &s->tally, t->written.data,
			      t->disk_ids.data, s->times.n ? s->places.data : NULL);
}

static void encode_block_times(struct store *s, struct block_header *h)
{
	const struct times_rows rows = {
		.rows = s->tally.rows,
		.n = s->tally.n,
		.places = s->places.data,
		.classes = s->tables.written.data,
		.has_rate = s->has_rate,
	};

	times_encode(&s->encoder, &s->sections[SECTION_TIMES], &s->times, &rows, h->first_ns,
		     &h->early_us);
}

/* Encodes the exact times of the rows, behind their counts. */
static void encode_times(struct store *s, struct block_header *h)
{
	if (is_group(h->kind) && s->group.times.n)
		group_encode_times(&s->encoder, &s->sections[SECTION_TIMES], &s->group,
				   s->tables.written.data);
	else if (!is_group(h->kind) && s->times.n)
		encode_block_times(s, h);
}

void native_number_nodes(struct store *s, struct buf *out)
{
	struct segment_tables *t = &s->tables;

	while (t->disk_ids.n < segment_tables_nodes(t))
		vec_push(&t->disk_ids, 0);
	if (s->lists_codes)
		listed_nodes_encode(&s->encoder, out, &t->listed, t->done[TABLE_NODES],
				    t->disk_ids.data);
	else
		nodes_encode(&s->encoder, out, &t->tree, t->done[TABLE_NODES], t->disk_ids.data);
}

/* Packs the open block into s->sections and completes the header, which has its kind and times. */
static void encode_block(struct store *s, struct block_header *h)
{
	struct segment_tables *t = &s->tables;
	segment_table_sizes now;

	segment_tables_encode(t, &s->encoder, h->kind, &s->sections[SECTION_NAMES]);
	segment_tables_count(t, now);
	for (int i = 0; i < N_TABLES; i++) {
		h->first_id[i] = t->done[i];
		h->n_ids[i] = now[i] - t->done[i];
	}
	if (s->nodes.len)
		buf_bytes(&s->sections[SECTION_NODES], s->nodes.data, s->nodes.len);
	else if (h->n_ids[TABLE_NODES])
		native_number_nodes(s, &s->sections[SECTION_NODES]);
	buf_fini(&s->nodes);
	h->n_rows = is_group(h->kind) ? (uint32_t)s->group.rows.n : s->tally.n;
	if (s->times.n)
		vec_reserve(&s->places, s->tally.n);
	encode_counts(s, h, now);
	encode_times(s, h);
	block_fill_names(&s->sections[SECTION_NAMES]);
	block_fill_counts(&s->sections[SECTION_COUNTS], h);
}

/* Appends header and sections to s->out. */
static void append_block(struct store *s, struct block_header *h, const struct buf *sections)
{
	h->n_losses = h->kind == BLOCK_SAMPLES || is_group(h->kind) ? (uint32_t)s->losses.n : 0;
	h->delivered_before = s->delivered;
	for (int i = 0; i < N_SECTIONS; i++) {
		h->section_size[i] = (uint32_t)sections[i].len;
		if (sections[i].len)
			h->section_hash[i] = XXH3_64bits(sections[i].data, sections[i].len);
	}
	block_header_write(&s->out, h, s->losses.data);
	for (int i = 0; i < N_SECTIONS; i++)
		buf_bytes(&s->out, sections[i].data, sections[i].len);
}

/* Appends a block with one section of text: INFO or END. */
static void append_text_block(struct store *s, enum block_kind kind, const struct buf *text)
{
	struct block_header h = { .kind = kind };
	struct buf sections[N_SECTIONS] = { 0 };

	pack_bytes(s->encoder.packer, &sections[SECTION_NAMES], text->data, text->len);
	block_fill_names(&sections[SECTION_NAMES]);
	while (kind == BLOCK_INFO && sections[SECTION_NAMES].len < s->least_info)
		buf_u8(&sections[SECTION_NAMES], 0);
	if (kind == BLOCK_INFO)
		s->least_info = sections[SECTION_NAMES].len;
	append_block(s, &h, sections);
	buf_fini(&sections[SECTION_NAMES]);
}

/* Adds the samples of rows to out->if_lost. */
static void rows_as_losses(const struct store *s, const struct count_row *rows, size_t n,
			   struct late_block *out)
{
	uint64_t lost[SESSION_COUNTERS_MAX] = { 0 };

	for (size_t i = 0; i < n; i++) {
		lost[s->tables.written.data[rows[i].class].counter] += rows[i].samples;
		out->samples += rows[i].samples;
	}
	for (uint32_t c = 0; c < SESSION_COUNTERS_MAX; c++)
		if (lost[c])
			vec_push(&out->if_lost, (struct loss_row){ LOSS_DISK_FULL, c, lost[c] });
}

/* Keeps the block's numbers while the writer's thread has it, in case that its write fails. */
static void note_late(struct store *s)
{
	struct late_block *late = vec_add(&s->late);

	*late = (struct late_block){ .delivered = s->delivered };
	vec_foreach (&s->losses, loss)
		vec_push(&late->if_lost, *loss);
	rows_as_losses(s, s->tally.rows, s->tally.n, late);
}

static void drop_late(struct store *s, size_t n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n; i++)
		vec_fini(&s->late.data[i].if_lost);
	s->late.n -= n;
	memmove(s->late.data, s->late.data + n, s->late.n * sizeof(*s->late.data));
}

int native_write_out(struct store *s, struct error *err)
{
	int r = segment_writer_put(s->writer, s->number, s->size_bytes, s->out.data, s->out.len,
				   err);

	if (r < 0)
		return r;
	s->size_bytes += s->out.len;
	if (r > 0)
		note_late(s);
	return 0;
}

static uint32_t segment_version(const struct store *s)
{
	if (s->lists_codes)
		return SEGMENT_VERSION_LISTS;
	if (s->keeps_times)
		return SEGMENT_VERSION_TIMES;
	return s->is_grouping ? SEGMENT_VERSION_GROUPS : SEGMENT_VERSION;
}

void native_begin_out(struct store *s)
{
	s->out.len = 0;
	if (!s->size_bytes) {
		segment_header_write(&s->out, &(struct segment_header){ segment_version(s),
									s->number, s->delivered });
		append_text_block(s, BLOCK_INFO, &s->info);
	}
}

static void start_block(struct store *s)
{
	tally_clear(&s->tally);
	s->times.n = 0;
	s->samples = 0;
	s->period = 0;
	for (int i = 0; i < N_SECTIONS; i++)
		s->sections[i].len = 0;
}

static void start_group(struct store *s)
{
	group_clear(&s->group);
	s->group_period = 0;
}

static void lose_rows(struct store *s, const struct count_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		s->n_unwritten += rows[i].samples;
		losses_add(&s->losses, LOSS_DISK_FULL,
			   s->tables.written.data[rows[i].class].counter, rows[i].samples);
	}
}

/* Drops a block that could not be written. The next block reports its samples as lost. */
static void lose_block(struct store *s)
{
	lose_rows(s, s->tally.rows, s->tally.n);
	lose_rows(s, s->group.rows.data, s->group.rows.n);
	start_group(s);
	start_block(s);
}

static void next_segment(struct store *s)
{
	/* A segment without a written block keeps its number. */
	if (s->size_bytes)
		s->number++;
	s->size_bytes = 0;
	segment_tables_fini(&s->tables);
	segment_tables_init(&s->tables, s->images, s->strings);
	buf_fini(&s->nodes);
	s->hashes.n = 0;
	s->group.next_class = 0;
}

static bool has_news(const struct store *s)
{
	segment_table_sizes now;

	segment_tables_count(&s->tables, now);
	return s->samples || s->tally.n || s->losses.n ||
	       memcmp(now, s->tables.done, sizeof(now)) != 0;
}

static void settle_batch(struct store *s)
{
	batch_settle(&s->batch, &s->tables.tree, &s->tally, &s->times);
}

/* Writes one block of samples or one group. Afterwards it is empty, written or lost. */
static int write_block(struct store *s, struct block_header *h, struct error *err)
{
	cleanup(reserve_drop) struct reserve room = { 0 };
	int r = segment_tables_reserve(&s->tables,
				       s->tally.n + s->times.n + s->group.rows.n + s->group.times.n,
				       &room);

	if (r < 0) {
		lose_block(s);
		return reserve_error(err);
	}
	native_begin_out(s);
	losses_fold(&s->losses);
	encode_block(s, h);
	append_block(s, h, s->sections);
	r = native_write_out(s, err);
	if (r < 0) {
		lose_block(s);
	} else {
		s->delivered += block_delivered(h, s->losses.data);
		s->losses.n = 0;
		segment_tables_settle(&s->tables);
		start_group(s);
		start_block(s);
	}
	if (!s->is_in_pieces &&
	    (r == -ENOENT || segment_tables_full(&s->tables, s->limits.table_bytes) ||
	     s->size_bytes >= s->limits.segment_bytes))
		next_segment(s);
	return r;
}

int native_write_group(struct store *s, struct error *err)
{
	struct block_header h = { .kind = s->group.level_ns ? BLOCK_OVERVIEW : BLOCK_SECONDS,
				  .period = s->group_period };

	if (!s->group.seconds.n)
		return 0;
	h.first_ns = UINT64_MAX;
	vec_foreach (&s->group.seconds, second) {
		h.first_ns = MIN(h.first_ns, second->first_ns);
		h.last_ns = MAX(h.last_ns, second->last_ns);
		h.samples += second->samples;
	}
	/* The header has the losses of all seconds, so they are known if the rest is damaged. */
	vec_foreach (&s->group.losses, loss)
		losses_add(&s->losses, loss->reason, loss->counter, loss->n);
	return write_block(s, &h, err);
}

/* Sorts the rows by class, and lets their times follow them. */
static void sort_by_class(struct store *s)
{
	uint32_t n = s->tally.n;
	cleanup(free_at_exit) struct count_row *old = NULL;

	if (s->encoder.is_modest) {
		rows_sort(s->tally.rows, n, NULL, true);
		return;
	}
	old = xmalloc((n + 1) * sizeof(*old));
	block_encoder_reserve(&s->encoder, n);
	vec_reserve(&s->places, n);
	memcpy(old, s->tally.rows, n * sizeof(*old));
	for (uint32_t i = 0; i < n; i++)
		s->encoder.items[i] =
			(struct sort_item){ (uint64_t)old[i].class << 32 | old[i].node, i };
	sort_items(s->encoder.items, s->encoder.scratch, n);
	for (uint32_t i = 0; i < n; i++) {
		s->tally.rows[i] = old[s->encoder.items[i].value];
		s->places.data[s->encoder.items[i].value] = i;
	}
	vec_foreach (&s->times, t)
		t->row = s->places.data[t->row];
}

/* Adds n rows of the open block, from `first` on, as one block of the group. */
static void group_add_rows(struct store *s, uint32_t first, uint32_t n)
{
	const struct count_row *rows = s->tally.rows + first;
	uint64_t samples = 0;

	for (uint32_t i = 0; i < n; i++) {
		samples += rows[i].samples;
		s->group_period += rows[i].period;
	}
	group_add(&s->group,
		  &(struct group_second){ n ? s->first_ns : s->last_ns, s->last_ns, samples, n,
					  (uint32_t)s->losses.n, 0 },
		  rows, s->losses.data);
	s->losses.n = 0;
	vec_foreach (&s->times, t) {
		struct timed_sample in_piece = *t;

		in_piece.row -= first;
		if (t->row >= first && in_piece.row < n)
			group_add_time(&s->group, &in_piece);
	}
}

/* Splits a large block into several with the same time, which several threads can decode. */
static int flush_to_group(struct store *s, struct error *err)
{
	uint32_t n = s->tally.n, at = 0;
	int r = 0;

	losses_fold(&s->losses);
	if (n > PIECE_ROWS)
		sort_by_class(s);
	do {
		uint32_t piece = MIN(n - at, PIECE_ROWS);

		group_add_rows(s, at, piece);
		at += piece;
		s->is_in_pieces = at < n;
		if (at == n)
			start_block(s);
		if (s->group.rows.n >= GROUP_ROWS || s->group.seconds.n >= GROUP_SECONDS ||
		    s->group.times.n >= GROUP_TIMES ||
		    (at == n && segment_tables_full(&s->tables, s->limits.table_bytes)))
			r = native_write_group(s, err);
	} while (at < n && r >= 0);
	return r;
}

/*
 * Processes the writer's results. A failed block makes all later blocks fail, because they may use
 * its names. So a new segment begins, and the open block is lost, too.
 */
static int settle_late(struct store *s, bool waits, struct error *err)
{
	size_t n_done;
	int r;

	if (!s->late.n)
		return 0;
	r = segment_writer_result(s->writer, waits, &n_done, err);
	drop_late(s, n_done);
	if (r >= 0)
		return 0;
	if (s->late.n)
		s->delivered = s->late.data[0].delivered;
	vec_foreach (&s->late, late) {
		s->n_unwritten += late->samples;
		vec_foreach (&late->if_lost, loss)
			losses_add(&s->losses, loss->reason, loss->counter, loss->n);
	}
	drop_late(s, s->late.n);
	settle_batch(s);
	lose_block(s);
	next_segment(s);
	return r;
}

int native_flush_block(struct store *s, struct error *err)
{
	struct block_header h = {
		.kind = BLOCK_SAMPLES,
		.first_ns = s->first_ns,
		.last_ns = s->last_ns,
		.samples = s->samples,
		.period = s->period,
	};
	int r;

	r = settle_late(s, false, err);
	if (r < 0)
		return r;
	settle_batch(s);
	if (s->is_grouping && (s->tally.n || s->losses.n))
		return flush_to_group(s, err);
	/* Names that a group's rows use are written with the group. */
	if (!has_news(s) || s->group.seconds.n)
		return 0;
	if (!s->tally.n) /* losses alone: of the time where the samples ended */
		h.first_ns = h.last_ns;
	return write_block(s, &h, err);
}

static void store_free(struct store *s)
{
	segment_writer_free(s->writer);
	drop_late(s, s->late.n);
	vec_fini(&s->late);
	segment_tables_fini(&s->tables);
	vec_fini(&s->hashes);
	tally_fini(&s->tally);
	batch_fini(&s->batch);
	vec_fini(&s->times);
	vec_fini(&s->places);
	vec_fini(&s->losses);
	group_fini(&s->group);
	block_encoder_fini(&s->encoder);
	for (int i = 0; i < N_SECTIONS; i++)
		buf_fini(&s->sections[i]);
	buf_fini(&s->nodes);
	buf_fini(&s->out);
	buf_fini(&s->info);
	free(s->dir);
	free(s);
}

static int native_open(const char *dir, const struct session_info *info,
		       const struct image_table *images, const struct strings *strings,
		       struct store **out, struct error *err)
{
	struct store *s = xcalloc(1, sizeof(*s));
	int r;

	s->images = images;
	s->strings = strings;
	s->limits = NATIVE_LIMITS_DEFAULT;
	if (info->segment_bytes)
		s->limits.segment_bytes = info->segment_bytes;
	if (info->table_bytes)
		s->limits.table_bytes = info->table_bytes;
	s->dir = xasprintf("%s/" SEGMENTS_DIR, dir);
	s->last_ns = info->start_ns;
	s->merged = info->merged;
	s->keeps_times = info->exact_times;
	for (uint32_t i = 0; i < MIN(info->n_counters, (uint32_t)SESSION_COUNTERS_MAX); i++)
		s->has_rate[i] = info->counters[i].freq_hz > 0;
	s->group.has_rate = s->has_rate;
	info_encode(&s->info, info);
	segment_tables_init(&s->tables, s->images, s->strings);
	block_encoder_init(&s->encoder);
	r = session_dir_make(dir, s->dir, &s->sharing, err);
	if (!r) {
		s->writer = segment_writer_new(s->dir, &s->sharing, info->writes_behind);
		native_begin_out(s);
		r = native_write_out(s, err);
		s->empty_bytes = s->size_bytes;
	}
	if (r < 0) {
		store_free(s);
		return error_wrap(err, r, "cannot create session '%s'", dir);
	}
	session_dir_hold_reserve(s->dir);
	*out = s;
	return 0;
}

static bool block_has_samples(const struct store *s)
{
	return s->tally.n || s->batch.n;
}

/* Blocks end with the seconds of the clock, so a time range is a list of blocks. */
static bool is_next_second(const struct store *s, uint64_t time_ns)
{
	return block_has_samples(s) && time_ns / NS_PER_SECOND > s->first_ns / NS_PER_SECOND;
}

/* A late sample, of a second that is written already, counts for the open block. */
static void stretch_time(struct store *s, uint64_t time_ns)
{
	uint64_t second;

	if (!block_has_samples(s)) {
		s->first_ns = s->last_ns = time_ns;
		return;
	}
	second = s->first_ns / NS_PER_SECOND * NS_PER_SECOND;
	s->first_ns = MIN(s->first_ns, MAX(time_ns, second));
	s->last_ns = MAX(s->last_ns, time_ns);
}

/* Copies the steps of a chain, whose frames are innermost first. */
static void take_steps(struct store *s, const struct code_addr *frames, uint32_t n)
{
	struct tree_step *step = batch_steps(&s->batch, n);

	for (const struct code_addr *frame = frames + n; frame-- > frames; step++) {
		step->image = segment_tables_image(&s->tables, frame->image);
		step->offset = frame->offset;
	}
}

/* A sample without a time, as of a profile, has 0. One that is much later than its second keeps no
 * time: readers would not look for it here. */
static bool keeps_time(const struct store *s, const struct sample *sample)
{
	return s->keeps_times && sample->is_timed && sample->time_ns / NS_PER_US &&
	       sample->time_ns + TIMES_LATE_NS >= s->first_ns;
}

static int native_add(struct store *s, const struct sample *sample, struct error *err)
{
	struct profile_class merged = sample->class;
	struct batch_sample next = { .samples = sample->samples, .period = sample->period };
	int r = 0;

	if (s->merged)
		class_merge(&merged, image_get(s->images, sample->frames[0].image),
			    sample->frames[0].image, s->merged);
	if (is_next_second(s, sample->time_ns) || s->tally.n >= TALLY_ROWS_MAX ||
	    s->times.n >= STORE_TIMES_MAX || segment_tables_full(&s->tables, s->limits.table_bytes))
		r = native_flush_block(s, err);
	stretch_time(s, sample->time_ns);
	next.time_ns = keeps_time(s, sample) ? sample->time_ns : 0;
	next.class = segment_tables_class(&s->tables, &merged);
	next.n_steps = MIN(sample->n_frames, FRAMES_MAX);
	take_steps(s, sample->frames, next.n_steps);
	if (batch_add(&s->batch, &s->tables.tree, &next))
		settle_batch(s);
	s->samples += sample->samples;
	s->period += sample->period;
	return r;
}

static void native_lose(struct store *s, enum loss_reason reason, uint32_t counter, uint64_t n)
{
	if (n)
		losses_add(&s->losses, reason, counter, n);
}

static void native_name_code(struct store *s, const struct code_symbol *symbol)
{
	struct symbol_entry entry = { .offset = symbol->offset,
				      .size = symbol->size,
				      .line = symbol->line };

	if (segment_tables_full(&s->tables, s->limits.table_bytes))
		native_flush_block(s, NULL); /* on failure, the block's samples count as lost */
	entry.image = segment_tables_image(&s->tables, symbol->image);
	entry.name = strings_add(&s->tables.strings, symbol->name).n;
	vec_push(&s->tables.symbols, entry);
}

static int native_flush(struct store *s, uint64_t until_ns, struct error *err)
{
	/* The second of until_ns is not over: its block waits. */
	if (block_has_samples(s) && !is_next_second(s, until_ns))
		return 0;
	return native_flush_block(s, err);
}

static int write_end(struct store *s, const struct session_end *end, struct error *err)
{
	struct buf text = { 0 };
	int r;

	native_begin_out(s);
	end_encode(&text, end);
	append_text_block(s, BLOCK_END, &text);
	buf_fini(&text);
	r = native_write_out(s, err);
	return r < 0 ? r : settle_late(s, true, err);
}

static int native_close(struct store *s, const struct session_end *end, uint64_t *n_unwritten,
			struct error *err)
{
	int r = native_flush_block(s, err), r_end = 0;

	if (r >= 0)
		r = native_write_group(s, err);
	if (r >= 0)
		r = settle_late(s, true, err);
	session_dir_give_up_reserve(s->dir);
	if (r < 0) {
		/* The names of the lost block may not fit. So write the losses alone. */
		next_segment(s);
		native_flush_block(s, NULL);
		native_write_group(s, NULL);
		settle_late(s, true, NULL);
	}
	if (end)
		r_end = write_end(s, end, r < 0 ? NULL : err);
	*n_unwritten = s->n_unwritten;
	store_free(s);
	return r < 0 ? r : r_end;
}

static bool native_is_behind(struct store *s)
{
	return s->late.n > 0;
}

static uint64_t native_unwritten(const struct store *s)
{
	return s->n_unwritten;
}

const struct store_ops native_store = {
	.name = "native",
	.help = "assay's own segments",
	.open = native_open,
	.begin = native_begin,
	.add = native_add,
	.lose = native_lose,
	.name_code = native_name_code,
	.flush = native_flush,
	.close = native_close,
	.is_behind = native_is_behind,
	.unwritten = native_unwritten,
};

uint64_t native_store_memory(const struct store *s)
{
	uint64_t n = segment_tables_memory(&s->tables) + tally_memory(&s->tally) + s->out.cap +
		     s->hashes.cap * sizeof(*s->hashes.data) + s->info.cap +
		     batch_memory(&s->batch) + s->times.cap * sizeof(*s->times.data) +
		     s->places.cap * sizeof(*s->places.data) + group_memory(&s->group) +
		     block_encoder_memory(&s->encoder);

	for (int i = 0; i < N_SECTIONS; i++)
		n += s->sections[i].cap;
	return n;
}

void native_store_pack_tight(struct store *s)
{
	packer_set_tight(s->encoder.packer);
	s->lists_codes = true;
	s->encoder.is_modest = true;
}

void native_store_set_limits(struct store *s, const struct native_limits *limits)
{
	s->limits = *limits;
}
