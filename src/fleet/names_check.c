/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fleet/names_check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "symbol/cache.h"
#include "symbol/symbols.h"

_Static_assert(sizeof(struct names_facts) % 8 == 0, "the index behind it is aligned");

static void names_check_run(struct parser_job *job)
{
	struct names_facts f = { 0 };
	struct build_id id = { 0 };
	bool is_packed = reader_u8(&job->request);
	size_t len = reader_left(&job->request);
	const uint8_t *key = reader_bytes(&job->request, len);
	struct buf copy = { 0 }; /* aligned, as a mapping of the body may not be */
	struct index ix;

	id.len = (uint8_t)MIN(len, BUILD_ID_MAX);
	if (key)
		memcpy(id.bytes, key, id.len);
	f.result = body_unpack(job->file, is_packed, &copy, f.why);
	if (!f.result && !is_packed)
		buf_bytes(&copy, job->file->base, job->file->size);
	if (!f.result && !cache_is_sound(copy.data, copy.len, &id, &ix)) {
		f.result = -EBADMSG;
		snprintf(f.why, sizeof(f.why),
			 "it is no index of this build id and this version of assay");
	}
	if (!f.result) {
		f.status = ix.header->status;
		f.n = ix.n;
		f.size = copy.len;
	}
	buf_bytes(job->answer, &f, sizeof(f));
	buf_bytes(job->answer, copy.data, f.size);
	buf_fini(&copy);
}

static bool names_check_check(const void *bytes, size_t size)
{
	struct names_facts f;

	if (size < sizeof(f))
		return false;
	memcpy(&f, bytes, sizeof(f));
	return f.result <= 0 && memchr(f.why, '\0', sizeof(f.why)) && !f.result == !*f.why &&
	       f.size == size - sizeof(f) && f.size <= BODY_UNPACKED_MAX &&
	       (f.result == 0) == (f.size >= sizeof(struct index_header)) &&
	       f.status < N_SYMBOL_STATUSES;
}

const struct parser_row names_check_row = {
	.name = "names",
	.run = names_check_run,
	.check = names_check_check,
	.deadline_ms = 10000,
	.lane = PARSER_LANE_FRONT,
};

int names_check_ask(const struct file_mapping *file, const struct build_id *id, bool is_packed,
		    struct names_check *out, struct error *err)
{
	struct buf request = { 0 };
	const struct parser_question q = { .row = &names_check_row,
					   .file = file,
					   .request = &request };
	struct index ix;
	int r;

	*out = (struct names_check){ 0 };
	buf_u8(&request, is_packed);
	buf_bytes(&request, id->bytes, id->len);
	r = parser_ask(&q, &out->answer, err);
	buf_fini(&request);
	if (r < 0)
		return r;
	memcpy(&out->facts, out->answer.bytes, sizeof(out->facts));
	out->bytes = out->answer.bytes + sizeof(out->facts);
	if (out->facts.result)
		return error_set(err, out->facts.result, "%s", out->facts.why);
	/* A child that somebody has taken over may send anything. */
	if (!cache_is_sound(out->bytes, out->facts.size, id, &ix) ||
	    ix.header->status != out->facts.status)
		return error_set(err, -EPROTO, "the answer of the parser is wrong");
	return 0;
}

void names_check_fini(struct names_check *c)
{
	parser_answer_fini(&c->answer);
	*c = (struct names_check){ 0 };
}
