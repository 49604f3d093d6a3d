/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/otlp_answer.h"

#include "base/reader.h"

/* Of ExportProfilesServiceResponse, and of its ExportProfilesPartialSuccess. */
enum { FIELD_PARTIAL_SUCCESS = 1, FIELD_REJECTED = 1, FIELD_MESSAGE = 2 };

/* How a field is written (protobuf.dev, "Encoding"). */
enum { WIRE_VARINT, WIRE_64, WIRE_BYTES, WIRE_32 = 5 };

struct otlp_field {
	uint64_t number, varint;
	unsigned int wire;
	const char *bytes; /* of WIRE_BYTES … */
	size_t size;       /* … as well */
};

/* False: there is none, or it is damaged. Then r->bad is set. */
static bool read_field(struct reader *r, struct otlp_field *f)
{
	uint64_t tag, size = 0;

	if (!reader_left(r))
		return false;
	tag = reader_uleb(r);
	*f = (struct otlp_field){ .number = tag >> 3, .wire = (unsigned int)(tag & 7) };
	if (f->wire == WIRE_VARINT)
		f->varint = reader_uleb(r);
	else if (f->wire == WIRE_64)
		reader_u64(r);
	else if (f->wire == WIRE_32)
		reader_u32(r);
	else if (f->wire == WIRE_BYTES)
		size = reader_uleb(r);
	else
		r->bad = true;
	if (f->wire == WIRE_BYTES && !r->bad) {
		f->size = size > reader_left(r) ? SIZE_MAX : (size_t)size;
		f->bytes = reader_bytes(r, f->size);
	}
	r->bad |= !f->number;
	return !r->bad;
}

/* The first line, without what could steer a terminal. */
static void keep_line(const struct otlp_field *f, char out[static 256])
{
	size_t n = 0;

	while (n < f->size && n < 255 && (unsigned char)f->bytes[n] >= ' ' && f->bytes[n] != 0x7f) {
		out[n] = f->bytes[n];
		n++;
	}
	out[n] = '\0';
}

static bool parse_partial(const struct otlp_field *partial, struct otlp_answer *out)
{
	struct reader r = reader_over(partial->bytes, partial->size);
	struct otlp_field f;

	while (read_field(&r, &f)) {
		if (f.number == FIELD_REJECTED && f.wire == WIRE_VARINT)
			out->n_rejected = f.varint;
		if (f.number == FIELD_MESSAGE && f.wire == WIRE_BYTES)
			keep_line(&f, out->why);
	}
	return !r.bad;
}

bool otlp_answer_parse(const void *bytes, size_t size, struct otlp_answer *out)
{
	struct reader r = reader_over(bytes, size);
	struct otlp_field f;
	bool is_right = true;

	*out = (struct otlp_answer){ 0 };
	while (is_right && read_field(&r, &f))
		if (f.number == FIELD_PARTIAL_SUCCESS && f.wire == WIRE_BYTES)
			is_right = parse_partial(&f, out);
	return is_right && !r.bad;
}
