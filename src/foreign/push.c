/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/push.h"

#include <errno.h>

#include "base/buf.h"
#include "base/mem.h"
#include "foreign/folded.h"
#include "foreign/gunzip.h"
#include "foreign/pprof.h"
#include "foreign/sniff.h"
#include "foreign/wire.h"

#define PROFILE_MAX ((size_t)128 << 20) /* unpacked */

/* Gives samples without a name of a thread that of the service, and all the series' labels. */
struct naming_sink {
	struct foreign_sink sink; /* first: the sink is also this */
	struct foreign_sink *inner;
	struct foreign_facts *facts;
	struct slice service;
	struct foreign_labels labels;
};

static int push_named(struct foreign_sink *sink, const struct foreign_sample *s)
{
	struct naming_sink *n = (struct naming_sink *)sink;
	struct foreign_sample named = *s;

	named.service = n->service;
	if (!named.comm.len)
		named.comm = n->service;
	for (uint32_t i = 0; i < n->labels.n; i++)
		foreign_labels_add(&named.labels, n->labels.label[i].name, n->labels.label[i].value,
				   n->facts);
	return n->inner->sample(n->inner, &named);
}

static int read_unpacked(struct slice bytes, struct foreign_sink *sink, struct foreign_facts *facts,
			 struct error *err)
{
	switch (foreign_sniff(bytes.at, bytes.len, true)) {
	case FOREIGN_PPROF:
		return pprof_read(bytes.at, bytes.len, sink, facts, err);
	case FOREIGN_FOLDED:
		return folded_read(bytes, sink, facts);
	default:
		return error_set(err, -ENOTSUP, "a profile is neither pprof nor folded stacks");
	}
}

/* One of several profiles: they begin with the first of them. */
static int push_read_profile(struct slice bytes, struct foreign_sink *sink,
			     struct foreign_facts *facts, struct error *err)
{
	uint64_t begun_ns = facts->wall_ns, lasted_ns = facts->duration_ns;
	struct buf unpacked = { 0 };
	int r = 0;

	if (gunzip_has_magic(bytes.at, bytes.len)) {
		r = gunzip(bytes.at, bytes.len, PROFILE_MAX, &unpacked, err);
		bytes = (struct slice){ (const char *)unpacked.data, unpacked.len };
	}
	r = r < 0 ? r : read_unpacked(bytes, sink, facts, err);
	buf_fini(&unpacked);
	if (begun_ns && (!facts->wall_ns || begun_ns < facts->wall_ns))
		facts->wall_ns = begun_ns;
	facts->duration_ns = MAX(facts->duration_ns, lasted_ns);
	return r;
}

/* ---- forms ---- */

/* Whether the headers of a part have the name, as in: Content-Disposition: form-data; name="…". */
static bool has_name(struct slice headers, struct slice wanted)
{
	struct slice rest = headers;
	const char *at;

	while ((at = rest.len ? memmem(rest.at, rest.len, wanted.at, wanted.len) : NULL)) {
		if (at > headers.at && (at[-1] == ' ' || at[-1] == ';'))
			return true;
		rest = slice_from(rest, (size_t)(at - rest.at) + wanted.len);
	}
	return false;
}

/* Cuts the next part off: its headers, and its content up to the delimiter. */
static bool next_part(struct slice *rest, struct slice delimiter, struct slice *headers,
		      struct slice *content)
{
	static const struct slice blank = { "\r\n\r\n", 4 };
	const char *end = rest->len ? memmem(rest->at, rest->len, blank.at, blank.len) : NULL;

	if (!end)
		return false;
	*headers = slice_head(*rest, (size_t)(end - rest->at));
	*rest = slice_from(*rest, headers->len + blank.len);
	end = rest->len ? memmem(rest->at, rest->len, delimiter.at, delimiter.len) : NULL;
	if (!end || end - rest->at < 2)
		return false;
	*content = slice_head(*rest, (size_t)(end - rest->at) - 2); /* "\r\n" stands before it */
	*rest = slice_from(*rest, (size_t)(end - rest->at) + delimiter.len);
	return true;
}

int push_read_form(struct slice body, struct foreign_sink *sink, struct foreign_facts *facts,
		   struct error *err)
{
	struct slice rest = body, delimiter, headers, content;

	if (!slice_starts(body, SLICE("--")))
		return push_read_profile(body, sink, facts, err);
	slice_line(&rest, &delimiter);
	delimiter = slice_trim(delimiter);
	while (next_part(&rest, delimiter, &headers, &content))
		if (has_name(headers, SLICE("name=\"profile\"")))
			return push_read_profile(content, sink, facts, err);
	return error_set(err, -EBADMSG, "the form has no part 'profile'");
}

/* ---- PushRequest ---- */

/* LabelPair: a name and a value. */
static void push_take_label(struct naming_sink *n, struct reader message)
{
	struct slice name = { 0 }, value = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1)
			name = wire_text(&f);
		else if (f.number == 2)
			value = wire_text(&f);
	}
	if (slice_equal(name, SLICE("service_name")))
		n->service = value;
	else if (!slice_starts(name, SLICE("__"))) /* of the protocol */
		foreign_labels_add(&n->labels, name, value, n->facts);
}

static int read_raw_sample(struct reader message, struct foreign_sink *sink,
			   struct foreign_facts *facts, struct error *err)
{
	struct wire_field f;
	int r = 0;

	while (r >= 0 && wire_next(&message, &f))
		if (f.number == 1 && f.type == WIRE_BYTES)
			r = push_read_profile(wire_text(&f), sink, facts, err);
	return r;
}

static int read_series(struct reader message, struct foreign_sink *sink,
		       struct foreign_facts *facts, struct error *err)
{
	struct naming_sink named = { .sink = { push_named }, .inner = sink, .facts = facts };
	struct reader again = message;
	struct wire_field f;
	int r = 0;

	while (wire_next(&message, &f))
		if (f.number == 1)
			push_take_label(&named, f.inside);
	while (r >= 0 && wire_next(&again, &f))
		if (f.number == 2)
			r = read_raw_sample(f.inside, &named.sink, facts, err);
	return r;
}

int push_read_request(struct slice body, struct foreign_sink *sink, struct foreign_facts *facts,
		      struct error *err)
{
	struct reader message = reader_over(body.at, body.len);
	struct wire_field f;
	int r = 0;

	while (r >= 0 && wire_next(&message, &f))
		if (f.number == 1)
			r = read_series(f.inside, sink, facts, err);
	if (r >= 0 && (message.bad || reader_left(&message)))
		return error_set(err, -EBADMSG, "it is damaged or cut short (of %zu bytes)",
				 body.len);
	return r;
}
