/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/block_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "fleet/body_unpack.h"
#include "store/format.h"
#include "store/history/blocks.h"
#include "store/row_reader.h"
#include "store/segment_parse.h"

/* No host counts so many in ten minutes; and sums of sums stay below 2^64. */
#define SAMPLES_MAX (UINT64_C(1) << 48)

/* Late samples may move the time of a block by this much (store/segment_parse.c). */
#define LATE_NS (2 * NS_PER_SECOND)

/* Properties that no block keeps. */
#define MERGED (SEPARATE_PROCESS | SEPARATE_THREAD | SEPARATE_CPU)

static int refuse(struct block_facts *f, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(struct block_facts *f, int code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(f->why, sizeof(f->why), format, args);
	va_end(args);
	f->result = code;
	return code;
}

/* ---- reading ---- */

struct reading {
	struct segment_context context;
	struct session warnings; /* of the context */
	struct segment *segment;
	struct row_reader *rows;
	uint64_t bucket;
	struct block_facts *facts;
};

static int check_info(const struct reading *r)
{
	const struct segment_context *c = &r->context;
	struct block_facts *f = r->facts;

	if (!c->has_info || !c->has_end || !c->info.start_wall_ns || !c->info.n_counters)
		return refuse(f, -EBADMSG, "its beginning or its end is missing");
	if (*c->info.replaces)
		return refuse(f, -EBADMSG, "it replaces other parts");
	if (*c->info.command || *c->info.target)
		return refuse(f, -EBADMSG, "it names a command");
	if ((c->info.merged & MERGED) != MERGED)
		return refuse(f, -EBADMSG, "it keeps processes, threads or processors apart");
	f->length_ns = MAX(BLOCK_BUCKET_NS, c->info.block_ns);
	if (r->bucket % BLOCK_BUCKET_NS || f->length_ns > history_levels[LEVEL_DAYS].block_ns)
		return refuse(f, -ERANGE, "its bucket is none of ten minutes");
	return 0;
}

static int check_time(const struct reading *r, const struct block *block)
{
	const struct session_info *info = &r->context.info;
	uint64_t first = session_wall_ns(info, block->first_ns),
		 last = session_wall_ns(info, block->last_ns);

	if (first + LATE_NS < r->bucket || first >= r->bucket + r->facts->length_ns ||
	    last < first || last >= r->bucket + 2 * r->facts->length_ns)
		return refuse(r->facts, -ERANGE, "it has samples of another bucket");
	return 0;
}

static int check_rows(const struct reading *r, uint32_t b)
{
	const struct block *block = &r->segment->blocks[b];
	struct block_facts *f = r->facts;
	const struct count_row *rows;
	uint64_t samples = 0;
	int64_t n = row_reader_find(r->rows, r->segment, b, &rows, NULL);

	if (n < 0)
		return refuse(f, -EBADMSG, "its rows can't be read");
	for (int64_t i = 0; i < n; i++) {
		if (rows[i].samples > SAMPLES_MAX || (samples += rows[i].samples) > SAMPLES_MAX)
			return refuse(f, -EBADMSG, "it has too many samples");
	}
	if (samples != block->samples)
		return refuse(f, -EBADMSG, "its rows do not have the samples of its header");
	f->samples += samples;
	f->n_rows += (uint32_t)n;
	for (uint32_t l = 0; l < block->n_losses; l++) {
		if (loss_texts[block->losses[l].reason].kind != LOSS_LOST)
			continue;
		if (block->losses[l].n > SAMPLES_MAX)
			return refuse(f, -EBADMSG, "it has too many lost samples");
		f->lost += block->losses[l].n;
	}
	if (f->samples > SAMPLES_MAX || f->lost > SAMPLES_MAX)
		return refuse(f, -EBADMSG, "it has too many samples");
	return 0;
}

static int check_segment(struct reading *r, const uint8_t *bytes, size_t size)
{
	struct block_facts *f = r->facts;
	int code;

	r->segment = segment_parse(&r->context, "block", bytes, size);
	if (!r->segment || !r->segment->n_blocks)
		return refuse(f, -EBADMSG, "no block is in it");
	if (r->warnings.warnings.n)
		return refuse(f, -EBADMSG, "%s", r->warnings.warnings.data[0]);
	code = check_info(r);
	if (code < 0)
		return code;
	segment_limit_counters(r->segment, r->context.info.n_counters);
	for (uint32_t b = 0; b < r->segment->n_blocks && code >= 0; b++) {
		code = check_time(r, &r->segment->blocks[b]);
		code = code < 0 ? code : check_rows(r, b);
	}
	if (code >= 0 && r->warnings.warnings.n) /* of the rows */
		return refuse(f, -EBADMSG, "%s", r->warnings.warnings.data[0]);
	return code;
}

static int read_bytes(const uint8_t *bytes, size_t size, uint64_t bucket, struct block_facts *f)
{
	struct reading r = { .bucket = bucket, .facts = f };
	struct segment_header h;
	int code;

	if (segment_header_parse(bytes, size, &h) < 0 || h.number)
		return refuse(f, -EBADMSG, "it is no segment of assay");
	if (h.version > SEGMENT_VERSION_MAX)
		return refuse(f, -EPROTONOSUPPORT,
			      "a newer assay wrote it (format %" PRIu32
			      "; this one reads up to %d)",
			      h.version, SEGMENT_VERSION_MAX);
	r.context = (struct segment_context){ .warnings_to = &r.warnings, .has_delivered = true };
	r.context.unpacker = unpacker_new();
	r.rows = row_reader_new();
	code = check_segment(&r, bytes, size);
	row_reader_free(r.rows);
	segment_free(r.segment);
	unpacker_free(r.context.unpacker);
	free(r.context.info.counters);
	free(r.context.info_text);
	vec_foreach (&r.warnings.warnings, text)
		free(*text);
	vec_fini(&r.warnings.warnings);
	return code;
}

static void block_check_run(struct parser_job *job)
{
	struct block_facts f = { 0 };
	uint64_t bucket = reader_u64(&job->request);
	bool is_packed = reader_u8(&job->request);
	struct buf unpacked = { 0 };
	const uint8_t *bytes = job->file->base;
	size_t size = job->file->size;

	f.result = body_unpack(job->file, is_packed, &unpacked, f.why);
	if (!f.result && is_packed) {
		bytes = unpacked.data;
		size = unpacked.len;
	}
	if (!f.result)
		read_bytes(bytes, size, bucket, &f);
	f.size = f.result ? 0 : size;
	buf_bytes(job->answer, &f, sizeof(f));
	buf_bytes(job->answer, bytes, f.size);
	buf_fini(&unpacked);
}

/* ---- in the process that asks ---- */

static bool block_check_check(const void *bytes, size_t size)
{
	struct block_facts f;

	if (size < sizeof(f))
		return false;
	memcpy(&f, bytes, sizeof(f));
	return f.result <= 0 && memchr(f.why, '\0', sizeof(f.why)) && !f.result == !*f.why &&
	       f.size == size - sizeof(f) && f.size <= BODY_UNPACKED_MAX &&
	       (f.result == 0) == (f.size > 0) && f.samples <= SAMPLES_MAX &&
	       f.lost <= SAMPLES_MAX && f.length_ns <= history_levels[LEVEL_DAYS].block_ns;
}

const struct parser_row block_check_row = {
	.name = "block",
	.run = block_check_run,
	.check = block_check_check,
	.deadline_ms = 20000,
	.lane = PARSER_LANE_FRONT,
};

int block_check_ask(const struct file_mapping *file, uint64_t bucket, bool is_packed,
		    struct block_check *out, struct error *err)
{
	struct buf request = { 0 };
	const struct parser_question q = { .row = &block_check_row,
					   .file = file,
					   .request = &request };
	int r;

	*out = (struct block_check){ 0 };
	buf_u64(&request, bucket);
	buf_u8(&request, is_packed);
	r = parser_ask(&q, &out->answer, err);
	buf_fini(&request);
	if (r < 0)
		return r;
	memcpy(&out->facts, out->answer.bytes, sizeof(out->facts));
	out->bytes = out->answer.bytes + sizeof(out->facts);
	return out->facts.result ? error_set(err, out->facts.result, "%s", out->facts.why) : 0;
}

void block_check_fini(struct block_check *c)
{
	parser_answer_fini(&c->answer);
	*c = (struct block_check){ 0 };
}
