/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/otlp.h"

#include <errno.h>

#include "base/mem.h"
#include "foreign/otlp_samples.h"
#include "foreign/wire.h"

/* ProfilesData, ResourceProfiles and ScopeProfiles */
enum { DATA_RESOURCES = 1, DATA_DICTIONARY = 2 };
enum { RESOURCE = 1, RESOURCE_SCOPES = 2, RESOURCE_ATTRIBUTES = 1, SCOPE_PROFILES = 2 };
/* ProfilesDictionary */
enum {
	TABLE_MAPPING = 1,
	TABLE_LOCATION,
	TABLE_FUNCTION,
	TABLE_STRING = 5,
	TABLE_ATTRIBUTE,
	TABLE_STACK
};

struct otlp_attribute {
	struct slice key, text;
	uint64_t number;
};
struct otlp_mapping {
	uint64_t start, limit, file_off;
	struct slice file;
	struct build_id build_id;
};
struct otlp_function {
	struct slice name, file;
};
struct otlp_place {
	uint32_t first, n; /* into frames */
};

struct otlp {
	struct reader bytes, dictionary;
	struct foreign_sink *sink;
	struct foreign_facts *facts;
	VEC(struct slice) strings;
	VEC(struct otlp_attribute) attributes;
	VEC(struct otlp_mapping) mappings;
	VEC(struct otlp_function) functions;
	VEC(struct otlp_place) places;
	VEC(struct foreign_frame) frames;
	VEC(struct reader) stacks;      /* their indices of locations */
	struct slice service;           /* of the resource at hand */
	struct foreign_labels resource; /* its other attributes */
	uint64_t first_ns;              /* of all timestamps */
	bool is_certain, is_other;      /* of the version */
	bool has_samples;
	uint64_t paired; /* the number of samples of the value at hand; 0: not told */
	bool are_timed;  /* all samples have timestamps */
	struct foreign_frame chain[FOREIGN_MAX_FRAMES];
};

/* ---- the wire ---- */

static void bad_part(struct otlp *o)
{
	o->facts->n_bad++;
}

/* Calls `take` with each field of that number. A damaged message counts once. */
static void otlp_walk(struct otlp *o, struct reader message, uint32_t number,
		      void (*take)(struct otlp *, const struct wire_field *))
{
	struct wire_field f;

	while (wire_next(&message, &f))
		if (f.number == number)
			take(o, &f);
	if (reader_left(&message) || message.bad)
		bad_part(o);
}

static struct slice otlp_text(const struct otlp *o, uint64_t at)
{
	return at < o->strings.n ? o->strings.data[at] : (struct slice){ 0 };
}

/* ---- the dictionary ---- */

static void otlp_take_string(struct otlp *o, const struct wire_field *f)
{
	vec_push(&o->strings, wire_text(f));
}

/* AnyValue: a text, or a number. */
static void take_value(const struct otlp *o, struct reader message, struct otlp_attribute *a)
{
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1 && f.type == WIRE_BYTES)
			a->text = wire_text(&f);
		else if (f.number == 3)
			a->number = f.value;
		else if (f.number == 8) /* string_value_strindex */
			a->text = otlp_text(o, f.value);
	}
}

/* KeyValueAndUnit of the dictionary. */
static void take_attribute(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	struct otlp_attribute a = { .number = UINT64_MAX };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1)
			a.key = otlp_text(o, f.value);
		else if (f.number == 2)
			take_value(o, f.inside, &a);
	}
	vec_push(&o->attributes, a);
}

static const struct otlp_attribute *otlp_attribute(const struct otlp *o, uint64_t at)
{
	return at < o->attributes.n ? &o->attributes.data[at] : NULL;
}

static void take_build_id(const struct otlp *o, struct reader indices, struct otlp_mapping *m)
{
	uint64_t at;

	while (otlp_next_number(&indices, &at)) {
		const struct otlp_attribute *a = otlp_attribute(o, at);
		char hex[BUILD_ID_HEX_SIZE] = "";

		if (!a || !slice_equal(a->key, SLICE("process.executable.build_id.gnu")) ||
		    !a->text.len || a->text.len >= sizeof(hex))
			continue;
		memcpy(hex, a->text.at, a->text.len);
		if (!build_id_parse(hex, &m->build_id))
			m->build_id = (struct build_id){ 0 };
	}
}

static void otlp_take_mapping(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	struct otlp_mapping m = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		switch (f.number) {
		case 1:
			m.start = f.value;
			break;
		case 2:
			m.limit = f.value;
			break;
		case 3:
			m.file_off = f.value;
			break;
		case 4:
			m.file = otlp_text(o, f.value);
			break;
		case 5:
			take_build_id(o, f.inside, &m);
			break;
		}
	}
	vec_push(&o->mappings, m);
}

static void otlp_take_function(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	struct otlp_function function = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1 || (f.number == 2 && !function.name.len))
			function.name = otlp_text(o, f.value);
		else if (f.number == 3)
			function.file = otlp_text(o, f.value);
	}
	vec_push(&o->functions, function);
}

/* The function, and the line in it, of one of a location's frames. */
static void take_line(struct otlp *o, struct reader message, struct foreign_frame *frame)
{
	struct wire_field f;
	uint64_t function = 0, line = 0;

	while (wire_next(&message, &f)) {
		function = f.number == 1 ? f.value : function;
		line = f.number == 2 ? f.value : line;
	}
	frame->symbol = frame->file = (struct slice){ 0 };
	if (function && function < o->functions.n) {
		frame->symbol = o->functions.data[function].name;
		frame->file = o->functions.data[function].file;
	}
	frame->line = 0;
	if (frame->symbol.len && line && line <= INT32_MAX)
		frame->line = (uint32_t)line;
	else
		o->facts->n_lines += line != 0;
}

static void place_frame(const struct otlp *o, uint64_t mapping, struct foreign_frame *frame)
{
	const struct otlp_mapping *m =
		mapping && mapping < o->mappings.n ? &o->mappings.data[mapping] : NULL;

	if (m) {
		frame->image = m->file;
		frame->build_id = m->build_id;
		frame->has_file_off =
			frame->addr >= m->start && (!m->limit || frame->addr < m->limit);
		frame->file_off = frame->addr - m->start + m->file_off;
	}
	frame->is_kernel = foreign_is_kernel_file(frame->image, frame->addr);
}

static void otlp_take_location(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	struct otlp_place place = { .first = (uint32_t)o->frames.n };
	struct foreign_frame frame = { 0 };
	struct wire_field f;
	uint64_t mapping = 0;

	while (wire_next(&message, &f)) {
		mapping = f.number == 1 ? f.value : mapping;
		frame.addr = f.number == 2 ? f.value : frame.addr;
	}
	place_frame(o, mapping, &frame);
	message = outer->inside;
	while (wire_next(&message, &f)) {
		if (f.number != 3)
			continue;
		take_line(o, f.inside, &frame);
		vec_push(&o->frames, frame);
	}
	if (o->frames.n == place.first)
		vec_push(&o->frames, frame);
	place.n = (uint32_t)o->frames.n - place.first;
	vec_push(&o->places, place);
}

static void take_stack(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside, indices = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f))
		if (f.number == 1 && f.type == WIRE_BYTES)
			indices = f.inside;
	vec_push(&o->stacks, indices);
}

static void take_dictionary(struct otlp *o, const struct wire_field *f)
{
	o->dictionary = f->inside;
}

/* ---- samples ---- */

/* A field that one version alone has in this form. */
static void judge_version(struct otlp *o, const struct wire_field *f)
{
	bool is_packed = f->type == WIRE_BYTES;

	if ((f->number == SAMPLE_LINK && is_packed) || (f->number == SAMPLE_VALUES && !is_packed) ||
	    (f->number == SAMPLE_ATTRIBUTES && !is_packed))
		o->is_other = true;
	if ((f->number == SAMPLE_LINK && !is_packed) || (f->number == SAMPLE_VALUES && is_packed))
		o->is_certain = true;
}

/* The first pass: which version it is, and when the samples were taken. */
static void judge_sample(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	bool is_timed = false;
	struct wire_field f;

	o->has_samples = true;
	while (wire_next(&message, &f)) {
		judge_version(o, &f);
		while (f.number == SAMPLE_TIMES && reader_left(&f.inside) >= sizeof(uint64_t)) {
			uint64_t at = reader_u64(&f.inside);

			o->first_ns = MIN(o->first_ns, at);
			is_timed = true;
		}
	}
	o->are_timed &= is_timed;
}

struct otlp_event {
	struct slice name, unit;
	struct slice type; /* as written; `name` may be that of its period */
	bool is_number;    /* written in "count" */
	uint64_t period;   /* a value stands for so much each */
	bool is_count;
};

static void otlp_take_attribute(struct otlp *o, uint64_t index, struct slice *executable,
				struct foreign_sample *s)
{
	const struct otlp_attribute *a = otlp_attribute(o, index);

	if (!a) {
		bad_part(o);
		return;
	}
	if (slice_equal(a->key, SLICE("process.pid")) && a->number <= INT32_MAX)
		s->pid = (int32_t)a->number;
	else if (slice_equal(a->key, SLICE("thread.id")) && a->number <= INT32_MAX)
		s->tid = (int32_t)a->number;
	else if (slice_equal(a->key, SLICE("cpu.logical_number")) && a->number <= UINT16_MAX)
		s->cpu = (uint32_t)a->number;
	else if (slice_equal(a->key, SLICE("thread.name")))
		s->comm = a->text;
	else if (slice_equal(a->key, SLICE("process.executable.name")))
		*executable = a->text;
	else if (a->text.len && !slice_equal(a->key, SLICE("process.executable.build_id.gnu")))
		foreign_labels_add(&s->labels, a->key, a->text, o->facts);
}

static void take_class(struct otlp *o, struct reader indices, struct foreign_sample *s)
{
	struct slice executable = { 0 };
	uint64_t at;

	while (otlp_next_number(&indices, &at))
		otlp_take_attribute(o, at, &executable, s);
	s->tid = s->tid < 0 ? s->pid : s->tid;
	s->service = o->service;
	if (!s->comm.len)
		s->comm = executable.len ? executable : o->service;
	for (uint32_t i = 0; i < o->resource.n; i++)
		foreign_labels_add(&s->labels, o->resource.label[i].name,
				   o->resource.label[i].value, o->facts);
}

static void otlp_take_chain(struct otlp *o, uint64_t stack, struct foreign_sample *s)
{
	struct reader indices = { 0 };
	uint64_t at;

	if (stack < o->stacks.n)
		indices = o->stacks.data[stack];
	else if (stack)
		bad_part(o);
	while (otlp_next_number(&indices, &at)) {
		const struct otlp_place *place = at < o->places.n ? &o->places.data[at] : NULL;
		uint32_t n = place ? MIN(place->n, FOREIGN_MAX_FRAMES - s->n_frames) : 0;

		if (!place) {
			bad_part(o);
			continue;
		}
		memcpy(o->chain + s->n_frames, o->frames.data + place->first,
		       n * sizeof(*o->chain));
		s->n_frames += n;
		if (n < place->n) {
			o->facts->n_cut++;
			return;
		}
	}
}

static int push_value(struct otlp *o, const struct otlp_event *e, uint64_t value,
		      struct foreign_sample *s)
{
	if ((int64_t)value < 0)
		o->facts->n_negative++;
	if ((int64_t)value <= 0)
		return 0;
	s->samples = o->paired ? o->paired : e->is_count ? value : 1;
	if (__builtin_mul_overflow(value, e->period, &s->period)) {
		bad_part(o);
		return 0;
	}
	return o->sink->sample(o->sink, s);
}

/*
 * Values and timestamps may be of one number; without values, each timestamp counts one; without
 * as many timestamps, the sum has the first one.
 */
static int push_sample(struct otlp *o, const struct otlp_event *e, struct otlp_sample m,
		       struct foreign_sample *s)
{
	bool has_values = reader_left(&m.values) > 0, has_times = o->are_timed;
	uint64_t value = 1, at = 0;
	int r = 0;

	while (r >= 0) {
		bool has_time = reader_left(&m.times) >= sizeof(at);

		if (has_values ? !otlp_next_number(&m.values, &value) : !has_time)
			break;
		at = has_time ? reader_u64(&m.times) : at;
		s->time_ns = has_times ? at : 0;
		r = push_value(o, e, value, s);
	}
	return r;
}

static int otlp_take_sample(struct otlp *o, const struct otlp_event *e, struct reader message)
{
	struct foreign_sample s = {
		.pid = -1, .tid = -1, .frames = o->chain, .event = e->name, .unit = e->unit
	};
	struct otlp_sample m = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		switch (f.number) {
		case SAMPLE_STACK:
			m.stack = f.value;
			break;
		case SAMPLE_ATTRIBUTES:
			m.attributes = f.inside;
			break;
		case SAMPLE_VALUES:
			m.values = f.inside;
			break;
		case SAMPLE_TIMES:
			m.times = f.inside;
			break;
		}
	}
	if (message.bad || reader_left(&message)) {
		bad_part(o);
		return 0;
	}
	take_class(o, m.attributes, &s);
	otlp_take_chain(o, m.stack, &s);
	return push_sample(o, e, m, &s);
}

/* ---- profiles ---- */

/* ValueType: the texts of its type and its unit. */
static void take_type(const struct otlp *o, struct reader message, struct slice *type,
		      struct slice *unit)
{
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1)
			*type = otlp_text(o, f.value);
		else if (f.number == 2)
			*unit = otlp_text(o, f.value);
	}
}

static struct otlp_event event_of(struct otlp *o, struct reader profile)
{
	struct slice period_type = { 0 }, period_unit = { 0 };
	struct otlp_event e = { .period = 1 };
	struct wire_field f;
	uint64_t period = 0;

	while (wire_next(&profile, &f)) {
		if (f.number == 1)
			take_type(o, f.inside, &e.name, &e.unit);
		else if (f.number == 5)
			take_type(o, f.inside, &period_type, &period_unit);
		else if (f.number == 6)
			period = f.value;
	}
	e.type = e.name;
	e.is_number = e.is_count = slice_equal(e.unit, SLICE("count"));
	if (e.is_count && slice_equal(e.name, SLICE("samples")) && period_type.len && period &&
	    period <= INT64_MAX && slice_equal(period_unit, SLICE("nanoseconds"))) {
		e.name = period_type;
		e.unit = period_unit;
		e.period = period;
	}
	if (slice_equal(e.unit, SLICE("nanoseconds")))
		e.unit = SLICE("ns");
	else if (e.is_count)
		e.unit = SLICE("events");
	if (!e.name.len)
		e.name = SLICE("samples");
	return e;
}

static void take_times(struct otlp *o, struct reader profile)
{
	struct foreign_facts *facts = o->facts;
	struct wire_field f;

	while (wire_next(&profile, &f)) {
		if (f.number == 3 && f.value && (!facts->wall_ns || f.value < facts->wall_ns))
			facts->wall_ns = f.value;
		else if (f.number == 4)
			facts->duration_ns = MAX(facts->duration_ns, f.value);
	}
}

static void judge_profile(struct otlp *o, const struct wire_field *f)
{
	take_times(o, f->inside);
	otlp_walk(o, f->inside, 2, judge_sample);
}

/* `counts`: of the numbers of samples, as otlp_are_pairs() wants; NULL: none. */
static int otlp_read_profile(struct otlp *o, struct reader profile, struct reader *counts)
{
	struct otlp_event e = event_of(o, profile);
	struct reader sample, number;
	struct otlp_sample unused;
	int r = 0;

	while (r >= 0 && otlp_next_sample(&profile, &sample)) {
		if (counts && otlp_next_sample(counts, &number) &&
		    !otlp_only_value(number, &unused, &o->paired))
			o->paired = 0;
		r = otlp_take_sample(o, &e, sample);
	}
	o->paired = 0;
	return r;
}

/* Attributes that assay export writes of a session: no label of its samples. */
static bool is_of_session(struct slice key)
{
	return slice_starts(key, SLICE("host.")) || slice_starts(key, SLICE("os.")) ||
	       slice_equal(key, SLICE("process.command_line"));
}

static void take_resource_attribute(struct otlp *o, const struct wire_field *outer)
{
	struct reader message = outer->inside;
	struct otlp_attribute a = { 0 };
	struct wire_field f;

	while (wire_next(&message, &f)) {
		if (f.number == 1)
			a.key = wire_text(&f);
		else if (f.number == 2)
			take_value(o, f.inside, &a);
		else if (f.number == 3) /* key_strindex */
			a.key = otlp_text(o, f.value);
	}
	if (slice_equal(a.key, SLICE("service.name")))
		o->service = a.text;
	else if (slice_equal(a.key, SLICE("host.name")) && a.text.len)
		foreign_fact_set(&o->facts->hostname, a.text);
	else if (a.text.len && !is_of_session(a.key))
		foreign_labels_add(&o->resource, a.key, a.text, o->facts);
}

static void take_resource(struct otlp *o, const struct wire_field *f)
{
	otlp_walk(o, f->inside, RESOURCE_ATTRIBUTES, take_resource_attribute);
}

static void judge_scope(struct otlp *o, const struct wire_field *f)
{
	otlp_walk(o, f->inside, SCOPE_PROFILES, judge_profile);
}

static void judge_resource(struct otlp *o, const struct wire_field *f)
{
	otlp_walk(o, f->inside, RESOURCE_SCOPES, judge_scope);
}

/* As assay exports it, a profile may have the numbers of samples of the next one. */
static int read_scope(struct otlp *o, struct reader scope)
{
	struct reader counts = { 0 };
	struct slice waiting = { 0 }; /* the type of `counts` */
	bool has_counts = false;
	struct wire_field f;
	int r = 0;

	while (r >= 0 && wire_next(&scope, &f)) {
		struct otlp_event e = event_of(o, f.inside);

		if (f.number != SCOPE_PROFILES)
			continue;
		if (has_counts && foreign_is_count_of(waiting, e.type) &&
		    otlp_are_pairs(counts, f.inside)) {
			has_counts = false;
			r = otlp_read_profile(o, f.inside, &counts);
			continue;
		}
		if (has_counts)
			r = otlp_read_profile(o, counts, NULL);
		has_counts = e.is_number;
		counts = f.inside;
		waiting = e.type;
		if (!has_counts && r >= 0)
			r = otlp_read_profile(o, f.inside, NULL);
	}
	return has_counts && r >= 0 ? otlp_read_profile(o, counts, NULL) : r;
}

static int read_resources(struct otlp *o)
{
	struct reader data = o->bytes, scopes;
	struct wire_field f, scope;
	int r = 0;

	while (r >= 0 && wire_next(&data, &f)) {
		if (f.number != DATA_RESOURCES)
			continue;
		o->service = (struct slice){ 0 };
		o->resource.n = 0;
		otlp_walk(o, f.inside, RESOURCE, take_resource);
		scopes = f.inside;
		while (r >= 0 && wire_next(&scopes, &scope))
			if (scope.number == RESOURCE_SCOPES)
				r = read_scope(o, scope.inside);
	}
	return r;
}

/* ---- all of it ---- */

static void otlp_free(struct otlp *o)
{
	vec_fini(&o->strings);
	vec_fini(&o->attributes);
	vec_fini(&o->mappings);
	vec_fini(&o->functions);
	vec_fini(&o->places);
	vec_fini(&o->frames);
	vec_fini(&o->stacks);
	free(o);
}

/* Each table needs those that come before it here. */
static const struct {
	uint32_t number;
	void (*take)(struct otlp *, const struct wire_field *);
} tables[] = {
	{ TABLE_STRING, otlp_take_string },     { TABLE_ATTRIBUTE, take_attribute },
	{ TABLE_MAPPING, otlp_take_mapping },   { TABLE_FUNCTION, otlp_take_function },
	{ TABLE_LOCATION, otlp_take_location }, { TABLE_STACK, take_stack },
};

static int check_bytes(struct reader bytes, struct error *err)
{
	size_t size = reader_left(&bytes);
	struct wire_field f;

	while (wire_next(&bytes, &f))
		if (f.type != WIRE_BYTES || f.number > DATA_DICTIONARY)
			return error_set(err, -ENOTSUP,
					 "it has field %u, which OpenTelemetry's profiles of "
					 "v1.10.0 and v1.11.0 have not",
					 f.number);
	if (bytes.bad || reader_left(&bytes))
		return error_set(err, -EBADMSG, "it is damaged or cut short (of %zu bytes)", size);
	return 0;
}

static int otlp_read_all(struct otlp *o, struct error *err)
{
	int r = check_bytes(o->bytes, err);

	if (r < 0)
		return r;
	otlp_walk(o, o->bytes, DATA_DICTIONARY, take_dictionary);
	otlp_walk(o, o->bytes, DATA_RESOURCES, judge_resource);
	if (o->is_other || (o->has_samples && !o->is_certain))
		return error_set(err, -ENOTSUP,
				 "%s of OpenTelemetry's profiles; v1.10.0 and v1.11.0 can be read",
				 o->is_other ? "it is of another version"
					     : "it does not tell the version");
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		otlp_walk(o, o->dictionary, tables[i].number, tables[i].take);
	if (o->are_timed)
		o->facts->wall_ns = o->first_ns;
	return read_resources(o);
}

int otlp_read(const void *bytes, size_t size, struct foreign_sink *sink,
	      struct foreign_facts *facts, struct error *err)
{
	struct otlp *o = xcalloc(1, sizeof(*o));
	int r;

	o->bytes = reader_over(bytes, size);
	o->sink = sink;
	o->facts = facts;
	o->are_timed = true;
	o->first_ns = UINT64_MAX;
	r = otlp_read_all(o, err);
	otlp_free(o);
	return r;
}
