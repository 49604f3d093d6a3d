/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "foreign/pprof.h"

#include <errno.h>
#include <inttypes.h>

#include "base/intmap.h"
#include "base/reader.h"
#include "foreign/pprof.pb-c.h"
#include "foreign/wire.h"

/* A message of samples or locations; a bomb would be far larger than any of use. */
#define MESSAGE_MAX ((size_t)1 << 20)
#define TYPES_MAX   64 /* profiles have one to six */

struct event_type {
	struct slice name, unit;
	uint32_t value;       /* index of its value in a sample */
	uint32_t count_value; /* of the number of samples; NO_VALUE: none */
	bool is_count;
};
#define NO_VALUE UINT32_MAX

struct place {
	uint32_t first, n; /* into frames */
};

struct pprof {
	struct reader bytes;
	struct foreign_sink *sink;
	struct foreign_facts *facts;
	VEC(struct slice) strings;
	VEC(struct slice) types; /* type and unit of sample_type, in turn */
	VEC(struct event_type) events;
	VEC(Pprof__Mapping) mappings; /* without what a message has allocated */
	VEC(Pprof__Function) functions;
	VEC(struct place) places;
	VEC(struct foreign_frame) frames;
	struct intmap mapping_at, function_at, place_at; /* id to index */
	struct foreign_frame chain[FOREIGN_MAX_FRAMES];
};

#define UNPACK(type, f)                                                      \
	(reader_left(&(f)->inside) > MESSAGE_MAX                             \
		 ? NULL                                                      \
		 : type##__unpack(NULL, reader_left(&(f)->inside),           \
				  reader_left(&(f)->inside) ? (f)->inside.at \
							    : (const uint8_t *)""))

static struct slice pprof_text_of(const struct pprof *p, int64_t at)
{
	return at >= 0 && (size_t)at < p->strings.n ? p->strings.data[at] : (struct slice){ 0 };
}

/* The tables. */

static void bad_message(struct pprof *p)
{
	p->facts->n_bad++;
}

static void pprof_take_type(struct pprof *p, const struct wire_field *f)
{
	Pprof__ValueType *t = UNPACK(pprof__value_type, f);
	struct slice empty = { 0 };

	if (p->types.n == 2 * TYPES_MAX) {
		bad_message(p);
		pprof__value_type__free_unpacked(t, NULL);
		return;
	}
	/* A damaged one keeps its place, because values have the order of their types. */
	vec_push(&p->types, t ? pprof_text_of(p, t->type) : empty);
	vec_push(&p->types, t ? pprof_text_of(p, t->unit) : empty);
	if (t)
		pprof__value_type__free_unpacked(t, NULL);
	else
		bad_message(p);
}

static void take_mapping(struct pprof *p, const struct wire_field *f)
{
	Pprof__Mapping *m = UNPACK(pprof__mapping, f);

	if (!m) {
		bad_message(p);
		return;
	}
	*intmap_put(&p->mapping_at, m->id, NULL) = (uint32_t)p->mappings.n;
	vec_push(&p->mappings, *m);
	pprof__mapping__free_unpacked(m, NULL);
}

static void take_function(struct pprof *p, const struct wire_field *f)
{
	Pprof__Function *function = UNPACK(pprof__function, f);

	if (!function) {
		bad_message(p);
		return;
	}
	*intmap_put(&p->function_at, function->id, NULL) = (uint32_t)p->functions.n;
	vec_push(&p->functions, *function);
	pprof__function__free_unpacked(function, NULL);
}

/* What all frames of a location have in common. */
static struct foreign_frame pprof_frame_of(const struct pprof *p, const Pprof__Location *l)
{
	const uint32_t *at = intmap_find(&p->mapping_at, l->mapping_id);
	struct foreign_frame frame = { .addr = l->address };
	const Pprof__Mapping *m = at ? &p->mappings.data[*at] : NULL;
	char hex[BUILD_ID_HEX_SIZE] = "";
	struct slice id;

	if (m) {
		id = pprof_text_of(p, m->build_id);
		frame.image = pprof_text_of(p, m->filename);
		memcpy(hex, id.at ? id.at : "", MIN(id.len, sizeof(hex) - 1));
		if (id.len >= sizeof(hex) || !build_id_parse(hex, &frame.build_id))
			frame.build_id = (struct build_id){ 0 };
		frame.has_file_off = l->address >= m->memory_start &&
				     (!m->memory_limit || l->address < m->memory_limit);
		frame.file_off = l->address - m->memory_start + m->file_offset;
	}
	frame.is_kernel = foreign_is_kernel_file(frame.image, l->address);
	return frame;
}

/* The function, and the line in it, of one of a location's frames. */
static void name_frame(struct pprof *p, const Pprof__Line *line, struct foreign_frame *frame)
{
	const uint32_t *at = intmap_find(&p->function_at, line->function_id);
	const Pprof__Function *f = at ? &p->functions.data[*at] : NULL;

	frame->symbol = f ? pprof_text_of(p, f->name) : (struct slice){ 0 };
	if (f && !frame->symbol.len)
		frame->symbol = pprof_text_of(p, f->system_name);
	frame->file = f ? pprof_text_of(p, f->filename) : (struct slice){ 0 };
	frame->line = 0;
	if (frame->symbol.len && line->line > 0 && line->line <= INT32_MAX)
		frame->line = (uint32_t)line->line;
	else
		p->facts->n_lines += line->line != 0;
}

static void take_location(struct pprof *p, const struct wire_field *f)
{
	Pprof__Location *l = UNPACK(pprof__location, f);
	struct place place = { .first = (uint32_t)p->frames.n };
	struct foreign_frame frame;

	if (!l) {
		bad_message(p);
		return;
	}
	frame = pprof_frame_of(p, l);
	for (size_t i = 0; i < l->n_line; i++) {
		name_frame(p, l->line[i], &frame);
		vec_push(&p->frames, frame);
	}
	if (!l->n_line)
		vec_push(&p->frames, frame);
	place.n = (uint32_t)p->frames.n - place.first;
	*intmap_put(&p->place_at, l->id, NULL) = (uint32_t)p->places.n;
	vec_push(&p->places, place);
	pprof__location__free_unpacked(l, NULL);
}

static void take_string(struct pprof *p, const struct wire_field *f)
{
	vec_push(&p->strings, wire_text(f));
}

/* Fields of a number are the rows; each kind needs those that come before it here. */
static void pprof_walk(struct pprof *p, uint32_t number,
		       void (*take)(struct pprof *, const struct wire_field *))
{
	struct reader r = p->bytes;
	struct wire_field f;

	while (wire_next(&r, &f))
		if (f.number == number)
			take(p, &f);
}

static void take_facts(struct pprof *p)
{
	struct reader r = p->bytes;
	struct wire_field f;

	while (wire_next(&r, &f)) {
		if (f.number == 9)
			p->facts->wall_ns = f.value;
		else if (f.number == 10)
			p->facts->duration_ns = f.value;
	}
}

/* Events. */

static void make_events(struct pprof *p)
{
	uint32_t n = (uint32_t)p->types.n / 2, count_value = NO_VALUE;

	for (uint32_t i = 0; i < n; i++) {
		struct event_type e = { .name = p->types.data[2 * i],
					.unit = p->types.data[2 * i + 1],
					.value = i,
					.count_value = count_value };

		e.is_count = slice_equal(e.unit, SLICE("count"));
		if (e.is_count && i + 1 < n &&
		    foreign_is_count_of(e.name, p->types.data[2 * i + 2])) {
			count_value = i;
			continue;
		}
		count_value = NO_VALUE;
		if (slice_equal(e.unit, SLICE("nanoseconds")))
			e.unit = SLICE("ns");
		else if (e.is_count)
			e.unit = SLICE("events");
		if (!e.name.len)
			e.name = SLICE("samples");
		vec_push(&p->events, e);
	}
}

/* Samples. */

/* A label's number, also where it is written as text. */
static bool label_number(const struct pprof *p, const Pprof__Label *l, uint64_t max, uint64_t *out)
{
	struct slice text = pprof_text_of(p, l->str);
	uint64_t v = (uint64_t)l->num;

	if ((text.len && !slice_number(text, 10, &v)) || v > max)
		return false;
	*out = v;
	return true;
}

static void take_label(struct pprof *p, const Pprof__Label *l, struct foreign_sample *s)
{
	struct slice key = pprof_text_of(p, l->key), text = pprof_text_of(p, l->str);
	uint64_t v;

	if (slice_equal(key, SLICE("pid")) || slice_equal(key, SLICE("process_id"))) {
		if (label_number(p, l, INT32_MAX, &v))
			s->pid = (int32_t)v;
	} else if (slice_equal(key, SLICE("tid")) || slice_equal(key, SLICE("thread_id"))) {
		if (label_number(p, l, INT32_MAX, &v))
			s->tid = (int32_t)v;
	} else if (slice_equal(key, SLICE("cpu"))) {
		if (label_number(p, l, UINT16_MAX, &v))
			s->cpu = (uint32_t)v;
	} else if (slice_equal(key, SLICE("comm")) || slice_equal(key, SLICE("thread")) ||
		   slice_equal(key, SLICE("thread_name"))) {
		s->comm = text;
	} else if (text.len) { /* numbers are those of a sample: the size of an object */
		foreign_labels_add(&s->labels, key, text, p->facts);
	}
}

static void take_chain(struct pprof *p, const Pprof__Sample *message, struct foreign_sample *s)
{
	for (size_t i = 0; i < message->n_location_id; i++) {
		const uint32_t *at = intmap_find(&p->place_at, message->location_id[i]);
		const struct place *place = at ? &p->places.data[*at] : NULL;
		uint32_t n = place ? MIN(place->n, FOREIGN_MAX_FRAMES - s->n_frames) : 0;

		if (!place) {
			bad_message(p);
			continue;
		}
		memcpy(p->chain + s->n_frames, p->frames.data + place->first,
		       n * sizeof(*p->chain));
		s->n_frames += n;
		if (n < place->n) {
			p->facts->n_cut++;
			return;
		}
	}
}

static int push_values(struct pprof *p, const Pprof__Sample *message, struct foreign_sample *s)
{
	int r = 0;

	vec_foreach (&p->events, e) {
		int64_t v = e->value < message->n_value ? message->value[e->value] : 0;
		int64_t n = e->count_value < message->n_value ? message->value[e->count_value]
			    : e->is_count                     ? v
							      : v != 0;

		if (r < 0 || e->value > message->n_value) /* the rest have no value here */
			break;
		if (v < 0 || n < 0)
			p->facts->n_negative++;
		if (v < 0 || n <= 0)
			continue;
		s->event = e->name;
		s->unit = e->unit;
		s->samples = (uint64_t)n;
		s->period = (uint64_t)v;
		r = p->sink->sample(p->sink, s);
	}
	return r;
}

static int pprof_take_sample(struct pprof *p, const struct wire_field *f)
{
	struct foreign_sample s = { .pid = -1, .tid = -1, .frames = p->chain };
	Pprof__Sample *message = UNPACK(pprof__sample, f);
	int r;

	if (!message) {
		bad_message(p);
		return 0;
	}
	for (size_t i = 0; i < message->n_label; i++)
		take_label(p, message->label[i], &s);
	if (s.tid < 0)
		s.tid = s.pid;
	take_chain(p, message, &s);
	r = push_values(p, message, &s);
	pprof__sample__free_unpacked(message, NULL);
	return r;
}

static int take_samples(struct pprof *p, struct error *err)
{
	struct reader r = p->bytes;
	const uint8_t *start = r.at;
	struct wire_field f;
	int code;

	while (wire_next(&r, &f)) {
		code = f.number == 2 ? pprof_take_sample(p, &f) : 0;
		if (code < 0)
			return code;
	}
	if (r.bad || r.at != r.end)
		return error_set(err, -EBADMSG, "it is damaged or cut short (of %zu bytes)",
				 (size_t)(r.end - start));
	return 0;
}

/* All of it. */

/* The first field is a small ValueType in practice: 0x0a, a length, and its own first field. */
bool pprof_has_magic(const void *bytes, size_t size)
{
	const uint8_t *b = bytes;

	return size >= 4 && b[0] == 0x0a && b[1] >= 2 && b[1] <= 22 &&
	       (b[2] == 0x08 || b[2] == 0x10);
}

static void pprof_free(struct pprof *p)
{
	if (!p)
		return;
	vec_fini(&p->strings);
	vec_fini(&p->types);
	vec_fini(&p->events);
	vec_fini(&p->mappings);
	vec_fini(&p->functions);
	vec_fini(&p->places);
	vec_fini(&p->frames);
	intmap_fini(&p->mapping_at);
	intmap_fini(&p->function_at);
	intmap_fini(&p->place_at);
	free(p);
}
DEFINE_AT_EXIT(pprof_free, struct pprof)

int pprof_read(const void *bytes, size_t size, struct foreign_sink *sink,
	       struct foreign_facts *facts, struct error *err)
{
	cleanup(pprof_free_at_exit) struct pprof *p = xcalloc(1, sizeof(*p));

	p->bytes = reader_over(bytes, size);
	p->sink = sink;
	p->facts = facts;
	pprof_walk(p, 6, take_string);
	pprof_walk(p, 1, pprof_take_type);
	pprof_walk(p, 3, take_mapping);
	pprof_walk(p, 5, take_function);
	pprof_walk(p, 4, take_location);
	take_facts(p);
	make_events(p);
	return take_samples(p, err);
}
